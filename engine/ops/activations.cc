// Activation functions.
#include <cmath>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/pointwise.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;
using Handles = std::span<const Handle>;

Handle Number(LoopBuilder& b, Handle like, double value) { return b.Constant(value, b.dtype(like)); }
Handle Add(LoopBuilder& b, Handle x, double y) { return b.Binary(LoopOp::kAdd, x, Number(b, x, y)); }
Handle Mul(LoopBuilder& b, Handle x, double y) { return b.Binary(LoopOp::kMul, x, Number(b, x, y)); }
Handle Max(LoopBuilder& b, Handle x, double y) { return b.Binary(LoopOp::kMax, x, Number(b, x, y)); }
Handle Min(LoopBuilder& b, Handle x, double y) { return b.Binary(LoopOp::kMin, x, Number(b, x, y)); }
Handle IsAbove(LoopBuilder& b, Handle x, double y) { return b.Binary(LoopOp::kGt, x, Number(b, x, y)); }

Handle Relu(LoopBuilder& b, Handles x, const Arguments&) {
  return IsFloat(b.dtype(x[0])) ? b.Unary(LoopOp::kRelu, x[0]) : Max(b, x[0], 0);
}

Handle Relu6(LoopBuilder& b, Handles x, const Arguments&) { return Min(b, Max(b, x[0], 0), 6); }

Handle Hardtanh(LoopBuilder& b, Handles x, const Arguments& args) {
  return Min(b, Max(b, x[0], args.Number("min_val")), args.Number("max_val"));
}

Handle Hardsigmoid(LoopBuilder& b, Handles x, const Arguments&) {
  return b.Binary(LoopOp::kDiv, Min(b, Max(b, Add(b, x[0], 3), 0), 6), Number(b, x[0], 6));
}

Handle Hardswish(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle gate = Min(b, Max(b, Add(b, x[0], 3), 0), 6);
  return b.Binary(LoopOp::kDiv, b.Binary(LoopOp::kMul, x[0], gate), Number(b, x[0], 6));
}

Handle Silu(LoopBuilder& b, Handles x, const Arguments&) { return b.Unary(LoopOp::kSilu, x[0]); }

Handle Gelu(LoopBuilder& b, Handles x, const Arguments& args) {
  return b.Unary(args.String("approximate") == "tanh" ? LoopOp::kGeluTanh : LoopOp::kGelu, x[0]);
}

Handle Log1pExp(LoopBuilder& b, Handle x) { return b.Unary(LoopOp::kLog1p, b.Unary(LoopOp::kExp, x)); }

Handle Softplus(LoopBuilder& b, Handles x, const Arguments& args) {
  const double beta = args.Number("beta");
  const Handle scaled = Mul(b, x[0], beta);
  const Handle soft = b.Binary(LoopOp::kDiv, Log1pExp(b, scaled), Number(b, x[0], beta));
  return b.Select(IsAbove(b, scaled, args.Number("threshold")), x[0], soft);
}

// x tanh(softplus(x)); beyond 20 softplus is x.
Handle Mish(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle soft = b.Select(IsAbove(b, x[0], 20), x[0], Log1pExp(b, x[0]));
  return b.Binary(LoopOp::kMul, x[0], b.Unary(LoopOp::kTanh, soft));
}

// scale (x > 0 ? x : alpha (exp(input_scale x) - 1))
Handle EluOf(LoopBuilder& b, Handle x, double alpha, double scale, double input_scale) {
  const Handle negative = Mul(b, b.Unary(LoopOp::kExpm1, Mul(b, x, input_scale)), alpha * scale);
  return b.Select(IsAbove(b, x, 0), Mul(b, x, scale), negative);
}

Handle Elu(LoopBuilder& b, Handles x, const Arguments& args) {
  return EluOf(b, x[0], args.Number("alpha"), args.Number("scale"), args.Number("input_scale"));
}

