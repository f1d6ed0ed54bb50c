#include "engine/linalg/dense.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tondar::linalg {
namespace {

double Dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// y += factor * x.
void AddScaled(double* y, const double* x, double factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

void Scale(double* x, double factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

}  // namespace

void SetIdentity(Matrix a) {
  std::ranges::fill(a.Elements(), 0.0);
  for (int64_t i = 0; i < std::min(a.rows, a.columns); ++i) a.At(i, i) = 1;
}

void Multiply(Matrix a, Matrix b, Matrix product) {
  std::ranges::fill(product.Elements(), 0.0);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.columns; ++k) AddScaled(product.Row(i), b.Row(k), a.At(i, k), b.columns);
  }
}

int64_t FactorCholesky(Matrix a) {
  for (int64_t j = 0; j < a.rows; ++j) {
    const double pivot = a.At(j, j) - Dot(a.Row(j), a.Row(j), j);
    if (!(pivot > 0)) return j + 1;
    const double root = std::sqrt(pivot);
    a.At(j, j) = root;
    for (int64_t i = j + 1; i < a.rows; ++i) a.At(i, j) = (a.At(i, j) - Dot(a.Row(i), a.Row(j), j)) / root;
    std::fill(a.Row(j) + j + 1, a.Row(j) + a.columns, 0.0);
  }
  return 0;
}

int64_t FactorLu(Matrix a, double* pivots) {
  int64_t singular = 0;
  for (int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < a.rows; ++i) {
      if (std::fabs(a.At(i, k)) > std::fabs(a.At(pivot, k))) pivot = i;
    }
    pivots[k] = static_cast<double>(pivot);
    if (a.At(pivot, k) == 0) {
      if (singular == 0) singular = k + 1;
      continue;
    }
    if (pivot != k) std::swap_ranges(a.Row(k), a.Row(k) + a.columns, a.Row(pivot));
    for (int64_t i = k + 1; i < a.rows; ++i) {
      const double factor = a.At(i, k) /= a.At(k, k);
      AddScaled(a.Row(i) + k + 1, a.Row(k) + k + 1, -factor, a.columns - k - 1);
    }
  }
  return singular;
}

void SolveTriangular(Matrix t, Matrix b, bool upper, bool unit) {
  for (int64_t step = 0; step < t.rows; ++step) {
    const int64_t i = upper ? t.rows - 1 - step : step;
    const int64_t begin = upper ? i + 1 : 0, end = upper ? t.rows : i;
    for (int64_t k = begin; k < end; ++k) AddScaled(b.Row(i), b.Row(k), -t.At(i, k), b.columns);
    if (unit) continue;
    for (int64_t j = 0; j < b.columns; ++j) b.At(i, j) /= t.At(i, i);
  }
}

namespace {

// The reflection I - tau v v^T that takes x to (beta, 0, ...), v[0] being 1. `x` has n elements, `stride` apart; v's others
// take the place of x's, and x[0] becomes beta. Tau is 0 where there is nothing below x[0].
double MakeReflection(double* x, int64_t stride, int64_t n) {
  double largest = 0, squares = 0;
  for (int64_t i = 1; i < n; ++i) largest = std::max(largest, std::fabs(x[i * stride]));
  for (int64_t i = 1; i < n; ++i) squares += x[i * stride] / largest * (x[i * stride] / largest);
  if (n < 2 || largest == 0) return 0;
  const double below = largest * std::sqrt(squares);
  const double alpha = x[0], beta = -std::copysign(std::hypot(alpha, below), alpha);
  for (int64_t i = 1; i < n; ++i) x[i * stride] /= alpha - beta;
  x[0] = beta;
  return (beta - alpha) / beta;
}

// Rows [k, rows) and columns [from, columns) of `a` under the reflection whose vector is column `k` of `vectors`.
void Reflect(Matrix vectors, int64_t k, double tau, Matrix a, int64_t from, double* row) {
  const int64_t n = a.columns - from;
  if (tau == 0 || n <= 0) return;
  const auto v = [&](int64_t i) { return i == k ? 1.0 : vectors.At(i, k); };
  std::fill_n(row, n, 0.0);
  for (int64_t i = k; i < a.rows; ++i) AddScaled(row, a.Row(i) + from, v(i), n);
  for (int64_t i = k; i < a.rows; ++i) AddScaled(a.Row(i) + from, row, -tau * v(i), n);
}

}  // namespace

