// Pointwise operators of several tensors: arithmetic, comparison, logic, selection.
#include <cmath>

#include "engine/ops/families.h"
#include "engine/ops/pointwise.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;
using Handles = std::span<const Handle>;

Handle Number(LoopBuilder& b, Handle like, double value) { return b.Constant(value, b.dtype(like)); }

template <LoopOp op>
Handle Apply(LoopBuilder& b, Handles x, const Arguments&) {
  return Binary(b, op, x[0], x[1]);
}

// y scaled by a number argument that is usually 1.
Handle Scaled(LoopBuilder& b, Handle y, const Arguments& args, std::string_view factor) {
  const Attribute& raw = args.Raw(factor);
  const Dim* one = std::get_if<Dim>(&raw);
  if (one != nullptr && one->Is(1)) return y;
  return Binary(b, LoopOp::kMul, y, NumberHandle(b, raw, b.dtype(y)));
}

Handle Add(LoopBuilder& b, Handles x, const Arguments& args) {
  return Binary(b, LoopOp::kAdd, x[0], Scaled(b, x[1], args, "alpha"));
}
Handle Sub(LoopBuilder& b, Handles x, const Arguments& args) {
  return Binary(b, LoopOp::kSub, x[0], Scaled(b, x[1], args, "alpha"));
}
Handle Rsub(LoopBuilder& b, Handles x, const Arguments& args) {
  return Binary(b, LoopOp::kSub, x[1], Scaled(b, x[0], args, "alpha"));
}

Handle FloorDivide(LoopBuilder& b, Handle x, Handle y) { return Binary(b, LoopOp::kFloorDiv, x, y); }

Handle TruncDivide(LoopBuilder& b, Handle x, Handle y) {
  const Handle quotient = Binary(b, LoopOp::kDiv, x, y);
  return IsFloat(b.dtype(quotient)) ? b.Unary(LoopOp::kTrunc, quotient) : quotient;
}

Handle DivideFloor(LoopBuilder& b, Handles x, const Arguments&) { return FloorDivide(b, x[0], x[1]); }
Handle DivideTrunc(LoopBuilder& b, Handles x, const Arguments&) { return TruncDivide(b, x[0], x[1]); }

Handle SquareRoot(LoopBuilder& b, Handle x) { return b.Unary(LoopOp::kSqrt, x); }

// x^n for small n by multiplication, which is exact where the exponent function is not.
Handle IntegerPower(LoopBuilder& b, Handle x, int64_t n) {
  if (n == 0) return Number(b, x, 1);
  Handle power = x;
  for (int64_t i = 1; i < n; ++i) power = Binary(b, LoopOp::kMul, power, x);
  return power;
}

Handle PowerByNumber(LoopBuilder& b, Handles x, double exponent) {
  const bool is_float = IsFloat(b.dtype(x[0]));
  if (exponent >= 0 && exponent <= 4 && exponent == std::floor(exponent)) {
    return IntegerPower(b, x[0], static_cast<int64_t>(exponent));
  }
  if (is_float && exponent == 0.5) return SquareRoot(b, x[0]);
  if (is_float && exponent == -0.5) return b.Unary(LoopOp::kRsqrt, x[0]);
  if (is_float && exponent == -1) return b.Unary(LoopOp::kReciprocal, x[0]);
  if (is_float && exponent == -2) return b.Unary(LoopOp::kReciprocal, b.Binary(LoopOp::kMul, x[0], x[0]));
  return Binary(b, LoopOp::kPow, x[0], x[1]);
}

Handle Pow(LoopBuilder& b, Handles x, const Arguments& args) {
  if (args.Tensor("exponent") != nullptr) return Binary(b, LoopOp::kPow, x[0], x[1]);
  const Attribute& raw = args.Raw("exponent");
  const Dim* symbolic = std::get_if<Dim>(&raw);
  if (symbolic != nullptr && !symbolic->IsConstant()) return Binary(b, LoopOp::kPow, x[0], x[1]);
  return PowerByNumber(b, x, args.Number("exponent"));
}

