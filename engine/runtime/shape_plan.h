// ShapePlan: everything a session needs to run one set of input shapes.
#ifndef TONDAR_ENGINE_RUNTIME_SHAPE_PLAN_H_
#define TONDAR_ENGINE_RUNTIME_SHAPE_PLAN_H_

#include <memory>
#include <vector>

#include "engine/api/session.h"
#include "engine/runtime/prepared_graph.h"

namespace tondar {

// Slots at offsets, operands at addresses, and the captured graph once there is one. One thread at a time.
class ShapePlan {
 public:
  // Evaluates the graph's sizes for `symbols`. ResourceExhausted: the activations need more than `limit_bytes`.
  // InvalidArgument: extents that had to be equal are not; says where.
  static Result<std::unique_ptr<ShapePlan>> Create(const PreparedGraph& prepared, std::vector<Dims> input_shapes,
                                                   std::vector<int64_t> symbols, int64_t limit_bytes);

  const std::vector<Dims>& input_shapes() const { return input_shapes_; }
  int64_t arena_bytes() const { return memory_.arena_bytes; }

  // Points every operand into the arena at `arena`; drops a captured graph made for another place.
  void PlaceAt(std::byte* arena);
  std::byte* arena() const { return arena_; }

  // Device tensors of the graph's inputs and outputs.
  const std::vector<DeviceTensor>& inputs() const { return inputs_; }
  const std::vector<DeviceTensor>& outputs() const { return outputs_; }
  KernelArguments arguments(size_t step) const;

  // The captured graph; null before one was made.
  std::unique_ptr<CapturedGraph> captured;
  bool capture_refused = false;  // the device said no; do not ask again
  uint64_t eager_runs = 0;       // at the present place
  uint64_t last_used = 0;        // tick of the session, for eviction

 private:
  explicit ShapePlan(const PreparedGraph& prepared) : prepared_(prepared) {}

  DeviceTensor Locate(const Operand& operand) const;

  const PreparedGraph& prepared_;
  std::vector<Dims> input_shapes_;
  std::vector<int64_t> symbols_;
  MemoryPlan memory_;
  std::byte* arena_ = nullptr;
  std::vector<DeviceTensor> inputs_, outputs_;
  std::vector<DeviceTensor> operands_;  // of all steps: each step's inputs, then its outputs
  std::vector<size_t> first_operand_;   // per step, into operands_
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_RUNTIME_SHAPE_PLAN_H_
