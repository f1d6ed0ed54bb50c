// Operators that read elements at computed places: lookups, padding, flips, resampling.
#include <algorithm>
#include <cmath>

#include "engine/ops/families.h"
#include "engine/ops/index_plan.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"
#include "engine/ops/pointwise.h"
#include "engine/ops/resampling.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;

int ToInt(size_t d) { return static_cast<int>(d); }

// The identity access of an operand of `rank` over the first loop dims.
Access IdentityAccess(int operand, size_t rank) {
  Access access{.operand = static_cast<int16_t>(operand), .index = {}};
  for (size_t d = 0; d < rank; ++d) access.index.push_back(IndexExpression::LoopDim(ToInt(d)));
  return access;
}

// A map that loads operand 0 through one access.
Value* MapLoad(LoweringBuilder& builder, const Shape& extents, const std::vector<Value*>& inputs, Access access,
               LoopBuilder b = {}) {
  b.Result(b.Load(std::move(access), inputs[0]->dtype));
  return builder.Map(extents, inputs, std::move(b).Build());
}

// --- Lookups along one dim ------------------------------------------------------------------------------------------

Status InferEmbedding(Node& node) {
  const Value *weight = node.inputs[0], *indices = node.inputs[1];
  TONDAR_RETURN_IF_ERROR(CheckIndex(indices));
  if (weight->shape.size() != 2) return InvalidArgument("weight of rank {}, expected 2", weight->shape.size());
  Shape shape = indices->shape;
  shape.push_back(weight->shape[1]);
  SetOutput(node, 0, weight->dtype, std::move(shape));
  return OkStatus();
}

Status LowerEmbedding(const Node& node, LoweringBuilder& builder) {
  Value *weight = node.inputs[0], *indices = node.inputs[1];
  const size_t rank = indices->shape.size();
  LoopBuilder b;
  const Handle row = b.NotFromEnd(b.Load(IdentityAccess(1, rank), indices->dtype));
  Access access{.operand = 0, .index = {IndexExpression::Dynamic(row), IndexExpression::LoopDim(ToInt(rank))}};
  builder.Replace(0, MapLoad(builder, node.outputs[0]->shape, {weight, indices}, std::move(access), std::move(b)));
  return OkStatus();
}

Status InferIndexSelect(Node& node) {
  const Arguments args(node);
  const Value *x = args.Tensor("self"), *index = args.Tensor("index");
  TONDAR_RETURN_IF_ERROR(CheckIndex(index));
  if (index->shape.size() > 1) return InvalidArgument("an index of rank {}, expected 1", index->shape.size());
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(args.Int("dim"), x->shape.size()));
  Shape shape = x->shape;
  if (!shape.empty()) shape[d] = ElementCount(index->shape);
  SetOutput(node, 0, x->dtype, std::move(shape));
  return OkStatus();
}

Status LowerIndexSelect(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *x = args.Tensor("self"), *index = args.Tensor("index");
  if (x->shape.empty()) {
    builder.Replace(0, x);
    return OkStatus();
  }
  if (index->shape.empty()) index = builder.Reshape(index, {Dim(1)});
  const size_t d = *NormaliseDim(args.Int("dim"), x->shape.size());
  LoopBuilder b;
  const Access at{.operand = 1, .index = {IndexExpression::LoopDim(ToInt(d))}};
  Access access = IdentityAccess(0, x->shape.size());
  access.index[d] = IndexExpression::Dynamic(b.NotFromEnd(b.Load(at, index->dtype)));
  builder.Replace(0, MapLoad(builder, node.outputs[0]->shape, {x, index}, std::move(access), std::move(b)));
  return OkStatus();
}

Status InferGather(Node& node) {
  const Arguments args(node);
  const Value *x = args.Tensor("self"), *index = args.Tensor("index");
  TONDAR_RETURN_IF_ERROR(CheckIndex(index));
  if (index->shape.size() != x->shape.size()) {
    return InvalidArgument("an index of rank {} for a tensor of rank {}", index->shape.size(), x->shape.size());
  }
  TONDAR_RETURN_IF_ERROR(NormaliseDim(args.Int("dim"), x->shape.size()).status());
  SetOutput(node, 0, x->dtype, index->shape);
  return OkStatus();
}

