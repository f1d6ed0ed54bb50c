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
  kState,      // states[state], in memory of the session's that outlives a run
  kTemporary,  // lives from the step that first writes it to the last that reads it
  kOutput,     // as kTemporary, but lives to the end of the run
};

// A region of memory; its size follows from the symbols.
struct Slot {
  SlotRole role = SlotRole::kTemporary;
  Dim size_bytes;
  int constant = -1;                  // kConstant: index into CompiledGraph::constants
  int state = -1;                     // kState: index into CompiledGraph::states
  int segment = 0;                    // the first segment that knows its size
  bool in_body = false;               // only steps that a control step decides about use it
  int first_step = 0, last_step = 0;  // inclusive; filled by ComputeLifetimes
};

// Two extents that must be equal although nothing in the signature says so, found while inferring shapes.
struct ShapeCheck {
  Dim left, right;
  std::string where = {};  // "add_3: shapes [s0, 4] and [s1, 4]"
  std::string condition = {};  // the same for people who know only the inputs: "x.shape[0] % 2 == 0"; may be empty
  int segment = 0;    // of a compiled graph: the first that knows both
  // Of a compiled graph: the first step of the body that needs it, which runs only if a control step says so; -1: always.
  int body = -1;
};

// A tensor that runs read and write and that stays between them: a buffer of the model. Contiguous.
struct State {
  std::string name;
  Constant initial;  // before the first run
};

// A symbol whose value a run finds out.
struct DataSymbol {
  SymbolId symbol = -1;
  Operand value;  // a 0-d integer
};

// A run of steps whose sizes are known when it begins. A graph whose sizes all follow from the inputs' shapes has one;
// each further one begins with reading sizes from memory.
struct Segment {
  std::vector<DataSymbol> symbols;  // read before its steps, after all earlier ones
  int first_step = 0, end_step = 0;
};

// Immutable once compiled, shared by sessions. Thread-safe.
struct CompiledGraph {
  std::vector<SymbolInfo> symbols;
  std::vector<SymbolInfo> terms;  // the same in the words of those who call the model, for messages: "x.shape[0]"
  std::vector<Slot> slots;
  std::vector<Step> steps;  // in an order that respects every dependency
  std::vector<Segment> segments;  // at least one; together they hold all steps, in order
  std::vector<Constant> constants;
  std::vector<State> states;
  std::vector<Operand> inputs;   // parallel to the signature's inputs; contiguous
  std::vector<Operand> outputs;  // parallel to the signature's outputs; contiguous; may be windows of input slots
  std::vector<ShapeCheck> checks;
};

// Fills first_step and last_step of every slot from the steps' operands. What a loop reads from before it lives to its end.
void ComputeLifetimes(CompiledGraph& graph);

// Where each slot lies in one arena, for concrete sizes. Slots whose lifetimes overlap never share a byte.
struct MemoryPlan {
  std::vector<int64_t> offsets;  // per slot; -1 for constants, states and slots of other segments
  int64_t arena_bytes = 0;
};

// Places the slots of one segment. Greedy by size, 64-byte aligned. Pure. A slot of a body whose sizes make no sense (a
// branch that these shapes exclude) gets none. ResourceExhausted: a size is negative or
// overflows, or the sum exceeds `limit_bytes`.
Result<MemoryPlan> PlanMemory(const CompiledGraph& graph, int segment, std::span<const int64_t> symbols,
                              int64_t limit_bytes);

// One line per step with operands, for people: `tondar inspect --plan`.
std::string ToString(const CompiledGraph& graph);

}  // namespace tondar

#endif  // TONDAR_ENGINE_PLAN_COMPILED_GRAPH_H_
