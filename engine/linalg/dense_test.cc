#include "engine/linalg/dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tondar::linalg {
namespace {

// A matrix that owns its memory.
struct Owned {
  Owned(int64_t rows, int64_t columns) : elements(static_cast<size_t>(rows * columns)), rows(rows), columns(columns) {}
  Matrix view() { return {elements.data(), rows, columns}; }
  std::vector<double> elements;
  int64_t rows, columns;
};

Owned Random(int64_t rows, int64_t columns, unsigned seed = 1) {
  Owned m(rows, columns);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (double& x : m.elements) x = normal(random);
  return m;
}

Owned Transposed(Owned a) {
  Owned t(a.columns, a.rows);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) t.view().At(j, i) = a.view().At(i, j);
  }
  return t;
}

Owned operator*(Owned a, Owned b) {
  Owned product(a.rows, b.columns);
  Multiply(a.view(), b.view(), product.view());
  return product;
}

Owned Diagonal(const std::vector<double>& values) {
  Owned d(static_cast<int64_t>(values.size()), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) d.view().At(static_cast<int64_t>(i), static_cast<int64_t>(i)) = values[i];
  return d;
}

double Difference(const Owned& a, const Owned& b) {
  EXPECT_EQ(a.elements.size(), b.elements.size());
  double largest = 0;
  for (size_t i = 0; i < a.elements.size(); ++i) {
    const double difference = std::fabs(a.elements[i] - b.elements[i]);
    largest = std::isnan(difference) ? difference : std::max(largest, difference);
  }
  return largest;
}

Owned Identity(int64_t n) {
  Owned i(n, n);
  SetIdentity(i.view());
  return i;
}

constexpr double kClose = 1e-11;
constexpr int64_t kSizes[] = {0, 1, 2, 3, 5, 16, 33, 90};

TEST(DenseTest, CholeskyMultipliesBack) {
  for (int64_t n : kSizes) {
    Owned a = Random(n, n), spd = a * Transposed(a);
    for (int64_t i = 0; i < n; ++i) spd.view().At(i, i) += 1;
    Owned l = spd;
    ASSERT_EQ(FactorCholesky(l.view()), 0);
    EXPECT_LT(Difference(l * Transposed(l), spd), kClose) << n;
  }
  Owned indefinite = Diagonal({1, -1, 1});
  EXPECT_EQ(FactorCholesky(indefinite.view()), 2);
}

TEST(DenseTest, LuSolves) {
  for (int64_t n : kSizes) {
    Owned a = Random(n, n), lu = a, x = Random(n, 3, 2), b = a * x;
    std::vector<double> pivots(static_cast<size_t>(n));
    ASSERT_EQ(FactorLu(lu.view(), pivots.data()), 0);
    for (int64_t i = 0; i < n; ++i) {
      std::swap_ranges(b.view().Row(i), b.view().Row(i) + 3, b.view().Row(static_cast<int64_t>(pivots[static_cast<size_t>(i)])));
    }
    SolveTriangular(lu.view(), b.view(), false, true);
    SolveTriangular(lu.view(), b.view(), true, false);
    EXPECT_LT(Difference(b, x), 1e-9) << n;
  }
  Owned zero(3, 3);
  std::vector<double> pivots(3);
  EXPECT_EQ(FactorLu(zero.view(), pivots.data()), 1);
}

TEST(DenseTest, QrIsOrthonormalAndMultipliesBack) {
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{5, 5}, {7, 3}, {3, 7}, {40, 39}, {1, 1}, {4, 0}}) {
    for (int64_t columns : {std::min(m, n), m}) {
      Owned a = Random(m, n), r = a, q(m, columns);
      std::vector<double> work(static_cast<size_t>(m + n));
      FactorQr(r.view(), q.view(), work.data());
      EXPECT_LT(Difference(Transposed(q) * q, Identity(columns)), kClose);
      r.elements.resize(static_cast<size_t>(columns * n));
      r.rows = columns;
      EXPECT_LT(Difference(q * r, a), kClose) << m << " " << n;
    }
  }
}

