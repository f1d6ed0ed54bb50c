#include "engine/plan/loop_builder.h"

#include <algorithm>

namespace tondar {
namespace {

// Which instructions and accesses the results need, found from the back.
struct Liveness {
  std::vector<bool> body, accesses, sizes;

  explicit Liveness(const LoopProgram& program)
      : body(program.body.size()), accesses(program.accesses.size()), sizes(program.sizes.size()) {
    for (int16_t result : program.results) body[static_cast<size_t>(result)] = true;
    for (size_t i = program.body.size(); i-- > 0;) {
      if (body[i]) MarkOperands(program, program.body[i]);
    }
  }

 private:
  void MarkOperands(const LoopProgram& program, const LoopInstruction& instruction) {
    for (int16_t operand : {instruction.a, instruction.b, instruction.c}) {
      if (operand >= 0) body[static_cast<size_t>(operand)] = true;
    }
    if (instruction.op == LoopOp::kSize) sizes[static_cast<size_t>(instruction.source)] = true;
    if (instruction.op != LoopOp::kLoad) return;
    accesses[static_cast<size_t>(instruction.source)] = true;
    for (const IndexExpression& expression : program.accesses[static_cast<size_t>(instruction.source)].index) {
      if (expression.dynamic >= 0) body[static_cast<size_t>(expression.dynamic)] = true;
    }
  }
};

// New position of every kept element; -1 for the others.
std::vector<int16_t> Renumber(const std::vector<bool>& keep) {
  std::vector<int16_t> positions(keep.size(), -1);
  int16_t next = 0;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i]) positions[i] = next++;
  }
  return positions;
}

int16_t Moved(const std::vector<int16_t>& positions, int16_t position) {
  return position < 0 ? position : positions[static_cast<size_t>(position)];
}

}  // namespace

LoopBuilder::Handle LoopBuilder::Add(LoopInstruction instruction) {
  const auto found = std::find(program_.body.begin(), program_.body.end(), instruction);
  if (found != program_.body.end()) return static_cast<Handle>(found - program_.body.begin());
  program_.body.push_back(instruction);
  return static_cast<Handle>(program_.body.size() - 1);
}

LoopBuilder::Handle LoopBuilder::Load(Access access, DType dtype) {
  auto found = std::find(program_.accesses.begin(), program_.accesses.end(), access);
  if (found == program_.accesses.end()) {
    program_.accesses.push_back(std::move(access));
    found = program_.accesses.end() - 1;
  }
  LoopInstruction instruction{.op = LoopOp::kLoad, .dtype = dtype};
  instruction.source = static_cast<int16_t>(found - program_.accesses.begin());
  return Add(instruction);
}

LoopBuilder::Handle LoopBuilder::Constant(double value, DType dtype) {
  if (IsInteger(dtype)) return ConstantInteger(static_cast<int64_t>(value), dtype);
  LoopInstruction instruction{.op = LoopOp::kConstant, .dtype = dtype};
  instruction.immediate = value;
  return Add(instruction);
}

LoopBuilder::Handle LoopBuilder::ConstantInteger(int64_t value, DType dtype) {
  if (!IsInteger(dtype)) return Constant(static_cast<double>(value), dtype);
  LoopInstruction instruction{.op = LoopOp::kConstant, .dtype = dtype};
  instruction.integer = value;
  return Add(instruction);
}

LoopBuilder::Handle LoopBuilder::Index(int loop_dim) {
  LoopInstruction instruction{.op = LoopOp::kIndex, .dtype = DType::kInt64};
  instruction.source = static_cast<int16_t>(loop_dim);
  return Add(instruction);
}

LoopBuilder::Handle LoopBuilder::Size(const Dim& value) {
  if (value.IsConstant()) return ConstantInteger(value.constant(), DType::kInt64);
  auto found = std::find(program_.sizes.begin(), program_.sizes.end(), value);
  if (found == program_.sizes.end()) {
    program_.sizes.push_back(value);
    found = program_.sizes.end() - 1;
  }
  LoopInstruction instruction{.op = LoopOp::kSize, .dtype = DType::kInt64};
  instruction.source = static_cast<int16_t>(found - program_.sizes.begin());
  return Add(instruction);
}

LoopBuilder::Handle LoopBuilder::Accumulator(int which, DType dtype) {
  LoopInstruction instruction{.op = LoopOp::kAccumulator, .dtype = dtype};
  instruction.source = static_cast<int16_t>(which);
  return Add(instruction);
}

