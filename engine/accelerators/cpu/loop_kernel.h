// The functions of LoopTable, written once; loop_<isa>.cc compile them per instruction set.
//
// Two templates carry them: Elementwise, whose plain loops the compiler turns into vectors and which therefore is only
// for operations that are exact or rounded once; and Vectorwise, for approximations, which must treat the last elements
// exactly as the others.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_LOOP_KERNEL_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_LOOP_KERNEL_H_

#include "engine/accelerators/cpu/loop_table.h"
#include "engine/accelerators/cpu/simd.h"
#include "engine/accelerators/cpu/vector_math.h"

namespace tondar::cpu {
namespace {  // NOLINT: as simd.h

using Bool = uint8_t;

// --- Types ------------------------------------------------------------------------------------------------------------

template <class A, class B>
constexpr bool kSame = false;
template <class A>
constexpr bool kSame<A, A> = true;
template <class T>
constexpr bool kIsFloat = kSame<T, float> || kSame<T, double>;
template <class T>
constexpr bool kIsSigned = static_cast<T>(-1) < static_cast<T>(0);
template <size_t kSize>
struct UnsignedOf;
template <>
struct UnsignedOf<1> { using Type = uint8_t; };
template <>
struct UnsignedOf<2> { using Type = uint16_t; };
template <>
struct UnsignedOf<4> { using Type = uint32_t; };
template <>
struct UnsignedOf<8> { using Type = uint64_t; };
template <class T>
using Unsigned = typename UnsignedOf<sizeof(T)>::Type;
// Arithmetic of narrow integers is done in this type, so that it wraps instead of overflowing after promotion.
template <class T>
using Wrapping = typename UnsignedOf<(sizeof(T) < 4 ? 4 : sizeof(T))>::Type;

template <class T>
struct LimitsOf {
  static constexpr bool kSigned = kIsSigned<T>;
  static constexpr T Lowest() {
    if constexpr (kSame<T, float>) return -__builtin_inff();
    else if constexpr (kSame<T, double>) return -__builtin_inf();
    else return kSigned ? static_cast<T>(Unsigned<T>(1) << (sizeof(T) * 8 - 1)) : T(0);
  }
  static constexpr T Highest() {
    if constexpr (kSame<T, float>) return __builtin_inff();
    else if constexpr (kSame<T, double>) return __builtin_inf();
    else return static_cast<T>(~static_cast<Unsigned<T>>(Lowest()));
  }
};

// --- Loops ------------------------------------------------------------------------------------------------------------

// F::Do is a function of one, two or three scalars.
template <class T, class R, class F>
void Elementwise1(void* d, const void* a, const void*, const void*, int64_t n) {
  R* __restrict out = static_cast<R*>(d);
  const T* __restrict x = static_cast<const T*>(a);
  for (int64_t i = 0; i < n; ++i) out[i] = F::Do(x[i]);
}
template <class T, class R, class F>
void Elementwise2(void* d, const void* a, const void* b, const void*, int64_t n) {
  R* __restrict out = static_cast<R*>(d);
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict y = static_cast<const T*>(b);
  for (int64_t i = 0; i < n; ++i) out[i] = F::Do(x[i], y[i]);
}
template <class T>
void SelectTile(void* d, const void* a, const void* b, const void* c, int64_t n) {
  T* __restrict out = static_cast<T*>(d);
  const Bool* __restrict condition = static_cast<const Bool*>(a);
  const T* __restrict x = static_cast<const T*>(b);
  const T* __restrict y = static_cast<const T*>(c);
  for (int64_t i = 0; i < n; ++i) out[i] = condition[i] ? x[i] : y[i];
}

// F::Do is a function of one vector of f32.
template <class F>
void Vectorwise(void* d, const void* a, const void*, const void*, int64_t n) {
  constexpr int kStep = kLanes<float>;
  float* out = static_cast<float*>(d);
  const float* x = static_cast<const float*>(a);
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) StoreVector(out + i, F::Do(LoadVector(x + i)));
  if (i < n) StorePartial(out + i, F::Do(LoadPartial(x + i, n - i)), n - i);
}

// F::Do is a function of one vector of f64, applied to f32.
template <class F>
void ThroughF64(void* d, const void* a, const void*, const void*, int64_t n) {
  using Half = VectorOf<float>::Half;
  constexpr int kStep = kLanes<double>;
  float* out = static_cast<float*>(d);
  const float* x = static_cast<const float*>(a);
  for (int64_t i = 0; i < n; i += kStep) {
    Half half = {};
    const int64_t left = n - i < kStep ? n - i : kStep;
    if (left == kStep) {
      __builtin_memcpy(&half, x + i, sizeof(half));
    } else {
      for (int64_t j = 0; j < left; ++j) half[j] = x[i + j];
    }
    half = __builtin_convertvector(F::Do(__builtin_convertvector(half, VD)), Half);
    if (left == kStep) {
      __builtin_memcpy(out + i, &half, sizeof(half));
    } else {
      for (int64_t j = 0; j < left; ++j) out[i + j] = half[j];
    }
  }
}

// --- Exact operations, one struct each ----------------------------------------------------------------------------------

struct DoNeg {
  template <class T>
  static T Do(T x) {
    if constexpr (kIsFloat<T>) return -x;
    else return static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(x));
  }
};
struct DoAbs {
  template <class T>
  static T Do(T x) {
    if constexpr (kSame<T, float>) return __builtin_fabsf(x);
    else if constexpr (kSame<T, double>) return __builtin_fabs(x);
    else if constexpr (kIsSigned<T>) return x < 0 ? DoNeg::Do(x) : x;
    else return x;
  }
};
struct DoSign {  // NaN gives NaN, zeros give zero
  template <class T>
  static T Do(T x) {
    if constexpr (kIsFloat<T>) return x > 0 ? T(1) : (x < 0 ? T(-1) : x);
    else return static_cast<T>((x > 0) - (x < 0));
  }
};
#define TONDAR_ROUNDING(Name, Float, Double)                        \
  struct Name {                                                     \
    template <class T>                                              \
    static T Do(T x) {                                              \
      if constexpr (kSame<T, float>) return Float(x);               \
      else if constexpr (kSame<T, double>) return Double(x);        \
      else return x;                                                \
    }                                                               \
  };
