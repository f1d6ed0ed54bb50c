// Operators that write at computed places: index_put, scatter, index_add and their kin.
#include "engine/ops/scatter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/ops/families.h"
#include "engine/ops/index_plan.h"
#include "engine/ops/inference.h"
#include "engine/ops/pointwise.h"

namespace tondar {

using Handle = LoopBuilder::Handle;
using PointBody = std::function<ScatterPoint(LoopBuilder&)>;

Value* EmitScatter(LoweringBuilder& builder, Value* base, const std::vector<Value*>& operands, const Shape& extents,
                   ScatterOp op, const PointBody& body) {
  const DType dtype = base->dtype, computed = op == ScatterOp::kStore ? dtype : ComputeDType(dtype);
  LoopBuilder b;
  const ScatterPoint point = body(b);
  b.Result(b.Cast(point.value, computed));
  for (Handle at : point.at) b.Result(b.Cast(at, DType::kInt64));
  std::vector<Value*> inputs = {builder.Cast(base, computed)};
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  return builder.Cast(builder.Step(ScatterStep{extents, op, std::move(b).Build()}, inputs, base->shape, computed), dtype);
}

Value* EmitCounts(LoweringBuilder& builder, const Shape& shape, const std::vector<Value*>& operands, const Shape& extents,
                  const PointBody& body) {
  return EmitScatter(builder, builder.Full(0, DType::kInt64, shape), operands, extents, ScatterOp::kAdd, [&](LoopBuilder& b) {
    return ScatterPoint{b.ConstantInteger(1, DType::kInt64), body(b).at};
  });
}

namespace {

int ToInt(size_t d) { return static_cast<int>(d); }

struct NamedReduction {
  std::string_view name;
  ScatterOp op;
  double neutral;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr NamedReduction kReductions[] = {
    {"sum", ScatterOp::kAdd, 0},   {"add", ScatterOp::kAdd, 0},         {"prod", ScatterOp::kMultiply, 1}, {"multiply", ScatterOp::kMultiply, 1},
    {"mean", ScatterOp::kAdd, 0},  {"amax", ScatterOp::kMax, -kInfinity}, {"amin", ScatterOp::kMin, kInfinity},
};

// The lowest or highest value that the dtype has, for an infinite one.
Handle NeutralElement(LoopBuilder& b, double value, DType dtype) {
  if (!std::isinf(value) || IsFloat(dtype)) return b.Constant(value, dtype);
  if (dtype == DType::kBool) return b.Constant(value > 0 ? 1 : 0, dtype);
  const int bits = static_cast<int>(8 * SizeOf(dtype));
  const bool is_signed = InfoOf(dtype).kind == DTypeKind::kSigned;
  const int64_t highest = static_cast<int64_t>(is_signed ? (uint64_t{1} << (bits - 1)) - 1 : ~uint64_t{0} >> (64 - bits));
  const int64_t lowest = is_signed ? -highest - 1 : 0;
  return b.ConstantInteger(value > 0 ? highest : lowest, dtype);
}

// sum / count, with `count` at least 1; integers round down.
Value* DivideByCounts(LoweringBuilder& builder, Value* sum, Value* counts, bool include_self) {
  const DType dtype = sum->dtype;
  return builder.Map({sum, counts}, [&](LoopBuilder& b, std::span<const Handle> x) {
    const Handle one = b.ConstantInteger(1, DType::kInt64);
    const Handle count = include_self ? b.Binary(LoopOp::kAdd, x[1], one) : b.Binary(LoopOp::kMax, x[1], one);
    const DType compute = ComputeDType(dtype);
    const LoopOp divide = IsFloat(dtype) ? LoopOp::kDiv : LoopOp::kFloorDiv;
    return b.Cast(b.Binary(divide, b.Cast(x[0], compute), b.Cast(count, compute)), dtype);
  });
}

}  // namespace

Result<Value*> EmitScatterReduction(LoweringBuilder& builder, const ScatterReduction& reduction, Value* base,
                                    const std::vector<Value*>& operands, const Shape& extents, const PointBody& body) {
  const auto named = std::find_if(std::begin(kReductions), std::end(kReductions),
                                  [&](const NamedReduction& r) { return r.name == reduction.reduce; });
  if (named == std::end(kReductions)) {
    return InvalidArgument("the reduction '{}' is unknown, expected sum, prod, mean, amax or amin", reduction.reduce);
  }
  const DType dtype = base->dtype;
  if (!reduction.include_self) {
    base = EmitScatter(builder, base, operands, extents, ScatterOp::kStore, [&](LoopBuilder& b) {
      return ScatterPoint{NeutralElement(b, named->neutral, dtype), body(b).at};
    });
  }
  Value* result = EmitScatter(builder, base, operands, extents, named->op, body);
  if (reduction.reduce != "mean") return result;
  return DivideByCounts(builder, result, EmitCounts(builder, base->shape, operands, extents, body), reduction.include_self);
}

namespace {

Access IdentityAccess(int operand, size_t rank) {
  Access access{.operand = static_cast<int16_t>(operand), .index = {}};
  for (size_t d = 0; d < rank; ++d) access.index.push_back(IndexExpression::LoopDim(ToInt(d)));
  return access;
}

Status InferSame(Node& node) {
  SetOutput(node, 0, node.inputs[0]->dtype, node.inputs[0]->shape);
  return OkStatus();
}

Status CheckSameDType(const Value* x, const Value* values, std::string_view what) {
  if (x->dtype == values->dtype) return OkStatus();
  return InvalidArgument("{} of {} for a tensor of {}", what, Name(values->dtype), Name(x->dtype));
}

// --- x[i, :, j] = values --------------------------------------------------------------------------------------------

bool IsMask(const Value* index) { return index != nullptr && (index->dtype == DType::kBool || index->dtype == DType::kUInt8); }

// The place of the only index, if it is a mask; nullopt if there is no mask. Unimplemented: a mask beside other indices.
Result<std::optional<size_t>> OnlyMask(const std::vector<Value*>& indices) {
  std::optional<size_t> mask;
  size_t given = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    given += indices[i] != nullptr ? 1 : 0;
    if (IsMask(indices[i])) mask = i;
  }
  if (mask && given > 1) return Unimplemented("a mask beside other indices");
  return mask;
}

Status InferIndexPut(Node& node) {
  const Arguments args(node);
  const Value *x = args.Tensor("self"), *values = args.Tensor("values");
  TONDAR_RETURN_IF_ERROR(CheckSameDType(x, values, "values"));
  TONDAR_ASSIGN_OR_RETURN(const std::optional<size_t> place, OnlyMask(args.Tensors("indices")));
  if (place) {
    const Value* mask = args.Tensors("indices")[*place];
    if (*place + mask->shape.size() > x->shape.size()) {
      return InvalidArgument("a mask of shape {} at dim {} of {}", ToString(mask->shape), *place, ToString(x->shape));
    }
    for (size_t d = 0; d < mask->shape.size(); ++d) {
      TONDAR_RETURN_IF_ERROR(AssumeEqual(node, mask->shape[d], x->shape[*place + d], "a mask and what it indexes"));
    }
    return InferSame(node);
  }
  TONDAR_ASSIGN_OR_RETURN(const IndexPlan plan, PlanIndex(node, args.Tensors("indices")));
  const Shape target = IndexedShape(plan, x->shape);
  if (values->shape.size() > target.size()) {
    return InvalidArgument("values of shape {} for {}", ToString(values->shape), ToString(target));
  }
  TONDAR_ASSIGN_OR_RETURN(const Shape shape, BroadcastAll(node, {target, values->shape}));
  for (size_t d = 0; d < shape.size(); ++d) {
    TONDAR_RETURN_IF_ERROR(AssumeEqual(node, shape[d], target[d], "values and what they are put into"));
  }
  return InferSame(node);
}

// The number of true elements before each one of a flat mask: int64.
Value* CountsBefore(LoweringBuilder& builder, Value* mask) {
  LoopBuilder b;
  b.Result(b.Cast(b.Load(IdentityAccess(0, 1), mask->dtype), DType::kInt64));
  ScanStep scan{.extents = mask->shape, .op = ReduceOp::kSum, .accumulator = DType::kInt64, .program = std::move(b).Build()};
  Value* counts = builder.Step(std::move(scan), {mask}, mask->shape, DType::kInt64);
  return builder.Map({counts, mask}, [](LoopBuilder& m, std::span<const Handle> x) {
    return m.Binary(LoopOp::kSub, x[0], m.Cast(x[1], DType::kInt64));
  });
}

// x where the mask [N], which lies along x's dim `d`, is false; else `values` at k along that dim, k counting the true
// elements. Values broadcast to x elsewhere. A mask with more true elements than there are values is the request's error.
Value* FillMasked(LoweringBuilder& builder, Value* x, Value* mask, size_t d, Value* values, bool accumulate) {
  const size_t behind = x->shape.size() - d, along = values->shape.size() - behind;
  const bool may_be_empty = values->shape[along].RangeOver(builder.graph().symbols).min < 1;
  if (may_be_empty) {  // false elements read something too
    Shape first = values->shape;
    first[along] = Dim(1);
    values = builder.Concat({builder.Full(0, values->dtype, first), values}, static_cast<int64_t>(along));
  }
  Value* counts = CountsBefore(builder, mask);
  const int rank = ToInt(x->shape.size());
  LoopBuilder b;
  const Access at_mask{.operand = 1, .index = {IndexExpression::LoopDim(ToInt(d))}};
  const Handle is_true = b.Cast(b.Load(at_mask, mask->dtype), DType::kBool);
  Access at_counts = at_mask;
  at_counts.operand = 2;
  const Handle k = b.Binary(LoopOp::kAdd, b.Load(at_counts, DType::kInt64), b.ConstantInteger(may_be_empty ? 1 : 0, DType::kInt64));
  Access at_value = BroadcastAccess(3, values->shape, rank);
  at_value.index[along] = IndexExpression::Dynamic(b.Select(is_true, k, b.ConstantInteger(0, DType::kInt64)));
  const Handle old = b.Load(IdentityAccess(0, x->shape.size()), x->dtype), value = b.Load(at_value, values->dtype);
  b.Result(b.Select(is_true, accumulate ? Binary(b, LoopOp::kAdd, old, value) : value, old));
  return builder.Map(x->shape, {x, mask, counts, values}, std::move(b).Build());
}

Status LowerMaskedPut(const Node& node, LoweringBuilder& builder, size_t place) {
  const Arguments args(node);
  Value *x = args.Tensor("self"), *mask = args.Tensors("indices")[place], *values = args.Tensor("values");
  const size_t width = mask->shape.size(), behind = x->shape.size() - place - width;
  const bool accumulate = args.Bool("accumulate");
  Shape merged(x->shape.begin(), x->shape.begin() + static_cast<ptrdiff_t>(place));
  merged.push_back(ElementCount(mask->shape));
  merged.insert(merged.end(), x->shape.end() - static_cast<ptrdiff_t>(behind), x->shape.end());
  Value* flat = builder.Reshape(x, merged);
  mask = builder.Reshape(mask, {merged[place]});
  const bool one_for_all = values->shape.size() <= behind || values->shape[values->shape.size() - behind - 1].Is(1);
  if (!one_for_all) {
    builder.Replace(0, builder.Reshape(FillMasked(builder, flat, mask, place, values, accumulate), x->shape));
    return OkStatus();
  }
  Shape mask_shape(behind + 1, Dim(1));
  mask_shape[0] = merged[place];
  Value* filled = builder.Map(merged, {flat, builder.Reshape(mask, mask_shape), values}, [&](LoopBuilder& b, std::span<const Handle> l) {
    return b.Select(b.Cast(l[1], DType::kBool), accumulate ? Binary(b, LoopOp::kAdd, l[0], l[2]) : l[2], l[0]);
  });
  builder.Replace(0, builder.Reshape(filled, x->shape));
  return OkStatus();
}

Status LowerIndexPut(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  TONDAR_ASSIGN_OR_RETURN(const std::optional<size_t> mask, OnlyMask(args.Tensors("indices")));
  if (mask) return LowerMaskedPut(node, builder, *mask);
  TONDAR_ASSIGN_OR_RETURN(const IndexPlan plan, PlanIndex(const_cast<Node&>(node), args.Tensors("indices")));
  Value *x = args.Tensor("self"), *values = args.Tensor("values");
  const Shape extents = IndexedShape(plan, x->shape);
  const ScatterOp op = args.Bool("accumulate") ? ScatterOp::kAdd : ScatterOp::kStore;
  // The step's inputs: the base, the values, then the indices, which the positions name.
  std::vector<Value*> inputs = {x, values};
  LoopBuilder unused;
  PositionsOf(plan, unused, inputs);
  Value* put = EmitScatter(builder, x, {inputs.begin() + 1, inputs.end()}, extents, op, [&](LoopBuilder& b) {
    std::vector<Value*> again = {x, values};
    ScatterPoint point{b.Load(BroadcastAccess(1, values->shape, ToInt(extents.size())), values->dtype), {}};
    for (const IndexPosition& position : PositionsOf(plan, b, again)) {
      point.at.push_back(position.loop_dim >= 0 ? b.Index(position.loop_dim) : position.value);
    }
    return point;
  });
  builder.Replace(0, put);
  return OkStatus();
}

Status InferMaskedScatter(Node& node) {
  const Value *x = node.inputs[0], *mask = node.inputs[1], *source = node.inputs[2];
  if (!IsMask(mask)) return InvalidArgument("a mask of {}", Name(mask->dtype));
  TONDAR_RETURN_IF_ERROR(CheckSameDType(x, source, "a source"));
  TONDAR_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(node, {x->shape, mask->shape}));
  SetOutput(node, 0, x->dtype, std::move(shape));
  return OkStatus();
}

Status LowerMaskedScatter(const Node& node, LoweringBuilder& builder) {
  const Shape &shape = node.outputs[0]->shape, flat = {ElementCount(shape)};
  const auto flatten = [&](Value* x) { return builder.Reshape(builder.Expand(x, shape), flat); };
  Value* source = builder.Reshape(node.inputs[2], {ElementCount(node.inputs[2]->shape)});
  Value* filled = FillMasked(builder, flatten(node.inputs[0]), flatten(node.inputs[1]), 0, source, false);
  builder.Replace(0, builder.Reshape(filled, shape));
  return OkStatus();
}

// --- scatter, scatter_add, scatter_reduce ---------------------------------------------------------------------------

// A 0-d tensor scatters as a vector of one element.
Value* AtLeastVector(LoweringBuilder& builder, Value* x) { return x->shape.empty() ? builder.Reshape(x, {Dim(1)}) : x; }
Shape AtLeastVector(const Shape& shape) { return shape.empty() ? Shape{Dim(1)} : shape; }

// That `part` is nowhere larger than `whole`, where that can be told.
Status CheckFits(const Node& node, const Dim& part, const Dim& whole, std::string_view what, size_t d) {
  if ((whole - part).RangeOver(node.graph->symbols).max >= 0) return OkStatus();
  return InvalidArgument("{} has extent {} in dim {}, more than {}", what, part.ToString(node.graph->symbols), d,
                         whole.ToString(node.graph->symbols));
}

Status InferScatter(Node& node) {
  const Arguments args(node);
  const Value *x = args.Tensor("self"), *index = args.Tensor("index"), *src = args.Tensor("src");
  TONDAR_RETURN_IF_ERROR(CheckIndex(index));
  const Shape shape = AtLeastVector(x->shape), at = AtLeastVector(index->shape);
  TONDAR_ASSIGN_OR_RETURN(const size_t dim, NormaliseDim(args.Int("dim"), shape.size()));
  if (ElementCount(at).Is(0)) return InferSame(node);
  if (at.size() != shape.size()) return InvalidArgument("an index of rank {} for a tensor of rank {}", at.size(), shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != dim) TONDAR_RETURN_IF_ERROR(CheckFits(node, at[d], shape[d], "the index", d));
  }
  if (src == nullptr) return InferSame(node);
  TONDAR_RETURN_IF_ERROR(CheckSameDType(x, src, "a source"));
  const Shape from = AtLeastVector(src->shape);
  if (from.size() != at.size()) return InvalidArgument("a source of rank {} for an index of rank {}", from.size(), at.size());
  for (size_t d = 0; d < shape.size(); ++d) TONDAR_RETURN_IF_ERROR(CheckFits(node, at[d], from[d], "the index", d));
  return InferSame(node);
}

