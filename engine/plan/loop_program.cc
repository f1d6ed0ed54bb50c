#include "engine/plan/loop_program.h"

#include <cmath>

namespace tondar {
namespace {

constexpr LoopOpInfo kInfo[] = {
    {"load", 0, false},       {"constant", 0, false},    {"index", 0, false},       {"size", 0, false},
    {"accumulator", 0, false},
    {"cast", 1, false},       {"neg", 1, false},         {"abs", 1, false},         {"sign", 1, false},
    {"floor", 1, false},      {"ceil", 1, false},        {"trunc", 1, false},       {"round", 1, false},
    {"sqrt", 1, false},       {"rsqrt", 1, false},       {"reciprocal", 1, false},  {"exp", 1, false},
    {"exp2", 1, false},       {"expm1", 1, false},       {"log", 1, false},         {"log2", 1, false},
    {"log10", 1, false},      {"log1p", 1, false},       {"sin", 1, false},         {"cos", 1, false},
    {"tan", 1, false},        {"asin", 1, false},        {"acos", 1, false},        {"atan", 1, false},
    {"sinh", 1, false},       {"cosh", 1, false},        {"tanh", 1, false},        {"asinh", 1, false},
    {"acosh", 1, false},      {"atanh", 1, false},       {"erf", 1, false},         {"erfc", 1, false},
    {"lgamma", 1, false},     {"digamma", 1, false},     {"erfinv", 1, false},      {"sigmoid", 1, false},
    {"relu", 1, false},       {"gelu", 1, false},        {"gelu_tanh", 1, false},   {"silu", 1, false},
    {"logical_not", 1, true}, {"bit_not", 1, false},     {"isnan", 1, true},        {"isinf", 1, true},
    {"add", 2, false},        {"sub", 2, false},         {"mul", 2, false},         {"div", 2, false},
    {"floor_div", 2, false},  {"fmod", 2, false},        {"remainder", 2, false},   {"pow", 2, false},
    {"atan2", 2, false},      {"hypot", 2, false},       {"copysign", 2, false},    {"nextafter", 2, false},
    {"max", 2, false},        {"min", 2, false},         {"fmax", 2, false},        {"fmin", 2, false},
    {"eq", 2, true},          {"ne", 2, true},           {"lt", 2, true},           {"le", 2, true},
    {"gt", 2, true},          {"ge", 2, true},           {"logical_and", 2, true},  {"logical_or", 2, true},
    {"logical_xor", 2, true}, {"bit_and", 2, false},     {"bit_or", 2, false},      {"bit_xor", 2, false},
    {"shift_left", 2, false}, {"shift_right", 2, false}, {"select", 3, false},
};
static_assert(std::size(kInfo) == kLoopOpCount);

std::string ToString(const IndexExpression& expression, std::span<const SymbolInfo> symbols) {
  std::string text;
  auto plus = [&text](const std::string& term) { text += text.empty() ? term : " + " + term; };
  for (const IndexExpression::Term& term : expression.terms) {
    plus(term.coefficient == 1 ? fmt::format("i{}", term.loop_dim)
                               : fmt::format("{}*i{}", term.coefficient, term.loop_dim));
  }
  if (expression.dynamic >= 0) plus(fmt::format("%{}", expression.dynamic));
  if (text.empty() || !expression.offset.Is(0)) plus(expression.offset.ToString(symbols));
  return expression.guarded ? text + "?" : text;
}

std::string ToString(const Access& access, std::span<const SymbolInfo> symbols) {
  std::string text = fmt::format("in{}[", access.operand);
  for (size_t d = 0; d < access.index.size(); ++d) {
    if (d > 0) text += ", ";
    text += ToString(access.index[d], symbols);
  }
  return text + "]";
}

std::string Source(const LoopProgram& program, const LoopInstruction& instruction,
                   std::span<const SymbolInfo> symbols) {
  const size_t source = static_cast<size_t>(instruction.source);
  switch (instruction.op) {
    case LoopOp::kLoad: return ToString(program.accesses[source], symbols);
    case LoopOp::kSize: return program.sizes[source].ToString(symbols);
    case LoopOp::kIndex: return fmt::format("i{}", instruction.source);
    case LoopOp::kAccumulator: return fmt::format("{}", instruction.source);
    default:
      return IsFloat(instruction.dtype) || instruction.dtype == DType::kBool ? fmt::format("{}", instruction.immediate)
                                                                            : fmt::format("{}", instruction.integer);
  }
}

class Verifier {
 public:
  Verifier(const LoopProgram& program, std::span<const int> operand_ranks, int loop_rank, int accumulators)
      : program_(program), operand_ranks_(operand_ranks), loop_rank_(loop_rank), accumulators_(accumulators) {}

  Status Run() const {
    for (size_t i = 0; i < program_.accesses.size(); ++i) TONDAR_RETURN_IF_ERROR(CheckAccess(i));
    for (size_t i = 0; i < program_.body.size(); ++i) TONDAR_RETURN_IF_ERROR(CheckInstruction(i));
    for (int16_t result : program_.results) {
      if (!InBody(result, program_.body.size())) return Internal("loop program: result {} does not exist", result);
    }
    return OkStatus();
  }

