// RNN, GRU and LSTM as loops: the products of all inputs with the weights are one matrix product, each round of a while
// adds what depends on the state. Gates and their order are PyTorch's (torch.nn.LSTM, GRU, RNN).
#include <algorithm>
#include <cstring>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ir/view.h"
#include "engine/ops/lowering.h"

namespace tondar {
namespace {

enum class Cell : uint8_t { kTanh, kRelu, kGru, kLstm };

constexpr std::pair<std::string_view, Cell> kCells[] = {
    {"rnn_tanh", Cell::kTanh}, {"rnn_relu", Cell::kRelu}, {"gru", Cell::kGru}, {"lstm", Cell::kLstm}};

Cell CellOf(const Node& node) {
  const auto row = std::find_if(std::begin(kCells), std::end(kCells), [&](const auto& cell) { return cell.first == node.op; });
  return row->second;
}
int64_t GatesOf(Cell cell) { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }

// What a node says, in its own terms.
struct Layers {
  Cell cell;
  Value* input;               // [steps, batch, features], or [batch, steps, features], or [steps, features]
  std::vector<Value*> start;  // h, and c of an LSTM: [layers * directions, batch, hidden], or without the batch
  std::vector<Value*> params;  // of each layer and direction w_ih, w_hh and perhaps b_ih, b_hh
  bool biases, bidirectional, batch_first, batched;
  int64_t layers;

  int64_t directions() const { return bidirectional ? 2 : 1; }
  size_t params_each() const { return biases ? 4 : 2; }
};

Layers ReadLayers(const Node& node) {
  const Arguments args(node);
  const Cell cell = CellOf(node);
  return {.cell = cell,
          .input = args.Tensor("input"),
          .start = args.Tensors("hx"),
          .params = args.Tensors("params"),
          .biases = args.Bool("has_biases"),
          .bidirectional = args.Bool("bidirectional"),
          .batch_first = args.Bool("batch_first"),
          .batched = args.Tensor("input")->shape.size() == 3,
          .layers = args.Int("num_layers")};
}

Status InferRecurrent(Node& node) {
  const Layers all = ReadLayers(node);
  const size_t states = all.cell == Cell::kLstm ? 2 : 1;
  if (all.start.size() != states) return InvalidArgument("{} states, expected {}", all.start.size(), states);
  const size_t expected = static_cast<size_t>(all.layers * all.directions()) * all.params_each();
  if (all.layers < 1 || all.params.size() != expected) {
    return Unimplemented("{} weights for {} layers: projections are not supported", all.params.size(), all.layers);
  }
  const Shape& x = all.input->shape;
  const Shape& h = all.start[0]->shape;
  if ((x.size() != 2 && x.size() != 3) || h.size() != x.size()) {
    return InvalidArgument("an input of rank {} and a state of rank {}", x.size(), h.size());
  }
  for (const Value* state : all.start) {
    if (state->shape != h || !state->shape[0].Is(all.layers * all.directions())) {
      return InvalidArgument("a state of shape {} for {} layers in {} directions", ToString(state->shape), all.layers, all.directions());
    }
  }
  for (size_t i = 0; i < all.params.size(); ++i) {
    const bool is_matrix = i % all.params_each() < 2;
    const Shape& shape = all.params[i]->shape;
    const bool fits = shape.size() == (is_matrix ? 2u : 1u) && shape[0] == h.back() * Dim(GatesOf(all.cell));
    if (!fits) return InvalidArgument("weight {} of shape {} for a state of {}", i, ToString(shape), h.back().ToString());
  }
  Shape output = x;
  output.back() = h.back() * Dim(all.directions());
  SetOutput(node, 0, all.input->dtype, std::move(output));
  for (size_t i = 0; i < states; ++i) SetOutput(node, 1 + i, all.input->dtype, h);
  return OkStatus();
}

// Adds nodes to a body. The first failure is kept; what follows it is null.
class BodyBuilder {
 public:
  explicit BodyBuilder(Graph& graph) : graph_(graph) {}