Status LowerGather(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *x = args.Tensor("self"), *index = args.Tensor("index");
  const size_t rank = x->shape.size();
  if (rank == 0) {
    builder.Replace(0, x);
    return OkStatus();
  }
  const size_t d = *NormaliseDim(args.Int("dim"), rank);
  LoopBuilder b;
  Access access = IdentityAccess(0, rank);
  const Handle at = b.Load(IdentityAccess(1, rank), index->dtype);
  access.index[d] = IndexExpression::Dynamic(args.Bool("wraps") ? at : b.NotFromEnd(at));
  builder.Replace(0, MapLoad(builder, node.outputs[0]->shape, {x, index}, std::move(access), std::move(b)));
  return OkStatus();
}

// take: x as one flat row.
Status InferTake(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckIndex(node.inputs[1]));
  SetOutput(node, 0, node.inputs[0]->dtype, node.inputs[1]->shape);
  return OkStatus();
}

Status LowerTake(const Node& node, LoweringBuilder& builder) {
  Value *x = builder.Reshape(node.inputs[0], {ElementCount(node.inputs[0]->shape)}), *index = node.inputs[1];
  LoopBuilder b;
  Access access{.operand = 0, .index = {IndexExpression::Dynamic(b.Load(IdentityAccess(1, index->shape.size()), index->dtype))}};
  builder.Replace(0, MapLoad(builder, node.outputs[0]->shape, {x, index}, std::move(access), std::move(b)));
  return OkStatus();
}

// --- x[i, :, j] -----------------------------------------------------------------------------------------------------

Status InferIndex(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const IndexPlan plan, PlanIndex(node, Arguments(node).Tensors("indices")));
  const Value* x = node.inputs[0];
  SetOutput(node, 0, x->dtype, IndexedShape(plan, x->shape));
  return OkStatus();
}

Status LowerIndex(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const IndexPlan plan, PlanIndex(const_cast<Node&>(node), Arguments(node).Tensors("indices")));
  Value* x = node.inputs[0];
  std::vector<Value*> inputs = {x};
  LoopBuilder b;
  Access access{.operand = 0, .index = {}};
  for (const IndexPosition& position : PositionsOf(plan, b, inputs)) {
    access.index.push_back(position.loop_dim >= 0 ? IndexExpression::LoopDim(position.loop_dim)
                                                  : IndexExpression::Dynamic(position.value));
  }
  builder.Replace(0, MapLoad(builder, node.outputs[0]->shape, inputs, std::move(access), std::move(b)));
  return OkStatus();
}

// --- Flip, roll, diagonal, unfold: affine or nearly so --------------------------------------------------------------

Status InferSame(Node& node) {
  SetOutput(node, 0, node.inputs[0]->dtype, node.inputs[0]->shape);
  return OkStatus();
}

Status InferFlip(Node& node) {
  TONDAR_RETURN_IF_ERROR(NormaliseDims(Arguments(node).Ints("dims"), node.inputs[0]->shape.size(), false).status());
  return InferSame(node);
}

Status LowerFlip(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  Access access = IdentityAccess(0, x->shape.size());
  const auto dims = NormaliseDims(Arguments(node).Ints("dims"), x->shape.size(), false);
  for (size_t d : *dims) {
    access.index[d].terms[0].coefficient = -1;
    access.index[d].offset = x->shape[d] - Dim(1);
  }
  builder.Replace(0, MapLoad(builder, x->shape, {x}, std::move(access)));
  return OkStatus();
}

template <int64_t dim>
Status FlipAlong(Node& node, const Attributes&) {
  node.attributes["dims"] = Shape{Dim(dim)};
  return OkStatus();
}

Status InferRoll(Node& node) {
  const Arguments args(node);
  const std::vector<int64_t> dims = args.Ints("dims");
  const size_t shifts = args.Sizes("shifts").size();
  if (!(dims.empty() && shifts == 1) && dims.size() != shifts) {
    return InvalidArgument("{} shifts for {} dims", shifts, dims.size());
  }
  for (int64_t dim : dims) TONDAR_RETURN_IF_ERROR(NormaliseDim(dim, node.inputs[0]->shape.size()).status());
  return InferSame(node);
}

