#include "engine/passes/program_copier.h"

#include <algorithm>

namespace tondar {

std::optional<IndexExpression> Substitute(const IndexExpression& outer, std::span<const IndexExpression> dims) {
  IndexExpression result = IndexExpression::At(outer.offset);
  result.dynamic = outer.dynamic;
  result.guarded = outer.guarded;
  for (const IndexExpression::Term& term : outer.terms) {
    const IndexExpression& inner = dims[static_cast<size_t>(term.loop_dim)];
    if (inner.guarded) return std::nullopt;
    if (inner.dynamic >= 0) {
      // A dynamic position counts from the end where it is negative: only the position itself keeps that meaning.
      const bool alone = outer.terms.size() == 1 && outer.dynamic < 0 && term.coefficient == 1 &&
                         outer.offset.Is(0) && !outer.guarded && inner.terms.empty() && inner.offset.Is(0);
      if (!alone) return std::nullopt;
      result.dynamic = inner.dynamic;
    }
    result.offset = result.offset + inner.offset * Dim(term.coefficient);
    for (const IndexExpression::Term& part : inner.terms) {
      const auto at = std::lower_bound(result.terms.begin(), result.terms.end(), part.loop_dim,
                                       [](const auto& t, int8_t dim) { return t.loop_dim < dim; });
      const int64_t coefficient = part.coefficient * term.coefficient;
      if (at != result.terms.end() && at->loop_dim == part.loop_dim) {
        at->coefficient += coefficient;
      } else {
        result.terms.insert(at, {part.loop_dim, coefficient});
      }
    }
  }
  std::erase_if(result.terms, [](const auto& term) { return term.coefficient == 0; });
  return result;
}

std::optional<std::vector<ProgramCopier::Handle>> ProgramCopier::Copy(const LoopProgram& program) {
  moved_.clear();
  for (const LoopInstruction& instruction : program.body) {
    const std::optional<Handle> handle = CopyInstruction(program, instruction);
    if (!handle) return std::nullopt;
    moved_.push_back(*handle);
  }
  std::vector<Handle> results;
  for (int16_t result : program.results) results.push_back(Moved(result));
  return results;
}

std::optional<ProgramCopier::Handle> ProgramCopier::CopyInstruction(const LoopProgram& program,
                                                                    const LoopInstruction& instruction) {
  switch (instruction.op) {
    case LoopOp::kLoad: {
      const auto access = MoveAccess(program.accesses[static_cast<size_t>(instruction.source)]);
      return access ? load_(*access, instruction.dtype) : std::nullopt;
    }
    case LoopOp::kConstant:
      return IsInteger(instruction.dtype) ? builder_.ConstantInteger(instruction.integer, instruction.dtype)
                                          : builder_.Constant(instruction.immediate, instruction.dtype);
    case LoopOp::kIndex: return IndexValue(instruction.source);
    case LoopOp::kSize: return builder_.Size(program.sizes[static_cast<size_t>(instruction.source)]);
    case LoopOp::kAccumulator:
      return accumulator_ ? *accumulator_ : builder_.Accumulator(instruction.source, instruction.dtype);
    case LoopOp::kCast: return builder_.Cast(Moved(instruction.a), instruction.dtype);
    default: break;
  }
  switch (InfoOf(instruction.op).arity) {
    case 1: return builder_.Unary(instruction.op, Moved(instruction.a));
    case 2: return builder_.Binary(instruction.op, Moved(instruction.a), Moved(instruction.b));
    default: return builder_.Select(Moved(instruction.a), Moved(instruction.b), Moved(instruction.c));
  }
}

std::optional<IndexExpression> ProgramCopier::MoveIndex(const IndexExpression& index) const {
  std::optional<IndexExpression> moved = index;
  if (dims_) {
    // The dynamic instruction is the source's until here; substituted ones are the target's.
    IndexExpression plain = index;
    plain.dynamic = -1;
    moved = Substitute(plain, *dims_);
    if (!moved || (index.dynamic >= 0 && moved->dynamic >= 0)) return std::nullopt;
  }
  if (index.dynamic >= 0) moved->dynamic = Moved(index.dynamic);
  return moved;
}

std::optional<Access> ProgramCopier::MoveAccess(const Access& access) const {
  Access result{access.operand, {}, access.fill};
  for (const IndexExpression& index : access.index) {
    std::optional<IndexExpression> moved = MoveIndex(index);
    if (!moved) return std::nullopt;
    result.index.push_back(std::move(*moved));
  }
  return result;
}

std::optional<ProgramCopier::Handle> ProgramCopier::IndexValue(int loop_dim) {
  if (!dims_) return builder_.Index(loop_dim);
  const IndexExpression& at = (*dims_)[static_cast<size_t>(loop_dim)];
  if (at.dynamic >= 0 || at.guarded) return std::nullopt;
  std::optional<Handle> sum;
  const auto add = [&](Handle part) { sum = sum ? builder_.Binary(LoopOp::kAdd, *sum, part) : part; };
  for (const IndexExpression::Term& term : at.terms) {
    const Handle index = builder_.Index(term.loop_dim);
    add(term.coefficient == 1
            ? index
            : builder_.Binary(LoopOp::kMul, index, builder_.ConstantInteger(term.coefficient, DType::kInt64)));
  }
  if (!sum || !at.offset.Is(0)) add(builder_.Size(at.offset));
  return sum;
}

std::vector<ProgramOfStep> ProgramsOf(StepBody& body, const Shape& result) {
  if (auto* map = std::get_if<MapStep>(&body)) return {{&map->program, map->extents}};
  if (auto* scan = std::get_if<ScanStep>(&body)) return {{&scan->program, scan->extents}};
  if (auto* scatter = std::get_if<ScatterStep>(&body)) return {{&scatter->program, scatter->extents}};
  if (auto* reduce = std::get_if<ReduceStep>(&body)) {
    return {{&reduce->program, reduce->extents}, {&reduce->finish, result, true}};
  }
  if (LoopProgram* epilogue = EpilogueOf(body)) return {{epilogue, result, true}};
  return {};
}

}  // namespace tondar
