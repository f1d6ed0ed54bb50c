// Softmax and the normalisations.
#include <limits>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/reduction.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;
using Handles = std::span<const Handle>;

// --- Softmax --------------------------------------------------------------------------------------------------------

Status InferSoftmax(Node& node) {
  const Arguments args(node);
  const Value* x = args.Tensor("self");
  TONDAR_RETURN_IF_ERROR(NormaliseDim(args.Int("dim"), x->shape.size()).status());
  DType dtype = args.Type("dtype") == DType::kInvalid ? x->dtype : args.Type("dtype");
  if (args.Bool("half_to_float")) dtype = DType::kFloat32;
  if (!IsFloat(dtype)) return InvalidArgument("softmax of {}", Name(dtype));
  SetOutput(node, 0, dtype, x->shape);
  return OkStatus();
}

// A norm step over the trailing dims of x; stores `dtype`.
Value* EmitNorm(LoweringBuilder& builder, NormStep step, std::vector<Value*> inputs, DType dtype) {
  step.epilogue = StoreEpilogue(ComputeDType(inputs[0]->dtype), dtype);
  const Shape shape = inputs[0]->shape;
  return builder.Step(std::move(step), inputs, shape, dtype);
}

template <NormKind kind>
Status LowerSoftmax(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const DType dtype = node.outputs[0]->dtype;
  Value* x = args.Tensor("self");
  if (args.Type("dtype") != DType::kInvalid) x = builder.Cast(x, dtype);
  const bool scalar = x->shape.empty();
  if (scalar) x = builder.Reshape(x, {Dim(1)});
  const int64_t dim = scalar ? 0 : args.Int("dim");
  Value* result = EmitNorm(builder, NormStep{.kind = kind, .epilogue = {}}, {builder.Transpose(x, dim, -1)}, dtype);
  result = builder.Transpose(result, dim, -1);
  builder.Replace(0, builder.Reshape(result, node.outputs[0]->shape));
  return OkStatus();
}

// --- Layer and RMS norm ---------------------------------------------------------------------------------------------

Status InferTrailingNorm(Node& node) {
  const Arguments args(node);
  const Value* x = args.Tensor("input");
  const Shape normalised = args.Sizes("normalized_shape");
  if (normalised.empty() || normalised.size() > x->shape.size()) {
    return InvalidArgument("normalized_shape {} for input {}", ToString(normalised), ToString(x->shape));
  }
  if (!IsFloat(x->dtype)) return InvalidArgument("normalisation of {}", Name(x->dtype));
  const size_t first = x->shape.size() - normalised.size();
  for (size_t d = 0; d < normalised.size(); ++d) {
    TONDAR_RETURN_IF_ERROR(AssumeEqual(node, x->shape[first + d], normalised[d], "normalized_shape"));
  }
  SetOutput(node, 0, x->dtype, x->shape);
  return OkStatus();
}

Status LowerLayerNorm(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *x = args.Tensor("input"), *weight = args.Tensor("weight"), *bias = args.Tensor("bias");
  NormStep step{.kind = NormKind::kLayerNorm, .axes = static_cast<int>(args.Sizes("normalized_shape").size()),
                .epsilon = args.Number("eps"), .has_weight = weight != nullptr, .has_bias = bias != nullptr,
                .epilogue = {}};
  std::vector<Value*> inputs = {x};
  for (Value* parameter : {weight, bias}) {
    if (parameter != nullptr) inputs.push_back(builder.Cast(parameter, x->dtype));
  }
  builder.Replace(0, EmitNorm(builder, std::move(step), std::move(inputs), node.outputs[0]->dtype));
  return OkStatus();
}

Status LowerRmsNorm(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *x = args.Tensor("input"), *weight = args.Tensor("weight");
  // Without an epsilon PyTorch takes the machine's, of the dtype that it computes in.
  const double machine = x->dtype == DType::kFloat64 ? std::numeric_limits<double>::epsilon()
                                                     : std::numeric_limits<float>::epsilon();
  NormStep step{.kind = NormKind::kRmsNorm, .axes = static_cast<int>(args.Sizes("normalized_shape").size()),
                .epsilon = args.IsNone("eps") ? machine : args.Number("eps"), .has_weight = weight != nullptr,
                .epilogue = {}};
  std::vector<Value*> inputs = {x};
  if (weight != nullptr) inputs.push_back(builder.Cast(weight, x->dtype));
  builder.Replace(0, EmitNorm(builder, std::move(step), std::move(inputs), node.outputs[0]->dtype));
  return OkStatus();
}

// --- Batch norm -----------------------------------------------------------------------------------------------------

Status InferBatchNorm(Node& node) {
  const Arguments args(node);
  const Value* x = args.Tensor("input");
  if (x->shape.size() < 2) return InvalidArgument("input of rank {}, expected 2 or more", x->shape.size());
  if (args.Bool("training")) return Unimplemented("batch norm in training mode; export the model after eval()");
  if (args.Tensor("running_mean") == nullptr || args.Tensor("running_var") == nullptr) {
    return Unimplemented("batch norm without running statistics");
  }
  SetOutput(node, 0, x->dtype, x->shape);
  return OkStatus();
}

