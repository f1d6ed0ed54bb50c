// Operators that only move dims about: the view primitives and all that is spelled by them.
#include <algorithm>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"

namespace tondar {
namespace {

int64_t Signed(size_t d) { return static_cast<int64_t>(d); }

// --- The primitives -------------------------------------------------------------------------------------------------

Status InferPermute(Node& node) {
  const Arguments args(node);
  const Value* x = args.Tensor("self");
  const std::vector<int64_t> dims = args.Ints("dims");
  const size_t rank = x->shape.size();
  if (dims.size() != rank) return InvalidArgument("{} dims for a tensor of rank {}", dims.size(), rank);
  TONDAR_RETURN_IF_ERROR(NormaliseDims(dims, rank, false).status());
  Shape canonical, shape;
  for (int64_t dim : dims) {
    const size_t d = *NormaliseDim(dim, rank);
    canonical.push_back(Signed(d));
    shape.push_back(x->shape[d]);
  }
  node.attributes["dims"] = canonical;
  SetOutput(node, 0, x->dtype, std::move(shape));
  return OkStatus();
}

// Replaces one -1 by what is left of `total` elements.
Result<Shape> ResolveShape(Node& node, Shape shape, const Dim& total) {
  Dim known(1);
  Dim* unknown = nullptr;
  for (Dim& extent : shape) {
    if (!extent.Is(-1)) {
      known = known * extent;
    } else if (unknown != nullptr) {
      return InvalidArgument("shape {} has more than one -1", ToString(shape));
    } else {
      unknown = &extent;
    }
  }
  if (unknown == nullptr) {
    TONDAR_RETURN_IF_ERROR(AssumeEqual(node, total, known, fmt::format("elements of shape {}", ToString(shape))));
    return shape;
  }
  if (known.Is(0)) return InvalidArgument("shape {}: -1 is ambiguous beside a 0", ToString(shape));
  if (total.IsConstant() && known.IsConstant() && total.constant() % known.constant() != 0) {
    return InvalidArgument("shape {} does not hold {} elements", ToString(shape), total.constant());
  }
  *unknown = Dim::FloorDiv(total, known);
  return shape;
}

Status InferReshape(Node& node) {
  const Arguments args(node);
  const Value* x = args.Tensor("self");
  TONDAR_ASSIGN_OR_RETURN(Shape shape, ResolveShape(node, args.Sizes("shape"), ElementCount(x->shape)));
  node.attributes["shape"] = shape;
  SetOutput(node, 0, x->dtype, std::move(shape));
  return OkStatus();
}

Result<Shape> ExpandedShape(Node& node, const Shape& from, Shape to) {
  if (to.size() < from.size()) return InvalidArgument("cannot expand {} to {}", ToString(from), ToString(to));
  const size_t offset = to.size() - from.size();
  for (size_t d = 0; d < to.size(); ++d) {
    if (d < offset) {
      if (to[d].Is(-1)) return InvalidArgument("-1 in a new dim of {}", ToString(to));
    } else if (to[d].Is(-1)) {
      to[d] = from[d - offset];
    } else if (!from[d - offset].Is(1)) {
      TONDAR_RETURN_IF_ERROR(AssumeEqual(node, from[d - offset], to[d],
                                         fmt::format("expand of {} to {}", ToString(from), ToString(to))));
      to[d] = from[d - offset];
    }
  }
  return to;
}

Status InferExpand(Node& node) {
  const Arguments args(node);
  const Value* x = args.Tensor("self");
  TONDAR_ASSIGN_OR_RETURN(Shape shape, ExpandedShape(node, x->shape, args.Sizes("shape")));
  node.attributes["shape"] = shape;
  SetOutput(node, 0, x->dtype, std::move(shape));
  return OkStatus();
}

Status InferSlice(Node& node) {
  const Arguments args(node);
  const Value* x = args.Tensor("self");
  if (x->shape.empty()) return InvalidArgument("a 0-d tensor has no dim to slice");
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(args.Int("dim"), x->shape.size()));
  const Dim start = ClampPosition(*node.graph, args.Size("start"), x->shape[d]), length = args.Size("length");
  if ((x->shape[d] - start - length).RangeOver(node.graph->symbols).max < 0) {
    return InvalidArgument("{} elements from {} do not fit into an extent of {}", length.ToString(node.graph->symbols),
                           start.ToString(node.graph->symbols), x->shape[d].ToString(node.graph->symbols));
  }
  node.attributes["dim"] = Dim(Signed(d));
  node.attributes["start"] = start;
  Shape shape = x->shape;
  shape[d] = length;
  SetOutput(node, 0, x->dtype, std::move(shape));
  return OkStatus();
}

Status InferAlias(Node& node) {
  const Value* x = node.inputs[0];
  SetOutput(node, 0, x->dtype, x->shape);
  return OkStatus();
}

Status LowerAlias(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, node.inputs[0]);
  return OkStatus();
}