TONDAR_ROUNDING(DoFloor, __builtin_floorf, __builtin_floor)
TONDAR_ROUNDING(DoCeil, __builtin_ceilf, __builtin_ceil)
TONDAR_ROUNDING(DoTrunc, __builtin_truncf, __builtin_trunc)
TONDAR_ROUNDING(DoRound, __builtin_rintf, __builtin_rint)  // half to even in the default rounding mode
#undef TONDAR_ROUNDING
struct DoSqrt {
  static float Do(float x) { return __builtin_sqrtf(x); }
  static double Do(double x) { return __builtin_sqrt(x); }
};
struct DoRsqrt {
  template <class T>
  static T Do(T x) { return T(1) / DoSqrt::Do(x); }
};
struct DoReciprocal {
  template <class T>
  static T Do(T x) { return T(1) / x; }
};
struct DoRelu {
  template <class T>
  static T Do(T x) { return x < T(0) ? T(0) : x; }
};
struct DoLogicalNot {
  template <class T>
  static Bool Do(T x) { return x == T(0); }
};
struct DoBitNot {
  template <class T>
  static T Do(T x) { return static_cast<T>(~x); }
};
struct DoIsNan {
  template <class T>
  static Bool Do(T x) { return x != x; }
};
struct DoIsInf {
  template <class T>
  static Bool Do(T x) {
    if constexpr (kIsFloat<T>) return DoAbs::Do(x) == LimitsOf<T>::Highest();
    else return 0;
  }
};

#define TONDAR_WRAPPING(Name, op)                                                                            \
  struct Name {                                                                                              \
    template <class T>                                                                                       \
    static T Do(T x, T y) {                                                                                  \
      if constexpr (kIsFloat<T>) return x op y;                                                              \
      else return static_cast<T>(static_cast<Wrapping<T>>(x) op static_cast<Wrapping<T>>(y));                \
    }                                                                                                        \
  };
TONDAR_WRAPPING(DoAdd, +)
TONDAR_WRAPPING(DoSub, -)
TONDAR_WRAPPING(DoMul, *)
#undef TONDAR_WRAPPING

// Integer division by zero gives 0 and the most negative by -1 wraps, for neither may end the process.
template <class T>
T Quotient(T x, T y) {
  if (y == T(0)) return T(0);
  if constexpr (kIsSigned<T>) {
    if (y == T(-1)) return DoNeg::Do(x);
  }
  return static_cast<T>(x / y);
}
template <class T>
T Rest(T x, T y) {
  return static_cast<T>(static_cast<Wrapping<T>>(x) - static_cast<Wrapping<T>>(Quotient(x, y)) * static_cast<Wrapping<T>>(y));
}
struct DoDiv {
  template <class T>
  static T Do(T x, T y) {
    if constexpr (kIsFloat<T>) return x / y;
    else return Quotient(x, y);
  }
};
struct DoFloorDiv {
  template <class T>
  static T Do(T x, T y) {
    const T quotient = Quotient(x, y);
    return y != T(0) && Rest(x, y) != T(0) && (x < T(0)) != (y < T(0)) ? static_cast<T>(quotient - 1) : quotient;
  }
};
struct DoFmod {
  template <class T>
  static T Do(T x, T y) { return y == T(0) ? T(0) : Rest(x, y); }
};
struct DoRemainder {
  template <class T>
  static T Do(T x, T y) {
    if (y == T(0)) return T(0);
    const T rest = Rest(x, y);
    return rest != T(0) && (rest < T(0)) != (y < T(0)) ? static_cast<T>(rest + y) : rest;
  }
};
struct DoPow {  // of integers; a negative exponent truncates 1 / x^-y
  template <class T>
  static T Do(T x, T y) {
    if constexpr (kIsSigned<T>) {
      if (y < 0) return x == 1 ? T(1) : (x == -1 ? static_cast<T>((y & 1) ? -1 : 1) : T(0));
    }
    Wrapping<T> result = 1, base = static_cast<Wrapping<T>>(x);
    for (Unsigned<T> e = static_cast<Unsigned<T>>(y); e != 0; e >>= 1, base *= base) {
      if (e & 1) result *= base;
    }
    return static_cast<T>(result);
  }
};
struct DoCopysign {
  static float Do(float x, float y) { return __builtin_copysignf(x, y); }
  static double Do(double x, double y) { return __builtin_copysign(x, y); }
};
struct DoMax {
  template <class T>
  static T Do(T x, T y) { return (x > y) | (x != x) ? x : y; }
};
struct DoMin {
  template <class T>
  static T Do(T x, T y) { return (x < y) | (x != x) ? x : y; }
};
struct DoFmax {
  template <class T>
  static T Do(T x, T y) { return (x >= y) | (y != y) ? x : y; }
};
struct DoFmin {
  template <class T>
  static T Do(T x, T y) { return (x <= y) | (y != y) ? x : y; }
};
#define TONDAR_COMPARISON(Name, op)                        \
  struct Name {                                            \
    template <class T>                                     \
    static Bool Do(T x, T y) { return x op y; }            \
  };
