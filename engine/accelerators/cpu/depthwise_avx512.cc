#include <immintrin.h>

#include "engine/accelerators/cpu/depthwise_kernel.h"

namespace tondar::cpu {
namespace {

struct V {
  using Reg = __m512;
  static constexpr int kLanes = 16;
  static Reg Zero() { return _mm512_setzero_ps(); }
  static Reg Load(const float* p) { return _mm512_loadu_ps(p); }
  static Reg LoadPartial(const float* p, int n) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p);
  }
  static Reg MultiplyAdd(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  static void Store(float* p, Reg v) { _mm512_storeu_ps(p, v); }
};

}  // namespace

constinit const DepthwiseFunction kDepthwiseAvx512 = &RunDepthwise<V>;

}  // namespace tondar::cpu
