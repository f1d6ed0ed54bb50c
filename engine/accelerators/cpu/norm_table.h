// NormTable: softmax and normalisation of contiguous f32 rows, one table per instruction set. A row's result does not
// depend on the other rows of a call.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_NORM_TABLE_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_NORM_TABLE_H_

#include <cstdint>

namespace tondar::cpu {

struct NormRows {
  const float* const* x;  // one address per row; `length` elements each
  float* out;
  int64_t out_stride;
  int64_t rows, length;
  const float* weight;  // layer_norm and rms_norm: null for none
  const float* bias;
  float epsilon;
};
using NormFunction = void (*)(const NormRows& rows);

struct NormTable {
  NormFunction functions[4];  // by NormKind
};

extern const NormTable kNormBaseline, kNormAvx2, kNormAvx512;

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_NORM_TABLE_H_
