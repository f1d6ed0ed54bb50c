// Operators that lay elements out anew: patches, diagonals, grids, blocks, strided windows; and sums along such layouts.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/ops/families.h"
#include "engine/ops/index_plan.h"
#include "engine/ops/inference.h"
#include "engine/ops/ordering.h"
#include "engine/ops/pointwise.h"
#include "engine/ops/power_norm.h"
#include "engine/ops/reduction.h"
#include "engine/ops/scatter.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;
using Handles = std::span<const Handle>;

int ToInt(size_t d) { return static_cast<int>(d); }
int64_t Signed(size_t d) { return static_cast<int64_t>(d); }

Access IdentityAccess(int operand, size_t rank) {
  Access access{.operand = static_cast<int16_t>(operand), .index = {}};
  for (size_t d = 0; d < rank; ++d) access.index.push_back(IndexExpression::LoopDim(ToInt(d)));
  return access;
}

Status InferSame(Node& node) {
  SetOutput(node, 0, node.inputs[0]->dtype, node.inputs[0]->shape);
  return OkStatus();
}

// --- Patches --------------------------------------------------------------------------------------------------------

// Windows over two spatial dims; lists of one value hold for both.
struct Patches {
  int64_t kernel[2], dilation[2], padding[2], stride[2];

  Dim Places(const Dim& extent, size_t s) const {
    const int64_t reach = dilation[s] * (kernel[s] - 1) + 1;
    return Dim::FloorDiv(extent + Dim(2 * padding[s] - reach), Dim(stride[s])) + Dim(1);
  }
};

Result<Patches> ReadPatches(const Node& node) {
  const Arguments args(node);
  Patches patches{};
  const auto read = [&](const char* name, int64_t* to, int64_t lowest) -> Status {
    const std::vector<int64_t> values = args.Ints(name);
    if (values.empty() || values.size() > 2) return InvalidArgument("{} of {} values, expected 2", name, values.size());
    for (size_t s = 0; s < 2; ++s) to[s] = values[std::min(s, values.size() - 1)];
    if (to[0] < lowest || to[1] < lowest) return InvalidArgument("{} below {}", name, lowest);
    return OkStatus();
  };
  TONDAR_RETURN_IF_ERROR(read("kernel_size", patches.kernel, 1));
  TONDAR_RETURN_IF_ERROR(read("dilation", patches.dilation, 1));
  TONDAR_RETURN_IF_ERROR(read("padding", patches.padding, 0));
  TONDAR_RETURN_IF_ERROR(read("stride", patches.stride, 1));
  return patches;
}

Status InferIm2Col(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const Patches patches, ReadPatches(node));
  const Shape& x = node.inputs[0]->shape;
  if (x.size() != 3 && x.size() != 4) return InvalidArgument("input of rank {}, expected 3 or 4", x.size());
  Shape shape(x.begin(), x.end() - 3);
  shape.push_back(x[x.size() - 3] * Dim(patches.kernel[0] * patches.kernel[1]));
  shape.push_back(patches.Places(x[x.size() - 2], 0) * patches.Places(x.back(), 1));
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerIm2Col(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Patches patches, ReadPatches(node));
  Value* x = node.inputs[0];
  const size_t rank = x->shape.size(), first = rank - 2;
  Shape extents(x->shape.begin(), x->shape.end() - 2);
  for (int64_t kernel : patches.kernel) extents.push_back(Dim(kernel));
  for (size_t s = 0; s < 2; ++s) extents.push_back(patches.Places(x->shape[first + s], s));
  Access access = IdentityAccess(0, rank);
  for (size_t s = 0; s < 2; ++s) {
    IndexExpression& index = access.index[first + s];
    index.terms = {{static_cast<int8_t>(first + s), patches.dilation[s]}, {static_cast<int8_t>(first + s + 2), patches.stride[s]}};
    index.offset = Dim(-patches.padding[s]);
    index.guarded = patches.padding[s] > 0;
  }
  LoopBuilder b;
  b.Result(b.Load(std::move(access), x->dtype));
  builder.Replace(0, builder.Reshape(builder.Map(extents, {x}, std::move(b).Build()), node.outputs[0]->shape));
  return OkStatus();
}

Status InferCol2Im(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const Patches patches, ReadPatches(node));
  const Shape& x = node.inputs[0]->shape;
  const Shape size = Arguments(node).Sizes("output_size");
  if (x.size() != 2 && x.size() != 3) return InvalidArgument("input of rank {}, expected 2 or 3", x.size());
  if (size.size() != 2) return InvalidArgument("output_size of {} values, expected 2", size.size());
  const Dim places = patches.Places(size[0], 0) * patches.Places(size[1], 1);
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, x.back(), places, "columns and the places of the window"));
  Shape shape(x.begin(), x.end() - 2);
  shape.push_back(Dim::FloorDiv(x[x.size() - 2], Dim(patches.kernel[0] * patches.kernel[1])));
  shape.insert(shape.end(), size.begin(), size.end());
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

