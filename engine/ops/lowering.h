// LoweringBuilder: what an operator's lowering writes with; and the views that cost nothing at run time.
#ifndef TONDAR_ENGINE_OPS_LOWERING_H_
#define TONDAR_ENGINE_OPS_LOWERING_H_

#include <functional>
#include <string_view>
#include <vector>

#include "engine/ir/graph.h"
#include "engine/plan/loop_builder.h"

namespace tondar {

// Emits primitive nodes in front of the node being lowered, then replaces the node's outputs. Primitives are:
// steps (Node::body), and the view operators permute, reshape, expand, slice and alias.
class LoweringBuilder {
 public:
  explicit LoweringBuilder(Node& node) : node_(node) {}

  using Handle = LoopBuilder::Handle;

  // A map over the broadcast shape of `inputs`: `body` gets one handle per input, as loaded, and gives the result.
  Value* Map(const std::vector<Value*>& inputs, const std::function<Handle(LoopBuilder&, std::span<const Handle>)>& body);
  // The general map: accesses are the caller's.
  Value* Map(Shape extents, const std::vector<Value*>& inputs, LoopProgram program);
  Value* Reduce(ReduceStep step, const std::vector<Value*>& inputs, Shape shape, DType dtype);
  Value* Step(StepBody body, const std::vector<Value*>& inputs, Shape shape, DType dtype);
  Value* Cast(Value* x, DType dtype);
  Value* MatMul(Value* a, Value* b, DType dtype);  // [batch..., M, K] x [batch..., K, N]; batch dims broadcast

  // Views. Dims may be negative where PyTorch allows it.
  Value* Permute(Value* x, std::vector<int64_t> dims);
  Value* Transpose(Value* x, int64_t a, int64_t b);
  Value* Reshape(Value* x, Shape shape);  // a copy only if no strides can express it
  Value* Expand(Value* x, Shape shape);   // prepends and repeats dims of extent 1
  Value* Slice(Value* x, int64_t dim, Dim start, Dim length, int64_t step = 1);

  Value* Scalar(double value, DType dtype);  // a 0-d constant

  // Gives output number `index` of the node being lowered.
  void Replace(size_t index, Value* value);

  Graph& graph() { return *node_.graph; }

 private:
  Node& node_;
};

// Replaces every non-primitive node by its lowering. Internal: an op without lowering reached this, by name.
Status LowerGraph(Graph& graph);

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_LOWERING_H_
