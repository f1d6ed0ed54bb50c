#include "engine/runtime/segment_plan.h"

#include <algorithm>

namespace tondar {
namespace {

Status RunCheck(const CompiledGraph& graph, const ShapeCheck& check, std::span<const int64_t> symbols) {
  const int64_t left = check.left.Evaluate(symbols), right = check.right.Evaluate(symbols);
  if (left == right) return OkStatus();
  if (!check.condition.empty()) {
    return InvalidArgument("the model was exported for inputs with {}, which these are not", check.condition);
  }
  return InvalidArgument("sizes do not fit together: {} is {} and {} is {}, but they must be equal, at {}",
                         check.left.ToString(graph.terms), left, check.right.ToString(graph.terms), right, check.where);
}

}  // namespace

Result<std::unique_ptr<SegmentPlan>> SegmentPlan::Create(const PreparedGraph& prepared, const SegmentPlan* previous,
                                                         std::vector<int64_t> symbols, int64_t limit_bytes) {
  const CompiledGraph& graph = prepared.graph();
  std::unique_ptr<SegmentPlan> plan(new SegmentPlan(prepared, previous));
  for (const ShapeCheck& check : graph.checks) {
    if (check.segment != static_cast<int>(plan->segment_)) continue;
    Status status = RunCheck(graph, check, symbols);
    if (!status.ok() && check.body < 0) return status;
    if (!status.ok()) plan->excluded_.push_back({check.body, std::move(status)});
  }
  TONDAR_ASSIGN_OR_RETURN(plan->memory_, PlanMemory(graph, static_cast<int>(plan->segment_), symbols, limit_bytes));
  plan->symbols_ = std::move(symbols);
  const Segment& segment = graph.segments[plan->segment_];
  for (int i = segment.first_step; i < segment.end_step; ++i) {
    const Step& step = graph.steps[static_cast<size_t>(i)];
    plan->first_operand_.push_back(plan->operands_.size());
    plan->operands_.resize(plan->operands_.size() + step.inputs.size() + step.outputs.size());
  }
  return plan;
}

std::byte* SegmentPlan::AddressOf(size_t slot_index) const {
  const Slot& slot = prepared_.graph().slots[slot_index];
  switch (slot.role) {
    case SlotRole::kConstant: return prepared_.constant_address(static_cast<size_t>(slot.constant));
    case SlotRole::kState: return states_[static_cast<size_t>(slot.state)];
    default: break;
  }
  const SegmentPlan* plan = this;
  while (static_cast<int>(plan->segment_) > slot.segment) plan = plan->previous_;
  return plan->arena_ + plan->memory_.offsets[slot_index];
}

DeviceTensor SegmentPlan::Locate(const Operand& operand) const {
  std::byte* base = AddressOf(static_cast<size_t>(operand.slot));
  const int64_t offset = operand.offset.Evaluate(symbols_) * static_cast<int64_t>(SizeOf(operand.dtype));
  return {base == nullptr ? nullptr : base + offset, operand.dtype, Evaluate(operand.shape, symbols_),
          Evaluate(operand.strides, symbols_)};
}

void SegmentPlan::PlaceAt(const SessionMemory& memory) {
  if (is_placed_) return;
  is_placed_ = true;
  arena_ = memory.arenas[segment_];
  states_ = memory.states;
  const CompiledGraph& graph = prepared_.graph();
  const Segment& segment = graph.segments[segment_];
  size_t next = 0;
  for (int i = segment.first_step; i < segment.end_step; ++i) {
    const Step& step = graph.steps[static_cast<size_t>(i)];
    for (const Operand& input : step.inputs) operands_[next++] = Locate(input);
    for (const Operand& output : step.outputs) operands_[next++] = Locate(output);
  }
}

void SegmentPlan::Displace(size_t first) {
  if (segment_ >= first) {
    is_placed_ = false;
    arena_ = nullptr;
    captured.reset();
    eager_runs = 0;
  }
  for (const std::unique_ptr<SegmentPlan>& plan : next_) plan->Displace(first);
}

Status SegmentPlan::CheckBody(int step) const {
  for (const Exclusion& exclusion : excluded_) {
    if (exclusion.body == step) return exclusion.why;
  }
  return OkStatus();
}

KernelArguments SegmentPlan::arguments(size_t step) const {
  const CompiledGraph& graph = prepared_.graph();
  const Step& shape = graph.steps[step];
  const size_t first = first_operand_[step - static_cast<size_t>(graph.segments[segment_].first_step)];
  const DeviceTensor* operands = operands_.data() + first;
  return {{operands, shape.inputs.size()}, {operands + shape.inputs.size(), shape.outputs.size()}, symbols_};
}

SegmentPlan* SegmentPlan::FindNext(std::span<const int64_t> symbols) const {
  const auto found = std::find_if(next_.begin(), next_.end(), [&](const std::unique_ptr<SegmentPlan>& plan) {
    return std::equal(symbols.begin(), symbols.end(), plan->symbols_.begin(), plan->symbols_.end());
  });
  return found == next_.end() ? nullptr : found->get();
}

SegmentPlan* SegmentPlan::AddNext(std::unique_ptr<SegmentPlan> plan, size_t limit) {
  if (next_.size() >= std::max<size_t>(limit, 1)) next_.erase(next_.begin());
  next_.push_back(std::move(plan));
  return next_.back().get();
}

}  // namespace tondar
