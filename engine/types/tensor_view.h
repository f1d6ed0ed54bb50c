// TensorView: borrowed, typed, strided memory.
#ifndef TONDAR_ENGINE_TYPES_TENSOR_VIEW_H_
#define TONDAR_ENGINE_TYPES_TENSOR_VIEW_H_

#include <cstddef>
#include <span>

#include "engine/types/dtype.h"
#include "engine/types/shape.h"

namespace tondar {

// A view of memory that somebody else owns; never frees. Value type.
struct TensorView {
  std::byte* data = nullptr;  // address of element [0, 0, ...]; host memory unless said otherwise
  DType dtype = DType::kInvalid;
  Dims shape;
  Dims strides;  // in elements; may be 0 or negative

  static TensorView Contiguous(void* data, DType dtype, const Dims& shape) {
    return {static_cast<std::byte*>(data), dtype, shape, ContiguousStrides(shape)};
  }

  int64_t elements() const { return ElementCount(shape); }
  size_t size_bytes() const { return static_cast<size_t>(elements()) * SizeOf(dtype); }
  bool contiguous() const { return IsContiguous(shape, strides); }
  // The bytes of a contiguous view.
  std::span<std::byte> bytes() const {
    TONDAR_CHECK(contiguous(), "bytes() of a strided view {}", ToString(shape));
    return {data, size_bytes()};
  }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

// Copies elements between host views of equal shape and dtype; any strides. Neither may overlap the other.
void CopyElements(const TensorView& from, const TensorView& to);

}  // namespace tondar

#endif  // TONDAR_ENGINE_TYPES_TENSOR_VIEW_H_