// Patches add up in a plane with its padding, which is cut off.
Status LowerCol2Im(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Patches patches, ReadPatches(node));
  Value* x = node.inputs[0];
  const Shape& out = node.outputs[0]->shape;
  const size_t first = out.size() - 2;
  Shape extents(out.begin(), out.end() - 2), padded = out;
  for (int64_t kernel : patches.kernel) extents.push_back(Dim(kernel));
  for (size_t s = 0; s < 2; ++s) {
    extents.push_back(patches.Places(out[first + s], s));
    padded[first + s] = out[first + s] + Dim(2 * patches.padding[s]);
  }
  Value* columns = builder.Reshape(x, extents);
  Value* sum = EmitScatter(builder, builder.Full(0, x->dtype, padded), {columns}, extents, ScatterOp::kAdd, [&](LoopBuilder& b) {
    ScatterPoint point{b.Load(IdentityAccess(1, extents.size()), x->dtype), {}};
    for (size_t d = 0; d < first; ++d) point.at.push_back(b.Index(ToInt(d)));
    for (size_t s = 0; s < 2; ++s) {
      const auto scaled = [&](size_t dim, int64_t by) { return b.Binary(LoopOp::kMul, b.Index(ToInt(dim)), b.ConstantInteger(by, DType::kInt64)); };
      point.at.push_back(b.Binary(LoopOp::kAdd, scaled(first + s, patches.dilation[s]), scaled(first + s + 2, patches.stride[s])));
    }
    return point;
  });
  for (size_t s = 0; s < 2; ++s) sum = builder.Slice(sum, Signed(first + s), Dim(patches.padding[s]), out[first + s]);
  builder.Replace(0, sum);
  return OkStatus();
}

// --- as_strided -----------------------------------------------------------------------------------------------------

// Whether the elements of x lie row-major in PyTorch's memory: not if a view rearranged them.
bool LiesRowMajor(const Value* x) {
  if (x->IsConstant()) return x->constant->view.contiguous();
  const Node* maker = x->producer;
  if (maker == nullptr || maker->IsStep()) return true;
  if (maker->op == "reshape" || maker->op == "view_as" || maker->op == "flatten" || maker->op == "unsqueeze" || maker->op == "squeeze") {
    return LiesRowMajor(maker->inputs[0]);
  }
  const OpSchema* schema = OpRegistry::Get().Find(maker->op);
  const bool copies = maker->op == "concat" || maker->op == "cat" || maker->op == "stack" || maker->op == "repeat";
  return copies || (schema != nullptr && !schema->is_view && !schema->early);
}

Status InferAsStrided(Node& node) {
  const Arguments args(node);
  const Shape size = args.Sizes("size"), stride = args.Sizes("stride");
  if (size.size() != stride.size()) return InvalidArgument("{} sizes, {} strides", size.size(), stride.size());
  for (const Dim& value : stride) {
    if (!value.IsConstant()) return Unimplemented("as_strided by a dynamic stride");
  }
  if (!LiesRowMajor(node.inputs[0])) return Unimplemented("as_strided of a view whose elements do not lie row-major; take it of a copy");
  SetOutput(node, 0, node.inputs[0]->dtype, size);
  return OkStatus();
}

Status LowerAsStrided(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* flat = builder.Reshape(node.inputs[0], {ElementCount(node.inputs[0]->shape)});
  const std::vector<int64_t> strides = args.Ints("stride");
  IndexExpression index = IndexExpression::At(args.IsNone("storage_offset") ? Dim(0) : args.Size("storage_offset"));
  for (size_t d = 0; d < strides.size(); ++d) {
    if (strides[d] != 0) index.terms.push_back({static_cast<int8_t>(d), strides[d]});
  }
  LoopBuilder b;
  b.Result(b.Load({0, {std::move(index)}, 0}, flat->dtype));
  builder.Replace(0, builder.Map(node.outputs[0]->shape, {flat}, std::move(b).Build()));
  return OkStatus();
}

// --- Diagonals ------------------------------------------------------------------------------------------------------

struct DiagonalPlace {
  size_t dim1, dim2;
  int64_t offset;
};

Result<DiagonalPlace> ReadDiagEmbed(const Node& node) {
  const Arguments args(node);
  const size_t rank = node.inputs[0]->shape.size() + 1;
  TONDAR_ASSIGN_OR_RETURN(const size_t dim1, NormaliseDim(args.Int("dim1"), rank));
  TONDAR_ASSIGN_OR_RETURN(const size_t dim2, NormaliseDim(args.Int("dim2"), rank));
  if (dim1 == dim2) return InvalidArgument("dim1 and dim2 are both {}", dim1);
  return DiagonalPlace{dim1, dim2, args.Int("offset")};
}