// x log y, 0 where x is 0 (unless y is NaN).
Handle XLogY(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle zero = Number(b, x[0], 0);
  const Handle product = b.Binary(LoopOp::kMul, x[0], b.Unary(LoopOp::kLog, x[1]));
  const Handle at_zero = b.Select(b.Binary(LoopOp::kEq, x[0], zero), zero, product);
  return b.Select(b.Unary(LoopOp::kIsNan, x[1]), x[1], at_zero);
}

// max + log(1 + exp(-|x - y|)), or base 2; equal infinities stay.
template <bool base2>
Handle LogAddExp(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle largest = b.Binary(LoopOp::kMax, x[0], x[1]);
  const Handle distance = b.Unary(LoopOp::kNeg, b.Unary(LoopOp::kAbs, b.Binary(LoopOp::kSub, x[0], x[1])));
  Handle tail = b.Unary(LoopOp::kLog1p, b.Unary(base2 ? LoopOp::kExp2 : LoopOp::kExp, distance));
  if (base2) tail = b.Binary(LoopOp::kMul, tail, Number(b, tail, 1 / std::log(2.0)));
  const Handle same = b.Binary(LoopOp::kLogicalAnd, b.Binary(LoopOp::kEq, x[0], x[1]), b.Unary(LoopOp::kIsInf, x[0]));
  return b.Select(same, x[0], b.Binary(LoopOp::kAdd, largest, tail));
}

Handle Heaviside(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle zero = Number(b, x[0], 0);
  const Handle step = b.Select(Binary(b, LoopOp::kGt, x[0], zero), Number(b, x[0], 1), zero);
  return b.Select(Binary(b, LoopOp::kEq, x[0], zero), x[1], step);
}

Handle Ldexp(LoopBuilder& b, Handles x, const Arguments&) {
  return b.Binary(LoopOp::kMul, x[0], b.Unary(LoopOp::kExp2, x[1]));
}

// self + weight (end - self), from the nearer end, as PyTorch does.
Handle Lerp(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle difference = b.Binary(LoopOp::kSub, x[1], x[0]), one = Number(b, x[0], 1);
  const Handle near = b.Binary(LoopOp::kAdd, x[0], b.Binary(LoopOp::kMul, x[2], difference));
  const Handle rest = b.Binary(LoopOp::kMul, difference, b.Binary(LoopOp::kSub, one, x[2]));
  const Handle small = b.Binary(LoopOp::kLt, b.Unary(LoopOp::kAbs, x[2]), Number(b, x[0], 0.5));
  return b.Select(small, near, b.Binary(LoopOp::kSub, x[1], rest));
}

template <LoopOp op>
Handle AddCombined(LoopBuilder& b, Handles x, const Arguments& args) {
  return Binary(b, LoopOp::kAdd, x[0], Scaled(b, Binary(b, op, x[1], x[2]), args, "value"));
}

Handle Clamp(LoopBuilder& b, Handles x, const Arguments&) {
  Handle value = x[0];
  if (x[1] != kAbsent) value = Binary(b, LoopOp::kMax, value, x[1]);
  if (x[2] != kAbsent) value = Binary(b, LoopOp::kMin, value, x[2]);
  return value;
}

Handle Where(LoopBuilder& b, Handles x, const Arguments&) { return b.Select(x[0], x[1], x[2]); }

Handle MaskedFill(LoopBuilder& b, Handles x, const Arguments&) {
  return b.Select(b.Cast(x[1], DType::kBool), x[2], x[0]);
}

Handle IsClose(LoopBuilder& b, Handles x, const Arguments& args) {
  Handle close = Binary(b, LoopOp::kEq, x[0], x[1]);
  if (!IsFloat(b.dtype(x[0]))) return close;
  if (args.Bool("equal_nan")) {
    const Handle both = b.Binary(LoopOp::kLogicalAnd, b.Unary(LoopOp::kIsNan, x[0]), b.Unary(LoopOp::kIsNan, x[1]));
    close = b.Binary(LoopOp::kLogicalOr, close, both);
  }
  const Handle error = b.Unary(LoopOp::kAbs, b.Binary(LoopOp::kSub, x[0], x[1]));
  const Handle relative = b.Binary(LoopOp::kMul, Number(b, x[0], args.Number("rtol")), b.Unary(LoopOp::kAbs, x[1]));
  const Handle allowed = b.Binary(LoopOp::kAdd, Number(b, x[0], args.Number("atol")), relative);
  const Handle finite = b.Unary(LoopOp::kLogicalNot, b.Binary(LoopOp::kLogicalOr, b.Unary(LoopOp::kIsInf, error),
                                                              b.Unary(LoopOp::kIsNan, error)));
  const Handle near = b.Binary(LoopOp::kLogicalAnd, finite, b.Binary(LoopOp::kLe, error, allowed));
  return b.Binary(LoopOp::kLogicalOr, close, near);
}