// One dim after the other: the last elements, then the first.
Value* RollDim(LoweringBuilder& builder, Value* x, size_t d, int64_t shift) {
  const Dim& extent = x->shape[d];
  if (extent.Is(0)) return x;
  const Dim behind = Dim::Mod(Dim(shift), extent);
  const int64_t dim = static_cast<int64_t>(d);
  if (behind.Is(0)) return x;
  return builder.Concat({builder.Slice(x, dim, extent - behind, behind), builder.Slice(x, dim, Dim(0), extent - behind)}, dim);
}

Status LowerRoll(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* x = node.inputs[0];
  const std::vector<int64_t> shifts = args.Ints("shifts"), dims = args.Ints("dims");
  if (dims.empty()) {
    Value* flat = builder.Reshape(x, {ElementCount(x->shape)});
    builder.Replace(0, builder.Reshape(RollDim(builder, flat, 0, shifts[0]), x->shape));
    return OkStatus();
  }
  for (size_t i = 0; i < dims.size() && !x->shape.empty(); ++i) {
    x = RollDim(builder, x, *NormaliseDim(dims[i], x->shape.size()), shifts[i]);
  }
  builder.Replace(0, x);
  return OkStatus();
}

struct Diagonal {
  size_t dim1, dim2;
  int64_t offset;
};

Result<Diagonal> ReadDiagonal(const Node& node) {
  const Arguments args(node);
  const size_t rank = node.inputs[0]->shape.size();
  if (rank < 2) return InvalidArgument("rank {} is below 2", rank);
  TONDAR_ASSIGN_OR_RETURN(const size_t dim1, NormaliseDim(args.Int("dim1"), rank));
  TONDAR_ASSIGN_OR_RETURN(const size_t dim2, NormaliseDim(args.Int("dim2"), rank));
  if (dim1 == dim2) return InvalidArgument("dim1 and dim2 are both {}", dim1);
  return Diagonal{dim1, dim2, args.Int("offset")};
}

Status InferDiagonal(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const Diagonal diagonal, ReadDiagonal(node));
  const Shape& x = node.inputs[0]->shape;
  const Graph& graph = *node.graph;
  const Dim rows = x[diagonal.dim1] + Dim(std::min<int64_t>(diagonal.offset, 0));
  const Dim columns = x[diagonal.dim2] - Dim(std::max<int64_t>(diagonal.offset, 0));
  Shape shape;
  for (size_t d = 0; d < x.size(); ++d) {
    if (d != diagonal.dim1 && d != diagonal.dim2) shape.push_back(x[d]);
  }
  shape.push_back(BoundedMax(graph, BoundedMin(graph, rows, columns), Dim(0)));
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerDiagonal(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Diagonal diagonal, ReadDiagonal(node));
  Value* x = node.inputs[0];
  const int along = ToInt(node.outputs[0]->shape.size()) - 1;
  Access access{.operand = 0, .index = {}};
  int next = 0;
  for (size_t d = 0; d < x->shape.size(); ++d) {
    const bool first = d == diagonal.dim1, second = d == diagonal.dim2;
    IndexExpression index = IndexExpression::LoopDim(first || second ? along : next++);
    if (first) index.offset = Dim(std::max<int64_t>(-diagonal.offset, 0));
    if (second) index.offset = Dim(std::max<int64_t>(diagonal.offset, 0));
    access.index.push_back(std::move(index));
  }
  builder.Replace(0, MapLoad(builder, node.outputs[0]->shape, {x}, std::move(access)));
  return OkStatus();
}

Status InferUnfold(Node& node) {
  const Arguments args(node);
  Shape shape = node.inputs[0]->shape;
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(args.Int("dimension"), shape.size()));
  if (shape.empty()) return Unimplemented("unfold of a 0-d tensor");
  const int64_t size = args.Int("size"), step = args.Int("step");
  if (size < 0 || step < 1) return InvalidArgument("size {} or step {} out of range", size, step);
  shape[d] = Dim::FloorDiv(shape[d] - Dim(size), Dim(step)) + Dim(1);
  if (shape[d].RangeOver(node.graph->symbols).max <= 0) return InvalidArgument("size {} exceeds the extent", size);
  shape.push_back(Dim(size));
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerUnfold(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* x = node.inputs[0];
  const size_t rank = x->shape.size(), d = *NormaliseDim(args.Int("dimension"), rank);
  Access access = IdentityAccess(0, rank);
  access.index[d].terms = {{static_cast<int8_t>(d), args.Int("step")}, {static_cast<int8_t>(rank), 1}};
  builder.Replace(0, MapLoad(builder, node.outputs[0]->shape, {x}, std::move(access)));
  return OkStatus();
}