// Outside of training these do nothing.
Status RefuseTraining(Node&, const Attributes& arguments) {
  const auto train = arguments.find("train");
  const bool* on = train == arguments.end() ? nullptr : std::get_if<bool>(&train->second);
  if (on != nullptr && *on) return Unimplemented("dropout in training mode; export the model after eval()");
  return OkStatus();
}

// --- Concatenation --------------------------------------------------------------------------------------------------

// PyTorch leaves out 1-d tensors without elements, whatever the others' rank.
bool IsLegacyEmpty(const Value* x) { return x->shape.size() == 1 && x->shape[0].Is(0); }

std::vector<Value*> Joined(const Node& node) {
  std::vector<Value*> xs = Arguments(node).Tensors("tensors");
  if (std::all_of(xs.begin(), xs.end(), IsLegacyEmpty)) return xs;
  std::erase_if(xs, IsLegacyEmpty);
  return xs;
}

DType PromotedDType(const std::vector<Value*>& xs) {
  std::vector<PromotionOperand> operands;
  for (const Value* x : xs) operands.push_back({x, nullptr});
  return ResultType(operands);
}

Status InferConcat(Node& node) {
  if (Arguments(node).Tensors("tensors").empty()) return InvalidArgument("no tensors");
  const std::vector<Value*> xs = Joined(node);
  Shape shape = xs[0]->shape;
  if (shape.empty()) return InvalidArgument("a 0-d tensor cannot be concatenated");
  TONDAR_ASSIGN_OR_RETURN(const size_t dim, NormaliseDim(Arguments(node).Int("dim"), shape.size()));
  for (size_t i = 1; i < xs.size(); ++i) {
    if (xs[i]->shape.size() != shape.size()) {
      return InvalidArgument("ranks differ: {} and {}", ToString(shape), ToString(xs[i]->shape));
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d == dim) {
        shape[d] = shape[d] + xs[i]->shape[d];
      } else {
        TONDAR_RETURN_IF_ERROR(AssumeEqual(node, shape[d], xs[i]->shape[d], fmt::format("dim {} of tensor {}", d, i)));
      }
    }
  }
  node.attributes["dim"] = Dim(Signed(dim));
  SetOutput(node, 0, PromotedDType(Arguments(node).Tensors("tensors")), std::move(shape));
  return OkStatus();
}

Status LowerCat(const Node& node, LoweringBuilder& builder) {
  std::vector<Value*> xs = Joined(node);
  for (Value*& x : xs) x = builder.Cast(x, node.outputs[0]->dtype);
  builder.Replace(0, builder.Concat(xs, Arguments(node).Int("dim")));
  return OkStatus();
}

Status InferStack(Node& node) {
  const std::vector<Value*> xs = Arguments(node).Tensors("tensors");
  if (xs.empty()) return InvalidArgument("no tensors");
  Shape shape = xs[0]->shape;
  for (const Value* x : xs) {
    if (x->shape.size() != shape.size()) {
      return InvalidArgument("ranks differ: {} and {}", ToString(shape), ToString(x->shape));
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      TONDAR_RETURN_IF_ERROR(AssumeEqual(node, shape[d], x->shape[d], "stacked shapes"));
    }
  }
  TONDAR_ASSIGN_OR_RETURN(const size_t dim, NormaliseDim(Arguments(node).Int("dim"), shape.size() + 1));
  shape.insert(shape.begin() + Signed(dim), Dim(Signed(xs.size())));
  node.attributes["dim"] = Dim(Signed(dim));
  SetOutput(node, 0, PromotedDType(xs), std::move(shape));
  return OkStatus();
}

Status LowerStack(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  std::vector<Value*> xs = args.Tensors("tensors");
  for (Value*& x : xs) x = builder.Unsqueeze(builder.Cast(x, node.outputs[0]->dtype), args.Int("dim"));
  builder.Replace(0, builder.Concat(xs, args.Int("dim")));
  return OkStatus();
}

// --- Reshapes -------------------------------------------------------------------------------------------------------

// The lowering of everything whose elements keep their row-major order.
Status LowerAsReshape(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, builder.Reshape(node.inputs[0], node.outputs[0]->shape));
  return OkStatus();
}

Status SetReshaped(Node& node, Shape shape) {
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status InferUnsqueeze(Node& node) {
  Shape shape = node.inputs[0]->shape;
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(Arguments(node).Int("dim"), shape.size() + 1));
  shape.insert(shape.begin() + Signed(d), Dim(1));
  return SetReshaped(node, std::move(shape));
}