Status LowerScatter(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *x = AtLeastVector(builder, args.Tensor("self")), *index = AtLeastVector(builder, args.Tensor("index"));
  if (ElementCount(index->shape).Is(0)) {
    builder.Replace(0, args.Tensor("self"));
    return OkStatus();
  }
  const size_t rank = x->shape.size(), dim = *NormaliseDim(args.Int("dim"), rank);
  std::vector<Value*> operands = {index};
  if (Value* src = args.Tensor("src")) operands.push_back(AtLeastVector(builder, src));
  const DType dtype = x->dtype;
  const PointBody body = [&](LoopBuilder& b) {
    ScatterPoint point{operands.size() > 1 ? b.Load(IdentityAccess(2, rank), dtype) : NumberHandle(b, args.Raw("src"), dtype), {}};
    for (size_t d = 0; d < rank; ++d) {
      point.at.push_back(d == dim ? b.NotFromEnd(b.Load(IdentityAccess(1, rank), index->dtype)) : b.Index(ToInt(d)));
    }
    return point;
  };
  Value* result = nullptr;
  if (args.IsNone("reduce")) {
    result = EmitScatter(builder, x, operands, index->shape, ScatterOp::kStore, body);
  } else {
    const ScatterReduction reduction{args.String("reduce"), args.Bool("include_self")};
    TONDAR_ASSIGN_OR_RETURN(result, EmitScatterReduction(builder, reduction, x, operands, index->shape, body));
  }
  builder.Replace(0, builder.Reshape(result, node.outputs[0]->shape));
  return OkStatus();
}