constexpr char kTensors[] = "(Tensor self, Tensor other)";
constexpr char kPower[] = "(Tensor self, Tensor exponent)";
constexpr char kNumber[] = "(Tensor self, Scalar other)";

// aten.<name>.Tensor and .Scalar, each also in place.
std::vector<SourceForm> TensorAndScalar(const std::string& name, const std::string& tensors = kTensors,
                                        const std::string& number = kNumber) {
  std::vector<SourceForm> sources = WithInPlace(name, tensors, "Tensor");
  for (SourceForm& form : WithInPlace(name, number, "Scalar")) sources.push_back(std::move(form));
  return sources;
}

std::vector<SourceForm> Joined(std::vector<SourceForm> a, std::vector<SourceForm> b) {
  for (SourceForm& form : b) a.push_back(std::move(form));
  return a;
}

template <LoopOp op>
OpSchema Compare(const std::string& name) {
  return Pointwise<Apply<op>, Promotion::kCompare>(name, TensorAndScalar(name));
}

template <LoopOp op>
OpSchema Bits(const std::string& name, const std::string& operator_name) {
  std::vector<SourceForm> sources = TensorAndScalar(name);
  sources.push_back({"aten." + name + ".Scalar_Tensor", "(Scalar self, Tensor other)"});
  sources.push_back({"aten." + operator_name + ".Tensor", kTensors});
  sources.push_back({"aten." + operator_name + ".Scalar", kNumber});
  return Pointwise<Apply<op>, Promotion::kCommon>(name, std::move(sources));
}

template <LoopOp op, Promotion promotion>
OpSchema Plain(const std::string& name) {  // aten.<name>.default only
  return Pointwise<Apply<op>, promotion>(name, WithInPlace(name, kTensors));
}

// The next float is one of the operands' own dtype, which narrow floats do not compute in.
Status CheckWide(Node& node, const Attributes&) {
  for (const Value* x : node.inputs) {
    if (x != nullptr && IsFloat(x->dtype) && SizeOf(x->dtype) < 4) return Unimplemented("nextafter of {}", Name(x->dtype));
  }
  return OkStatus();
}

// The operator that a rounding mode of div stands for.
Status ChooseDivision(Node& node, const Attributes& arguments) {
  const auto mode = arguments.find("rounding_mode");
  const std::string* name = mode == arguments.end() ? nullptr : std::get_if<std::string>(&mode->second);
  if (name == nullptr) return OkStatus();
  if (*name != "floor" && *name != "trunc") return InvalidArgument("rounding_mode '{}' is unknown", *name);
  node.op = "div_" + *name;
  return OkStatus();
}

std::vector<SourceForm> DivSources() {
  std::vector<SourceForm> sources = TensorAndScalar("div");
  for (const char* name : {"div", "div_"}) {
    for (const char* overload : {"Tensor_mode", "Scalar_mode"}) {
      const bool number = overload[0] == 'S';
      sources.push_back({fmt::format("aten.{}.{}", name, overload),
                         number ? "(Tensor self, Scalar other, *, str? rounding_mode)"
                                : "(Tensor self, Tensor other, *, str? rounding_mode)",
                         {}, ChooseDivision, name[3] == '_' ? 0 : -1});
    }
  }
  for (const char* overload : {"Tensor", "Scalar"}) {
    sources.push_back({fmt::format("aten.divide.{}", overload), overload[0] == 'S' ? kNumber : kTensors});
    sources.push_back({fmt::format("aten.true_divide.{}", overload), overload[0] == 'S' ? kNumber : kTensors});
  }
  return sources;
}