// --- Padding --------------------------------------------------------------------------------------------------------

// "pad" lists (before, after) for the last dim first.
Status InferPad(Node& node) {
  const Arguments args(node);
  const Shape pad = args.Sizes("pad");
  Shape shape = node.inputs[0]->shape;
  if (pad.size() % 2 != 0 || pad.size() > 2 * shape.size()) {
    return InvalidArgument("{} pad values for a tensor of rank {}", pad.size(), shape.size());
  }
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    Dim& extent = shape[shape.size() - 1 - i];
    extent = extent + pad[2 * i] + pad[2 * i + 1];
    if (extent.RangeOver(node.graph->symbols).max < 0) return InvalidArgument("padding removes more than there is in dim -{}", i + 1);
  }
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerConstantPad(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* x = node.inputs[0];
  const Shape pad = args.Sizes("pad");
  Access access = IdentityAccess(0, x->shape.size());
  access.fill = args.IsNone("value") ? 0 : args.Number("value");
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    IndexExpression& index = access.index[x->shape.size() - 1 - i];
    index.offset = Dim(0) - pad[2 * i];
    index.guarded = !pad[2 * i].Is(0) || !pad[2 * i + 1].Is(0);
  }
  builder.Replace(0, MapLoad(builder, node.outputs[0]->shape, {x}, std::move(access)));
  return OkStatus();
}

// The input position that an output position of a padded dim shows.
Handle PaddedPosition(LoopBuilder& b, const std::string& mode, int loop_dim, const Dim& before, const Dim& extent) {
  const Handle zero = b.ConstantInteger(0, DType::kInt64), last = b.Size(extent - Dim(1));
  const Handle at = b.Binary(LoopOp::kSub, b.Index(loop_dim), b.Size(before));
  if (mode == "replicate") return b.Binary(LoopOp::kMin, b.Binary(LoopOp::kMax, at, zero), last);
  if (mode == "circular") return b.Binary(LoopOp::kRemainder, at, b.Size(extent));
  const Handle from_start = b.Unary(LoopOp::kAbs, at);
  return b.Binary(LoopOp::kSub, last, b.Unary(LoopOp::kAbs, b.Binary(LoopOp::kSub, last, from_start)));
}

std::string PadMode(const Node& node) {
  for (const char* mode : {"reflect", "replicate", "circular"}) {
    if (node.op.starts_with(mode)) return mode;
  }
  return "constant";
}

Status LowerPad(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  const Shape pad = Arguments(node).Sizes("pad");
  Access access = IdentityAccess(0, x->shape.size());
  LoopBuilder b;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t d = x->shape.size() - 1 - i;
    if (pad[2 * i].Is(0) && pad[2 * i + 1].Is(0)) continue;
    access.index[d] = IndexExpression::Dynamic(PaddedPosition(b, PadMode(node), ToInt(d), pad[2 * i], x->shape[d]));
  }
  builder.Replace(0, MapLoad(builder, node.outputs[0]->shape, {x}, std::move(access), std::move(b)));
  return OkStatus();
}

Status ChoosePadMode(Node& node, const Attributes& arguments) {
  const auto mode = arguments.find("mode");
  const std::string* name = mode == arguments.end() ? nullptr : std::get_if<std::string>(&mode->second);
  if (name == nullptr || *name == "constant") return OkStatus();
  if (*name != "reflect" && *name != "replicate" && *name != "circular") return InvalidArgument("pad mode '{}' is unknown", *name);
  node.op = *name + "_pad";
  node.attributes.erase("value");
  return OkStatus();
}

// --- Nearest and linear resampling ----------------------------------------------------------------------------------

size_t SpatialRank(const Node& node) { return node.inputs[0]->shape.size() - 2; }

// floor(extent * factor). A dynamic extent needs a factor that is a fraction with a power of two below.
Result<Dim> ScaledExtent(const Dim& extent, double factor) {
  if (extent.IsConstant()) return Dim(static_cast<int64_t>(std::floor(static_cast<double>(extent.constant()) * factor)));
  for (int64_t below = 1; below <= 1024; below *= 2) {
    const double above = factor * static_cast<double>(below);
    if (above == std::floor(above)) return Dim::FloorDiv(extent * Dim(static_cast<int64_t>(above)), Dim(below));
  }
  return Unimplemented("a dynamic extent times {}", factor);
}

