// Quantisation as PT2E (quantized_decomposed) and torchao spell it: q = clamp(round(x / scale) + zero_point),
// x = (q - zero_point) * scale. One scale for a whole tensor, per channel, or per block.
#include <cmath>
#include <limits>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/pointwise.h"
#include "engine/ops/reduction.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;
using Handles = std::span<const Handle>;
constexpr DType kF32 = DType::kFloat32;

// --- The two formulas, on tensors that broadcast --------------------------------------------------------------------

// A scale or zero point: a tensor that broadcasts to x, a number, or nothing.
struct Parameter {
  Value* tensor = nullptr;
  std::optional<double> number;
};

Parameter ParameterOf(const Arguments& args, std::string_view name) {
  if (Value* tensor = args.Tensor(name)) return {tensor, std::nullopt};
  if (args.IsNone(name)) return {};
  return {nullptr, args.Number(name)};
}

struct Range {
  double min, max;
};

// The bounds that the arguments give, else those of the dtype.
Range RangeOf(const Arguments& args, DType dtype) {
  const double values = std::ldexp(1.0, static_cast<int>(8 * SizeOf(dtype)));
  const double lowest = InfoOf(dtype).kind == DTypeKind::kUnsigned ? 0 : -values / 2;
  return {args.IsNone("quant_min") ? lowest : args.Number("quant_min"),
          args.IsNone("quant_max") ? lowest + values - 1 : args.Number("quant_max")};
}

// The parameters' handles follow x's among the loads, those that are tensors.
std::vector<Value*> InputsOf(Value* x, const Parameter& scale, const Parameter& zero_point) {
  std::vector<Value*> inputs = {x};
  if (scale.tensor != nullptr) inputs.push_back(scale.tensor);
  if (zero_point.tensor != nullptr) inputs.push_back(zero_point.tensor);
  return inputs;
}

Value* EmitQuantise(LoweringBuilder& builder, Value* x, const Parameter& scale, const Parameter& zero_point, Range range,
                    DType dtype) {
  return builder.Map(x->shape, InputsOf(x, scale, zero_point), [&](LoopBuilder& b, Handles loads) {
    Handle inverse;
    if (scale.tensor != nullptr) {  // the division is in the scale's own dtype
      inverse = b.Cast(b.Binary(LoopOp::kDiv, b.Constant(1, b.dtype(loads[1])), loads[1]), kF32);
    } else {
      inverse = b.Constant(1 / *scale.number, kF32);
    }
    Handle q = b.Unary(LoopOp::kRound, b.Binary(LoopOp::kMul, b.Cast(loads[0], kF32), inverse));
    if (zero_point.tensor != nullptr) {
      q = b.Binary(LoopOp::kAdd, q, b.Cast(loads.back(), kF32));
    } else if (zero_point.number.value_or(0) != 0) {
      q = b.Binary(LoopOp::kAdd, q, b.Constant(*zero_point.number, kF32));
    }
    q = b.Binary(LoopOp::kMin, b.Binary(LoopOp::kMax, q, b.Constant(range.min, kF32)), b.Constant(range.max, kF32));
    return b.Cast(q, dtype);
  });
}

Value* EmitDequantise(LoweringBuilder& builder, Value* q, const Parameter& scale, const Parameter& zero_point,
                      DType dtype) {
  return builder.Map(q->shape, InputsOf(q, scale, zero_point), [&](LoopBuilder& b, Handles loads) {
    Handle x = b.Cast(loads[0], kF32);
    if (zero_point.tensor != nullptr) {
      x = b.Binary(LoopOp::kSub, x, b.Cast(loads.back(), kF32));
    } else if (zero_point.number.value_or(0) != 0) {
      x = b.Binary(LoopOp::kSub, x, b.Constant(*zero_point.number, kF32));
    }
    const Handle factor = scale.tensor != nullptr ? b.Cast(loads[1], kF32) : b.Constant(*scale.number, kF32);
    return b.Cast(b.Binary(LoopOp::kMul, x, factor), dtype);
  });
}

DType OutputDType(const Arguments& args, std::string_view name) {
  return args.Type(name) == DType::kInvalid ? kF32 : args.Type(name);
}

Status SetSameShape(Node& node, DType dtype) {
  SetOutput(node, 0, dtype, node.inputs[0]->shape);
  return OkStatus();
}

Status CheckFloat(const Value* x) {
  return IsFloat(x->dtype) ? OkStatus() : InvalidArgument("quantises {}", Name(x->dtype));
}

// --- Per tensor -----------------------------------------------------------------------------------------------------