void FactorQr(Matrix a, Matrix q, double* work) {
  double *taus = work, *row = work + std::min(a.rows, a.columns);
  const int64_t reflections = std::min(a.rows, a.columns);
  for (int64_t k = 0; k < reflections; ++k) {
    taus[k] = MakeReflection(&a.At(k, k), a.columns, a.rows - k);
    Reflect(a, k, taus[k], a, k + 1, row);
  }
  SetIdentity(q);
  for (int64_t k = reflections; k-- > 0;) Reflect(a, k, taus[k], q, k, row);
  for (int64_t i = 1; i < a.rows; ++i) std::fill_n(a.Row(i), std::min(i, a.columns), 0.0);
}

// --- Symmetric eigenvalues --------------------------------------------------------------------------------------------

namespace {

// Takes the symmetric `a` to tridiagonal form, `diagonal` and `beside` it (beside[i] couples i and i + 1). Row k of `a` then
// holds, right of its diagonal, the vector of reflection k, whose tau is in beside's stead on the diagonal of `a`.
void MakeTridiagonal(Matrix a, double* diagonal, double* beside) {
  const int64_t n = a.rows;
  for (int64_t k = 0; k + 1 < n; ++k) {
    double* const v = a.Row(k) + k + 1;  // by symmetry the column below the diagonal
    const int64_t m = n - k - 1;
    const double tau = MakeReflection(v, 1, m);
    diagonal[k] = a.At(k, k);
    beside[k] = v[0];
    a.At(k, k) = tau;
    v[0] = 1;
    if (tau == 0) continue;
    double* const p = diagonal + k + 1;  // not in use yet
    for (int64_t i = 0; i < m; ++i) p[i] = tau * Dot(a.Row(k + 1 + i) + k + 1, v, m);
    AddScaled(p, v, -0.5 * tau * Dot(p, v, m), m);
    for (int64_t i = 0; i < m; ++i) {
      double* const row = a.Row(k + 1 + i) + k + 1;
      for (int64_t j = 0; j < m; ++j) row[j] -= v[i] * p[j] + p[i] * v[j];
    }
  }
  diagonal[n - 1] = a.At(n - 1, n - 1);
  beside[n - 1] = 0;
}

// From what MakeTridiagonal left in `a`: the transpose of the product of the reflections. Backwards, so that each touches
// only rows and columns that are not the identity's any more.
void AccumulateReflections(Matrix a) {
  const int64_t n = a.rows;
  a.At(n - 1, n - 1) = 1;
  for (int64_t k = n - 1; k-- > 0;) {
    double* const v = a.Row(k) + k + 1;
    const double tau = a.At(k, k);
    const int64_t m = n - k - 1;
    for (int64_t i = 0; tau != 0 && i < m; ++i) {  // rows are vectors: each is reflected
      double* const row = a.Row(k + 1 + i) + k + 1;
      AddScaled(row, v, -tau * Dot(row, v, m), m);
    }
    a.At(k, k) = 1;
    std::fill_n(v, m, 0.0);
    for (int64_t i = 0; i < m; ++i) a.At(k + 1 + i, k) = 0;
  }
}

void RotateRows(double* x, double* y, double c, double s, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double above = x[i], below = y[i];
    x[i] = c * above - s * below;
    y[i] = s * above + c * below;
  }
}

