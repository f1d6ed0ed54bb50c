// Operators that move dims and elements about without looking at them, and those that ask for shapes.
#include <algorithm>

#include "engine/importers/onnx/op_table.h"
#include "engine/ops/inference.h"
#include "onnx.pb.h"

namespace tondar::onnx_format {
namespace {

// Exporters write "to the end" as one of the largest numbers there are; tf2onnx as this one.
constexpr int64_t kFar = 1'000'000'000;

// --- Reshape and its like -------------------------------------------------------------------------------------------

// 0 copies the input's extent, one -1 takes what is left.
void Reshape(OpCall& call, const OpRow&) {
  Shape sizes = call.RequireDims(1, "a shape");
  const Shape from = call.ShapeOf(0);
  for (size_t d = 0; d < sizes.size() && call.Int("allowzero", 0) == 0; ++d) {
    if (!sizes[d].Is(0)) continue;
    if (d >= from.size()) return call.Fail(InvalidArgument("a 0 in dim {} of the shape of a tensor of rank {}", d, from.size()));
    sizes[d] = from[d];
  }
  call.Give(call.Reshape(call.In(0), std::move(sizes)));
}

void Flatten(OpCall& call, const OpRow&) {
  const Shape shape = call.ShapeOf(0);
  const int64_t rank = static_cast<int64_t>(shape.size());
  int64_t axis = call.Int("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return call.Fail(InvalidArgument("axis {} is out of range for rank {}", axis, rank));
  const auto middle = shape.begin() + axis;
  call.Give(call.Reshape(call.In(0), {ElementCount(Shape(shape.begin(), middle)), ElementCount(Shape(middle, shape.end()))}));
}

void Squeeze(OpCall& call, const OpRow&) {
  const std::optional<std::vector<int64_t>> axes = call.IntsOrInput("axes", 1, 13);
  const Shape from = call.ShapeOf(0);
  const std::vector<size_t> places = call.Axes(axes.value_or(std::vector<int64_t>()), from.size());
  Shape shape;
  for (size_t d = 0; d < from.size(); ++d) {
    const bool named = std::find(places.begin(), places.end(), d) != places.end();
    if (named && from[d].IsConstant() && !from[d].Is(1)) return call.Fail(InvalidArgument("dim {} has extent {}, expected 1", d, from[d].constant()));
    if (axes ? !named : !from[d].Is(1)) shape.push_back(from[d]);
  }
  call.Give(call.Reshape(call.In(0), std::move(shape)));
}

void Unsqueeze(OpCall& call, const OpRow&) {
  const std::optional<std::vector<int64_t>> axes = call.IntsOrInput("axes", 1, 13);
  Shape shape = call.ShapeOf(0);
  for (const size_t place : call.Axes(axes.value_or(std::vector<int64_t>()), shape.size() + (axes ? axes->size() : 0))) {
    shape.insert(shape.begin() + static_cast<ptrdiff_t>(place), Dim(1));
  }
  call.Give(call.Reshape(call.In(0), std::move(shape)));
}

void Transpose(OpCall& call, const OpRow&) {
  std::vector<int64_t> perm = call.Ints("perm");
  for (size_t d = call.ShapeOf(0).size(); !call.HasAttribute("perm") && d-- > 0;) perm.push_back(static_cast<int64_t>(d));
  call.Give(call.Permute(call.In(0), std::move(perm)));
}

void Expand(OpCall& call, const OpRow&) {
  const Shape sizes = call.RequireDims(1, "a shape");
  const Result<Shape> shape = BroadcastShapes(call.ShapeOf(0), sizes);
  if (!shape.ok()) return call.Fail(shape.status());
  call.Give(call.Expand(call.In(0), *shape));
}

void Tile(OpCall& call, const OpRow&) {
  call.Give(call.Op("tile", {call.In(0)}, {{"repeats", call.RequireDims(1, "repeats")}}));
}

void Identity(OpCall& call, const OpRow&) { call.Give(call.In(0)); }

// Outside of training nothing is dropped.
void Dropout(OpCall& call, const OpRow&) {
  if (call.Has(2) && call.RequireNumber(2, "training_mode") != 0) return call.Fail(Unimplemented("training mode"));
  call.Give(call.In(0));
  if (!call.Wants(1)) return;
  const DType mask = call.version() < 10 ? call.TypeOf(0) : DType::kBool;
  call.Give(call.Expand(call.Scalar(1, mask), call.ShapeOf(0)), 1);
}

// --- Concat, Split, Slice -------------------------------------------------------------------------------------------

void Concat(OpCall& call, const OpRow&) {
  const size_t axis = call.Axis(call.Int("axis", 0), call.ShapeOf(0).size());
  call.Give(call.Concat(call.InputsFrom(), static_cast<int64_t>(axis)));
}

// Equal parts; the last one may be smaller from operator set 18 on.
Shape EqualParts(OpCall& call, const Dim& extent, int64_t count) {
  const Dim each = Dim::FloorDiv(call.version() >= 18 ? extent + Dim(count - 1) : extent, Dim(count));
  Shape sizes(static_cast<size_t>(count), each);
  if (extent.IsConstant()) sizes.back() = extent - each * Dim(count - 1);
  return sizes;
}

void Split(OpCall& call, const OpRow&) {
  const int64_t count = call.node().output_size();
  const size_t axis = call.Axis(call.Int("axis", 0), call.ShapeOf(0).size());
  if (!call.ok() || call.ShapeOf(0).empty()) return call.Fail(InvalidArgument("a 0-d tensor"));
  Shape sizes;
  if (call.version() >= 13 && call.Has(1)) {
    sizes = call.RequireDims(1, "split");
  } else if (call.version() < 13 && call.HasAttribute("split")) {
    const std::vector<int64_t> given = call.Ints("split");
    sizes.assign(given.begin(), given.end());
  } else {
    sizes = EqualParts(call, call.ShapeOf(0)[axis], call.Int("num_outputs", count));
  }
  if (call.ok() && static_cast<int64_t>(sizes.size()) != count) return call.Fail(InvalidArgument("{} sizes for {} outputs", sizes.size(), count));
  const std::vector<Value*> parts = call.Ops(static_cast<size_t>(count), "split_with_sizes", {call.In(0)},
                                             {{"split_sizes", sizes}, {"dim", Dim(static_cast<int64_t>(axis))}});
  for (size_t i = 0; i < parts.size(); ++i) call.Give(parts[i], i);
}

struct SliceAxis {
  Dim start, end;
  int64_t step = 1;
};

Value* SliceForwards(OpCall& call, Value* x, size_t d, const SliceAxis& axis) {
  const Dim start = axis.start.IsConstant() && axis.start.constant() <= -kFar ? Dim(0) : axis.start;
  const Dim end = axis.end.IsConstant() && axis.end.constant() >= kFar ? Dim(INT64_MAX) : axis.end;
  return call.Op("slice_range", {x}, {{"dim", Dim(static_cast<int64_t>(d))}, {"start", start}, {"end", end}, {"step", Dim(axis.step)}});
}

// The same on the flipped dim, counted from its end.
Value* SliceBackwards(OpCall& call, Value* x, size_t d, const SliceAxis& axis) {
  const Graph& graph = call.graph();
  const Dim last = OpCall::Extent(x, d) - Dim(1);
  auto from_end = [&](const Dim& position) {
    const bool negative = position.RangeOver(graph.symbols).max < 0;
    return BoundedMax(graph, negative ? Dim(-1) - position : last - position, Dim(0));
  };
  const bool to_begin = axis.end.IsConstant() && axis.end.constant() <= -kFar;
  const bool from_last = axis.start.IsConstant() && axis.start.constant() >= kFar;
  Value* flipped = call.Op("flip", {x}, {{"dims", Shape{Dim(static_cast<int64_t>(d))}}});
  return SliceForwards(call, flipped, d,
                       {from_last ? Dim(0) : from_end(axis.start), to_begin ? Dim(INT64_MAX) : from_end(axis.end), -axis.step});
}

void Slice(OpCall& call, const OpRow&) {
  auto list = [&](std::string_view name, size_t i) -> std::optional<Shape> {
    if (call.version() >= 10) return call.Has(i) ? std::optional(call.RequireDims(i, name)) : std::nullopt;
    if (!call.HasAttribute(name)) return std::nullopt;
    const std::vector<int64_t> values = call.Ints(name);
    return Shape(values.begin(), values.end());
  };
  const std::optional<Shape> starts = list("starts", 1), ends = list("ends", 2), axes = list("axes", 3), steps = list("steps", 4);
  const size_t count = starts ? starts->size() : 0;
  if (!call.ok()) return;
  if (!starts || !ends || ends->size() != count || (axes && axes->size() != count) || (steps && steps->size() != count)) {
    return call.Fail(InvalidArgument("starts, ends, axes and steps are not of one length"));
  }
  Value* x = call.In(0);
  for (size_t i = 0; i < count && call.ok(); ++i) {
    const Dim axis = axes ? (*axes)[i] : Dim(static_cast<int64_t>(i)), step = steps ? (*steps)[i] : Dim(1);
    if (!axis.IsConstant() || !step.IsConstant() || step.Is(0)) return call.Fail(InvalidArgument("axes or steps are no numbers, or 0"));
    const size_t d = call.Axis(axis.constant(), OpCall::Rank(x));
    const SliceAxis slice{(*starts)[i], (*ends)[i], step.constant()};
    x = slice.step > 0 ? SliceForwards(call, x, d, slice) : SliceBackwards(call, x, d, slice);
  }
  call.Give(x);
}

// --- Blocks ---------------------------------------------------------------------------------------------------------

void DepthToSpace(OpCall& call, const OpRow&) {
  const Shape s = call.ShapeOf(0);
  const Dim b(call.Int("blocksize", 0));
  if (s.size() != 4 || b.constant() < 1) return call.Fail(InvalidArgument("rank {} or blocksize {}", s.size(), b.constant()));
  const Dim depth = Dim::FloorDiv(s[1], b * b);
  const bool crd = call.String("mode", "DCR") == "CRD";
  Value* split = call.Reshape(call.In(0), crd ? Shape{s[0], depth, b, b, s[2], s[3]} : Shape{s[0], b, b, depth, s[2], s[3]});
  Value* moved = call.Permute(split, crd ? std::vector<int64_t>{0, 1, 4, 2, 5, 3} : std::vector<int64_t>{0, 3, 4, 1, 5, 2});
  call.Give(call.Reshape(moved, {s[0], depth, s[2] * b, s[3] * b}));
}

void SpaceToDepth(OpCall& call, const OpRow&) {
  const Shape s = call.ShapeOf(0);
  const Dim b(call.Int("blocksize", 0));
  if (s.size() != 4 || b.constant() < 1) return call.Fail(InvalidArgument("rank {} or blocksize {}", s.size(), b.constant()));
  const Dim h = Dim::FloorDiv(s[2], b), w = Dim::FloorDiv(s[3], b);
  const bool crd = call.String("mode", "DCR") == "CRD";
  Value* split = call.Reshape(call.In(0), {s[0], s[1], h, b, w, b});
  Value* moved = call.Permute(split, crd ? std::vector<int64_t>{0, 1, 3, 5, 2, 4} : std::vector<int64_t>{0, 3, 5, 1, 2, 4});
  call.Give(call.Reshape(moved, {s[0], s[1] * b * b, h, w}));
}

// --- Shapes as data, and data from shapes ---------------------------------------------------------------------------

void ShapeOf(OpCall& call, const OpRow&) {
  const Shape shape = call.ShapeOf(0);
  const int64_t rank = static_cast<int64_t>(shape.size());
  auto position = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t begin = position(call.Int("start", 0)), end = std::max(begin, position(call.Int("end", rank)));
  call.Give(VectorOf(Shape(shape.begin() + begin, shape.begin() + end)));
}

void SizeOf(OpCall& call, const OpRow&) { call.Give(Content{DType::kInt64, {}, {ElementCount(call.ShapeOf(0))}}); }

std::optional<tondar::Constant> AttributeTensor(OpCall& call, const onnx::AttributeProto& attribute) {
  Result<tondar::Constant> constant = attribute.has_sparse_tensor() ? call.tensors().ReadSparse(attribute.sparse_tensor(), call.name())
                                                                    : call.tensors().Read(attribute.t(), call.name());
  if (constant.ok()) return *std::move(constant);
  call.Fail(constant.status());
  return std::nullopt;
}

Content Numbers(std::span<const double> values, DType dtype, bool scalar) {
  Content content{dtype, scalar ? Dims() : Dims{static_cast<int64_t>(values.size())}, {}};
  for (const double value : values) content.elements.push_back(Scalar::Real(value));
  return content;
}

void Constant(OpCall& call, const OpRow&) {
  for (const std::string_view name : {"value", "sparse_value"}) {
    const onnx::AttributeProto* attribute = call.Attribute(name);
    if (attribute == nullptr) continue;
    if (auto constant = AttributeTensor(call, *attribute)) call.Give(call.Constant(*std::move(constant)));
    return;
  }
  if (call.HasAttribute("value_int")) return call.Give(Content{DType::kInt64, {}, {Dim(call.Int("value_int", 0))}});
  if (call.HasAttribute("value_float")) return call.Give(Numbers(std::vector<double>{call.Float("value_float", 0)}, DType::kFloat32, true));
  if (call.HasAttribute("value_floats")) return call.Give(call.Materialise(Numbers(call.Floats("value_floats"), DType::kFloat32, false)));
  if (call.HasAttribute("value_ints")) {
    const std::vector<int64_t> values = call.Ints("value_ints");
    return call.Give(call.Materialise(VectorOf(Shape(values.begin(), values.end()))));
  }
  call.Fail(Unimplemented("a value that is no tensor of numbers"));
}

void ConstantOfShape(OpCall& call, const OpRow&) {
  const Shape shape = call.RequireDims(0, "a shape");
  if (shape.size() > static_cast<size_t>(kMaxRank)) return call.Fail(Unimplemented("rank {}", shape.size()));
  const onnx::AttributeProto* attribute = call.Attribute("value");
  Value* value = nullptr;
  if (attribute == nullptr) {
    value = call.Scalar(0, DType::kFloat32);
  } else if (auto constant = AttributeTensor(call, *attribute)) {
    if (constant->view.elements() != 1) return call.Fail(InvalidArgument("a value of {} elements", constant->view.elements()));
    constant->view.shape = constant->view.strides = Dims();
    value = call.Constant(*std::move(constant));
  }
  if (!call.ok()) return;
  const std::optional<Content> element = ContentOf(*value);
  const std::optional<int64_t> count = IsConstant(shape) ? CheckedElementCount(Evaluate(shape, {}).span()) : std::nullopt;
  if (element && count && *count <= Content::kMaxElements) {
    return call.Give(Content{value->dtype, Evaluate(shape, {}), std::vector<Scalar>(static_cast<size_t>(*count), element->elements[0])});
  }
  call.Give(call.Expand(value, shape));
}

void Range(OpCall& call, const OpRow&) {
  Attributes bounds{{"dtype", call.TypeOf(0)}};
  static constexpr const char* kNames[] = {"start", "end", "step"};
  for (size_t i = 0; i < 3; ++i) {
    const std::optional<tondar::Shape> whole = call.KnownDims(i);
    if (whole && whole->size() == 1) {
      bounds[kNames[i]] = (*whole)[0];
    } else {
      bounds[kNames[i]] = call.RequireNumber(i, "a bound of a range");
    }
  }
  call.Give(call.Op("arange", {}, std::move(bounds)));
}

// rows + k == columns, over the last two dims.
Value* Diagonal(OpCall& call, const Dim& rows, const Dim& columns, int64_t k) {
  auto range = [&](const Dim& from, const Dim& extent, const Shape& shape) {
    return call.Reshape(call.Op("arange", {}, {{"start", from}, {"end", from + extent}, {"dtype", DType::kInt64}}), shape);
  };
  return call.Op("eq", {range(Dim(k), rows, {rows, Dim(1)}), range(Dim(0), columns, {Dim(1), columns})});
}

void EyeLike(OpCall& call, const OpRow&) {
  const Shape shape = call.ShapeOf(0);
  if (shape.size() != 2) return call.Fail(InvalidArgument("rank {}, expected 2", shape.size()));
  const Result<DType> dtype = call.HasAttribute("dtype") ? DTypeOf(static_cast<int32_t>(call.Int("dtype", 1))) : call.TypeOf(0);
  if (!dtype.ok()) return call.Fail(dtype.status());
  call.Give(call.Cast(Diagonal(call, shape[0], shape[1], call.Int("k", 0)), *dtype));
}

void Trilu(OpCall& call, const OpRow&) {
  const double diagonal = call.Has(1) ? call.RequireNumber(1, "k") : 0;
  call.Give(call.Op(call.Int("upper", 1) != 0 ? "triu" : "tril", {call.In(0)}, {{"diagonal", Dim(static_cast<int64_t>(diagonal))}}));
}

constexpr OpRow kRows[] = {
    {"Concat", Concat, "", 1, kAnyInputs},
    {"Constant", Constant, "", 0, 0},
    {"ConstantOfShape", ConstantOfShape},
    {"DepthToSpace", DepthToSpace},
    {"Dropout", Dropout, "", 1, 3},
    {"Expand", Expand, "", 2, 2},
    {"EyeLike", EyeLike},
    {"Flatten", Flatten},
    {"Identity", Identity},
    {"Range", Range, "", 3, 3},
    {"Reshape", Reshape, "", 2, 2},
    {"Shape", ShapeOf},
    {"Size", SizeOf},
    {"Slice", Slice, "", 1, 5},
    {"SpaceToDepth", SpaceToDepth},
    {"Split", Split, "", 1, 2},
    {"Squeeze", Squeeze, "", 1, 2},
    {"Tile", Tile, "", 2, 2},
    {"Transpose", Transpose},
    {"Trilu", Trilu, "", 1, 2},
    {"Unsqueeze", Unsqueeze, "", 1, 2},
};

}  // namespace

std::span<const OpRow> ShapeOps() { return kRows; }

}  // namespace tondar::onnx_format