Status ReduceBySum(Node& node, const Attributes&) {
  node.attributes["reduce"] = std::string("sum");
  return OkStatus();
}

// --- index_add, index_copy, index_fill, index_reduce ----------------------------------------------------------------

Status InferIndexWrite(Node& node) {
  const Arguments args(node);
  const Value *x = args.Tensor("self"), *index = args.Tensor("index"), *source = args.Tensor("source");
  TONDAR_RETURN_IF_ERROR(CheckIndex(index));
  if (index->shape.size() > 1) return InvalidArgument("an index of rank {}, expected 1", index->shape.size());
  const Shape shape = AtLeastVector(x->shape);
  TONDAR_ASSIGN_OR_RETURN(const size_t dim, NormaliseDim(args.Int("dim"), shape.size()));
  if (source == nullptr) return InferSame(node);
  if (source->shape.empty() && node.op == "index_fill") return InferSame(node);
  TONDAR_RETURN_IF_ERROR(CheckSameDType(x, source, "a source"));
  const Shape from = AtLeastVector(source->shape);
  if (from.size() != shape.size()) return InvalidArgument("a source of rank {} for a tensor of rank {}", from.size(), shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    const Dim& expected = d == dim ? ElementCount(index->shape) : shape[d];
    TONDAR_RETURN_IF_ERROR(AssumeEqual(node, from[d], expected, "the source of an indexed write"));
  }
  return InferSame(node);
}

