// Operators whose results' sizes depend on the data. Each comes as two: one that computes the size, whose value the
// importer makes a symbol, and one that takes the symbol as its attribute `count` (OpSchema::size_op).
#include <algorithm>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"
#include "engine/ops/ordering.h"
#include "engine/ops/pointwise.h"
#include "engine/ops/scatter.h"

namespace tondar {
namespace {

using Handles = std::span<const LoopBuilder::Handle>;

Value* Flat(LoweringBuilder& builder, Value* x) { return builder.Reshape(x, {ElementCount(x->shape)}); }

Value* IsNotZero(LoweringBuilder& builder, Value* x) {
  if (x->dtype == DType::kBool) return x;
  return builder.Map({x}, [x](LoopBuilder& b, Handles loads) { return b.Cast(loads[0], DType::kBool); });
}

// The positions of the first `count` elements of a flat mask that are true, in order: a sort keeps the order of equals.
Value* TruePositions(LoweringBuilder& builder, Value* mask, const Dim& count) {
  return EmitSort(builder, mask, 0, /*descending=*/true, count);
}

Value* CountTrue(LoweringBuilder& builder, Value* mask) {
  LoopBuilder b;
  b.Result(b.Cast(b.Load(BroadcastAccess(0, mask->shape, 1), DType::kBool), DType::kInt64));
  return builder.Reduce({mask->shape, 1, ReduceOp::kSum, DType::kInt64, std::move(b).Build(), {}}, {mask}, {}, DType::kInt64);
}

Status InferSize(Node& node) {
  SetOutput(node, 0, DType::kInt64, {});
  return OkStatus();
}

Status InferNonzero(Node& node) {
  SetOutput(node, 0, DType::kInt64, {Arguments(node).Size("count"), Dim(static_cast<int64_t>(node.inputs[0]->shape.size()))});
  return OkStatus();
}

Status LowerNonzeroSize(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, CountTrue(builder, Flat(builder, IsNotZero(builder, node.inputs[0]))));
  return OkStatus();
}

// A flat position is (floor(position / stride_d) mod size_d) along each dim d.
Status LowerNonzero(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  const Dim count = Arguments(node).Size("count");
  const Shape strides = ContiguousStrides(x->shape);
  if (x->shape.empty()) {
    builder.Replace(0, builder.Full(0, DType::kInt64, {count, 0}));
    return OkStatus();
  }
  Value* flat = builder.Unsqueeze(TruePositions(builder, Flat(builder, IsNotZero(builder, x)), count), 1);
  std::vector<Value*> columns;
  for (size_t d = 0; d < x->shape.size(); ++d) {
    columns.push_back(builder.Map({flat}, [&](LoopBuilder& b, Handles loads) {
      LoopBuilder::Handle position = b.Binary(LoopOp::kFloorDiv, loads[0], b.Size(strides[d]));
      return b.Binary(LoopOp::kRemainder, position, b.Size(x->shape[d]));
    }));
  }
  builder.Replace(0, builder.Concat(columns, 1));
  return OkStatus();
}

// The positions along each dim, apart.
Status InferNonzeroColumns(Node& node) {
  for (size_t d = 0; d < node.inputs[0]->shape.size(); ++d) SetOutput(node, d, DType::kInt64, {Arguments(node).Size("count")});
  return OkStatus();
}

Status LowerNonzeroColumns(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(Value * positions, builder.Op("nonzero", {node.inputs[0]}, {{"count", Arguments(node).Size("count")}}));
  for (size_t d = 0; d < node.outputs.size(); ++d) {
    Value* column = builder.Slice(positions, 1, Dim(static_cast<int64_t>(d)), Dim(1));
    builder.Replace(d, builder.Squeeze(column, 1));
  }
  return OkStatus();
}

Result<Shape> MaskedShape(const Node& node) {
  if (node.inputs[1]->dtype != DType::kBool) return InvalidArgument("a mask of {}, expected bool", Name(node.inputs[1]->dtype));
  return BroadcastShapes(node.inputs[0]->shape, node.inputs[1]->shape);
}

Status InferMaskedSelectSize(Node& node) {
  TONDAR_RETURN_IF_ERROR(MaskedShape(node).status());
  return InferSize(node);
}

Status InferMaskedSelect(Node& node) {
  TONDAR_RETURN_IF_ERROR(MaskedShape(node).status());
  SetOutput(node, 0, node.inputs[0]->dtype, {Arguments(node).Size("count")});
  return OkStatus();
}

Status LowerMaskedSelectSize(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Shape shape, MaskedShape(node));
  builder.Replace(0, CountTrue(builder, Flat(builder, builder.Expand(node.inputs[1], shape))));
  return OkStatus();
}

