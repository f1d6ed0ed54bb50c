// Every loop operation on every dtype against a scalar reference, at every instruction set of the machine.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/accelerators/cpu/loop_support.h"
#include "engine/accelerators/cpu/loop_table.h"
#include "engine/accelerators/cpu/testing/loop_launch.h"
#include "engine/accelerators/cpu/tile_evaluator.h"
#include "engine/plan/loop_builder.h"

namespace tondar::cpu {
namespace {

constexpr DType kDTypes[] = {DType::kBool,  DType::kUInt8,  DType::kUInt16,   DType::kUInt32,  DType::kUInt64,
                             DType::kInt8,  DType::kInt16,  DType::kInt32,    DType::kInt64,   DType::kFloat16,
                             DType::kBFloat16, DType::kFloat32, DType::kFloat64};

std::vector<double> EdgeFloats() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {0.0,   -0.0, 1,    -1,   0.5,   -0.5,  1.5,  2.5,   -2.5,  kInfinity, -kInfinity, NAN,   1e-40, -1e-40, 3e38,
          -3e38, 100,  -100, 88.7, -87.3, -103.5, 0.62, -0.93, 1e-10, 3.9,       -4.1,       1e-20, 7,     -3,     65504};
}

std::vector<int64_t> EdgeIntegers(DType dtype) {
  const bool is_signed = InfoOf(dtype).kind == DTypeKind::kSigned;
  const int bits = static_cast<int>(SizeOf(dtype)) * 8;
  const auto lowest = is_signed ? static_cast<int64_t>(-1) << (bits - 1) : 0;
  const auto highest = is_signed ? ~lowest : (bits == 64 ? -1 : (int64_t{1} << bits) - 1);
  std::vector<int64_t> values = {0, 1, 2, 3, 5, 7, 31, 63, 100, lowest, highest, highest - 1};
  if (is_signed) values.insert(values.end(), {-1, -2, -7, -100, lowest + 1});
  return values;
}

// All pairs of edge values, then random ones. 1003 elements: no multiple of any vector.
constexpr int64_t kElements = 1003;
void FillPairs(TestTensor& a, TestTensor& b, std::mt19937& random) {
  const DType dtype = a.view().dtype;
  const std::vector<double> floats = EdgeFloats();
  const std::vector<int64_t> integers = EdgeIntegers(dtype);
  const size_t n = IsFloat(dtype) ? floats.size() : integers.size();
  for (size_t i = 0; i < static_cast<size_t>(kElements); ++i) {
    ReferenceScalar x, y;
    if (i < n * n) {
      if (IsFloat(dtype)) x.f = floats[i / n], y.f = floats[i % n];
      else x.i = integers[i / n], y.i = integers[i % n];
    } else {
      std::uniform_real_distribution<double> wide(-20, 20);
      x = {wide(random), static_cast<int64_t>(random())};
      y = {wide(random), static_cast<int64_t>(random() % 41) - 20};
    }
    if (dtype == DType::kBool) x.i &= 1, y.i &= 1;
    a.Set(static_cast<int64_t>(i), x);
    b.Set(static_cast<int64_t>(i), y);
  }
}

struct Tolerance {
  double relative, absolute;
};

// f32 against a correctly rounded result: 3 ulp for approximations. GELU loses relative precision where 1 + erf cancels.
Tolerance ToleranceOf(LoopOp op, DType dtype) {
  const bool cancels = op == LoopOp::kGelu || op == LoopOp::kGeluTanh;
  if (op == LoopOp::kSilu && dtype == DType::kFloat32) return {3.6e-7, 1e-43};  // e^-|x| is subnormal below -87
  switch (dtype) {
    case DType::kFloat16: return {1.0 / 1024, cancels ? 1e-5 : 6e-8};
    case DType::kBFloat16: return {1.0 / 128, cancels ? 1e-5 : 1e-38};
    case DType::kFloat32: return {3.6e-7, cancels ? 5e-6 : 1.5e-45};
    default: return {1e-13, 0};
  }
}

// The reference works in f64, which rounds twice where a 16-bit or 32-bit result is the neighbour of a tie, or where
// f64 remainders are exact and f32 ones of huge quotients are as well but differ in what counts as the quotient.
bool Comparable(LoopOp op, DType dtype, ReferenceScalar a, ReferenceScalar b) {
  if (op == LoopOp::kFloorDiv && IsFloat(dtype)) return std::isfinite(a.f) && std::isfinite(b.f) && b.f != 0 && std::fabs(a.f / b.f) < 1e6;
  if ((op == LoopOp::kSin || op == LoopOp::kCos || op == LoopOp::kTan) && dtype == DType::kFloat64) return std::fabs(a.f) < 1e300;
  // The sign of a zero or the payload of NaN is not compared; digamma and lgamma near poles magnify input rounding.
  if (op == LoopOp::kNextafter) return dtype == DType::kFloat32 || dtype == DType::kFloat64;
  return true;
}

std::string CompareOp(LoopOp op, DType dtype, const TestTensor& a, const TestTensor& b, const TestTensor& out) {
  const Tolerance tolerance = ToleranceOf(op, dtype);
  const DType result = out.view().dtype;
  for (int64_t i = 0; i < kElements; ++i) {
    if (!Comparable(op, dtype, a.At(i), b.At(i))) continue;
    const ReferenceScalar expected = EvaluateOp(op, result, dtype, a.At(i), b.At(i), {}), actual = out.At(i);
    const bool equal = IsFloat(result) ? actual.f == expected.f || (std::isnan(actual.f) && std::isnan(expected.f)) ||
                                             std::fabs(actual.f - expected.f) <= tolerance.absolute + tolerance.relative * std::fabs(expected.f)
                                       : actual.i == expected.i;
    if (!equal) {
      return fmt::format("f({:.9g}, {:.9g}) = {:.9g}, expected {:.9g}", ToDouble(a.At(i), dtype), ToDouble(b.At(i), dtype),
                         ToDouble(actual, result), ToDouble(expected, result));
    }
  }
  return "";
}

MapStep OneOp(LoopOp op, DType dtype) {
  LoopBuilder b;
  const Shape shape = {Dim(kElements)};
  const auto x = b.Load(BroadcastAccess(0, shape, 1), dtype);
  if (InfoOf(op).arity == 1) b.Result(b.Unary(op, x));
  else b.Result(b.Binary(op, x, b.Load(BroadcastAccess(1, shape, 1), dtype)));
  return {shape, std::move(b).Build()};
}

TEST(LoopOps, EveryOperationOnEveryDType) {
  int tested = 0;
  for (const IsaLevel level : SupportedIsaLevels()) {
    const CpuKernels kernels = KernelsFor(level, MicroArchitecture::kOther);
    for (int number = static_cast<int>(LoopOp::kNeg); number < static_cast<int>(LoopOp::kSelect); ++number) {
      const auto op = static_cast<LoopOp>(number);
      for (const DType dtype : kDTypes) {
        const MapStep step = OneOp(op, dtype);
        if (!TileEvaluator::Supports(step.program).ok()) continue;
        std::mt19937 random(static_cast<unsigned>(number));
        TestTensor a(dtype, {kElements}), b(dtype, {kElements});
        FillPairs(a, b, random);
        TestTensor out(InfoOf(op).gives_bool ? DType::kBool : dtype, {kElements});
        const TensorView inputs[] = {a.view(), b.view()}, outputs[] = {out.view()};
        const Status status = LaunchStep(step, {inputs, outputs, {}}, kernels);
        ASSERT_TRUE(status.ok()) << status.ToString();
        EXPECT_EQ(CompareOp(op, dtype, a, b, out), "") << InfoOf(op).name << " of " << Name(dtype) << " at " << Name(level);
        ++tested;
      }
    }
  }
  // 31 floating-point functions on four dtypes alone; a table that lost its rows must not pass.
  EXPECT_GT(tested, 500);
}

TEST(LoopOps, FloatsSupportEverything) {
  for (int number = static_cast<int>(LoopOp::kNeg); number < static_cast<int>(LoopOp::kSelect); ++number) {
    const auto op = static_cast<LoopOp>(number);
    if (op == LoopOp::kBitNot || (op >= LoopOp::kBitAnd && op <= LoopOp::kShiftRight)) continue;
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
      EXPECT_TRUE(TileEvaluator::Supports(OneOp(op, dtype).program).ok()) << InfoOf(op).name << " of " << Name(dtype);
    }
  }
}

