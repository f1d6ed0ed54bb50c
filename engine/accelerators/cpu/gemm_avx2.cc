// Register tiles for AVX2 with FMA: 6 x 16 in 16 registers.
#include <immintrin.h>

#include "engine/accelerators/cpu/gemm_kernel.h"

namespace tondar::cpu {
namespace {

struct OpF32 {
  using Sum = __m256;
  using Columns = __m256;
  using Input = float;
  using SumElement = float;
  static constexpr int kVectorBytes = 32, kStep = 1;
  static constexpr bool kPrefetch = false;
  static Sum Zero() { return _mm256_setzero_ps(); }
  static Columns Load(const char* p) { return _mm256_loadu_ps(reinterpret_cast<const float*>(p)); }
  static Columns Broadcast(const float* p) { return _mm256_set1_ps(*p); }
  static Sum MultiplyAdd(Columns a, Columns b, Sum c) { return _mm256_fmadd_ps(a, b, c); }
  static void Store(char* p, Sum v) { _mm256_storeu_ps(reinterpret_cast<float*>(p), v); }
};

struct OpF64 {
  using Sum = __m256d;
  using Columns = __m256d;
  using Input = double;
  using SumElement = double;
  static constexpr int kVectorBytes = 32, kStep = 1;
  static constexpr bool kPrefetch = false;
  static Sum Zero() { return _mm256_setzero_pd(); }
  static Columns Load(const char* p) { return _mm256_loadu_pd(reinterpret_cast<const double*>(p)); }
  static Columns Broadcast(const double* p) { return _mm256_set1_pd(*p); }
  static Sum MultiplyAdd(Columns a, Columns b, Sum c) { return _mm256_fmadd_pd(a, b, c); }
  static void Store(char* p, Sum v) { _mm256_storeu_pd(reinterpret_cast<double*>(p), v); }
};

struct OpI16 {
  using Sum = __m256i;
  using Columns = __m256i;
  using Input = int16_t;
  using SumElement = int32_t;
  static constexpr int kVectorBytes = 32, kStep = 2;
  static constexpr bool kPrefetch = false;
  static Sum Zero() { return _mm256_setzero_si256(); }
  static Columns Load(const char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static Columns Broadcast(const int16_t* p) {
    int pair;
    __builtin_memcpy(&pair, p, sizeof(pair));
    return _mm256_set1_epi32(pair);
  }
  static Sum MultiplyAdd(Columns a, Columns b, Sum c) { return _mm256_add_epi32(_mm256_madd_epi16(a, b), c); }
  static void Store(char* p, Sum v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
};

constexpr GemmFunctions kF32 = GemmTiles<OpF32, 6, 2, 12>::Make();
constexpr GemmFunctions kF64 = GemmTiles<OpF64, 6, 2, 12>::Make();
constexpr GemmFunctions kI16 = GemmTiles<OpI16, 6, 2, 12>::Make();

}  // namespace

extern const GemmTable kGemmAvx2;
constinit const GemmTable kGemmAvx2 = {&kF32, &kF64, &kI16};

}  // namespace tondar::cpu