// A parameter of one element, whatever its rank, as a 0-d tensor.
Parameter AsScalar(LoweringBuilder& builder, Parameter parameter) {
  if (parameter.tensor != nullptr) parameter.tensor = builder.Reshape(parameter.tensor, {});
  return parameter;
}

Status InferQuantise(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckFloat(node.inputs[0]));
  return SetSameShape(node, Arguments(node).Type("dtype"));
}

Status InferDequantise(Node& node) { return SetSameShape(node, OutputDType(Arguments(node), "out_dtype")); }

Status LowerQuantise(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const DType dtype = node.outputs[0]->dtype;
  builder.Replace(0, EmitQuantise(builder, node.inputs[0], AsScalar(builder, ParameterOf(args, "scale")),
                                  AsScalar(builder, ParameterOf(args, "zero_point")), RangeOf(args, dtype), dtype));
  return OkStatus();
}

Status LowerDequantise(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  builder.Replace(0, EmitDequantise(builder, node.inputs[0], AsScalar(builder, ParameterOf(args, "scale")),
                                    AsScalar(builder, ParameterOf(args, "zero_point")), node.outputs[0]->dtype));
  return OkStatus();
}

// --- Per channel ----------------------------------------------------------------------------------------------------

Status CheckAxis(const Node& node) { return NormaliseDim(Arguments(node).Int("axis"), node.inputs[0]->shape.size()).status(); }

Status InferQuantiseChannels(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckAxis(node));
  return InferQuantise(node);
}

Status InferDequantiseChannels(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckAxis(node));
  return InferDequantise(node);
}

// A parameter [C] along the axis of x.
Parameter AlongAxis(LoweringBuilder& builder, const Node& node, std::string_view name) {
  const Arguments args(node);
  Value* tensor = args.Tensor(name);
  if (tensor == nullptr) return {};
  Shape shape(node.inputs[0]->shape.size(), Dim(1));
  shape[*NormaliseDim(args.Int("axis"), shape.size())] = tensor->shape.at(0);
  return {builder.Reshape(tensor, shape), std::nullopt};
}

Status LowerQuantiseChannels(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.outputs[0]->dtype;
  builder.Replace(0, EmitQuantise(builder, node.inputs[0], AlongAxis(builder, node, "scales"),
                                  AlongAxis(builder, node, "zero_points"), RangeOf(Arguments(node), dtype), dtype));
  return OkStatus();
}

Status LowerDequantiseChannels(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, EmitDequantise(builder, node.inputs[0], AlongAxis(builder, node, "scales"),
                                    AlongAxis(builder, node, "zero_points"), node.outputs[0]->dtype));
  return OkStatus();
}

// --- Per block ------------------------------------------------------------------------------------------------------

// The input's dims, each cut into blocks; `counts` keeps 1 where a block's elements lie.
struct Blocks {
  Shape split, counts, per_dim;  // per_dim: blocks along each dim of the input
  std::vector<size_t> inner;     // the dims of `split` that run within a block
};

Result<Blocks> BlocksOf(const Node& node) {
  const Shape& shape = node.inputs[0]->shape;
  const Shape sizes = Arguments(node).Sizes("block_size");
  if (sizes.size() != shape.size()) return InvalidArgument("{} block sizes for a tensor of rank {}", sizes.size(), shape.size());
  Blocks blocks;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Dim count = Dim::FloorDiv(shape[d], sizes[d]);
    if (count.IsConstant() && shape[d].IsConstant() && !(count * sizes[d] == shape[d])) {
      return InvalidArgument("blocks of {} do not divide an extent of {}", sizes[d].ToString(), shape[d].ToString());
    }
    blocks.per_dim.push_back(count);
    blocks.split.push_back(count);
    blocks.counts.push_back(count);
    if (sizes[d].Is(1)) continue;
    blocks.inner.push_back(blocks.split.size());
    blocks.split.push_back(sizes[d]);
    blocks.counts.push_back(Dim(1));
  }
  if (blocks.split.size() > static_cast<size_t>(kMaxRank)) return Unimplemented("blocks in too many dims");
  return blocks;
}

Parameter PerBlock(LoweringBuilder& builder, Value* tensor, const Blocks& blocks) {
  if (tensor == nullptr || ElementCount(tensor->shape).Is(0)) return {};
  return {builder.Reshape(tensor, blocks.counts), std::nullopt};
}

Status InferQuantiseBlocks(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckFloat(node.inputs[0]));
  TONDAR_RETURN_IF_ERROR(BlocksOf(node).status());
  return SetSameShape(node, Arguments(node).Type("output_dtype"));
}