Status InferUpsample(Node& node) {
  const Arguments args(node);
  Shape shape = node.inputs[0]->shape;
  if (shape.size() < 3 || shape.size() > 5) return InvalidArgument("input of rank {}, expected 3 to 5", shape.size());
  const Shape sizes = args.Sizes("output_size");
  const std::vector<double>* factors = std::get_if<std::vector<double>>(&args.Raw("scale_factors"));
  const size_t given = sizes.empty() ? (factors == nullptr ? 0 : factors->size()) : sizes.size();
  if (given != shape.size() - 2) return InvalidArgument("{} sizes or factors for {} spatial dims", given, shape.size() - 2);
  for (size_t d = 2; d < shape.size(); ++d) {
    if (!sizes.empty()) {
      shape[d] = sizes[d - 2];
      continue;
    }
    const double factor = (*factors)[d - 2];
    TONDAR_ASSIGN_OR_RETURN(shape[d], ScaledExtent(shape[d], factor));
  }
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

double FactorOf(const Node& node, size_t s) {
  const std::vector<double>* factors = std::get_if<std::vector<double>>(&Arguments(node).Raw("scale_factors"));
  return factors == nullptr || factors->empty() ? 0 : (*factors)[s];
}

// Input extent per output extent, in f32 as PyTorch computes it; a given factor wins over the extents.
Handle ResampleScale(LoopBuilder& b, const Node& node, size_t s) {
  const double factor = FactorOf(node, s);
  if (factor > 0) return b.Constant(static_cast<double>(static_cast<float>(1.0 / factor)), DType::kFloat32);
  const Handle in = b.Cast(b.Size(node.inputs[0]->shape[2 + s]), DType::kFloat32);
  return b.Binary(LoopOp::kDiv, in, b.Cast(b.Size(node.outputs[0]->shape[2 + s]), DType::kFloat32));
}

// floor(o scale), or floor((o + 0.5) scale) for the exact kind.
Handle NearestPosition(LoopBuilder& b, const Node& node, size_t s, bool exact) {
  Handle o = b.Cast(b.Index(ToInt(2 + s)), DType::kFloat32);
  if (exact) o = b.Binary(LoopOp::kAdd, o, b.Constant(0.5, DType::kFloat32));
  const Handle at = b.Cast(b.Unary(LoopOp::kFloor, b.Binary(LoopOp::kMul, o, ResampleScale(b, node, s))), DType::kInt64);
  return b.Binary(LoopOp::kMin, at, b.Size(node.inputs[0]->shape[2 + s] - Dim(1)));
}

// Whole multiples are plain repetition, without index arithmetic.
Value* RepeatSpatially(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  const Shape& out = node.outputs[0]->shape;
  if (2 * SpatialRank(node) + 2 > static_cast<size_t>(kMaxRank)) return nullptr;
  Shape split(x->shape.begin(), x->shape.begin() + 2), wide = split;
  for (size_t d = 2; d < out.size(); ++d) {
    const Dim ratio = Dim::FloorDiv(out[d], x->shape[d]);
    if (!(ratio * x->shape[d] == out[d])) return nullptr;
    const double factor = FactorOf(node, d - 2);
    if (factor > 0 && !(ratio.IsConstant() && static_cast<double>(ratio.constant()) == factor)) return nullptr;
    split.insert(split.end(), {x->shape[d], Dim(1)});
    wide.insert(wide.end(), {x->shape[d], ratio});
  }
  return builder.Reshape(builder.Expand(builder.Reshape(x, split), wide), out);
}

template <bool exact>
Status LowerNearest(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  if (Value* repeated = RepeatSpatially(node, builder)) {
    builder.Replace(0, repeated);
    return OkStatus();
  }
  LoopBuilder b;
  Access access = IdentityAccess(0, x->shape.size());
  for (size_t s = 0; s < SpatialRank(node); ++s) access.index[2 + s] = IndexExpression::Dynamic(NearestPosition(b, node, s, exact));
  builder.Replace(0, MapLoad(builder, node.outputs[0]->shape, {x}, std::move(access), std::move(b)));
  return OkStatus();
}

// The two neighbours along one dim and the weight of the second.
struct Neighbours {
  Handle first, second, weight;
};

Neighbours LinearPositions(LoopBuilder& b, const Node& node, size_t s, bool align_corners) {
  const Dim &in = node.inputs[0]->shape[2 + s], &out = node.outputs[0]->shape[2 + s];
  const DType f = DType::kFloat32;
  const Handle o = b.Cast(b.Index(ToInt(2 + s)), f), zero = b.Constant(0, f), half = b.Constant(0.5, f);
  Handle at = zero;
  if (!align_corners) {
    const Handle middle = b.Binary(LoopOp::kMul, b.Binary(LoopOp::kAdd, o, half), ResampleScale(b, node, s));
    at = b.Binary(LoopOp::kMax, b.Binary(LoopOp::kSub, middle, half), zero);
  } else if (!out.Is(1)) {
    const Handle scale = b.Binary(LoopOp::kDiv, b.Cast(b.Size(in - Dim(1)), f), b.Cast(b.Size(out - Dim(1)), f));
    at = b.Binary(LoopOp::kMul, o, scale);
  }
  const Handle last = b.Size(in - Dim(1));
  const Handle first = b.Binary(LoopOp::kMin, b.Cast(b.Unary(LoopOp::kFloor, at), DType::kInt64), last);
  const Handle second = b.Binary(LoopOp::kMin, b.Binary(LoopOp::kAdd, first, b.ConstantInteger(1, DType::kInt64)), last);
  return {first, second, b.Binary(LoopOp::kSub, at, b.Cast(first, f))};
}

// Interpolates along spatial dim s and those after it; `access` holds the places along the earlier ones.
Handle Interpolate(LoopBuilder& b, const std::vector<Neighbours>& dims, size_t s, Access access, DType dtype) {
  if (s == dims.size()) return b.Cast(b.Load(access, dtype), ComputeDType(dtype));
  access.index[2 + s] = IndexExpression::Dynamic(dims[s].first);
  const Handle first = Interpolate(b, dims, s + 1, access, dtype);
  access.index[2 + s] = IndexExpression::Dynamic(dims[s].second);
  const Handle second = Interpolate(b, dims, s + 1, access, dtype);
  const Handle weight = b.Cast(dims[s].weight, b.dtype(first)), one = b.Constant(1, b.dtype(first));
  return b.Binary(LoopOp::kAdd, b.Binary(LoopOp::kMul, b.Binary(LoopOp::kSub, one, weight), first),
                  b.Binary(LoopOp::kMul, weight, second));
}

Status LowerLinear(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  LoopBuilder b;
  std::vector<Neighbours> dims;
  for (size_t s = 0; s < SpatialRank(node); ++s) dims.push_back(LinearPositions(b, node, s, Arguments(node).Bool("align_corners")));
  b.Result(b.Cast(Interpolate(b, dims, 0, IdentityAccess(0, x->shape.size()), x->dtype), x->dtype));
  builder.Replace(0, builder.Map(node.outputs[0]->shape, {x}, std::move(b).Build()));
  return OkStatus();
}

// --- Writing into a copy --------------------------------------------------------------------------------------------

// select_scatter and slice_scatter: x with `src` in place of a part. The part is [start, start + length) by step.
Value* ReplacePart(LoweringBuilder& builder, Value* x, Value* src, size_t d, const Dim& start, const Dim& length) {
  const int64_t dim = static_cast<int64_t>(d);
  const Dim end = start + length;
  std::vector<Value*> parts;
  if (!start.Is(0)) parts.push_back(builder.Slice(x, dim, Dim(0), start));
  parts.push_back(src);
  if (!(end == x->shape[d])) parts.push_back(builder.Slice(x, dim, end, x->shape[d] - end));
  return builder.Concat(parts, dim);
}

Status LowerSelectScatter(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* x = args.Tensor("self");
  const size_t d = *NormaliseDim(args.Int("dim"), x->shape.size());
  Dim index = args.Size("index");
  if (index.RangeOver(node.graph->symbols).max < 0) index = index + x->shape[d];
  Value* src = builder.Unsqueeze(builder.Cast(args.Tensor("src"), x->dtype), static_cast<int64_t>(d));
  builder.Replace(0, ReplacePart(builder, x, src, d, index, Dim(1)));
  return OkStatus();
}

Status InferSelectScatter(Node& node) {
  if (node.inputs[0]->shape.empty()) return InvalidArgument("a 0-d tensor");
  TONDAR_RETURN_IF_ERROR(NormaliseDim(Arguments(node).Int("dim"), node.inputs[0]->shape.size()).status());
  return InferSame(node);
}

Status InferSliceScatter(Node& node) {
  if (Arguments(node).Int("step") < 1) return InvalidArgument("step {} is below 1", Arguments(node).Int("step"));
  return InferSelectScatter(node);
}

Status LowerSliceScatter(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* x = args.Tensor("self");
  const size_t d = *NormaliseDim(args.Int("dim"), x->shape.size());
  const Dim start = args.IsNone("start") ? Dim(0) : ClampPosition(*node.graph, args.Size("start"), x->shape[d]);
  Value* src = builder.Cast(args.Tensor("src"), x->dtype);
  Shape part = x->shape;
  part[d] = src->shape.size() == x->shape.size() ? src->shape[d] : part[d];
  const int64_t step = args.Int("step");
  if (step != 1) {
    const Attributes where = {{"dim", Dim(static_cast<int64_t>(d))}, {"start", start}, {"step", Dim(step)}};
    TONDAR_ASSIGN_OR_RETURN(Value * written, builder.Op("strided_scatter", {x, builder.Expand(src, part)}, where));
    builder.Replace(0, written);
    return OkStatus();
  }
  builder.Replace(0, ReplacePart(builder, x, builder.Expand(src, part), d, start, part[d]));
  return OkStatus();
}

// copy: src broadcast to self's shape, in its dtype.
Status LowerCopy(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, builder.Expand(builder.Cast(node.inputs[1], node.outputs[0]->dtype), node.outputs[0]->shape));
  return OkStatus();
}

