// Reductions along contiguous f32 rows. Only for kernel files, as simd.h.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_ROW_KERNEL_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_ROW_KERNEL_H_

#include "engine/accelerators/cpu/simd.h"

namespace tondar::cpu {
namespace {  // NOLINT: as simd.h

constexpr int kRowLanes = kLanes<float>;

inline VF Greater(VF a, VF b) { return a > b ? a : b; }  // b if a is NaN

// Lanes below n keep their value, others get `fill`.
inline VF KeepLanes(VF v, int64_t n, float fill) {
  VI lane;
  for (int i = 0; i < kRowLanes; ++i) lane[i] = i;
  return lane < static_cast<int32_t>(n) ? v : Splat(fill);
}

// Always by halves, so that the order of additions is the same everywhere.
inline float SumLanes(VF v) {
  float lanes[kRowLanes];
  StoreVector(lanes, v);
#pragma GCC unroll 4
  for (int half = kRowLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

inline float MaxLanes(VF v) {
  float lanes[kRowLanes];
  StoreVector(lanes, v);
#pragma GCC unroll 4
  for (int half = kRowLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
  return lanes[0];
}

// Calls whole(position) for every full vector and partial(position, lanes) for what is left.
template <class Whole, class Partial>
inline void ForVectors(int64_t length, const Whole& whole, const Partial& partial) {
  int64_t i = 0;
  for (; i + kRowLanes <= length; i += kRowLanes) whole(i);
  if (i < length) partial(i, length - i);
}

// Sum of f(vector) over a row, in four chains so that the additions' latency is hidden; lanes past the end add zero.
template <class Function>
inline float SumOver(const float* x, int64_t length, const Function& f) {
  VF sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * kRowLanes <= length; i += 4 * kRowLanes)
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) sums[c] += f(LoadVector(x + i + c * kRowLanes));
  for (; i + kRowLanes <= length; i += kRowLanes) sums[0] += f(LoadVector(x + i));
  if (i < length) sums[1] += KeepLanes(f(LoadPartial(x + i, length - i)), length - i, 0.0f);
  return SumLanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

inline float MaxOver(const float* x, int64_t length) {
  VF most = Splat(-__builtin_inff()), other = most;
  int64_t i = 0;
  for (; i + 2 * kRowLanes <= length; i += 2 * kRowLanes) {
    most = Greater(LoadVector(x + i), most);
    other = Greater(LoadVector(x + i + kRowLanes), other);
  }
  for (; i + kRowLanes <= length; i += kRowLanes) most = Greater(LoadVector(x + i), most);
  if (i < length) other = Greater(KeepLanes(LoadPartial(x + i, length - i), length - i, -__builtin_inff()), other);
  return MaxLanes(Greater(most, other));
}

}  // namespace
}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_ROW_KERNEL_H_