Status LowerMaskedSelect(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Shape shape, MaskedShape(node));
  Value* mask = Flat(builder, builder.Expand(node.inputs[1], shape));
  Value* positions = TruePositions(builder, mask, Arguments(node).Size("count"));
  builder.Replace(0, EmitGather(builder, Flat(builder, builder.Expand(node.inputs[0], shape)), 0, positions));
  return OkStatus();
}

// --- unique ---------------------------------------------------------------------------------------------------------

// Runs of equal elements of a flat tensor, which is sorted first unless they are to be `consecutive` as they come.
struct Runs {
  Value* elements;
  Value* order = nullptr;  // where each comes from; null: it stayed
  Value* begins;           // bool: it differs from the one before it
};

Runs FindRuns(LoweringBuilder& builder, Value* x, bool consecutive) {
  Runs runs;
  runs.elements = Flat(builder, x);
  if (!consecutive) {
    runs.order = EmitSort(builder, runs.elements, 0, false, runs.elements->shape[0]);
    runs.elements = EmitGather(builder, runs.elements, 0, runs.order);
  }
  LoopBuilder b;
  const LoopBuilder::Handle zero = b.ConstantInteger(0, DType::kInt64), i = b.Index(0);
  const LoopBuilder::Handle before = b.Binary(LoopOp::kMax, b.Binary(LoopOp::kSub, i, b.ConstantInteger(1, DType::kInt64)), zero);
  const DType dtype = x->dtype;
  const LoopBuilder::Handle here = b.Load({.operand = 0, .index = {IndexExpression::LoopDim(0)}}, dtype);
  const LoopBuilder::Handle there = b.Load({.operand = 0, .index = {IndexExpression::Dynamic(before)}}, dtype);
  b.Result(b.Binary(LoopOp::kLogicalOr, b.Binary(LoopOp::kEq, i, zero), b.Binary(LoopOp::kNe, here, there)));
  runs.begins = builder.Map(runs.elements->shape, {runs.elements}, std::move(b).Build());
  return runs;
}

// How long the runs are that begin at `places`; the last ends with the elements.
Value* LengthsOf(LoweringBuilder& builder, Value* places, const Dim& elements) {
  const Dim count = places->shape[0];
  LoopBuilder b;
  const LoopBuilder::Handle one = b.ConstantInteger(1, DType::kInt64), last = b.Size(count - Dim(1)), i = b.Index(0);
  const LoopBuilder::Handle next = b.Binary(LoopOp::kMin, b.Binary(LoopOp::kAdd, i, one), last);
  const LoopBuilder::Handle end = b.Load({.operand = 0, .index = {IndexExpression::Dynamic(next)}}, DType::kInt64);
  const LoopBuilder::Handle begin = b.Load({.operand = 0, .index = {IndexExpression::LoopDim(0)}}, DType::kInt64);
  b.Result(b.Binary(LoopOp::kSub, b.Select(b.Binary(LoopOp::kEq, i, last), b.Size(elements), end), begin));
  return builder.Map(places->shape, {places}, std::move(b).Build());
}

// For each element of `x`, the number of its run.
Result<Value*> RunOfEach(LoweringBuilder& builder, const Runs& runs, const Shape& shape) {
  TONDAR_ASSIGN_OR_RETURN(Value * number, builder.Op("cumsum", {builder.Cast(runs.begins, DType::kInt64)}, {{"dim", Dim(0)}}));
  Value* from_zero = builder.Map({number}, [](LoopBuilder& b, Handles x) { return b.Binary(LoopOp::kSub, x[0], b.ConstantInteger(1, DType::kInt64)); });
  if (runs.order != nullptr) {
    Value* place = EmitSort(builder, runs.order, 0, false, runs.order->shape[0]);  // where each went
    from_zero = EmitGather(builder, from_zero, 0, place);
  }
  return builder.Reshape(from_zero, shape);
}

