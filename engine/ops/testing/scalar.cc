#include "engine/ops/testing/scalar.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "engine/base/status.h"
#include "engine/types/float8.h"

namespace tondar {
namespace {

template <typename T>
T ReadAs(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void WriteAs(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

int64_t Wrap(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::kBool: return value != 0;
    case DType::kUInt8: return static_cast<uint8_t>(value);
    case DType::kUInt16: return static_cast<uint16_t>(value);
    case DType::kUInt32: return static_cast<uint32_t>(value);
    case DType::kInt8: return static_cast<int8_t>(value);
    case DType::kInt16: return static_cast<int16_t>(value);
    case DType::kInt32: return static_cast<int32_t>(value);
    default: return value;
  }
}

// A float of 8 bits with `mantissa` bits below the exponent; the finite kinds' special values are the caller's.
double SmallFloat(uint8_t bits, int mantissa, int bias) {
  const int exponent = (bits & 0x7f) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
  const double significand = fraction + (exponent > 0 ? 1 << mantissa : 0);
  const double magnitude = std::ldexp(significand, std::max(exponent, 1) - bias - mantissa);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

double E4M3(uint8_t bits) { return (bits & 0x7f) == 0x7f ? NAN : SmallFloat(bits, 3, 7); }

double E5M2(uint8_t bits) {
  if ((bits & 0x7c) != 0x7c) return SmallFloat(bits, 2, 15);
  return (bits & 3) != 0 ? NAN : (bits & 0x80) != 0 ? -INFINITY : INFINITY;
}

double E8M0(uint8_t bits) { return bits == 255 ? NAN : std::ldexp(1.0, bits - 127); }

double Round(double value, DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return Float16ToFloat(FloatToFloat16(static_cast<float>(value)));
    case DType::kBFloat16: return BFloat16ToFloat(FloatToBFloat16(static_cast<float>(value)));
    case DType::kFloat32: return static_cast<float>(value);
    default: return IsFloat8(dtype) ? Float8ToFloat(dtype, FloatToFloat8(dtype, static_cast<float>(value))) : value;
  }
}

// psi(x), by recurrence up to 10 and its asymptotic series (Abramowitz and Stegun 6.3.18).
double Digamma(double x) {
  if (x == 0) return std::copysign(INFINITY, -x);
  if (x < 0) {
    if (x == std::floor(x)) return NAN;
    return Digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * x);
  }
  double shift = 0;
  for (; x < 10; x += 1) shift -= 1 / x;
  const double r = 1 / (x * x);
  return shift + std::log(x) - 0.5 / x - r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132))));
}

// Newton's method on erf from Winitzki's approximation.
double Erfinv(double y) {
  if (y <= -1 || y >= 1) return std::fabs(y) == 1 ? std::copysign(INFINITY, y) : NAN;
  if (std::isnan(y)) return y;
  const double ln = std::log1p(-y * y), a = 0.147, half = 2 / (std::numbers::pi * a) + ln / 2;
  double x = std::copysign(std::sqrt(std::sqrt(half * half - ln / a) - half), y);
  for (int i = 0; i < 3; ++i) x -= (std::erf(x) - y) / (2 / std::sqrt(std::numbers::pi) * std::exp(-x * x));
  return x;
}

double UnaryReal(LoopOp op, double x) {
  switch (op) {
    case LoopOp::kNeg: return -x;
    case LoopOp::kAbs: return std::fabs(x);
    case LoopOp::kSign: return std::isnan(x) ? x : (x > 0) - (x < 0);
    case LoopOp::kFloor: return std::floor(x);
    case LoopOp::kCeil: return std::ceil(x);
    case LoopOp::kTrunc: return std::trunc(x);
    case LoopOp::kRound: return std::nearbyint(x);
    case LoopOp::kSqrt: return std::sqrt(x);
    case LoopOp::kRsqrt: return 1 / std::sqrt(x);
    case LoopOp::kReciprocal: return 1 / x;
    case LoopOp::kExp: return std::exp(x);
    case LoopOp::kExp2: return std::exp2(x);
    case LoopOp::kExpm1: return std::expm1(x);
    case LoopOp::kLog: return std::log(x);
    case LoopOp::kLog2: return std::log2(x);
    case LoopOp::kLog10: return std::log10(x);
    case LoopOp::kLog1p: return std::log1p(x);
    case LoopOp::kSin: return std::sin(x);
    case LoopOp::kCos: return std::cos(x);
    case LoopOp::kTan: return std::tan(x);
    case LoopOp::kAsin: return std::asin(x);
    case LoopOp::kAcos: return std::acos(x);
    case LoopOp::kAtan: return std::atan(x);
    case LoopOp::kSinh: return std::sinh(x);
    case LoopOp::kCosh: return std::cosh(x);
    case LoopOp::kTanh: return std::tanh(x);
    case LoopOp::kAsinh: return std::asinh(x);
    case LoopOp::kAcosh: return std::acosh(x);
    case LoopOp::kAtanh: return std::atanh(x);
    case LoopOp::kErf: return std::erf(x);
    case LoopOp::kErfc: return std::erfc(x);
    case LoopOp::kLgamma: return std::lgamma(x);
    case LoopOp::kDigamma: return Digamma(x);
    case LoopOp::kErfinv: return Erfinv(x);
    case LoopOp::kSigmoid: return 1 / (1 + std::exp(-x));
    case LoopOp::kRelu: return x < 0 ? 0 : x;
    case LoopOp::kGelu: return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case LoopOp::kGeluTanh: return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case LoopOp::kSilu: return x / (1 + std::exp(-x));
    default: TONDAR_CHECK(false, "no {} of floats", InfoOf(op).name);
  }
}

