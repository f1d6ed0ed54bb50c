// Register tiles for x86-64-v2 (SSE4); no fused multiply-add. 4 x 8 in 16 registers.
#include <immintrin.h>

#include "engine/accelerators/cpu/gemm_kernel.h"

namespace tondar::cpu {
namespace {

struct OpF32 {
  using Sum = __m128;
  using Columns = __m128;
  using Input = float;
  using SumElement = float;
  static constexpr int kVectorBytes = 16, kStep = 1;
  static constexpr bool kPrefetch = false;
  static Sum Zero() { return _mm_setzero_ps(); }
  static Columns Load(const char* p) { return _mm_loadu_ps(reinterpret_cast<const float*>(p)); }
  static Columns Broadcast(const float* p) { return _mm_set1_ps(*p); }
  static Sum MultiplyAdd(Columns a, Columns b, Sum c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
  static void Store(char* p, Sum v) { _mm_storeu_ps(reinterpret_cast<float*>(p), v); }
};

struct OpF64 {
  using Sum = __m128d;
  using Columns = __m128d;
  using Input = double;
  using SumElement = double;
  static constexpr int kVectorBytes = 16, kStep = 1;
  static constexpr bool kPrefetch = false;
  static Sum Zero() { return _mm_setzero_pd(); }
  static Columns Load(const char* p) { return _mm_loadu_pd(reinterpret_cast<const double*>(p)); }
  static Columns Broadcast(const double* p) { return _mm_set1_pd(*p); }
  static Sum MultiplyAdd(Columns a, Columns b, Sum c) { return _mm_add_pd(_mm_mul_pd(a, b), c); }
  static void Store(char* p, Sum v) { _mm_storeu_pd(reinterpret_cast<double*>(p), v); }
};

struct OpI16 {
  using Sum = __m128i;
  using Columns = __m128i;
  using Input = int16_t;
  using SumElement = int32_t;
  static constexpr int kVectorBytes = 16, kStep = 2;
  static constexpr bool kPrefetch = false;
  static Sum Zero() { return _mm_setzero_si128(); }
  static Columns Load(const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
  static Columns Broadcast(const int16_t* p) {
    int pair;
    __builtin_memcpy(&pair, p, sizeof(pair));
    return _mm_set1_epi32(pair);
  }
  static Sum MultiplyAdd(Columns a, Columns b, Sum c) { return _mm_add_epi32(_mm_madd_epi16(a, b), c); }
  static void Store(char* p, Sum v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
};

constexpr GemmFunctions kF32 = GemmTiles<OpF32, 4, 2, 8>::Make();
constexpr GemmFunctions kF64 = GemmTiles<OpF64, 4, 2, 8>::Make();
constexpr GemmFunctions kI16 = GemmTiles<OpI16, 4, 2, 8>::Make();

}  // namespace

extern const GemmTable kGemmBaseline;
constinit const GemmTable kGemmBaseline = {&kF32, &kF64, &kI16};

}  // namespace tondar::cpu