Status InferDiagEmbed(Node& node) {
  const Shape& x = node.inputs[0]->shape;
  if (x.empty()) return InvalidArgument("a 0-d tensor is no diagonal");
  TONDAR_ASSIGN_OR_RETURN(const DiagonalPlace place, ReadDiagEmbed(node));
  const Dim side = x.back() + Dim(std::abs(place.offset));
  Shape shape;
  size_t next = 0;
  for (size_t d = 0; d < x.size() + 1; ++d) shape.push_back(d == place.dim1 || d == place.dim2 ? side : x[next++]);
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerDiagEmbed(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  TONDAR_ASSIGN_OR_RETURN(const DiagonalPlace place, ReadDiagEmbed(node));
  const Shape& shape = node.outputs[0]->shape;
  LoopBuilder b;
  Access access{0, {}, 0};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != place.dim1 && d != place.dim2) access.index.push_back(IndexExpression::LoopDim(ToInt(d)));
  }
  IndexExpression along = IndexExpression::LoopDim(ToInt(place.dim1));
  along.offset = Dim(std::min<int64_t>(place.offset, 0));
  along.guarded = place.offset != 0;
  access.index.push_back(std::move(along));
  const Handle distance = b.Binary(LoopOp::kSub, b.Index(ToInt(place.dim2)), b.Index(ToInt(place.dim1)));
  const Handle is_on = b.Binary(LoopOp::kEq, distance, b.ConstantInteger(place.offset, DType::kInt64));
  b.Result(b.Select(is_on, b.Load(std::move(access), x->dtype), b.Constant(0, x->dtype)));
  builder.Replace(0, builder.Map(shape, {x}, std::move(b).Build()));
  return OkStatus();
}

Status ChooseDiag(Node& node, const Attributes&) {
  const size_t rank = node.inputs[0]->shape.size();
  if (rank != 1 && rank != 2) return InvalidArgument("diag of rank {}, expected 1 or 2", rank);
  if (rank == 1) return OkStatus();
  node.op = "diagonal";
  node.attributes["dim1"] = Dim(0);
  node.attributes["dim2"] = Dim(1);
  return OkStatus();
}

// tril_indices, triu_indices: the places on one side of a diagonal, row by row.
std::vector<std::pair<int64_t, int64_t>> TrianglePlaces(const Node& node) {
  const Arguments args(node);
  const bool lower = node.op == "tril_indices";
  const int64_t rows = args.Int("row"), columns = args.Int("col"), offset = args.Int("offset");
  std::vector<std::pair<int64_t, int64_t>> places;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t from = lower ? 0 : std::clamp<int64_t>(row + offset, 0, columns);
    const int64_t end = lower ? std::clamp<int64_t>(row + offset + 1, 0, columns) : columns;
    for (int64_t column = from; column < end; ++column) places.emplace_back(row, column);
  }
  return places;
}

Status InferTriangleIndices(Node& node) {
  const Arguments args(node);
  constexpr int64_t kLargest = int64_t{1} << 24;
  const int64_t rows = args.Int("row"), columns = args.Int("col");
  if (rows < 0 || columns < 0 || (columns > 0 && rows > kLargest / columns)) return InvalidArgument("{} rows of {} columns", rows, columns);
  const DType dtype = args.Type("dtype") == DType::kInvalid ? DType::kInt64 : args.Type("dtype");
  if (!IsInteger(dtype)) return InvalidArgument("indices of {}", Name(dtype));
  SetOutput(node, 0, dtype, {Dim(2), Dim(Signed(TrianglePlaces(node).size()))});
  return OkStatus();
}

Status LowerTriangleIndices(const Node& node, LoweringBuilder& builder) {
  const auto places = TrianglePlaces(node);
  Constant constant = AllocateConstant(node.name, DType::kInt64, {2, Signed(places.size())});
  int64_t* to = constant.view.as<int64_t>();
  for (const auto& [row, column] : places) {
    to[places.size()] = column;
    *to++ = row;
  }
  builder.Replace(0, builder.Cast(builder.graph().AddConstant(std::move(constant)), node.outputs[0]->dtype));
  return OkStatus();
}

// --- Flips and turns ------------------------------------------------------------------------------------------------

// k quarter turns from dims[0] towards dims[1].
struct Turn {
  int64_t quarters;
  size_t from, to;
};

Result<Turn> ReadTurn(const Node& node) {
  const Arguments args(node);
  const std::vector<int64_t> dims = args.Ints("dims");
  if (dims.size() != 2) return InvalidArgument("{} dims, expected 2", dims.size());
  const size_t rank = node.inputs[0]->shape.size();
  TONDAR_ASSIGN_OR_RETURN(const size_t from, NormaliseDim(dims[0], rank));
  TONDAR_ASSIGN_OR_RETURN(const size_t to, NormaliseDim(dims[1], rank));
  if (from == to) return InvalidArgument("both dims are {}", from);
  return Turn{((args.Int("k") % 4) + 4) % 4, from, to};
}

