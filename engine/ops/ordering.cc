// Operators that order elements: sort, top k, medians, quantiles, search in sorted rows, running extrema.
#include "engine/ops/ordering.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/pointwise.h"
#include "engine/ops/reduction.h"

namespace tondar {

using Handle = LoopBuilder::Handle;
using Handles = std::span<const Handle>;

namespace {

int ToInt(size_t d) { return static_cast<int>(d); }
int64_t Signed(size_t d) { return static_cast<int64_t>(d); }

Access IdentityAccess(int operand, size_t rank) {
  Access access{.operand = static_cast<int16_t>(operand), .index = {}};
  for (size_t d = 0; d < rank; ++d) access.index.push_back(IndexExpression::LoopDim(ToInt(d)));
  return access;
}

}  // namespace

Value* EmitSort(LoweringBuilder& builder, Value* x, size_t d, bool descending, const Dim& count) {
  Value* last = builder.Transpose(x, Signed(d), -1);
  Shape shape = last->shape;
  shape.back() = count;
  return builder.Transpose(builder.Step(SortStep{descending}, {last}, shape, DType::kInt64), Signed(d), -1);
}

Value* EmitGather(LoweringBuilder& builder, Value* x, size_t d, Value* positions) {
  const size_t rank = x->shape.size();
  LoopBuilder b;
  Access access = IdentityAccess(0, rank);
  access.index[d] = IndexExpression::Dynamic(b.Load(IdentityAccess(1, rank), positions->dtype));
  b.Result(b.Load(std::move(access), x->dtype));
  return builder.Map(positions->shape, {x, positions}, std::move(b).Build());
}

namespace {

// --- sort, argsort, topk --------------------------------------------------------------------------------------------

Shape AtLeastVector(const Shape& shape) { return shape.empty() ? Shape{Dim(1)} : shape; }
Value* AtLeastVector(LoweringBuilder& builder, Value* x) { return builder.Reshape(x, AtLeastVector(x->shape)); }

Result<size_t> DimOf(const Node& node) { return NormaliseDim(Arguments(node).Int("dim"), AtLeastVector(node.inputs[0]->shape).size()); }

Status InferSort(Node& node) {
  TONDAR_RETURN_IF_ERROR(DimOf(node).status());
  SetOutput(node, 0, node.inputs[0]->dtype, node.inputs[0]->shape);
  SetOutput(node, 1, DType::kInt64, node.inputs[0]->shape);
  return OkStatus();
}

Status LowerSort(const Node& node, LoweringBuilder& builder) {
  Value* x = AtLeastVector(builder, node.inputs[0]);
  const size_t d = *DimOf(node);
  Value* positions = EmitSort(builder, x, d, Arguments(node).Bool("descending"), x->shape[d]);
  builder.Replace(0, builder.Reshape(EmitGather(builder, x, d, positions), node.outputs[0]->shape));
  builder.Replace(1, builder.Reshape(positions, node.outputs[1]->shape));
  return OkStatus();
}

Status InferArgsort(Node& node) {
  TONDAR_RETURN_IF_ERROR(DimOf(node).status());
  SetOutput(node, 0, DType::kInt64, node.inputs[0]->shape);
  return OkStatus();
}

Status LowerArgsort(const Node& node, LoweringBuilder& builder) {
  Value* x = AtLeastVector(builder, node.inputs[0]);
  const size_t d = *DimOf(node);
  Value* positions = EmitSort(builder, x, d, Arguments(node).Bool("descending"), x->shape[d]);
  builder.Replace(0, builder.Reshape(positions, node.outputs[0]->shape));
  return OkStatus();
}

Status InferMsort(Node& node) {
  SetOutput(node, 0, node.inputs[0]->dtype, node.inputs[0]->shape);
  return OkStatus();
}

Status LowerMsort(const Node& node, LoweringBuilder& builder) {
  Value* x = AtLeastVector(builder, node.inputs[0]);
  Value* sorted = EmitGather(builder, x, 0, EmitSort(builder, x, 0, false, x->shape[0]));
  builder.Replace(0, builder.Reshape(sorted, node.outputs[0]->shape));
  return OkStatus();
}

Status InferTopK(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const size_t d, DimOf(node));
  const Dim k = Arguments(node).Size("k");
  Shape shape = node.inputs[0]->shape;
  const Dim extent = AtLeastVector(shape)[d];
  if (k.RangeOver(node.graph->symbols).max < 0 || (extent - k).RangeOver(node.graph->symbols).max < 0) {
    return InvalidArgument("k of {} for an extent of {}", k.ToString(node.graph->symbols), extent.ToString(node.graph->symbols));
  }
  if (!shape.empty()) shape[d] = k;
  SetOutput(node, 0, node.inputs[0]->dtype, shape);
  SetOutput(node, 1, DType::kInt64, std::move(shape));
  return OkStatus();
}

Status LowerTopK(const Node& node, LoweringBuilder& builder) {
  Value* x = AtLeastVector(builder, node.inputs[0]);
  const size_t d = *DimOf(node);
  const bool is_number = node.outputs[0]->shape.empty();  // whatever k is, PyTorch gives the number back
  const Dim count = is_number ? Dim(1) : Arguments(node).Size("k");
  Value* positions = EmitSort(builder, x, d, Arguments(node).Bool("largest"), count);
  builder.Replace(0, builder.Reshape(EmitGather(builder, x, d, positions), node.outputs[0]->shape));
  builder.Replace(1, builder.Reshape(positions, node.outputs[1]->shape));
  return OkStatus();
}

// --- One element of the order: kthvalue, median, mode ---------------------------------------------------------------

Status InferPick(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const size_t d, DimOf(node));
  const Shape& shape = node.inputs[0]->shape;
  if (AtLeastVector(shape)[d].Is(0)) return InvalidArgument("no elements in dim {}", d);
  const Shape reduced = shape.empty() ? shape : ReducedShape(shape, {d}, Arguments(node).Bool("keepdim"));
  SetOutput(node, 0, node.inputs[0]->dtype, reduced);
  SetOutput(node, 1, DType::kInt64, reduced);
  return OkStatus();
}

