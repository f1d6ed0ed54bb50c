// RNN, GRU and LSTM over a known number of steps, written out step by step. What does not depend on the state, the
// products of all inputs with the weights, is one matrix product.
#include <algorithm>

#include "engine/importers/onnx/op_table.h"

namespace tondar::onnx_format {
namespace {

constexpr int64_t kMaxSteps = 64;  // a graph of more nodes than this would load slowly

Value* Add(OpCall& call, Value* x, Value* y) { return y == nullptr ? x : call.Op("add", {x, y}); }
Value* Mul(OpCall& call, Value* x, Value* y) { return call.Op("mul", {x, y}); }

// One direction's weights and what the node says of it.
struct Direction {
  Value *w = nullptr, *r = nullptr;         // [input, gates * hidden], [hidden, gates * hidden]
  Value *wb = nullptr, *rb = nullptr;       // [gates * hidden]; null: none
  Value* peepholes = nullptr;               // [3 * hidden]
  Value *h = nullptr, *c = nullptr;         // [batch, hidden] at the start
  std::vector<std::string> activations;
  bool reverse = false;
};

struct Recurrence {
  Value* x = nullptr;         // [steps, batch, input]
  Value* lengths = nullptr;   // [batch] or null: all steps
  int64_t steps = 0, hidden = 0;
  Dim batch;
  double clip = 0;
  bool linear_before_reset = false, input_forget = false;
};

struct State {
  Value *h = nullptr, *c = nullptr;
};

// Part `i` of the gates along the last dim.
Value* Gate(OpCall& call, Value* gates, int64_t i, int64_t hidden) {
  return call.Slice(gates, OpCall::Rank(gates) - 1, Dim(i * hidden), Dim(hidden));
}

Value* Activated(OpCall& call, const std::string& name, Value* x, double clip) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"Sigmoid", "sigmoid"}, {"Tanh", "tanh"}, {"Relu", "relu"}, {"Softplus", "softplus"}};
  if (clip > 0) x = call.Op("clamp", {x, nullptr, nullptr}, {{"min", -clip}, {"max", clip}});
  for (const auto& [onnx_name, op] : kNames) {
    if (onnx_name == name) return call.Op(op, {x});
  }
  call.Fail(Unimplemented("activation {}", name));
  return nullptr;
}

// Each step maps the products of its input, with W's bias in them, and the state to the next state.

State RnnStep(OpCall& call, const Recurrence& all, const Direction& d, Value* xw, const State& state) {
  Value* sum = call.Op("add", {xw, Add(call, call.Op("matmul", {state.h, d.r}), d.rb)});
  return {.h = Activated(call, d.activations[0], sum, all.clip)};
}

// Gates z, r, h. The reset gate works on the state, or on the state's product with its bias.
State GruStep(OpCall& call, const Recurrence& all, const Direction& d, Value* xw, const State& state) {
  const int64_t n = all.hidden;
  auto columns = [&](Value* x, int64_t begin, int64_t count) {
    return x == nullptr ? nullptr : call.Slice(x, OpCall::Rank(x) - 1, Dim(begin * n), Dim(count * n));
  };
  Value* zr = call.Op("add", {columns(xw, 0, 2), Add(call, call.Op("matmul", {state.h, columns(d.r, 0, 2)}), columns(d.rb, 0, 2))});
  zr = Activated(call, d.activations[0], zr, all.clip);
  Value *z = Gate(call, zr, 0, n), *r = Gate(call, zr, 1, n), *rh = columns(d.r, 2, 1), *rb = columns(d.rb, 2, 1);
  Value* inner = all.linear_before_reset ? Mul(call, r, Add(call, call.Op("matmul", {state.h, rh}), rb))
                                         : Add(call, call.Op("matmul", {Mul(call, r, state.h), rh}), rb);
  Value* h = Activated(call, d.activations[1], call.Op("add", {columns(xw, 2, 1), inner}), all.clip);
  Value* kept = call.Op("rsub", {z, nullptr}, {{"other", 1.0}});
  return {.h = call.Op("add", {Mul(call, kept, h), Mul(call, z, state.h)})};
}