 private:
  static bool InBody(int16_t position, size_t limit) { return position >= 0 && static_cast<size_t>(position) < limit; }

  Status CheckAccess(size_t i) const {
    const Access& access = program_.accesses[i];
    if (access.operand < 0 || static_cast<size_t>(access.operand) >= operand_ranks_.size()) {
      return Internal("loop program: access {} names operand {} of {}", i, access.operand, operand_ranks_.size());
    }
    const int rank = operand_ranks_[static_cast<size_t>(access.operand)];
    if (static_cast<int>(access.index.size()) != rank) {
      return Internal("loop program: access {} has {} indices for an operand of rank {}", i, access.index.size(), rank);
    }
    for (const IndexExpression& expression : access.index) {
      for (const IndexExpression::Term& term : expression.terms) {
        if (term.loop_dim < 0 || term.loop_dim >= loop_rank_) {
          return Internal("loop program: access {} uses loop dim {} of {}", i, term.loop_dim, loop_rank_);
        }
      }
      if (expression.dynamic >= static_cast<int16_t>(program_.body.size())) {
        return Internal("loop program: access {} indexes by instruction {} of {}", i, expression.dynamic,
                        program_.body.size());
      }
    }
    return OkStatus();
  }

  int SourceLimit(LoopOp op) const {
    switch (op) {
      case LoopOp::kLoad: return static_cast<int>(program_.accesses.size());
      case LoopOp::kSize: return static_cast<int>(program_.sizes.size());
      case LoopOp::kIndex: return loop_rank_;
      case LoopOp::kAccumulator: return accumulators_;
      default: return -1;
    }
  }

  Status CheckInstruction(size_t i) const {
    const LoopInstruction& instruction = program_.body[i];
    const LoopOpInfo& info = InfoOf(instruction.op);
    if (instruction.dtype == DType::kInvalid) return Internal("loop program: %{} {} has no dtype", i, info.name);
    const int16_t operands[] = {instruction.a, instruction.b, instruction.c};
    for (int k = 0; k < info.arity; ++k) {
      if (!InBody(operands[k], i)) {
        return Internal("loop program: %{} {} reads %{}, which does not come earlier", i, info.name, operands[k]);
      }
    }
    const int limit = SourceLimit(instruction.op);
    if (limit >= 0 && (instruction.source < 0 || instruction.source >= limit)) {
      return Internal("loop program: %{} {} names source {} of {}", i, info.name, instruction.source, limit);
    }
    if (info.gives_bool && instruction.dtype != DType::kBool) {
      return Internal("loop program: %{} {} must give bool, not {}", i, info.name, Name(instruction.dtype));
    }
    if (instruction.op == LoopOp::kLoad) return CheckDynamic(i, program_.accesses[static_cast<size_t>(instruction.source)]);
    if (info.arity == 2 && DTypeAt(instruction.a) != DTypeAt(instruction.b)) {
      return Internal("loop program: %{} {} mixes {} and {}", i, info.name, Name(DTypeAt(instruction.a)),
                      Name(DTypeAt(instruction.b)));
    }
    return OkStatus();
  }

  Status CheckDynamic(size_t i, const Access& access) const {
    for (const IndexExpression& expression : access.index) {
      if (expression.dynamic >= static_cast<int16_t>(i)) {
        return Internal("loop program: %{} load is indexed by %{}, which does not come earlier", i, expression.dynamic);
      }
    }
    return OkStatus();
  }

  DType DTypeAt(int16_t position) const { return program_.body[static_cast<size_t>(position)].dtype; }

  const LoopProgram& program_;
  std::span<const int> operand_ranks_;
  int loop_rank_;
  int accumulators_;
};

}  // namespace

const LoopOpInfo& InfoOf(LoopOp op) { return kInfo[static_cast<size_t>(op)]; }

Access BroadcastAccess(int operand, const Shape& operand_shape, int loop_rank) {
  Access access;
  access.operand = static_cast<int16_t>(operand);
  const int shift = loop_rank - static_cast<int>(operand_shape.size());
  for (size_t d = 0; d < operand_shape.size(); ++d) {
    access.index.push_back(operand_shape[d].Is(1) ? IndexExpression::At(0)
                                                  : IndexExpression::LoopDim(static_cast<int>(d) + shift));
  }
  return access;
}

Status VerifyProgram(const LoopProgram& program, std::span<const int> operand_ranks, int loop_rank, int accumulators) {
  return Verifier(program, operand_ranks, loop_rank, accumulators).Run();
}

std::string ToString(const LoopProgram& program, std::span<const SymbolInfo> symbols) {
  std::string text;
  for (size_t i = 0; i < program.body.size(); ++i) {
    const LoopInstruction& instruction = program.body[i];
    const LoopOpInfo& info = InfoOf(instruction.op);
    text += fmt::format("  %{} = {}.{}", i, info.name, Name(instruction.dtype));
    const int16_t operands[] = {instruction.a, instruction.b, instruction.c};
    for (int k = 0; k < info.arity; ++k) text += fmt::format(" %{}", operands[k]);
    if (info.arity == 0) text += " " + Source(program, instruction, symbols);
    text += "\n";
  }
  text += "  ->";
  for (int16_t result : program.results) text += fmt::format(" %{}", result);
  return text + "\n";
}

}  // namespace tondar
