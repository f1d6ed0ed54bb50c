// Pooling, plain and adaptive, over one to three trailing dims. Dims before those are kept, whatever their number.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"
#include "engine/ops/window.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;

// --- Windows --------------------------------------------------------------------------------------------------------

// The number of spatial dims follows from the operator's name.
size_t SpatialRank(const Node& node) { return static_cast<size_t>(node.op.at(node.op.find("pool") + 4) - '0'); }

Result<SpatialWindow> ReadWindow(const Node& node) {
  const Arguments args(node);
  const size_t rank = SpatialRank(node), given = args.Tensor("self")->shape.size();
  if (given != rank + 1 && given != rank + 2) return InvalidArgument("input of rank {}, expected {} or {}", given, rank + 1, rank + 2);
  const std::vector<int64_t> ones(rank, 1);
  SpatialWindow window;
  TONDAR_ASSIGN_OR_RETURN(window.kernel, SpatialList(args, "kernel_size", rank, {}));
  if (window.kernel.empty()) return InvalidArgument("kernel_size is empty");
  TONDAR_ASSIGN_OR_RETURN(window.stride, SpatialList(args, "stride", rank, window.kernel));
  TONDAR_RETURN_IF_ERROR(ReadPadding(args, window));
  TONDAR_ASSIGN_OR_RETURN(window.dilation, SpatialList(args, "dilation", rank, ones));
  window.ceil_mode = args.Bool("ceil_mode");
  const bool both_sides = args.Sizes("padding").size() == 2 * rank;  // not PyTorch's form, nor its limit
  for (size_t d = 0; d < rank; ++d) {
    const int64_t limit = both_sides ? window.dilation[d] * (window.kernel[d] - 1) : window.kernel[d] / 2;
    if (window.kernel[d] < 1 || window.stride[d] < 1 || window.dilation[d] < 1 || window.padding[d] < 0 ||
        window.padding_end[d] < 0 || std::max(window.padding[d], window.padding_end[d]) > limit) {
      return InvalidArgument("kernel, stride, dilation or padding out of range in spatial dim {}", d);
    }
  }
  return window;
}

Result<Shape> PooledShape(const Node& node, const SpatialWindow& window) {
  Shape shape = node.inputs[0]->shape;
  const size_t first = shape.size() - window.rank();
  for (size_t d = 0; d < window.rank(); ++d) {
    shape[first + d] = WindowCount(*node.graph, window, d, shape[first + d]);
    if (shape[first + d].RangeOver(node.graph->symbols).max <= 0) {
      return InvalidArgument("the window is larger than the padded input in spatial dim {}", d);
    }
  }
  return shape;
}

// Loop dims: the output's, then the window's.
Shape PoolExtents(const Shape& output, const std::vector<Dim>& kernel) {
  Shape extents = output;
  extents.insert(extents.end(), kernel.begin(), kernel.end());
  return extents;
}

