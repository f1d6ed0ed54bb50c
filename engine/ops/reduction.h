// Reductions over any dims of a tensor, for the families that need one.
#ifndef TONDAR_ENGINE_OPS_REDUCTION_H_
#define TONDAR_ENGINE_OPS_REDUCTION_H_

#include <functional>
#include <vector>

#include "engine/ops/lowering.h"

namespace tondar {

struct Reduction {
  ReduceOp op = ReduceOp::kSum;
  std::vector<size_t> dims;  // sorted
  bool keepdim = false;
  DType accumulator = DType::kFloat32;
  DType dtype = DType::kFloat32;  // of the result
  // From the loaded inputs to what is accumulated; null: the first input.
  std::function<LoopBuilder::Handle(LoopBuilder&, std::span<const LoopBuilder::Handle>)> body;
  // From the accumulated value to the result; null: the value. Both are converted afterwards as need be.
  std::function<LoopBuilder::Handle(LoopBuilder&, LoopBuilder::Handle)> finish;
};

// The first input has the shape that is reduced; the others broadcast to it and have its rank.
Value* EmitReduction(LoweringBuilder& builder, const std::vector<Value*>& inputs, const Reduction& reduction);

// The number of elements that are reduced to one.
Dim ReducedCount(const Shape& shape, const std::vector<size_t>& dims);

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_REDUCTION_H_