// Gives the outputs: x at `position`, whose extent in dim d is 1.
Status ReplacePick(const Node& node, LoweringBuilder& builder, Value* x, size_t d, Value* position) {
  builder.Replace(0, builder.Reshape(EmitGather(builder, x, d, position), node.outputs[0]->shape));
  builder.Replace(1, builder.Reshape(position, node.outputs[1]->shape));
  return OkStatus();
}

Status InferKthValue(Node& node) {
  TONDAR_RETURN_IF_ERROR(InferPick(node));
  const Dim k = Arguments(node).Size("k"), extent = AtLeastVector(node.inputs[0]->shape)[*DimOf(node)];
  const auto range = [&](const Dim& value) { return value.RangeOver(node.graph->symbols); };
  if (range(k).max >= 1 && range(extent - k).max >= 0) return OkStatus();
  return InvalidArgument("k of {} for an extent of {}", k.ToString(node.graph->symbols), extent.ToString(node.graph->symbols));
}

Status LowerKthValue(const Node& node, LoweringBuilder& builder) {
  Value* x = AtLeastVector(builder, node.inputs[0]);
  const size_t d = *DimOf(node);
  const Dim k = Arguments(node).Size("k");
  Value* position = builder.Slice(EmitSort(builder, x, d, false, k), Signed(d), k - Dim(1), Dim(1));
  return ReplacePick(node, builder, x, d, position);
}

// The number of NaNs along dim d, kept with extent 1: int64.
Value* CountNans(LoweringBuilder& builder, Value* x, size_t d) {
  Reduction count{.op = ReduceOp::kSum, .dims = {d}, .keepdim = true, .accumulator = DType::kInt64, .dtype = DType::kInt64,
                  .body = nullptr, .finish = nullptr};
  count.body = [](LoopBuilder& b, Handles x) { return b.Cast(b.Unary(LoopOp::kIsNan, x[0]), DType::kInt64); };
  return EmitReduction(builder, {x}, count);
}