std::vector<Dim> ToDims(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

Access WindowAccess(const SpatialWindow& window, size_t rank, double fill) {
  Access access{.operand = 0, .index = {}, .fill = fill};
  const size_t first = rank - window.rank();
  for (size_t d = 0; d < rank; ++d) {
    IndexExpression position = IndexExpression::LoopDim(static_cast<int>(d));
    if (d >= first) {
      const size_t s = d - first;
      position.terms[0].coefficient = window.stride[s];
      position.terms.push_back({static_cast<int8_t>(rank + s), window.dilation[s]});
      position.offset = Dim(-window.padding[s]);
      position.guarded = window.padding[s] > 0 || window.padding_end[s] > 0 || window.ceil_mode;
    }
    access.index.push_back(std::move(position));
  }
  return access;
}

double LowestOf(DType dtype) {
  if (IsFloat(dtype)) return -std::numeric_limits<double>::infinity();
  if (dtype == DType::kBool || InfoOf(dtype).kind == DTypeKind::kUnsigned) return 0;
  return -std::ldexp(1.0, static_cast<int>(8 * SizeOf(dtype)) - 1);
}

LoopProgram ConvertResult(DType reduced, DType dtype) {
  if (reduced == dtype) return {};
  LoopBuilder b;
  b.Result(b.Cast(b.Accumulator(0, reduced), dtype));
  return std::move(b).Build();
}

// --- Max pooling ----------------------------------------------------------------------------------------------------

Status InferMaxPool(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const SpatialWindow window, ReadWindow(node));
  TONDAR_ASSIGN_OR_RETURN(Shape shape, PooledShape(node, window));
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status InferMaxPoolWithIndices(Node& node) {
  TONDAR_RETURN_IF_ERROR(InferMaxPool(node));
  SetOutput(node, 1, DType::kInt64, node.outputs[0]->shape);
  return OkStatus();
}

ReduceStep MaxPoolStep(const Node& node, const SpatialWindow& window, ReduceOp op) {
  const Value* x = node.inputs[0];
  const DType compute = ComputeDType(x->dtype);
  LoopBuilder b;
  b.Result(b.Cast(b.Load(WindowAccess(window, x->shape.size(), LowestOf(x->dtype)), x->dtype), compute));
  return {.extents = PoolExtents(node.outputs[0]->shape, ToDims(window.kernel)),
          .reduced = static_cast<int>(window.rank()), .op = op, .accumulator = compute,
          .program = std::move(b).Build(), .finish = ConvertResult(compute, x->dtype)};
}

Status LowerMaxPool(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const SpatialWindow window, ReadWindow(node));
  Value* x = node.inputs[0];
  builder.Replace(0, builder.Reduce(MaxPoolStep(node, window, ReduceOp::kMax), {x}, node.outputs[0]->shape, x->dtype));
  return OkStatus();
}

// From the position within the window to the position within the input's spatial dims, row-major.
LoopProgram InputPosition(const Node& node, const SpatialWindow& window) {
  const Shape& shape = node.inputs[0]->shape;
  const size_t first = shape.size() - window.rank();
  LoopBuilder b;
  auto number = [&b](int64_t value) { return b.ConstantInteger(value, DType::kInt64); };
  Handle rest = b.Accumulator(0, DType::kInt64), position = number(0), scale = number(1);
  for (size_t s = window.rank(); s-- > 0;) {
    const Handle inside = b.Binary(LoopOp::kRemainder, rest, number(window.kernel[s]));
    rest = b.Binary(LoopOp::kFloorDiv, rest, number(window.kernel[s]));
    const Handle start = b.Binary(LoopOp::kSub, b.Binary(LoopOp::kMul, b.Index(static_cast<int>(first + s)), number(window.stride[s])),
                                  number(window.padding[s]));
    const Handle at = b.Binary(LoopOp::kAdd, start, b.Binary(LoopOp::kMul, inside, number(window.dilation[s])));
    position = b.Binary(LoopOp::kAdd, position, b.Binary(LoopOp::kMul, at, scale));
    scale = b.Binary(LoopOp::kMul, scale, b.Size(shape[first + s]));
  }
  b.Result(position);
  return std::move(b).Build();
}

Status LowerMaxPoolWithIndices(const Node& node, LoweringBuilder& builder) {
  TONDAR_RETURN_IF_ERROR(LowerMaxPool(node, builder));
  TONDAR_ASSIGN_OR_RETURN(const SpatialWindow window, ReadWindow(node));
  ReduceStep step = MaxPoolStep(node, window, ReduceOp::kArgMax);
  step.finish = InputPosition(node, window);
  builder.Replace(1, builder.Reduce(std::move(step), {node.inputs[0]}, node.outputs[1]->shape, DType::kInt64));
  return OkStatus();
}

// --- Average pooling ------------------------------------------------------------------------------------------------

Status InferAvgPool(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const SpatialWindow window, ReadWindow(node));
  TONDAR_ASSIGN_OR_RETURN(Shape shape, PooledShape(node, window));
  if (!IsFloat(node.inputs[0]->dtype)) return Unimplemented("average pooling of {}", Name(node.inputs[0]->dtype));
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