int64_t UnaryWhole(LoopOp op, int64_t x) {
  switch (op) {
    case LoopOp::kNeg: return -x;
    case LoopOp::kAbs: return x < 0 ? -x : x;
    case LoopOp::kSign: return (x > 0) - (x < 0);
    case LoopOp::kRelu: return x < 0 ? 0 : x;
    case LoopOp::kBitNot: return ~x;
    default: TONDAR_CHECK(false, "no {} of integers", InfoOf(op).name);
  }
}

double RemainderReal(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double MaxReal(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b); }
double MinReal(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b); }

double BinaryReal(LoopOp op, double a, double b, DType dtype) {
  switch (op) {
    case LoopOp::kAdd: return a + b;
    case LoopOp::kSub: return a - b;
    case LoopOp::kMul: return a * b;
    case LoopOp::kDiv: return a / b;
    case LoopOp::kFloorDiv: return b == 0 ? a / b : std::floor(Round(a / b, dtype));
    case LoopOp::kFmod: return std::fmod(a, b);
    case LoopOp::kRemainder: return RemainderReal(a, b);
    case LoopOp::kPow: return std::pow(a, b);
    case LoopOp::kAtan2: return std::atan2(a, b);
    case LoopOp::kHypot: return std::hypot(a, b);
    case LoopOp::kCopysign: return std::copysign(a, b);
    case LoopOp::kNextafter:
      return dtype == DType::kFloat64 ? std::nextafter(a, b) : std::nextafter(static_cast<float>(a), static_cast<float>(b));
    case LoopOp::kMax: return MaxReal(a, b);
    case LoopOp::kMin: return MinReal(a, b);
    case LoopOp::kFmax: return std::fmax(a, b);
    case LoopOp::kFmin: return std::fmin(a, b);
    default: TONDAR_CHECK(false, "no {} of floats", InfoOf(op).name);
  }
}

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t PowWhole(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64_t power = 1;
  for (int64_t i = 0; i < exponent; ++i) power *= static_cast<uint64_t>(base);
  return static_cast<int64_t>(power);
}

int64_t BinaryWhole(LoopOp op, int64_t a, int64_t b) {
  const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case LoopOp::kAdd: return static_cast<int64_t>(x + y);
    case LoopOp::kSub: return static_cast<int64_t>(x - y);
    case LoopOp::kMul: return static_cast<int64_t>(x * y);
    case LoopOp::kDiv: return b == 0 ? 0 : b == -1 ? static_cast<int64_t>(0 - x) : a / b;
    case LoopOp::kFloorDiv: return b == 0 ? 0 : b == -1 ? static_cast<int64_t>(0 - x) : FloorDivide(a, b);
    case LoopOp::kFmod: return b == 0 || b == -1 ? 0 : a % b;
    case LoopOp::kRemainder: return b == 0 || b == -1 ? 0 : a - FloorDivide(a, b) * b;
    case LoopOp::kPow: return PowWhole(a, b);
    case LoopOp::kMax: case LoopOp::kFmax: return std::max(a, b);
    case LoopOp::kMin: case LoopOp::kFmin: return std::min(a, b);
    case LoopOp::kBitAnd: return a & b;
    case LoopOp::kBitOr: return a | b;
    case LoopOp::kBitXor: return a ^ b;
    case LoopOp::kShiftLeft: return b < 0 || b > 63 ? 0 : static_cast<int64_t>(x << y);
    case LoopOp::kShiftRight: return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b;
    default: TONDAR_CHECK(false, "no {} of integers", InfoOf(op).name);
  }
}

template <typename T>
bool Compare(LoopOp op, T a, T b) {
  switch (op) {
    case LoopOp::kEq: return a == b;
    case LoopOp::kNe: return a != b;
    case LoopOp::kLt: return a < b;
    case LoopOp::kLe: return a <= b;
    case LoopOp::kGt: return a > b;
    default: return a >= b;
  }
}