// one_hot: 1 where the class is the index. The index is looked up among the classes, which refuses those that are none.
Status InferOneHot(Node& node) {
  const int64_t classes = Arguments(node).Int("num_classes");
  if (classes < 1) return Unimplemented("one_hot with as many classes as the data has");
  Shape shape = node.inputs[0]->shape;
  shape.push_back(Dim(classes));
  SetOutput(node, 0, DType::kInt64, std::move(shape));
  return OkStatus();
}

Status LowerOneHot(const Node& node, LoweringBuilder& builder) {
  Value* classes = builder.Unsqueeze(node.inputs[0], -1);
  const Shape& shape = node.outputs[0]->shape;
  const int last = ToInt(shape.size()) - 1;
  LoopBuilder counting;
  counting.Result(counting.Index(0));
  Value* numbers = builder.Map({shape.back()}, {}, std::move(counting).Build());
  LoopBuilder b;
  const Handle index = b.Load(BroadcastAccess(0, classes->shape, last + 1), classes->dtype);
  const Handle found = b.Load({.operand = 1, .index = {IndexExpression::Dynamic(b.NotFromEnd(index))}}, DType::kInt64);
  b.Result(b.Cast(b.Binary(LoopOp::kEq, found, b.Index(last)), DType::kInt64));
  builder.Replace(0, builder.Map(shape, {classes, numbers}, std::move(b).Build()));
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), std::string signature = "") {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.infer = infer;
  schema.lower = lower;
  return schema;
}