Status InferSqueeze(Node& node) {
  const Arguments args(node);
  const Shape& shape = node.inputs[0]->shape;
  TONDAR_ASSIGN_OR_RETURN(const std::vector<size_t> dims,
                          NormaliseDims(args.Ints("dim"), shape.size(), args.IsNone("dim")));
  Shape squeezed;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!shape[d].Is(1) || std::find(dims.begin(), dims.end(), d) == dims.end()) squeezed.push_back(shape[d]);
  }
  return SetReshaped(node, std::move(squeezed));
}

Status InferFlatten(Node& node) {
  const Arguments args(node);
  const Shape& shape = node.inputs[0]->shape;
  TONDAR_ASSIGN_OR_RETURN(const size_t start, NormaliseDim(args.Int("start_dim"), shape.size()));
  TONDAR_ASSIGN_OR_RETURN(const size_t end, NormaliseDim(args.Int("end_dim"), shape.size()));
  if (start > end) return InvalidArgument("start_dim {} comes after end_dim {}", start, end);
  if (shape.empty()) return SetReshaped(node, {Dim(1)});
  Shape flat(shape.begin(), shape.begin() + Signed(start));
  flat.push_back(ElementCount(Shape(shape.begin() + Signed(start), shape.begin() + Signed(end) + 1)));
  flat.insert(flat.end(), shape.begin() + Signed(end) + 1, shape.end());
  return SetReshaped(node, std::move(flat));
}

Status InferUnflatten(Node& node) {
  const Arguments args(node);
  Shape shape = node.inputs[0]->shape;
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(args.Int("dim"), shape.size()));
  TONDAR_ASSIGN_OR_RETURN(const Shape sizes, ResolveShape(node, args.Sizes("sizes"), shape[d]));
  shape.erase(shape.begin() + Signed(d));
  shape.insert(shape.begin() + Signed(d), sizes.begin(), sizes.end());
  return SetReshaped(node, std::move(shape));
}

Status InferViewAs(Node& node) {
  const Shape& shape = node.inputs[1]->shape;
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, ElementCount(node.inputs[0]->shape), ElementCount(shape), "elements"));
  return SetReshaped(node, shape);
}

Status InferExpandAs(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(Shape shape, ExpandedShape(node, node.inputs[0]->shape, node.inputs[1]->shape));
  return SetReshaped(node, std::move(shape));
}

Status LowerExpandAs(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, builder.Expand(node.inputs[0], node.outputs[0]->shape));
  return OkStatus();
}

Status InferBroadcastTensors(Node& node) {
  std::vector<Shape> shapes;
  for (const Value* x : node.inputs) shapes.push_back(x->shape);
  TONDAR_ASSIGN_OR_RETURN(const Shape shape, BroadcastAll(node, shapes));
  for (size_t i = 0; i < node.inputs.size(); ++i) SetOutput(node, i, node.inputs[i]->dtype, shape);
  return OkStatus();
}

Status LowerBroadcastTensors(const Node& node, LoweringBuilder& builder) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    builder.Replace(i, builder.Expand(node.inputs[i], node.outputs[i]->shape));
  }
  return OkStatus();
}

// --- Permutations ---------------------------------------------------------------------------------------------------

std::vector<int64_t> Identity(size_t rank) {
  std::vector<int64_t> dims(rank);
  for (size_t d = 0; d < rank; ++d) dims[d] = Signed(d);
  return dims;
}

using Permutation = Result<std::vector<int64_t>> (*)(const Node& node);

template <Permutation permutation>
Status InferPermuted(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, permutation(node));
  Shape shape;
  for (int64_t d : dims) shape.push_back(node.inputs[0]->shape[static_cast<size_t>(d)]);
  return SetReshaped(node, std::move(shape));
}

template <Permutation permutation>
Status LowerPermuted(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(std::vector<int64_t> dims, permutation(node));
  builder.Replace(0, builder.Permute(node.inputs[0], std::move(dims)));
  return OkStatus();
}

Result<std::vector<int64_t>> TransposeDims(const Node& node) {
  const Arguments args(node);
  std::vector<int64_t> dims = Identity(node.inputs[0]->shape.size());
  TONDAR_ASSIGN_OR_RETURN(const size_t a, NormaliseDim(args.Int("dim0"), dims.size()));
  TONDAR_ASSIGN_OR_RETURN(const size_t b, NormaliseDim(args.Int("dim1"), dims.size()));
  if (!dims.empty()) std::swap(dims[a], dims[b]);
  return dims;
}

Result<std::vector<int64_t>> ReversedDims(const Node& node) {
  std::vector<int64_t> dims = Identity(node.inputs[0]->shape.size());
  std::reverse(dims.begin(), dims.end());
  return dims;
}

Result<std::vector<int64_t>> MatrixTransposeDims(const Node& node) {
  std::vector<int64_t> dims = Identity(node.inputs[0]->shape.size());
  if (dims.size() < 2) return InvalidArgument("rank {} is below 2", dims.size());
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims;
}

