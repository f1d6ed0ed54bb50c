#include "engine/ops/reduction.h"

#include <algorithm>

#include "engine/ops/inference.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;

// The loop runs over the kept dims, then over the reduced ones.
struct LoopOrder {
  Shape extents;
  std::vector<int> place;  // of each tensor dim among the loop dims

  LoopOrder(const Shape& shape, const std::vector<size_t>& dims) : place(shape.size()) {
    for (bool reduced : {false, true}) {
      for (size_t d = 0; d < shape.size(); ++d) {
        if (std::binary_search(dims.begin(), dims.end(), d) != reduced) continue;
        place[d] = static_cast<int>(extents.size());
        extents.push_back(shape[d]);
      }
    }
  }
};

Access AccessInOrder(int operand, const Shape& shape, const Shape& full, const LoopOrder& order) {
  Access access{.operand = static_cast<int16_t>(operand), .index = {}};
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool repeats = shape[d].Is(1) && !full[d].Is(1);
    access.index.push_back(repeats ? IndexExpression::At(Dim(0)) : IndexExpression::LoopDim(order.place[d]));
  }
  return access;
}

}  // namespace

Dim ReducedCount(const Shape& shape, const std::vector<size_t>& dims) {
  Dim count(1);
  for (size_t d : dims) count = count * shape[d];
  return count;
}

Value* EmitReduction(LoweringBuilder& builder, const std::vector<Value*>& inputs, const Reduction& reduction) {
  if (inputs[0]->shape.empty()) {  // a 0-d tensor reduces as one element
    std::vector<Value*> vectors;
    for (Value* input : inputs) vectors.push_back(builder.Reshape(input, {Dim(1)}));
    Reduction over = reduction;
    over.dims = {0};
    over.keepdim = false;
    return EmitReduction(builder, vectors, over);
  }
  const Shape& shape = inputs[0]->shape;
  const LoopOrder order(shape, reduction.dims);
  LoopBuilder body;
  std::vector<Handle> loads;
  for (size_t i = 0; i < inputs.size(); ++i) {
    loads.push_back(body.Load(AccessInOrder(static_cast<int>(i), inputs[i]->shape, shape, order), inputs[i]->dtype));
  }
  const Handle value = reduction.body ? reduction.body(body, loads) : loads[0];
  body.Result(body.Cast(value, reduction.accumulator));
  ReduceStep step{.extents = order.extents, .reduced = static_cast<int>(reduction.dims.size()), .op = reduction.op,
                  .accumulator = reduction.accumulator, .program = std::move(body).Build(), .finish = {}};
  const bool position = reduction.op == ReduceOp::kArgMax || reduction.op == ReduceOp::kArgMin;
  const DType reduced = position ? DType::kInt64 : reduction.accumulator;
  if (reduction.finish || reduced != reduction.dtype) {
    LoopBuilder finish;
    Handle result = finish.Accumulator(0, reduced);
    if (reduction.finish) result = reduction.finish(finish, result);
    finish.Result(finish.Cast(result, reduction.dtype));
    step.finish = std::move(finish).Build();
  }
  Value* value_out = builder.Reduce(std::move(step), inputs, ReducedShape(shape, reduction.dims, false), reduction.dtype);
  return builder.Reshape(value_out, ReducedShape(shape, reduction.dims, reduction.keepdim));
}

}  // namespace tondar
