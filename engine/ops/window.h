// Sliding windows over spatial dims: what convolutions and pools share.
#ifndef TONDAR_ENGINE_OPS_WINDOW_H_
#define TONDAR_ENGINE_OPS_WINDOW_H_

#include <string_view>
#include <vector>

#include "engine/ir/graph.h"
#include "engine/ops/op_schema.h"

namespace tondar {

// One value per spatial dim.
struct SpatialWindow {
  std::vector<int64_t> kernel, stride, dilation;
  std::vector<int64_t> padding, padding_end;  // before the first element and after the last
  bool ceil_mode = false;

  size_t rank() const { return kernel.size(); }
};

// A list argument as `rank` values: one value stands for all, none for `otherwise`.
// InvalidArgument: another length.
Result<std::vector<int64_t>> SpatialList(const Arguments& args, std::string_view name, size_t rank,
                                         const std::vector<int64_t>& otherwise);

// Reads "padding": one value per dim for both sides, one for all, or the begins of all dims and then the ends.
Status ReadPadding(const Arguments& args, SpatialWindow& window);

// Number of windows along a dim of `extent`. With ceil_mode the last one may reach over the end, but not begin there.
Dim WindowCount(const Graph& graph, const SpatialWindow& window, size_t dim, const Dim& extent);

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_WINDOW_H_