// x scale + shift with scale = weight / sqrt(var + eps), shift = bias - mean scale; both fold to constants.
Status LowerBatchNorm(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *x = args.Tensor("input"), *weight = args.Tensor("weight"), *bias = args.Tensor("bias");
  const DType compute = ComputeDType(x->dtype), dtype = x->dtype;
  const double eps = args.Number("eps");
  std::vector<Value*> inputs = {args.Tensor("running_var")};
  if (weight != nullptr) inputs.push_back(weight);
  Value* scale = builder.Map(inputs, [&](LoopBuilder& b, Handles loads) {
    const Handle variance = b.Binary(LoopOp::kAdd, b.Cast(loads[0], compute), b.Constant(eps, compute));
    const Handle one = loads.size() > 1 ? b.Cast(loads[1], compute) : b.Constant(1, compute);
    return b.Binary(LoopOp::kDiv, one, b.Unary(LoopOp::kSqrt, variance));
  });
  inputs = {args.Tensor("running_mean"), scale};
  if (bias != nullptr) inputs.push_back(bias);
  Value* shift = builder.Map(inputs, [&](LoopBuilder& b, Handles loads) {
    const Handle mean = b.Binary(LoopOp::kMul, b.Cast(loads[0], compute), loads[1]);
    return loads.size() > 2 ? b.Binary(LoopOp::kSub, b.Cast(loads[2], compute), mean) : b.Unary(LoopOp::kNeg, mean);
  });
  Shape channels(x->shape.size() - 1, Dim(1));
  channels[0] = x->shape[1];
  builder.Replace(0, builder.Map(x->shape, {x, builder.Reshape(scale, channels), builder.Reshape(shift, channels)},
                                 [&](LoopBuilder& b, Handles loads) {
                                   const Handle scaled = b.Binary(LoopOp::kMul, b.Cast(loads[0], compute), loads[1]);
                                   return b.Cast(b.Binary(LoopOp::kAdd, scaled, loads[2]), dtype);
                                 }));
  return OkStatus();
}

// --- Norms over parts of the channels -------------------------------------------------------------------------------

// x [N, C, ...] as [N, groups, C/groups, rest], normalised over the last two and scaled per channel in the epilogue.
Value* EmitGroupNorm(LoweringBuilder& builder, Value* x, const Dim& groups, Value* weight, Value* bias, double eps) {
  const Dim per_group = Dim::FloorDiv(x->shape[1], groups);
  const Dim rest = ElementCount(Shape(x->shape.begin() + 2, x->shape.end()));
  const DType compute = ComputeDType(x->dtype);
  std::vector<Value*> inputs = {builder.Reshape(x, {x->shape[0], groups, per_group, rest})};
  LoopBuilder epilogue;
  Handle value = epilogue.Accumulator(0, compute);
  auto per_channel = [&](LoopOp op, Value* parameter) {
    if (parameter == nullptr) return;
    Access access{.operand = static_cast<int16_t>(inputs.size()),
                  .index = {IndexExpression::LoopDim(1), IndexExpression::LoopDim(2)}};
    inputs.push_back(builder.Reshape(parameter, {groups, per_group}));
    value = epilogue.Binary(op, value, epilogue.Cast(epilogue.Load(access, parameter->dtype), compute));
  };
  per_channel(LoopOp::kMul, weight);
  per_channel(LoopOp::kAdd, bias);
  epilogue.Result(epilogue.Cast(value, x->dtype));
  NormStep step{.kind = NormKind::kLayerNorm, .axes = 2, .epsilon = eps, .epilogue = {}};
  const bool stores_as_is = weight == nullptr && bias == nullptr && compute == x->dtype;
  if (!stores_as_is) step.epilogue = std::move(epilogue).Build();
  const Shape shape = inputs[0]->shape;
  return builder.Reshape(builder.Step(std::move(step), inputs, shape, x->dtype), x->shape);
}

Status InferGroupNorm(Node& node) {
  const Arguments args(node);
  const Value* x = args.Tensor("input");
  const int64_t groups = args.Int("num_groups");
  if (x->shape.size() < 2) return InvalidArgument("input of rank {}, expected 2 or more", x->shape.size());
  if (groups < 1 || (x->shape[1].IsConstant() && x->shape[1].constant() % groups != 0)) {
    return InvalidArgument("{} channels do not divide into {} groups", x->shape[1].ToString(), groups);
  }
  SetOutput(node, 0, x->dtype, x->shape);
  return OkStatus();
}

Status LowerGroupNorm(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  builder.Replace(0, EmitGroupNorm(builder, args.Tensor("input"), Dim(args.Int("num_groups")), args.Tensor("weight"),
                                   args.Tensor("bias"), args.Number("eps")));
  return OkStatus();
}