Status InferUnique(Node& node) {
  const Arguments args(node);
  const Value* x = node.inputs[0];
  if (!args.IsNone("dim")) return Unimplemented("unique along a dim");
  const Dim count = args.Size("count");
  SetOutput(node, 0, x->dtype, {count});
  SetOutput(node, 1, DType::kInt64, args.Bool("return_inverse") ? x->shape : Shape{Dim(0)});
  SetOutput(node, 2, DType::kInt64, {args.Bool("return_counts") ? count : Dim(0)});
  return OkStatus();
}

Status LowerUnique(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* x = node.inputs[0];
  const Runs runs = FindRuns(builder, x, args.Bool("consecutive"));
  Value* places = TruePositions(builder, runs.begins, args.Size("count"));
  Value* nothing = builder.Full(0, DType::kInt64, {Dim(0)});
  builder.Replace(0, EmitGather(builder, runs.elements, 0, places));
  Value* inverse = nothing;
  if (args.Bool("return_inverse")) {
    TONDAR_ASSIGN_OR_RETURN(inverse, RunOfEach(builder, runs, x->shape));
  }
  builder.Replace(1, inverse);
  builder.Replace(2, args.Bool("return_counts") ? LengthsOf(builder, places, runs.elements->shape[0]) : nothing);
  return OkStatus();
}

Status LowerUniqueSize(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, CountTrue(builder, FindRuns(builder, node.inputs[0], Arguments(node).Bool("consecutive")).begins));
  return OkStatus();
}

// --- bincount -------------------------------------------------------------------------------------------------------

Status CheckBins(const Node& node) {
  const Value* x = node.inputs[0];
  if (x->shape.size() != 1 || !IsInteger(x->dtype)) return InvalidArgument("bincount of {} {}", Name(x->dtype), ToString(x->shape));
  if (Arguments(node).Int("minlength") < 0) return InvalidArgument("minlength {}", Arguments(node).Int("minlength"));
  return OkStatus();
}

Status InferBinCountSize(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckBins(node));
  return InferSize(node);
}

// max(largest + 1, minlength)
Status LowerBinCountSize(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  const int64_t least = Arguments(node).Int("minlength");
  ReduceStep step{.extents = x->shape, .reduced = 1, .op = ReduceOp::kMax, .accumulator = DType::kInt64, .program = {}, .finish = {}};
  LoopBuilder b, finish;
  const LoopBuilder::Handle bin = b.Cast(b.Load(BroadcastAccess(0, x->shape, 1), x->dtype), DType::kInt64);
  b.Result(b.Binary(LoopOp::kAdd, bin, b.ConstantInteger(1, DType::kInt64)));
  finish.Result(finish.Binary(LoopOp::kMax, finish.Accumulator(0, DType::kInt64), finish.ConstantInteger(least, DType::kInt64)));
  step.program = std::move(b).Build();
  step.finish = std::move(finish).Build();
  builder.Replace(0, builder.Reduce(std::move(step), {x}, {}, DType::kInt64));
  return OkStatus();
}

Status InferBinCount(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckBins(node));
  const Arguments args(node);
  const Value* weights = args.Tensor("weights");
  DType dtype = DType::kInt64;
  if (weights != nullptr) {
    TONDAR_RETURN_IF_ERROR(AssumeEqual(node, ElementCount(weights->shape), node.inputs[0]->shape[0], "weights and elements"));
    dtype = weights->dtype == DType::kFloat32 ? DType::kFloat32 : DType::kFloat64;
  }
  SetOutput(node, 0, dtype, {args.Size("count")});
  return OkStatus();
}

Status LowerBinCount(const Node& node, LoweringBuilder& builder) {
  Value *x = node.inputs[0], *weights = Arguments(node).Tensor("weights");
  const DType dtype = node.outputs[0]->dtype;
  std::vector<Value*> operands = {x};
  if (weights != nullptr) operands.push_back(builder.Cast(builder.Reshape(weights, x->shape), dtype));
  Value* base = builder.Full(0, dtype, node.outputs[0]->shape);
  builder.Replace(0, EmitScatter(builder, base, operands, x->shape, ScatterOp::kAdd, [&](LoopBuilder& b) -> ScatterPoint {
    const LoopBuilder::Handle bin = b.NotFromEnd(b.Load(BroadcastAccess(1, x->shape, 1), x->dtype));
    return {weights == nullptr ? b.Constant(1, dtype) : b.Load(BroadcastAccess(2, x->shape, 1), dtype), {bin}};
  }));
  return OkStatus();
}

