#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/accelerators/cpu/library_kernels.h"
#include "engine/accelerators/cpu/testing/step_harness.h"
#include "engine/plan/loop_builder.h"

namespace tondar::cpu {
namespace {

std::vector<double> ReferenceRow(const NormStep& step, const std::vector<double>& x, const std::vector<double>& weight,
                                 const std::vector<double>& bias) {
  const double n = static_cast<double>(x.size());
  std::vector<double> out(x.size());
  double most = -std::numeric_limits<double>::infinity(), sum = 0, mean = 0, square = 0;
  for (double v : x) most = std::max(most, v);
  for (double v : x) sum += std::exp(v - most);
  if (step.kind == NormKind::kLayerNorm)
    for (double v : x) mean += v / n;
  for (double v : x) square += (v - mean) * (v - mean) / n;
  for (size_t i = 0; i < x.size(); ++i) {
    switch (step.kind) {
      case NormKind::kSoftmax: out[i] = std::exp(x[i] - most) / sum; break;
      case NormKind::kLogSoftmax: out[i] = x[i] - most - std::log(sum); break;
      default:
        out[i] = (x[i] - mean) / std::sqrt(square + step.epsilon) * (step.has_weight ? weight[i] : 1) +
                 (step.has_bias ? bias[i] : 0);
    }
  }
  return out;
}

// Rows over the outer dims, elements over the trailing `axes`, both row-major.
void ExpectNorm(const NormStep& step, const StepTensor& x, const StepTensor& weight, const StepTensor& bias, const StepTensor& out,
                double tolerance) {
  Dims outer, inner;
  for (int d = 0; d < x.view().shape.rank(); ++d)
    (d < x.view().shape.rank() - step.axes ? outer : inner).push_back(x.view().shape[static_cast<size_t>(d)]);
  ForEachIndex(outer, [&](const Dims& o) {
    std::vector<double> values, w, b;
    const auto at = [&](const Dims& i) {
      Dims index = o;
      for (int64_t v : i) index.push_back(v);
      return index;
    };
    ForEachIndex(inner, [&](const Dims& i) {
      values.push_back(x.Get(at(i)));
      if (step.has_weight) w.push_back(weight.Get(i));
      if (step.has_bias) b.push_back(bias.Get(i));
    });
    const std::vector<double> expected = ReferenceRow(step, values, w, b);
    size_t i = 0;
    ForEachIndex(inner, [&](const Dims& index) {
      ASSERT_NEAR(out.Get(at(index)), expected[i], tolerance * (1 + std::abs(expected[i]))) << ToString(at(index));
      ++i;
    });
  });
  EXPECT_TRUE(out.GuardsIntact());
}

const NormKind kKinds[] = {NormKind::kSoftmax, NormKind::kLogSoftmax, NormKind::kLayerNorm, NormKind::kRmsNorm};

struct TypeCase {
  DType x, out;
  double tolerance;
};

void Check(NormKind kind, const Dims& shape, const Dims& order, int axes, bool has_weight, bool has_bias, const TypeCase& type) {
  std::mt19937 random(31);
  NormStep step;
  step.kind = kind;
  step.axes = axes;
  step.epsilon = 1e-5;
  const bool norm = kind == NormKind::kLayerNorm || kind == NormKind::kRmsNorm;
  step.has_weight = norm && has_weight;
  step.has_bias = norm && has_bias;
  Dims inner;
  for (int d = shape.rank() - axes; d < shape.rank(); ++d) inner.push_back(shape[static_cast<size_t>(d)]);
  StepTensor x(type.x, shape, order), weight(type.x, inner), bias(type.x, inner);
  for (StepTensor* t : {&x, &weight, &bias}) t->FillRandom(random);
  std::vector<StepTensor> inputs{x};
  if (step.has_weight) inputs.push_back(weight);
  if (step.has_bias) inputs.push_back(bias);
  for (IsaLevel level : SupportedIsaLevels()) {
    for (int threads : {1, 3}) {
      SCOPED_TRACE(fmt::format("kind {} {} {} {}", static_cast<int>(kind), ToString(shape), Name(type.x), Name(level)));
      StepTensor out(type.out, shape, order);
      ASSERT_TRUE(BoundStep(step, inputs, out, {level, MicroArchitecture::kOther, threads, {}}).Run().ok());
      ExpectNorm(step, x, weight, bias, out, type.tolerance);
    }
  }
}

const TypeCase kSingle{DType::kFloat32, DType::kFloat32, 2e-6};

TEST(Norm, LengthsOnEveryIsa) {
  for (NormKind kind : kKinds) {
    for (int64_t n : {1, 3, 10, 16, 33, 64, 127, 384, 5000}) Check(kind, {7, n}, {0, 1}, 1, true, true, kSingle);
    Check(kind, {2, 50, 96}, {0, 1, 2}, 1, true, false, kSingle);
  }
}

TEST(Norm, WeightAndBiasAreOptional) {
  for (NormKind kind : {NormKind::kLayerNorm, NormKind::kRmsNorm})
    for (bool weight : {false, true})
      for (bool bias : {false, true}) Check(kind, {5, 40}, {0, 1}, 1, weight, bias, kSingle);
}

TEST(Norm, StridesAndSeveralAxes) {
  for (NormKind kind : kKinds) {
    Check(kind, {6, 45}, {1, 0}, 1, true, true, kSingle);
    Check(kind, {4, 3, 20}, {1, 0, 2}, 1, true, true, kSingle);
    Check(kind, {4, 3, 20}, {0, 1, 2}, 2, true, true, kSingle);
    Check(kind, {4, 3, 20}, {0, 2, 1}, 2, true, true, kSingle);
    Check(kind, {3, 20}, {0, 1}, 2, true, true, kSingle);
  }
}

TEST(Norm, OtherTypes) {
  for (NormKind kind : kKinds) {
    Check(kind, {5, 70}, {0, 1}, 1, true, true, {DType::kFloat64, DType::kFloat64, 1e-13});
    Check(kind, {5, 70}, {0, 1}, 1, true, true, {DType::kFloat16, DType::kFloat32, 2e-6});
    Check(kind, {5, 70}, {0, 1}, 1, true, true, {DType::kBFloat16, DType::kBFloat16, 1e-2});
  }
}

TEST(Norm, EmptyShapes) {
  for (NormKind kind : kKinds) {
    Check(kind, {0, 8}, {0, 1}, 1, true, true, kSingle);
    Check(kind, {4, 0}, {0, 1}, 1, true, true, kSingle);
  }
}

// A large mean may not eat the variance.
TEST(Norm, VarianceOfShiftedRows) {
  NormStep step;
  step.kind = NormKind::kLayerNorm;
  StepTensor x(DType::kFloat32, {1, 256}), out(DType::kFloat32, {1, 256});
  for (int64_t i = 0; i < 256; ++i) x.Set({0, i}, 10000 + (i % 2 == 0 ? 1 : -1));
  for (IsaLevel level : SupportedIsaLevels()) {
    ASSERT_TRUE(BoundStep(step, {x}, out, {level, MicroArchitecture::kOther, 1, {}}).Run().ok());
    EXPECT_NEAR(out.Get({0, 0}), 1, 1e-4);
    EXPECT_NEAR(out.Get({0, 1}), -1, 1e-4);
  }
}

TEST(Norm, SoftmaxOfInfinitiesAndNan) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  NormStep step;
  StepTensor x(DType::kFloat32, {4, 20}), out(DType::kFloat32, {4, 20});
  for (int64_t i = 0; i < 20; ++i) {
    x.Set({0, i}, i % 2 == 0 ? -inf : 1);
    x.Set({1, i}, -inf);
    x.Set({2, i}, i == 18 ? nan : 0);
    x.Set({3, i}, i == 3 ? inf : 0);
  }
  for (IsaLevel level : SupportedIsaLevels()) {
    ASSERT_TRUE(BoundStep(step, {x}, out, {level, MicroArchitecture::kOther, 1, {}}).Run().ok());
    EXPECT_EQ(out.Get({0, 0}), 0);
    EXPECT_NEAR(out.Get({0, 1}), 0.1, 1e-6);
    EXPECT_TRUE(std::isnan(out.Get({1, 5})));
    EXPECT_TRUE(std::isnan(out.Get({2, 0})));
    EXPECT_TRUE(std::isnan(out.Get({3, 3})));
  }
}

TEST(Norm, EpilogueAndRowsDoNotDependOnTheirNeighbours) {
  std::mt19937 random(33);
  for (NormKind kind : kKinds) {
    NormStep step;
    step.kind = kind;
    step.epsilon = 1e-5;
    LoopBuilder b;
    b.Result(b.Binary(LoopOp::kMul, b.Accumulator(0, DType::kFloat32), b.Constant(2, DType::kFloat32)));
    StepTensor x(DType::kFloat32, {37, 100}), whole(DType::kFloat32, {37, 100}), doubled(DType::kFloat32, {37, 100});
    x.FillRandom(random);
    for (IsaLevel level : SupportedIsaLevels()) {
      ASSERT_TRUE(BoundStep(step, {x}, whole, {level, MicroArchitecture::kOther, 1, {}}).Run().ok());
      NormStep twice = step;
      twice.epilogue = LoopBuilder(b).Build();
      ASSERT_TRUE(BoundStep(twice, {x}, doubled, {level, MicroArchitecture::kOther, 3, {}}).Run().ok());
      for (int64_t row = 0; row < 37; ++row) {
        StepTensor out(DType::kFloat32, {1, 100});
        const StepTensor part = x.As({1, 100}, {100, 1}, row * 100);
        ASSERT_TRUE(BoundStep(step, {part}, out, {level, MicroArchitecture::kOther, 2, {}}).Run().ok());
        ASSERT_EQ(0, std::memcmp(out.view().data, whole.view().data + row * 400, 400));
        for (int64_t i = 0; i < 100; ++i) ASSERT_EQ(doubled.Get({row, i}), 2 * whole.Get({row, i}));
      }
    }
  }
}

}  // namespace
}  // namespace tondar::cpu