Status InferIndexFill(Node& node) {
  const Value* source = Arguments(node).Tensor("source");
  if (source != nullptr && !source->shape.empty()) return InvalidArgument("a value of rank {}, expected 0", source->shape.size());
  return InferIndexWrite(node);
}

// The writes of an index along one dim: operand 1 is the index; the value is the caller's.
struct IndexWrite {
  Value* x;
  Value* index;
  size_t dim;
  Shape extents;
  bool wraps = false;  // index_fill alone lets positions count from the end

  Handle Position(LoopBuilder& b, Handle index_value) const { return wraps ? index_value : b.NotFromEnd(index_value); }
};

IndexWrite ReadIndexWrite(const Arguments& args, LoweringBuilder& builder) {
  IndexWrite write{AtLeastVector(builder, args.Tensor("self")), AtLeastVector(builder, args.Tensor("index")), 0, {}};
  write.dim = *NormaliseDim(args.Int("dim"), write.x->shape.size());
  write.extents = write.x->shape;
  write.extents[write.dim] = write.index->shape[0];
  return write;
}

ScatterPoint IndexPoint(LoopBuilder& b, const IndexWrite& write, Handle value) {
  ScatterPoint point{value, {}};
  const Access at{.operand = 1, .index = {IndexExpression::LoopDim(ToInt(write.dim))}};
  for (size_t d = 0; d < write.extents.size(); ++d) {
    point.at.push_back(d == write.dim ? write.Position(b, b.Load(at, write.index->dtype)) : b.Index(ToInt(d)));
  }
  return point;
}