Status InferRot90(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const Turn turn, ReadTurn(node));
  Shape shape = node.inputs[0]->shape;
  if (turn.quarters % 2 == 1) std::swap(shape[turn.from], shape[turn.to]);
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerRot90(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Turn turn, ReadTurn(node));
  Value* x = node.inputs[0];
  Shape flips;
  if (turn.quarters == 1 || turn.quarters == 2) flips.push_back(Dim(Signed(turn.to)));
  if (turn.quarters == 2 || turn.quarters == 3) flips.push_back(Dim(Signed(turn.from)));
  if (!flips.empty()) {
    TONDAR_ASSIGN_OR_RETURN(x, builder.Op("flip", {x}, {{"dims", flips}}));
  }
  builder.Replace(0, turn.quarters % 2 == 1 ? builder.Transpose(x, Signed(turn.from), Signed(turn.to)) : x);
  return OkStatus();
}

// --- Grids and blocks -----------------------------------------------------------------------------------------------

Result<bool> SwapsFirstTwo(const Node& node) {
  const std::string indexing = Arguments(node).String("indexing");
  if (indexing != "ij" && indexing != "xy") return InvalidArgument("indexing '{}', expected ij or xy", indexing);
  return indexing == "xy" && node.inputs.size() > 1;
}

Status InferMeshgrid(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const bool swap, SwapsFirstTwo(node));
  Shape shape;
  for (const Value* x : node.inputs) {
    if (x->shape.size() > 1) return InvalidArgument("a tensor of rank {}, expected 1", x->shape.size());
    shape.push_back(ElementCount(x->shape));
  }
  if (swap) std::swap(shape[0], shape[1]);
  for (size_t i = 0; i < node.inputs.size(); ++i) SetOutput(node, i, node.inputs[i]->dtype, shape);
  return OkStatus();
}

Status LowerMeshgrid(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const bool swap, SwapsFirstTwo(node));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const size_t dim = swap && i < 2 ? 1 - i : i;
    Shape along(node.inputs.size(), Dim(1));
    along[dim] = ElementCount(node.inputs[i]->shape);
    builder.Replace(i, builder.Expand(builder.Reshape(node.inputs[i], along), node.outputs[i]->shape));
  }
  return OkStatus();
}

Status InferCartesianProduct(Node& node) {
  Dim count(1);
  for (const Value* x : node.inputs) {
    if (x->shape.size() != 1 || x->dtype != node.inputs[0]->dtype) return InvalidArgument("tensors must be of rank 1 and of one dtype");
    count = count * x->shape[0];
  }
  const bool single = node.inputs.size() == 1;
  SetOutput(node, 0, node.inputs[0]->dtype, single ? Shape{count} : Shape{count, Dim(Signed(node.inputs.size()))});
  return OkStatus();
}

Status LowerCartesianProduct(const Node& node, LoweringBuilder& builder) {
  if (node.inputs.size() == 1) {
    builder.Replace(0, node.inputs[0]);
    return OkStatus();
  }
  Shape grid;
  for (const Value* x : node.inputs) grid.push_back(x->shape[0]);
  if (grid.size() > static_cast<size_t>(kMaxRank)) return Unimplemented("the product of {} tensors", grid.size());
  std::vector<Value*> columns;
  for (size_t i = 0; i < grid.size(); ++i) {
    Shape along(grid.size(), Dim(1));
    along[i] = grid[i];
    Value* column = builder.Expand(builder.Reshape(node.inputs[i], along), grid);
    columns.push_back(builder.Reshape(column, {node.outputs[0]->shape[0], Dim(1)}));
  }
  builder.Replace(0, builder.Concat(columns, 1));
  return OkStatus();
}

Shape MatrixShape(const Shape& shape) {
  Shape matrix(2 - shape.size(), Dim(1));
  matrix.insert(matrix.end(), shape.begin(), shape.end());
  return matrix;
}

Status InferBlockDiag(Node& node) {
  Dim rows(0), columns(0);
  std::vector<PromotionOperand> operands;
  for (const Value* x : node.inputs) {
    if (x->shape.size() > 2) return InvalidArgument("a tensor of rank {}, expected at most 2", x->shape.size());
    const Shape matrix = MatrixShape(x->shape);
    rows = rows + matrix[0];
    columns = columns + matrix[1];
    operands.push_back({x, nullptr});
  }
  SetOutput(node, 0, ResultType(operands), {rows, columns});
  return OkStatus();
}

Status LowerBlockDiag(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.outputs[0]->dtype;
  const Dim width = node.outputs[0]->shape[1];
  Dim left(0);
  std::vector<Value*> rows;
  for (Value* x : node.inputs) {
    Value* block = builder.Reshape(builder.Cast(x, dtype), MatrixShape(x->shape));
    const Dim height = block->shape[0], end = left + block->shape[1];
    rows.push_back(builder.Concat({builder.Full(0, dtype, {height, left}), block, builder.Full(0, dtype, {height, width - end})}, 1));
    left = end;
  }
  builder.Replace(0, builder.Concat(rows, 0));
  return OkStatus();
}

// --- Differences and areas ------------------------------------------------------------------------------------------