// How many elements a window has along one dim: those inside the padded input, or inside the input itself.
Handle WindowLength(LoopBuilder& b, const SpatialWindow& window, size_t s, int loop_dim, const Dim& extent, bool count_padding) {
  auto number = [&b](int64_t value) { return b.ConstantInteger(value, DType::kInt64); };
  const int64_t dilation = window.dilation[s];
  // The first of the window's elements that lies at `position` or after.
  auto ordinal = [&](Handle distance) {
    if (dilation == 1) return distance;
    return b.Binary(LoopOp::kFloorDiv, b.Binary(LoopOp::kAdd, distance, number(dilation - 1)), number(dilation));
  };
  const Handle start = b.Binary(LoopOp::kSub, b.Binary(LoopOp::kMul, b.Index(loop_dim), number(window.stride[s])), number(window.padding[s]));
  const Dim limit = count_padding ? extent + Dim(window.padding_end[s]) : extent;
  const Handle end = b.Binary(LoopOp::kMin, number(window.kernel[s]), ordinal(b.Binary(LoopOp::kSub, b.Size(limit), start)));
  if (count_padding) return end;
  const Handle begin = b.Binary(LoopOp::kMax, number(0), ordinal(b.Binary(LoopOp::kSub, number(0), start)));
  return b.Binary(LoopOp::kSub, end, begin);
}

Handle Divisor(LoopBuilder& b, const Node& node, const SpatialWindow& window) {
  const Arguments args(node);
  if (!args.IsNone("divisor_override")) return b.ConstantInteger(args.Int("divisor_override"), DType::kInt64);
  const Shape padding = args.Sizes("padding");
  const bool padded = std::any_of(padding.begin(), padding.end(), [](const Dim& p) { return !p.Is(0); });
  const bool count_padding = args.Bool("count_include_pad") || !padded;
  const Shape& shape = node.inputs[0]->shape;
  const size_t first = shape.size() - window.rank();
  Handle divisor = b.ConstantInteger(1, DType::kInt64);
  for (size_t s = 0; s < window.rank(); ++s) {
    const bool full = count_padding && !window.ceil_mode;
    const Handle length = full ? b.ConstantInteger(window.kernel[s], DType::kInt64)
                               : WindowLength(b, window, s, static_cast<int>(first + s), shape[first + s], count_padding);
    divisor = b.Binary(LoopOp::kMul, divisor, length);
  }
  return divisor;
}

Status LowerAvgPool(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const SpatialWindow window, ReadWindow(node));
  Value* x = node.inputs[0];
  const DType compute = ComputeDType(x->dtype);
  LoopBuilder body, finish;
  body.Result(body.Cast(body.Load(WindowAccess(window, x->shape.size(), 0), x->dtype), compute));
  const Handle divisor = finish.Cast(Divisor(finish, node, window), compute);
  finish.Result(finish.Cast(finish.Binary(LoopOp::kDiv, finish.Accumulator(0, compute), divisor), x->dtype));
  ReduceStep step{.extents = PoolExtents(node.outputs[0]->shape, ToDims(window.kernel)),
                  .reduced = static_cast<int>(window.rank()), .op = ReduceOp::kSum, .accumulator = compute,
                  .program = std::move(body).Build(), .finish = std::move(finish).Build()};
  builder.Replace(0, builder.Reduce(std::move(step), {x}, node.outputs[0]->shape, x->dtype));
  return OkStatus();
}

// --- Adaptive pooling -----------------------------------------------------------------------------------------------
// Output position o of O covers the input positions from floor(o I / O) up to ceil((o + 1) I / O).