LoopBuilder::Handle LoopBuilder::Cast(Handle a, DType dtype) {
  if (this->dtype(a) == dtype) return a;
  LoopInstruction instruction{.op = LoopOp::kCast, .dtype = dtype};
  instruction.a = a;
  return Add(instruction);
}

LoopBuilder::Handle LoopBuilder::Unary(LoopOp op, Handle a) {
  LoopInstruction instruction{.op = op, .dtype = InfoOf(op).gives_bool ? DType::kBool : dtype(a)};
  instruction.a = a;
  return Add(instruction);
}

LoopBuilder::Handle LoopBuilder::Binary(LoopOp op, Handle a, Handle b) {
  TONDAR_CHECK(dtype(a) == dtype(b), "{} of {} and {}", InfoOf(op).name, Name(dtype(a)), Name(dtype(b)));
  LoopInstruction instruction{.op = op, .dtype = InfoOf(op).gives_bool ? DType::kBool : dtype(a)};
  instruction.a = a;
  instruction.b = b;
  return Add(instruction);
}

LoopBuilder::Handle LoopBuilder::NotFromEnd(Handle index) {
  index = Cast(index, DType::kInt64);
  const Handle below = Binary(LoopOp::kSub, index, ConstantInteger(kBelowZero, DType::kInt64));
  return Select(Binary(LoopOp::kLt, index, ConstantInteger(0, DType::kInt64)), below, index);
}

LoopBuilder::Handle LoopBuilder::Select(Handle condition, Handle a, Handle b) {
  TONDAR_CHECK(dtype(a) == dtype(b), "select of {} and {}", Name(dtype(a)), Name(dtype(b)));
  LoopInstruction instruction{.op = LoopOp::kSelect, .dtype = dtype(a)};
  instruction.a = condition;
  instruction.b = a;
  instruction.c = b;
  return Add(instruction);
}

std::vector<LoopBuilder::Handle> LoopBuilder::Append(const LoopProgram& program, std::span<const Handle> accumulators) {
  std::vector<Handle> moved;  // position in `program` to handle here
  for (const LoopInstruction& original : program.body) {
    LoopInstruction instruction = original;
    instruction.a = Moved(moved, original.a);
    instruction.b = Moved(moved, original.b);
    instruction.c = Moved(moved, original.c);
    if (original.op == LoopOp::kLoad) {
      Access access = program.accesses[static_cast<size_t>(original.source)];
      for (IndexExpression& expression : access.index) expression.dynamic = Moved(moved, expression.dynamic);
      moved.push_back(Load(std::move(access), original.dtype));
    } else if (original.op == LoopOp::kSize) {
      moved.push_back(Size(program.sizes[static_cast<size_t>(original.source)]));
    } else if (original.op == LoopOp::kAccumulator && !accumulators.empty()) {
      moved.push_back(accumulators[static_cast<size_t>(original.source)]);
    } else {
      moved.push_back(Add(instruction));
    }
  }
  std::vector<Handle> results;
  for (int16_t result : program.results) results.push_back(Moved(moved, result));
  return results;
}

LoopProgram LoopBuilder::Build() && {
  const Liveness live(program_);
  const std::vector<int16_t> body = Renumber(live.body), accesses = Renumber(live.accesses), sizes = Renumber(live.sizes);
  LoopProgram built;
  for (size_t i = 0; i < program_.accesses.size(); ++i) {
    if (!live.accesses[i]) continue;
    built.accesses.push_back(std::move(program_.accesses[i]));
    for (IndexExpression& expression : built.accesses.back().index) expression.dynamic = Moved(body, expression.dynamic);
  }
  for (size_t i = 0; i < program_.sizes.size(); ++i) {
    if (live.sizes[i]) built.sizes.push_back(std::move(program_.sizes[i]));
  }
  for (size_t i = 0; i < program_.body.size(); ++i) {
    if (!live.body[i]) continue;
    LoopInstruction instruction = program_.body[i];
    instruction.a = Moved(body, instruction.a);
    instruction.b = Moved(body, instruction.b);
    instruction.c = Moved(body, instruction.c);
    if (instruction.op == LoopOp::kLoad) instruction.source = Moved(accesses, instruction.source);
    if (instruction.op == LoopOp::kSize) instruction.source = Moved(sizes, instruction.source);
    built.body.push_back(instruction);
  }
  for (int16_t result : program_.results) built.results.push_back(Moved(body, result));
  return built;
}

}  // namespace tondar