Status InferDequantiseBlocks(Node& node) {
  TONDAR_RETURN_IF_ERROR(BlocksOf(node).status());
  return SetSameShape(node, OutputDType(Arguments(node), "output_dtype"));
}

Status LowerQuantiseBlocks(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  TONDAR_ASSIGN_OR_RETURN(const Blocks blocks, BlocksOf(node));
  const DType dtype = node.outputs[0]->dtype;
  Value* q = EmitQuantise(builder, builder.Reshape(node.inputs[0], blocks.split), PerBlock(builder, args.Tensor("scale"), blocks),
                          PerBlock(builder, args.Tensor("zero_point"), blocks), RangeOf(args, dtype), dtype);
  builder.Replace(0, builder.Reshape(q, node.outputs[0]->shape));
  return OkStatus();
}

Status LowerDequantiseBlocks(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  TONDAR_ASSIGN_OR_RETURN(const Blocks blocks, BlocksOf(node));
  Value* x = EmitDequantise(builder, builder.Reshape(node.inputs[0], blocks.split), PerBlock(builder, args.Tensor("scale"), blocks),
                            PerBlock(builder, args.Tensor("zero_point"), blocks), node.outputs[0]->dtype);
  builder.Replace(0, builder.Reshape(x, node.outputs[0]->shape));
  return OkStatus();
}

// --- Choosing parameters from the data ------------------------------------------------------------------------------

// min(0, smallest) and max(0, largest) of each block.
struct Extremes {
  Value *low, *high;
};

Extremes EmitExtremes(LoweringBuilder& builder, Value* x, const std::vector<size_t>& dims) {
  auto extreme = [&](ReduceOp op, LoopOp with_zero) {
    Reduction reduction{.op = op, .dims = dims, .keepdim = true, .accumulator = kF32, .dtype = kF32,
                        .body = nullptr, .finish = nullptr};
    reduction.finish = [with_zero](LoopBuilder& b, Handle value) { return b.Binary(with_zero, value, b.Constant(0, kF32)); };
    return EmitReduction(builder, {x}, reduction);
  };
  return {extreme(ReduceOp::kMin, LoopOp::kMin), extreme(ReduceOp::kMax, LoopOp::kMax)};
}

// max((high - low) / (max - min), eps), or for symmetric ranges max(|low|, |high|) over half the range.
Value* EmitScale(LoweringBuilder& builder, const Extremes& extremes, Range range, double eps, bool symmetric) {
  return builder.Map({extremes.low, extremes.high}, [&](LoopBuilder& b, Handles x) {
    const double width = symmetric ? (range.max - range.min) / 2 : range.max - range.min;
    const Handle spread = symmetric ? b.Binary(LoopOp::kMax, b.Unary(LoopOp::kNeg, x[0]), x[1])
                                    : b.Binary(LoopOp::kSub, x[1], x[0]);
    return b.Binary(LoopOp::kMax, b.Binary(LoopOp::kDiv, spread, b.Constant(width, kF32)), b.Constant(eps, kF32));
  });
}

Value* EmitZeroPoint(LoweringBuilder& builder, const Extremes& extremes, Value* scale, Range range, bool symmetric) {
  return builder.Map({extremes.low, scale}, [&](LoopBuilder& b, Handles x) {
    if (symmetric) return b.Constant(std::trunc((range.max + range.min + 1) / 2), kF32);
    const Handle steps = b.Unary(LoopOp::kRound, b.Binary(LoopOp::kDiv, x[0], x[1]));
    const Handle zero = b.Binary(LoopOp::kSub, b.Constant(range.min, kF32), steps);
    return b.Binary(LoopOp::kMin, b.Binary(LoopOp::kMax, zero, b.Constant(range.min, kF32)), b.Constant(range.max, kF32));
  });
}

void ReplaceParameters(const Node& node, LoweringBuilder& builder, Value* scale, Value* zero_point) {
  const Value *first = node.outputs[0], *second = node.outputs[1];
  builder.Replace(0, builder.Reshape(builder.Cast(scale, first->dtype), first->shape));
  builder.Replace(1, builder.Reshape(builder.Cast(zero_point, second->dtype), second->shape));
}

Status InferChooseParameters(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckFloat(node.inputs[0]));
  SetOutput(node, 0, DType::kFloat64, {Dim(1)});
  SetOutput(node, 1, DType::kInt64, {Dim(1)});
  return OkStatus();
}

Status LowerChooseParameters(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* x = node.inputs[0];
  const Range range = RangeOf(args, args.Type("dtype"));
  const Extremes extremes = EmitExtremes(builder, x, *NormaliseDims({}, x->shape.size(), true));
  Value* scale = EmitScale(builder, extremes, range, args.Number("eps"), false);
  ReplaceParameters(node, builder, scale, EmitZeroPoint(builder, extremes, scale, range, false));
  return OkStatus();
}

