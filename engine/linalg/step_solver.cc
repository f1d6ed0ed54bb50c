#include "engine/linalg/step_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/linalg/dense.h"

namespace tondar::linalg {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// One problem on its way. `result` moves on as parts are written.
struct Problem {
  const LinalgStep& step;
  Extents extents;
  double *a, *b, *result, *work;

  int64_t shorter() const { return std::min(extents.m, extents.n); }
  Matrix A() const { return {a, extents.m, extents.n}; }
  // The next part of the result.
  Matrix Take(int64_t rows, int64_t columns) {
    const Matrix part{result, rows, columns};
    result += rows * columns;
    return part;
  }
  // What went wrong, if the step is to say so; its results are NaN then.
  const char* Fail(const char* what, double* from) {
    std::fill(from, result, kNan);
    return step.check ? what : nullptr;
  }
};

void Copy(Matrix from, Matrix to) { std::ranges::copy(from.Elements(), to.data); }

void Transpose(Matrix from, Matrix to) {
  for (int64_t i = 0; i < from.rows; ++i) {
    for (int64_t j = 0; j < from.columns; ++j) to.At(j, i) = from.At(i, j);
  }
}

const char* SolveCholesky(Problem& p) {
  const Matrix l = p.Take(p.extents.n, p.extents.n);
  const Matrix code = p.Take(1, 1);
  Copy(p.A(), l);
  code.At(0, 0) = static_cast<double>(FactorCholesky(l));
  if (code.At(0, 0) == 0) return nullptr;
  std::ranges::fill(l.Elements(), kNan);
  return p.step.check ? "a matrix is not positive definite" : nullptr;
}

const char* SolveLu(Problem& p) {
  const Matrix lu = p.Take(p.extents.m, p.extents.n), pivots = p.Take(1, p.shorter()), code = p.Take(1, 1);
  Copy(p.A(), lu);
  code.At(0, 0) = static_cast<double>(FactorLu(lu, pivots.data));
  return code.At(0, 0) != 0 && p.step.check ? "a matrix is singular" : nullptr;
}

const char* SolveRowOrder(Problem& p) {
  double* const order = p.Take(1, p.extents.m).data;
  for (int64_t i = 0; i < p.extents.m; ++i) order[i] = static_cast<double>(i);
  for (int64_t i = 0; i < p.extents.m; ++i) {
    const double other = p.a[i];
    if (!(other >= 0 && other < static_cast<double>(p.extents.m))) return "a pivot is outside the matrix";
    std::swap(order[i], order[static_cast<int64_t>(other)]);
  }
  return nullptr;
}

const char* SolveQr(Problem& p) {
  const int64_t columns = p.step.full ? p.extents.m : p.shorter();
  const Matrix q = p.Take(p.extents.m, columns), r = p.Take(columns, p.extents.n);
  FactorQr(p.A(), q, p.work);
  Copy({p.a, columns, p.extents.n}, r);
  return nullptr;
}

const char* SolveEigh(Problem& p) {
  const int64_t n = p.extents.n;
  double* const begin = p.result;
  const Matrix values = p.Take(1, n), vectors = p.Take(p.step.vectors ? n : 0, n);
  // The other triangle may hold anything: the factorisation reads both.
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) (p.step.upper ? p.A().At(i, j) : p.A().At(j, i)) = p.step.upper ? p.A().At(j, i) : p.A().At(i, j);
  }
  if (!EigenSymmetric(p.A(), values.data, p.step.vectors, p.work)) {
    return p.Fail("the eigenvalues of a matrix do not converge; does it hold NaN or infinities?", begin);
  }
  if (p.step.vectors) Transpose(p.A(), vectors);
  return nullptr;
}