Status InferDiff(Node& node) {
  const Arguments args(node);
  Shape shape = args.Tensor("self")->shape;
  if (shape.empty()) return InvalidArgument("a 0-d tensor");
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(args.Int("dim"), shape.size()));
  if (args.Int("n") < 0) return InvalidArgument("order {} is below 0", args.Int("n"));
  for (const char* name : {"prepend", "append"}) {
    if (const Value* more = args.Tensor(name)) {
      if (more->shape.size() != shape.size()) return InvalidArgument("{} of rank {}, expected {}", name, more->shape.size(), shape.size());
      shape[d] = shape[d] + more->shape[d];
    }
  }
  shape[d] = BoundedMax(*node.graph, shape[d] - Dim(args.Int("n")), Dim(0));
  SetOutput(node, 0, args.Tensor("self")->dtype, std::move(shape));
  return OkStatus();
}

Status LowerDiff(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const DType dtype = node.outputs[0]->dtype;
  const size_t d = *NormaliseDim(args.Int("dim"), node.outputs[0]->shape.size());
  std::vector<Value*> parts;
  for (const char* name : {"prepend", "self", "append"}) {
    if (Value* part = args.Tensor(name)) parts.push_back(builder.Cast(part, dtype));
  }
  Value* x = builder.Concat(parts, Signed(d));
  if (node.outputs[0]->shape[d].Is(0)) {
    builder.Replace(0, builder.Full(0, dtype, node.outputs[0]->shape));
    return OkStatus();
  }
  for (int64_t i = 0; i < args.Int("n"); ++i) {
    const Dim rest = BoundedMax(*node.graph, x->shape[d] - Dim(1), Dim(0));
    x = builder.Map({builder.Slice(x, Signed(d), Dim(1), rest), builder.Slice(x, Signed(d), Dim(0), rest)}, [dtype](LoopBuilder& b, Handles l) {
      if (dtype == DType::kBool) return b.Binary(LoopOp::kLogicalXor, l[0], l[1]);
      return b.Cast(b.Binary(LoopOp::kSub, b.Cast(l[0], ComputeDType(dtype)), b.Cast(l[1], ComputeDType(dtype))), dtype);
    });
  }
  builder.Replace(0, x);
  return OkStatus();
}

// The area under y by trapezoids, over steps of dx or between the places x.
Status InferTrapezoid(Node& node) {
  const Arguments args(node);
  const Value *y = args.Tensor("y"), *x = args.Tensor("x");
  if (y->shape.empty()) return InvalidArgument("a 0-d tensor");
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(args.Int("dim"), y->shape.size()));
  if (x != nullptr && x->shape.size() != 1 && x->shape.size() != y->shape.size()) return Unimplemented("places of rank {} for values of rank {}", x->shape.size(), y->shape.size());
  if (x != nullptr) TONDAR_RETURN_IF_ERROR(AssumeEqual(node, x->shape.size() == 1 ? x->shape[0] : x->shape[d], y->shape[d], "values and their places"));
  const DType dtype = x == nullptr ? ResultType({{y, nullptr}}) : ResultType({{y, nullptr}, {x, nullptr}});
  SetOutput(node, 0, ToFloating(dtype), ReducedShape(y->shape, {d}, false));
  return OkStatus();
}

Status LowerTrapezoid(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *y = args.Tensor("y"), *x = args.Tensor("x");
  const DType dtype = node.outputs[0]->dtype, compute = ComputeDType(dtype);
  const size_t d = *NormaliseDim(args.Int("dim"), y->shape.size());
  const Dim steps = BoundedMax(*node.graph, y->shape[d] - Dim(1), Dim(0));
  const auto ends = [&](Value* value) { return std::vector<Value*>{builder.Slice(value, Signed(d), Dim(0), steps), builder.Slice(value, Signed(d), Dim(1), steps)}; };
  std::vector<Value*> inputs = ends(y);
  if (x != nullptr) {
    Shape along(y->shape.size(), Dim(1));
    along[d] = y->shape[d];
    const std::vector<Value*> places = ends(x->shape.size() == 1 ? builder.Reshape(x, along) : x);
    inputs.insert(inputs.end(), places.begin(), places.end());
  }
  Reduction sum{.op = ReduceOp::kSum, .dims = {d}, .keepdim = false, .accumulator = compute, .dtype = dtype, .body = nullptr, .finish = nullptr};
  sum.body = [&](LoopBuilder& b, Handles l) {
    const Handle twice = b.Binary(LoopOp::kAdd, b.Cast(l[0], compute), b.Cast(l[1], compute));
    const Handle step = x == nullptr ? b.Constant(args.Number("dx"), compute) : b.Binary(LoopOp::kSub, b.Cast(l[3], compute), b.Cast(l[2], compute));
    return b.Binary(LoopOp::kMul, b.Binary(LoopOp::kMul, twice, step), b.Constant(0.5, compute));
  };
  builder.Replace(0, EmitReduction(builder, inputs, sum));
  return OkStatus();
}

// --- isin, histc ----------------------------------------------------------------------------------------------------

Status InferIsIn(Node& node) {
  const Value* x = Arguments(node).Tensor("elements");
  SetOutput(node, 0, DType::kBool, x == nullptr ? Shape{} : x->shape);
  return OkStatus();
}