constexpr char kWithAlpha[] = "(Tensor self, Tensor other, *, Scalar alpha=1)";
constexpr char kNumberAlpha[] = "(Tensor self, Scalar other, Scalar alpha=1)";
constexpr char kClampSignature[] = "(Tensor self, Tensor? min=None, Tensor? max=None)";

std::vector<SourceForm> ClampSources() {
  std::vector<SourceForm> sources =
      Joined(WithInPlace("clamp", "(Tensor self, Scalar? min=None, Scalar? max=None)"),
             WithInPlace("clamp", kClampSignature, "Tensor"));
  for (const char* bound : {"min", "max"}) {
    const std::string name = fmt::format("clamp_{}", bound);
    sources = Joined(std::move(sources), WithInPlace(name, fmt::format("(Tensor self, Scalar {})", bound)));
    sources = Joined(std::move(sources), WithInPlace(name, fmt::format("(Tensor self, Tensor {})", bound), "Tensor"));
  }
  sources.push_back({"aten.clip.default", "(Tensor self, Scalar? min=None, Scalar? max=None)"});
  sources.push_back({"aten.clip.Tensor", kClampSignature});
  return sources;
}

}  // namespace

std::vector<OpSchema> BinaryOps() {
  constexpr Promotion kCommon = Promotion::kCommon, kFloat = Promotion::kFloat, kLogic = Promotion::kLogic;
  return {
      Pointwise<Add, kCommon>("add", TensorAndScalar("add", kWithAlpha, kNumberAlpha)),
      Pointwise<Sub, kCommon>("sub", Joined(TensorAndScalar("sub", kWithAlpha, kNumberAlpha),
                                            {{"aten.subtract.Tensor", kWithAlpha}})),
      Pointwise<Rsub, kCommon>("rsub", {{"aten.rsub.Tensor", kWithAlpha}, {"aten.rsub.Scalar", kNumberAlpha}}),
      Pointwise<Apply<LoopOp::kMul>, kCommon>("mul", Joined(TensorAndScalar("mul"), {{"aten.multiply.Tensor", kTensors}})),
      Pointwise<Apply<LoopOp::kDiv>, kFloat>("div", DivSources()),
      Pointwise<DivideFloor, kCommon>("div_floor",
                                      Joined(WithInPlace("floor_divide", kTensors),
                                             {{"aten.floor_divide.Scalar", kNumber},
                                              {"aten.floor_divide_.Tensor", kTensors, {}, nullptr, 0}})),
      Pointwise<DivideTrunc, kCommon>("div_trunc", {}, kTensors),
      Pointwise<Apply<LoopOp::kRemainder>, kCommon>(
          "remainder",
          Joined(TensorAndScalar("remainder"), {{"aten.remainder.Scalar_Tensor", "(Scalar self, Tensor other)"}})),
      Pointwise<Apply<LoopOp::kFmod>, kCommon>("fmod", TensorAndScalar("fmod")),
      Pointwise<Pow, kCommon>("pow", {{"aten.pow.Tensor_Tensor", kPower},
                                      {"aten.pow.Tensor_Scalar", "(Tensor self, Scalar exponent)"},
                                      {"aten.pow.Scalar", "(Scalar self, Tensor exponent)"},
                                      {"aten.pow_.Tensor", kPower, {}, nullptr, 0},
                                      {"aten.pow_.Scalar", "(Tensor self, Scalar exponent)", {}, nullptr, 0}}),
      Plain<LoopOp::kAtan2, kFloat>("atan2"),
      Plain<LoopOp::kHypot, kCommon>("hypot"),
      Pointwise<Apply<LoopOp::kNextafter>, kCommon>("nextafter", Adapted(WithInPlace("nextafter", kTensors), CheckWide)),
      Pointwise<Apply<LoopOp::kCopysign>, kFloat>("copysign", TensorAndScalar("copysign")),
      Pointwise<Apply<LoopOp::kMax>, kCommon>("maximum", Joined(WithInPlace("maximum", kTensors), {{"aten.max.other", kTensors}})),
      Pointwise<Apply<LoopOp::kMin>, kCommon>("minimum", Joined(WithInPlace("minimum", kTensors), {{"aten.min.other", kTensors}})),
      Plain<LoopOp::kFmax, kCommon>("fmax"),
      Plain<LoopOp::kFmin, kCommon>("fmin"),
      Compare<LoopOp::kEq>("eq"),
      Compare<LoopOp::kNe>("ne"),
      Compare<LoopOp::kLt>("lt"),
      Compare<LoopOp::kLe>("le"),
      Compare<LoopOp::kGt>("gt"),
      Compare<LoopOp::kGe>("ge"),
      Plain<LoopOp::kLogicalAnd, kLogic>("logical_and"),
      Plain<LoopOp::kLogicalOr, kLogic>("logical_or"),
      Plain<LoopOp::kLogicalXor, kLogic>("logical_xor"),
      Bits<LoopOp::kBitAnd>("bitwise_and", "__and__"),
      Bits<LoopOp::kBitOr>("bitwise_or", "__or__"),
      Bits<LoopOp::kBitXor>("bitwise_xor", "__xor__"),
      Pointwise<Apply<LoopOp::kShiftLeft>, kCommon>("bitwise_left_shift",
                                                    {{"aten.bitwise_left_shift.Tensor", kTensors},
                                                     {"aten.bitwise_left_shift.Tensor_Scalar", kNumber},
                                                     {"aten.__lshift__.Tensor", kTensors},
                                                     {"aten.__lshift__.Scalar", kNumber}}),
      Pointwise<Apply<LoopOp::kShiftRight>, kCommon>("bitwise_right_shift",
                                                     {{"aten.bitwise_right_shift.Tensor", kTensors},
                                                      {"aten.bitwise_right_shift.Tensor_Scalar", kNumber},
                                                      {"aten.__rshift__.Tensor", kTensors},
                                                      {"aten.__rshift__.Scalar", kNumber}}),
      Pointwise<XLogY, kFloat>("xlogy", {{"aten.xlogy.Tensor", kTensors},
                                         {"aten.xlogy.Scalar_Other", kNumber},
                                         {"aten.xlogy.Scalar_Self", "(Scalar self, Tensor other)"}}),
      Pointwise<LogAddExp<false>, kFloat>("logaddexp", {{"aten.logaddexp.default", kTensors}}),
      Pointwise<LogAddExp<true>, kFloat>("logaddexp2", {{"aten.logaddexp2.default", kTensors}}),
      Pointwise<Heaviside, kCommon>("heaviside", {{"aten.heaviside.default", "(Tensor self, Tensor values)"}}),
      Pointwise<Ldexp, kFloat>("ldexp", {{"aten.ldexp.Tensor", kTensors}}),
      Pointwise<Lerp, kCommon>("lerp", {{"aten.lerp.Tensor", "(Tensor self, Tensor end, Tensor weight)"},
                                        {"aten.lerp.Scalar", "(Tensor self, Tensor end, Scalar weight)"}}),
      Pointwise<AddCombined<LoopOp::kMul>, kCommon>(
          "addcmul", WithInPlace("addcmul", "(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)")),
      Pointwise<AddCombined<LoopOp::kDiv>, kCommon>(
          "addcdiv", WithInPlace("addcdiv", "(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)")),
      Pointwise<Clamp, kCommon>("clamp", ClampSources(), kClampSignature),
      Pointwise<Where, Promotion::kSelect>("where",
                                           {{"aten.where.self", "(Tensor condition, Tensor self, Tensor other)"},
                                            {"aten.where.ScalarSelf", "(Tensor condition, Scalar self, Tensor other)"},
                                            {"aten.where.ScalarOther", "(Tensor condition, Tensor self, Scalar other)"},
                                            {"aten.where.Scalar", "(Tensor condition, Scalar self, Scalar other)"}}),
      Pointwise<MaskedFill, Promotion::kSelf>(
          "masked_fill", Joined(WithInPlace("masked_fill", "(Tensor self, Tensor mask, Tensor value)", "Tensor"),
                                WithInPlace("masked_fill", "(Tensor self, Tensor mask, Scalar value)", "Scalar"))),
      Pointwise<IsClose, Promotion::kCompare>(
          "isclose", {{"aten.isclose.default",
                       "(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)"}}),
  };
}

}  // namespace tondar
