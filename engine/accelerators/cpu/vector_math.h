// Elementary functions on vectors. Only for kernel files, as simd.h.
//
// f32 functions that models use in every layer (exp, tanh, erf, sigmoid, gelu, silu) compute in f32; the rest compute
// in f64 from Taylor series, whose truncation is far below an f32 rounding, and are within 0.5 ulp and a bit.
// Coefficients of the f32 polynomials: weighted least squares with Lawson's reweighting towards the minimax error.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_VECTOR_MATH_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_VECTOR_MATH_H_

#include "engine/accelerators/cpu/simd.h"

namespace tondar::cpu {
namespace {  // NOLINT: as simd.h

template <class Vector, class Scalar, size_t kCount>
inline Vector Horner(Vector x, const Scalar (&coefficients)[kCount]) {
  Vector sum = coefficients[0] - Vector{};
#pragma GCC unroll 16
  for (size_t i = 1; i < kCount; ++i) sum = Fma(sum, x, coefficients[i] - Vector{});
  return sum;
}

// x * 2^n for |n| <= 252, rounding once even where the result is subnormal.
inline VF ScaleByPower(VF x, VF n) {
#if defined(__AVX512F__)
  return (VF)_mm512_maskz_scalef_ps(0xffff, (__m512)x, (__m512)n);  // the unmasked one makes g++ 12 warn
#else
  const VI whole = __builtin_convertvector(n, VI), half = whole >> 1, rest = whole - half;
  return x * (VF)((half + 127) << 23) * (VF)((rest + 127) << 23);
#endif
}

// e^x for -125 <= x <= 125, or NaN: n = round(x / ln 2), e^x = 2^n e^r. ln 2 in two parts, the first with 9 bits so that
// n * part is exact. Within 1 ulp.
inline VF ExpInRange(VF x) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  constexpr float kQ[] = {1.394214910e-03f, 8.363776149e-03f, 4.166636360e-02f, 1.666657336e-01f, 5.000000029e-01f};
  const VF n = Fma(x, Splat(1.44269504f), Splat(kMagic)) - kMagic;
  VF r = Fma(n, Splat(-0.693359375f), x);
  r = Fma(n, Splat(2.12194440e-4f), r);
  const VF p = Fma(Horner(r, kQ), r * r, r) + 1.0f;
#if defined(__AVX512F__)
  return ScaleByPower(p, n);
#else
  return ScaleByPower(p, x == x ? n : VF{});  // NaN has no integer part to convert
#endif
}
// Beyond [-104, 90] the result is 0 or infinite in f32. The 0 is selected: scaling down to it would underflow, which costs
// an assist of some 150 cycles, and rows of masked scores are full of -inf.
inline VF Exp(VF x) {
  const VF e = ExpInRange(MinOf(x < -104.0f ? VF{} : x, 90.0f));
  return x < -104.0f ? VF{} : e;
}

// By e^-|x|, which cannot overflow: far negative x give subnormals instead of zero.
inline VF Sigmoid(VF x) {
  const VF e = ExpInRange(-MinOf(Abs(x), 105.0f));
  return (x < 0.0f ? e : Splat(1.0f)) / (1.0f + e);
}
inline VF Silu(VF x) {
  const VF e = ExpInRange(-MinOf(Abs(x), 105.0f));
  return (x < 0.0f ? x * e : x) / (1.0f + e);
}

// Odd polynomial below 0.625, 1 - 2 / (e^2|x| + 1) above. Within 2 ulp.
inline VF Tanh(VF x) {
  constexpr float kP[] = {-6.113175419e-03f, 2.101006894e-02f, -5.385406675e-02f, 1.333279452e-01f, -3.333332925e-01f};
  const VF t = Abs(x), s = x * x;
  const VF small = Fma(Horner(s, kP) * s, x, x);
  const VF large = CopySign(1.0f - 2.0f / (ExpInRange(MinOf(t + t, 40.0f)) + 1.0f), x);
  return t < 0.625f ? small : large;
}

// x P(x^2) below 0.92, 1 - exp(-t Q(t)) above; beyond 4 erf is 1 in f32. Within 2 ulp.
inline VF Erf(VF x) {
  constexpr float kP[] = {8.345216573e-05f, -8.137435409e-04f, 5.200634097e-03f, -2.685927069e-02f,
                          1.128369394e-01f, -3.761263370e-01f, 1.283791666e-01f};
  constexpr float kQ[] = {1.076399295e-05f, -3.180675069e-04f, 3.622948945e-03f, -2.372024640e-02f,
                          1.061876769e-01f, 6.351814605e-01f,  1.128640973e+00f};
  const VF t = Abs(x), s = x * x;
  const VF small = Fma(Horner(s, kP), x, x);
  const VF u = MinOf(t, 4.0f);
  const VF large = CopySign(1.0f - ExpInRange(-u * Horner(u, kQ)), x);
  return t < 0.92f ? small : (t == t ? large : x);
}

// 1 - exp(-t Q(t)) everywhere: erf is added to 1, so that absolute accuracy (2e-9, then f32 rounding) is all that counts.
inline VF Gelu(VF x) {
  constexpr float kQ[] = {-8.043990717e-06f, 1.060281582e-04f,  -5.879561508e-04f, 1.576770455e-03f, -5.879244683e-05f,
                          -1.921713653e-02f, 1.027992085e-01f, 6.366161073e-01f,  1.128379332e+00f};
  const VF half = 0.5f * x, z = x * 0.70710678f, t = MinOf(Abs(z), 4.0f);
  const VF erf = CopySign(1.0f - ExpInRange(-t * Horner(t, kQ)), z);
  return Fma(half, erf, half);
}
inline VF GeluTanh(VF x) {
  const VF inner = 0.79788456f * Fma(x * x * 0.044715f, x, x), half = 0.5f * x;
  return Fma(half, Tanh(inner), half);
}

// --- f64 ------------------------------------------------------------------------------------------------------------

constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;  // 32 bits + the rest
constexpr double kMagicD = 6755399441055744.0;                                                  // 1.5 * 2^52

// The integer in the low bits of x + kMagicD, for |x| < 2^31.
inline VL IntegerPart(VD shifted) { return (VL)shifted - (VL)Splat(kMagicD); }

// e^x for |x| < 700, to 1e-14.
inline VD ExpD(VD x) {
  constexpr double kTaylor[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                                1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5,         1.0,
                                1.0};
  const VD shifted = Fma(x, Splat(1.4426950408889634), Splat(kMagicD)), n = shifted - kMagicD;
  VD r = Fma(n, Splat(-kLn2High), x);
  r = Fma(n, Splat(-kLn2Low), r);
  return Horner(r, kTaylor) * (VD)((IntegerPart(shifted) + 1023) << 52);
}

// ln x for normal positive x, to 1e-13: x = 2^e m, ln m = 2 atanh((m - 1) / (m + 1)), m in [sqrt(1/2), sqrt 2).
inline VD LogD(VD x) {
  constexpr double kSeries[] = {2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0};
  const VL bits = (VL)x, offset = bits - 0x3fe6a09e667f3bcdll;  // sqrt(1/2)
  const VL exponent = offset >> 52;                             // arithmetic
  const VD m = (VD)(bits - (exponent << 52));
  const VD e = (VD)(exponent + (VL)Splat(kMagicD)) - kMagicD;
  const VD s = (m - 1.0) / (m + 1.0);
  const VD log_m = s * Horner(s * s, kSeries);
  return Fma(e, Splat(kLn2High), Fma(e, Splat(kLn2Low), log_m));
}

// sin(x + quarter * pi/2) for |x| < 2^20, to 1e-13: pi/2 in three parts of 33 bits, so that n * part is exact.
inline VD SinD(VD x, int64_t quarter) {
  constexpr double kSin[] = {1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
                             1.0 / 362880,          -1.0 / 5040,          1.0 / 120,        -1.0 / 6,
                             1.0};
  constexpr double kCos[] = {1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320,
                             -1.0 / 720,           1.0 / 24,           -0.5,            1.0};
  const VD shifted = Fma(x, Splat(0.63661977236758134308), Splat(kMagicD)), n = shifted - kMagicD;
  VD r = x - n * 1.57079632673412561417e+00;
  r = r - n * 6.07710050630396597660e-11;
  r = r - n * 2.02226624879595063154e-21;
  const VD s = r * r;
  const VL octant = IntegerPart(shifted) + quarter;
  const VD value = (octant & 1) != 0 ? Horner(s, kCos) : r * Horner(s, kSin);
  return (octant & 2) != 0 ? -value : value;
}

// f32 functions over a vector of f64 that holds f32 values. Each covers every f32, subnormals included, as they are
// normal in f64.
constexpr double kInfinityD = __builtin_inf(), kNanD = __builtin_nan("");

inline VD LogAny(VD x) {
  const VD log = LogD(x);
  const VD special = x == 0 ? Splat(-kInfinityD) : (x == kInfinityD ? Splat(kInfinityD) : Splat(kNanD));
  return (x > 0) & (x < kInfinityD) ? log : special;
}
inline VD ExpAny(VD x) {  // beyond +-200 an f32 is infinite or zero
  const VD clamped = x > 200.0 ? Splat(200.0) : (x < -200.0 ? Splat(-200.0) : x);
  return x == x ? ExpD(clamped) : x;
}

}  // namespace
}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_VECTOR_MATH_H_