  Value* Op(std::string_view op, std::vector<Value*> inputs, Attributes attributes = {}) {
    if (!status_.ok()) return nullptr;
    Result<Node*> node = AddOp(graph_, op, op, std::move(inputs), {}, std::move(attributes));
    if (node.ok()) return (*node)->outputs[0];
    status_ = node.status();
    return nullptr;
  }
  Value* Add(Value* a, Value* b) { return Op("add", {a, b}); }
  Value* Mul(Value* a, Value* b) { return Op("mul", {a, b}); }
  Value* Sigmoid(Value* a) { return Op("sigmoid", {a}); }
  Value* Tanh(Value* a) { return Op("tanh", {a}); }
  Value* Reshape(Value* a, const Shape& shape) { return status_.ok() ? AddReshape(graph_, a, shape, nullptr) : nullptr; }
  // Gate `i` of `n` columns.
  Value* Gate(Value* gates, int64_t i, const Dim& n) {
    return status_.ok() ? AddSlice(graph_, gates, 1, Dim(i) * n, n, 1, nullptr) : nullptr;
  }
  // The parent's value: its very constant, or an input.
  Value* Bring(Value* value, std::vector<Value*>& taken) {
    if (value == nullptr) return nullptr;
    if (value->IsConstant()) return graph_.AddConstant(*value->constant);
    taken.push_back(value);
    return graph_.AddInput(value->name, value->dtype, value->shape);
  }
  Value* Integer(int64_t number) {
    Constant constant = AllocateConstant("integer", DType::kInt64, {});
    std::memcpy(constant.view.data, &number, sizeof number);
    return graph_.AddConstant(std::move(constant));
  }
  Value* Size(const Dim& size) {
    return Op("full", {}, {{"size", Shape()}, {"fill_value", size}, {"dtype", DType::kInt64}});
  }
  const Status& status() const { return status_; }

 private:
  Graph& graph_;
  Status status_;
};

// The state after one step, from the products of its input (with their bias) and of the state: h, and c.
std::vector<Value*> Step(BodyBuilder& b, Cell cell, Value* x, Value* from_state, const std::vector<Value*>& state, const Dim& n) {
  if (cell == Cell::kTanh) return {b.Tanh(b.Add(x, from_state))};
  if (cell == Cell::kRelu) return {b.Op("relu", {b.Add(x, from_state)})};
  if (cell == Cell::kGru) {  // r, z, n: h' = (1 - z) n + z h = n + z (h - n)
    Value* reset = b.Sigmoid(b.Add(b.Gate(x, 0, n), b.Gate(from_state, 0, n)));
    Value* update = b.Sigmoid(b.Add(b.Gate(x, 1, n), b.Gate(from_state, 1, n)));
    Value* fresh = b.Tanh(b.Add(b.Gate(x, 2, n), b.Mul(reset, b.Gate(from_state, 2, n))));
    return {b.Add(fresh, b.Mul(update, b.Op("sub", {state[0], fresh})))};
  }
  Value* sum = b.Add(x, from_state);  // i, f, g, o
  Value* kept = b.Mul(b.Sigmoid(b.Gate(sum, 1, n)), state[1]);
  Value* cell_state = b.Add(kept, b.Mul(b.Sigmoid(b.Gate(sum, 0, n)), b.Tanh(b.Gate(sum, 2, n))));
  return {b.Mul(b.Sigmoid(b.Gate(sum, 3, n)), b.Tanh(cell_state)), cell_state};
}

class RecurrentLowering {
 public:
  RecurrentLowering(const Node& node, LoweringBuilder& builder) : node_(node), all_(ReadLayers(node)), builder_(builder) {}

  Status Run() {
    Value* x = all_.input;
    if (!all_.batched) {
      x = builder_.Unsqueeze(x, 1);
      for (Value*& state : all_.start) state = builder_.Unsqueeze(state, 1);
    } else if (all_.batch_first) {
      x = builder_.Transpose(x, 0, 1);
    }
    for (int64_t layer = 0; layer < all_.layers; ++layer) {
      std::vector<Value*> directions;
      for (int64_t direction = 0; direction < all_.directions(); ++direction) {
        TONDAR_ASSIGN_OR_RETURN(Value * output, RunLayer(x, layer * all_.directions() + direction, direction == 1));
        directions.push_back(output);
      }
      x = builder_.Concat(directions, -1);
    }
    if (!all_.batched) {
      x = builder_.Squeeze(x, 1);
    } else if (all_.batch_first) {
      x = builder_.Transpose(x, 0, 1);
    }
    builder_.Replace(0, x);
    for (size_t i = 0; i < ends_.size(); ++i) {
      Value* stacked = builder_.Concat(ends_[i], 0);
      builder_.Replace(1 + i, all_.batched ? stacked : builder_.Squeeze(stacked, 1));
    }
    return OkStatus();
  }