Result<std::vector<int64_t>> MoveDims(const Node& node) {
  const Arguments args(node);
  const size_t rank = node.inputs[0]->shape.size();
  const std::vector<int64_t> from = args.Ints("source"), to = args.Ints("destination");
  if (from.size() != to.size()) return InvalidArgument("{} sources, {} destinations", from.size(), to.size());
  TONDAR_RETURN_IF_ERROR(NormaliseDims(from, rank, false).status());
  TONDAR_RETURN_IF_ERROR(NormaliseDims(to, rank, false).status());
  std::vector<int64_t> dims(rank, -1), rest = Identity(rank);
  for (size_t i = 0; i < from.size() && rank > 0; ++i) {
    const int64_t source = Signed(*NormaliseDim(from[i], rank));
    dims[*NormaliseDim(to[i], rank)] = source;
    std::erase(rest, source);
  }
  size_t next = 0;
  for (int64_t& d : dims) d = d < 0 ? rest[next++] : d;
  return dims;
}

// --- Parts ----------------------------------------------------------------------------------------------------------

struct Part {
  size_t dim;
  Dim start, length;
  int64_t step = 1;
};

Result<Part> SelectPart(const Node& node) {
  const Arguments args(node);
  const Value* x = args.Tensor("self");
  if (x->shape.empty()) return InvalidArgument("a 0-d tensor has no dim to select from");
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(args.Int("dim"), x->shape.size()));
  Dim index = args.Size("index");
  const Dim& extent = x->shape[d];
  if (index.RangeOver(node.graph->symbols).max < 0) index = index + extent;
  if (index.RangeOver(node.graph->symbols).max < 0 || (extent - index).RangeOver(node.graph->symbols).max <= 0) {
    return InvalidArgument("index {} is out of range for an extent of {}",
                           args.Size("index").ToString(node.graph->symbols), extent.ToString(node.graph->symbols));
  }
  return Part{d, index, Dim(1)};
}

Status InferSelect(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const Part part, SelectPart(node));
  Shape shape = node.inputs[0]->shape;
  shape.erase(shape.begin() + Signed(part.dim));
  return SetReshaped(node, std::move(shape));
}

Status LowerSelect(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Part part, SelectPart(node));
  Value* slice = builder.Slice(node.inputs[0], Signed(part.dim), part.start, part.length);
  builder.Replace(0, builder.Reshape(slice, node.outputs[0]->shape));
  return OkStatus();
}

Result<Part> RangePart(const Node& node) {
  const Arguments args(node);
  const Value* x = args.Tensor("self");
  if (x->shape.empty()) return InvalidArgument("a 0-d tensor has no dim to slice");
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(args.Int("dim"), x->shape.size()));
  const int64_t step = args.Int("step");
  if (step < 1) return InvalidArgument("step {} is below 1", step);
  const Graph& graph = *node.graph;
  const Dim start = args.IsNone("start") ? Dim(0) : ClampPosition(graph, args.Size("start"), x->shape[d]);
  const Dim end = args.IsNone("end") ? x->shape[d] : ClampPosition(graph, args.Size("end"), x->shape[d]);
  const Dim length = BoundedMax(graph, Dim::FloorDiv(end - start + Dim(step - 1), Dim(step)), Dim(0));
  return Part{d, start, length, step};
}

Status InferSliceRange(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const Part part, RangePart(node));
  Shape shape = node.inputs[0]->shape;
  shape[part.dim] = part.length;
  return SetReshaped(node, std::move(shape));
}

Status LowerSliceRange(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Part part, RangePart(node));
  builder.Replace(0, builder.Slice(node.inputs[0], Signed(part.dim), part.start, part.length, part.step));
  return OkStatus();
}

// The extents along `dim` that a splitting operator cuts into.
using Cut = Result<std::vector<Dim>> (*)(const Node& node, const Dim& extent);

template <Cut cut, bool squeeze>
Status InferParts(Node& node) {
  const Shape& shape = node.inputs[0]->shape;
  if (shape.empty()) return InvalidArgument("a 0-d tensor cannot be split");
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(Arguments(node).Int("dim"), shape.size()));
  TONDAR_ASSIGN_OR_RETURN(const std::vector<Dim> lengths, cut(node, shape[d]));
  for (size_t i = 0; i < lengths.size(); ++i) {
    Shape part = shape;
    part[d] = lengths[i];
    if (squeeze) part.erase(part.begin() + Signed(d));
    SetOutput(node, i, node.inputs[0]->dtype, std::move(part));
  }
  return OkStatus();
}

