#include "engine/runtime/shape_plan.h"

namespace tondar {
namespace {

Status RunChecks(const CompiledGraph& graph, std::span<const int64_t> symbols) {
  for (const ShapeCheck& check : graph.checks) {
    const int64_t left = check.left.Evaluate(symbols), right = check.right.Evaluate(symbols);
    if (left == right) continue;
    return InvalidArgument("the input shapes do not fit together: {} ({}) must equal {} ({}), at {}", left,
                           check.left.ToString(graph.symbols), right, check.right.ToString(graph.symbols), check.where);
  }
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<ShapePlan>> ShapePlan::Create(const PreparedGraph& prepared, std::vector<Dims> input_shapes,
                                                     std::vector<int64_t> symbols, int64_t limit_bytes) {
  const CompiledGraph& graph = prepared.graph();
  TONDAR_RETURN_IF_ERROR(RunChecks(graph, symbols));
  std::unique_ptr<ShapePlan> plan(new ShapePlan(prepared));
  TONDAR_ASSIGN_OR_RETURN(plan->memory_, PlanMemory(graph, symbols, limit_bytes));
  plan->input_shapes_ = std::move(input_shapes);
  plan->symbols_ = std::move(symbols);
  for (const Step& step : graph.steps) {
    plan->first_operand_.push_back(plan->operands_.size());
    plan->operands_.resize(plan->operands_.size() + step.inputs.size() + step.outputs.size());
  }
  return plan;
}

DeviceTensor ShapePlan::Locate(const Operand& operand) const {
  const size_t slot_index = static_cast<size_t>(operand.slot);
  const Slot& slot = prepared_.graph().slots[slot_index];
  std::byte* base = slot.role == SlotRole::kConstant
                        ? prepared_.constant_address(static_cast<size_t>(slot.constant))
                        : arena_ + memory_.offsets[slot_index];
  const int64_t offset = operand.offset.Evaluate(symbols_) * static_cast<int64_t>(SizeOf(operand.dtype));
  return {base == nullptr ? nullptr : base + offset, operand.dtype, Evaluate(operand.shape, symbols_),
          Evaluate(operand.strides, symbols_)};
}

void ShapePlan::PlaceAt(std::byte* arena) {
  if (arena == arena_) return;
  arena_ = arena;
  captured.reset();
  eager_runs = 0;
  const CompiledGraph& graph = prepared_.graph();
  inputs_.clear();
  outputs_.clear();
  for (const Operand& input : graph.inputs) inputs_.push_back(Locate(input));
  for (const Operand& output : graph.outputs) outputs_.push_back(Locate(output));
  size_t next = 0;
  for (const Step& step : graph.steps) {
    for (const Operand& input : step.inputs) operands_[next++] = Locate(input);
    for (const Operand& output : step.outputs) operands_[next++] = Locate(output);
  }
}

KernelArguments ShapePlan::arguments(size_t step) const {
  const Step& shape = prepared_.graph().steps[step];
  const DeviceTensor* first = operands_.data() + first_operand_[step];
  return {{first, shape.inputs.size()}, {first + shape.inputs.size(), shape.outputs.size()}, symbols_};
}

}  // namespace tondar