Status LowerIsIn(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const PromotionOperand x = OperandOf(node, args, "elements"), tests = OperandOf(node, args, "test_elements");
  const DType dtype = ComputeDType(ResultType({x, tests}));
  const bool invert = args.Bool("invert");
  const auto as_value = [&](const char* name, const PromotionOperand& operand) {
    if (operand.tensor != nullptr) return args.Tensor(name);
    return builder.Map({}, [&](LoopBuilder& b, Handles) { return NumberHandle(b, *operand.number, dtype); });
  };
  Value *elements = as_value("elements", x), *others = as_value("test_elements", tests);
  const Shape& shape = elements->shape;
  Shape extents = shape;
  extents.push_back(ElementCount(others->shape));
  LoopBuilder b;
  const Handle element = b.Cast(b.Load(IdentityAccess(0, shape.size()), elements->dtype), dtype);
  const Handle other = b.Cast(b.Load({1, {IndexExpression::LoopDim(ToInt(shape.size()))}, 0}, others->dtype), dtype);
  b.Result(Binary(b, LoopOp::kEq, element, other));
  ReduceStep any{.extents = extents, .reduced = 1, .op = ReduceOp::kAny, .accumulator = DType::kBool, .program = std::move(b).Build(), .finish = {}};
  if (invert) {
    LoopBuilder finish;
    finish.Result(finish.Unary(LoopOp::kLogicalNot, finish.Accumulator(0, DType::kBool)));
    any.finish = std::move(finish).Build();
  }
  builder.Replace(0, builder.Reduce(std::move(any), {elements, builder.Reshape(others, {extents.back()})}, shape, DType::kBool));
  return OkStatus();
}

Status InferHistc(Node& node) {
  const Arguments args(node);
  const DType dtype = node.inputs[0]->dtype;
  if (!IsFloat(dtype)) return Unimplemented("histc of {}", Name(dtype));
  if (args.Int("bins") < 1) return InvalidArgument("{} bins", args.Int("bins"));
  if (args.Number("max") < args.Number("min")) return InvalidArgument("max {} is below min {}", args.Number("max"), args.Number("min"));
  SetOutput(node, 0, dtype, {Dim(args.Int("bins"))});
  return OkStatus();
}

// The range is the data's if both bounds are equal, and one wide on either side if those are equal too.
Status LowerHistc(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* x = builder.Reshape(node.inputs[0], {ElementCount(node.inputs[0]->shape)});
  const DType compute = ComputeDType(x->dtype);
  const int64_t bins = args.Int("bins");
  const double low = args.Number("min"), high = args.Number("max");
  std::vector<Value*> operands = {x};
  for (const bool upper : {false, true}) {
    Value* bound = builder.Scalar(upper ? high : low, compute);
    if (low == high && !x->shape[0].Is(0)) {
      Reduction extremum{.op = upper ? ReduceOp::kMax : ReduceOp::kMin, .dims = {0}, .keepdim = false, .accumulator = compute, .dtype = compute, .body = nullptr, .finish = nullptr};
      bound = EmitReduction(builder, {x}, extremum);
    }
    operands.push_back(bound);
  }
  Value* counts = EmitScatter(builder, builder.Full(0, DType::kInt64, {Dim(bins + 1)}), operands, x->shape, ScatterOp::kAdd, [&](LoopBuilder& b) {
    const Handle value = b.Cast(b.Load(IdentityAccess(1, 1), x->dtype), compute), one = b.Constant(1, compute);
    Handle from = b.Load({2, {}, 0}, compute), to = b.Load({3, {}, 0}, compute);
    const Handle same = b.Binary(LoopOp::kEq, from, to);
    from = b.Select(same, b.Binary(LoopOp::kSub, from, one), from);
    to = b.Select(same, b.Binary(LoopOp::kAdd, to, one), to);
    const Handle inside = b.Binary(LoopOp::kLogicalAnd, b.Binary(LoopOp::kGe, value, from), b.Binary(LoopOp::kLe, value, to));
    const Handle scaled = b.Binary(LoopOp::kMul, b.Binary(LoopOp::kSub, value, from), b.Constant(static_cast<double>(bins), compute));
    const Handle place = b.Binary(LoopOp::kDiv, scaled, b.Binary(LoopOp::kSub, to, from));
    const Handle held = b.Select(inside, place, b.Constant(0, compute));  // what is outside may be no number at all
    const Handle bin = b.Binary(LoopOp::kMin, b.Cast(held, DType::kInt64), b.ConstantInteger(bins - 1, DType::kInt64));
    return ScatterPoint{b.ConstantInteger(1, DType::kInt64), {b.Select(inside, bin, b.ConstantInteger(bins, DType::kInt64))}};
  });
  builder.Replace(0, builder.Cast(builder.Slice(counts, 0, Dim(0), Dim(bins)), x->dtype));
  return OkStatus();
}

// --- take_along_dim, renorm, nanmean --------------------------------------------------------------------------------