template <Cut cut>
Status LowerParts(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(Arguments(node).Int("dim"), x->shape.size()));
  TONDAR_ASSIGN_OR_RETURN(const std::vector<Dim> lengths, cut(node, x->shape[d]));
  Dim start(0);
  for (size_t i = 0; i < lengths.size(); ++i) {
    Value* slice = builder.Slice(x, Signed(d), start, lengths[i]);
    builder.Replace(i, builder.Reshape(slice, node.outputs[i]->shape));
    start = start + lengths[i];
  }
  return OkStatus();
}

Result<std::vector<Dim>> UnbindCut(const Node&, const Dim& extent) {
  if (!extent.IsConstant()) return Unimplemented("unbind along a dynamic dim");
  return std::vector<Dim>(static_cast<size_t>(extent.constant()), Dim(1));
}

// Pieces of `size`, the last one smaller.
Result<std::vector<Dim>> EvenCut(const Dim& extent, const Dim& size) {
  const Dim count = Dim::FloorDiv(extent + size - Dim(1), size);
  if (extent.Is(0)) return std::vector<Dim>{Dim(0)};
  if (!count.IsConstant()) return Unimplemented("the number of pieces depends on a dynamic dim");
  std::vector<Dim> lengths(static_cast<size_t>(count.constant()), size);
  lengths.back() = extent - size * Dim(count.constant() - 1);
  return lengths;
}

Result<std::vector<Dim>> SplitCut(const Node& node, const Dim& extent) {
  const Dim size = Arguments(node).Size("split_size");
  if (size.Is(0) && !extent.Is(0)) return InvalidArgument("split_size is 0");
  return EvenCut(extent, size);
}

Result<std::vector<Dim>> ChunkCut(const Node& node, const Dim& extent) {
  const int64_t chunks = Arguments(node).Int("chunks");
  if (chunks < 1) return InvalidArgument("{} chunks", chunks);
  if (extent.IsConstant()) {
    return EvenCut(extent, Dim(std::max<int64_t>((extent.constant() + chunks - 1) / chunks, extent.Is(0) ? 0 : 1)));
  }
  if (!Dim::Mod(extent, Dim(chunks)).Is(0)) return Unimplemented("chunks of a dynamic dim that may not divide");
  return std::vector<Dim>(static_cast<size_t>(chunks), Dim::FloorDiv(extent, Dim(chunks)));
}

Result<std::vector<Dim>> SizesCut(const Node& node, const Dim& extent) {
  const Shape sizes = Arguments(node).Sizes("split_sizes");
  Dim sum(0);
  for (const Dim& size : sizes) sum = sum + size;
  if (sum.IsConstant() && extent.IsConstant() && !(sum == extent)) {
    return InvalidArgument("split_sizes sum to {}, expected {}", sum.constant(), extent.constant());
  }
  return sizes;
}

Result<std::vector<Dim>> SectionsCut(const Node& node, const Dim& extent) {
  const int64_t sections = Arguments(node).Int("sections");
  if (sections < 1) return InvalidArgument("{} sections", sections);
  if (!extent.IsConstant()) return Unimplemented("tensor_split along a dynamic dim");
  std::vector<Dim> lengths(static_cast<size_t>(sections), Dim(extent.constant() / sections));
  for (int64_t i = 0; i < extent.constant() % sections; ++i) lengths[static_cast<size_t>(i)] = extent.constant() / sections + 1;
  return lengths;
}

Result<std::vector<Dim>> IndicesCut(const Node& node, const Dim& extent) {
  std::vector<Dim> lengths;
  Dim start(0);
  for (const Dim& index : Arguments(node).Sizes("indices")) {
    const Dim end = ClampPosition(*node.graph, index, extent);
    if ((end - start).RangeOver(node.graph->symbols).max < 0) return Unimplemented("tensor_split by falling indices");
    lengths.push_back(end - start);
    start = end;
  }
  lengths.push_back(extent - start);
  return lengths;
}

// --- Repetition -----------------------------------------------------------------------------------------------------

Shape WithRank(const Shape& shape, size_t rank) {
  Shape wide(rank - std::min(rank, shape.size()), Dim(1));
  wide.insert(wide.end(), shape.begin(), shape.end());
  return wide;
}

// The repeats of every dim of the result, and the input's shape at that rank.
struct Repetition {
  Shape shape, repeats;
};

Result<Repetition> RepeatsOf(const Node& node) {
  const Shape& shape = node.inputs[0]->shape;
  Shape repeats = Arguments(node).Sizes("repeats");
  if (node.op == "repeat" && repeats.size() < shape.size()) {
    return InvalidArgument("{} repeats for a tensor of rank {}", repeats.size(), shape.size());
  }
  const size_t rank = std::max(repeats.size(), shape.size());
  return Repetition{WithRank(shape, rank), WithRank(repeats, rank)};
}

Status InferRepeat(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const Repetition repetition, RepeatsOf(node));
  Shape shape;
  for (size_t d = 0; d < repetition.shape.size(); ++d) shape.push_back(repetition.shape[d] * repetition.repeats[d]);
  return SetReshaped(node, std::move(shape));
}

