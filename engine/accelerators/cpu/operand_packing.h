// Brings operands into the form that the tiles of gemm.h read: columns in panels, rows contiguous and of one type.
// Host code.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_OPERAND_PACKING_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_OPERAND_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/accelerators/cpu/gemm_driver.h"
#include "engine/base/status.h"
#include "engine/types/dtype.h"

namespace tondar::cpu {

// The tiles that multiply two operands of these types: f32 for f32, f16, bf16; f64 for f64; i16 for 8-bit integers.
// Unimplemented: other types, or a mixture of float and integer.
Result<const GemmFunctions*> ChooseGemm(const GemmTable& table, DType a, DType b);
// The type of the sums that the tiles give: f32, f64 or i32.
DType SumType(const GemmTable& table, const GemmFunctions* functions);

// Columns of a matrix in memory: element (tap, k, n) lies `tap_offsets[tap] + k * k_stride + n * n_stride` elements
// from data.
struct ColumnView {
  const std::byte* data;
  DType dtype;
  std::span<const int64_t> tap_offsets;
  int64_t depth;  // k's per tap
  int64_t k_stride, n_stride;
};

inline int64_t StepsOf(const GemmFunctions& functions, int64_t depth) {
  return (depth + functions.step - 1) / functions.step;
}

// Writes panels [first, last) one after the other, padded with zero columns and, where a step holds several k's, zero
// k's at each tap's end.
void PackColumns(const GemmFunctions& functions, const PanelLayout& layout, const ColumnView& columns, int64_t first,
                 int64_t last, std::byte* packed);

// Writes `count` strided elements as contiguous ones of the type that rows have, then zeros up to `padded` elements.
void PackRow(const GemmFunctions& functions, const std::byte* data, DType dtype, int64_t stride, int64_t count,
             int64_t padded, std::byte* packed);

// True if a row of this type and stride can be read in place.
inline bool RowInPlace(const GemmFunctions& functions, DType dtype, int64_t stride, int64_t depth) {
  return (stride == 1 || depth == 1) && functions.step == 1 &&
         ((dtype == DType::kFloat32 && functions.input_bytes == 4) || (dtype == DType::kFloat64 && functions.input_bytes == 8));
}

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_OPERAND_PACKING_H_