TEST(DenseTest, EigenvectorsDiagonalise) {
  for (int64_t n : kSizes) {
    Owned half = Random(n, n), a(n, n);
    for (int64_t i = 0; i < n * n; ++i) a.elements[static_cast<size_t>(i)] = half.elements[static_cast<size_t>(i)] + Transposed(half).elements[static_cast<size_t>(i)];
    Owned vectors = a;
    std::vector<double> values(static_cast<size_t>(n)), only(static_cast<size_t>(n)), work(static_cast<size_t>(2 * n));
    ASSERT_TRUE(EigenSymmetric(vectors.view(), values.data(), true, work.data()));
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
    EXPECT_LT(Difference(vectors * Transposed(vectors), Identity(n)), kClose);
    EXPECT_LT(Difference(Transposed(vectors) * Diagonal(values) * vectors, a), kClose) << n;
    Owned again = a;
    ASSERT_TRUE(EigenSymmetric(again.view(), only.data(), false, work.data()));
    EXPECT_EQ(only, values);
  }
}

TEST(DenseTest, EigenvaluesOfSpecialMatrices) {
  std::vector<double> values(3), work(6);
  Owned repeated = Diagonal({2, 2, 2});
  ASSERT_TRUE(EigenSymmetric(repeated.view(), values.data(), true, work.data()));
  EXPECT_EQ(values, (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(Difference(repeated, Identity(3)), 0);
  Owned zero(3, 3);
  ASSERT_TRUE(EigenSymmetric(zero.view(), values.data(), true, work.data()));
  EXPECT_EQ(values, (std::vector<double>{0, 0, 0}));
  Owned broken = Diagonal({1, std::numeric_limits<double>::quiet_NaN(), 1});
  EXPECT_FALSE(EigenSymmetric(broken.view(), values.data(), true, work.data()));
}

// The rows of `m` as columns of a matrix: U diag(values) V^T multiplies back to it.
void ExpectSingularValues(Owned m, double tolerance) {
  Owned u = m, v(m.rows, m.rows);
  std::vector<double> values(static_cast<size_t>(m.rows));
  ASSERT_TRUE(SingularValues(u.view(), values.data(), v.view()));
  EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
  EXPECT_LT(Difference(u * Transposed(u), Identity(m.rows)), kClose);
  EXPECT_LT(Difference(v * Transposed(v), Identity(m.rows)), kClose);
  EXPECT_LT(Difference(Transposed(v) * Diagonal(values) * u, m), tolerance);
}

TEST(DenseTest, SingularVectorsMultiplyBack) {
  for (int64_t n : kSizes) {
    ExpectSingularValues(Random(n, n), kClose);
    ExpectSingularValues(Random(n, n + 4), kClose);
  }
  Owned thin = Random(6, 2);
  ExpectSingularValues(thin * Transposed(thin), kClose);  // of rank 2
  ExpectSingularValues(Owned(4, 5), kClose);
  Owned huge = Random(4, 4);
  for (double& x : huge.elements) x *= 1e200;
  ExpectSingularValues(huge, 1e188);
}

TEST(DenseTest, ExponentialMatchesEigenvalues) {
  Owned half = Random(5, 5), a = half * Transposed(half), vectors = a, result = a;
  std::vector<double> values(5), work(50);
  ASSERT_TRUE(EigenSymmetric(vectors.view(), values.data(), true, work.data()));
  for (double& value : values) value = std::exp(value);
  Exponential(result.view(), work.data());
  EXPECT_LT(Difference(Transposed(vectors) * Diagonal(values) * vectors, result), 1e-12 * *std::max_element(values.begin(), values.end()) * 10);
  Owned zero(2, 2);
  Exponential(zero.view(), work.data());
  EXPECT_EQ(Difference(zero, Identity(2)), 0);
}

}  // namespace
}  // namespace tondar::linalg