 private:
  // One layer in one direction: [steps, batch, hidden].
  Result<Value*> RunLayer(Value* x, int64_t index, bool reverse) {
    const auto param = all_.params.begin() + index * static_cast<int64_t>(all_.params_each());
    TONDAR_ASSIGN_OR_RETURN(Value * products, builder_.Op("linear", {x, param[0], all_.biases ? param[2] : nullptr}));
    const Dim steps = x->shape[0], batch = x->shape[1], hidden = all_.start[0]->shape.back();
    std::vector<Value*> inputs = {builder_.IntegerScalar(0, DType::kInt64)};
    for (Value* state : all_.start) {
      inputs.push_back(builder_.Reshape(builder_.Slice(state, 0, Dim(index), Dim(1)), {batch, hidden}));
    }
    inputs.push_back(builder_.Full(0, x->dtype, {steps, batch, hidden}));
    const size_t carried = inputs.size();
    auto body = std::make_unique<Graph>();
    body->name = "step";
    body->symbols = builder_.graph().symbols;
    TONDAR_RETURN_IF_ERROR(FillBody(*body, inputs, products, param[1], all_.biases ? param[3] : nullptr, steps, reverse));
    TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<Graph> condition, Condition(inputs, steps));
    Node* loop = builder_.AddControl(kWhileOp, inputs);
    for (size_t i = 0; i < carried; ++i) builder_.graph().AddOutput(loop, "", inputs[i]->dtype, inputs[i]->shape);
    loop->subgraphs.push_back(std::move(condition));
    loop->subgraphs.push_back(std::move(body));
    ends_.resize(all_.start.size());
    for (size_t i = 0; i < ends_.size(); ++i) ends_[i].push_back(builder_.Unsqueeze(loop->outputs[1 + i], 0));
    return loop->outputs.back();
  }

  // The body takes what `inputs` carries; what else it takes is added to them.
  Status FillBody(Graph& body, std::vector<Value*>& inputs, Value* products, Value* weight, Value* bias, const Dim& steps, bool reverse) {
    BodyBuilder b(body);
    std::vector<Value*> carried;
    for (const Value* value : inputs) carried.push_back(body.AddInput(value->name, value->dtype, value->shape));
    Value *round = carried.front(), *so_far = carried.back();
    const std::vector<Value*> state(carried.begin() + 1, carried.end() - 1);
    Value* row = reverse ? b.Op("sub", {b.Size(steps - 1), round}) : round;
    row = b.Reshape(row, {Dim(1)});
    Value* x = b.Op("index_select", {b.Bring(products, inputs), row}, {{"dim", Dim(0)}});
    x = b.Reshape(x, {products->shape[1], products->shape[2]});
    Value* from_state = b.Op("linear", {state[0], b.Bring(weight, inputs), b.Bring(bias, inputs)});
    const Dim hidden = state[0]->shape[1];
    const std::vector<Value*> next = Step(b, all_.cell, x, from_state, state, hidden);
    Shape one = so_far->shape;
    one[0] = 1;
    Value* stacked = b.Op("index_copy", {so_far, row, b.Reshape(next[0], one)}, {{"dim", Dim(0)}});
    body.outputs = {b.Add(round, b.Integer(1))};
    body.outputs.insert(body.outputs.end(), next.begin(), next.end());
    body.outputs.push_back(stacked);
    return b.status();
  }

  Result<std::unique_ptr<Graph>> Condition(const std::vector<Value*>& inputs, const Dim& steps) {
    auto condition = std::make_unique<Graph>();
    condition->name = "condition";
    condition->symbols = builder_.graph().symbols;
    for (const Value* value : inputs) condition->AddInput(value->name, value->dtype, value->shape);
    BodyBuilder b(*condition);
    condition->outputs = {b.Op("lt", {condition->inputs[0], b.Size(steps)})};
    TONDAR_RETURN_IF_ERROR(b.status());
    return condition;
  }

  const Node& node_;
  Layers all_;
  LoweringBuilder& builder_;
  std::vector<std::vector<Value*>> ends_;  // of h and c, each layer's and direction's last state
};

Status LowerRecurrent(const Node& node, LoweringBuilder& builder) { return RecurrentLowering(node, builder).Run(); }

}  // namespace

std::vector<OpSchema> RecurrentOps() {
  const std::string rest = ", Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first)";
  const std::string own = "(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, bool bidirectional, bool batch_first)";
  std::vector<OpSchema> rows;
  for (const auto& [name, cell] : kCells) {
    const std::string source = "(Tensor input, " + std::string(cell == Cell::kLstm ? "Tensor[] hx" : "Tensor hx") + rest;
    OpSchema row;
    row.name = name;
    row.sources = {{fmt::format("aten.{}.input", name), source}};
    row.signature = own;
    row.results = cell == Cell::kLstm ? 3 : 2;
    row.infer = InferRecurrent;
    row.lower = LowerRecurrent;
    row.early = true;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tondar