TONDAR_COMPARISON(DoEq, ==)
TONDAR_COMPARISON(DoNe, !=)
TONDAR_COMPARISON(DoLt, <)
TONDAR_COMPARISON(DoLe, <=)
TONDAR_COMPARISON(DoGt, >)
TONDAR_COMPARISON(DoGe, >=)
#undef TONDAR_COMPARISON
struct DoLogicalAnd {
  template <class T>
  static Bool Do(T x, T y) { return (x != T(0)) & (y != T(0)); }
};
struct DoLogicalOr {
  template <class T>
  static Bool Do(T x, T y) { return (x != T(0)) | (y != T(0)); }
};
struct DoLogicalXor {
  template <class T>
  static Bool Do(T x, T y) { return (x != T(0)) ^ (y != T(0)); }
};
struct DoBitAnd {
  template <class T>
  static T Do(T x, T y) { return static_cast<T>(x & y); }
};
struct DoBitOr {
  template <class T>
  static T Do(T x, T y) { return static_cast<T>(x | y); }
};
struct DoBitXor {
  template <class T>
  static T Do(T x, T y) { return static_cast<T>(x ^ y); }
};
// Counts outside [0, bits) shift everything out.
template <class T>
bool ShiftsOut(T y) {
  return static_cast<Unsigned<T>>(y) >= sizeof(T) * 8;
}
struct DoShiftLeft {
  template <class T>
  static T Do(T x, T y) {
    return ShiftsOut(y) ? T(0) : static_cast<T>(static_cast<Wrapping<T>>(x) << static_cast<Wrapping<T>>(y));
  }
};
struct DoShiftRight {
  template <class T>
  static T Do(T x, T y) { return ShiftsOut(y) ? (x < T(0) ? static_cast<T>(-1) : T(0)) : static_cast<T>(x >> y); }
};
struct DoIdentity {
  template <class T>
  static T Do(T x) { return x; }
};

// --- Approximations -----------------------------------------------------------------------------------------------------

#define TONDAR_F32_FUNCTION(Name)                   \
  struct Vector##Name {                             \
    static VF Do(VF x) { return Name(x); }          \
  };
TONDAR_F32_FUNCTION(Exp)
TONDAR_F32_FUNCTION(Sigmoid)
TONDAR_F32_FUNCTION(Silu)
TONDAR_F32_FUNCTION(Tanh)
TONDAR_F32_FUNCTION(Erf)
TONDAR_F32_FUNCTION(Gelu)
TONDAR_F32_FUNCTION(GeluTanh)
#undef TONDAR_F32_FUNCTION

struct WideLog {
  static VD Do(VD x) { return LogAny(x); }
};
struct WideLog2 {
  static VD Do(VD x) { return LogAny(x) * 1.44269504088896340736; }
};
struct WideLog10 {
  static VD Do(VD x) { return LogAny(x) * 0.43429448190325182765; }
};
struct WideLog1p {  // what 1 + x rounded away is given back to first order
  static VD Do(VD x) {
    const VD y = x + 1.0, log = LogAny(y);
    const VD sum = log + (x - (y - 1.0)) / y;
    return (y > 0) & (y < kInfinityD) & (x != 0) ? sum : (x == 0 ? x : log);
  }
};
struct WideExp2 {
  static VD Do(VD x) { return ExpAny(x * 0.69314718055994530942); }
};
struct WideExpm1 {
  static VD Do(VD x) {
    const VD series = Fma(x * x, Splat(0.5), x);
    return Abs(x) < 1e-5 ? (x == 0 ? x : series) : ExpAny(x) - 1.0;
  }
};
template <int64_t kQuarter>
struct WideSin {
  static VD Do(VD x) {
    const VL huge = Abs(x) >= 1048576.0;
    VD y = SinD(huge ? VD{} : x, kQuarter);
    if (!AnyLane(huge)) return y;
    for (int i = 0; i < kLanes<double>; ++i) {
      if (huge[i]) y[i] = kQuarter ? __builtin_cos(x[i]) : __builtin_sin(x[i]);
    }
    return y;
  }
};

// --- Casts --------------------------------------------------------------------------------------------------------------

// Floats to integers truncate towards zero, in int32 for narrow ones and in int64 for the rest, and wrap from there:
// out-of-range values then give the same whether or not the compiler made vectors.
template <class To>
struct DoCast {
  template <class From>
  static To Do(From x) {
    if constexpr (kIsFloat<To> || !kIsFloat<From>) return static_cast<To>(x);
    else if constexpr (sizeof(To) < 4 || kSame<To, int32_t>) return static_cast<To>(static_cast<int32_t>(x));
    else if constexpr (kSame<To, uint64_t>) {
      constexpr From kHalf = 9223372036854775808.0;
      return x >= kHalf ? static_cast<uint64_t>(static_cast<int64_t>(x - kHalf)) ^ (uint64_t{1} << 63)
                        : static_cast<uint64_t>(static_cast<int64_t>(x));
    } else return static_cast<To>(static_cast<int64_t>(x));
  }
};
struct DoCastToBool {
  template <class From>
  static Bool Do(From x) { return x != From(0); }
};

inline float BitsToFloat(uint32_t bits) {
  float f;
  __builtin_memcpy(&f, &bits, 4);
  return f;
}
inline uint32_t FloatToBits(float f) {
  uint32_t bits;
  __builtin_memcpy(&bits, &f, 4);
  return bits;
}

