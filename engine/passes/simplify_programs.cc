// Simplifies loop programs: constants are immediates, indices that are known need no look-up, and activations that
// were spelled out (GELU, SiLU, ReLU, sigmoid) are one instruction again.
#include <algorithm>
#include <cmath>

#include "engine/ir/element.h"
#include "engine/ir/view.h"
#include "engine/passes/passes.h"
#include "engine/passes/program_copier.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;

// Larger constants are looked at only if their strides say that they repeat.
constexpr int64_t kMaxUniformElements = 64;

std::optional<Element> ImmediateOf(const Value* value) {
  while (const Node* view = ViewMaking(value)) value = view->inputs[0];
  if (!value->IsConstant()) return std::nullopt;
  const TensorView& view = value->constant->view;
  int64_t distinct = 1;
  for (size_t d = 0; d < view.shape.size(); ++d) distinct *= view.strides[d] == 0 ? 1 : view.shape[d];
  return distinct <= kMaxUniformElements ? UniformElement(*value) : std::nullopt;
}

bool IsNear(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

// Adds instructions to a builder in their simplest form.
class Simplifier {
 public:
  explicit Simplifier(LoopBuilder& builder) : b_(builder) {}

  Handle Unary(LoopOp op, Handle a) {
    const auto x = Number(a);
    if (x && op == LoopOp::kNeg && IsFloat(b_.dtype(a))) return b_.Constant(-*x, b_.dtype(a));
    if (op == LoopOp::kReciprocal) {
      if (const auto s = SigmoidArgument(a)) return b_.Unary(LoopOp::kSigmoid, *s);
    }
    return b_.Unary(op, a);
  }

  Handle Cast(Handle a, DType dtype) {
    const auto x = Number(a);
    // Truncation and rounding are the device's where they matter.
    const bool exact = x && std::trunc(*x) == *x && std::abs(*x) <= 1 << 11;
    if (exact && (IsFloat(dtype) || (IsInteger(dtype) && *x >= 0 && *x <= 127))) return b_.Constant(*x, dtype);
    return b_.Cast(a, dtype);
  }

  Handle Binary(LoopOp op, Handle a, Handle b) {
    const DType dtype = b_.dtype(a);
    if (op == LoopOp::kLt && Is(b, 0) && IsNotNegative(a)) return b_.Constant(0, DType::kBool);
    if (!IsFloat(dtype)) return b_.Binary(op, a, b);
    switch (op) {
      case LoopOp::kMul: return Multiply(a, b);
      case LoopOp::kDiv: return Divide(a, b);
      case LoopOp::kSub: return Is(b, 0) ? a : b_.Binary(op, a, b);
      case LoopOp::kPow: return Power(a, b);
      case LoopOp::kMax:
        if (Is(b, 0)) return b_.Unary(LoopOp::kRelu, a);
        return Is(a, 0) ? b_.Unary(LoopOp::kRelu, b) : b_.Binary(op, a, b);
      default: return b_.Binary(op, a, b);
    }
  }

  Handle Select(Handle condition, Handle a, Handle b) {
    const auto known = Number(condition);
    return !known ? b_.Select(condition, a, b) : *known != 0 ? a : b;
  }

 private:
  // True for integers that are certainly at least 0: positions, sizes and what is made of them.
  bool IsNotNegative(Handle a, int depth = 0) const {
    const LoopInstruction& i = b_.at(a);
    if (!IsInteger(i.dtype) || depth > 4) return false;
    switch (i.op) {
      case LoopOp::kIndex:
      case LoopOp::kSize: return true;
      case LoopOp::kConstant: return i.integer >= 0;
      case LoopOp::kCast: return i.dtype == DType::kInt64 && IsNotNegative(i.a, depth + 1);
      default: return false;
    }
  }

  std::optional<double> Number(Handle a) const {
    const LoopInstruction& i = b_.at(a);
    if (i.op != LoopOp::kConstant) return std::nullopt;
    return IsInteger(i.dtype) ? static_cast<double>(i.integer) : i.immediate;
  }
  bool Is(Handle a, double value) const {
    const auto x = Number(a);
    return x && *x == value;
  }
  bool IsAbout(Handle a, double value) const {
    const auto x = Number(a);
    return x && IsNear(*x, value);
  }
  // The operands of an instruction of this kind; nullopt if it is another.
  std::optional<std::pair<Handle, Handle>> As(LoopOp op, Handle a) const {
    const LoopInstruction& i = b_.at(a);
    if (i.op != op) return std::nullopt;
    return std::pair(i.a, i.b);
  }
  // x if a is x + value.
  std::optional<Handle> Plus(double value, Handle a) const {
    const auto sum = As(LoopOp::kAdd, a);
    if (!sum) return std::nullopt;
    if (Is(sum->second, value)) return sum->first;
    if (Is(sum->first, value)) return sum->second;
    return std::nullopt;
  }

  // A product taken apart: number * factors.
  struct Factors {
    double number = 1;
    std::vector<Handle> values;
  };
  void Collect(Handle a, Factors& factors, int depth = 0) const {
    if (const auto x = Number(a)) {
      factors.number *= *x;
    } else if (const auto product = As(LoopOp::kMul, a); product && depth < 4) {
      Collect(product->first, factors, depth + 1);
      Collect(product->second, factors, depth + 1);
    } else if (const auto quotient = As(LoopOp::kDiv, a); quotient && Number(quotient->second)) {
      factors.number /= *Number(quotient->second);
      Collect(quotient->first, factors, depth + 1);
    } else {
      factors.values.push_back(a);
    }
  }
  Factors FactorsOf(Handle a) const {
    Factors factors;
    Collect(a, factors);
    return factors;
  }
  // True if a is number * x.
  bool IsMultiple(Handle a, double number, Handle x) const {
    const Factors factors = FactorsOf(a);
    return factors.values == std::vector<Handle>{x} && IsNear(factors.number, number);
  }

  Handle Multiply(Handle a, Handle b) {
    if (Is(b, 1)) return a;
    if (Is(a, 1)) return b;
    Factors factors = FactorsOf(a);
    Collect(b, factors);
    if (factors.values.size() == 2) {
      for (const auto& [x, y] : {std::pair(factors.values[0], factors.values[1]), {factors.values[1], factors.values[0]}}) {
        if (const auto activation = Activation(factors.number, x, y)) return *activation;
      }
    }
    return b_.Binary(LoopOp::kMul, a, b);
  }

  // number * x * y as one instruction.
  std::optional<Handle> Activation(double number, Handle x, Handle y) {
    if (number == 1 && As(LoopOp::kSigmoid, y) && b_.at(y).a == x) return b_.Unary(LoopOp::kSilu, x);
    if (number != 0.5) return std::nullopt;
    const auto inner = Plus(1, y);
    if (!inner) return std::nullopt;
    const LoopInstruction curve = b_.at(*inner);
    if (curve.op == LoopOp::kErf && IsMultiple(curve.a, M_SQRT1_2, x)) return b_.Unary(LoopOp::kGelu, x);
    if (curve.op == LoopOp::kTanh && IsGeluPolynomial(curve.a, x)) return b_.Unary(LoopOp::kGeluTanh, x);
    return std::nullopt;
  }

  // sqrt(2/pi) (x + 0.044715 x^3).
  bool IsGeluPolynomial(Handle a, Handle x) const {
    const Factors outer = FactorsOf(a);
    if (outer.values.size() != 1 || !IsNear(outer.number, M_2_SQRTPI * M_SQRT1_2)) return false;
    const auto sum = As(LoopOp::kAdd, outer.values[0]);
    if (!sum) return false;
    const auto is_cube = [&](Handle h) {
      const Factors cube = FactorsOf(h);
      return cube.values == std::vector<Handle>{x, x, x} && IsNear(cube.number, 0.044715);
    };
    return (sum->first == x && is_cube(sum->second)) || (sum->second == x && is_cube(sum->first));
  }

  // x if a is 1 + exp(-x).
  std::optional<Handle> SigmoidArgument(Handle a) const {
    const auto exp = Plus(1, a);
    if (!exp || b_.at(*exp).op != LoopOp::kExp) return std::nullopt;
    const LoopInstruction& minus = b_.at(b_.at(*exp).a);
    return minus.op == LoopOp::kNeg ? std::optional(minus.a) : std::nullopt;
  }

  Handle Divide(Handle a, Handle b) {
    if (Is(b, 1)) return a;
    if (Is(a, 1)) {
      if (const auto x = SigmoidArgument(b)) return b_.Unary(LoopOp::kSigmoid, *x);
    }
    const auto x = SigmoidArgument(b);
    if (x && *x == a) return b_.Unary(LoopOp::kSilu, a);
    // Exact for powers of two.
    if (const auto divisor = Number(b)) {
      int exponent = 0;
      if (std::abs(std::frexp(*divisor, &exponent)) == 0.5 && std::abs(exponent) < 100) {
        return Multiply(a, b_.Constant(1 / *divisor, b_.dtype(a)));
      }
    }
    return b_.Binary(LoopOp::kDiv, a, b);
  }

  Handle Power(Handle a, Handle b) {
    if (Is(b, 1)) return a;
    if (Is(b, 2)) return Multiply(a, a);
    if (Is(b, 3)) return Multiply(Multiply(a, a), a);
    if (Is(b, 0.5)) return b_.Unary(LoopOp::kSqrt, a);
    if (Is(b, -0.5)) return b_.Unary(LoopOp::kRsqrt, a);
    if (Is(b, -1)) return b_.Unary(LoopOp::kReciprocal, a);
    return b_.Binary(LoopOp::kPow, a, b);
  }

  LoopBuilder& b_;
};

// Rewrites one program of a step.
class Rewriter {
 public:
  Rewriter(const Graph& graph, const std::vector<Value*>& inputs, const Shape& extents)
      : graph_(graph), inputs_(inputs), extents_(extents) {}

  LoopProgram Run(const LoopProgram& program) {
    for (const LoopInstruction& instruction : program.body) moved_.push_back(Moved(program, instruction));
    for (int16_t result : program.results) builder_.Result(At(result));
    return std::move(builder_).Build();
  }

 private:
  Handle At(int16_t position) const { return moved_[static_cast<size_t>(position)]; }

  Handle Moved(const LoopProgram& program, const LoopInstruction& i) {
    switch (i.op) {
      case LoopOp::kLoad: return Load(program.accesses[static_cast<size_t>(i.source)], i.dtype);
      case LoopOp::kConstant:
        return IsInteger(i.dtype) ? builder_.ConstantInteger(i.integer, i.dtype) : builder_.Constant(i.immediate, i.dtype);
      case LoopOp::kIndex: return builder_.Index(i.source);
      case LoopOp::kSize: return builder_.Size(program.sizes[static_cast<size_t>(i.source)]);
      case LoopOp::kAccumulator: return builder_.Accumulator(i.source, i.dtype);
      case LoopOp::kCast: return simplify_.Cast(At(i.a), i.dtype);
      default: break;
    }
    switch (InfoOf(i.op).arity) {
      case 1: return simplify_.Unary(i.op, At(i.a));
      case 2: return simplify_.Binary(i.op, At(i.a), At(i.b));
      default: return simplify_.Select(At(i.a), At(i.b), At(i.c));
    }
  }

  Handle Load(Access access, DType dtype) {
    const Value& operand = *inputs_[static_cast<size_t>(access.operand)];
    bool fixed = true;  // no position can be refused or guarded
    for (size_t d = 0; d < access.index.size(); ++d) {
      IndexExpression& index = access.index[d];
      if (index.dynamic >= 0) index.dynamic = At(index.dynamic);
      Resolve(index, operand.shape[d]);
      fixed = fixed && index.dynamic < 0 && !index.guarded;
    }
    if (fixed) {
      const auto element = ImmediateOf(&operand);
      if (element && std::holds_alternative<double>(*element)) return builder_.Constant(std::get<double>(*element), dtype);
      if (element) return builder_.ConstantInteger(std::get<int64_t>(*element), dtype);
    }
    return builder_.Load(std::move(access), dtype);
  }

  // A dynamic position that is a loop dim or a number, and in range for certain, is an affine one.
  void Resolve(IndexExpression& index, const Dim& extent) const {
    if (index.dynamic < 0 || !index.terms.empty() || !index.offset.Is(0)) return;
    LoopInstruction source = builder_.at(index.dynamic);
    while (source.op == LoopOp::kCast && IsInteger(source.dtype)) source = builder_.at(source.a);
    if (source.op == LoopOp::kConstant && IsInteger(source.dtype)) {
      if (source.integer >= 0 && AtMost(Dim(source.integer + 1), extent)) index = Plain(index, IndexExpression::At(source.integer));
    } else if (source.op == LoopOp::kIndex) {
      const Dim& loop = extents_[static_cast<size_t>(source.source)];
      if (AtMost(loop, extent)) index = Plain(index, IndexExpression::LoopDim(source.source));
    }
  }

  static IndexExpression Plain(const IndexExpression& from, IndexExpression to) {
    to.guarded = from.guarded;
    return to;
  }

  bool AtMost(const Dim& a, const Dim& b) const { return a == b || (b - a).RangeOver(graph_.symbols).min >= 0; }

  const Graph& graph_;
  const std::vector<Value*>& inputs_;
  const Shape& extents_;
  LoopBuilder builder_;
  Simplifier simplify_{builder_};
  std::vector<Handle> moved_;
};

// Drops operands that no program reads.
void DropUnread(Graph& graph, Node& node, const std::vector<LoopProgram*>& programs) {
  std::vector<bool> read(node.inputs.size(), false);
  for (int i = 0; i < FixedInputs(*node.body); ++i) read[static_cast<size_t>(i)] = true;
  for (const LoopProgram* program : programs) {
    for (const Access& access : program->accesses) read[static_cast<size_t>(access.operand)] = true;
  }
  std::vector<Value*> inputs;
  std::vector<int16_t> place(read.size(), -1);
  for (size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) continue;
    place[i] = static_cast<int16_t>(inputs.size());
    inputs.push_back(node.inputs[i]);
  }
  for (LoopProgram* program : programs) {
    for (Access& access : program->accesses) access.operand = place[static_cast<size_t>(access.operand)];
  }
  graph.SetInputs(&node, std::move(inputs));
}

void SimplifyStep(Graph& graph, Node& node) {
  std::vector<LoopProgram*> programs;
  for (const ProgramOfStep& site : ProgramsOf(*node.body, node.outputs[0]->shape)) {
    if (site.program->empty()) continue;
    *site.program = Rewriter(graph, node.inputs, site.extents).Run(*site.program);
    programs.push_back(site.program);
  }
  if (!programs.empty()) DropUnread(graph, node, programs);
}

}  // namespace

Status SimplifyPrograms(Graph& graph, const PassContext& context) {
  for (Node* node : graph.NodeList()) {
    for (const auto& subgraph : node->subgraphs) TONDAR_RETURN_IF_ERROR(SimplifyPrograms(*subgraph, context));
    if (node->IsStep()) SimplifyStep(graph, *node);
  }
  return OkStatus();
}

}  // namespace tondar