Status LowerRepeat(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Repetition repetition, RepeatsOf(node));
  Shape split, wide;
  for (size_t d = 0; d < repetition.shape.size(); ++d) {
    if (!repetition.repeats[d].Is(1)) {
      split.push_back(Dim(1));
      wide.push_back(repetition.repeats[d]);
    }
    split.push_back(repetition.shape[d]);
    wide.push_back(repetition.shape[d]);
  }
  if (wide.size() > static_cast<size_t>(kMaxRank)) return Unimplemented("too many repeated dims");
  Value* repeated = builder.Expand(builder.Reshape(node.inputs[0], split), wide);
  builder.Replace(0, builder.Reshape(repeated, node.outputs[0]->shape));
  return OkStatus();
}

Result<size_t> InterleaveDim(const Node& node) {
  const Arguments args(node);
  if (args.IsNone("dim")) return size_t{0};
  return NormaliseDim(args.Int("dim"), node.inputs[0]->shape.size());
}

Shape InterleaveShape(const Node& node) {  // before repeating
  const Shape& shape = node.inputs[0]->shape;
  return Arguments(node).IsNone("dim") || shape.empty() ? Shape{ElementCount(shape)} : shape;
}

Status InferRepeatInterleave(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const size_t d, InterleaveDim(node));
  Shape shape = InterleaveShape(node);
  shape[d] = shape[d] * Arguments(node).Size("repeats");
  return SetReshaped(node, std::move(shape));
}

Status LowerRepeatInterleave(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const size_t d, InterleaveDim(node));
  Shape split = InterleaveShape(node);
  split.insert(split.begin() + Signed(d) + 1, Dim(1));
  Shape wide = split;
  wide[d + 1] = Arguments(node).Size("repeats");
  Value* repeated = builder.Expand(builder.Reshape(node.inputs[0], split), wide);
  builder.Replace(0, builder.Reshape(repeated, node.outputs[0]->shape));
  return OkStatus();
}

// --- Shuffles: reshape, permute, reshape ----------------------------------------------------------------------------

struct Shuffle {
  Shape split;
  std::vector<int64_t> dims;
  Shape result;
};

template <Result<Shuffle> (*shuffle)(const Node&)>
Status InferShuffle(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(Shuffle plan, shuffle(node));
  return SetReshaped(node, std::move(plan.result));
}

template <Result<Shuffle> (*shuffle)(const Node&)>
Status LowerShuffle(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Shuffle plan, shuffle(node));
  Value* permuted = builder.Permute(builder.Reshape(node.inputs[0], plan.split), plan.dims);
  builder.Replace(0, builder.Reshape(permuted, plan.result));
  return OkStatus();
}

// Dims before the last `tail`, put in front of a shuffle that is written without them.
Shuffle WithBatch(const Shape& shape, size_t tail, Shuffle plan) {
  const int64_t batch = Signed(shape.size() - tail);
  for (int64_t& d : plan.dims) d += batch;
  std::vector<int64_t> dims = Identity(static_cast<size_t>(batch));
  plan.dims.insert(plan.dims.begin(), dims.begin(), dims.end());
  plan.split.insert(plan.split.begin(), shape.begin(), shape.begin() + batch);
  plan.result.insert(plan.result.begin(), shape.begin(), shape.begin() + batch);
  return plan;
}

Result<Shuffle> PixelShuffle(const Node& node) {
  const Shape& shape = node.inputs[0]->shape;
  if (shape.size() < 3) return InvalidArgument("rank {} is below 3", shape.size());
  const Dim r(Arguments(node).Int("upscale_factor")), &c = shape[shape.size() - 3], &h = shape[shape.size() - 2],
            &w = shape.back();
  const Dim out = Dim::FloorDiv(c, r * r);
  return WithBatch(shape, 3, {{out, r, r, h, w}, {0, 3, 1, 4, 2}, {out, h * r, w * r}});
}

Result<Shuffle> PixelUnshuffle(const Node& node) {
  const Shape& shape = node.inputs[0]->shape;
  if (shape.size() < 3) return InvalidArgument("rank {} is below 3", shape.size());
  const Dim r(Arguments(node).Int("downscale_factor")), &c = shape[shape.size() - 3];
  const Dim h = Dim::FloorDiv(shape[shape.size() - 2], r), w = Dim::FloorDiv(shape.back(), r);
  return WithBatch(shape, 3, {{c, h, r, w, r}, {0, 2, 4, 1, 3}, {c * r * r, h, w}});
}

