// Tile functions that go through the C library element by element: rare in models, so not worth vectors.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_SCALAR_FUNCTIONS_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_SCALAR_FUNCTIONS_H_

#include "engine/accelerators/cpu/loop_table.h"

namespace tondar::cpu {

// The function, or null if there is none for the lane.
TileFunction ScalarFunction(TileOp op, Lane lane);

// Mathematical functions that <cmath> lacks, in f64. Tested to 1e-12 relative.
double Digamma(double x);
double Erfinv(double x);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_SCALAR_FUNCTIONS_H_
