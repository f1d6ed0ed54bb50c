// Scatter steps against the reference: order of duplicates, splits over threads, layouts, dtypes, indices out of range.
#include <gtest/gtest.h>

#include "engine/accelerators/cpu/index_kernels.h"
#include "engine/accelerators/cpu/testing/loop_launch.h"
#include "engine/plan/loop_builder.h"

namespace tondar::cpu {
namespace {

using Random = std::mt19937;

int Pick(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

// One value per point of `extents`; the output's dim `dim` is indexed by an operand of `index_shape`, the others by the
// loop dims.
struct ScatterCase {
  Dims base, extents;
  size_t dim = 0;
  bool index_per_point = false;  // else per position along `dim`
  ScatterOp op = ScatterOp::kStore;
  DType dtype = DType::kFloat32;
};

ScatterStep StepOf(const ScatterCase& c) {
  const int rank = c.extents.rank();
  const Shape extents = ToShape(c.extents);
  LoopBuilder b;
  Access index{2, {}, 0};
  for (int d = 0; d < rank; ++d) {
    if (c.index_per_point || static_cast<size_t>(d) == c.dim) index.index.push_back(IndexExpression::LoopDim(d));
  }
  const auto position = b.Load(index, DType::kInt64);
  b.Result(b.Load(BroadcastAccess(1, extents, rank), c.dtype));
  for (int d = 0; d < rank; ++d) b.Result(static_cast<size_t>(d) == c.dim ? position : b.Index(d));
  return {extents, c.op, std::move(b).Build()};
}

Dims IndexShape(const ScatterCase& c) { return c.index_per_point ? c.extents : Dims{c.extents[c.dim]}; }

ScatterCase RandomCase(Random& random) {
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32, DType::kUInt8, DType::kBool};
  constexpr DType kMoved[] = {DType::kFloat16, DType::kBFloat16, DType::kInt8};
  constexpr int kExtents[] = {1, 2, 3, 5, 17, 40};
  ScatterCase c;
  for (int rank = Pick(random, 1, 3); rank > 0; --rank) c.base.push_back(kExtents[Pick(random, 0, 5)]);
  c.dim = static_cast<size_t>(Pick(random, 0, c.base.rank() - 1));
  c.extents = c.base;
  for (size_t d = 0; d < c.base.size(); ++d) c.extents[d] = d == c.dim ? Pick(random, 0, 60) : Pick(random, 1, static_cast<int>(c.base[d]));
  c.index_per_point = Pick(random, 0, 1) == 1;
  c.op = static_cast<ScatterOp>(Pick(random, 0, 4));
  c.dtype = c.op == ScatterOp::kStore && Pick(random, 0, 2) == 0 ? kMoved[Pick(random, 0, 2)] : kDTypes[Pick(random, 0, 5)];
  return c;
}

Dims StridesOf(const Dims& shape, Random& random) {
  Dims strides = ContiguousStrides(shape);
  if (shape.rank() == 2 && Pick(random, 0, 1) == 1) strides = Dims{1, shape[0]};
  return strides;
}

TEST(ScatterStep, RandomCasesAgreeWithTheReferenceAtAnyThreadCount) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const ScatterCase c = RandomCase(random);
    const ScatterStep step = StepOf(c);
    TestTensor base(c.dtype, c.base, StridesOf(c.base, random)), values(c.dtype, c.extents), index(DType::kInt64, IndexShape(c));
    base.FillRandom(random);
    values.FillRandom(random);
    const int extent = static_cast<int>(c.base[c.dim]);
    for (int64_t i = 0; i < ElementCount(index.view().shape); ++i) index.Set(i, {0, Pick(random, -extent, extent - 1)});
    TestTensor expected(c.dtype, c.base, StridesOf(c.base, random)), actual(c.dtype, c.base, expected.view().strides);
    const TensorView inputs[] = {base.view(), values.view(), index.view()}, wanted[] = {expected.view()}, got[] = {actual.view()};
    ASSERT_TRUE(RunReference(step, {inputs, wanted, {}}));
    for (const IsaLevel level : SupportedIsaLevels()) {
      for (const int threads : {1, 3}) {
        actual.FillByte(0x5a);
        const Status status = LaunchStep(step, {inputs, got, {}}, KernelsFor(level, MicroArchitecture::kOther), threads);
        ASSERT_TRUE(status.ok()) << status.ToString();
        ASSERT_TRUE(actual.SameBytes(expected)) << "seed " << seed << " at " << Name(level) << " on " << threads << " threads, "
                                                << Name(c.dtype) << " op " << static_cast<int>(c.op) << "\n" << ToString(step.program);
      }
    }
  }
}

