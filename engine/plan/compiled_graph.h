// CompiledGraph: the flat executable form of a model for one kind of device.
#ifndef TONDAR_ENGINE_PLAN_COMPILED_GRAPH_H_
#define TONDAR_ENGINE_PLAN_COMPILED_GRAPH_H_

#include <span>
#include <string>
#include <vector>

#include "engine/plan/constant.h"
#include "engine/plan/step.h"

namespace tondar {

enum class SlotRole : uint8_t {
  kInput,      // written by the caller before a run; one per graph input, contiguous
  kConstant,   // constants[constant], at its own address
  kTemporary,  // lives from the step that first writes it to the last that reads it
  kOutput,     // as kTemporary, but lives to the end of the run
};

// A region of memory; its size follows from the symbols.
struct Slot {
  SlotRole role = SlotRole::kTemporary;
  Dim size_bytes;
  int constant = -1;                  // kConstant: index into CompiledGraph::constants
  int first_step = 0, last_step = 0;  // inclusive; filled by ComputeLifetimes
};

// Two extents that must be equal although nothing in the signature says so, found while inferring shapes.
struct ShapeCheck {
  Dim left, right;
  std::string where;  // "add_3: shapes [s0, 4] and [s1, 4]"
};

// Immutable once compiled, shared by sessions. Thread-safe.
struct CompiledGraph {
  std::vector<SymbolInfo> symbols;
  std::vector<Slot> slots;
  std::vector<Step> steps;  // in an order that respects every dependency
  std::vector<Constant> constants;
  std::vector<Operand> inputs;   // parallel to the signature's inputs; contiguous
  std::vector<Operand> outputs;  // parallel to the signature's outputs; contiguous; may be windows of input slots
  std::vector<ShapeCheck> checks;
};

// Fills first_step and last_step of every slot from the steps' operands.
void ComputeLifetimes(CompiledGraph& graph);

// Where each slot lies in one arena, for concrete sizes. Slots whose lifetimes overlap never share a byte.
struct MemoryPlan {
  std::vector<int64_t> offsets;  // per slot; -1 for constants
  int64_t arena_bytes = 0;
};

// Greedy by size, 64-byte aligned. Pure. ResourceExhausted: a size is negative or overflows, or the sum exceeds
// `limit_bytes`.
Result<MemoryPlan> PlanMemory(const CompiledGraph& graph, std::span<const int64_t> symbols, int64_t limit_bytes);

// One line per step with operands, for people: `tondar inspect --plan`.
std::string ToString(const CompiledGraph& graph);

}  // namespace tondar

#endif  // TONDAR_ENGINE_PLAN_COMPILED_GRAPH_H_
