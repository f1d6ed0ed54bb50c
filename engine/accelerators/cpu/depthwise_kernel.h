// depthwise.h as a template; V has internal linkage in each depthwise_<isa>.cc.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_DEPTHWISE_KERNEL_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_DEPTHWISE_KERNEL_H_

#include "engine/accelerators/cpu/depthwise.h"

namespace tondar::cpu {

// kPixels x kVectors sums; the last vector holds `tail` valid channels if not 0.
template <class V, int kPixels, int kVectors, bool kTail>
inline void AccumulateDepthwise(const DepthwiseTile& tile, int64_t at, int tail) {
  typename V::Reg sums[kPixels][kVectors];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p)
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) sums[p][j] = V::Zero();
  const float* weights = tile.weights + at;
  for (int64_t tap = 0; tap < tile.taps; ++tap, weights += tile.weight_stride) {
    typename V::Reg weight[kVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) weight[j] = V::Load(weights + j * V::kLanes);
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) {
      const float* pixel =
          static_cast<const float*>(tile.pixels[tap * tile.tap_stride + p]) + tile.channel + at;
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) {
        const typename V::Reg x = kTail ? V::LoadPartial(pixel, tail) : V::Load(pixel + j * V::kLanes);
        sums[p][j] = V::MultiplyAdd(x, weight[j], sums[p][j]);
      }
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p)
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) V::Store(tile.sums + p * tile.sums_stride + at + j * V::kLanes, sums[p][j]);
}

template <class V, int kPixels>
inline void RunDepthwisePixels(const DepthwiseTile& tile) {
  int64_t at = 0;
  for (; at + 2 * V::kLanes <= tile.channels; at += 2 * V::kLanes)
    AccumulateDepthwise<V, kPixels, 2, false>(tile, at, 0);
  for (; at + V::kLanes <= tile.channels; at += V::kLanes) AccumulateDepthwise<V, kPixels, 1, false>(tile, at, 0);
  if (at < tile.channels) AccumulateDepthwise<V, kPixels, 1, true>(tile, at, static_cast<int>(tile.channels - at));
}

template <class V>
void RunDepthwise(const DepthwiseTile& tile) {
  switch (tile.count) {
    case 1: return RunDepthwisePixels<V, 1>(tile);
    case 2: return RunDepthwisePixels<V, 2>(tile);
    case 3: return RunDepthwisePixels<V, 3>(tile);
    default: return RunDepthwisePixels<V, 4>(tile);
  }
}

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_DEPTHWISE_KERNEL_H_
