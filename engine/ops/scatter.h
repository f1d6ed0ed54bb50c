// Writing values into a copy of a tensor at computed places, for the families that need it.
#ifndef TONDAR_ENGINE_OPS_SCATTER_H_
#define TONDAR_ENGINE_OPS_SCATTER_H_

#include <functional>
#include <vector>

#include "engine/ops/lowering.h"

namespace tondar {

// What is written at one point of the loop.
struct ScatterPoint {
  LoopBuilder::Handle value;
  std::vector<LoopBuilder::Handle> at;  // integers: the position along each dim of the base
};

// The base with a value combined into it at every point of `extents`, row-major. `body` may load `operands`, the first of
// which is operand 1. The result has the base's dtype; 16-bit floats are combined in float32.
Value* EmitScatter(LoweringBuilder& builder, Value* base, const std::vector<Value*>& operands, const Shape& extents,
                   ScatterOp op, const std::function<ScatterPoint(LoopBuilder&)>& body);

// How many points fall on each element of a tensor of `shape`; `body` gives the positions, the value is ignored.
Value* EmitCounts(LoweringBuilder& builder, const Shape& shape, const std::vector<Value*>& operands, const Shape& extents,
                  const std::function<ScatterPoint(LoopBuilder&)>& body);

// scatter_reduce and its kin: "sum", "prod", "mean", "amax", "amin". Without `include_self` an element that is reached
// loses what the base held there.
struct ScatterReduction {
  std::string reduce;
  bool include_self = true;
};
// InvalidArgument: an unknown reduction.
Result<Value*> EmitScatterReduction(LoweringBuilder& builder, const ScatterReduction& reduction, Value* base,
                                    const std::vector<Value*>& operands, const Shape& extents,
                                    const std::function<ScatterPoint(LoopBuilder&)>& body);

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_SCATTER_H_
