// attention_table.h for one instruction set. Only for kernel files, as simd.h.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_ATTENTION_KERNEL_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_ATTENTION_KERNEL_H_

#include "engine/accelerators/cpu/attention_table.h"
#include "engine/accelerators/cpu/row_kernel.h"
#include "engine/accelerators/cpu/vector_math.h"

namespace tondar::cpu {
namespace {  // NOLINT: as simd.h

// Scales, masks and finds the maximum. The scratch row is padded to whole vectors, so the last one is stored whole.
inline float ScaleScores(const ScoreRow& row) {
  const VF lowest = Splat(-__builtin_inff());
  VF most = lowest;
  const VF scale = Splat(row.scale);
  const auto scaled = [&](int64_t i) { return LoadVector(row.scores + i) * scale; };
  ForVectors(
      row.keys,
      [&](int64_t i) {
        VF v = scaled(i);
        if (row.mask != nullptr) v += LoadVector(row.mask + i);
        StoreVector(row.scores + i, v);
        most = Greater(v, most);
      },
      [&](int64_t i, int64_t n) {
        VF v = scaled(i);
        if (row.mask != nullptr) v += LoadPartial(row.mask + i, n);
        v = KeepLanes(v, n, -__builtin_inff());
        StoreVector(row.scores + i, v);
        most = Greater(v, most);
      });
  return MaxLanes(most);
}

float SoftmaxScores(const ScoreRow& row) {
  const float most = ScaleScores(row);
  const int64_t vectors = (row.keys + kRowLanes - 1) / kRowLanes;
  const bool visible = most > -__builtin_inff();
  VF sums{};
  for (int64_t i = 0; i < vectors * kRowLanes; i += kRowLanes) {
    const VF x = LoadVector(row.scores + i);
    // The maximum passes over NaN, which must reach the result; e^-inf is exactly 0.
    VF e = visible ? Exp(x - most) : (x == x ? VF{} : x);
    StoreVector(row.scores + i, e);
    sums += e;
  }
  for (int64_t i = vectors * kRowLanes; i < row.padded_keys; ++i) row.scores[i] = 0;
  const float sum = SumLanes(sums);
  return sum == 0 ? 0.0f : 1.0f / sum;
}

void ScaleInto(const float* in, float factor, int64_t count, float* out) {
  ForVectors(
      count, [&](int64_t i) { StoreVector(out + i, LoadVector(in + i) * factor); },
      [&](int64_t i, int64_t n) { StorePartial(out + i, LoadPartial(in + i, n) * factor, n); });
}

void BoolMask(const uint8_t* visible, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = visible[i] != 0 ? 0.0f : -__builtin_inff();
}

constexpr AttentionTable kAttentionFunctions = {&SoftmaxScores, &ScaleInto, &BoolMask};

}  // namespace
}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_ATTENTION_KERNEL_H_
