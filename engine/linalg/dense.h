// Dense linear algebra on one matrix of doubles: factorisations, eigenvalues, singular values.
//
// Plain functions over memory of the caller; they allocate nothing and hold no state, so that any thread may call them. The
// order of every sum is fixed: equal input gives equal bits. Algorithms: Golub and Van Loan, "Matrix Computations", 4th ed.
#ifndef TONDAR_ENGINE_LINALG_DENSE_H_
#define TONDAR_ENGINE_LINALG_DENSE_H_

#include <cstdint>
#include <span>

namespace tondar::linalg {

// A row-major matrix whose rows follow one another. Does not own its memory.
struct Matrix {
  double* data = nullptr;
  int64_t rows = 0, columns = 0;

  double* Row(int64_t i) const { return data + i * columns; }
  double& At(int64_t i, int64_t j) const { return data[i * columns + j]; }
  std::span<double> Elements() const { return {data, static_cast<size_t>(rows * columns)}; }
};

void SetIdentity(Matrix a);  // ones on the diagonal, zeros elsewhere; need not be square
void Multiply(Matrix a, Matrix b, Matrix product);  // overlaps neither

// L L^T = A (section 4.2). Reads the lower triangle of `a` and leaves L there, zeros above. Returns 0, or the order of the
// first leading minor that is not positive, 1-based.
int64_t FactorCholesky(Matrix a);

// P A = L U with partial pivoting (section 3.4): L's lower part, with ones on its diagonal left out, and U share `a`. Row i
// was exchanged with row pivots[i] >= i; `pivots` has min(rows, columns) entries. Returns 0, or the first zero pivot, 1-based.
int64_t FactorLu(Matrix a, double* pivots);

// X with T X = B in place of `b`, reading one triangle of `t`; `unit`: its diagonal counts as ones.
void SolveTriangular(Matrix t, Matrix b, bool upper, bool unit);

// Q R = A by Householder reflections (section 5.2), with LAPACK's choice of signs. `q` has as many rows as `a` and at least
// min(rows, columns) columns, and is all of it set; `a` becomes R, zeros below its diagonal. `work`: a.rows + a.columns.
void FactorQr(Matrix a, Matrix q, double* work);

// Eigenvalues of a symmetric matrix in ascending order: tridiagonal form, then implicit QL steps (section 8.3). `a`, of
// which all is read, becomes the matrix whose rows are the eigenvectors if `vectors`, else anything. `work`: 2 * rows.
// Returns false if it does not converge, as with NaN.
bool EigenSymmetric(Matrix a, double* values, bool vectors, double* work);

// Singular values in descending order, by one-sided Jacobi rotations (section 8.6). In: the rows of `a` are the columns of
// a matrix M with a.columns >= a.rows. Out: row i of `a` is M's left singular vector i, row i of `v` (a.rows squared) its
// right one. Without vectors `v.data` is null. Returns false if it does not converge, as with NaN or infinities.
bool SingularValues(Matrix a, double* values, Matrix v);

// Makes rows [first, q.rows) of `q` orthonormal, and orthogonal to the orthonormal rows before them. q.rows <= q.columns.
void CompleteBasis(Matrix q, int64_t first);

// e^A by scaling, a Taylor polynomial and squaring (section 9.3), in place. `work`: 2 * rows squared.
void Exponential(Matrix a, double* work);

}  // namespace tondar::linalg

#endif  // TONDAR_ENGINE_LINALG_DENSE_H_
