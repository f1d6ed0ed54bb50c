// Sorted positions and what they pick, for the families that need them.
#ifndef TONDAR_ENGINE_OPS_ORDERING_H_
#define TONDAR_ENGINE_OPS_ORDERING_H_

#include "engine/ops/lowering.h"

namespace tondar {

// The positions along dim `d` of x's first `count` elements in order, at x's shape with `count` in that dim: int64.
// Stable, NaN largest.
Value* EmitSort(LoweringBuilder& builder, Value* x, size_t d, bool descending, const Dim& count);

// x at `positions` (x's shape but for dim `d`) along that dim.
Value* EmitGather(LoweringBuilder& builder, Value* x, size_t d, Value* positions);

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_ORDERING_H_
