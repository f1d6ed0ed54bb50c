// LoopBuilder: writes LoopPrograms instruction by instruction.
#ifndef TONDAR_ENGINE_PLAN_LOOP_BUILDER_H_
#define TONDAR_ENGINE_PLAN_LOOP_BUILDER_H_

#include <vector>

#include "engine/plan/loop_program.h"

namespace tondar {

// Usage:  LoopBuilder b;
//         auto x = b.Load(BroadcastAccess(0, shape, rank), DType::kFloat32);
//         b.Result(b.Binary(LoopOp::kMul, x, b.Constant(0.5, DType::kFloat32)));
//         LoopProgram program = std::move(b).Build();
// Equal instructions are made once. A handle is only good in the builder that gave it.
class LoopBuilder {
 public:
  using Handle = int16_t;

  Handle Load(Access access, DType dtype);
  Handle Constant(double value, DType dtype);  // any dtype; integers truncate
  Handle ConstantInteger(int64_t value, DType dtype);
  Handle Index(int loop_dim);
  Handle Size(const Dim& value);
  Handle Accumulator(int which, DType dtype);
  Handle Cast(Handle a, DType dtype);            // nothing if it has that dtype already
  Handle Unary(LoopOp op, Handle a);             // the result has a's dtype, or bool
  Handle Binary(LoopOp op, Handle a, Handle b);  // both of one dtype
  Handle Select(Handle condition, Handle a, Handle b);
  // An index for which values below zero are out of range, too: as int64, moved down by kBelowZero if it is negative.
  Handle NotFromEnd(Handle index);
  // Copies `program` in, renumbering its accesses and sizes; `accumulators` replace its kAccumulator instructions if
  // given. Gives the handles of its results.
  std::vector<Handle> Append(const LoopProgram& program, std::span<const Handle> accumulators = {});

  DType dtype(Handle a) const { return at(a).dtype; }
  // The instruction of a handle; its operands are handles too. Good until the next instruction is made.
  const LoopInstruction& at(Handle a) const { return program_.body[static_cast<size_t>(a)]; }
  void Result(Handle a) { program_.results.push_back(a); }
  // The program, without instructions and accesses that no result needs.
  LoopProgram Build() &&;

 private:
  Handle Add(LoopInstruction instruction);
  LoopProgram program_;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_PLAN_LOOP_BUILDER_H_