Status InferAdaptive(Node& node) {
  const Arguments args(node);
  const size_t rank = SpatialRank(node);
  Shape shape = node.inputs[0]->shape, sizes = args.Sizes("output_size");
  if (shape.size() != rank + 1 && shape.size() != rank + 2) return InvalidArgument("input of rank {}, expected {} or {}", shape.size(), rank + 1, rank + 2);
  if (sizes.size() == 1) sizes.assign(rank, sizes[0]);
  if (sizes.size() != rank) return InvalidArgument("output_size has {} values for {} spatial dims", sizes.size(), rank);
  if (!IsFloat(node.inputs[0]->dtype)) return Unimplemented("adaptive pooling of {}", Name(node.inputs[0]->dtype));
  std::copy(sizes.begin(), sizes.end(), shape.end() - static_cast<ptrdiff_t>(rank));
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status InferAdaptiveWithIndices(Node& node) {
  TONDAR_RETURN_IF_ERROR(InferAdaptive(node));
  SetOutput(node, 1, DType::kInt64, node.outputs[0]->shape);
  return OkStatus();
}

// One spatial dim of an adaptive window.
struct AdaptiveDim {
  Dim input, output;
  bool even;      // every window has `length` elements
  Dim length;     // of the longest window
};

AdaptiveDim ReadAdaptive(const Dim& input, const Dim& output) {
  const bool even = output.Is(1) || Dim::Mod(input, output).Is(0);
  const Dim quotient = Dim::FloorDiv(input, output);
  // I = qO + r covers at most q + 2 positions, q + 1 if r divides O.
  const bool short_windows = input.IsConstant() && output.IsConstant() && !even &&
                             output.constant() % (input.constant() % output.constant()) == 0;
  return {input, output, even, even ? quotient : quotient + Dim(short_windows ? 1 : 2)};
}

Handle AdaptiveStart(LoopBuilder& b, const AdaptiveDim& dim, int loop_dim) {
  return b.Binary(LoopOp::kFloorDiv, b.Binary(LoopOp::kMul, b.Index(loop_dim), b.Size(dim.input)), b.Size(dim.output));
}

Handle AdaptiveEnd(LoopBuilder& b, const AdaptiveDim& dim, int loop_dim) {
  const Handle next = b.Binary(LoopOp::kAdd, b.Index(loop_dim), b.ConstantInteger(1, DType::kInt64));
  const Handle scaled = b.Binary(LoopOp::kAdd, b.Binary(LoopOp::kMul, next, b.Size(dim.input)), b.Size(dim.output - Dim(1)));
  return b.Binary(LoopOp::kFloorDiv, scaled, b.Size(dim.output));
}

std::vector<AdaptiveDim> AdaptiveDims(const Node& node) {
  const Shape &input = node.inputs[0]->shape, &output = node.outputs[0]->shape;
  std::vector<AdaptiveDim> dims;
  for (size_t d = input.size() - SpatialRank(node); d < input.size(); ++d) dims.push_back(ReadAdaptive(input[d], output[d]));
  return dims;
}

// Where a window's element lies along one dim, and whether the window reaches that far.
struct AdaptivePosition {
  IndexExpression index;
  Handle inside = -1;  // -1: always
};

AdaptivePosition PositionIn(LoopBuilder& b, const AdaptiveDim& dim, int outer, int inner) {
  // With even windows o L + k, where L need not be constant unless there is more than one window.
  if (dim.even && (dim.output.Is(1) || dim.length.IsConstant())) {
    IndexExpression index = IndexExpression::LoopDim(inner);
    if (!dim.output.Is(1)) index.terms.insert(index.terms.begin(), {static_cast<int8_t>(outer), dim.length.constant()});
    return {std::move(index)};
  }
  const Handle at = b.Binary(LoopOp::kAdd, AdaptiveStart(b, dim, outer), b.Index(inner));
  const Handle end = AdaptiveEnd(b, dim, outer);
  const Handle last = b.Binary(LoopOp::kSub, end, b.ConstantInteger(1, DType::kInt64));
  return {IndexExpression::Dynamic(b.Binary(LoopOp::kMin, at, last)), b.Binary(LoopOp::kLt, at, end)};
}

// Loads the window's element, or `outside` where the window is shorter than the longest.
Handle LoadAdaptive(LoopBuilder& b, const Node& node, const std::vector<AdaptiveDim>& dims, double outside) {
  const Value* x = node.inputs[0];
  const size_t rank = x->shape.size(), first = rank - dims.size();
  Access access{.operand = 0, .index = {}};
  Handle inside = -1;
  for (size_t d = 0; d < rank; ++d) {
    if (d < first) {
      access.index.push_back(IndexExpression::LoopDim(static_cast<int>(d)));
      continue;
    }
    AdaptivePosition position = PositionIn(b, dims[d - first], static_cast<int>(d), static_cast<int>(rank + d - first));
    access.index.push_back(std::move(position.index));
    if (position.inside < 0) continue;
    inside = inside < 0 ? position.inside : b.Binary(LoopOp::kLogicalAnd, inside, position.inside);
  }
  const Handle value = b.Cast(b.Load(std::move(access), x->dtype), ComputeDType(x->dtype));
  return inside < 0 ? value : b.Select(inside, value, b.Constant(outside, b.dtype(value)));
}

ReduceStep AdaptiveStep(const Node& node, const std::vector<AdaptiveDim>& dims, ReduceOp op, double outside) {
  LoopBuilder b;
  b.Result(LoadAdaptive(b, node, dims, outside));
  std::vector<Dim> kernel;
  for (const AdaptiveDim& dim : dims) kernel.push_back(dim.length);
  return {.extents = PoolExtents(node.outputs[0]->shape, kernel), .reduced = static_cast<int>(dims.size()), .op = op,
          .accumulator = ComputeDType(node.inputs[0]->dtype), .program = std::move(b).Build(), .finish = {}};
}

Status LowerAdaptiveAvgPool(const Node& node, LoweringBuilder& builder) {
  const std::vector<AdaptiveDim> dims = AdaptiveDims(node);
  Value* x = node.inputs[0];
  const DType compute = ComputeDType(x->dtype);
  ReduceStep step = AdaptiveStep(node, dims, ReduceOp::kSum, 0);
  LoopBuilder b;
  Handle count = b.ConstantInteger(1, DType::kInt64);
  const size_t first = x->shape.size() - dims.size();
  for (size_t s = 0; s < dims.size(); ++s) {
    const int loop_dim = static_cast<int>(first + s);
    const Handle length = dims[s].even ? b.Size(dims[s].length)
                                       : b.Binary(LoopOp::kSub, AdaptiveEnd(b, dims[s], loop_dim), AdaptiveStart(b, dims[s], loop_dim));
    count = b.Binary(LoopOp::kMul, count, length);
  }
  b.Result(b.Cast(b.Binary(LoopOp::kDiv, b.Accumulator(0, compute), b.Cast(count, compute)), x->dtype));
  step.finish = std::move(b).Build();
  builder.Replace(0, builder.Reduce(std::move(step), {x}, node.outputs[0]->shape, x->dtype));
  return OkStatus();
}

Status LowerAdaptiveMaxPool(const Node& node, LoweringBuilder& builder) {
  const std::vector<AdaptiveDim> dims = AdaptiveDims(node);
  Value* x = node.inputs[0];
  if (node.graph->IsUsed(node.outputs[1])) return Unimplemented("the indices of adaptive max pooling");
  ReduceStep step = AdaptiveStep(node, dims, ReduceOp::kMax, LowestOf(x->dtype));
  step.finish = ConvertResult(step.accumulator, x->dtype);
  builder.Replace(0, builder.Reduce(std::move(step), {x}, node.outputs[0]->shape, x->dtype));
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), int results = 1, std::string signature = "") {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.results = results;
  schema.infer = infer;
  schema.lower = lower;
  return schema;
}

