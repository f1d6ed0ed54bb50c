// Sort steps: the stable order of every dtype, against std::stable_sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/accelerators/cpu/testing/loop_launch.h"

namespace tondar::cpu {
namespace {

using Random = std::mt19937;

int Pick(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

// NaN last; what `keys` holds as doubles or integers.
bool Before(DType dtype, ReferenceScalar a, ReferenceScalar b) {
  if (!IsFloat(dtype)) return dtype == DType::kUInt64 ? static_cast<uint64_t>(a.i) < static_cast<uint64_t>(b.i) : a.i < b.i;
  return std::isnan(b.f) ? !std::isnan(a.f) : a.f < b.f;
}

std::vector<int64_t> Expected(const TestTensor& keys, DType dtype, int64_t row, int64_t n, bool descending) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) order[static_cast<size_t>(i)] = i;
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const ReferenceScalar x = keys.At(row * n + a), y = keys.At(row * n + b);
    return descending ? Before(dtype, y, x) : Before(dtype, x, y);
  });
  return order;
}

Status Sort(const TestTensor& keys, const TestTensor& out, bool descending, int threads) {
  const TensorView inputs[] = {keys.view()}, outputs[] = {out.view()};
  return LaunchStep(SortStep{descending}, {inputs, outputs, {}}, KernelsFor(IsaLevel::kBaseline, MicroArchitecture::kOther), threads);
}

TEST(SortStep, GivesTheStableOrderOfEveryDType) {
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kInt64, DType::kInt32,
                               DType::kInt16,   DType::kInt8,    DType::kUInt8,   DType::kUInt64,   DType::kBool};
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const DType dtype = kDTypes[seed % std::size(kDTypes)];
    const int64_t rows = Pick(random, 1, 6), n = Pick(random, 1, 300), k = Pick(random, 0, 1) == 1 ? n : Pick(random, 0, static_cast<int>(n));
    const bool descending = Pick(random, 0, 1) == 1;
    const Dims strides = Pick(random, 0, 1) == 1 ? Dims{n, 1} : Dims{1, rows};
    TestTensor keys(dtype, {rows, n}, strides), out(DType::kInt64, {rows, k});
    keys.FillRandom(random);
    if (IsFloat(dtype) && n > 8) {
      constexpr double kSpecial[] = {NAN, 0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN};
      for (int64_t i = 0; i < 7; ++i) keys.Set(Pick(random, 0, static_cast<int>(rows * n) - 1), {kSpecial[i], 0});
    }
    for (const int threads : {1, 3}) {
      const Status status = Sort(keys, out, descending, threads);
      ASSERT_TRUE(status.ok()) << status.ToString();
      for (int64_t row = 0; row < rows; ++row) {
        const std::vector<int64_t> expected = Expected(keys, dtype, row, n, descending);
        for (int64_t i = 0; i < k; ++i) {
          ASSERT_EQ(out.At(row * k + i).i, expected[static_cast<size_t>(i)]) << "seed " << seed << " " << Name(dtype) << " row " << row << " of " << n << " at " << i;
        }
      }
    }
  }
}

TEST(SortStep, ExtremesOfIntegersKeepTheirOrder) {
  TestTensor keys(DType::kInt64, {1, 4}), out(DType::kInt64, {1, 4});
  const int64_t values[] = {INT64_MAX, 0, INT64_MIN, -1};
  for (int64_t i = 0; i < 4; ++i) keys.Set(i, {0, values[i]});
  ASSERT_TRUE(Sort(keys, out, false, 1).ok());
  const int64_t expected[] = {2, 3, 1, 0};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(out.At(i).i, expected[i]);
}

TEST(SortStep, MoreThanThereIsIsRefused) {
  TestTensor keys(DType::kFloat32, {1, 4}), out(DType::kInt64, {1, 5});
  EXPECT_EQ(Sort(keys, out, false, 1).message(), "step 'step': the first 5 of 4 elements");
}

}  // namespace
}  // namespace tondar::cpu