struct DoLoadBf16 {
  static float Do(uint16_t x) { return BitsToFloat(static_cast<uint32_t>(x) << 16); }
};
struct DoStoreBf16 {
  static uint16_t Do(float x) {
    const uint32_t bits = FloatToBits(x);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16, nan = (bits >> 16) | 0x40;
    return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
  }
};
struct DoLoadF16 {  // 2^112 rescales the exponent and makes subnormals right; all-ones exponents are put back
  static float Do(uint16_t x) {
    const uint32_t magnitude = static_cast<uint32_t>(x & 0x7fff) << 13, sign = static_cast<uint32_t>(x & 0x8000) << 16;
    const uint32_t scaled = FloatToBits(BitsToFloat(magnitude) * 5.192296858534828e33f);
    return BitsToFloat(((x & 0x7c00) == 0x7c00 ? magnitude | 0x7f800000 : scaled) | sign);
  }
};
struct DoStoreF16 {
  static uint16_t Do(float x) {
    const uint32_t bits = FloatToBits(x), sign = (bits >> 16) & 0x8000, m = bits & 0x7fffffff;
    const uint32_t normal = (m + 0xfff + ((m >> 13) & 1) - 0x38000000u) >> 13;
    const uint32_t subnormal = FloatToBits(BitsToFloat(m) + 0.5f) - 0x3f000000u;  // the addition rounds to 2^-24
    const uint32_t finite = m < 0x38800000u ? subnormal : normal;
    const uint32_t special = m > 0x7f800000u ? 0x7e00 : 0x7c00;
    return static_cast<uint16_t>((m >= 0x47800000u ? special : finite) | sign);
  }
};
struct DoRoundBf16 {
  static float Do(float x) { return DoLoadBf16::Do(DoStoreBf16::Do(x)); }
};
struct DoRoundF16 {
  static float Do(float x) { return DoLoadF16::Do(DoStoreF16::Do(x)); }
};

// --- Movement -----------------------------------------------------------------------------------------------------------

template <class T>
void Gather(void* d, const void* s, int64_t stride, int64_t n) {
  T* __restrict out = static_cast<T*>(d);
  const T* __restrict in = static_cast<const T*>(s);
  if (stride == 1) {
    __builtin_memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
  } else if (stride == 0) {
    const T value = *in;
    for (int64_t i = 0; i < n; ++i) out[i] = value;
  } else if (stride == 2) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * 2];
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
  }
}
// Unsigned, as a value far outside may not overflow before it is refused.
template <bool kFromEnd>
bool LocateAll(int64_t* __restrict offsets, const int64_t* __restrict values, const LocatedDim& dim, int64_t n) {
  const uint64_t extent = static_cast<uint64_t>(dim.extent), stride = static_cast<uint64_t>(dim.stride_bytes);
  const uint64_t affine = static_cast<uint64_t>(dim.affine), step = static_cast<uint64_t>(dim.affine_step);
  uint64_t outside = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t value = static_cast<uint64_t>(values[i]);
    if (kFromEnd) {
      value += values[i] < 0 ? extent : 0;
      outside |= value >= extent ? 1 : 0;
    }
    outside |= affine + static_cast<uint64_t>(i) * step + value >= extent ? 1 : 0;
    offsets[i] = static_cast<int64_t>(static_cast<uint64_t>(offsets[i]) + value * stride);
  }
  return outside == 0;
}
bool Locate(int64_t* offsets, const int64_t* values, const LocatedDim& dim, int64_t n) {
  return dim.from_end ? LocateAll<true>(offsets, values, dim, n) : LocateAll<false>(offsets, values, dim, n);
}
template <class T>
void Pick(void* d, const void* s, const int64_t* offsets, int64_t n) {
  T* __restrict out = static_cast<T*>(d);
  const char* __restrict in = static_cast<const char*>(s);
  for (int64_t i = 0; i < n; ++i) out[i] = *reinterpret_cast<const T*>(in + offsets[i]);
}
template <class T>
void Scatter(void* d, int64_t stride, const void* s, int64_t n) {
  T* __restrict out = static_cast<T*>(d);
  const T* __restrict in = static_cast<const T*>(s);
  if (stride == 1) {
    __builtin_memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * stride] = in[i];
  }
}

typedef uint32_t Eight __attribute__((vector_size(32)));
typedef uint32_t EightUnaligned __attribute__((vector_size(32), aligned(1), may_alias));

// 8 x 8 words by three rounds of pairwise interleaving.
inline void TransposeBlock(uint32_t* d, int64_t d_stride, const uint32_t* s, int64_t s_stride) {
  Eight r[8], t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) r[i] = *reinterpret_cast<const EightUnaligned*>(s + i * s_stride);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shuffle(r[i], r[i + 1], Eight{0, 8, 1, 9, 4, 12, 5, 13});
    t[i + 1] = __builtin_shuffle(r[i], r[i + 1], Eight{2, 10, 3, 11, 6, 14, 7, 15});
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    r[i] = __builtin_shuffle(t[i], t[i + 2], Eight{0, 1, 8, 9, 4, 5, 12, 13});
    r[i + 1] = __builtin_shuffle(t[i], t[i + 2], Eight{2, 3, 10, 11, 6, 7, 14, 15});
    r[i + 2] = __builtin_shuffle(t[i + 1], t[i + 3], Eight{0, 1, 8, 9, 4, 5, 12, 13});
    r[i + 3] = __builtin_shuffle(t[i + 1], t[i + 3], Eight{2, 3, 10, 11, 6, 7, 14, 15});
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<EightUnaligned*>(d + i * d_stride) =
        __builtin_shuffle(r[i], r[i + 4], Eight{0, 1, 2, 3, 8, 9, 10, 11});
    *reinterpret_cast<EightUnaligned*>(d + (i + 4) * d_stride) =
        __builtin_shuffle(r[i], r[i + 4], Eight{4, 5, 6, 7, 12, 13, 14, 15});
  }
}

