// Pointwise operators of one tensor: elementary functions, rounding, tests.
#include <cmath>
#include <numbers>

#include "engine/ops/families.h"
#include "engine/ops/pointwise.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;
using Handles = std::span<const Handle>;

template <LoopOp op>
Handle Apply(LoopBuilder& b, Handles x, const Arguments&) {
  return b.Unary(op, x[0]);
}

// Integers have no fraction.
template <LoopOp op>
Handle Rounding(LoopBuilder& b, Handles x, const Arguments&) {
  return IsFloat(b.dtype(x[0])) ? b.Unary(op, x[0]) : x[0];
}

// A test that only floats can pass.
template <LoopOp op>
Handle FloatTest(LoopBuilder& b, Handles x, const Arguments&) {
  return IsFloat(b.dtype(x[0])) ? b.Unary(op, x[0]) : b.Constant(0, DType::kBool);
}

Handle Number(LoopBuilder& b, Handle like, double value) { return b.Constant(value, b.dtype(like)); }

Handle Abs(LoopBuilder& b, Handles x, const Arguments&) {
  return b.dtype(x[0]) == DType::kBool ? x[0] : b.Unary(LoopOp::kAbs, x[0]);
}

Handle BitNot(LoopBuilder& b, Handles x, const Arguments&) {
  return b.Unary(b.dtype(x[0]) == DType::kBool ? LoopOp::kLogicalNot : LoopOp::kBitNot, x[0]);
}

Handle Square(LoopBuilder& b, Handles x, const Arguments&) { return Binary(b, LoopOp::kMul, x[0], x[0]); }

// The square of a bool is an int64 for PyTorch, a power.
Status SquareInteger(Node& node, const Attributes&) {
  Value* x = node.inputs[0];
  if (x->dtype != DType::kBool) return OkStatus();
  TONDAR_ASSIGN_OR_RETURN(Node * cast, AddSourceOp(*node.graph, "aten._to_copy.default", node.name, {x}, {}, {{"dtype", DType::kInt64}}, &node));
  node.graph->SetInput(&node, 0, cast->outputs.at(0));
  return OkStatus();
}

Handle Frac(LoopBuilder& b, Handles x, const Arguments&) {
  return b.Binary(LoopOp::kSub, x[0], b.Unary(LoopOp::kTrunc, x[0]));
}

Handle RoundDecimals(LoopBuilder& b, Handles x, const Arguments& args) {
  const int64_t decimals = args.Int("decimals");
  if (!IsFloat(b.dtype(x[0])) || decimals == 0) return Rounding<LoopOp::kRound>(b, x, args);
  const Handle power = Number(b, x[0], std::pow(10.0, static_cast<double>(std::abs(decimals))));
  const LoopOp up = decimals > 0 ? LoopOp::kMul : LoopOp::kDiv, down = decimals > 0 ? LoopOp::kDiv : LoopOp::kMul;
  return b.Binary(down, b.Unary(LoopOp::kRound, b.Binary(up, x[0], power)), power);
}

template <bool degrees>
Handle ConvertAngle(LoopBuilder& b, Handles x, const Arguments&) {
  return b.Binary(LoopOp::kMul, x[0], Number(b, x[0], degrees ? 180 / std::numbers::pi : std::numbers::pi / 180));
}

Handle IsFinite(LoopBuilder& b, Handles x, const Arguments&) {
  if (!IsFloat(b.dtype(x[0]))) return b.Constant(1, DType::kBool);
  return b.Unary(LoopOp::kLogicalNot,
                 b.Binary(LoopOp::kLogicalOr, b.Unary(LoopOp::kIsNan, x[0]), b.Unary(LoopOp::kIsInf, x[0])));
}

template <bool negative>
Handle IsSignedInf(LoopBuilder& b, Handles x, const Arguments&) {
  if (!IsFloat(b.dtype(x[0]))) return b.Constant(0, DType::kBool);
  return b.Binary(LoopOp::kEq, x[0], Number(b, x[0], negative ? -INFINITY : INFINITY));
}

