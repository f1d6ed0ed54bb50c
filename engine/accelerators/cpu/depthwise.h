// Depthwise convolution of a few pixels: vectors run over channels.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_DEPTHWISE_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_DEPTHWISE_H_

#include <cstdint>

namespace tondar::cpu {

inline constexpr int kDepthwisePixels = 4;

// sums[p][c] = sum over taps of pixel(tap, p)[c] * weights[tap][c], in ascending tap order, f32.
struct DepthwiseTile {
  const void* const* pixels;  // [tap * tap_stride + p], each the first of `channels` floats
  int64_t tap_stride, taps;
  int64_t channel;            // first channel to compute, of the pixels
  const float* weights;       // [tap][weight_stride], from `channel` on; whole vectors may be read
  int64_t weight_stride;
  int64_t channels;
  int count;                  // pixels: 1 to kDepthwisePixels
  float* sums;                // whole vectors are stored
  int64_t sums_stride;
};
using DepthwiseFunction = void (*)(const DepthwiseTile& tile);

extern const DepthwiseFunction kDepthwiseBaseline, kDepthwiseAvx2, kDepthwiseAvx512;

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_DEPTHWISE_H_