template <class T>
void TransposeEdge(T* d, int64_t d_stride, const T* s, int64_t s_stride, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) d[r * d_stride + c] = s[c * s_stride + r];
  }
}

// One side is dense and kN wide, pixels of three or four channels say: constant strides make vectors of these loops.
template <class T, int kN>
void InterleaveColumns(T* __restrict d, const T* __restrict s, int64_t s_stride, int64_t rows) {
  const T* __restrict planes[kN];
  for (int c = 0; c < kN; ++c) planes[c] = s + c * s_stride;
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kN; ++c) d[r * kN + c] = planes[c][r];
  }
}
template <class T, int kN>
void SplitColumns(T* __restrict d, int64_t d_stride, const T* __restrict s, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
#pragma GCC unroll 4
    for (int r = 0; r < kN; ++r) d[r * d_stride + c] = s[c * kN + r];
  }
}

// In blocks of 64 rows: what is read and written of a block stays in L1 until its lines are complete.
template <class T>
void Transpose(void* d, int64_t d_stride, const void* s, int64_t s_stride, int64_t rows, int64_t columns) {
  T* out = static_cast<T*>(d);
  const T* in = static_cast<const T*>(s);
  if (columns == 3 && d_stride == 3) return InterleaveColumns<T, 3>(out, in, s_stride, rows);
  if (columns == 4 && d_stride == 4) return InterleaveColumns<T, 4>(out, in, s_stride, rows);
  if (rows == 3 && s_stride == 3) return SplitColumns<T, 3>(out, d_stride, in, columns);
  if (rows == 4 && s_stride == 4) return SplitColumns<T, 4>(out, d_stride, in, columns);
  for (int64_t first = 0; first < rows; first += 64) {
    const int64_t last = first + 64 < rows ? first + 64 : rows;
    int64_t c = 0;
    for (; c + 8 <= columns; c += 8) {
      int64_t r = first;
      for (; r + 8 <= last; r += 8) {
        if constexpr (sizeof(T) == 4) {
          TransposeBlock(out + r * d_stride + c, d_stride, in + c * s_stride + r, s_stride);
        } else {
          TransposeEdge(out + r * d_stride + c, d_stride, in + c * s_stride + r, s_stride, 8, 8);
        }
      }
      if (r < last) TransposeEdge(out + r * d_stride + c, d_stride, in + c * s_stride + r, s_stride, last - r, 8);
    }
    if (c < columns) {
      TransposeEdge(out + first * d_stride + c, d_stride, in + c * s_stride + first, s_stride, last - first, columns - c);
    }
  }
}

// --- Reductions ---------------------------------------------------------------------------------------------------------

// The state's field for this lane.
template <class T>
auto& FieldOf(ReduceState* state) {
  if constexpr (kIsFloat<T>) return state->f;
  else return state->i;
}

// f32 sums: four vectors over a block of 1024, whose total is added in f64, so that the error stays near that of
// pairwise summation for any length.
inline float SumBlock(const float* x, int64_t n) {
  constexpr int kStep = kLanes<float>;
  VF sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * kStep <= n; i += 4 * kStep) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sums[j] += LoadVector(x + i + j * kStep);
  }
  for (; i + kStep <= n; i += kStep) sums[0] += LoadVector(x + i);
  if (i < n) sums[1] += LoadPartial(x + i, n - i);
  const VF sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  float parts[kStep];
  StoreVector(parts, sum);
  for (int width = kStep / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) parts[j] += parts[j + width];
  }
  return parts[0];
}

template <class T>
void ReduceSum(ReduceState* state, const void* values, int64_t, int64_t n) {
  const T* x = static_cast<const T*>(values);
  if constexpr (kSame<T, float>) {
    for (int64_t i = 0; i < n; i += 1024) state->f += static_cast<double>(SumBlock(x + i, n - i < 1024 ? n - i : 1024));
  } else if constexpr (kSame<T, double>) {
    double sums[8] = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      for (int j = 0; j < 8; ++j) sums[j] += x[i + j];
    }
    for (int j = 0; i < n; ++i, ++j) sums[j] += x[i];
    state->f += ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  } else {
    uint64_t sum = static_cast<uint64_t>(state->i);
    for (int64_t i = 0; i < n; ++i) sum += static_cast<uint64_t>(x[i]);
    state->i = static_cast<int64_t>(sum);
  }
}
template <class T>
void ReduceProduct(ReduceState* state, const void* values, int64_t, int64_t n) {
  const T* x = static_cast<const T*>(values);
  if constexpr (kIsFloat<T>) {
    double product = state->f;
    for (int64_t i = 0; i < n; ++i) product *= static_cast<double>(x[i]);
    state->f = product;
  } else {
    uint64_t product = static_cast<uint64_t>(state->i);
    for (int64_t i = 0; i < n; ++i) product *= static_cast<uint64_t>(x[i]);
    state->i = static_cast<int64_t>(product);
  }
}
// 64 independent chains, which the compiler turns into vectors. Unsigned 64-bit values compare as such.
template <class T, class Better>
void ReduceExtremum(ReduceState* state, const void* values, int64_t, int64_t n) {
  const T* __restrict x = static_cast<const T*>(values);
  constexpr int kChains = 64;
  const T start = static_cast<T>(FieldOf<T>(state));
  T best[kChains];
  for (int j = 0; j < kChains; ++j) best[j] = start;
  int64_t i = 0;
  for (; i + kChains <= n; i += kChains) {
    for (int j = 0; j < kChains; ++j) best[j] = Better::Do(x[i + j], best[j]);
  }
  T result = start;
  for (; i < n; ++i) result = Better::Do(x[i], result);
  for (int j = 0; j < kChains && n >= kChains; ++j) result = Better::Do(best[j], result);
  if constexpr (kIsFloat<T>) state->f = static_cast<double>(result);
  else state->i = static_cast<int64_t>(result);
}
inline void ReduceAll(ReduceState* state, const void* values, int64_t, int64_t n) {
  const Bool* x = static_cast<const Bool*>(values);
  unsigned zeros = 0;
  for (int64_t i = 0; i < n; ++i) zeros |= x[i] == 0;
  if (zeros) state->i = 0;
}
inline void ReduceAny(ReduceState* state, const void* values, int64_t, int64_t n) {
  const Bool* x = static_cast<const Bool*>(values);
  unsigned ones = 0;
  for (int64_t i = 0; i < n; ++i) ones |= x[i] != 0;
  if (ones) state->i = 1;
}

