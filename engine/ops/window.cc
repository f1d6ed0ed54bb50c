#include "engine/ops/window.h"

#include "engine/ops/inference.h"

namespace tondar {

Result<std::vector<int64_t>> SpatialList(const Arguments& args, std::string_view name, size_t rank,
                                         const std::vector<int64_t>& otherwise) {
  std::vector<int64_t> values = args.Ints(name);
  if (values.empty()) return otherwise;
  if (values.size() == 1) values.assign(rank, values[0]);
  if (values.size() != rank) return InvalidArgument("{} has {} values for {} spatial dims", name, values.size(), rank);
  return values;
}

Status ReadPadding(const Arguments& args, SpatialWindow& window) {
  const size_t rank = window.rank();
  const std::vector<int64_t> padding = args.Ints("padding");
  if (padding.size() == 2 * rank && rank > 0) {
    window.padding.assign(padding.begin(), padding.begin() + static_cast<ptrdiff_t>(rank));
    window.padding_end.assign(padding.begin() + static_cast<ptrdiff_t>(rank), padding.end());
    return OkStatus();
  }
  TONDAR_ASSIGN_OR_RETURN(window.padding, SpatialList(args, "padding", rank, std::vector<int64_t>(rank, 0)));
  window.padding_end = window.padding;
  return OkStatus();
}

Dim WindowCount(const Graph& graph, const SpatialWindow& window, size_t dim, const Dim& extent) {
  const int64_t padding = window.padding[dim], stride = window.stride[dim];
  const Dim room = extent + Dim(padding + window.padding_end[dim] - window.dilation[dim] * (window.kernel[dim] - 1) - 1);
  if (!window.ceil_mode) return Dim::FloorDiv(room, Dim(stride)) + Dim(1);
  const Dim count = Dim::FloorDiv(room + Dim(stride - 1), Dim(stride)) + Dim(1);
  return BoundedMin(graph, count, Dim::FloorDiv(extent + Dim(padding - 1), Dim(stride)) + Dim(1));
}

}  // namespace tondar
