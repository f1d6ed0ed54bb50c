#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/accelerators/cpu/library_kernels.h"
#include "engine/accelerators/cpu/testing/step_harness.h"
#include "engine/plan/loop_builder.h"

namespace tondar::cpu {
namespace {

// a: [batch..., M, K] and b: [batch..., K, N] with extents of 1 repeating.
double Product(const StepTensor& a, const StepTensor& b, Dims index) {
  const size_t rank = index.size();
  const int64_t depth = a.view().shape[rank - 1], column = index[rank - 1];
  Dims at_a = index, at_b = index;
  at_b[rank - 1] = column;
  double sum = 0;
  for (int64_t k = 0; k < depth; ++k) {
    at_a[rank - 1] = k;
    at_b[rank - 2] = k;
    sum += a.Get(at_a) * b.Get(at_b);
  }
  return sum;
}

void ExpectProduct(const StepTensor& a, const StepTensor& b, const StepTensor& out, double tolerance) {
  const double scale = std::sqrt(static_cast<double>(a.view().shape[a.view().shape.size() - 1]) + 1);
  int64_t wrong = 0;
  ForEachIndex(out.view().shape, [&](const Dims& index) {
    const double expected = Product(a, b, index), found = out.Get(index);
    if (!(std::abs(found - expected) <= tolerance * (scale + std::abs(expected))) && wrong++ < 3)
      ADD_FAILURE() << "at " << ToString(index) << ": expected " << expected << ", found " << found;
  });
  EXPECT_TRUE(out.GuardsIntact());
  EXPECT_EQ(wrong, 0);
}

struct Target {
  IsaLevel level;
  MicroArchitecture micro_architecture = MicroArchitecture::kOther;
};

std::vector<Target> Targets() {
  std::vector<Target> targets;
  for (IsaLevel level : SupportedIsaLevels()) targets.push_back({level});
  if (targets.back().level >= IsaLevel::kAvx512) targets.push_back({IsaLevel::kAvx512, MicroArchitecture::kZen5});
  return targets;
}

HarnessOptions OptionsFor(const Target& target, int threads, bool constant_b) {
  HarnessOptions options;
  options.level = target.level;
  options.micro_architecture = target.micro_architecture;
  options.threads = threads;
  if (constant_b) options.constants = {1};
  return options;
}

struct ShapeCase {
  int64_t m, n, k;
};

class MatMulShapes : public testing::TestWithParam<ShapeCase> {};

TEST_P(MatMulShapes, EqualsTheReferenceOnEveryIsa) {
  const auto [m, n, k] = GetParam();
  std::mt19937 random(7);
  StepTensor a(DType::kFloat32, {m, k}), b(DType::kFloat32, {k, n});
  a.FillRandom(random);
  b.FillRandom(random);
  for (const Target& target : Targets()) {
    for (bool constant_b : {true, false}) {
      for (int threads : {1, 2, 3}) {
        SCOPED_TRACE(fmt::format("{} constant {} threads {}", Name(target.level), constant_b, threads));
        StepTensor out(DType::kFloat32, {m, n});
        BoundStep step(MatMulStep{}, {a, b}, out, OptionsFor(target, threads, constant_b));
        ASSERT_TRUE(step.Run().ok());
        ExpectProduct(a, b, out, 3e-6);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tails, MatMulShapes,
                         testing::Values(ShapeCase{1, 1, 1}, ShapeCase{1, 17, 5}, ShapeCase{2, 48, 33}, ShapeCase{3, 100, 64},
                                         ShapeCase{9, 48, 16}, ShapeCase{10, 49, 7}, ShapeCase{14, 32, 40},
                                         ShapeCase{15, 33, 40}, ShapeCase{29, 65, 31}, ShapeCase{64, 384, 96},
                                         ShapeCase{130, 10, 300}, ShapeCase{5, 1000, 64}, ShapeCase{1, 1536, 384},
                                         ShapeCase{33, 16, 1}, ShapeCase{1100, 20, 8}, ShapeCase{40, 64, 4000}));

TEST(MatMul, EmptyExtents) {
  for (ShapeCase shape : {ShapeCase{0, 4, 3}, ShapeCase{4, 0, 3}, ShapeCase{4, 5, 0}}) {
    for (bool constant_b : {true, false}) {
      StepTensor a(DType::kFloat32, {shape.m, shape.k}), b(DType::kFloat32, {shape.k, shape.n});
      StepTensor out(DType::kFloat32, {shape.m, shape.n});
      ForEachIndex(out.view().shape, [&](const Dims& index) { out.Set(index, 9); });
      BoundStep step(MatMulStep{}, {a, b}, out, OptionsFor(Targets().back(), 2, constant_b));
      ASSERT_TRUE(step.Run().ok());
      ExpectProduct(a, b, out, 0);
    }
  }
}

TEST(MatMul, AnyStrides) {
  std::mt19937 random(8);
  const int64_t m = 21, n = 52, k = 37;
  for (const Target& target : Targets()) {
    for (const Dims& a_order : {Dims{0, 1}, Dims{1, 0}}) {
      for (const Dims& b_order : {Dims{0, 1}, Dims{1, 0}}) {
        for (const Dims& out_order : {Dims{0, 1}, Dims{1, 0}}) {
          for (bool constant_b : {true, false}) {
            StepTensor a(DType::kFloat32, {m, k}, a_order, 3), b(DType::kFloat32, {k, n}, b_order, 5);
            StepTensor out(DType::kFloat32, {m, n}, out_order, 2);
            a.FillRandom(random);
            b.FillRandom(random);
            BoundStep step(MatMulStep{}, {a, b}, out, OptionsFor(target, 2, constant_b));
            ASSERT_TRUE(step.Run().ok());
            ExpectProduct(a, b, out, 3e-6);
          }
        }
      }
    }
  }
}

TEST(MatMul, BatchesAndBroadcasts) {
  std::mt19937 random(10);
  struct Case {
    Dims a, b;  // extents of 1 repeat
  };
  for (const Case& c : {Case{{3, 4, 11, 20}, {3, 4, 20, 34}}, Case{{3, 4, 11, 20}, {1, 1, 20, 34}},
                        Case{{3, 4, 11, 20}, {3, 1, 20, 34}}, Case{{3, 4, 11, 20}, {1, 4, 20, 34}},
                        Case{{1, 1, 11, 20}, {3, 4, 20, 34}}, Case{{1, 4, 1, 20}, {3, 4, 20, 32}}}) {
    for (const Target& target : Targets()) {
      for (bool constant_b : {true, false}) {
        const Dims out_shape{3, 4, c.a[2], c.b[3]};
        StepTensor a(DType::kFloat32, c.a), b(DType::kFloat32, c.b), out(DType::kFloat32, out_shape);
        a.FillRandom(random);
        b.FillRandom(random);
        const auto repeat = [](const StepTensor& t) {
          Dims shape = t.view().shape, strides = t.view().strides;
          const Dims batch{3, 4};
          for (size_t d = 0; d < 2; ++d) {
            if (shape[d] == 1) strides[d] = 0;
            shape[d] = batch[d];
          }
          return t.As(shape, strides);
        };
        const StepTensor wide_a = repeat(a), wide_b = repeat(b);
        BoundStep step(MatMulStep{}, {wide_a, wide_b}, out, OptionsFor(target, 3, constant_b));
        ASSERT_TRUE(step.Run().ok());
        ExpectProduct(wide_a, wide_b, out, 1e-6);
      }
    }
  }
}

TEST(MatMul, OtherTypes) {
  std::mt19937 random(11);
  struct Case {
    DType a, b, out;
    double tolerance;
  };
  for (const Case& c : {Case{DType::kFloat64, DType::kFloat64, DType::kFloat64, 1e-14},
                        Case{DType::kBFloat16, DType::kBFloat16, DType::kFloat32, 1e-6},
                        Case{DType::kBFloat16, DType::kBFloat16, DType::kBFloat16, 1e-2},
                        Case{DType::kFloat16, DType::kFloat16, DType::kFloat16, 2e-3},
                        Case{DType::kFloat32, DType::kBFloat16, DType::kFloat32, 1e-6},
                        Case{DType::kInt8, DType::kInt8, DType::kInt32, 0},
                        Case{DType::kUInt8, DType::kInt8, DType::kInt32, 0}}) {
    for (const Target& target : Targets()) {
      for (bool constant_b : {true, false}) {
        for (int64_t m : {1, 19}) {
          SCOPED_TRACE(fmt::format("{} x {} on {}", Name(c.a), Name(c.b), Name(target.level)));
          StepTensor a(c.a, {m, 45}), b(c.b, {45, 70}), out(c.out, {m, 70});
          a.FillRandom(random);
          b.FillRandom(random);
          BoundStep step(MatMulStep{}, {a, b}, out, OptionsFor(target, 2, constant_b));
          ASSERT_TRUE(step.Run().ok());
          ExpectProduct(a, b, out, c.tolerance);
        }
      }
    }
  }
}

// out = relu(product + bias) + residual
LoopProgram BiasReluResidual(int rank) {
  LoopBuilder b;
  const auto product = b.Accumulator(0, DType::kFloat32);
  const auto bias = b.Load({2, {IndexExpression::LoopDim(rank - 1)}}, DType::kFloat32);
  Access same{3, {}};
  for (int d = 0; d < rank; ++d) same.index.push_back(IndexExpression::LoopDim(d));
  const auto residual = b.Load(same, DType::kFloat32);
  b.Result(b.Binary(LoopOp::kAdd, b.Unary(LoopOp::kRelu, b.Binary(LoopOp::kAdd, product, bias)), residual));
  return std::move(b).Build();
}

TEST(MatMul, Epilogue) {
  std::mt19937 random(12);
  for (const Target& target : Targets()) {
    for (int64_t m : {1, 7, 40}) {
      StepTensor a(DType::kFloat32, {2, m, 30}), w(DType::kFloat32, {30, 75}), bias(DType::kFloat32, {75});
      StepTensor residual(DType::kFloat32, {2, m, 75}), out(DType::kFloat32, {2, m, 75});
      for (StepTensor* t : {&a, &w, &bias, &residual}) t->FillRandom(random);
      const StepTensor b = w.As({2, 30, 75}, {0, 75, 1});
      BoundStep step(MatMulStep{BiasReluResidual(3)}, {a, b, bias, residual}, out, OptionsFor(target, 2, true));
      ASSERT_TRUE(step.Run().ok());
      ForEachIndex(out.view().shape, [&](const Dims& i) {
        const double expected = std::max(Product(a, b, i) + bias.Get({i[2]}), 0.0) + residual.Get(i);
        ASSERT_NEAR(out.Get(i), expected, 1e-4) << ToString(i);
      });
    }
  }
}

// A row has the same bits whatever the number of rows, its place among them, and the number of threads.
TEST(MatMul, RowsDoNotDependOnTheirNeighbours) {
  std::mt19937 random(13);
  const int64_t rows = 61, k = 150;
  for (int64_t n : {70, 96, 1536}) {
    for (const Target& target : Targets()) {
      for (bool constant_b : {true, false}) {
        StepTensor a(DType::kFloat32, {rows, k}), b(DType::kFloat32, {k, n}), whole(DType::kFloat32, {rows, n});
        a.FillRandom(random);
        b.FillRandom(random);
        ASSERT_TRUE(BoundStep(MatMulStep{}, {a, b}, whole, OptionsFor(target, 1, constant_b)).Run().ok());
        for (int threads : {1, 2, 3}) {
          for (int64_t m : {1, 2, 3, 8, 13, 29, 61}) {
            const int64_t first = (rows - m) / 2;
            const StepTensor part = a.As({m, k}, {k, 1}, first * k);
            StepTensor out(DType::kFloat32, {m, n});
            ASSERT_TRUE(BoundStep(MatMulStep{}, {part, b}, out, OptionsFor(target, threads, constant_b)).Run().ok());
            ASSERT_EQ(0, std::memcmp(out.view().data, whole.view().data + first * n * 4, static_cast<size_t>(m * n * 4)))
                << Name(target.level) << " m " << m << " threads " << threads;
          }
        }
      }
    }
  }
}

TEST(MatMul, RefusesWhatItLacks) {
  StepTensor a(DType::kInt32, {2, 2}), out(DType::kInt32, {2, 2});
  const Status status = SupportsMatMul(MakeStep(MatMulStep{}, {a, a}, out));
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace tondar::cpu
