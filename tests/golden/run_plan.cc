#include "tests/golden/run_plan.h"

#include "engine/ops/testing/interpreter.h"

namespace tondar {
namespace {

constexpr int64_t kMaxArenaBytes = int64_t{1} << 30;
// What memory holds that nothing has written: a NaN in every float dtype.
constexpr std::byte kUnwritten{0xFF};

class PlanRunner {
 public:
  PlanRunner(const CompiledGraph& plan, MemoryPlan memory, std::span<const int64_t> symbols)
      : plan_(plan), memory_(std::move(memory)), symbols_(symbols),
        arena_(static_cast<size_t>(memory_.arena_bytes), kUnwritten) {
    for (const State& state : plan.states) states_.push_back(CopyToConstant(state.name, state.initial.view));
  }

  TensorView Locate(const Operand& operand) {
    const size_t slot = static_cast<size_t>(operand.slot);
    std::byte* base = BaseOf(slot);
    const int64_t offset = operand.offset.Evaluate(symbols_) * static_cast<int64_t>(SizeOf(operand.dtype));
    return {base + offset, operand.dtype, Evaluate(operand.shape, symbols_), Evaluate(operand.strides, symbols_)};
  }

  std::byte* BaseOf(size_t slot) {
    const Slot& place = plan_.slots[slot];
    if (place.constant >= 0) return plan_.constants[static_cast<size_t>(place.constant)].view.data;
    if (place.state >= 0) return states_[static_cast<size_t>(place.state)].view.data;
    return arena_.data() + memory_.offsets[slot];
  }

  // Steps [begin, end), with what control steps among them decide.
  Status RunRange(size_t begin, size_t end) {
    for (size_t i = begin; i < end;) {
      const Step& step = plan_.steps[i];
      const size_t first = i + 1, second = first + static_cast<size_t>(step.control.first);
      const size_t next = second + static_cast<size_t>(step.control.second);
      const auto decided = [&] { return *Locate(step.inputs[0]).data != std::byte{0}; };
      switch (step.control.kind) {
        case Control::Kind::kNone: TONDAR_RETURN_IF_ERROR(Run(step).Annotated(step.name)); break;
        case Control::Kind::kCond: TONDAR_RETURN_IF_ERROR(decided() ? RunRange(first, second) : RunRange(second, next)); break;
        case Control::Kind::kWhile:
          TONDAR_RETURN_IF_ERROR(RunRange(first, second));
          while (decided()) {
            TONDAR_RETURN_IF_ERROR(RunRange(second, next));
            TONDAR_RETURN_IF_ERROR(RunRange(first, second));
          }
          break;
      }
      i = next;
    }
    return OkStatus();
  }

  Status Run(const Step& step) {
    Graph graph;
    graph.symbols = plan_.symbols;
    std::vector<Value*> inputs;
    for (const Operand& operand : step.inputs) inputs.push_back(graph.AddConstant({"", Locate(operand), nullptr}));
    Node* node = graph.AddNode(kStepOp, step.name, std::move(inputs));
    node->body = std::make_unique<StepBody>(step.body);
    for (const Operand& operand : step.outputs) {
      graph.outputs.push_back(graph.AddOutput(node, "", operand.dtype, operand.shape));
    }
    TONDAR_ASSIGN_OR_RETURN(const std::vector<Constant> results, Interpret(graph, {}, symbols_));
    for (size_t i = 0; i < results.size(); ++i) CopyElements(results[i].view, Locate(step.outputs[i]));
    return OkStatus();
  }

 private:
  const CompiledGraph& plan_;
  const MemoryPlan memory_;
  const std::span<const int64_t> symbols_;
  std::vector<std::byte> arena_;
  std::vector<Constant> states_;
};

}  // namespace

Result<std::vector<Constant>> RunPlan(const CompiledGraph& plan, std::span<const Constant> inputs,
                                      std::span<const int64_t> symbols) {
  if (plan.segments.size() != 1) return Unimplemented("sizes that depend on data");
  TONDAR_ASSIGN_OR_RETURN(MemoryPlan memory, PlanMemory(plan, 0, symbols, kMaxArenaBytes));
  PlanRunner runner(plan, std::move(memory), symbols);
  for (size_t i = 0; i < plan.inputs.size(); ++i) {  // states have their values already
    const TensorView place = runner.Locate(plan.inputs[i]);
    if (place.dtype != inputs[i].view.dtype || place.shape != inputs[i].view.shape) {
      return InvalidArgument("input {}: {} {}, expected {} {}", i, Name(inputs[i].view.dtype),
                             ToString(inputs[i].view.shape), Name(place.dtype), ToString(place.shape));
    }
    CopyElements(inputs[i].view, place);
  }
  TONDAR_RETURN_IF_ERROR(runner.RunRange(0, plan.steps.size()));
  std::vector<Constant> outputs;
  for (const Operand& operand : plan.outputs) outputs.push_back(CopyToConstant("", runner.Locate(operand)));
  return outputs;
}

}  // namespace tondar