// The place of the median in the order. NaNs come last: median takes the first of them, nanmedian looks only before them.
Value* MedianPlace(LoweringBuilder& builder, Value* nans, const Dim& extent, bool skip_nans) {
  return builder.Map({nans}, [&](LoopBuilder& b, Handles x) {
    const Handle zero = b.ConstantInteger(0, DType::kInt64), two = b.ConstantInteger(2, DType::kInt64);
    const Handle numbers = b.Binary(LoopOp::kSub, b.Size(extent), x[0]);
    const auto middle = [&](Handle count) {
      const Handle place = b.Binary(LoopOp::kDiv, b.Binary(LoopOp::kSub, count, b.ConstantInteger(1, DType::kInt64)), two);
      return b.Binary(LoopOp::kMax, place, zero);
    };
    if (skip_nans) return middle(numbers);
    return b.Select(b.Binary(LoopOp::kGt, x[0], zero), numbers, middle(b.Size(extent)));
  });
}

// The position of the median along dim d.
Value* MedianPosition(LoweringBuilder& builder, Value* x, size_t d, bool skip_nans) {
  const Dim& extent = x->shape[d];
  Value* order = EmitSort(builder, x, d, false, extent);
  if (IsFloat(x->dtype)) return EmitGather(builder, order, d, MedianPlace(builder, CountNans(builder, x, d), extent, skip_nans));
  return builder.Slice(order, Signed(d), Dim::FloorDiv(extent - Dim(1), Dim(2)), Dim(1));
}

template <bool skip_nans>
Status LowerMedianDim(const Node& node, LoweringBuilder& builder) {
  Value* x = AtLeastVector(builder, node.inputs[0]);
  const size_t d = *DimOf(node);
  return ReplacePick(node, builder, x, d, MedianPosition(builder, x, d, skip_nans));
}

Status InferMedian(Node& node) {
  SetOutput(node, 0, node.inputs[0]->dtype, {});
  return OkStatus();
}

template <bool skip_nans>
Status LowerMedian(const Node& node, LoweringBuilder& builder) {
  Value* x = builder.Reshape(node.inputs[0], {ElementCount(node.inputs[0]->shape)});
  if (x->shape[0].Is(0)) {
    const double none = IsFloat(x->dtype) ? std::numeric_limits<double>::quiet_NaN() : 0;
    builder.Replace(0, builder.Full(none, x->dtype, {}));
    return OkStatus();
  }
  builder.Replace(0, builder.Reshape(EmitGather(builder, x, 0, MedianPosition(builder, x, 0, skip_nans)), {}));
  return OkStatus();
}

// Where each run of equal elements begins, for each element of the sorted last dim.
Value* RunStarts(LoweringBuilder& builder, Value* sorted) {
  const size_t last = sorted->shape.size() - 1;
  LoopBuilder b;
  const Handle at = b.Index(ToInt(last)), zero = b.ConstantInteger(0, DType::kInt64);
  Access before = IdentityAccess(0, last + 1);
  before.index[last].offset = Dim(-1);
  before.index[last].guarded = true;
  const Handle same = b.Binary(LoopOp::kEq, b.Load(IdentityAccess(0, last + 1), sorted->dtype), b.Load(before, sorted->dtype));
  const Handle first = b.Binary(LoopOp::kEq, at, zero);
  b.Result(b.Select(b.Binary(LoopOp::kLogicalAnd, same, b.Unary(LoopOp::kLogicalNot, first)), zero, at));
  ScanStep scan{.extents = sorted->shape, .op = ReduceOp::kMax, .accumulator = DType::kInt64, .program = std::move(b).Build()};
  return builder.Step(std::move(scan), {sorted}, sorted->shape, DType::kInt64);
}

// The end of the longest run of equal elements; of several the one of the smallest element.
Status LowerMode(const Node& node, LoweringBuilder& builder) {
  Value* x = AtLeastVector(builder, node.inputs[0]);
  const size_t d = *DimOf(node), last = x->shape.size() - 1;
  Value* rows = builder.Transpose(x, Signed(d), -1);
  Value* order = EmitSort(builder, rows, last, false, rows->shape[last]);
  Value* starts = RunStarts(builder, EmitGather(builder, rows, last, order));
  Reduction longest{.op = ReduceOp::kArgMax, .dims = {last}, .keepdim = true, .accumulator = DType::kInt64, .dtype = DType::kInt64,
                    .body = nullptr, .finish = nullptr};
  longest.body = [&](LoopBuilder& b, Handles x_starts) { return b.Binary(LoopOp::kSub, b.Index(ToInt(last)), x_starts[0]); };
  Value* end = EmitReduction(builder, {starts}, longest);
  Value* position = builder.Transpose(EmitGather(builder, order, last, end), Signed(d), -1);
  return ReplacePick(node, builder, x, d, position);
}