// One implicit QL step with Wilkinson's shift on the unreduced block [first, last] of a tridiagonal matrix.
void StepQl(double* diagonal, double* beside, int64_t first, int64_t last, const Matrix* vectors) {
  const double ratio = (diagonal[first + 1] - diagonal[first]) / (2 * beside[first]);
  double g = diagonal[last] - diagonal[first] + beside[first] / (ratio + std::copysign(std::hypot(ratio, 1.0), ratio));
  double s = 1, c = 1, moved = 0;
  for (int64_t i = last - 1; i >= first; --i) {
    const double f = s * beside[i], b = c * beside[i];
    const double r = std::hypot(f, g);
    beside[i + 1] = r;
    if (r == 0) {  // the block came apart above i
      diagonal[i + 1] -= moved;
      beside[last] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = diagonal[i + 1] - moved;
    const double t = (diagonal[i] - g) * s + 2 * c * b;
    moved = s * t;
    diagonal[i + 1] = g + moved;
    g = c * t - b;
    if (vectors != nullptr) RotateRows(vectors->Row(i), vectors->Row(i + 1), c, s, vectors->columns);
  }
  diagonal[first] -= moved;
  beside[first] = g;
  beside[last] = 0;
}

bool DiagonaliseTridiagonal(double* diagonal, double* beside, int64_t n, const Matrix* vectors) {
  constexpr int kMaxSteps = 60;  // two or three are the rule
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  for (int64_t first = 0; first < n; ++first) {
    for (int steps = 0;; ++steps) {
      int64_t last = first;
      while (last + 1 < n && !(std::fabs(beside[last]) <= kEpsilon * (std::fabs(diagonal[last]) + std::fabs(diagonal[last + 1])))) ++last;
      if (last == first) break;
      if (steps == kMaxSteps) return false;
      StepQl(diagonal, beside, first, last, vectors);
    }
  }
  return std::all_of(diagonal, diagonal + n, [](double x) { return std::isfinite(x); });
}

// Rows of `a` and of `b`, where it has any, in the order of `values`.
template <typename Before>
void SortRows(double* values, int64_t n, const Matrix& a, const Matrix& b, Before before) {
  for (int64_t i = 0; i + 1 < n; ++i) {
    const int64_t best = std::min_element(values + i, values + n, before) - values;
    if (best == i) continue;
    std::swap(values[i], values[best]);
    for (const Matrix* m : {&a, &b}) {
      if (m->data != nullptr) std::swap_ranges(m->Row(i), m->Row(i) + m->columns, m->Row(best));
    }
  }
}

}  // namespace

bool EigenSymmetric(Matrix a, double* values, bool vectors, double* work) {
  if (a.rows == 0) return true;
  double *const diagonal = work, *const beside = work + a.rows;
  MakeTridiagonal(a, diagonal, beside);
  if (vectors) AccumulateReflections(a);
  if (!DiagonaliseTridiagonal(diagonal, beside, a.rows, vectors ? &a : nullptr)) return false;
  std::copy_n(diagonal, a.rows, values);
  SortRows(values, a.rows, vectors ? a : Matrix{}, {}, [](double x, double y) { return x < y; });
  return true;
}

// --- Singular values --------------------------------------------------------------------------------------------------

namespace {

// Rotates rows p and q of `a`, and of `v`, so that they are orthogonal. False if they were.
bool Orthogonalise(Matrix a, Matrix v, int64_t p, int64_t q) {
  const double tolerance = (4 + std::sqrt(static_cast<double>(a.columns))) * std::numeric_limits<double>::epsilon();
  double *const x = a.Row(p), *const y = a.Row(q);
  const double xx = Dot(x, x, a.columns), yy = Dot(y, y, a.columns), xy = Dot(x, y, a.columns);
  if (std::fabs(xy) <= tolerance * std::sqrt(xx) * std::sqrt(yy)) return false;
  const double zeta = (yy - xx) / (2 * xy);
  const double t = std::copysign(1 / (std::fabs(zeta) + std::hypot(1.0, zeta)), zeta);
  const double c = 1 / std::hypot(1.0, t), s = c * t;
  RotateRows(x, y, c, s, a.columns);
  if (v.data != nullptr) RotateRows(v.Row(p), v.Row(q), c, s, v.columns);
  return true;
}

bool Sweep(Matrix a, Matrix v) {
  bool rotated = false;
  for (int64_t p = 0; p < a.rows; ++p) {
    for (int64_t q = p + 1; q < a.rows; ++q) rotated = Orthogonalise(a, v, p, q) || rotated;
  }
  return rotated;
}

// The power of two that brings the largest element near 1, so that squares neither overflow nor vanish; 0 for a zero
// matrix, NaN for one that is not finite.
double ScaleOf(Matrix a) {
  double largest = 0;
  for (double x : a.Elements()) {
    if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
    largest = std::max(largest, std::fabs(x));
  }
  return largest == 0 ? 0 : std::ldexp(1.0, std::ilogb(largest));
}

}  // namespace