std::vector<SourceForm> PadSources(const std::string& mode) {
  std::vector<SourceForm> sources;
  for (const char* rank : {"1d", "2d", "3d"}) {
    sources.push_back({fmt::format("aten.{}_pad{}.default", mode, rank), "(Tensor self, SymInt[] padding)", {{"padding", "pad"}}});
  }
  return sources;
}

constexpr char kPad[] = "(Tensor self, SymInt[] pad)";
constexpr char kUpsample[] = "(Tensor input, SymInt[]? output_size=None, bool align_corners=False, float[]? scale_factors=None)";

// Both spellings for one to three spatial dims: a list of factors (.vec), or one argument per dim (.default).
std::vector<SourceForm> UpsampleSources(const std::string& prefix, const std::string& kind, bool has_corners) {
  const char* corners = has_corners ? ", bool align_corners" : "";
  const char* multiples[] = {"", "bi", "tri"};
  const char* scales[] = {", float? scales=None", ", float? scales_h=None, float? scales_w=None",
                          ", float? scales_d=None, float? scales_h=None, float? scales_w=None"};
  std::vector<SourceForm> sources;
  for (size_t d = 0; d < 3; ++d) {
    const std::string name = fmt::format("aten.{}{}{}{}d", prefix, kind.empty() ? "" : multiples[d], kind, d + 1);
    sources.push_back({name + ".vec", fmt::format("(Tensor input, SymInt[]? output_size{}, float[]? scale_factors)", corners)});
    sources.push_back({name + ".default", fmt::format("(Tensor self, SymInt[] output_size{}{})", corners, scales[d]),
                       {{"self", "input"}}, CollectScales});
  }
  return sources;
}

}  // namespace