// --- Quantiles ------------------------------------------------------------------------------------------------------

// q has at most one dim, which leads the result's. Without a dim x is one row.
struct QuantilePlan {
  size_t dim = 0;
  Shape shape;  // of x, or flat
};

Result<QuantilePlan> PlanQuantile(const Node& node) {
  const Arguments args(node);
  const Shape& shape = node.inputs[0]->shape;
  if (args.IsNone("dim")) return QuantilePlan{0, {ElementCount(shape)}};
  QuantilePlan plan{0, AtLeastVector(shape)};
  TONDAR_ASSIGN_OR_RETURN(plan.dim, NormaliseDim(args.Int("dim"), plan.shape.size()));
  return plan;
}

Status InferQuantile(Node& node) {
  const Arguments args(node);
  const Value *x = args.Tensor("self"), *q = args.Tensor("q");
  if (x->dtype != DType::kFloat32 && x->dtype != DType::kFloat64) return InvalidArgument("quantiles of {}", Name(x->dtype));
  if (q != nullptr && q->shape.size() > 1) return InvalidArgument("q of rank {}, expected at most 1", q->shape.size());
  TONDAR_ASSIGN_OR_RETURN(const QuantilePlan plan, PlanQuantile(node));
  Shape shape = ReducedShape(plan.shape, {plan.dim}, args.Bool("keepdim"));
  if (args.IsNone("dim")) shape = args.Bool("keepdim") ? Shape(x->shape.size(), Dim(1)) : Shape{};
  if (x->shape.empty()) shape = {};
  if (q != nullptr && !q->shape.empty()) shape.insert(shape.begin(), q->shape[0]);
  SetOutput(node, 0, x->dtype, std::move(shape));
  return OkStatus();
}

// The element of a sorted row at a real place, between its neighbours as `mode` says.
Handle AtRealPlace(LoopBuilder& b, const Access& row, size_t d, DType dtype, Handle place, const std::string& mode) {
  const auto at = [&](Handle where) {
    Access access = row;
    access.index[d] = IndexExpression::Dynamic(b.Cast(where, DType::kInt64));
    return b.Load(std::move(access), dtype);
  };
  const Handle below = b.Unary(LoopOp::kFloor, place), above = b.Unary(LoopOp::kCeil, place);
  if (mode == "lower") return at(below);
  if (mode == "higher") return at(above);
  if (mode == "nearest") return at(b.Unary(LoopOp::kRound, place));
  const Handle low = at(below), high = at(above), half = b.Constant(0.5, dtype);
  const Handle weight = mode == "midpoint" ? half : b.Binary(LoopOp::kSub, place, below);
  const Handle distance = b.Binary(LoopOp::kSub, high, low), one = b.Constant(1, dtype);
  const Handle from_low = b.Binary(LoopOp::kAdd, low, b.Binary(LoopOp::kMul, weight, distance));
  const Handle from_high = b.Binary(LoopOp::kSub, high, b.Binary(LoopOp::kMul, distance, b.Binary(LoopOp::kSub, one, weight)));
  const Handle either = b.Select(b.Binary(LoopOp::kLt, weight, half), from_low, from_high);
  return b.Select(b.Binary(LoopOp::kEq, below, above), low, either);
}

