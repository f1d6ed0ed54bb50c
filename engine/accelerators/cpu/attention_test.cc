#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "engine/accelerators/cpu/library_kernels.h"
#include "engine/accelerators/cpu/testing/step_harness.h"

namespace tondar::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Element of a mask whose extents of 1 repeat.
double MaskAt(const StepTensor& mask, const Dims& batch, int64_t s, int64_t t) {
  Dims index = batch;
  index.push_back(s);
  index.push_back(t);
  for (size_t d = 0; d < index.size(); ++d)
    if (mask.view().shape[d] == 1) index[d] = 0;
  const double value = mask.Get(index);
  return mask.view().dtype == DType::kBool ? (value != 0 ? 0 : -kInfinity) : value;
}

Dims Join(const Dims& batch, int64_t row, int64_t column) {
  Dims index = batch;
  index.push_back(row);
  index.push_back(column);
  return index;
}

void ExpectAttention(const AttentionStep& step, const StepTensor& q, const StepTensor& k, const StepTensor& v,
                     const std::optional<StepTensor>& mask, const StepTensor& out, double tolerance) {
  const Dims& shape = out.view().shape;
  const size_t rank = shape.size();
  Dims batches;
  for (size_t d = 0; d + 2 < rank; ++d) batches.push_back(shape[d]);
  const int64_t keys = k.view().shape[rank - 2], depth = k.view().shape[rank - 1];
  int wrong = 0;
  ForEachIndex(batches, [&](const Dims& batch) {
    for (int64_t s = 0; s < shape[rank - 2]; ++s) {
      std::vector<double> p(static_cast<size_t>(keys));
      double most = -kInfinity, sum = 0;
      for (int64_t t = 0; t < keys; ++t) {
        double score = 0;
        for (int64_t d = 0; d < depth; ++d) score += q.Get(Join(batch, s, d)) * k.Get(Join(batch, t, d));
        score = score * step.scale + (mask ? MaskAt(*mask, batch, s, t) : 0);
        if (step.causal && t > s) score = -kInfinity;
        p[static_cast<size_t>(t)] = score;
        most = std::max(most, score);
      }
      const bool none = most == -kInfinity;
      for (double& value : p) sum += value = none ? 0 : std::exp(value - most);
      for (int64_t e = 0; e < shape[rank - 1]; ++e) {
        double expected = 0;
        for (int64_t t = 0; t < keys && !none; ++t) expected += p[static_cast<size_t>(t)] / sum * v.Get(Join(batch, t, e));
        const double found = out.Get(Join(batch, s, e));
        const bool good = none && keys > 0 && !step.zero_masked_rows ? std::isnan(found)
                                                                     : std::abs(found - expected) <= tolerance;
        if (!good && wrong++ < 3)
          ADD_FAILURE() << "batch " << ToString(batch) << " row " << s << " value " << e << ": expected " << expected
                        << ", found " << found;
      }
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(out.GuardsIntact());
}

struct Sizes {
  int64_t batch, heads, queries, keys, depth, values;
};

struct Operands {
  StepTensor q, k, v;
};

// [B, H, S, D] as windows of [B, S, H, D] memory, as models have them.
Operands MakeOperands(const Sizes& s, DType dtype, std::mt19937& random) {
  const Dims order{0, 2, 1, 3};
  Operands o{StepTensor(dtype, {s.batch, s.heads, s.queries, s.depth}, order),
             StepTensor(dtype, {s.batch, s.heads, s.keys, s.depth}, order),
             StepTensor(dtype, {s.batch, s.heads, s.keys, s.values}, order)};
  for (StepTensor* t : {&o.q, &o.k, &o.v}) t->FillRandom(random);
  return o;
}

void Check(AttentionStep step, const Sizes& s, DType dtype, DType out_dtype, const std::optional<StepTensor>& mask,
           double tolerance) {
  std::mt19937 random(41);
  const Operands o = MakeOperands(s, dtype, random);
  step.scale = 1 / std::sqrt(static_cast<double>(s.depth));
  step.has_mask = mask.has_value();
  std::vector<StepTensor> inputs{o.q, o.k, o.v};
  if (mask) inputs.push_back(*mask);
  for (IsaLevel level : SupportedIsaLevels()) {
    for (int threads : {1, 2, 3}) {
      SCOPED_TRACE(fmt::format("{} threads {}: S {} T {} D {} E {} causal {}", Name(level), threads, s.queries, s.keys, s.depth,
                               s.values, step.causal));
      StepTensor out(out_dtype, {s.batch, s.heads, s.queries, s.values}, {0, 2, 1, 3});
      ASSERT_TRUE(BoundStep(step, inputs, out, {level, MicroArchitecture::kOther, threads, {}}).Run().ok());
      ExpectAttention(step, o.q, o.k, o.v, mask, out, tolerance);
    }
  }
}

const Sizes kSizes[] = {{1, 1, 1, 1, 1, 1},     {2, 3, 16, 16, 32, 32}, {1, 2, 50, 50, 64, 64}, {2, 2, 7, 33, 20, 20},
                        {1, 2, 1, 130, 32, 32}, {1, 1, 40, 5, 16, 80},  {1, 3, 19, 19, 33, 17}, {1, 1, 300, 300, 8, 16}};

TEST(Attention, SizesOnEveryIsa) {
  for (const Sizes& s : kSizes) {
    Check({}, s, DType::kFloat32, DType::kFloat32, std::nullopt, 3e-6);
    AttentionStep causal;
    causal.causal = true;
    Check(causal, s, DType::kFloat32, DType::kFloat32, std::nullopt, 3e-6);
  }
}

TEST(Attention, Masks) {
  std::mt19937 random(42);
  const Sizes s{2, 3, 20, 37, 16, 16};
  for (const Dims& shape : {Dims{2, 1, 1, 37}, Dims{2, 3, 20, 37}, Dims{1, 1, 20, 37}, Dims{2, 1, 20, 1}}) {
    for (DType dtype : {DType::kBool, DType::kFloat32, DType::kFloat16}) {
      for (bool zero : {false, true}) {
        StepTensor mask(dtype, shape);
        std::bernoulli_distribution keep(0.7);
        // Rows of {2, 1, 20, 1} are wholly masked now and then.
        ForEachIndex(shape, [&](const Dims& i) {
          mask.Set(i, dtype == DType::kBool ? keep(random) : (keep(random) ? 0.5 : -kInfinity));
        });
        AttentionStep step;
        step.zero_masked_rows = zero;
        Check(step, s, DType::kFloat32, DType::kFloat32, mask, 3e-6);
      }
    }
  }
}

TEST(Attention, SixteenBitFloats) {
  for (const Sizes& s : {Sizes{1, 2, 20, 20, 16, 16}, Sizes{1, 2, 9, 30, 12, 10}}) {
    Check({}, s, DType::kFloat16, DType::kFloat32, std::nullopt, 3e-6);
    Check({}, s, DType::kBFloat16, DType::kBFloat16, std::nullopt, 2e-2);
  }
}

TEST(Attention, NoKeysGiveZeros) {
  AttentionStep step;
  StepTensor q(DType::kFloat32, {1, 3, 4}), k(DType::kFloat32, {1, 0, 4}), out(DType::kFloat32, {1, 3, 4});
  ForEachIndex(out.view().shape, [&](const Dims& i) { out.Set(i, 5); });
  ASSERT_TRUE(BoundStep(step, {q, k, k}, out, {}).Run().ok());
  ForEachIndex(out.view().shape, [&](const Dims& i) { EXPECT_EQ(out.Get(i), 0); });
}

// Transposed windows have no unit stride.
TEST(Attention, AnyStrides) {
  std::mt19937 random(43);
  StepTensor q(DType::kFloat32, {2, 11, 18}, {0, 2, 1}), k(DType::kFloat32, {2, 23, 18}, {0, 2, 1}),
      v(DType::kFloat32, {2, 23, 16}, {2, 1, 0}), out(DType::kFloat32, {2, 11, 16}, {2, 0, 1});
  for (StepTensor* t : {&q, &k, &v}) t->FillRandom(random);
  AttentionStep step;
  step.scale = 0.25;
  for (IsaLevel level : SupportedIsaLevels()) {
    ASSERT_TRUE(BoundStep(step, {q, k, v}, out, {level, MicroArchitecture::kOther, 2, {}}).Run().ok());
    ExpectAttention(step, q, k, v, std::nullopt, out, 3e-6);
  }
}

// A sequence has the same bits alone, in a batch, and padded with masked keys.
TEST(Attention, SequencesDoNotDependOnTheBatchOrOnPadding) {
  std::mt19937 random(44);
  const Sizes s{3, 2, 29, 29, 32, 32};
  const Operands o = MakeOperands(s, DType::kFloat32, random);
  AttentionStep step;
  step.scale = 0.2;
  step.has_mask = true;
  StepTensor mask(DType::kBool, {3, 1, 1, 29});
  for (int64_t b = 0; b < 3; ++b)
    for (int64_t t = 0; t < 29; ++t) mask.Set({b, 0, 0, t}, t < 17 ? 1 : 0);
  for (IsaLevel level : SupportedIsaLevels()) {
    StepTensor whole(DType::kFloat32, {3, 2, 29, 32}, {0, 2, 1, 3});
    ASSERT_TRUE(BoundStep(step, {o.q, o.k, o.v, mask}, whole, {level, MicroArchitecture::kOther, 3, {}}).Run().ok());
    for (int64_t b = 0; b < 3; ++b) {
      const int64_t offset = b * o.q.view().strides[0];
      const Dims shape{1, 2, 17, 32};
      AttentionStep alone = step;
      alone.has_mask = false;
      StepTensor out(DType::kFloat32, shape, {0, 2, 1, 3});
      ASSERT_TRUE(BoundStep(alone,
                            {o.q.As(shape, o.q.view().strides, offset), o.k.As(shape, o.k.view().strides, offset),
                             o.v.As(shape, o.v.view().strides, offset)},
                            out, {level, MicroArchitecture::kOther, 1, {}})
                      .Run()
                      .ok());
      ForEachIndex(shape, [&](const Dims& i) {
        Dims at = i;
        at[0] = b;
        ASSERT_EQ(out.Get(i), whole.Get(at)) << ToString(i) << " on " << Name(level);
      });
    }
  }
}

}  // namespace
}  // namespace tondar::cpu