Handle SignBit(LoopBuilder& b, Handles x, const Arguments&) {
  if (b.dtype(x[0]) == DType::kBool) return b.Constant(0, DType::kBool);
  const Handle zero = Number(b, x[0], 0);
  if (!IsFloat(b.dtype(x[0]))) return b.Binary(LoopOp::kLt, x[0], zero);
  return b.Binary(LoopOp::kLt, b.Binary(LoopOp::kCopysign, Number(b, x[0], 1), x[0]), zero);
}

// PyTorch takes NaN for 0 here.
Handle Sign(LoopBuilder& b, Handles x, const Arguments&) {
  if (b.dtype(x[0]) == DType::kBool) return x[0];
  const Handle sign = b.Unary(LoopOp::kSign, x[0]);
  return IsFloat(b.dtype(x[0])) ? b.Select(b.Unary(LoopOp::kIsNan, x[0]), Number(b, x[0], 0), sign) : sign;
}

// sin(pi x) / (pi x), 1 at 0.
Handle Sinc(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle angle = b.Binary(LoopOp::kMul, x[0], Number(b, x[0], std::numbers::pi));
  const Handle quotient = b.Binary(LoopOp::kDiv, b.Unary(LoopOp::kSin, angle), angle);
  return b.Select(b.Binary(LoopOp::kEq, x[0], Number(b, x[0], 0)), Number(b, x[0], 1), quotient);
}

Handle Logit(LoopBuilder& b, Handles x, const Arguments& args) {
  Handle p = x[0];
  if (!args.IsNone("eps")) {
    const double eps = args.Number("eps");
    p = b.Binary(LoopOp::kMin, b.Binary(LoopOp::kMax, p, Number(b, p, eps)), Number(b, p, 1 - eps));
  }
  return b.Unary(LoopOp::kLog, b.Binary(LoopOp::kDiv, p, b.Binary(LoopOp::kSub, Number(b, p, 1), p)));
}

double LargestOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return 65504;
    case DType::kBFloat16: return 0x1.FEp127;
    case DType::kFloat64: return std::numeric_limits<double>::max();
    default: return std::numeric_limits<float>::max();
  }
}

Handle NanToNum(LoopBuilder& b, Handles x, const Arguments& args) {
  if (!IsFloat(b.dtype(x[0]))) return x[0];
  const double largest = LargestOf(args.Tensor("self")->dtype);
  auto given = [&](std::string_view name, double otherwise) {
    return Number(b, x[0], args.IsNone(name) ? otherwise : args.Number(name));
  };
  const Handle upper = b.Binary(LoopOp::kEq, x[0], Number(b, x[0], INFINITY));
  const Handle lower = b.Binary(LoopOp::kEq, x[0], Number(b, x[0], -INFINITY));
  const Handle finite = b.Select(lower, given("neginf", -largest), b.Select(upper, given("posinf", largest), x[0]));
  return b.Select(b.Unary(LoopOp::kIsNan, x[0]), given("nan", 0), finite);
}

template <PointwiseBody body, Promotion promotion>
OpSchema Unary(const std::string& name) {
  return Pointwise<body, promotion>(name, WithInPlace(name, "(Tensor self)"));
}

template <LoopOp op>
OpSchema Float(const std::string& name) {
  return Unary<Apply<op>, Promotion::kFloat>(name);
}

template <PointwiseBody body, Promotion promotion>
OpSchema Special(const std::string& name) {  // also torch.special.<name>
  std::vector<SourceForm> sources = WithInPlace(name, "(Tensor self)");
  sources.push_back({"aten.special_" + name + ".default", "(Tensor self)"});
  return Pointwise<body, promotion>(name, std::move(sources));
}

}  // namespace