Status InferChooseBlockParameters(Node& node) {
  const Arguments args(node);
  TONDAR_RETURN_IF_ERROR(CheckFloat(node.inputs[0]));
  TONDAR_ASSIGN_OR_RETURN(const Blocks blocks, BlocksOf(node));
  const std::string mapping = args.String("mapping_type");
  if (mapping != "SYMMETRIC" && mapping != "ASYMMETRIC") return Unimplemented("mapping_type {}", mapping);
  Shape shape = blocks.per_dim;
  if (!args.Bool("keepdim")) shape = ReducedShape(blocks.split, blocks.inner, false);
  const DType x = node.inputs[0]->dtype;
  const DType unset = mapping == "SYMMETRIC" ? x : DType::kInt32;
  SetOutput(node, 0, args.Type("scale_dtype") == DType::kInvalid ? x : args.Type("scale_dtype"), shape);
  SetOutput(node, 1, args.Type("zero_point_dtype") == DType::kInvalid ? unset : args.Type("zero_point_dtype"), shape);
  return OkStatus();
}

Status LowerChooseBlockParameters(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  TONDAR_ASSIGN_OR_RETURN(const Blocks blocks, BlocksOf(node));
  const Range range = RangeOf(args, args.Type("target_dtype"));
  const bool symmetric = args.String("mapping_type") == "SYMMETRIC";
  const double eps = args.IsNone("eps") ? std::numeric_limits<float>::min() : args.Number("eps");
  const Extremes extremes = EmitExtremes(builder, builder.Reshape(node.inputs[0], blocks.split), blocks.inner);
  Value* scale = EmitScale(builder, extremes, range, eps, symmetric);
  ReplaceParameters(node, builder, scale, EmitZeroPoint(builder, extremes, scale, range, symmetric));
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), std::string signature = "", int results = 1) {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.results = results;
  schema.infer = infer;
  schema.lower = lower;
  return schema;
}

constexpr char kBounds[] = ", int quant_min, int quant_max, ScalarType dtype";

std::string Signature(const std::string& parameters, const std::string& rest = "") {
  return "(Tensor input, " + parameters + kBounds + rest + ")";
}

}  // namespace

std::vector<OpSchema> QuantisationOps() {
  const std::string numbers = "float scale, int zero_point", tensors = "Tensor scale, Tensor zero_point";
  const std::string out = ", *, ScalarType? out_dtype=None";
  return {
      Row("quantize",
          {{"quantized_decomposed.quantize_per_tensor.tensor", Signature(tensors)},
           {"quantized_decomposed.quantize_per_tensor.default", Signature(numbers)}},
          InferQuantise, LowerQuantise),
      Row("dequantize",
          {{"quantized_decomposed.dequantize_per_tensor.tensor", Signature(tensors, out)},
           {"quantized_decomposed.dequantize_per_tensor.default", Signature(numbers, out)}},
          InferDequantise, LowerDequantise),
      Row("quantize_channels",
          {{"quantized_decomposed.quantize_per_channel.default",
            Signature("Tensor scales, Tensor zero_points, int axis")}},
          InferQuantiseChannels, LowerQuantiseChannels),
      Row("dequantize_channels",
          {{"quantized_decomposed.dequantize_per_channel.default",
            Signature("Tensor scales, Tensor? zero_points, int axis", out)}},
          InferDequantiseChannels, LowerDequantiseChannels),
      Row("choose_quantisation",
          {{"quantized_decomposed.choose_qparams.tensor",
            "(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype)"}},
          InferChooseParameters, LowerChooseParameters, "", 2),
      Row("quantize_blocks",
          {{"torchao.quantize_affine.default",
            "(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType output_dtype, Scalar? "
            "quant_min=None, Scalar? quant_max=None)"}},
          InferQuantiseBlocks, LowerQuantiseBlocks),
      Row("dequantize_blocks",
          {{"torchao.dequantize_affine.default",
            "(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType input_dtype, Scalar? "
            "quant_min=None, Scalar? quant_max=None, ScalarType output_dtype=float)"}},
          InferDequantiseBlocks, LowerDequantiseBlocks),
      Row("choose_block_quantisation",
          {{"torchao.choose_qparams_affine.default",
            "(Tensor input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, Scalar? quant_min=None, "
            "Scalar? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, "
            "bool keepdim=False)"}},
          InferChooseBlockParameters, LowerChooseBlockParameters, "", 2),
  };
}

}  // namespace tondar