// Gates i, o, f, c.
State LstmStep(OpCall& call, const Recurrence& all, const Direction& d, Value* xw, const State& state) {
  const int64_t n = all.hidden;
  Value* sum = call.Op("add", {xw, Add(call, call.Op("matmul", {state.h, d.r}), d.rb)});
  auto gate = [&](int64_t i, size_t activation, int64_t peephole, Value* cell) {
    Value* x = Gate(call, sum, i, n);
    if (d.peepholes != nullptr && peephole >= 0) x = call.Op("add", {x, Mul(call, Gate(call, d.peepholes, peephole, n), cell)});
    return Activated(call, d.activations[activation], x, all.clip);
  };
  Value* input = gate(0, 0, 0, state.c);
  Value* forget = all.input_forget ? call.Op("rsub", {input, nullptr}, {{"other", 1.0}}) : gate(2, 0, 2, state.c);
  Value* c = call.Op("add", {Mul(call, forget, state.c), Mul(call, input, gate(3, 1, -1, nullptr))});
  Value* output = gate(1, 0, 1, c);
  return {.h = Mul(call, output, Activated(call, d.activations[2], c, 0)), .c = c};
}

struct Kind {
  std::string_view op_type;
  int64_t gates;
  size_t activations;
  std::string_view defaults[3];
  State (*step)(OpCall&, const Recurrence&, const Direction&, Value*, const State&);
};
constexpr Kind kKinds[] = {
    {"RNN", 1, 1, {"Tanh", "", ""}, RnnStep},
    {"GRU", 3, 2, {"Sigmoid", "Tanh", ""}, GruStep},
    {"LSTM", 4, 3, {"Sigmoid", "Tanh", "Tanh"}, LstmStep},
};

// Past a row's length its state stays.
Value* Masked(OpCall& call, const Recurrence& all, int64_t step, Value* next, Value* last) {
  if (all.lengths == nullptr || next == nullptr) return next;
  Value* within = call.Op("gt", {call.Reshape(all.lengths, {all.batch, Dim(1)}), nullptr}, {{"other", Dim(step)}});
  return call.Op("where", {within, next, last});
}

// The states after every step, in the order of the steps, and the last of all.
struct Run {
  std::vector<Value*> outputs;  // [1, batch, hidden] each
  State last;
};

Run RunDirection(OpCall& call, const Kind& kind, const Recurrence& all, const Direction& d) {
  const Dim steps(all.steps);
  const Dim input = OpCall::Extent(all.x, 2), width(kind.gates * all.hidden);
  Value* flat = call.Reshape(all.x, {steps * all.batch, input});
  Value* xw = call.Reshape(Add(call, call.Op("matmul", {flat, d.w}), d.wb), {steps, all.batch, width});
  Run run{std::vector<Value*>(static_cast<size_t>(all.steps)), {d.h, d.c}};
  Value* zero = all.lengths == nullptr ? nullptr : call.Scalar(0, call.TypeOf(0));
  for (int64_t i = 0; i < all.steps && call.ok(); ++i) {
    const int64_t t = d.reverse ? all.steps - 1 - i : i;
    Value* at = call.Reshape(call.Slice(xw, 0, Dim(t), Dim(1)), {all.batch, width});
    const State next = kind.step(call, all, d, at, run.last);
    Value* output = Masked(call, all, t, next.h, zero);
    run.last = {Masked(call, all, t, next.h, run.last.h), Masked(call, all, t, next.c, run.last.c)};
    run.outputs[static_cast<size_t>(t)] = call.Reshape(output, {Dim(1), all.batch, Dim(all.hidden)});
  }
  return run;
}

// --- Reading the node -----------------------------------------------------------------------------------------------

// Entry `d` of the first dim, which goes.
Value* Entry(OpCall& call, Value* x, int64_t d) {
  if (x == nullptr) return nullptr;
  return call.Reshape(call.Slice(x, 0, Dim(d), Dim(1)), Shape(x->shape.begin() + 1, x->shape.end()));
}

Value* Transposed(OpCall& call, Value* x) { return x == nullptr ? nullptr : call.Permute(x, {1, 0}); }

// With layout 1 the batch comes first.
Value* StateAt(OpCall& call, size_t i, int64_t d, const Recurrence& all) {
  if (!call.Has(i)) return call.Expand(call.Scalar(0, call.TypeOf(0)), {all.batch, Dim(all.hidden)});
  Value* state = call.In(i);
  if (call.Int("layout", 0) != 0) state = call.Permute(state, {1, 0, 2});
  return Entry(call, state, d);
}