// Both broadcast but for the dim; without a dim both are flat.
Status InferTakeAlong(Node& node) {
  const Arguments args(node);
  const Value *x = args.Tensor("self"), *indices = args.Tensor("indices");
  TONDAR_RETURN_IF_ERROR(CheckIndex(indices));
  if (args.IsNone("dim")) {
    SetOutput(node, 0, x->dtype, {ElementCount(indices->shape)});
    return OkStatus();
  }
  if (x->shape.size() != indices->shape.size()) return InvalidArgument("indices of rank {} for a tensor of rank {}", indices->shape.size(), x->shape.size());
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(args.Int("dim"), x->shape.size()));
  Shape like = x->shape;
  if (!like.empty()) like[d] = indices->shape[d];
  TONDAR_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(node, {like, indices->shape}));
  SetOutput(node, 0, x->dtype, std::move(shape));
  return OkStatus();
}

Status LowerTakeAlong(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *x = args.Tensor("self"), *indices = args.Tensor("indices");
  const Shape& shape = node.outputs[0]->shape;
  size_t d = 0;
  if (args.IsNone("dim") || x->shape.empty()) {
    x = builder.Reshape(x, {ElementCount(x->shape)});
    indices = builder.Reshape(indices, {ElementCount(indices->shape)});
  } else {
    d = *NormaliseDim(args.Int("dim"), x->shape.size());
    Shape whole = shape;
    whole[d] = x->shape[d];
    x = builder.Expand(x, whole);
    indices = builder.Expand(indices, shape);
  }
  builder.Replace(0, builder.Reshape(EmitGather(builder, x, d, indices), shape));
  return OkStatus();
}

// Scales what is longer than maxnorm along the other dims down to it.
Status InferRenorm(Node& node) {
  if (node.inputs[0]->shape.size() < 2) return InvalidArgument("rank {} is below 2", node.inputs[0]->shape.size());
  TONDAR_RETURN_IF_ERROR(NormaliseDim(Arguments(node).Int("dim"), node.inputs[0]->shape.size()).status());
  return InferSame(node);
}

Status LowerRenorm(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* x = node.inputs[0];
  const DType dtype = x->dtype, compute = ComputeDType(dtype);
  const size_t dim = *NormaliseDim(args.Int("dim"), x->shape.size());
  const PowerNorm norm(args.Number("p"));
  Reduction plan{.op = norm.op(), .dims = {}, .keepdim = true, .accumulator = compute, .dtype = compute, .body = nullptr, .finish = nullptr};
  for (size_t d = 0; d < x->shape.size(); ++d) {
    if (d != dim) plan.dims.push_back(d);
  }
  plan.body = [&](LoopBuilder& b, Handles l) { return norm.Term(b, b.Cast(l[0], compute)); };
  plan.finish = [&](LoopBuilder& b, Handle total) { return norm.Root(b, total); };
  Value* lengths = EmitReduction(builder, {x}, plan);
  builder.Replace(0, builder.Map({x, lengths}, [&](LoopBuilder& b, Handles l) {
    constexpr double kEpsilon = 1e-7;  // PyTorch's
    const Handle largest = b.Constant(args.Number("maxnorm"), compute), one = b.Constant(1, compute);
    const Handle factor = b.Binary(LoopOp::kDiv, largest, b.Binary(LoopOp::kAdd, l[1], b.Constant(kEpsilon, compute)));
    const Handle scale = b.Select(b.Binary(LoopOp::kGt, l[1], largest), factor, one);
    return b.Cast(b.Binary(LoopOp::kMul, b.Cast(l[0], compute), scale), dtype);
  }));
  return OkStatus();
}

Result<std::vector<size_t>> DimsOf(const Node& node) {
  const Arguments args(node);
  return NormaliseDims(args.Ints("dim"), node.inputs[0]->shape.size(), true);
}

Status InferNanMean(Node& node) {
  const Arguments args(node);
  const DType dtype = args.Type("dtype") == DType::kInvalid ? node.inputs[0]->dtype : args.Type("dtype");
  for (DType each : {node.inputs[0]->dtype, dtype}) {
    if (!IsFloat(each)) return InvalidArgument("nanmean of {}", Name(each));
  }
  TONDAR_ASSIGN_OR_RETURN(const std::vector<size_t> dims, DimsOf(node));
  SetOutput(node, 0, dtype, ReducedShape(node.inputs[0]->shape, dims, args.Bool("keepdim")));
  return OkStatus();
}