Status LowerIndexAdd(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const IndexWrite write = ReadIndexWrite(args, builder);
  Value* source = AtLeastVector(builder, args.Tensor("source"));
  const bool scaled = args.Number("alpha") != 1;
  Value* sum = EmitScatter(builder, write.x, {write.index, source}, write.extents, ScatterOp::kAdd, [&](LoopBuilder& b) {
    Handle value = b.Cast(b.Load(IdentityAccess(2, source->shape.size()), source->dtype), ComputeDType(source->dtype));
    if (scaled) value = Binary(b, LoopOp::kMul, value, NumberHandle(b, args.Raw("alpha"), b.dtype(value)));
    return IndexPoint(b, write, value);
  });
  builder.Replace(0, builder.Reshape(sum, node.outputs[0]->shape));
  return OkStatus();
}

Status LowerIndexCopy(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const IndexWrite write = ReadIndexWrite(args, builder);
  Value* source = AtLeastVector(builder, args.Tensor("source"));
  Value* copied = EmitScatter(builder, write.x, {write.index, source}, write.extents, ScatterOp::kStore, [&](LoopBuilder& b) {
    return IndexPoint(b, write, b.Load(IdentityAccess(2, source->shape.size()), source->dtype));
  });
  builder.Replace(0, builder.Reshape(copied, node.outputs[0]->shape));
  return OkStatus();
}

Status LowerIndexFill(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  IndexWrite write = ReadIndexWrite(args, builder);
  write.wraps = true;
  std::vector<Value*> operands = {write.index};
  if (Value* source = args.Tensor("source")) operands.push_back(source);
  const DType dtype = write.x->dtype;
  Value* filled = EmitScatter(builder, write.x, operands, write.extents, ScatterOp::kStore, [&](LoopBuilder& b) {
    return IndexPoint(b, write, operands.size() > 1 ? b.Load({2, {}, 0}, operands[1]->dtype) : NumberHandle(b, args.Raw("source"), dtype));
  });
  builder.Replace(0, builder.Reshape(filled, node.outputs[0]->shape));
  return OkStatus();
}

Status LowerIndexReduce(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const IndexWrite write = ReadIndexWrite(args, builder);
  Value* source = AtLeastVector(builder, args.Tensor("source"));
  const ScatterReduction reduction{args.String("reduce"), args.Bool("include_self")};
  const PointBody body = [&](LoopBuilder& b) {
    return IndexPoint(b, write, b.Load(IdentityAccess(2, source->shape.size()), source->dtype));
  };
  TONDAR_ASSIGN_OR_RETURN(Value * reduced,
                          EmitScatterReduction(builder, reduction, write.x, {write.index, source}, write.extents, body));
  builder.Replace(0, builder.Reshape(reduced, node.outputs[0]->shape));
  return OkStatus();
}