Direction ReadDirection(OpCall& call, const Kind& kind, const Recurrence& all, int64_t d) {
  Direction direction;
  direction.w = Transposed(call, Entry(call, call.In(1), d));
  direction.r = Transposed(call, Entry(call, call.In(2), d));
  if (Value* bias = Entry(call, call.In(3), d)) {
    const Dim half(kind.gates * all.hidden);
    direction.wb = call.Slice(bias, 0, Dim(0), half);
    direction.rb = call.Slice(bias, 0, half, half);
  }
  direction.h = StateAt(call, 5, d, all);
  if (kind.op_type == "LSTM") direction.c = StateAt(call, 6, d, all);
  direction.peepholes = Entry(call, call.In(7), d);
  const std::vector<std::string> named = call.Strings("activations");
  for (size_t i = 0; i < kind.activations; ++i) {
    const size_t at = static_cast<size_t>(d) * kind.activations + i;
    direction.activations.push_back(at < named.size() ? named[at] : std::string(kind.defaults[i]));
  }
  return direction;
}

std::optional<Recurrence> ReadRecurrence(OpCall& call) {
  Recurrence all;
  all.x = call.In(0);
  if (call.Int("layout", 0) != 0) all.x = call.Permute(all.x, {1, 0, 2});
  const Shape x = OpCall::Extents(all.x);
  if (x.size() != 3 || call.ShapeOf(1).size() != 3 || call.ShapeOf(2).size() != 3) {
    call.Fail(InvalidArgument("operands of rank {}, {}, {}, expected 3", x.size(), call.ShapeOf(1).size(), call.ShapeOf(2).size()));
    return std::nullopt;
  }
  if (!x[0].IsConstant() || x[0].constant() > kMaxSteps) {
    call.Fail(Unimplemented("a number of steps that is symbolic or above {}", kMaxSteps));
    return std::nullopt;
  }
  const Dim hidden = call.ShapeOf(2)[2];
  if (!hidden.IsConstant() || call.Int("hidden_size", hidden.constant()) != hidden.constant()) {
    call.Fail(InvalidArgument("hidden_size does not match the weights"));
    return std::nullopt;
  }
  all.steps = x[0].constant();
  all.batch = x[1];
  all.hidden = hidden.constant();
  all.lengths = call.In(4);
  all.clip = call.Float("clip", 0);
  all.linear_before_reset = call.Int("linear_before_reset", 0) != 0;
  all.input_forget = call.Int("input_forget", 0) != 0;
  return all;
}

// Directions side by side in a new dim 1 of [steps, batch, hidden], or dim 0 of [batch, hidden].
Value* Stack(OpCall& call, const std::vector<Value*>& directions, size_t dim) {
  std::vector<Value*> parts;
  for (Value* x : directions) {
    Shape shape = OpCall::Extents(x);
    shape.insert(shape.begin() + static_cast<ptrdiff_t>(std::min(dim, shape.size())), Dim(1));
    parts.push_back(call.Reshape(x, std::move(shape)));
  }
  return call.Concat(std::move(parts), static_cast<int64_t>(dim));
}

void Recurrent(OpCall& call, const OpRow& row) {
  const Kind& kind = *std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.op_type == row.op_type; });
  const std::optional<Recurrence> all = ReadRecurrence(call);
  if (!all) return;
  const std::string name = call.String("direction", "forward");
  const int64_t directions = name == "bidirectional" ? 2 : 1;
  std::vector<Value*> outputs, h, c;
  for (int64_t d = 0; d < directions && call.ok(); ++d) {
    Direction direction = ReadDirection(call, kind, *all, d);
    direction.reverse = d == 1 || name == "reverse";
    const Run run = RunDirection(call, kind, *all, direction);
    if (!call.ok()) return;
    outputs.push_back(call.Concat(run.outputs, 0));
    h.push_back(run.last.h);
    c.push_back(run.last.c);
  }
  const bool batch_first = call.Int("layout", 0) != 0;
  auto laid_out = [&](Value* x, std::vector<int64_t> dims) { return batch_first ? call.Permute(x, std::move(dims)) : x; };
  call.Give(laid_out(Stack(call, outputs, 1), {2, 0, 1, 3}));
  call.Give(laid_out(Stack(call, h, 0), {1, 0, 2}), 1);
  if (kind.op_type == "LSTM") call.Give(laid_out(Stack(call, c, 0), {1, 0, 2}), 2);
}

constexpr OpRow kRows[] = {
    {"GRU", Recurrent, "", 3, 6},
    {"LSTM", Recurrent, "", 3, 8},
    {"RNN", Recurrent, "", 3, 6},
};

}  // namespace

std::span<const OpRow> RecurrentOps() { return kRows; }

}  // namespace tondar::onnx_format
