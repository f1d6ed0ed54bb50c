// Operators that read elements at computed places.
#include "engine/importers/onnx/op_table.h"
#include "engine/ops/inference.h"
#include "onnx.pb.h"

namespace tondar::onnx_format {
namespace {

Dim ToDim(size_t d) { return Dim(static_cast<int64_t>(d)); }

// x[:, ..., index, ...] at `axis`; the index's dims take the axis's place.
Value* IndexAt(OpCall& call, Value* x, size_t axis, Value* index) {
  std::vector<Value*> inputs = {x};
  inputs.resize(axis + 1, nullptr);
  inputs.push_back(index);
  return call.Op("index", std::move(inputs), {}, {1, static_cast<int>(axis + 1)});
}

// Known single positions and runs of them are slices, which cost nothing; null if the indices are none.
Value* GatherAsSlice(OpCall& call, size_t axis) {
  const std::optional<std::vector<int64_t>> indices = call.KnownInts(1);
  const Shape shape = call.ShapeOf(0), index_shape = call.ShapeOf(1);
  if (!indices || indices->empty() || index_shape.size() > 1) return nullptr;
  for (size_t i = 1; i < indices->size(); ++i) {
    if ((*indices)[i] != (*indices)[i - 1] + 1 || (*indices)[i] == 0) return nullptr;
  }
  const Dim start = (*indices)[0] < 0 ? shape[axis] + Dim((*indices)[0]) : Dim((*indices)[0]);
  const Dim length(static_cast<int64_t>(indices->size()));
  if ((shape[axis] - start - length).RangeOver(call.graph().symbols).min < 0 ||
      start.RangeOver(call.graph().symbols).min < 0) {
    return nullptr;  // not certain to be inside: the general form checks when it runs
  }
  Value* slice = call.Slice(call.In(0), axis, start, length);
  if (!index_shape.empty()) return slice;
  Shape squeezed = shape;
  squeezed.erase(squeezed.begin() + static_cast<ptrdiff_t>(axis));
  return call.Reshape(slice, std::move(squeezed));
}

void Gather(OpCall& call, const OpRow&) {
  const Shape shape = call.ShapeOf(0);
  const size_t axis = call.Axis(call.Int("axis", 0), shape.size());
  if (shape.empty()) return call.Fail(InvalidArgument("a 0-d tensor"));
  if (Value* slice = GatherAsSlice(call, axis)) return call.Give(slice);
  call.Give(IndexAt(call, call.In(0), axis, call.In(1)));
}

void GatherElements(OpCall& call, const OpRow&) {
  call.Give(call.Op("gather", {call.In(0), call.In(1)}, {{"dim", Dim(call.Int("axis", 0))}, {"wraps", true}}));
}

// 0, 1, 2 ... along dim `at` of a tensor of `rank`.
Value* Positions(OpCall& call, const Dim& extent, size_t at, size_t rank) {
  Shape shape(rank, Dim(1));
  shape[at] = extent;
  return call.Reshape(call.Op("arange", {}, {{"end", extent}, {"dtype", DType::kInt64}}), std::move(shape));
}

// The last dim of the indices holds a position along each of x's next dims.
void GatherNd(OpCall& call, const OpRow&) {
  const Shape x = call.ShapeOf(0), indices = call.ShapeOf(1);
  const size_t batch = static_cast<size_t>(call.Int("batch_dims", 0));
  if (indices.empty() || !indices.back().IsConstant() || batch >= indices.size()) {
    return call.Fail(InvalidArgument("indices {} with {} batch dims", ToString(indices), batch));
  }
  const size_t count = static_cast<size_t>(indices.back().constant()), rank = indices.size() - 1;
  if (batch + count > x.size()) return call.Fail(InvalidArgument("{} positions for a tensor of rank {}", count, x.size()));
  Shape squeezed(indices.begin(), indices.end() - 1);
  std::vector<Value*> inputs = {call.In(0)};
  for (size_t d = 0; d < batch; ++d) inputs.push_back(Positions(call, x[d], d, rank));
  for (size_t i = 0; i < count; ++i) inputs.push_back(call.Reshape(call.Slice(call.In(1), rank, ToDim(i), Dim(1)), squeezed));
  call.Give(call.Op("index", std::move(inputs), {}, {1, static_cast<int>(batch + count)}));
}

// --- Padding --------------------------------------------------------------------------------------------------------

// The values before and after each dim, as the ONNX list has them: all begins, then all ends.
struct Padding {
  Shape begin, end;
};

std::optional<Padding> ReadPadding(OpCall& call) {
  const size_t rank = call.ShapeOf(0).size();
  Shape pads;
  if (call.version() >= 11) {
    pads = call.RequireDims(1, "pads");
  } else {
    const std::vector<int64_t> given = call.Ints("pads");
    pads.assign(given.begin(), given.end());
  }
  Padding padding{Shape(rank, Dim(0)), Shape(rank, Dim(0))};
  std::vector<int64_t> axes;
  if (call.Has(3)) axes = call.RequireInts(3, "axes");
  for (size_t d = 0; !call.Has(3) && d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  if (!call.ok()) return std::nullopt;
  if (pads.size() != 2 * axes.size()) {
    call.Fail(InvalidArgument("{} pads for {} axes", pads.size(), axes.size()));
    return std::nullopt;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t d = call.Axis(axes[i], rank);
    if (!call.ok()) return std::nullopt;
    padding.begin[d] = pads[i];
    padding.end[d] = pads[axes.size() + i];
  }
  return padding;
}

struct PadMode {
  std::string_view mode, op;
};
constexpr PadMode kPadModes[] = {
    {"constant", "constant_pad"}, {"reflect", "reflect_pad"}, {"edge", "replicate_pad"}, {"wrap", "circular_pad"}};

void Pad(OpCall& call, const OpRow&) {
  const std::optional<Padding> padding = ReadPadding(call);
  if (!padding) return;
  Shape pad;  // last dim first
  for (size_t d = padding->begin.size(); d-- > 0;) pad.insert(pad.end(), {padding->begin[d], padding->end[d]});
  while (!pad.empty() && pad.back().Is(0) && pad[pad.size() - 2].Is(0)) pad.resize(pad.size() - 2);
  const std::string mode = call.String("mode", "constant");
  for (const PadMode& row : kPadModes) {
    if (row.mode != mode) continue;
    Attributes attributes{{"pad", pad}};
    if (mode == "constant") {
      attributes["value"] = call.version() < 11 ? call.Float("value", 0) : call.Has(2) ? call.RequireNumber(2, "a pad value") : 0.0;
    }
    return call.Give(call.Op(row.op, {call.In(0)}, std::move(attributes)));
  }
  call.Fail(InvalidArgument("mode '{}' is unknown", mode));
}

// --- One-hot --------------------------------------------------------------------------------------------------------

// index == class along a new dim `axis` of `classes`; indices below zero count from the end.
Value* Matches(OpCall& call, Value* index, size_t axis, const Dim& classes) {
  Shape shape = OpCall::Extents(index);
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), Dim(1));
  Value* wide = call.Reshape(index, shape);
  Value* wrapped = call.Op("where", {call.Op("lt", {wide, nullptr}, {{"other", Dim(0)}}),
                                     call.Op("add", {wide, nullptr}, {{"other", classes}}), wide});
  return call.Op("eq", {wrapped, Positions(call, classes, axis, shape.size())});
}

void OneHot(OpCall& call, const OpRow&) {
  const Shape depth = call.RequireDims(1, "a depth");
  if (call.ok() && depth.size() != 1) return call.Fail(InvalidArgument("a depth of {} elements", depth.size()));
  const size_t rank = call.ShapeOf(0).size(), axis = call.Axis(call.Int("axis", -1), rank + 1);
  if (!call.ok()) return;
  Value* matches = Matches(call, call.Cast(call.In(0), DType::kInt64), axis, depth[0]);
  auto value = [&](int64_t at) { return call.Reshape(call.Slice(call.In(2), 0, Dim(at), Dim(1)), {}); };
  call.Give(call.Op("where", {matches, value(1), value(0)}));
}

// 1 at the first largest element.
void Hardmax(OpCall& call, const OpRow&) {
  const Shape shape = call.ShapeOf(0);
  const bool flat = call.version() < 13;  // over all dims from the axis on
  const size_t axis = call.Axis(call.Int("axis", flat ? 1 : -1), shape.size());
  if (!call.ok()) return;
  Value* x = call.In(0);
  if (flat) {
    const auto middle = shape.begin() + static_cast<ptrdiff_t>(axis);
    x = call.Reshape(x, {ElementCount(Shape(shape.begin(), middle)), ElementCount(Shape(middle, shape.end()))});
  }
  const size_t along = flat ? 1 : axis;
  Value* position = call.Op("argmax", {x}, {{"dim", Shape{ToDim(along)}}, {"keepdim", false}});
  call.Give(call.Reshape(call.Cast(Matches(call, position, along, OpCall::Extent(x, along)), call.TypeOf(0)), shape));
}

// Reverses the first sequence_lens[b] elements of row b along the time dim.
void ReverseSequence(OpCall& call, const OpRow&) {
  const Shape shape = call.ShapeOf(0);
  const size_t batch = call.Axis(call.Int("batch_axis", 1), shape.size()), time = call.Axis(call.Int("time_axis", 0), shape.size());
  if (!call.ok() || shape.size() < 2 || batch == time) return call.Fail(InvalidArgument("axes {} and {} of rank {}", batch, time, shape.size()));
  Shape row(shape.size(), Dim(1));
  row[batch] = shape[batch];
  Value* length = call.Reshape(call.Cast(call.In(1), DType::kInt64), row);
  Value* at = Positions(call, shape[time], time, shape.size());
  Value* turned = call.Op("sub", {call.Op("sub", {length, nullptr}, {{"other", Dim(1)}}), at});
  Value* index = call.Op("where", {call.Op("lt", {at, length}), turned, at});
  call.Give(call.Op("gather", {call.In(0), call.Expand(index, shape)}, {{"dim", ToDim(time)}}));
}

// With a known condition only: else the result's size depends on data.
void Compress(OpCall& call, const OpRow&) {
  const std::vector<int64_t> condition = call.RequireInts(1, "a condition");
  const Shape shape = call.ShapeOf(0);
  const bool flat = !call.HasAttribute("axis");
  Value* x = flat ? call.Reshape(call.In(0), {ElementCount(shape)}) : call.In(0);
  const size_t axis = flat ? 0 : call.Axis(call.Int("axis", 0), shape.size());
  Shape kept;
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) kept.push_back(ToDim(i));
  }
  if (call.ok()) call.Give(IndexAt(call, x, axis, call.Materialise(VectorOf(kept))));
}

constexpr OpRow kRows[] = {
    {"Compress", Compress, "", 2, 2},
    {"Gather", Gather, "", 2, 2},
    {"GatherElements", GatherElements, "", 2, 2},
    {"GatherND", GatherNd, "", 2, 2},
    {"Hardmax", Hardmax},
    {"OneHot", OneHot, "", 3, 3},
    {"Pad", Pad, "", 1, 4},
    {"ReverseSequence", ReverseSequence, "", 2, 2},
};

}  // namespace

std::span<const OpRow> IndexingOps() { return kRows; }

}  // namespace tondar::onnx_format