template <bool skip_nans>
Status LowerQuantile(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  TONDAR_ASSIGN_OR_RETURN(const QuantilePlan plan, PlanQuantile(node));
  Value* x = builder.Reshape(args.Tensor("self"), plan.shape);
  const DType dtype = x->dtype;
  const size_t rank = x->shape.size(), d = plan.dim;
  const Dim& extent = x->shape[d];
  Value* sorted = EmitGather(builder, x, d, EmitSort(builder, x, d, false, extent));
  Value* nans = CountNans(builder, x, d);
  std::vector<Value*> inputs = {sorted, nans};
  Shape extents = {Dim(1)};  // q, then x's dims
  if (Value* q = args.Tensor("q")) {
    inputs.push_back(builder.Reshape(builder.Cast(q, dtype), {ElementCount(q->shape)}));
    extents[0] = inputs[2]->shape[0];
  }
  extents.insert(extents.end(), nans->shape.begin(), nans->shape.end());
  LoopBuilder b;
  Access row{.operand = 0, .index = {}};
  for (size_t i = 0; i < rank; ++i) row.index.push_back(IndexExpression::LoopDim(ToInt(i) + 1));
  Access at_nans = row;
  at_nans.operand = 1;
  const Handle count = b.Load(at_nans, DType::kInt64), zero = b.ConstantInteger(0, DType::kInt64);
  const Handle q = inputs.size() > 2 ? b.Load({2, {IndexExpression::LoopDim(0)}, 0}, dtype) : b.Constant(args.Number("q"), dtype);
  const Handle last = b.Binary(LoopOp::kSub, b.Size(extent - Dim(1)), skip_nans ? count : zero);
  const Handle place = b.Binary(LoopOp::kMul, q, b.Cast(b.Binary(LoopOp::kMax, last, zero), dtype));
  const Handle value = AtRealPlace(b, row, d, dtype, place, args.String("interpolation"));
  const Handle any = b.Binary(LoopOp::kGt, count, zero), nan = b.Constant(std::numeric_limits<double>::quiet_NaN(), dtype);
  b.Result(skip_nans ? value : b.Select(any, nan, value));
  builder.Replace(0, builder.Reshape(builder.Map(extents, inputs, std::move(b).Build()), node.outputs[0]->shape));
  return OkStatus();
}

// --- searchsorted, bucketize ----------------------------------------------------------------------------------------

Status InferSearch(Node& node) {
  const Arguments args(node);
  const Value *row = args.Tensor("sorted_sequence"), *x = args.Tensor("self"), *sorter = args.Tensor("sorter");
  const Shape shape = x == nullptr ? Shape{} : x->shape;
  if (row->shape.empty()) return InvalidArgument("the sorted sequence is a 0-d tensor");
  if (row->shape.size() != 1) {
    if (row->shape.size() != shape.size()) return InvalidArgument("values of rank {} for rows of rank {}", shape.size(), row->shape.size());
    for (size_t d = 0; d + 1 < shape.size(); ++d) TONDAR_RETURN_IF_ERROR(AssumeEqual(node, row->shape[d], shape[d], "rows and values"));
  }
  const std::string side = args.String("side");
  if (!side.empty() && side != "left" && side != "right") return InvalidArgument("side '{}', expected left or right", side);
  if (side == "left" && args.Bool("right")) return InvalidArgument("side left, but right is true");
  if (sorter != nullptr && sorter->dtype != DType::kInt64) return InvalidArgument("a sorter of {}", Name(sorter->dtype));
  SetOutput(node, 0, args.Bool("out_int32") ? DType::kInt32 : DType::kInt64, shape);
  return OkStatus();
}

// Whether the element at `at` of the rows comes before the value: it is not past the value's place.
struct Search {
  DType dtype;  // that both are compared in
  bool right;
  size_t rank;  // of the values
  Value *row, *x;
  const Attribute* number;

  Handle Before(LoopBuilder& b, const IndexExpression& at) const {
    Access access{.operand = 0, .index = {}};
    for (size_t d = 0; d + 1 < row->shape.size(); ++d) access.index.push_back(IndexExpression::LoopDim(ToInt(d)));
    access.index.push_back(at);
    const Handle element = b.Cast(b.Load(access, row->dtype), dtype);
    return b.Unary(LoopOp::kLogicalNot, b.Binary(right ? LoopOp::kGt : LoopOp::kGe, element, TheValue(b)));
  }
  Handle TheValue(LoopBuilder& b) const {
    if (x != nullptr) return b.Cast(b.Load(IdentityAccess(1, rank), x->dtype), dtype);
    return NumberHandle(b, *number, dtype);
  }
  std::vector<Value*> Inputs() const { return x == nullptr ? std::vector<Value*>{row} : std::vector<Value*>{row, x}; }
};

// Rows up to here are counted through; longer ones of known length are halved again and again.
constexpr int64_t kCountedRow = 16;