Result<Shuffle> ChannelShuffle(const Node& node) {
  const Shape& shape = node.inputs[0]->shape;
  if (shape.size() < 3) return InvalidArgument("rank {} is below 3", shape.size());
  const Dim groups(Arguments(node).Int("groups"));
  Shuffle plan{{shape[0], groups, Dim::FloorDiv(shape[1], groups)}, {0, 2, 1}, shape};
  for (size_t d = 2; d < shape.size(); ++d) {
    plan.split.push_back(shape[d]);
    plan.dims.push_back(Signed(d) + 1);
  }
  return plan;
}

OpSchema Early(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
               Status (*lower)(const Node&, LoweringBuilder&), std::string signature = "", int results = 1) {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.results = results;
  schema.infer = infer;
  schema.lower = lower;
  schema.early = true;
  return schema;
}

OpSchema Primitive(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&), std::string signature) {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.infer = infer;
  schema.is_view = true;
  return schema;
}

template <Permutation permutation>
OpSchema Permuting(std::string name, std::vector<SourceForm> sources, std::string signature = "") {
  return Early(std::move(name), std::move(sources), InferPermuted<permutation>, LowerPermuted<permutation>,
               std::move(signature));
}

template <Cut cut, bool squeeze = false>
OpSchema Cutting(std::string name, std::vector<SourceForm> sources, std::string signature = "") {
  return Early(std::move(name), std::move(sources), InferParts<cut, squeeze>, LowerParts<cut>, std::move(signature), -1);
}

template <Result<Shuffle> (*shuffle)(const Node&)>
OpSchema Shuffling(std::string name, std::vector<SourceForm> sources) {
  return Early(std::move(name), std::move(sources), InferShuffle<shuffle>, LowerShuffle<shuffle>);
}

const std::vector<SourceForm>& IdentitySources() {
  static const std::vector<SourceForm> kSources = {
      {"aten.alias.default", "(Tensor self)"},
      {"aten.clone.default", "(Tensor self, *, MemoryFormat? memory_format=None)"},
      {"aten.contiguous.default", "(Tensor self, *, MemoryFormat memory_format=contiguous_format)"},
      {"aten.detach.default", "(Tensor self)"},
      {"aten.detach_.default", "(Tensor self)"},
      {"aten.lift_fresh_copy.default", "(Tensor self)"},
      {"aten.lift_fresh.default", "(Tensor self)"},
      {"aten.positive.default", "(Tensor self)"},
      {"aten.resolve_conj.default", "(Tensor self)"},
      {"aten.resolve_neg.default", "(Tensor self)"},
      {"aten.dropout.default", "(Tensor input, float p, bool train)", {{"input", "self"}}, RefuseTraining},
      {"aten.dropout_.default", "(Tensor self, float p, bool train)", {}, RefuseTraining, 0},
      {"aten.feature_dropout.default", "(Tensor input, float p, bool train)", {{"input", "self"}}, RefuseTraining},
      {"aten.alpha_dropout.default", "(Tensor input, float p, bool train)", {{"input", "self"}}, RefuseTraining},
  };
  return kSources;
}

const char kCatSignature[] = "(Tensor[] tensors, int dim=0)";

}  // namespace