bool SingularValues(Matrix a, double* values, Matrix v) {
  if (v.data != nullptr) SetIdentity(v);
  const double scale = ScaleOf(a);
  if (std::isnan(scale)) return false;
  if (scale != 0) {
    for (double& x : a.Elements()) x /= scale;
  }
  constexpr int kMaxSweeps = 80;  // six to ten are the rule
  for (int sweep = 0; Sweep(a, v); ++sweep) {
    if (sweep == kMaxSweeps) return false;
  }
  for (int64_t i = 0; i < a.rows; ++i) values[i] = std::sqrt(Dot(a.Row(i), a.Row(i), a.columns));
  SortRows(values, a.rows, a, v, [](double x, double y) { return x > y; });
  // Where a value is nothing beside the largest, the row left is noise; any vector orthogonal to the others serves.
  int64_t rank = 0;
  const double least = a.rows == 0 ? 0 : values[0] * 1e-250;
  while (rank < a.rows && values[rank] > least) ++rank;
  for (int64_t i = 0; i < rank; ++i) Scale(a.Row(i), 1 / values[i], a.columns);
  if (v.data != nullptr) CompleteBasis(a, rank);
  Scale(values, scale, a.rows);
  return true;
}

namespace {

// Makes row i of `q` the given axis without what the rows before it have of it, of length 1. False if too little is left.
bool TakeAxis(Matrix q, int64_t i, int64_t axis) {
  double* const row = q.Row(i);
  std::fill_n(row, q.columns, 0.0);
  row[axis] = 1;
  for (int pass = 0; pass < 2; ++pass) {  // the second takes out what rounding left
    for (int64_t k = 0; k < i; ++k) AddScaled(row, q.Row(k), -Dot(row, q.Row(k), q.columns), q.columns);
  }
  const double square = Dot(row, row, q.columns);
  Scale(row, 1 / std::sqrt(square), q.columns);
  return square * static_cast<double>(q.columns) > 0.5;  // some axis keeps 1 / columns
}

}  // namespace

void CompleteBasis(Matrix q, int64_t first) {
  for (int64_t i = first; i < q.rows; ++i) {
    int64_t axis = 0;
    while (axis < q.columns && !TakeAxis(q, i, axis)) ++axis;
  }
}

// --- Exponential ------------------------------------------------------------------------------------------------------

void Exponential(Matrix a, double* work) {
  const int64_t n = a.rows;
  Matrix sum{work, n, n}, product{work + n * n, n, n};
  double norm = 0;  // the largest row sum
  for (int64_t i = 0; i < n; ++i) {
    double row = 0;
    for (int64_t j = 0; j < n; ++j) row += std::fabs(a.At(i, j));
    norm = std::isnan(row) ? row : std::max(norm, row);
    if (std::isnan(norm)) break;
  }
  if (!std::isfinite(norm)) {
    std::ranges::fill(a.Elements(), std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const int squarings = norm <= 0.5 ? 0 : std::ilogb(norm) + 2;
  for (double& x : a.Elements()) x = std::ldexp(x, -squarings);
  constexpr int kTerms = 18;  // 0.5^18 / 18! is 6e-22
  SetIdentity(sum);
  for (int k = kTerms; k > 0; --k) {  // I + A/1 (I + A/2 (I + ...))
    Multiply(a, sum, product);
    Scale(product.data, 1.0 / k, n * n);
    for (int64_t i = 0; i < n; ++i) product.At(i, i) += 1;
    std::swap(sum.data, product.data);
  }
  for (int i = 0; i < squarings; ++i) {
    Multiply(sum, sum, product);
    std::swap(sum.data, product.data);
  }
  std::ranges::copy(sum.Elements(), a.data);
}

}  // namespace tondar::linalg
