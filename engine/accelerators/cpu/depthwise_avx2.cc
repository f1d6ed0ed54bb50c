#include <immintrin.h>

#include "engine/accelerators/cpu/depthwise_kernel.h"

namespace tondar::cpu {
namespace {

struct V {
  using Reg = __m256;
  static constexpr int kLanes = 8;
  static Reg Zero() { return _mm256_setzero_ps(); }
  static Reg Load(const float* p) { return _mm256_loadu_ps(p); }
  static Reg LoadPartial(const float* p, int n) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lanes));
  }
  static Reg MultiplyAdd(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static void Store(float* p, Reg v) { _mm256_storeu_ps(p, v); }
};

}  // namespace

constinit const DepthwiseFunction kDepthwiseAvx2 = &RunDepthwise<V>;

}  // namespace tondar::cpu
