#include "engine/types/tensor_view.h"

#include <cstring>

namespace tondar {
namespace {

void CopyDim(const std::byte* from, const Dims& from_strides, std::byte* to, const Dims& to_strides, const Dims& shape,
             size_t dim, size_t item) {
  if (dim == shape.size()) {
    std::memcpy(to, from, item);
    return;
  }
  const int64_t from_step = from_strides[dim] * static_cast<int64_t>(item);
  const int64_t to_step = to_strides[dim] * static_cast<int64_t>(item);
  for (int64_t i = 0; i < shape[dim]; ++i) {
    CopyDim(from + i * from_step, from_strides, to + i * to_step, to_strides, shape, dim + 1, item);
  }
}

}  // namespace

void CopyElements(const TensorView& from, const TensorView& to) {
  TONDAR_CHECK(from.dtype == to.dtype && from.shape == to.shape, "copy between unlike tensors");
  if (from.elements() == 0) return;
  if (from.contiguous() && to.contiguous()) {
    std::memcpy(to.data, from.data, from.size_bytes());
    return;
  }
  CopyDim(from.data, from.strides, to.data, to.strides, from.shape, 0, SizeOf(from.dtype));
}

}  // namespace tondar
