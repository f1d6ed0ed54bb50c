// ProgramCopier: writes a loop program into another one, over other loop dims, with its loads answered by the caller.
#ifndef TONDAR_ENGINE_PASSES_PROGRAM_COPIER_H_
#define TONDAR_ENGINE_PASSES_PROGRAM_COPIER_H_

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/ir/graph.h"
#include "engine/plan/loop_builder.h"

namespace tondar {

// Use once. The builder and what the members refer to must outlive it.
class ProgramCopier {
 public:
  using Handle = LoopBuilder::Handle;
  // Gives the value of an access, whose loop dims and dynamic instructions are the target's already; nullopt gives up.
  using LoadFunction = std::function<std::optional<Handle>(const Access& access, DType dtype)>;

  ProgramCopier(LoopBuilder& builder, LoadFunction load) : builder_(builder), load_(std::move(load)) {}

  // The source's loop dim d is at `dims[d]` of the target's loop dims. Without this call the loop dims stay.
  void SubstituteLoopDims(std::span<const IndexExpression> dims) { dims_ = dims; }
  // What kAccumulator instructions become; without this call they are copied.
  void SubstituteAccumulator(Handle accumulator) { accumulator_ = accumulator; }

  // The target's handles of the source's results. nullopt: a substitution is not possible, or a load gave up; the
  // builder then holds instructions that nothing uses.
  std::optional<std::vector<Handle>> Copy(const LoopProgram& program);

 private:
  std::optional<Handle> CopyInstruction(const LoopProgram& program, const LoopInstruction& instruction);
  std::optional<Access> MoveAccess(const Access& access) const;
  std::optional<IndexExpression> MoveIndex(const IndexExpression& index) const;
  std::optional<Handle> IndexValue(int loop_dim);
  Handle Moved(int16_t position) const { return moved_[static_cast<size_t>(position)]; }

  LoopBuilder& builder_;
  LoadFunction load_;
  std::optional<std::span<const IndexExpression>> dims_;
  std::optional<Handle> accumulator_;
  std::vector<Handle> moved_;
};

// `outer` with every loop dim d replaced by dims[d]. nullopt if the sum would name two dynamic instructions, a multiple
// of one, or a guarded position.
std::optional<IndexExpression> Substitute(const IndexExpression& outer, std::span<const IndexExpression> dims);

// A step's loop programs, empty ones too, each with the loop it runs over. `result` is the step's result's shape.
struct ProgramOfStep {
  LoopProgram* program;
  Shape extents;
  bool is_epilogue = false;  // runs on a reduced or multiplied value
};
std::vector<ProgramOfStep> ProgramsOf(StepBody& body, const Shape& result);

}  // namespace tondar

#endif  // TONDAR_ENGINE_PASSES_PROGRAM_COPIER_H_