struct BetterMax {
  template <class T>
  static bool Do(T value, T best) { return value > best || (value != value && best == best); }
};
struct BetterMin {
  template <class T>
  static bool Do(T value, T best) { return value < best || (value != value && best == best); }
};
// Blocks that hold nothing better, which are most, are told by a vector extremum.
template <class T, class Better, class Extremum>
void ReduceArg(ReduceState* state, const void* values, int64_t position, int64_t n) {
  const T* x = static_cast<const T*>(values);
  if (n == 0) return;
  T best = static_cast<T>(FieldOf<T>(state));
  int64_t i = 0;
  if (state->index < 0) {
    best = x[0];
    state->index = position;
    i = 1;
  }
  while (i < n) {
    const int64_t end = i + 256 < n ? i + 256 : n;
    ReduceState block = {static_cast<double>(best), static_cast<int64_t>(best), 0};
    ReduceExtremum<T, Extremum>(&block, x + i, 0, end - i);
    if (Better::Do(static_cast<T>(FieldOf<T>(&block)), best)) {
      for (int64_t j = i; j < end; ++j) {
        if (!Better::Do(x[j], best)) continue;
        best = x[j];
        state->index = position + j;
      }
    }
    i = end;
  }
  if constexpr (kIsFloat<T>) state->f = static_cast<double>(best);
  else state->i = static_cast<int64_t>(best);
}

template <class T, class F>
void Accumulate(void* acc, const void* values, int64_t n) {
  T* __restrict sum = static_cast<T*>(acc);
  const T* __restrict x = static_cast<const T*>(values);
  for (int64_t i = 0; i < n; ++i) sum[i] = F::Do(x[i], sum[i]);
}
template <class T, class Better>
void ArgAccumulate(void* acc, int64_t* index, const void* values, int64_t position, int64_t n) {
  T* __restrict best = static_cast<T*>(acc);
  const T* __restrict x = static_cast<const T*>(values);
  for (int64_t i = 0; i < n; ++i) {
    const bool take = index[i] < 0 || Better::Do(x[i], best[i]);
    best[i] = take ? x[i] : best[i];
    index[i] = take ? position : index[i];
  }
}

template <class T, class F>
void Scan(ReduceState* carry, void* out, const void* values, int64_t n) {
  T* d = static_cast<T*>(out);
  const T* x = static_cast<const T*>(values);
  if constexpr (kIsFloat<T>) {
    double running = carry->f;
    for (int64_t i = 0; i < n; ++i) {
      running = F::Do(running, static_cast<double>(x[i]));
      d[i] = static_cast<T>(running);
    }
    carry->f = running;
  } else {
    int64_t running = carry->i;
    for (int64_t i = 0; i < n; ++i) {
      running = F::Do(running, static_cast<int64_t>(x[i]));
      d[i] = static_cast<T>(running);
    }
    carry->i = running;
  }
}

// --- Epilogues ----------------------------------------------------------------------------------------------------------

template <TileActivation kActivation>
inline VF Activate(VF x) {
  if constexpr (kActivation == kActivationRelu) return x < 0.0f ? VF{} : x;
  if constexpr (kActivation == kActivationGelu) return Gelu(x);
  if constexpr (kActivation == kActivationSilu) return Silu(x);
  return x;
}

template <TileActivation kBefore, bool kResidual, TileActivation kAfter>
inline void BiasRows(const BiasTile& tile) {
  constexpr int kStep = kLanes<float>;
  for (int row = 0; row < tile.rows; ++row) {
    const float* x = tile.accumulators + row * tile.accumulator_stride;
    const float* residual = kResidual ? tile.residual + row * tile.residual_stride : nullptr;
    float* out = tile.out + row * tile.out_stride;
    int i = 0;
    for (; i + kStep <= tile.columns; i += kStep) {
      VF v = Activate<kBefore>(LoadVector(x + i) + LoadVector(tile.bias + i));
      if constexpr (kResidual) v = v + LoadVector(residual + i);
      StoreVector(out + i, Activate<kAfter>(v));
    }
    const int left = tile.columns - i;
    if (left == 0) continue;
    VF v = Activate<kBefore>(LoadPartial(x + i, left) + LoadPartial(tile.bias + i, left));
    if constexpr (kResidual) v = v + LoadPartial(residual + i, left);
    StorePartial(out + i, Activate<kAfter>(v), left);
  }
}
template <TileActivation kActivation>
void BiasFunction(const BiasTile& tile) {
  if (tile.residual == nullptr) BiasRows<kActivation, false, kActivationNone>(tile);
  else BiasRows<kActivation, true, kActivationNone>(tile);
}
inline void BiasResidualRelu(const BiasTile& tile) { BiasRows<kActivationNone, true, kActivationRelu>(tile); }