// A [m, n] = U diag(values) Vh. The rotations want the longer side in rows: they run on A^T, whose rows are A's columns,
// or on A itself, which has the roles of U and V exchanged.
const char* SolveSvd(Problem& p) {
  const auto [m, n, unused] = p.extents;
  const bool tall = m >= n;
  const int64_t k = p.shorter(), longer = std::max(m, n), wide = p.step.full ? longer : k;
  double* const begin = p.result;
  const Matrix u = p.Take(p.step.vectors ? m : 0, p.step.full ? m : k), values = p.Take(1, k);
  const Matrix vh = p.Take(p.step.vectors ? (p.step.full ? n : k) : 0, n);
  const Matrix left{p.work, wide, longer}, right{p.work + wide * longer, k, k};
  const Matrix rows{left.data, k, longer};
  tall ? Transpose(p.A(), rows) : Copy(p.A(), rows);
  if (!SingularValues(rows, values.data, p.step.vectors ? right : Matrix{})) {
    return p.Fail("the singular values of a matrix do not converge; does it hold NaN or infinities?", begin);
  }
  if (!p.step.vectors) return nullptr;
  CompleteBasis(left, k);
  if (tall) {
    Transpose(left, u);
    Copy(right, vh);
  } else {
    Transpose(right, u);
    Copy(left, vh);
  }
  return nullptr;
}

const char* SolveTriangle(Problem& p) {
  const Matrix x = p.Take(p.extents.n, p.extents.k);
  Copy({p.b, p.extents.n, p.extents.k}, x);
  SolveTriangular(p.A(), x, p.step.upper, p.step.unit);
  return nullptr;
}

const char* SolveExponential(Problem& p) {
  Exponential(p.A(), p.work);
  Copy(p.A(), p.Take(p.extents.n, p.extents.n));
  return nullptr;
}

// Indexed by LinalgKind.
struct KindRow {
  const char* (*solve)(Problem& problem);
  int64_t (*result)(const LinalgStep& step, int64_t m, int64_t n, int64_t k);
  int64_t (*work)(const LinalgStep& step, int64_t m, int64_t n);
};
constexpr KindRow kKinds[] = {
    {SolveCholesky, [](const LinalgStep&, int64_t, int64_t n, int64_t) { return n * n + 1; },
     [](const LinalgStep&, int64_t, int64_t) { return int64_t{0}; }},
    {SolveLu, [](const LinalgStep&, int64_t m, int64_t n, int64_t) { return m * n + std::min(m, n) + 1; },
     [](const LinalgStep&, int64_t, int64_t) { return int64_t{0}; }},
    {SolveRowOrder, [](const LinalgStep&, int64_t m, int64_t, int64_t) { return m; },
     [](const LinalgStep&, int64_t, int64_t) { return int64_t{0}; }},
    {SolveQr, [](const LinalgStep& step, int64_t m, int64_t n, int64_t) { return (step.full ? m : std::min(m, n)) * (m + n); },
     [](const LinalgStep&, int64_t m, int64_t n) { return std::min(m, n) + std::max(m, n); }},
    {SolveEigh, [](const LinalgStep& step, int64_t, int64_t n, int64_t) { return step.vectors ? n * n + n : n; },
     [](const LinalgStep&, int64_t, int64_t n) { return 2 * n; }},
    {SolveSvd,
     [](const LinalgStep& step, int64_t m, int64_t n, int64_t) {
       const int64_t k = std::min(m, n);
       if (!step.vectors) return k;
       return step.full ? m * m + k + n * n : m * k + k + k * n;
     },
     [](const LinalgStep& step, int64_t m, int64_t n) {
       const int64_t k = std::min(m, n), longer = std::max(m, n);
       return (step.full ? longer : k) * longer + k * k;
     }},
    {SolveTriangle, [](const LinalgStep&, int64_t, int64_t n, int64_t k) { return n * k; },
     [](const LinalgStep&, int64_t, int64_t) { return int64_t{0}; }},
    {SolveExponential, [](const LinalgStep&, int64_t, int64_t n, int64_t) { return n * n; },
     [](const LinalgStep&, int64_t, int64_t n) { return 2 * n * n; }},
};

const KindRow& RowOf(const LinalgStep& step) { return kKinds[static_cast<size_t>(step.kind)]; }

}  // namespace

int64_t ResultElements(const LinalgStep& step, const Extents& extents) {
  return RowOf(step).result(step, extents.m, extents.n, extents.k);
}

int64_t WorkElements(const LinalgStep& step, const Extents& extents) { return RowOf(step).work(step, extents.m, extents.n); }

const char* Solve(const LinalgStep& step, const Extents& extents, double* a, double* b, double* result, double* work) {
  Problem problem{step, extents, a, b, result, work};
  return RowOf(step).solve(problem);
}

}  // namespace tondar::linalg