constexpr char kMax[] =
    "(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool ceil_mode=False)";
constexpr char kAverage[] =
    "(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, bool ceil_mode=False, bool "
    "count_include_pad=True, int? divisor_override=None)";
constexpr char kAverageOwn[] =
    "(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, bool ceil_mode=False, bool "
    "count_include_pad=True, int? divisor_override=None, int[] dilation=1)";
constexpr char kAdaptive[] = "(Tensor self, SymInt[] output_size)";

}  // namespace

std::vector<OpSchema> PoolingOps() {
  std::vector<OpSchema> rows;
  for (const std::string n : {"1", "2", "3"}) {
    const std::string d = n + "d";
    rows.push_back(Row("max_pool" + d, {{"aten.max_pool" + d + ".default", kMax}}, InferMaxPool, LowerMaxPool));
    rows.push_back(Row("max_pool" + d + "_with_indices", {{"aten.max_pool" + d + "_with_indices.default", kMax}},
                       InferMaxPoolWithIndices, LowerMaxPoolWithIndices, 2));
    rows.push_back(Row("avg_pool" + d, {{"aten.avg_pool" + d + ".default", kAverage}}, InferAvgPool, LowerAvgPool, 1, kAverageOwn));
    rows.push_back(Row("adaptive_avg_pool" + d,
                       {{"aten.adaptive_avg_pool" + d + ".default", kAdaptive},
                        {"aten._adaptive_avg_pool" + d + ".default", kAdaptive}},
                       InferAdaptive, LowerAdaptiveAvgPool));
    rows.push_back(Row("adaptive_max_pool" + d, {{"aten.adaptive_max_pool" + d + ".default", kAdaptive}},
                       InferAdaptiveWithIndices, LowerAdaptiveMaxPool, 2));
  }
  return rows;
}

}  // namespace tondar
