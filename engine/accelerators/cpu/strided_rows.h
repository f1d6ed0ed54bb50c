// StridedRows: offsets of the elements of a strided index space, numbered row-major.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_STRIDED_ROWS_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_STRIDED_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "engine/types/shape.h"

namespace tondar::cpu {

// Value type. Neighbouring dims that step evenly are merged, so most tensors become one dim.
class StridedRows {
 public:
  StridedRows() = default;
  // Dims `dims` of a tensor, outermost first.
  StridedRows(const Dims& extents, const Dims& strides, const Dims& dims) {
    for (int64_t d : dims) Append(extents[static_cast<size_t>(d)], strides[static_cast<size_t>(d)]);
  }

  void Append(int64_t extent, int64_t stride) {
    count_ *= extent;
    if (extent == 1) return;
    if (!extents_.empty()) {
      const size_t last = extents_.size() - 1;
      if (strides_[last] == stride * extent) {
        extents_[last] *= extent;
        strides_[last] = stride;
        return;
      }
    }
    extents_.push_back(extent);
    strides_.push_back(stride);
  }

  int64_t count() const { return count_; }
  // True if row i lies at i * stride().
  bool even() const { return extents_.rank() <= 1; }
  int64_t stride() const { return extents_.empty() ? 0 : strides_[0]; }

  int64_t Offset(int64_t row) const {
    int64_t offset = 0;
    for (size_t d = extents_.size(); d-- > 1;) {
      offset += row % extents_[d] * strides_[d];
      row /= extents_[d];
    }
    return extents_.empty() ? 0 : offset + row * strides_[0];
  }

  // Calls visit(position in [0, rows), offset) for rows [first, first + rows).
  template <class Visit>
  void ForEach(int64_t first, int64_t rows, Visit&& visit) const {
    const int64_t inner = extents_.empty() ? 1 : extents_[extents_.size() - 1];
    const int64_t step = extents_.empty() ? 0 : strides_[extents_.size() - 1];
    for (int64_t i = 0; i < rows;) {
      const int64_t run = even() ? rows - i : std::min(rows - i, inner - (first + i) % inner);
      const int64_t offset = Offset(first + i);
      for (int64_t j = 0; j < run; ++j) visit(i + j, offset + j * step);
      i += run;
    }
  }

 private:
  Dims extents_, strides_;
  int64_t count_ = 1;
};

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_STRIDED_ROWS_H_
