// Scans that must know where they are: running extrema, their positions, and sums of exponentials. One after the other, for
// each element decides whether the next replaces it, so that vectors gain nothing.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_SCAN_FUNCTIONS_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_SCAN_FUNCTIONS_H_

#include "engine/accelerators/cpu/loop_table.h"
#include "engine/plan/step.h"

namespace tondar::cpu {

// out[i] = the running value after values[i], whose position is position + i; for kArgMax and kArgMin its position, int64.
// carry->index is -1 before the first element.
using PositionedScan = void (*)(ReduceState* carry, void* out, const void* values, int64_t position, int64_t n);

// Null: the operation is not defined on the lane.
PositionedScan PositionedScanFor(ReduceOp op, Lane lane);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_SCAN_FUNCTIONS_H_