// --- The table ----------------------------------------------------------------------------------------------------------

template <Lane kLane, class T>
constexpr void FillCommon(LoopTable& t) {
#define TONDAR_UNARY(Name) t.ops[kTile##Name][kLane] = Elementwise1<T, T, Do##Name>;
#define TONDAR_BINARY(Name) t.ops[kTile##Name][kLane] = Elementwise2<T, T, Do##Name>;
#define TONDAR_PREDICATE(Name) t.ops[kTile##Name][kLane] = Elementwise2<T, Bool, Do##Name>;
  TONDAR_PREDICATE(Eq) TONDAR_PREDICATE(Ne) TONDAR_PREDICATE(Lt) TONDAR_PREDICATE(Le) TONDAR_PREDICATE(Gt)
  TONDAR_PREDICATE(Ge) TONDAR_PREDICATE(LogicalAnd) TONDAR_PREDICATE(LogicalOr) TONDAR_PREDICATE(LogicalXor)
  TONDAR_BINARY(Max) TONDAR_BINARY(Min) TONDAR_BINARY(Fmax) TONDAR_BINARY(Fmin)
  t.ops[kTileLogicalNot][kLane] = Elementwise1<T, Bool, DoLogicalNot>;
  t.ops[kTileIsNan][kLane] = Elementwise1<T, Bool, DoIsNan>;
  t.ops[kTileIsInf][kLane] = Elementwise1<T, Bool, DoIsInf>;
  t.ops[kTileSelect][kLane] = SelectTile<T>;
  t.reduce[kReduceMax][kLane] = ReduceExtremum<T, DoMax>;
  t.reduce[kReduceMin][kLane] = ReduceExtremum<T, DoMin>;
  t.reduce[kReduceArgMax][kLane] = ReduceArg<T, BetterMax, DoMax>;
  t.reduce[kReduceArgMin][kLane] = ReduceArg<T, BetterMin, DoMin>;
  t.accumulate[kReduceMax][kLane] = Accumulate<T, DoMax>;
  t.accumulate[kReduceMin][kLane] = Accumulate<T, DoMin>;
  t.arg_accumulate[0][kLane] = ArgAccumulate<T, BetterMax>;
  t.arg_accumulate[1][kLane] = ArgAccumulate<T, BetterMin>;
}

template <Lane kLane, class T>
constexpr void FillNumber(LoopTable& t) {
  FillCommon<kLane, T>(t);
  TONDAR_UNARY(Neg) TONDAR_UNARY(Abs) TONDAR_UNARY(Sign) TONDAR_UNARY(Floor) TONDAR_UNARY(Ceil) TONDAR_UNARY(Trunc)
  TONDAR_UNARY(Round) TONDAR_UNARY(Relu)
  TONDAR_BINARY(Add) TONDAR_BINARY(Sub) TONDAR_BINARY(Mul) TONDAR_BINARY(Div)
  t.reduce[kReduceSum][kLane] = ReduceSum<T>;
  t.reduce[kReduceProduct][kLane] = ReduceProduct<T>;
  t.accumulate[kReduceSum][kLane] = Accumulate<T, DoAdd>;
  t.accumulate[kReduceProduct][kLane] = Accumulate<T, DoMul>;
  t.scan[0][kLane] = Scan<T, DoAdd>;
  t.scan[1][kLane] = Scan<T, DoMul>;
}

template <Lane kLane, class T>
constexpr void FillInteger(LoopTable& t) {
  FillNumber<kLane, T>(t);
  TONDAR_UNARY(BitNot)
  TONDAR_BINARY(FloorDiv) TONDAR_BINARY(Fmod) TONDAR_BINARY(Remainder) TONDAR_BINARY(Pow) TONDAR_BINARY(BitAnd)
  TONDAR_BINARY(BitOr) TONDAR_BINARY(BitXor) TONDAR_BINARY(ShiftLeft) TONDAR_BINARY(ShiftRight)
}

template <Lane kLane, class T>
constexpr void FillFloat(LoopTable& t) {
  FillNumber<kLane, T>(t);
  TONDAR_UNARY(Sqrt) TONDAR_UNARY(Rsqrt) TONDAR_UNARY(Reciprocal)
  TONDAR_BINARY(Copysign)
}

constexpr void FillBool(LoopTable& t) {
  FillCommon<kBool, Bool>(t);
  constexpr Lane kLane = kBool;
  using T = Bool;
  TONDAR_BINARY(BitAnd) TONDAR_BINARY(BitOr) TONDAR_BINARY(BitXor)
  t.ops[kTileAdd][kBool] = Elementwise2<T, T, DoLogicalOr>;
  t.ops[kTileMul][kBool] = Elementwise2<T, T, DoLogicalAnd>;
  t.ops[kTileBitNot][kBool] = Elementwise1<T, Bool, DoLogicalNot>;
  t.reduce[kReduceAll][kBool] = ReduceAll;
  t.reduce[kReduceAny][kBool] = ReduceAny;
  t.accumulate[kReduceAll][kBool] = Accumulate<T, DoLogicalAnd>;
  t.accumulate[kReduceAny][kBool] = Accumulate<T, DoLogicalOr>;
#undef TONDAR_UNARY
#undef TONDAR_BINARY
#undef TONDAR_PREDICATE
}

