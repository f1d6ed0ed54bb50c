// Products of many batches with one matrix become one product of more rows.
#ifndef TONDAR_ENGINE_COMPILER_MERGE_ROWS_H_
#define TONDAR_ENGINE_COMPILER_MERGE_ROWS_H_

#include "engine/plan/step.h"

namespace tondar {

// If `step` is a product whose second operand repeats over batch dims, moves those dims into the rows, from the
// innermost on, as far as the strides of the other operands allow it: [B, S, K] x [K, N] runs as [B*S, K] x [K, N].
void MergeRows(Step& step);

}  // namespace tondar

#endif  // TONDAR_ENGINE_COMPILER_MERGE_ROWS_H_