// --- Flat and static places -----------------------------------------------------------------------------------------

Status InferPut(Node& node) {
  const Value *x = node.inputs[0], *index = node.inputs[1], *source = node.inputs[2];
  TONDAR_RETURN_IF_ERROR(CheckIndex(index));
  TONDAR_RETURN_IF_ERROR(CheckSameDType(x, source, "a source"));
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, ElementCount(index->shape), ElementCount(source->shape), "indices and values"));
  return InferSame(node);
}

Value* Flat(LoweringBuilder& builder, Value* x) { return builder.Reshape(x, {ElementCount(x->shape)}); }

// Writes the flat `source` at the flat `index`, operand 1, into the flat `x`.
Value* PutFlat(LoweringBuilder& builder, Value* x, Value* index, Value* source, ScatterOp op) {
  return EmitScatter(builder, x, {index, source}, index->shape, op, [&](LoopBuilder& b) {
    return ScatterPoint{b.Load(IdentityAccess(2, 1), source->dtype), {b.Load(IdentityAccess(1, 1), index->dtype)}};
  });
}

Status LowerPut(const Node& node, LoweringBuilder& builder) {
  const ScatterOp op = Arguments(node).Bool("accumulate") ? ScatterOp::kAdd : ScatterOp::kStore;
  Value* put = PutFlat(builder, Flat(builder, node.inputs[0]), Flat(builder, node.inputs[1]), Flat(builder, node.inputs[2]), op);
  builder.Replace(0, builder.Reshape(put, node.outputs[0]->shape));
  return OkStatus();
}

// max_unpool: indices count through the output's spatial dims.
Status InferMaxUnpool(Node& node) {
  const Value *x = node.inputs[0], *indices = node.inputs[1];
  TONDAR_RETURN_IF_ERROR(CheckIndex(indices));
  const Shape sizes = Arguments(node).Sizes("output_size");
  if (x->shape.size() != sizes.size() + 1 && x->shape.size() != sizes.size() + 2) {
    return InvalidArgument("an input of rank {} for {} spatial dims", x->shape.size(), sizes.size());
  }
  if (x->shape.size() != indices->shape.size()) return InvalidArgument("indices of rank {}, expected {}", indices->shape.size(), x->shape.size());
  for (size_t d = 0; d < x->shape.size(); ++d) {
    TONDAR_RETURN_IF_ERROR(AssumeEqual(node, x->shape[d], indices->shape[d], "an input and its indices"));
  }
  Shape shape(x->shape.begin(), x->shape.end() - static_cast<ptrdiff_t>(sizes.size()));
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  SetOutput(node, 0, x->dtype, std::move(shape));
  return OkStatus();
}

Status LowerMaxUnpool(const Node& node, LoweringBuilder& builder) {
  const Shape &in = node.inputs[0]->shape, &out = node.outputs[0]->shape;
  const size_t spatial = Arguments(node).Sizes("output_size").size();
  const auto plane = [&](const Shape& shape) { return ElementCount(Shape(shape.end() - static_cast<ptrdiff_t>(spatial), shape.end())); };
  const Dim planes = ElementCount(Shape(in.begin(), in.end() - static_cast<ptrdiff_t>(spatial)));
  const Shape extents = {planes, plane(in)};
  Value *x = builder.Reshape(node.inputs[0], extents), *indices = builder.Reshape(node.inputs[1], extents);
  Value* base = builder.Full(0, x->dtype, {planes, plane(out)});
  Value* unpooled = EmitScatter(builder, base, {indices, x}, extents, ScatterOp::kStore, [&](LoopBuilder& b) {
    return ScatterPoint{b.Load(IdentityAccess(2, 2), x->dtype), {b.Index(0), b.Load(IdentityAccess(1, 2), indices->dtype)}};
  });
  builder.Replace(0, builder.Reshape(unpooled, out));
  return OkStatus();
}

Status InferDiagonalScatter(Node& node) {
  const Arguments args(node);
  TONDAR_RETURN_IF_ERROR(CheckSameDType(node.inputs[0], node.inputs[1], "a source"));
  const size_t rank = node.inputs[0]->shape.size();
  TONDAR_ASSIGN_OR_RETURN(const size_t dim1, NormaliseDim(args.Int("dim1"), rank));
  TONDAR_ASSIGN_OR_RETURN(const size_t dim2, NormaliseDim(args.Int("dim2"), rank));
  if (rank < 2 || dim1 == dim2) return InvalidArgument("dims {} and {} of a tensor of rank {}", dim1, dim2, rank);
  if (node.inputs[1]->shape.size() != rank - 1) return InvalidArgument("a source of rank {}, expected {}", node.inputs[1]->shape.size(), rank - 1);
  return InferSame(node);
}