Status InferInstanceNorm(Node& node) {
  const Arguments args(node);
  const Value* x = args.Tensor("input");
  if (x->shape.size() < 3) return InvalidArgument("input of rank {}, expected 3 or more", x->shape.size());
  if (!args.Bool("use_input_stats")) return Unimplemented("instance norm with running statistics");
  SetOutput(node, 0, x->dtype, x->shape);
  return OkStatus();
}

Status LowerInstanceNorm(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* x = args.Tensor("input");
  builder.Replace(0, EmitGroupNorm(builder, x, x->shape[1], args.Tensor("weight"), args.Tensor("bias"),
                                   args.Number("eps")));
  return OkStatus();
}

// Statistics over the batch and all but the channels: the form that instance norm decomposes to, with N = 1.
Status InferBatchStatistics(Node& node) {
  const Value* x = node.inputs[0];
  if (x->shape.size() < 2) return InvalidArgument("input of rank {}, expected 2 or more", x->shape.size());
  SetOutput(node, 0, x->dtype, x->shape);
  return OkStatus();
}

Status LowerBatchStatistics(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* swapped = builder.Transpose(args.Tensor("input"), 0, 1);  // [C, N, ...]
  Shape flat = {Dim(1)};
  flat.insert(flat.end(), swapped->shape.begin(), swapped->shape.end());
  Value* x = builder.Reshape(swapped, flat);
  Value* norm = EmitGroupNorm(builder, x, x->shape[1], args.Tensor("weight"), args.Tensor("bias"), args.Number("eps"));
  builder.Replace(0, builder.Transpose(builder.Reshape(norm, swapped->shape), 0, 1));
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), std::string signature) {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.infer = infer;
  schema.lower = lower;
  return schema;
}

constexpr char kSoftmax[] = "(Tensor self, int dim, ScalarType? dtype=None, bool half_to_float=False)";
constexpr char kTrailing[] =
    "(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05)";
constexpr char kBatchNorm[] =
    "(Tensor input, Tensor? weight=None, Tensor? bias=None, Tensor? running_mean=None, Tensor? running_var=None, bool "
    "training=False, float eps=1e-05)";
constexpr char kGroupNorm[] =
    "(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05)";

std::vector<SourceForm> SoftmaxSources(const std::string& name) {
  return {{"aten." + name + ".int", "(Tensor self, int dim, ScalarType? dtype=None)"},
          {"aten._" + name + ".default", "(Tensor self, int dim, bool half_to_float)"}};
}

}  // namespace

std::vector<OpSchema> NormalisationOps() {
  return {
      Row("softmax", SoftmaxSources("softmax"), InferSoftmax, LowerSoftmax<NormKind::kSoftmax>, kSoftmax),
      Row("log_softmax", SoftmaxSources("log_softmax"), InferSoftmax, LowerSoftmax<NormKind::kLogSoftmax>, kSoftmax),
      Row("layer_norm",
          {{"aten.layer_norm.default",
            "(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool "
            "cudnn_enable=True)"},
           {"aten.native_layer_norm.default",
            "(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps)"}},
          InferTrailingNorm, LowerLayerNorm, kTrailing),
      Row("rms_norm",
          {{"aten.rms_norm.default",
            "(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None)"},
           {"aten._fused_rms_norm.default", "(Tensor input, int[] normalized_shape, Tensor? weight, float? eps)"}},
          InferTrailingNorm, LowerRmsNorm, "(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None)"),
      Row("batch_norm",
          {{"aten.batch_norm.default",
            "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
            "float momentum, float eps, bool cudnn_enabled)"},
           {"aten._native_batch_norm_legit_no_training.default",
            "(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, "
            "float eps)"},
           {"aten.native_batch_norm.default",
            "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
            "float momentum, float eps)"}},
          InferBatchNorm, LowerBatchNorm, kBatchNorm),
      Row("batch_statistics_norm",
          {{"aten._native_batch_norm_legit.no_stats",
            "(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps)"}},
          InferBatchStatistics, LowerBatchStatistics,
          "(Tensor input, Tensor? weight=None, Tensor? bias=None, float eps=1e-05)"),
      Row("group_norm",
          {{"aten.group_norm.default",
            "(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool "
            "cudnn_enabled=True)"},
           {"aten.native_group_norm.default",
            "(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps)",
            {{"group", "num_groups"}}}},
          InferGroupNorm, LowerGroupNorm, kGroupNorm),
      Row("instance_norm",
          {{"aten.instance_norm.default",
            "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
            "use_input_stats, float momentum, float eps, bool cudnn_enabled)"}},
          InferInstanceNorm, LowerInstanceNorm,
          "(Tensor input, Tensor? weight=None, Tensor? bias=None, bool use_input_stats=True, float eps=1e-05)"),
  };
}

}  // namespace tondar
