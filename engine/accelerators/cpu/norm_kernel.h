// norm_table.h for one instruction set. Only for kernel files, as simd.h.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_NORM_KERNEL_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_NORM_KERNEL_H_

#include "engine/accelerators/cpu/norm_table.h"
#include "engine/accelerators/cpu/row_kernel.h"
#include "engine/accelerators/cpu/vector_math.h"

namespace tondar::cpu {
namespace {  // NOLINT: as simd.h

// out[i] = f(x[i], position) along a row.
template <class Function>
inline void MapRow(const float* x, float* out, int64_t length, const Function& f) {
  ForVectors(
      length, [&](int64_t i) { StoreVector(out + i, f(LoadVector(x + i), i, int64_t{kRowLanes})); },
      [&](int64_t i, int64_t n) { StorePartial(out + i, f(LoadPartial(x + i, n), i, n), n); });
}

inline VF LoadUpTo(const float* p, int64_t n) { return n == kRowLanes ? LoadVector(p) : LoadPartial(p, n); }

void SoftmaxRows(const NormRows& rows) {
  for (int64_t r = 0; r < rows.rows; ++r) {
    const float* x = rows.x[r];
    float* out = rows.out + r * rows.out_stride;
    const float most = MaxOver(x, rows.length);
    VF sums{};
    MapRow(x, out, rows.length, [&](VF v, int64_t, int64_t n) {
      const VF e = Exp(v - most);
      sums += n == kRowLanes ? e : KeepLanes(e, n, 0.0f);
      return e;
    });
    const float scale = 1.0f / SumLanes(sums);
    MapRow(out, out, rows.length, [&](VF v, int64_t, int64_t) { return v * scale; });
  }
}

void LogSoftmaxRows(const NormRows& rows) {
  for (int64_t r = 0; r < rows.rows; ++r) {
    const float* x = rows.x[r];
    const float most = MaxOver(x, rows.length);
    const float sum = SumOver(x, rows.length, [&](VF v) { return Exp(v - most); });
    const float log_sum = static_cast<float>(__builtin_log(static_cast<double>(sum)));
    MapRow(x, rows.out + r * rows.out_stride, rows.length,
           [&](VF v, int64_t, int64_t) { return (v - most) - log_sum; });
  }
}

// out = (x - shift) * scale [* weight] [+ bias].
inline void ScaleRow(const NormRows& rows, int64_t r, float shift, float scale) {
  const float *x = rows.x[r], *weight = rows.weight, *bias = rows.bias;
  float* out = rows.out + r * rows.out_stride;
  const auto plain = [&](VF v) { return (v - shift) * scale; };
  if (weight != nullptr && bias != nullptr) {
    MapRow(x, out, rows.length, [&](VF v, int64_t i, int64_t n) {
      return Fma(plain(v), LoadUpTo(weight + i, n), LoadUpTo(bias + i, n));
    });
  } else if (weight != nullptr) {
    MapRow(x, out, rows.length, [&](VF v, int64_t i, int64_t n) { return plain(v) * LoadUpTo(weight + i, n); });
  } else if (bias != nullptr) {
    MapRow(x, out, rows.length, [&](VF v, int64_t i, int64_t n) { return plain(v) + LoadUpTo(bias + i, n); });
  } else {
    MapRow(x, out, rows.length, [&](VF v, int64_t, int64_t) { return plain(v); });
  }
}

void LayerNormRows(const NormRows& rows) {
  const float count = static_cast<float>(rows.length);
  for (int64_t r = 0; r < rows.rows; ++r) {
    const float mean = SumOver(rows.x[r], rows.length, [](VF v) { return v; }) / count;
    // The second pass, over a row that is in L1, keeps the variance exact where the mean is large.
    const float variance = SumOver(rows.x[r], rows.length, [&](VF v) { return (v - mean) * (v - mean); }) / count;
    ScaleRow(rows, r, mean, 1.0f / __builtin_sqrtf(variance + rows.epsilon));
  }
}

void RmsNormRows(const NormRows& rows) {
  const float count = static_cast<float>(rows.length);
  for (int64_t r = 0; r < rows.rows; ++r) {
    const float square = SumOver(rows.x[r], rows.length, [](VF v) { return v * v; }) / count;
    ScaleRow(rows, r, 0.0f, 1.0f / __builtin_sqrtf(square + rows.epsilon));
  }
}

constexpr NormTable kNormFunctions = {{&SoftmaxRows, &LogSoftmaxRows, &LayerNormRows, &RmsNormRows}};

}  // namespace
}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_NORM_KERNEL_H_