Status LowerDiagonalScatter(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *x = node.inputs[0], *src = node.inputs[1];
  const size_t rank = x->shape.size();
  const size_t dim1 = *NormaliseDim(args.Int("dim1"), rank), dim2 = *NormaliseDim(args.Int("dim2"), rank);
  const int64_t offset = args.Int("offset");
  Value* written = EmitScatter(builder, x, {src}, src->shape, ScatterOp::kStore, [&](LoopBuilder& b) {
    ScatterPoint point{b.Load(IdentityAccess(1, rank - 1), src->dtype), {}};
    int next = 0;
    for (size_t d = 0; d < rank; ++d) {
      if (d != dim1 && d != dim2) {
        point.at.push_back(b.Index(next++));
        continue;
      }
      const int64_t from = std::max<int64_t>(d == dim1 ? -offset : offset, 0);
      point.at.push_back(b.Binary(LoopOp::kAdd, b.Index(ToInt(rank) - 2), b.ConstantInteger(from, DType::kInt64)));
    }
    return point;
  });
  builder.Replace(0, written);
  return OkStatus();
}

// slice_scatter by steps of more than 1.
Status InferStridedScatter(Node& node) {
  TONDAR_RETURN_IF_ERROR(NormaliseDim(Arguments(node).Int("dim"), node.inputs[0]->shape.size()).status());
  return InferSame(node);
}

Status LowerStridedScatter(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *x = node.inputs[0], *src = node.inputs[1];
  const size_t dim = *NormaliseDim(args.Int("dim"), x->shape.size());
  Value* written = EmitScatter(builder, x, {src}, src->shape, ScatterOp::kStore, [&](LoopBuilder& b) {
    ScatterPoint point{b.Load(IdentityAccess(1, src->shape.size()), src->dtype), {}};
    for (size_t d = 0; d < x->shape.size(); ++d) {
      Handle at = b.Index(ToInt(d));
      if (d == dim) {
        at = b.Binary(LoopOp::kMul, at, b.ConstantInteger(args.Int("step"), DType::kInt64));
        at = b.Binary(LoopOp::kAdd, at, b.Size(args.Size("start")));
      }
      point.at.push_back(at);
    }
    return point;
  });
  builder.Replace(0, written);
  return OkStatus();
}

// --- nonzero_static -------------------------------------------------------------------------------------------------

Status InferNonzeroStatic(Node& node) {
  const int64_t rank = static_cast<int64_t>(node.inputs[0]->shape.size());
  SetOutput(node, 0, DType::kInt64, {Arguments(node).Size("size"), Dim(rank)});
  return OkStatus();
}

// Position `d` of the element with the flat index `flat`.
Handle PositionAlong(LoopBuilder& b, Handle flat, const Shape& shape, size_t d) {
  const Dim inner = ElementCount(Shape(shape.begin() + static_cast<ptrdiff_t>(d) + 1, shape.end()));
  const Handle outer = b.Binary(LoopOp::kFloorDiv, flat, b.Size(inner));
  return d == 0 ? outer : b.Binary(LoopOp::kRemainder, outer, b.Size(shape[d]));
}

// Element number k of those that are true goes to row k; what is too much, and what is false, to a row that is cut off.
Status LowerNonzeroStatic(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const Shape& shape = node.inputs[0]->shape;
  const Dim size = args.Size("size");
  Value* flat = Flat(builder, node.inputs[0]);
  Value* mask = builder.Cast(flat, DType::kBool);
  Value* counts = CountsBefore(builder, mask);
  Value* base = builder.Full(args.Number("fill_value"), DType::kInt64, {size + Dim(1)});
  std::vector<Value*> columns;
  for (size_t d = 0; d < shape.size(); ++d) {
    Value* column = EmitScatter(builder, base, {mask, counts}, flat->shape, ScatterOp::kStore, [&](LoopBuilder& b) {
      const Handle row = b.Load(IdentityAccess(2, 1), DType::kInt64), last = b.Size(size);
      const Handle at = b.Select(b.Load(IdentityAccess(1, 1), DType::kBool), b.Binary(LoopOp::kMin, row, last), last);
      return ScatterPoint{PositionAlong(b, b.Index(0), shape, d), {at}};
    });
    columns.push_back(builder.Unsqueeze(builder.Slice(column, 0, Dim(0), size), 1));
  }
  builder.Replace(0, columns.empty() ? builder.Full(0, DType::kInt64, node.outputs[0]->shape) : builder.Concat(columns, 1));
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), std::string signature) {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.infer = infer;
  schema.lower = lower;
  return schema;
}

using Renames = std::vector<std::pair<std::string, std::string>>;
using Adapt = Status (*)(Node&, const Attributes&);