bool TestBinary(LoopOp op, const Scalar& a, const Scalar& b) {
  switch (op) {
    case LoopOp::kLogicalAnd: return a.Truth() && b.Truth();
    case LoopOp::kLogicalOr: return a.Truth() || b.Truth();
    case LoopOp::kLogicalXor: return a.Truth() != b.Truth();
    default: return a.IsReal() ? Compare(op, a.real, b.real) : Compare(op, a.whole, b.whole);
  }
}

bool TestUnary(LoopOp op, const Scalar& a) {
  switch (op) {
    case LoopOp::kLogicalNot: return !a.Truth();
    case LoopOp::kIsNan: return a.IsReal() && std::isnan(a.real);
    default: return a.IsReal() && std::isinf(a.real);
  }
}

}  // namespace

Scalar RealScalar(double value, DType dtype) { return {dtype, Round(value, dtype), 0}; }
Scalar WholeScalar(int64_t value, DType dtype) { return {dtype, 0, Wrap(value, dtype)}; }

Scalar ConvertScalar(const Scalar& x, DType dtype) {
  if (dtype == DType::kBool) return WholeScalar(x.Truth(), dtype);
  if (IsFloat(dtype)) return RealScalar(x.AsReal(), dtype);
  if (!x.IsReal()) return WholeScalar(x.whole, dtype);
  const double limit = 9.2e18;  // beyond, the conversion is undefined; any value will do
  return WholeScalar(std::fabs(x.real) < limit ? static_cast<int64_t>(x.real) : INT64_MIN, dtype);
}

Scalar ReadScalar(const std::byte* from, DType dtype) {
  switch (dtype) {
    case DType::kBool: return WholeScalar(ReadAs<uint8_t>(from) != 0, dtype);
    case DType::kUInt8: return WholeScalar(ReadAs<uint8_t>(from), dtype);
    case DType::kUInt16: return WholeScalar(ReadAs<uint16_t>(from), dtype);
    case DType::kUInt32: return WholeScalar(ReadAs<uint32_t>(from), dtype);
    case DType::kInt8: return WholeScalar(ReadAs<int8_t>(from), dtype);
    case DType::kInt16: return WholeScalar(ReadAs<int16_t>(from), dtype);
    case DType::kInt32: return WholeScalar(ReadAs<int32_t>(from), dtype);
    case DType::kUInt64:
    case DType::kInt64: return WholeScalar(ReadAs<int64_t>(from), dtype);
    case DType::kFloat16: return RealScalar(Float16ToFloat(ReadAs<uint16_t>(from)), dtype);
    case DType::kBFloat16: return RealScalar(BFloat16ToFloat(ReadAs<uint16_t>(from)), dtype);
    case DType::kFloat32: return RealScalar(ReadAs<float>(from), dtype);
    case DType::kFloat64: return RealScalar(ReadAs<double>(from), dtype);
    case DType::kFloat8E4M3FN: return RealScalar(E4M3(ReadAs<uint8_t>(from)), dtype);
    case DType::kFloat8E5M2: return RealScalar(E5M2(ReadAs<uint8_t>(from)), dtype);
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2FNUZ: return RealScalar(Float8ToFloat(dtype, ReadAs<uint8_t>(from)), dtype);
    case DType::kFloat8E8M0: return RealScalar(E8M0(ReadAs<uint8_t>(from)), dtype);
    default: TONDAR_CHECK(false, "no scalars of {}", Name(dtype));
  }
}

void WriteScalar(const Scalar& x, std::byte* to) {
  if (!x.IsReal()) return std::memcpy(to, &x.whole, SizeOf(x.dtype)), void();  // little-endian
  switch (x.dtype) {
    case DType::kFloat16: return WriteAs(FloatToFloat16(static_cast<float>(x.real)), to);
    case DType::kBFloat16: return WriteAs(FloatToBFloat16(static_cast<float>(x.real)), to);
    case DType::kFloat32: return WriteAs(static_cast<float>(x.real), to);
    case DType::kFloat64: return WriteAs(x.real, to);
    default: break;
  }
  TONDAR_CHECK(IsFloat8(x.dtype), "no scalars of {}", Name(x.dtype));
  WriteAs(FloatToFloat8(x.dtype, static_cast<float>(x.real)), to);
}

Scalar ApplyUnary(LoopOp op, const Scalar& a) {
  if (InfoOf(op).gives_bool) return WholeScalar(TestUnary(op, a), DType::kBool);
  return a.IsReal() ? RealScalar(UnaryReal(op, a.real), a.dtype) : WholeScalar(UnaryWhole(op, a.whole), a.dtype);
}

Scalar ApplyBinary(LoopOp op, const Scalar& a, const Scalar& b) {
  if (InfoOf(op).gives_bool) return WholeScalar(TestBinary(op, a, b), DType::kBool);
  return a.IsReal() ? RealScalar(BinaryReal(op, a.real, b.real, a.dtype), a.dtype)
                    : WholeScalar(BinaryWhole(op, a.whole, b.whole), a.dtype);
}

}  // namespace tondar
