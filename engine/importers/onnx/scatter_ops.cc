// ONNX operators that write at given places. Positions may count from the end, which the engine's scatter does not
// allow, so they are made plain first.
#include "engine/importers/onnx/op_table.h"

namespace tondar::onnx_format {
namespace {

Value* Plain(OpCall& call, Value* index, const Dim& extent) {
  Value* negative = call.Op("lt", {index, nullptr}, {{"other", Dim(0)}});
  return call.Op("where", {negative, call.Op("add", {index, nullptr}, {{"other", extent}}), index});
}

// The engine's name for ONNX's "reduction"; none is a monostate.
Attribute ReductionOf(OpCall& call) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"add", "sum"}, {"mul", "prod"}, {"max", "amax"}, {"min", "amin"}};
  const std::string name = call.String("reduction", "none");
  for (const auto& [onnx_name, own] : kNames) {
    if (onnx_name == name) return std::string(own);
  }
  if (name != "none") call.Fail(Unimplemented("reduction '{}'", name));
  return std::monostate();
}

void ScatterElements(OpCall& call, const OpRow&) {
  const Shape shape = call.ShapeOf(0);
  const size_t axis = call.Axis(call.Int("axis", 0), shape.size());
  if (!call.ok() || shape.empty()) return call.Fail(InvalidArgument("a 0-d tensor"));
  const Dim dim(static_cast<int64_t>(axis));
  call.Give(call.Op("scatter", {call.In(0), Plain(call, call.In(1), shape[axis]), call.In(2)}, {{"dim", dim}, {"reduce", ReductionOf(call)}}));
}

// The last dim of the indices is a position along the first dims of data. These become one, so that a position is a
// number, and all that lies behind them a row.
void ScatterNd(OpCall& call, const OpRow&) {
  const Shape data = call.ShapeOf(0), indices = call.ShapeOf(1);
  if (indices.empty() || !indices.back().IsConstant() || indices.back().constant() > static_cast<int64_t>(data.size())) {
    return call.Fail(Unimplemented("indices of shape {} into {}", ToString(indices), ToString(data)));
  }
  const auto depth = static_cast<size_t>(indices.back().constant());
  Dim places = 1, row = 1, count = 1;
  for (size_t d = 0; d < depth; ++d) places = places * data[d];
  for (size_t d = depth; d < data.size(); ++d) row = row * data[d];
  for (size_t d = 0; d + 1 < indices.size(); ++d) count = count * indices[d];
  Value* columns = call.Reshape(call.In(1), {count, indices.back()});
  Value* place = nullptr;  // row-major over the indexed dims
  for (size_t d = 0; d < depth; ++d) {
    Value* column = Plain(call, call.Slice(columns, 1, Dim(static_cast<int64_t>(d)), Dim(1)), data[d]);
    place = place == nullptr ? column : call.Op("add", {call.Op("mul", {place, nullptr}, {{"other", data[d]}}), column});
  }
  if (place == nullptr) return call.Fail(Unimplemented("indices of no position"));
  Value* flat = call.Reshape(call.In(0), {places, row});
  Value* updates = call.Reshape(call.In(2), {count, row});
  Value* written = call.Op("scatter", {flat, call.Expand(place, {count, row}), updates}, {{"dim", Dim(0)}, {"reduce", ReductionOf(call)}});
  call.Give(call.Reshape(written, data));
}

constexpr OpRow kRows[] = {
    {"Scatter", ScatterElements, "", 3, 3},
    {"ScatterElements", ScatterElements, "", 3, 3},
    {"ScatterND", ScatterNd, "", 3, 3},
};

}  // namespace

std::span<const OpRow> ScatterOps() { return kRows; }

}  // namespace tondar::onnx_format