// A form and its in-place spelling, which overwrites the first tensor.
void AddForms(std::vector<SourceForm>& forms, const std::string& name, const std::string& overload,
              const std::string& signature, const Renames& renames = {}, Adapt adapt = nullptr) {
  forms.push_back({fmt::format("aten.{}.{}", name, overload), signature, renames, adapt});
  forms.push_back({fmt::format("aten.{}_.{}", name, overload), signature, renames, adapt, 0});
}

std::vector<SourceForm> IndexPutSources() {
  const std::string signature = "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)";
  std::vector<SourceForm> forms;
  AddForms(forms, "index_put", "default", signature);
  forms.push_back({"aten._unsafe_index_put.default", signature});
  forms.push_back({"aten._index_put_impl_.default",
                   "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False)", {}, nullptr, 0});
  return forms;
}

std::vector<SourceForm> ScatterSources() {
  std::vector<SourceForm> forms;
  const Renames value = {{"value", "src"}};
  AddForms(forms, "scatter", "src", "(Tensor self, int dim, Tensor index, Tensor src)");
  AddForms(forms, "scatter", "value", "(Tensor self, int dim, Tensor index, Scalar value)", value);
  AddForms(forms, "scatter", "reduce", "(Tensor self, int dim, Tensor index, Tensor src, *, str reduce)");
  AddForms(forms, "scatter", "value_reduce", "(Tensor self, int dim, Tensor index, Scalar value, *, str reduce)", value);
  AddForms(forms, "scatter_add", "default", "(Tensor self, int dim, Tensor index, Tensor src)", {}, ReduceBySum);
  AddForms(forms, "scatter_reduce", "two",
           "(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)");
  return forms;
}

std::vector<SourceForm> IndexFillSources() {
  std::vector<SourceForm> forms;
  AddForms(forms, "index_fill", "int_Scalar", "(Tensor self, int dim, Tensor index, Scalar value)", {{"value", "source"}});
  AddForms(forms, "index_fill", "int_Tensor", "(Tensor self, int dim, Tensor index, Tensor value)", {{"value", "source"}});
  return forms;
}

std::vector<SourceForm> MaxUnpoolSources() {
  const std::string volume = "(Tensor self, Tensor indices, SymInt[] output_size, int[] stride, int[] padding)";
  return {{"aten.max_unpool2d.default", "(Tensor self, Tensor indices, SymInt[] output_size)"},
          {"aten.max_unpool3d.default", volume, {{"stride", ""}, {"padding", ""}}}};
}

}  // namespace

std::vector<OpSchema> ScatterOps() {
  const std::string masked = "(Tensor self, Tensor mask, Tensor source)", indexed = "(Tensor self, int dim, Tensor index, Tensor source";
  const std::string put = "(Tensor self, Tensor index, Tensor source, bool accumulate=False)";
  const std::string diagonal = "(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1)";
  return {
      Row("index_put", IndexPutSources(), InferIndexPut, LowerIndexPut,
          "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)"),
      Row("masked_scatter", WithInPlace("masked_scatter", masked), InferMaskedScatter, LowerMaskedScatter, masked),
      Row("scatter", ScatterSources(), InferScatter, LowerScatter,
          "(Tensor self, int dim, Tensor index, Tensor src, *, str? reduce=None, bool include_self=True)"),
      Row("index_add", WithInPlace("index_add", indexed + ", *, Scalar alpha=1)"), InferIndexWrite, LowerIndexAdd,
          indexed + ", *, Scalar alpha=1)"),
      Row("index_copy", WithInPlace("index_copy", indexed + ")"), InferIndexWrite, LowerIndexCopy, indexed + ")"),
      Row("index_fill", IndexFillSources(), InferIndexFill, LowerIndexFill, indexed + ")"),
      Row("index_reduce", WithInPlace("index_reduce", indexed + ", str reduce, *, bool include_self=True)"), InferIndexWrite,
          LowerIndexReduce, indexed + ", str reduce, *, bool include_self=True)"),
      Row("put", WithInPlace("put", put), InferPut, LowerPut, put),
      Row("max_unpool", MaxUnpoolSources(), InferMaxUnpool, LowerMaxUnpool, "(Tensor self, Tensor indices, SymInt[] output_size)"),
      Row("diagonal_scatter", {{"aten.diagonal_scatter.default", diagonal}}, InferDiagonalScatter, LowerDiagonalScatter, diagonal),
      Row("strided_scatter", {}, InferStridedScatter, LowerStridedScatter,
          "(Tensor self, Tensor src, int dim, SymInt start, int step)"),
      Row("nonzero_static",
          {{"aten.nonzero_static.default", "(Tensor self, *, SymInt size, int fill_value=-1)"}}, InferNonzeroStatic,
          LowerNonzeroStatic, "(Tensor self, *, SymInt size, int fill_value=-1)"),
  };
}

}  // namespace tondar