std::vector<OpSchema> ViewOps() {
  return {
      Primitive("permute", {{"aten.permute.default", "(Tensor self, int[] dims)"}}, InferPermute, ""),
      Primitive("reshape",
                {{"aten.reshape.default", "(Tensor self, SymInt[] shape)"},
                 {"aten.view.default", "(Tensor self, SymInt[] size)", {{"size", "shape"}}},
                 {"aten._unsafe_view.default", "(Tensor self, SymInt[] size)", {{"size", "shape"}}},
                 {"aten._reshape_alias.default", "(Tensor self, SymInt[] size, SymInt[] stride)", {{"size", "shape"}}}},
                InferReshape, "(Tensor self, SymInt[] shape)"),
      Primitive("expand",
                {{"aten.expand.default", "(Tensor self, SymInt[] size, *, bool implicit=False)", {{"size", "shape"}}},
                 {"aten.broadcast_to.default", "(Tensor self, SymInt[] size)", {{"size", "shape"}}}},
                InferExpand, "(Tensor self, SymInt[] shape)"),
      Primitive("slice", {{"aten.narrow.default", "(Tensor self, int dim, SymInt start, SymInt length)"}}, InferSlice,
                "(Tensor self, int dim, SymInt start, SymInt length, int step=1)"),
      Primitive("concat", {}, InferConcat, kCatSignature),
      Early("alias", IdentitySources(), InferAlias, LowerAlias),
      Early("cat",
            {{"aten.cat.default", kCatSignature}, {"aten.concat.default", ""}, {"aten.concatenate.default", ""}},
            InferConcat, LowerCat),
      Early("stack", {{"aten.stack.default", kCatSignature}}, InferStack, LowerStack),
      Early("unsqueeze", {{"aten.unsqueeze.default", "(Tensor self, int dim)"}}, InferUnsqueeze, LowerAsReshape),
      Early("squeeze",
            {{"aten.squeeze.dims", "(Tensor self, int[] dim)"},
             {"aten.squeeze.dim", "(Tensor self, int dim)"},
             {"aten.squeeze.default", "(Tensor self)"}},
            InferSqueeze, LowerAsReshape, "(Tensor self, int[]? dim=None)"),
      Early("flatten", {{"aten.flatten.using_ints", "(Tensor self, int start_dim=0, int end_dim=-1)"}, {"aten.ravel.default", ""}}, InferFlatten,
            LowerAsReshape),
      Early("unflatten", {{"aten.unflatten.int", "(Tensor self, int dim, SymInt[] sizes)"}}, InferUnflatten,
            LowerAsReshape),
      Early("view_as", {{"aten.view_as.default", "(Tensor self, Tensor other)"}, {"aten.reshape_as.default", ""}},
            InferViewAs, LowerAsReshape),
      Early("expand_as", {{"aten.expand_as.default", "(Tensor self, Tensor other)"}}, InferExpandAs, LowerExpandAs),
      Early("broadcast_tensors", {{"aten.broadcast_tensors.default", "(Tensor[] tensors)"}}, InferBroadcastTensors,
            LowerBroadcastTensors, "", -1),
      Permuting<TransposeDims>("transpose",
                               {{"aten.transpose.int", "(Tensor self, int dim0, int dim1)"},
                                {"aten.swapdims.default", ""},
                                {"aten.swapaxes.default",
                                 "(Tensor self, int axis0, int axis1)",
                                 {{"axis0", "dim0"}, {"axis1", "dim1"}}}}),
      Permuting<ReversedDims>("t", {{"aten.t.default", "(Tensor self)"}, {"aten.numpy_T.default", ""}}),
      Permuting<MatrixTransposeDims>("matrix_transpose", {{"aten.mT.default", "(Tensor self)"},
                                                          {"aten.mH.default", ""},
                                                          {"aten.adjoint.default", ""}}),
      Permuting<MoveDims>("movedim", {{"aten.movedim.intlist", "(Tensor self, int[] source, int[] destination)"},
                                      {"aten.movedim.int", "(Tensor self, int source, int destination)"},
                                      {"aten.moveaxis.intlist", ""},
                                      {"aten.moveaxis.int", "(Tensor self, int source, int destination)"}}),
      Early("select", {{"aten.select.int", "(Tensor self, int dim, SymInt index)"}}, InferSelect, LowerSelect),
      Early("slice_range",
            {{"aten.slice.Tensor",
              "(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)"}},
            InferSliceRange, LowerSliceRange),
      Cutting<UnbindCut, true>("unbind", {{"aten.unbind.int", "(Tensor self, int dim=0)"}}),
      Cutting<SplitCut>("split", {{"aten.split.Tensor", "(Tensor self, SymInt split_size, int dim=0)"}}),
      Cutting<SizesCut>("split_with_sizes",
                        {{"aten.split_with_sizes.default", "(Tensor self, SymInt[] split_sizes, int dim=0)"},
                         {"aten.split.sizes", "(Tensor self, SymInt[] split_size, int dim=0)", {{"split_size", "split_sizes"}}}}),
      Cutting<ChunkCut>("chunk", {{"aten.chunk.default", "(Tensor self, int chunks, int dim=0)"}}),
      Cutting<SectionsCut>("tensor_split_sections",
                           {{"aten.tensor_split.sections", "(Tensor self, int sections, int dim=0)"}}),
      Cutting<IndicesCut>("tensor_split_indices",
                          {{"aten.tensor_split.indices", "(Tensor self, SymInt[] indices, int dim=0)"}}),
      Early("repeat", {{"aten.repeat.default", "(Tensor self, SymInt[] repeats)"}}, InferRepeat, LowerRepeat),
      Early("tile", {{"aten.tile.default", "(Tensor self, SymInt[] dims)", {{"dims", "repeats"}}}}, InferRepeat,
            LowerRepeat, "(Tensor self, SymInt[] repeats)"),
      Early("repeat_interleave",
            {{"aten.repeat_interleave.self_int",
              "(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None)"}},
            InferRepeatInterleave, LowerRepeatInterleave, "(Tensor self, SymInt repeats, int? dim=None)"),
      Shuffling<PixelShuffle>("pixel_shuffle", {{"aten.pixel_shuffle.default", "(Tensor self, int upscale_factor)"}}),
      Shuffling<PixelUnshuffle>("pixel_unshuffle",
                                {{"aten.pixel_unshuffle.default", "(Tensor self, int downscale_factor)"}}),
      Shuffling<ChannelShuffle>("channel_shuffle", {{"aten.channel_shuffle.default", "(Tensor self, SymInt groups)"},
                                                    {"aten.native_channel_shuffle.default", ""}}),
  };
}

}  // namespace tondar
