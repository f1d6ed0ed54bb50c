#include "engine/plan/compiled_graph.h"

#include <algorithm>

namespace tondar {
namespace {

constexpr int64_t kAlignment = 64;

int64_t AlignUp(int64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

// Slots placed so far, by increasing offset among those that overlap a lifetime.
class Arena {
 public:
  explicit Arena(const CompiledGraph& graph) : graph_(graph) {}

  // The lowest offset at which `size` bytes meet no slot alive at the same time.
  int64_t Place(const Slot& slot, int64_t size) {
    int64_t offset = 0;
    for (const Placed& other : placed_) {  // sorted by offset
      const Slot& neighbour = graph_.slots[other.slot];
      if (neighbour.last_step < slot.first_step || slot.last_step < neighbour.first_step) continue;
      if (offset + size <= other.offset) break;
      offset = std::max(offset, other.offset + other.size);
    }
    return offset;
  }

  void Add(size_t slot, int64_t offset, int64_t size) {
    const Placed placed{slot, offset, size};
    placed_.insert(std::upper_bound(placed_.begin(), placed_.end(), placed,
                                    [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
                   placed);
  }

 private:
  struct Placed {
    size_t slot;
    int64_t offset, size;
  };
  const CompiledGraph& graph_;
  std::vector<Placed> placed_;
};

std::string ToString(const Operand& operand, const CompiledGraph& graph) {
  const Slot& slot = graph.slots[static_cast<size_t>(operand.slot)];
  static constexpr std::string_view kRoles[] = {"input", "const", "state", "tmp", "output"};
  std::string text = fmt::format("{}{}:{}{}", kRoles[static_cast<size_t>(slot.role)], operand.slot,
                                 Name(operand.dtype), ToString(operand.shape, graph.symbols));
  if (operand.strides != ContiguousStrides(operand.shape)) text += fmt::format("/{}", ToString(operand.strides, graph.symbols));
  if (!operand.offset.Is(0)) text += fmt::format("+{}", operand.offset.ToString(graph.symbols));
  if (slot.role == SlotRole::kState) text += fmt::format("'{}'", graph.states[static_cast<size_t>(slot.state)].name);
  if (slot.role == SlotRole::kConstant) text += fmt::format("'{}'", graph.constants[static_cast<size_t>(slot.constant)].name);
  return text;
}

std::string Describe(const Step& step) {
  using Kind = Control::Kind;
  if (step.control.kind == Kind::kCond) {
    return fmt::format("cond ({} steps if true, then {} if false)", step.control.first, step.control.second);
  }
  if (step.control.kind == Kind::kWhile) {
    return fmt::format("while ({} steps decide, then {} run)", step.control.first, step.control.second);
  }
  const StepBody& body = step.body;
  const LoopProgram* epilogue = EpilogueOf(body);
  std::string text(Name(KindOf(body)));
  if (const auto* map = std::get_if<MapStep>(&body)) text += fmt::format("({} instructions)", map->program.body.size());
  if (epilogue != nullptr && !epilogue->empty()) {
    text += " +";
    for (const LoopInstruction& instruction : epilogue->body) {
      if (InfoOf(instruction.op).arity > 0) text += fmt::format(" {}", InfoOf(instruction.op).name);
    }
  }
  return text;
}

}  // namespace

namespace {

// Every round of a loop reads what was there before it, and its decision.
void ExtendOverLoop(CompiledGraph& graph, int loop) {
  const Step& step = graph.steps[static_cast<size_t>(loop)];
  if (step.control.kind != Control::Kind::kWhile) return;
  const int end = loop + step.control.first + step.control.second;
  const SlotId decision = step.inputs[0].slot;
  for (size_t i = 0; i < graph.slots.size(); ++i) {
    Slot& slot = graph.slots[i];
    const bool from_before = slot.first_step <= loop && slot.last_step > loop;
    if (from_before || static_cast<SlotId>(i) == decision) slot.last_step = std::max(slot.last_step, end);
  }
}

}  // namespace

void ComputeLifetimes(CompiledGraph& graph) {
  const int steps = static_cast<int>(graph.steps.size());
  for (Slot& slot : graph.slots) {
    slot.first_step = steps;
    slot.last_step = -1;
  }
  auto touch = [&](const Operand& operand, int step) {
    Slot& slot = graph.slots[static_cast<size_t>(operand.slot)];
    slot.first_step = std::min(slot.first_step, step);
    slot.last_step = std::max(slot.last_step, step);
  };
  for (int i = 0; i < steps; ++i) {
    for (const Operand& input : graph.steps[static_cast<size_t>(i)].inputs) touch(input, i);
    for (const Operand& output : graph.steps[static_cast<size_t>(i)].outputs) touch(output, i);
  }
  for (const Operand& input : graph.inputs) touch(input, -1);  // written before the first step
  for (const Operand& output : graph.outputs) touch(output, steps);
  for (const Segment& segment : graph.segments) {
    for (const DataSymbol& symbol : segment.symbols) touch(symbol.value, segment.first_step);
  }
  for (int i = 0; i < steps; ++i) ExtendOverLoop(graph, i);
  // Inputs keep their bytes for the whole run: a caller may run again without writing them anew.
  for (Slot& slot : graph.slots) {
    if (slot.role == SlotRole::kInput) slot.last_step = steps;
  }
}

Result<MemoryPlan> PlanMemory(const CompiledGraph& graph, int segment, std::span<const int64_t> symbols,
                              int64_t limit_bytes) {
  std::vector<size_t> order;
  std::vector<int64_t> sizes(graph.slots.size(), 0);
  int64_t sum = 0;
  for (size_t i = 0; i < graph.slots.size(); ++i) {
    const Slot& slot = graph.slots[i];
    if (slot.role == SlotRole::kConstant || slot.role == SlotRole::kState || slot.segment != segment) continue;
    int64_t size = EvaluateChecked(slot.size_bytes, symbols).value_or(-1);
    if (size < 0 && slot.in_body) size = 0;
    if (size < 0 || size > limit_bytes || __builtin_add_overflow(sum, AlignUp(size), &sum)) {
      return ResourceExhausted("an activation of {} bytes exceeds the limit of {} bytes; send smaller inputs",
                               slot.size_bytes.ToString(graph.symbols), limit_bytes);
    }
    sizes[i] = AlignUp(std::max<int64_t>(size, 1));
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });

  MemoryPlan plan;
  plan.offsets.assign(graph.slots.size(), -1);
  Arena arena(graph);
  for (size_t i : order) {
    const int64_t offset = arena.Place(graph.slots[i], sizes[i]);
    arena.Add(i, offset, sizes[i]);
    plan.offsets[i] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + sizes[i]);
  }
  if (plan.arena_bytes > limit_bytes) {
    return ResourceExhausted("the activations need {} bytes, the limit is {}; send smaller inputs", plan.arena_bytes,
                             limit_bytes);
  }
  return plan;
}

std::string ToString(const CompiledGraph& graph) {
  std::string text;
  size_t segment = 0;
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    for (; segment + 1 < graph.segments.size() && graph.segments[segment + 1].first_step <= static_cast<int>(i); ++segment) {
      for (const DataSymbol& symbol : graph.segments[segment + 1].symbols) {
        text += fmt::format("     {} is read from {}\n", graph.symbols[static_cast<size_t>(symbol.symbol)].name,
                            ToString(symbol.value, graph));
      }
    }
    const Step& step = graph.steps[i];
    text += fmt::format("{:4} {:28} {}", i, step.name, Describe(step));
    for (const Operand& input : step.inputs) text += fmt::format("\n        <- {}", ToString(input, graph));
    for (const Operand& output : step.outputs) text += fmt::format("\n        -> {}", ToString(output, graph));
    text += "\n";
  }
  return text;
}

}  // namespace tondar