// --- repeat_interleave ----------------------------------------------------------------------------------------------

Status InferRepeatsSize(Node& node) {
  // The repeats are the only tensor, or the second one.
  const Value* repeats = node.inputs.back();
  if (repeats->shape.size() > 1 || !IsInteger(repeats->dtype)) return InvalidArgument("repeats of {} {}", Name(repeats->dtype), ToString(repeats->shape));
  return InferSize(node);
}

Value* TotalOf(LoweringBuilder& builder, Value* repeats) {
  LoopBuilder b;
  b.Result(b.Cast(b.Load(BroadcastAccess(0, repeats->shape, 1), repeats->dtype), DType::kInt64));
  return builder.Reduce({repeats->shape, 1, ReduceOp::kSum, DType::kInt64, std::move(b).Build(), {}}, {repeats}, {}, DType::kInt64);
}

Status LowerRepeatsSize(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, TotalOf(builder, builder.Reshape(node.inputs[0], {ElementCount(node.inputs[0]->shape)})));
  return OkStatus();
}

// The extent of the result: what the caller states, or what the data tell.
Result<Dim> RepeatedExtent(const Arguments& args) {
  if (!args.IsNone("count")) return args.Size("count");
  if (!args.IsNone("output_size")) return args.Size("output_size");
  return Unimplemented("a number of repeats that depends on data in a result of fixed size");
}

Status InferRepeats(Node& node) {
  const Value* repeats = node.inputs[0];
  if (repeats->shape.size() != 1 || !IsInteger(repeats->dtype)) return InvalidArgument("repeats of {} {}", Name(repeats->dtype), ToString(repeats->shape));
  TONDAR_ASSIGN_OR_RETURN(const Dim extent, RepeatedExtent(Arguments(node)));
  SetOutput(node, 0, DType::kInt64, {extent});
  return OkStatus();
}

// Element i of the result is the number of ends of runs that are not behind i.
Status LowerRepeats(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(Value * ends, builder.Op("cumsum", {builder.Cast(node.inputs[0], DType::kInt64)}, {{"dim", Dim(0)}}));
  Value* places = builder.Map(node.outputs[0]->shape, {}, [](LoopBuilder& b, Handles) { return b.Index(0); });
  TONDAR_ASSIGN_OR_RETURN(Node * search, AddSourceOp(builder.graph(), "aten.searchsorted.Tensor", node.name, {ends, places}, {1, 1, 0},
                                                     {{"right", true}}, const_cast<Node*>(&node)));
  builder.Replace(0, search->outputs.at(0));
  return OkStatus();
}

struct RepeatedDim {
  Value* x;
  size_t dim;
};

Result<RepeatedDim> RepeatedDimOf(const Node& node) {
  const Arguments args(node);
  Value* x = node.inputs[0];
  if (args.IsNone("dim")) return RepeatedDim{x, 0};
  TONDAR_ASSIGN_OR_RETURN(const size_t dim, NormaliseDim(args.Int("dim"), x->shape.size()));
  return RepeatedDim{x, dim};
}

Shape BeforeRepeating(const Node& node) {
  const Shape& shape = node.inputs[0]->shape;
  return Arguments(node).IsNone("dim") || shape.empty() ? Shape{ElementCount(shape)} : shape;
}

Status InferRepeatTensor(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const RepeatedDim repeated, RepeatedDimOf(node));
  TONDAR_ASSIGN_OR_RETURN(const Dim extent, RepeatedExtent(Arguments(node)));
  Shape shape = BeforeRepeating(node);
  const Value* repeats = node.inputs[1];
  if (repeats->shape.size() == 1 && !repeats->shape[0].Is(1)) {
    TONDAR_RETURN_IF_ERROR(AssumeEqual(node, repeats->shape[0], shape[repeated.dim], "repeats and elements"));
  }
  shape[repeated.dim] = extent;
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

// One number of repeats stands for all elements.
Value* RepeatsFor(LoweringBuilder& builder, Value* repeats, const Dim& elements) {
  if (repeats->shape.empty()) repeats = builder.Unsqueeze(repeats, 0);
  return builder.Expand(repeats, {elements});
}

