// Register tiles for AVX-512: 9 x 48 and 14 x 32 in 32 registers.
#include <immintrin.h>

#include "engine/accelerators/cpu/gemm_kernel.h"

namespace tondar::cpu {
namespace {

struct OpF32 {
  using Sum = __m512;
  using Columns = __m512;
  using Input = float;
  using SumElement = float;
  static constexpr int kVectorBytes = 64, kStep = 1;
  static constexpr bool kPrefetch = true;
  static Sum Zero() { return _mm512_setzero_ps(); }
  static Columns Load(const char* p) { return _mm512_loadu_ps(reinterpret_cast<const float*>(p)); }
  static Columns Broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static Sum MultiplyAdd(Columns a, Columns b, Sum c) { return _mm512_fmadd_ps(a, b, c); }
  static void Store(char* p, Sum v) { _mm512_storeu_ps(reinterpret_cast<float*>(p), v); }
};

struct OpF64 {
  using Sum = __m512d;
  using Columns = __m512d;
  using Input = double;
  using SumElement = double;
  static constexpr int kVectorBytes = 64, kStep = 1;
  static constexpr bool kPrefetch = true;
  static Sum Zero() { return _mm512_setzero_pd(); }
  static Columns Load(const char* p) { return _mm512_loadu_pd(reinterpret_cast<const double*>(p)); }
  static Columns Broadcast(const double* p) { return _mm512_set1_pd(*p); }
  static Sum MultiplyAdd(Columns a, Columns b, Sum c) { return _mm512_fmadd_pd(a, b, c); }
  static void Store(char* p, Sum v) { _mm512_storeu_pd(reinterpret_cast<double*>(p), v); }
};

struct OpI16 {
  using Sum = __m512i;
  using Columns = __m512i;
  using Input = int16_t;
  using SumElement = int32_t;
  static constexpr int kVectorBytes = 64, kStep = 2;
  static constexpr bool kPrefetch = true;
  static Sum Zero() { return _mm512_setzero_si512(); }
  static Columns Load(const char* p) { return _mm512_loadu_si512(reinterpret_cast<const __m512i*>(p)); }
  static Columns Broadcast(const int16_t* p) {
    int pair;
    __builtin_memcpy(&pair, p, sizeof(pair));
    return _mm512_set1_epi32(pair);
  }
  static Sum MultiplyAdd(Columns a, Columns b, Sum c) { return _mm512_add_epi32(_mm512_madd_epi16(a, b), c); }
  static void Store(char* p, Sum v) { _mm512_storeu_si512(reinterpret_cast<__m512i*>(p), v); }
};

constexpr GemmFunctions kF32 = GemmTiles<OpF32, 9, 3, 27>::Make();
constexpr GemmFunctions kF64 = GemmTiles<OpF64, 9, 3, 27>::Make();
constexpr GemmFunctions kI16 = GemmTiles<OpI16, 9, 3, 27>::Make();

constexpr GemmFunctions kF32Tall = GemmTiles<OpF32, 14, 2, 28>::Make();

}  // namespace

extern const GemmTable kGemmAvx512, kGemmAvx512Tall;
constinit const GemmTable kGemmAvx512 = {&kF32, &kF64, &kI16};
constinit const GemmTable kGemmAvx512Tall = {&kF32Tall, &kF64, &kI16};

}  // namespace tondar::cpu
