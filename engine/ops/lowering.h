// LoweringBuilder: what an operator's lowering writes with; and the views that cost nothing at run time.
#ifndef TONDAR_ENGINE_OPS_LOWERING_H_
#define TONDAR_ENGINE_OPS_LOWERING_H_

#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "engine/ir/graph.h"
#include "engine/ops/op_schema.h"
#include "engine/plan/loop_builder.h"

namespace tondar {

// Emits nodes in front of the node being lowered, then replaces the node's outputs. Primitives are steps (Node::body)
// and these operators, whose arguments are in canonical form once built here:
//   permute(x, dims)                        dims not negative
//   reshape(x, shape)                       row-major order of x; shape complete (no -1)
//   expand(x, shape)                        shape complete; prepends dims and repeats those of extent 1
//   slice(x, dim, start, length, step)      elements start, start + step, ... along dim; step >= 1
//   alias(x)                                x itself
//   concat(xs..., dim)                      the inputs one after the other along dim; equal dtypes
class LoweringBuilder {
 public:
  explicit LoweringBuilder(Node& node) : node_(node) {}

  using Handle = LoopBuilder::Handle;
  using Handles = std::span<const Handle>;

  // A map over the broadcast shape of `inputs`: `body` gets one handle per input, as loaded, and gives the result.
  Value* Map(const std::vector<Value*>& inputs, const std::function<Handle(LoopBuilder&, Handles)>& body);
  // The same over given extents, to which the inputs broadcast.
  Value* Map(const Shape& extents, const std::vector<Value*>& inputs,
             const std::function<Handle(LoopBuilder&, Handles)>& body);
  // The general map: accesses are the caller's. One result.
  Value* Map(Shape extents, const std::vector<Value*>& inputs, LoopProgram program);
  Value* Reduce(ReduceStep step, const std::vector<Value*>& inputs, Shape shape, DType dtype);
  Value* Step(StepBody body, const std::vector<Value*>& inputs, Shape shape, DType dtype);
  Value* Cast(Value* x, DType dtype);
  // [batch..., M, K] x [batch..., K, N]; batch dims broadcast. `a` and `b` have one dtype.
  Value* MatMul(Value* a, Value* b, DType dtype);

  // Views. Dims may be negative where PyTorch allows it. Each gives x itself if there is nothing to do.
  Value* Permute(Value* x, std::vector<int64_t> dims);
  Value* Transpose(Value* x, int64_t a, int64_t b);
  Value* Reshape(Value* x, Shape shape);  // a copy only if no strides can express it
  Value* Expand(Value* x, Shape shape);   // prepends and repeats dims of extent 1
  Value* Slice(Value* x, int64_t dim, Dim start, Dim length, int64_t step = 1);
  Value* Unsqueeze(Value* x, int64_t dim);
  Value* Squeeze(Value* x, int64_t dim);  // the dim has extent 1
  Value* Concat(const std::vector<Value*>& xs, int64_t dim);

  Value* Scalar(double value, DType dtype);          // a 0-d constant
  Value* IntegerScalar(int64_t value, DType dtype);  // exactly, where a double would round
  Value* Full(double value, DType dtype, Shape shape);  // an expanded one

  // A node that runs subgraphs, still without them and without outputs.
  Node* AddControl(std::string_view op, const std::vector<Value*>& inputs);
  // Any operator, as AddOp; it is lowered in its turn.
  Result<Value*> Op(std::string_view op, std::vector<Value*> inputs, Attributes attributes = {});

  // Gives output number `index` of the node being lowered.
  void Replace(size_t index, Value* value);

  Graph& graph() { return *node_.graph; }

 private:
  Value* View(std::string_view op, Value* x, Attributes attributes, Shape shape);

  Node& node_;
};

// Lowers the rows marked `early` until none is left. Runs before all other passes.
Status DecomposeGraph(Graph& graph);

// Replaces every non-primitive node by its lowering. Internal: an op without lowering reached this, by name.
Status LowerGraph(Graph& graph);

// The dtype that arithmetic on `dtype` is done in: float32 for narrower floats, else itself.
DType ComputeDType(DType dtype);

// The program of a matmul, conv or norm step's epilogue that stores the accumulated value as `dtype`, after adding
// `bias`, whose access is the caller's (null: no bias). Empty if there is nothing to do.
LoopProgram StoreEpilogue(DType accumulator, DType dtype, const Access* bias = nullptr,
                          DType bias_dtype = DType::kInvalid);

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_LOWERING_H_