Handle Celu(LoopBuilder& b, Handles x, const Arguments& args) {
  const double alpha = args.Number("alpha");
  return EluOf(b, x[0], alpha, 1, 1 / alpha);
}

// The constants of Klambauer et al., "Self-Normalizing Neural Networks".
Handle Selu(LoopBuilder& b, Handles x, const Arguments&) {
  return EluOf(b, x[0], 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
}

Handle LeakyRelu(LoopBuilder& b, Handles x, const Arguments& args) {
  return b.Select(IsAbove(b, x[0], 0), x[0], Mul(b, x[0], args.Number("negative_slope")));
}

// min(x, 0) - log(1 + exp(-|x|))
Handle LogSigmoid(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle tail = Log1pExp(b, b.Unary(LoopOp::kNeg, b.Unary(LoopOp::kAbs, x[0])));
  return b.Binary(LoopOp::kSub, Min(b, x[0], 0), tail);
}

Handle Hardshrink(LoopBuilder& b, Handles x, const Arguments& args) {
  const double lambd = args.Number("lambd");
  const Handle inside = b.Binary(LoopOp::kLogicalAnd, b.Binary(LoopOp::kGe, x[0], Number(b, x[0], -lambd)),
                                 b.Binary(LoopOp::kLe, x[0], Number(b, x[0], lambd)));
  return b.Select(inside, Number(b, x[0], 0), x[0]);
}

Handle Softshrink(LoopBuilder& b, Handles x, const Arguments& args) {
  const double lambd = args.Number("lambd");
  const Handle below = b.Binary(LoopOp::kLt, x[0], Number(b, x[0], -lambd));
  // Times 0 rather than 0, so that NaN stays NaN.
  return b.Select(IsAbove(b, x[0], lambd), Add(b, x[0], -lambd), b.Select(below, Add(b, x[0], lambd), Mul(b, x[0], 0)));
}

Handle Threshold(LoopBuilder& b, Handles x, const Arguments& args) {
  const Handle low = b.Binary(LoopOp::kLe, x[0], Number(b, x[0], args.Number("threshold")));
  return b.Select(low, Number(b, x[0], args.Number("value")), x[0]);
}

// In evaluation the slope is the middle of its range.
Handle Rrelu(LoopBuilder& b, Handles x, const Arguments& args) {
  const double slope = (args.Number("lower") + args.Number("upper")) / 2;
  return b.Select(IsAbove(b, x[0], 0), x[0], Mul(b, x[0], slope));
}

Status RefuseTraining(Node&, const Attributes& arguments) {
  const auto training = arguments.find("training");
  const bool* on = training == arguments.end() ? nullptr : std::get_if<bool>(&training->second);
  return on != nullptr && *on ? Unimplemented("rrelu in training mode; export the model after eval()") : OkStatus();
}

// glu: the first half along `dim`, gated by the second.
Status InferGlu(Node& node) {
  Shape shape = node.inputs[0]->shape;
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(Arguments(node).Int("dim"), shape.size()));
  if (shape.empty()) return InvalidArgument("glu of a 0-d tensor");
  if (shape[d].IsConstant() && shape[d].constant() % 2 != 0) return InvalidArgument("extent {} is odd", shape[d].constant());
  shape[d] = Dim::FloorDiv(shape[d], Dim(2));
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerGlu(const Node& node, LoweringBuilder& builder) {
  const int64_t dim = Arguments(node).Int("dim");
  const Shape& shape = node.outputs[0]->shape;
  const Dim half = shape[*NormaliseDim(dim, shape.size())];
  Value* x = node.inputs[0];
  const DType dtype = x->dtype;
  builder.Replace(0, builder.Map({builder.Slice(x, dim, Dim(0), half), builder.Slice(x, dim, half, half)},
                                 [dtype](LoopBuilder& b, Handles parts) {
                                   const DType compute = ComputeDType(dtype);
                                   const Handle gate = b.Unary(LoopOp::kSigmoid, b.Cast(parts[1], compute));
                                   return b.Cast(b.Binary(LoopOp::kMul, b.Cast(parts[0], compute), gate), dtype);
                                 }));
  return OkStatus();
}

// prelu: one slope, or one per channel (dim 1).
Status InferPrelu(Node& node) {
  SetOutput(node, 0, node.inputs[0]->dtype, node.inputs[0]->shape);
  return OkStatus();
}

Status LowerPrelu(const Node& node, LoweringBuilder& builder) {
  Value *x = node.inputs[0], *weight = node.inputs[1];
  if (!ElementCount(weight->shape).Is(1) && x->shape.size() > 1) {
    Shape channels(x->shape.size(), Dim(1));
    channels[1] = weight->shape[0];
    weight = builder.Reshape(weight, channels);
  } else if (weight->shape.size() > x->shape.size()) {
    weight = builder.Reshape(weight, {});
  }
  const DType dtype = x->dtype;
  builder.Replace(0, builder.Map(x->shape, {x, weight}, [dtype](LoopBuilder& b, Handles loads) {
    const Handle value = b.Cast(loads[0], ComputeDType(dtype)), slope = b.Cast(loads[1], ComputeDType(dtype));
    return b.Cast(b.Select(IsAbove(b, value, 0), value, b.Binary(LoopOp::kMul, value, slope)), dtype);
  }));
  return OkStatus();
}

template <PointwiseBody body, Promotion promotion = Promotion::kCommon>
OpSchema Activation(const std::string& name, const std::string& signature = "(Tensor self)") {
  return Pointwise<body, promotion>(name, WithInPlace(name, signature));
}

}  // namespace