// Sums long enough to be split: thread counts must not change a bit.
TEST(ScatterStep, LargeSumsHaveTheSameBitsOnAnyNumberOfThreads) {
  const ScatterCase c{.base = {50, 300}, .extents = {2000, 300}, .dim = 0, .op = ScatterOp::kAdd};
  const ScatterStep step = StepOf(c);
  Random random(7);
  TestTensor base(c.dtype, c.base), values(c.dtype, c.extents), index(DType::kInt64, {2000});
  values.FillRandom(random);
  for (int64_t i = 0; i < 2000; ++i) index.Set(i, {0, Pick(random, 0, 49)});
  TestTensor one(c.dtype, c.base), four(c.dtype, c.base);
  const TensorView inputs[] = {base.view(), values.view(), index.view()}, out_one[] = {one.view()}, out_four[] = {four.view()};
  const CpuKernels kernels = KernelsFor(IsaLevel::kBaseline, MicroArchitecture::kOther);
  ASSERT_TRUE(LaunchStep(step, {inputs, out_one, {}}, kernels, 1).ok());
  ASSERT_TRUE(LaunchStep(step, {inputs, out_four, {}}, kernels, 4).ok());
  EXPECT_TRUE(one.SameBytes(four));
}

TEST(ScatterStep, AnIndexOutOfRangeFailsTheStep) {
  for (const int64_t bad : {int64_t{5}, int64_t{-6}, INT64_MAX, INT64_MIN}) {
    const ScatterStep step = StepOf({.base = {5, 2}, .extents = {3, 2}, .dim = 0});
    TestTensor base(DType::kFloat32, {5, 2}), values(DType::kFloat32, {3, 2}), index(DType::kInt64, {3}), out(DType::kFloat32, {5, 2});
    for (int64_t i = 0; i < 3; ++i) index.Set(i, {0, i == 1 ? bad : 0});
    const TensorView inputs[] = {base.view(), values.view(), index.view()}, outputs[] = {out.view()};
    const Status status = LaunchStep(step, {inputs, outputs, {}}, KernelsFor(IsaLevel::kBaseline, MicroArchitecture::kOther));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_NE(status.message().find(std::to_string(bad)), std::string::npos) << status.message();
  }
}

TEST(ScatterStep, NothingToWriteCopiesTheBase) {
  const ScatterStep step = StepOf({.base = {2, 3}, .extents = {0, 3}, .dim = 0});
  TestTensor base(DType::kFloat32, {2, 3}), values(DType::kFloat32, {0, 3}), index(DType::kInt64, {0}), out(DType::kFloat32, {2, 3});
  Random random(1);
  base.FillRandom(random);
  const TensorView inputs[] = {base.view(), values.view(), index.view()}, outputs[] = {out.view()};
  ASSERT_TRUE(LaunchStep(step, {inputs, outputs, {}}, KernelsFor(IsaLevel::kBaseline, MicroArchitecture::kOther)).ok());
  EXPECT_TRUE(out.SameBytes(base));
}

TEST(ScatterStep, ArithmeticOn16BitFloatsIsRefused) {
  Step step;
  step.name = "scatter_add";
  step.body = StepOf({.base = {2}, .extents = {2}, .dim = 0, .op = ScatterOp::kAdd, .dtype = DType::kBFloat16});
  step.outputs.push_back({0, DType::kBFloat16, {Dim(2)}, {Dim(1)}, Dim(0)});
  EXPECT_EQ(SupportsScatter(step).message(), "step 'scatter_add': a scatter of bfloat16");
}

}  // namespace
}  // namespace tondar::cpu