Value* SearchByHalving(LoweringBuilder& builder, const Search& search, const Shape& shape, int64_t n) {
  LoopBuilder b;
  Handle found = b.ConstantInteger(0, DType::kInt64);
  const Handle last = b.ConstantInteger(n - 1, DType::kInt64), one = b.ConstantInteger(1, DType::kInt64);
  for (int64_t stride = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n))); stride > 0; stride /= 2) {
    const Handle next = b.Binary(LoopOp::kAdd, found, b.ConstantInteger(stride, DType::kInt64));
    const Handle at = b.Binary(LoopOp::kMin, b.Binary(LoopOp::kSub, next, one), last);
    const Handle exists = b.Binary(LoopOp::kLe, next, b.ConstantInteger(n, DType::kInt64));
    found = b.Select(b.Binary(LoopOp::kLogicalAnd, exists, search.Before(b, IndexExpression::Dynamic(at))), next, found);
  }
  b.Result(found);
  return builder.Map(shape, search.Inputs(), std::move(b).Build());
}

Value* SearchByCounting(LoweringBuilder& builder, const Search& search, const Shape& shape) {
  LoopBuilder b;
  b.Result(b.Cast(search.Before(b, IndexExpression::LoopDim(ToInt(search.rank))), DType::kInt64));
  Shape extents = shape;
  extents.push_back(search.row->shape.back());
  ReduceStep count{.extents = extents, .reduced = 1, .op = ReduceOp::kSum, .accumulator = DType::kInt64, .program = std::move(b).Build(), .finish = {}};
  return builder.Reduce(std::move(count), search.Inputs(), shape, DType::kInt64);
}

Status LowerSearch(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *row = args.Tensor("sorted_sequence"), *x = args.Tensor("self"), *sorter = args.Tensor("sorter");
  if (sorter != nullptr) row = EmitGather(builder, row, row->shape.size() - 1, sorter);
  const Shape& shape = node.outputs[0]->shape;
  const bool right = args.Bool("right") || args.String("side") == "right";
  PromotionOperand operand{x, x == nullptr ? &args.Raw("self") : nullptr};
  const Search search{ComputeDType(ResultType({{row, nullptr}, operand})), right, shape.size(), row, x, operand.number};
  const Dim& n = row->shape.back();
  Value* found = n.IsConstant() && n.constant() > kCountedRow ? SearchByHalving(builder, search, shape, n.constant())
                                                              : SearchByCounting(builder, search, shape);
  builder.Replace(0, builder.Cast(found, node.outputs[0]->dtype));
  return OkStatus();
}

// --- Running extrema and sums of exponentials -----------------------------------------------------------------------

Status InferRunning(Node& node) {
  TONDAR_RETURN_IF_ERROR(DimOf(node).status());
  SetOutput(node, 0, node.inputs[0]->dtype, node.inputs[0]->shape);
  return OkStatus();
}

Status InferRunningExtremum(Node& node) {
  TONDAR_RETURN_IF_ERROR(InferRunning(node));
  SetOutput(node, 1, DType::kInt64, node.inputs[0]->shape);
  return OkStatus();
}

// A scan along dim d of x, computed in `dtype`, giving `result`.
Value* EmitScan(LoweringBuilder& builder, Value* x, size_t d, ReduceOp op, DType dtype, DType result) {
  Value* last = builder.Transpose(AtLeastVector(builder, x), Signed(d), -1);
  LoopBuilder b;
  b.Result(b.Cast(b.Load(IdentityAccess(0, last->shape.size()), x->dtype), dtype));
  ScanStep step{.extents = last->shape, .op = op, .accumulator = dtype, .program = std::move(b).Build()};
  return builder.Reshape(builder.Transpose(builder.Step(std::move(step), {last}, last->shape, result), Signed(d), -1), x->shape);
}

template <ReduceOp op, ReduceOp position>
Status LowerRunningExtremum(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  const DType dtype = ComputeDType(x->dtype);
  builder.Replace(0, EmitScan(builder, x, *DimOf(node), op, dtype, x->dtype));
  builder.Replace(1, EmitScan(builder, x, *DimOf(node), position, dtype, DType::kInt64));
  return OkStatus();
}

Status InferLogCumSumExp(Node& node) {
  if (!IsFloat(node.inputs[0]->dtype)) return InvalidArgument("logcumsumexp of {}", Name(node.inputs[0]->dtype));
  return InferRunning(node);
}

Status LowerLogCumSumExp(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  builder.Replace(0, EmitScan(builder, x, *DimOf(node), ReduceOp::kLogAddExp, ComputeDType(x->dtype), x->dtype));
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), std::string signature, int results = 1) {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.results = results;
  schema.infer = infer;
  schema.lower = lower;
  return schema;
}