std::vector<OpSchema> ActivationOps() {
  std::vector<OpSchema> rows = {
      Activation<Relu>("relu"),
      Activation<Relu6>("relu6"),
      Activation<Hardtanh>("hardtanh", "(Tensor self, Scalar min_val=-1, Scalar max_val=1)"),
      Activation<Hardsigmoid>("hardsigmoid"),
      Activation<Hardswish>("hardswish"),
      Activation<Silu, Promotion::kFloat>("silu"),
      Activation<Gelu>("gelu", "(Tensor self, *, str approximate='none')"),
      Activation<Softplus>("softplus", "(Tensor self, Scalar beta=1, Scalar threshold=20)"),
      Activation<Mish>("mish"),
      Activation<Elu>("elu", "(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)"),
      Activation<Celu>("celu", "(Tensor self, Scalar alpha=1.0)"),
      Activation<Selu>("selu"),
      Activation<LeakyRelu>("leaky_relu", "(Tensor self, Scalar negative_slope=0.01)"),
      Activation<LogSigmoid>("log_sigmoid"),
      Activation<Hardshrink>("hardshrink", "(Tensor self, Scalar lambd=0.5)"),
      Activation<Softshrink>("softshrink", "(Tensor self, Scalar lambd=0.5)"),
      Activation<Threshold>("threshold", "(Tensor self, Scalar threshold, Scalar value)"),
      Pointwise<Rrelu, Promotion::kCommon>(
          "rrelu",
          {{"aten.rrelu.default",
            "(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False)", {}, RefuseTraining},
           {"aten.rrelu_with_noise_functional.default",
            "(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False)",
            {}, RefuseTraining}}),
  };
  OpSchema glu{.name = "glu", .sources = {{"aten.glu.default", "(Tensor self, int dim=-1)"}}};
  glu.infer = InferGlu;
  glu.lower = LowerGlu;
  rows.push_back(std::move(glu));
  OpSchema prelu{.name = "prelu", .sources = {{"aten.prelu.default", "(Tensor self, Tensor weight)"},
                                              {"aten._prelu_kernel.default", "(Tensor self, Tensor weight)"}}};
  prelu.infer = InferPrelu;
  prelu.lower = LowerPrelu;
  rows.push_back(std::move(prelu));
  return rows;
}

}  // namespace tondar
