#include <immintrin.h>

#include "engine/accelerators/cpu/depthwise_kernel.h"

namespace tondar::cpu {
namespace {

struct V {
  using Reg = __m128;
  static constexpr int kLanes = 4;
  static Reg Zero() { return _mm_setzero_ps(); }
  static Reg Load(const float* p) { return _mm_loadu_ps(p); }
  static Reg LoadPartial(const float* p, int n) {
    float buffer[4] = {};
    for (int i = 0; i < n; ++i) buffer[i] = p[i];
    return _mm_loadu_ps(buffer);
  }
  static Reg MultiplyAdd(Reg a, Reg b, Reg c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
  static void Store(float* p, Reg v) { _mm_storeu_ps(p, v); }
};

}  // namespace

constinit const DepthwiseFunction kDepthwiseBaseline = &RunDepthwise<V>;

}  // namespace tondar::cpu