Status LowerRepeatTensor(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const RepeatedDim repeated, RepeatedDimOf(node));
  Value* x = builder.Reshape(node.inputs[0], BeforeRepeating(node));
  Value* repeats = RepeatsFor(builder, node.inputs[1], x->shape[repeated.dim]);
  TONDAR_ASSIGN_OR_RETURN(Value * from, builder.Op("repeats", {repeats}, {{"count", node.outputs[0]->shape[repeated.dim]}}));
  TONDAR_ASSIGN_OR_RETURN(Value * result, builder.Op("index_select", {x, from}, {{"dim", Dim(static_cast<int64_t>(repeated.dim))}}));
  builder.Replace(0, result);
  return OkStatus();
}

Status LowerRepeatTensorSize(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const RepeatedDim repeated, RepeatedDimOf(node));
  builder.Replace(0, TotalOf(builder, RepeatsFor(builder, node.inputs[1], BeforeRepeating(node)[repeated.dim])));
  return OkStatus();
}

OpSchema Row(std::string name, std::string signature, Status (*infer)(Node&), Status (*lower)(const Node&, LoweringBuilder&),
             std::vector<SourceForm> sources = {}, std::string size_op = "", int results = 1) {
  OpSchema row{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature), .results = results, .size_op = std::move(size_op)};
  row.infer = infer;
  row.lower = lower;
  return row;
}

}  // namespace

std::vector<OpSchema> DataSizeOps() {
  const char* const kNonzero = "(Tensor self, SymInt count)";
  return {
      Row("nonzero_size", "(Tensor self)", InferSize, LowerNonzeroSize),
      Row("nonzero", kNonzero, InferNonzero, LowerNonzero, {{"aten.nonzero.default", kNonzero}, {"aten.argwhere.default", kNonzero}},
          "nonzero_size"),
      Row("nonzero_columns", kNonzero, InferNonzeroColumns, LowerNonzeroColumns,
          {{"aten.nonzero_numpy.default", kNonzero}, {"aten.where.default", "(Tensor condition, SymInt count)", {{"condition", "self"}}}},
          "nonzero_size", -1),
      Row("masked_select_size", "(Tensor self, Tensor mask)", InferMaskedSelectSize, LowerMaskedSelectSize),
      Row("masked_select", "(Tensor self, Tensor mask, SymInt count)", InferMaskedSelect, LowerMaskedSelect,
          {{"aten.masked_select.default", "(Tensor self, Tensor mask, SymInt count)"}}, "masked_select_size"),
      Row("unique_size", "(Tensor self, bool consecutive=False)", InferSize, LowerUniqueSize),
      Row("unique",
          "(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None, SymInt count, bool consecutive=False)", InferUnique,
          LowerUnique,
          {{"aten._unique2.default", "(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, SymInt count)"},
           {"aten.unique_consecutive.default",
            "(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None, SymInt count, bool consecutive=True)"},
           {"aten._unique.default", "(Tensor self, bool sorted=True, bool return_inverse=False, SymInt count)"}},
          "unique_size", 3),
      Row("bincount_size", "(Tensor self, Tensor? weights=None, SymInt minlength=0)", InferBinCountSize, LowerBinCountSize),
      Row("bincount", "(Tensor self, Tensor? weights=None, SymInt minlength=0, SymInt count)", InferBinCount, LowerBinCount,
          {{"aten.bincount.default", "(Tensor self, Tensor? weights=None, SymInt minlength=0, SymInt count)"}}, "bincount_size"),
      Row("repeats_size", "(Tensor repeats)", InferRepeatsSize, LowerRepeatsSize),
      Row("repeats", "(Tensor repeats, *, SymInt? output_size=None, SymInt? count=None)", InferRepeats, LowerRepeats,
          {{"aten.repeat_interleave.Tensor", "(Tensor repeats, *, SymInt? output_size=None, SymInt? count=None)"}}, "repeats_size"),
      Row("repeat_tensor_size", "(Tensor self, Tensor repeats, int? dim=None)", InferRepeatsSize, LowerRepeatTensorSize),
      Row("repeat_tensor", "", InferRepeatTensor, LowerRepeatTensor,
          {{"aten.repeat_interleave.self_Tensor",
            "(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None, SymInt? count=None)"}},
          "repeat_tensor_size"),
  };
}

}  // namespace tondar