constexpr char kSort[] = "(Tensor self, int dim=-1, bool descending=False)";
constexpr char kStableSort[] = "(Tensor self, *, bool? stable, int dim=-1, bool descending=False)";
constexpr char kPick[] = "(Tensor self, int dim=-1, bool keepdim=False)";
constexpr char kScan[] = "(Tensor self, int dim)";
constexpr char kTopK[] = "(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)";
constexpr char kKthValue[] = "(Tensor self, SymInt k, int dim=-1, bool keepdim=False)";
constexpr char kSearch[] =
    "(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None)";

std::vector<SourceForm> QuantileSources(const std::string& name) {
  const std::string rest = ", int? dim=None, bool keepdim=False, *, str interpolation='linear')";
  return {{"aten." + name + ".default", "(Tensor self, Tensor q" + rest}, {"aten." + name + ".scalar", "(Tensor self, float q" + rest}};
}

std::vector<SourceForm> SearchSources() {
  const std::string options = ", *, bool out_int32=False, bool right=False", more = ", str? side=None, Tensor? sorter=None)";
  return {{"aten.searchsorted.Tensor", kSearch},
          {"aten.searchsorted.Scalar", "(Tensor sorted_sequence, Scalar self" + options + more},
          {"aten.bucketize.Tensor", "(Tensor self, Tensor boundaries" + options + ")", {{"boundaries", "sorted_sequence"}}},
          {"aten.bucketize.Scalar", "(Scalar self, Tensor boundaries" + options + ")", {{"boundaries", "sorted_sequence"}}}};
}

}  // namespace

std::vector<OpSchema> OrderingOps() {
  return {
      Row("sort", {{"aten.sort.default", kSort}, {"aten.sort.stable", kStableSort}}, InferSort, LowerSort, kSort, 2),
      Row("argsort", {{"aten.argsort.default", kSort}, {"aten.argsort.stable", "(Tensor self, *, bool stable, int dim=-1, bool descending=False)"}},
          InferArgsort, LowerArgsort, kSort),
      Row("msort", {{"aten.msort.default", "(Tensor self)"}}, InferMsort, LowerMsort, "(Tensor self)"),
      Row("topk", {{"aten.topk.default", kTopK}}, InferTopK, LowerTopK, kTopK, 2),
      Row("kthvalue", {{"aten.kthvalue.default", kKthValue}}, InferKthValue, LowerKthValue, kKthValue, 2),
      Row("median_dim", {{"aten.median.dim", "(Tensor self, int dim, bool keepdim=False)"}}, InferPick, LowerMedianDim<false>, kPick, 2),
      Row("nanmedian_dim", {{"aten.nanmedian.dim", "(Tensor self, int dim, bool keepdim=False)"}}, InferPick, LowerMedianDim<true>, kPick, 2),
      Row("median", {{"aten.median.default", "(Tensor self)"}}, InferMedian, LowerMedian<false>, "(Tensor self)"),
      Row("nanmedian", {{"aten.nanmedian.default", "(Tensor self)"}}, InferMedian, LowerMedian<true>, "(Tensor self)"),
      Row("mode", {{"aten.mode.default", kPick}}, InferPick, LowerMode, kPick, 2),
      Row("quantile", QuantileSources("quantile"), InferQuantile, LowerQuantile<false>,
          "(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear')"),
      Row("nanquantile", QuantileSources("nanquantile"), InferQuantile, LowerQuantile<true>,
          "(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear')"),
      Row("searchsorted", SearchSources(), InferSearch, LowerSearch, kSearch),
      Row("cummax", {{"aten.cummax.default", kScan}}, InferRunningExtremum,
          LowerRunningExtremum<ReduceOp::kMax, ReduceOp::kArgMax>, kScan, 2),
      Row("cummin", {{"aten.cummin.default", kScan}}, InferRunningExtremum,
          LowerRunningExtremum<ReduceOp::kMin, ReduceOp::kArgMin>, kScan, 2),
      Row("logcumsumexp", {{"aten.logcumsumexp.default", kScan}}, InferLogCumSumExp, LowerLogCumSumExp, kScan),
  };
}

}  // namespace tondar
