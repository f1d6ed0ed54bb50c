// Vectors of the instruction set that the including kernel file is compiled for, by GCC's vector extensions.
//
// Only for kernel files. Everything has internal linkage (the unnamed namespace is meant): two files compiled for
// different instruction sets must never offer the linker functions of one name.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_SIMD_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_SIMD_H_

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tondar::cpu {
namespace {  // NOLINT: see above

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
  typedef T Half __attribute__((vector_size(kVectorBytes / 2)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
};
using VF = VectorOf<float>::Type;
using VI = VectorOf<int32_t>::Type;
using VU = VectorOf<uint32_t>::Type;
using VD = VectorOf<double>::Type;
using VL = VectorOf<int64_t>::Type;

template <class T>
using V = typename VectorOf<T>::Type;
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
inline V<T> Splat(T value) {
  return value - V<T>{};  // minus +0 keeps -0 and NaN
}
template <class T>
inline V<T> LoadVector(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T>::Unaligned*>(p);
}
template <class T>
inline void StoreVector(T* p, V<T> v) {
  *reinterpret_cast<typename VectorOf<T>::Unaligned*>(p) = v;
}
// The first n < kLanes<T> elements, zeros behind; reads nothing else.
template <class T>
inline V<T> LoadPartial(const T* p, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return (V<T>)_mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << n) - 1), p);
  if constexpr (sizeof(T) == 8) return (V<T>)_mm512_maskz_loadu_epi64(static_cast<__mmask8>((1u << n) - 1), p);
#endif
  alignas(kVectorBytes) T buffer[kLanes<T>] = {};
  for (int64_t i = 0; i < n; ++i) buffer[i] = p[i];
  return LoadVector(buffer);
}
template <class T>
inline void StorePartial(T* p, V<T> v, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1u << n) - 1), (__m512i)v);
  if constexpr (sizeof(T) == 8) return _mm512_mask_storeu_epi64(p, static_cast<__mmask8>((1u << n) - 1), (__m512i)v);
#endif
  alignas(kVectorBytes) T buffer[kLanes<T>];
  StoreVector(buffer, v);
  for (int64_t i = 0; i < n; ++i) p[i] = buffer[i];
}

// a * b + c, in one rounding where the instruction set has it. Kernel files are compiled without contraction, so that
// this is the only place where that happens.
inline VF Fma(VF a, VF b, VF c) {
#if defined(__AVX512F__)
  return (VF)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (VF)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}
inline VD Fma(VD a, VD b, VD c) {
#if defined(__AVX512F__)
  return (VD)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (VD)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}

// The smaller one; NaN if x is. One instruction where g++ makes a comparison and a blend of the conditional.
inline VF MinOf(VF x, float limit) {
#if defined(__AVX512F__)
  return (VF)_mm512_maskz_min_ps(0xffff, (__m512)Splat(limit), (__m512)x);
#elif defined(__AVX2__)
  return (VF)_mm256_min_ps((__m256)Splat(limit), (__m256)x);
#else
  return limit < x ? Splat(limit) : x;
#endif
}
// Whether a comparison holds in some lane.
inline bool AnyLane(VL mask) {
#if defined(__AVX512F__)
  return _mm512_movepi64_mask((__m512i)mask) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_pd((__m256d)mask) != 0;
#else
  int64_t any = 0;
  for (int i = 0; i < kLanes<int64_t>; ++i) any |= mask[i];
  return any != 0;
#endif
}

inline VF Abs(VF x) { return (VF)((VI)x & 0x7fffffff); }
inline VD Abs(VD x) { return (VD)((VL)x & 0x7fffffffffffffffll); }
// Magnitude of the first, sign of the second.
inline VF CopySign(VF x, VF sign) {
  const VI mask = (VI)Splat<float>(-0.0f);
  return (VF)(((VI)x & ~mask) | ((VI)sign & mask));
}

}  // namespace
}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_SIMD_H_