TEST(LoopOps, CastsBetweenAllDTypes) {
  for (const IsaLevel level : SupportedIsaLevels()) {
    const CpuKernels kernels = KernelsFor(level, MicroArchitecture::kOther);
    for (const DType from : kDTypes) {
      for (const DType to : kDTypes) {
        LoopBuilder b;
        const Shape shape = {Dim(kElements)};
        b.Result(b.Cast(b.Load(BroadcastAccess(0, shape, 1), from), to));
        const MapStep step{shape, std::move(b).Build()};
        std::mt19937 random(7);
        TestTensor a(from, {kElements}), unused(from, {kElements}), out(to, {kElements});
        FillPairs(a, unused, random);
        if (IsFloat(from) && !IsFloat(to)) {  // out of range is undefined: stay within what every integer dtype holds
          for (int64_t i = 0; i < kElements; ++i) {
            const double x = a.At(i).f;
            if (!(std::fabs(x) < 100) || (x < 0 && InfoOf(to).kind != DTypeKind::kSigned)) a.Set(i, {25.75, 0});
          }
        }
        const TensorView inputs[] = {a.view()}, outputs[] = {out.view()};
        ASSERT_TRUE(LaunchStep(step, {inputs, outputs, {}}, kernels).ok());
        for (int64_t i = 0; i < kElements; ++i) {
          const ReferenceScalar expected = EvaluateOp(LoopOp::kCast, to, from, a.At(i), {}, {}), actual = out.At(i);
          const bool equal = IsFloat(to) ? actual.f == expected.f || (std::isnan(actual.f) && std::isnan(expected.f))
                                         : actual.i == expected.i;
          ASSERT_TRUE(equal) << Name(from) << " to " << Name(to) << " at " << Name(level) << " of "
                             << ToDouble(a.At(i), from) << ": " << ToDouble(actual, to) << ", expected " << ToDouble(expected, to);
        }
      }
    }
  }
}