template <class From, Lane kFrom>
constexpr void FillCastsFrom(LoopTable& t) {
  t.casts[kFrom][kBool] = Elementwise1<From, Bool, DoCastToBool>;
  t.casts[kFrom][kU8] = Elementwise1<From, uint8_t, DoCast<uint8_t>>;
  t.casts[kFrom][kU16] = Elementwise1<From, uint16_t, DoCast<uint16_t>>;
  t.casts[kFrom][kU32] = Elementwise1<From, uint32_t, DoCast<uint32_t>>;
  t.casts[kFrom][kU64] = Elementwise1<From, uint64_t, DoCast<uint64_t>>;
  t.casts[kFrom][kI8] = Elementwise1<From, int8_t, DoCast<int8_t>>;
  t.casts[kFrom][kI16] = Elementwise1<From, int16_t, DoCast<int16_t>>;
  t.casts[kFrom][kI32] = Elementwise1<From, int32_t, DoCast<int32_t>>;
  t.casts[kFrom][kI64] = Elementwise1<From, int64_t, DoCast<int64_t>>;
  t.casts[kFrom][kF32] = Elementwise1<From, float, DoCast<float>>;
  t.casts[kFrom][kF64] = Elementwise1<From, double, DoCast<double>>;
}

constexpr void FillApproximations(LoopTable& t) {
  t.ops[kTileExp][kF32] = Vectorwise<VectorExp>;
  t.ops[kTileSigmoid][kF32] = Vectorwise<VectorSigmoid>;
  t.ops[kTileSilu][kF32] = Vectorwise<VectorSilu>;
  t.ops[kTileTanh][kF32] = Vectorwise<VectorTanh>;
  t.ops[kTileErf][kF32] = Vectorwise<VectorErf>;
  t.ops[kTileGelu][kF32] = Vectorwise<VectorGelu>;
  t.ops[kTileGeluTanh][kF32] = Vectorwise<VectorGeluTanh>;
  t.ops[kTileLog][kF32] = ThroughF64<WideLog>;
  t.ops[kTileLog2][kF32] = ThroughF64<WideLog2>;
  t.ops[kTileLog10][kF32] = ThroughF64<WideLog10>;
  t.ops[kTileLog1p][kF32] = ThroughF64<WideLog1p>;
  t.ops[kTileExp2][kF32] = ThroughF64<WideExp2>;
  t.ops[kTileExpm1][kF32] = ThroughF64<WideExpm1>;
  t.ops[kTileSin][kF32] = ThroughF64<WideSin<0>>;
  t.ops[kTileCos][kF32] = ThroughF64<WideSin<1>>;
}

constexpr void FillMovement(LoopTable& t) {
  t.load_bf16 = Elementwise1<uint16_t, float, DoLoadBf16>;
  t.store_bf16 = Elementwise1<float, uint16_t, DoStoreBf16>;
  t.round_bf16 = Elementwise1<float, float, DoRoundBf16>;
  t.load_f16 = Elementwise1<uint16_t, float, DoLoadF16>;
  t.store_f16 = Elementwise1<float, uint16_t, DoStoreF16>;
  t.round_f16 = Elementwise1<float, float, DoRoundF16>;
#define TONDAR_BY_SIZE(field, Function) \
  t.field[0] = Function<uint8_t>;       \
  t.field[1] = Function<uint16_t>;      \
  t.field[2] = Function<uint32_t>;      \
  t.field[3] = Function<uint64_t>;
  TONDAR_BY_SIZE(gather, Gather)
  TONDAR_BY_SIZE(scatter, Scatter)
  TONDAR_BY_SIZE(transpose, Transpose)
  TONDAR_BY_SIZE(pick, Pick)
#undef TONDAR_BY_SIZE
  t.locate = Locate;
}

constexpr LoopTable MakeLoopTable() {
  LoopTable t = {};
  FillBool(t);
  FillInteger<kU8, uint8_t>(t);
  FillInteger<kU16, uint16_t>(t);
  FillInteger<kU32, uint32_t>(t);
  FillInteger<kU64, uint64_t>(t);
  FillInteger<kI8, int8_t>(t);
  FillInteger<kI16, int16_t>(t);
  FillInteger<kI32, int32_t>(t);
  FillInteger<kI64, int64_t>(t);
  FillFloat<kF32, float>(t);
  FillFloat<kF64, double>(t);
  FillCastsFrom<Bool, kBool>(t);
  FillCastsFrom<uint8_t, kU8>(t);
  FillCastsFrom<uint16_t, kU16>(t);
  FillCastsFrom<uint32_t, kU32>(t);
  FillCastsFrom<uint64_t, kU64>(t);
  FillCastsFrom<int8_t, kI8>(t);
  FillCastsFrom<int16_t, kI16>(t);
  FillCastsFrom<int32_t, kI32>(t);
  FillCastsFrom<int64_t, kI64>(t);
  FillCastsFrom<float, kF32>(t);
  FillCastsFrom<double, kF64>(t);
  FillApproximations(t);
  FillMovement(t);
  t.bias[kActivationNone] = BiasFunction<kActivationNone>;
  t.bias[kActivationRelu] = BiasFunction<kActivationRelu>;
  t.bias[kActivationGelu] = BiasFunction<kActivationGelu>;
  t.bias[kActivationSilu] = BiasFunction<kActivationSilu>;
  t.bias_residual_relu = BiasResidualRelu;
  return t;
}

}  // namespace
}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_LOOP_KERNEL_H_