std::vector<OpSchema> IndexingOps() {
  return {
      Row("embedding",
          {{"aten.embedding.default",
            "(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)"}},
          InferEmbedding, LowerEmbedding, "(Tensor weight, Tensor indices)"),
      Row("index_select", {{"aten.index_select.default", "(Tensor self, int dim, Tensor index)"}}, InferIndexSelect,
          LowerIndexSelect),
      Row("gather", {{"aten.gather.default", "(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)"}},
          InferGather, LowerGather, "(Tensor self, int dim, Tensor index, bool wraps=False)"),
      Row("take", {{"aten.take.default", "(Tensor self, Tensor index)"}}, InferTake, LowerTake),
      Row("index", {{"aten.index.Tensor", "(Tensor self, Tensor?[] indices)"},
                    {"aten._unsafe_index.Tensor", "(Tensor self, Tensor?[] indices)"}},
          InferIndex, LowerIndex),
      Row("flip",
          {{"aten.flip.default", "(Tensor self, int[] dims)"},
           {"aten.fliplr.default", "(Tensor self)", {}, FlipAlong<1>},
           {"aten.flipud.default", "(Tensor self)", {}, FlipAlong<0>}},
          InferFlip, LowerFlip),
      Row("roll", {{"aten.roll.default", "(Tensor self, int[] shifts, int[] dims=[])"}}, InferRoll, LowerRoll),
      Row("diagonal", {{"aten.diagonal.default", "(Tensor self, int offset=0, int dim1=0, int dim2=1)"},
                       {"aten.linalg_diagonal.default", "(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1)", {{"A", "self"}}},
                       {"aten.diagonal_copy.default", "(Tensor self, int offset=0, int dim1=0, int dim2=1)"}},
          InferDiagonal, LowerDiagonal),
      Row("unfold", {{"aten.unfold.default", "(Tensor self, int dimension, int size, int step)"}}, InferUnfold,
          LowerUnfold),
      Row("constant_pad",
          {{"aten.constant_pad_nd.default", "(Tensor self, SymInt[] pad, Scalar value=0)"},
           {"aten.pad.default", "(Tensor self, SymInt[] pad, str mode='constant', float? value=None)", {}, ChoosePadMode}},
          InferPad, LowerConstantPad, "(Tensor self, SymInt[] pad, Scalar? value=0)"),
      Row("reflect_pad", PadSources("reflection"), InferPad, LowerPad, kPad),
      Row("replicate_pad", PadSources("replication"), InferPad, LowerPad, kPad),
      Row("circular_pad", {}, InferPad, LowerPad, kPad),
      Row("upsample_nearest", UpsampleSources("upsample_nearest", "", false), InferUpsample, LowerNearest<false>, kUpsample),
      Row("upsample_nearest_exact", UpsampleSources("_upsample_nearest_exact", "", false), InferUpsample, LowerNearest<true>,
          kUpsample),
      Row("upsample_linear", UpsampleSources("upsample_", "linear", true), InferUpsample, LowerLinear, kUpsample),
      Row("select_scatter", {{"aten.select_scatter.default", "(Tensor self, Tensor src, int dim, SymInt index)"}},
          InferSelectScatter, LowerSelectScatter),
      Row("slice_scatter",
          {{"aten.slice_scatter.default",
            "(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)"}},
          InferSliceScatter, LowerSliceScatter),
      Row("copy", {{"aten.copy.default", "(Tensor self, Tensor src, bool non_blocking=False)"},
                   {"aten.copy_.default", "(Tensor self, Tensor src, bool non_blocking=False)", {}, nullptr, 0}},
          InferSame, LowerCopy, "(Tensor self, Tensor src)"),
      Row("one_hot", {{"aten.one_hot.default", "(Tensor self, int num_classes=-1)"}}, InferOneHot, LowerOneHot),
  };
}

}  // namespace tondar
