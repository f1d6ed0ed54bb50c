#include "engine/accelerators/cpu/scalar_functions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace tondar::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// f32 goes through the f64 function, so that its result is rounded once.
template <typename T, double (*kFunction)(double)>
void Unary(void* d, const void* a, const void*, const void*, int64_t n) {
  T* out = static_cast<T*>(d);
  const T* x = static_cast<const T*>(a);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(kFunction(static_cast<double>(x[i])));
}

template <typename T, T (*kFunction)(T, T)>
void Binary(void* d, const void* a, const void* b, const void*, int64_t n) {
  T* out = static_cast<T*>(d);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  for (int64_t i = 0; i < n; ++i) out[i] = kFunction(x[i], y[i]);
}

double Exp(double x) { return std::exp(x); }
double Exp2(double x) { return std::exp2(x); }
double Expm1(double x) { return std::expm1(x); }
double Log(double x) { return std::log(x); }
double Log2(double x) { return std::log2(x); }
double Log10(double x) { return std::log10(x); }
double Log1p(double x) { return std::log1p(x); }
double Sin(double x) { return std::sin(x); }
double Cos(double x) { return std::cos(x); }
double Tan(double x) { return std::tan(x); }
double Asin(double x) { return std::asin(x); }
double Acos(double x) { return std::acos(x); }
double Atan(double x) { return std::atan(x); }
double Sinh(double x) { return std::sinh(x); }
double Cosh(double x) { return std::cosh(x); }
double Tanh(double x) { return std::tanh(x); }
double Asinh(double x) { return std::asinh(x); }
double Acosh(double x) { return std::acosh(x); }
double Atanh(double x) { return std::atanh(x); }
double Erf(double x) { return std::erf(x); }
double Erfc(double x) { return std::erfc(x); }
double Lgamma(double x) {
  int sign;  // lgamma itself writes a global
  return lgamma_r(x, &sign);
}
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Silu(double x) { return x / (1 + std::exp(-x)); }
double Gelu(double x) { return 0.5 * x * (1 + std::erf(x * std::numbers::sqrt2 / 2)); }
double GeluTanh(double x) {
  const double scale = std::sqrt(2 * std::numbers::inv_pi);
  return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
}

template <typename T>
T Pow(T x, T y) { return std::pow(x, y); }
template <typename T>
T Atan2(T x, T y) { return std::atan2(x, y); }
template <typename T>
T Hypot(T x, T y) { return std::hypot(x, y); }
template <typename T>
T Nextafter(T x, T y) { return std::nextafter(x, y); }
template <typename T>
T Fmod(T x, T y) { return std::fmod(x, y); }
template <typename T>
T Remainder(T x, T y) {
  const T rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
// The floor of the exact quotient, from the exact remainder: x / y itself may round up to an integer.
template <typename T>
T FloorDiv(T x, T y) {
  if (y == 0) return x / y;
  const T rest = std::fmod(x, y);
  T quotient = (x - rest) / y;
  if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), x / y);
  const T floor = std::floor(quotient);
  return quotient - floor > T(0.5) ? floor + 1 : floor;
}

template <double (*kFunction)(double)>
constexpr TileFunction UnaryFor(Lane lane) {
  return lane == kF32 ? Unary<float, kFunction> : (lane == kF64 ? Unary<double, kFunction> : nullptr);
}
template <float (*kFloat)(float, float), double (*kDouble)(double, double)>
constexpr TileFunction BinaryFor(Lane lane) {
  return lane == kF32 ? Binary<float, kFloat> : (lane == kF64 ? Binary<double, kDouble> : nullptr);
}

struct Row {
  TileOp op;
  TileFunction (*function)(Lane lane);
};

constexpr Row kRows[] = {
    {kTileExp, UnaryFor<Exp>},         {kTileExp2, UnaryFor<Exp2>},
    {kTileExpm1, UnaryFor<Expm1>},     {kTileLog, UnaryFor<Log>},
    {kTileLog2, UnaryFor<Log2>},       {kTileLog10, UnaryFor<Log10>},
    {kTileLog1p, UnaryFor<Log1p>},     {kTileSin, UnaryFor<Sin>},
    {kTileCos, UnaryFor<Cos>},         {kTileTan, UnaryFor<Tan>},
    {kTileAsin, UnaryFor<Asin>},       {kTileAcos, UnaryFor<Acos>},
    {kTileAtan, UnaryFor<Atan>},       {kTileSinh, UnaryFor<Sinh>},
    {kTileCosh, UnaryFor<Cosh>},       {kTileTanh, UnaryFor<Tanh>},
    {kTileAsinh, UnaryFor<Asinh>},     {kTileAcosh, UnaryFor<Acosh>},
    {kTileAtanh, UnaryFor<Atanh>},     {kTileErf, UnaryFor<Erf>},
    {kTileErfc, UnaryFor<Erfc>},       {kTileLgamma, UnaryFor<Lgamma>},
    {kTileDigamma, UnaryFor<Digamma>}, {kTileErfinv, UnaryFor<Erfinv>},
    {kTileSigmoid, UnaryFor<Sigmoid>}, {kTileSilu, UnaryFor<Silu>},
    {kTileGelu, UnaryFor<Gelu>},       {kTileGeluTanh, UnaryFor<GeluTanh>},
    {kTilePow, BinaryFor<Pow<float>, Pow<double>>},
    {kTileAtan2, BinaryFor<Atan2<float>, Atan2<double>>},
    {kTileHypot, BinaryFor<Hypot<float>, Hypot<double>>},
    {kTileNextafter, BinaryFor<Nextafter<float>, Nextafter<double>>},
    {kTileFmod, BinaryFor<Fmod<float>, Fmod<double>>},
    {kTileRemainder, BinaryFor<Remainder<float>, Remainder<double>>},
    {kTileFloorDiv, BinaryFor<FloorDiv<float>, FloorDiv<double>>},
};

}  // namespace

TileFunction ScalarFunction(TileOp op, Lane lane) {
  for (const Row& row : kRows) {
    if (row.op == op) return row.function(lane);
  }
  return nullptr;
}

// Recurrence up to x >= 10, then the asymptotic series (DLMF 5.11.2); reflection (DLMF 5.5.4) for x < 0.
double Digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x < 0) {
    if (x == std::floor(x)) return kNan;
    const double fraction = x - std::trunc(x);
    return Digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * fraction);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  const double z = 1 / (x * x);
  constexpr double kSeries[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
  double tail = 0;
  for (int i = 6; i >= 0; --i) tail = (tail + kSeries[i]) * z;
  return sum + std::log(x) - 0.5 / x - tail;
}

// Winitzki's closed form (relative error 2e-3), then Halley's iteration, on erfc where erf is close to 1.
double Erfinv(double y) {
  const double magnitude = std::fabs(y);
  if (!(magnitude <= 1)) return kNan;
  if (magnitude == 1) return std::copysign(kInfinity, y);
  constexpr double kA = 0.147;
  const double log = std::log1p(-y * y), half = 2 / (std::numbers::pi * kA) + log / 2;
  double x = std::sqrt(std::fmax(0.0, std::sqrt(half * half - log / kA) - half));
  for (int i = 0; i < 3; ++i) {
    const double error = magnitude < 0.5 ? std::erf(x) - magnitude : (1 - magnitude) - std::erfc(x);
    const double step = error / (2 * std::numbers::inv_sqrtpi * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return std::copysign(x, y);
}

}  // namespace tondar::cpu