std::vector<OpSchema> UnaryOps() {
  constexpr Promotion kCommon = Promotion::kCommon, kFloat = Promotion::kFloat, kCompare = Promotion::kCompare;
  return {
      Unary<Apply<LoopOp::kNeg>, kCommon>("neg"),
      Unary<Abs, kCommon>("abs"),
      Unary<Sign, kCommon>("sign"),
      Unary<Sign, kCommon>("sgn"),
      Unary<Rounding<LoopOp::kFloor>, kCommon>("floor"),
      Unary<Rounding<LoopOp::kCeil>, kCommon>("ceil"),
      Unary<Rounding<LoopOp::kTrunc>, kCommon>("trunc"),
      Unary<Rounding<LoopOp::kTrunc>, kCommon>("fix"),
      Unary<Rounding<LoopOp::kRound>, kCommon>("round"),
      Pointwise<RoundDecimals, kCommon>("round_decimals", {{"aten.round.decimals", "(Tensor self, *, int decimals)"}}),
      Unary<Frac, kCommon>("frac"),
      Pointwise<Square, kCommon>("square", Adapted(WithInPlace("square", "(Tensor self)"), SquareInteger)),
      Unary<BitNot, kCommon>("bitwise_not"),
      Unary<Apply<LoopOp::kLogicalNot>, Promotion::kLogic>("logical_not"),
      Float<LoopOp::kSqrt>("sqrt"),
      Float<LoopOp::kRsqrt>("rsqrt"),
      Float<LoopOp::kReciprocal>("reciprocal"),
      Float<LoopOp::kExp>("exp"),
      Special<Apply<LoopOp::kExp2>, kFloat>("exp2"),
      Special<Apply<LoopOp::kExpm1>, kFloat>("expm1"),
      Float<LoopOp::kLog>("log"),
      Float<LoopOp::kLog2>("log2"),
      Float<LoopOp::kLog10>("log10"),
      Special<Apply<LoopOp::kLog1p>, kFloat>("log1p"),
      Float<LoopOp::kSin>("sin"),
      Float<LoopOp::kCos>("cos"),
      Float<LoopOp::kTan>("tan"),
      Float<LoopOp::kAsin>("asin"),
      Float<LoopOp::kAcos>("acos"),
      Float<LoopOp::kAtan>("atan"),
      Float<LoopOp::kSinh>("sinh"),
      Float<LoopOp::kCosh>("cosh"),
      Float<LoopOp::kTanh>("tanh"),
      Float<LoopOp::kAsinh>("asinh"),
      Float<LoopOp::kAcosh>("acosh"),
      Float<LoopOp::kAtanh>("atanh"),
      Special<Apply<LoopOp::kErf>, kFloat>("erf"),
      Special<Apply<LoopOp::kErfc>, kFloat>("erfc"),
      Special<Apply<LoopOp::kErfinv>, kFloat>("erfinv"),
      Float<LoopOp::kLgamma>("lgamma"),
      Special<Apply<LoopOp::kDigamma>, kFloat>("digamma"),
      Float<LoopOp::kSigmoid>("sigmoid"),
      Unary<ConvertAngle<true>, kFloat>("rad2deg"),
      Unary<ConvertAngle<false>, kFloat>("deg2rad"),
      Unary<Sinc, kFloat>("sinc"),
      Unary<FloatTest<LoopOp::kIsNan>, kCompare>("isnan"),
      Unary<FloatTest<LoopOp::kIsInf>, kCompare>("isinf"),
      Unary<IsFinite, kCompare>("isfinite"),
      Unary<IsSignedInf<false>, kCompare>("isposinf"),
      Unary<IsSignedInf<true>, kCompare>("isneginf"),
      Unary<SignBit, kCompare>("signbit"),
      Pointwise<Logit, kFloat>("logit", WithInPlace("logit", "(Tensor self, float? eps=None)")),
      Pointwise<NanToNum, kCommon>(
          "nan_to_num",
          WithInPlace("nan_to_num", "(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)")),
  };
}

}  // namespace tondar