// --- Accuracy of the approximations over all of f32 ---------------------------------------------------------------------

struct Function {
  LoopOp op;
  double max_ulp;
};

double UlpOf(float value) {
  const float magnitude = std::max(std::fabs(value), std::numeric_limits<float>::min());
  return static_cast<double>(std::nextafter(magnitude, INFINITY)) - static_cast<double>(magnitude);
}

TEST(LoopOps, ApproximationsAreWithinTheirUlps) {
  constexpr Function kFunctions[] = {
      {LoopOp::kExp, 1.2},   {LoopOp::kTanh, 2.0}, {LoopOp::kErf, 2.0},   {LoopOp::kSigmoid, 2.5}, {LoopOp::kSilu, 3.0},
      {LoopOp::kLog, 0.51},  {LoopOp::kLog2, 0.51}, {LoopOp::kLog10, 0.51}, {LoopOp::kLog1p, 0.51}, {LoopOp::kExp2, 0.51},
      {LoopOp::kExpm1, 0.51}, {LoopOp::kSin, 0.51}, {LoopOp::kCos, 0.51},
  };
  for (const IsaLevel level : SupportedIsaLevels()) {
    if (level > IsaLevel::kAvx512) continue;  // the same functions
    const CpuKernels kernels = KernelsFor(level, MicroArchitecture::kOther);
    for (const Function& function : kFunctions) {
      double worst = 0;
      float worst_at = 0;
      std::vector<float> x(4096), y(4096);
      for (uint64_t bits = 0; bits < (uint64_t{1} << 32);) {
        size_t n = 0;
        for (; n < x.size() && bits < (uint64_t{1} << 32); bits += 10007) x[n++] = std::bit_cast<float>(static_cast<uint32_t>(bits));
        kernels.loop->ops[static_cast<int>(function.op)][kF32](y.data(), x.data(), nullptr, nullptr, static_cast<int64_t>(n));
        for (size_t i = 0; i < n; ++i) {
          const double expected = EvaluateOp(function.op, DType::kFloat64, DType::kFloat64, {static_cast<double>(x[i]), 0}, {}, {}).f;
          const float rounded = static_cast<float>(expected);
          if (std::isnan(rounded) || std::isinf(rounded)) {
            ASSERT_TRUE(std::isnan(rounded) ? std::isnan(y[i]) : y[i] == rounded)
                << InfoOf(function.op).name << "(" << x[i] << ") = " << y[i] << " at " << Name(level);
            continue;
          }
          if (function.op == LoopOp::kSilu && x[i] < -87) continue;  // a subnormal factor has fewer bits
          const double ulps = std::fabs(static_cast<double>(y[i]) - expected) / UlpOf(rounded);
          if (!(ulps <= worst)) worst = ulps, worst_at = x[i];
        }
      }
      EXPECT_LE(worst, function.max_ulp) << InfoOf(function.op).name << "(" << worst_at << ") at " << Name(level);
    }
  }
}

