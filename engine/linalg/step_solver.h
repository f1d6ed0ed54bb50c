// What a linear-algebra step computes for one matrix of its batch; the backends bring matrices in and results out.
#ifndef TONDAR_ENGINE_LINALG_STEP_SOLVER_H_
#define TONDAR_ENGINE_LINALG_STEP_SOLVER_H_

#include <cstdint>

#include "engine/plan/step.h"

namespace tondar::linalg {

// The extents of one problem: `a` is [m, n], `b` (triangular solves) is [n, k].
struct Extents {
  int64_t m = 0, n = 0, k = 0;
};

// Elements of the result, as LinalgStep lays it out.
int64_t ResultElements(const LinalgStep& step, const Extents& extents);
// Doubles of working memory that Solve needs.
int64_t WorkElements(const LinalgStep& step, const Extents& extents);

// Solves one problem. `a` and `b`, row-major, are overwritten. Returns null, or what makes the request fail, a text that
// lasts. Allocates nothing; thread-safe.
const char* Solve(const LinalgStep& step, const Extents& extents, double* a, double* b, double* result, double* work);

}  // namespace tondar::linalg

#endif  // TONDAR_ENGINE_LINALG_STEP_SOLVER_H_