Status LowerNanMean(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.outputs[0]->dtype, compute = ComputeDType(dtype);
  TONDAR_ASSIGN_OR_RETURN(const std::vector<size_t> dims, DimsOf(node));
  const auto total = [&](bool count) {
    Reduction sum{.op = ReduceOp::kSum, .dims = dims, .keepdim = Arguments(node).Bool("keepdim"), .accumulator = compute, .dtype = compute, .body = nullptr, .finish = nullptr};
    sum.body = [&, count](LoopBuilder& b, Handles l) {
      const Handle x = b.Cast(b.Cast(l[0], dtype), compute), zero = b.Constant(0, compute);
      return b.Select(b.Unary(LoopOp::kIsNan, x), zero, count ? b.Constant(1, compute) : x);
    };
    return EmitReduction(builder, {node.inputs[0]}, sum);
  };
  builder.Replace(0, builder.Map({total(false), total(true)}, [dtype](LoopBuilder& b, Handles l) {
    return b.Cast(b.Binary(LoopOp::kDiv, l[0], l[1]), dtype);
  }));
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

std::vector<SourceForm> TriangleSources(const std::string& name) {
  return {{"aten." + name + ".default",
           "(int row, int col, int offset=0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)"}};
}

}  // namespace

std::vector<OpSchema> ArrangementOps() {
  const std::string patches = ", int[] kernel_size, int[] dilation, int[] padding, int[] stride)";
  const std::string strided = "(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)";
  const std::string embed = "(Tensor self, int offset=0, int dim1=-2, int dim2=-1)", triangle = "(int row, int col, int offset=0, *, ScalarType? dtype=None)";
  const std::string turn = "(Tensor self, int k=1, int[] dims=[0,1])", list = "(Tensor[] tensors)";
  const std::string difference = "(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)";
  const std::string isin = ", *, bool assume_unique=False, bool invert=False)", nan_mean = "(Tensor self, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)";
  const std::string renorm = "(Tensor self, Scalar p, int dim, Scalar maxnorm)", histc = "(Tensor self, int bins=100, Scalar min=0, Scalar max=0)";
  return {
      Row("im2col", {{"aten.im2col.default", "(Tensor self" + patches}}, InferIm2Col, LowerIm2Col, "(Tensor self" + patches),
      Row("col2im", {{"aten.col2im.default", "(Tensor self, SymInt[] output_size" + patches}}, InferCol2Im, LowerCol2Im,
          "(Tensor self, SymInt[] output_size" + patches),
      Row("as_strided", {{"aten.as_strided.default", strided}, {"aten.as_strided_copy.default", strided}}, InferAsStrided, LowerAsStrided, strided),
      Row("diag_embed", {{"aten.diag_embed.default", embed}, {"aten.diag.default", "(Tensor self, int diagonal=0)", {{"diagonal", "offset"}}, ChooseDiag}},
          InferDiagEmbed, LowerDiagEmbed, embed),
      Row("tril_indices", TriangleSources("tril_indices"), InferTriangleIndices, LowerTriangleIndices, triangle),
      Row("triu_indices", TriangleSources("triu_indices"), InferTriangleIndices, LowerTriangleIndices, triangle),
      Row("rot90", {{"aten.rot90.default", turn}}, InferRot90, LowerRot90, turn),
      Row("meshgrid", {{"aten.meshgrid.default", list}, {"aten.meshgrid.indexing", "(Tensor[] tensors, *, str indexing)"}},
          InferMeshgrid, LowerMeshgrid, "(Tensor[] tensors, *, str indexing='ij')", -1),
      Row("cartesian_prod", {{"aten.cartesian_prod.default", list}}, InferCartesianProduct, LowerCartesianProduct, list),
      Row("block_diag", {{"aten.block_diag.default", list}}, InferBlockDiag, LowerBlockDiag, list),
      Row("diff", {{"aten.diff.default", difference}}, InferDiff, LowerDiff, difference),
      Row("trapezoid",
          {{"aten.trapezoid.dx", "(Tensor y, *, Scalar dx=1, int dim=-1)"},
           {"aten.trapezoid.x", "(Tensor y, Tensor x, *, int dim=-1)"},
           {"aten.trapz.dx", "(Tensor y, *, float dx=1, int dim=-1)"},
           {"aten.trapz.x", "(Tensor y, Tensor x, *, int dim=-1)"}},
          InferTrapezoid, LowerTrapezoid, "(Tensor y, Tensor? x=None, *, Scalar dx=1, int dim=-1)"),
      Row("isin",
          {{"aten.isin.Tensor_Tensor", "(Tensor elements, Tensor test_elements" + isin},
           {"aten.isin.Tensor_Scalar", "(Tensor elements, Scalar test_element" + isin, {{"test_element", "test_elements"}}},
           {"aten.isin.Scalar_Tensor", "(Scalar element, Tensor test_elements" + isin, {{"element", "elements"}}}},
          InferIsIn, LowerIsIn, "(Tensor elements, Tensor test_elements, *, bool invert=False)"),
      Row("histc", {{"aten.histc.default", histc}}, InferHistc, LowerHistc, histc),
      Row("take_along_dim", {{"aten.take_along_dim.default", "(Tensor self, Tensor indices, int? dim=None)"}}, InferTakeAlong,
          LowerTakeAlong, "(Tensor self, Tensor indices, int? dim=None)"),
      Row("renorm", WithInPlace("renorm", renorm), InferRenorm, LowerRenorm, renorm),
      Row("nanmean", {{"aten.nanmean.default", nan_mean}}, InferNanMean, LowerNanMean, nan_mean),
  };
}

}  // namespace tondar