// The last elements of a tile go through the same arithmetic as the others: batch invariance rests on it.
TEST(LoopOps, ResultsDoNotDependOnThePosition) {
  for (const IsaLevel level : SupportedIsaLevels()) {
    const CpuKernels kernels = KernelsFor(level, MicroArchitecture::kOther);
    for (int op = kTileNeg; op < kTileSelect; ++op) {
      const TileFunction function = kernels.loop->ops[op][kF32];
      if (function == nullptr) continue;
      std::mt19937 random(3);
      std::vector<float> a(67), b(67), all(67), one(67);
      for (float& x : a) x = std::uniform_real_distribution<float>(-12, 12)(random);
      for (float& x : b) x = std::uniform_real_distribution<float>(-12, 12)(random);
      const size_t size = InfoOf(static_cast<LoopOp>(op)).gives_bool ? 1 : 4;
      function(all.data(), a.data(), b.data(), nullptr, 67);
      for (int64_t i = 0; i < 67; ++i) {
        function(reinterpret_cast<std::byte*>(one.data()) + static_cast<size_t>(i) * size, a.data() + i, b.data() + i, nullptr, 1);
      }
      EXPECT_EQ(std::memcmp(all.data(), one.data(), 67 * size), 0) << InfoOf(static_cast<LoopOp>(op)).name << " at " << Name(level);
    }
  }
}

TEST(ScalarFunctions, DigammaAndErfinv) {
  // DLMF: psi(1) = -gamma; psi(1/2) = -gamma - 2 ln 2. Erfinv inverts std::erf.
  constexpr double kEulerGamma = 0.57721566490153286061;
  EXPECT_NEAR(EvaluateOp(LoopOp::kDigamma, DType::kFloat64, DType::kFloat64, {1, 0}, {}, {}).f, -kEulerGamma, 1e-14);
  EXPECT_NEAR(EvaluateOp(LoopOp::kDigamma, DType::kFloat64, DType::kFloat64, {0.5, 0}, {}, {}).f, -kEulerGamma - 2 * std::log(2), 1e-14);
  for (double x = -3; x < 3; x += 0.0137) {
    EXPECT_NEAR(EvaluateOp(LoopOp::kErfinv, DType::kFloat64, DType::kFloat64, {std::erf(x), 0}, {}, {}).f, x, 1e-11);
  }
}

}  // namespace
}  // namespace tondar::cpu
