// The part of NodeBuilder that makes bodies: cond, while_loop, scan, map.
#include <algorithm>
#include <cstring>

#include "engine/importers/pt2/node_builder.h"

namespace tondar::pt2 {
namespace {

using Kind = Argument::Kind;

// A value of the parent in a body: its very constant, or an input. Null if there is none.
Value* Bring(Graph& body, const Value* value) {
  if (value == nullptr) return nullptr;
  return value->IsConstant() ? body.AddConstant(*value->constant) : body.AddInput(value->name, value->dtype, value->shape);
}
Value* BringAsInput(Graph& body, const Value* value) {
  return value == nullptr ? nullptr : body.AddInput(value->name, value->dtype, value->shape);
}

bool IsComplete(const std::vector<Value*>& values) {
  return std::find(values.begin(), values.end(), nullptr) == values.end();
}
// Of something whose reason is reported already.
Status Reported() { return Unimplemented(""); }

bool IsInputOf(const Graph& body, const Value* value) {
  return std::find(body.inputs.begin(), body.inputs.end(), value) != body.inputs.end();
}

Value* Int64Scalar(Graph& graph, int64_t number, std::string name) {
  Constant constant = AllocateConstant(std::move(name), DType::kInt64, {});
  std::memcpy(constant.view.data, &number, sizeof number);
  return graph.AddConstant(std::move(constant));
}

Result<Value*> Add(Graph& graph, std::string_view source, std::string_view name, std::vector<Value*> inputs, Attributes attributes) {
  TONDAR_ASSIGN_OR_RETURN(Node * node, AddSourceOp(graph, source, name, std::move(inputs), {}, std::move(attributes)));
  return node->outputs.at(0);
}

// Loops give back what they take: extents that are spelled in another way are held equal by checks.
Status CheckCarried(Graph& body, const Value& before, const Value& after) {
  if (before.dtype != after.dtype || before.shape.size() != after.shape.size()) {
    return Unimplemented("a loop that turns {} {} into {} {}", Name(before.dtype), ToString(before.shape, body.symbols),
                         Name(after.dtype), ToString(after.shape, body.symbols));
  }
  for (size_t d = 0; d < before.shape.size(); ++d) {
    if (before.shape[d] == after.shape[d]) continue;
    body.checks.push_back({.left = after.shape[d], .right = before.shape[d], .where = fmt::format("what '{}' carries", before.name)});
  }
  return OkStatus();
}

}  // namespace

bool NodeBuilder::AddControl(Scope& scope, const ProgramNode& node, std::string_view name) {
  Status status;
  if (name == "cond") {
    status = AddCond(scope, node);
  } else if (name == "while_loop") {
    status = AddWhileLoop(scope, node);
  } else if (name == "scan") {
    status = AddScan(scope, node, true);
  } else if (name == "map_impl" || name == "map") {
    status = AddScan(scope, node, false);
  } else {
    return false;
  }
  if (status.ok()) return true;
  if (status.code() == StatusCode::kInvalidArgument) {
    problems_.Broken("node '{}' ({}): {}", node.name, node.target, status.message());
  } else if (!status.message().empty()) {
    Unsupported(fmt::format("higher-order operator {}: {}", name, status.message()), node);
  }
  BindFailed(scope, node);
  return true;
}

Result<const ProgramGraph*> NodeBuilder::GraphArgument(const ProgramNode& node, size_t argument) const {
  if (argument < node.inputs.size() && node.inputs[argument].value.kind == Kind::kGraph) return node.inputs[argument].value.graph.get();
  return InvalidArgument("argument {} is no graph", argument);
}

// A missing value is null, and reported already: bodies are looked at all the same, so that all that is missing is said
// at once.
Result<std::vector<Value*>> NodeBuilder::OperandsOf(Scope& scope, const ProgramNode& node, size_t argument) {
  std::vector<Value*> values;
  if (argument >= node.inputs.size()) return values;
  const Argument& list = node.inputs[argument].value;
  if (list.kind == Kind::kNone || (list.kind == Kind::kNumbers && list.numbers.empty())) return values;
  if (list.kind != Kind::kTensors && list.kind != Kind::kTensor) return Unimplemented("operands that are no tensors");
  for (const std::string& name : list.names) {
    values.push_back(name.empty() ? nullptr : ValueOf(Find(scope, name, node.name), node));
  }
  return values;
}

std::unique_ptr<Graph> NodeBuilder::NewBody(std::string_view name) const {
  auto body = std::make_unique<Graph>();
  body->name = name;
  body->symbols = graph_.symbols;
  return body;
}

Result<std::vector<Value*>> NodeBuilder::FillBody(Graph& body, const ProgramGraph& source, std::vector<Value*> operands) {
  if (operands.size() != source.inputs.size()) {
    return InvalidArgument("{} operands for a graph of {} inputs", operands.size(), source.inputs.size());
  }
  Aliases aliases(body);
  NodeBuilder inner(body, aliases, problems_, operators_);
  inner.known_symbols_ = known_symbols_;
  Scope scope{.graph = &source};
  std::vector<Tensor*> tensors;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (source.inputs[i].kind != Kind::kTensor) return Unimplemented("a graph with an input that is no tensor");
    tensors.push_back(aliases.AddRoot(operands[i]));
    scope.tensors[source.inputs[i].names[0]] = tensors.back();
  }
  inner.AddNodes(scope);
  if (!inner.sizes_.empty()) return Unimplemented("sizes that depend on data within a graph");
  std::vector<Value*> results;
  const ProgramNode user{.target = "", .name = "the results of a graph", .inputs = {}, .outputs = {}, .source = ""};
  for (const Argument& output : source.outputs) {
    if (output.kind != Kind::kTensor && output.kind != Kind::kTensors) return Unimplemented("a graph with a result that is no tensor");
    for (const std::string& name : output.names) {
      Value* value = inner.ValueOf(inner.Find(scope, name, user.name), user);
      if (value == nullptr) return Reported();
      results.push_back(value);
    }
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]->value != operands[i]) return Unimplemented("a graph that writes to its operands");
  }
  return results;
}

Status NodeBuilder::GiveResults(Scope& scope, const ProgramNode& node, const std::vector<Value*>& values) {
  std::vector<std::string> names;
  for (const Argument& output : node.outputs) {
    if (output.kind == Kind::kNone) continue;
    if (output.kind != Kind::kTensor && output.kind != Kind::kTensors) return Unimplemented("a result that is no tensor");
    names.insert(names.end(), output.names.begin(), output.names.end());
  }
  if (names.size() != values.size()) return InvalidArgument("{} results for {} names", values.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    Reconcile(scope, node, names[i], values[i]);
    scope.tensors[names[i]] = aliases_.AddRoot(values[i]);
  }
  return OkStatus();
}

// ---- cond ----

// A bool as the device reads it: of one byte, in a 0-d tensor.
Result<Value*> NodeBuilder::DecisionOf(Scope& scope, const ProgramNode& node, const Argument& argument) {
  if (argument.kind == Kind::kTensor) {
    Value* value = ValueOf(Find(scope, argument.names[0], node.name), node);
    if (value == nullptr) return Reported();
    if (value->shape.empty() && value->dtype == DType::kBool) return value;
    TONDAR_ASSIGN_OR_RETURN(value, Add(graph_, "aten.reshape.default", node.name, {value}, {{"shape", Shape()}}));
    return Add(graph_, "aten._to_copy.default", node.name, {value}, {{"dtype", DType::kBool}});
  }
  if (argument.kind != Kind::kNumber) return InvalidArgument("a decision that is neither tensor nor bool");
  const Number number = Resolve(scope, argument.numbers[0], node.name);
  Dim holds;
  if (const bool* truth = std::get_if<bool>(&number)) {
    holds = *truth ? 1 : 0;
  } else if (const Condition* condition = std::get_if<Condition>(&number)) {
    holds = condition->holds;
  } else {
    return Unimplemented("a decision that cannot be told from sizes");
  }
  TONDAR_ASSIGN_OR_RETURN(Value * full, Add(graph_, "aten.full.default", node.name, {},
                                            {{"size", Shape()}, {"fill_value", holds}, {"dtype", DType::kInt64}}));
  return Add(graph_, "aten._to_copy.default", node.name, {full}, {{"dtype", DType::kBool}});
}

Status NodeBuilder::AddCond(Scope& scope, const ProgramNode& node) {
  if (node.inputs.size() < 3) return InvalidArgument("{} arguments, expected 4", node.inputs.size());
  const Result<Value*> decision = DecisionOf(scope, node, node.inputs[0].value);
  TONDAR_ASSIGN_OR_RETURN(const std::vector<Value*> operands, OperandsOf(scope, node, 3));
  std::vector<std::unique_ptr<Graph>> bodies;
  Status failure = !decision.ok() ? decision.status() : IsComplete(operands) ? OkStatus() : Reported();
  for (size_t i = 1; i <= 2; ++i) {
    TONDAR_ASSIGN_OR_RETURN(const ProgramGraph* source, GraphArgument(node, i));
    std::unique_ptr<Graph> body = NewBody(i == 1 ? "true" : "false");
    std::vector<Value*> brought;
    for (const Value* operand : operands) brought.push_back(Bring(*body, operand));
    Result<std::vector<Value*>> results = FillBody(*body, *source, std::move(brought));
    if (results.ok()) body->outputs = *std::move(results);
    else if (failure.ok()) failure = results.status();
    bodies.push_back(std::move(body));
  }
  TONDAR_RETURN_IF_ERROR(failure);
  std::vector<Value*> inputs = {*decision};
  for (Value* operand : operands) {
    if (!operand->IsConstant()) inputs.push_back(operand);
  }
  const std::vector<Value*>&yes = bodies[0]->outputs, &no = bodies[1]->outputs;
  if (yes.size() != no.size()) return InvalidArgument("{} results if true, {} if false", yes.size(), no.size());
  Node* made = graph_.AddNode(kCondOp, node.name, std::move(inputs));
  made->segments = {static_cast<int>(made->inputs.size())};
  for (size_t i = 0; i < yes.size(); ++i) {
    TONDAR_RETURN_IF_ERROR(CheckCarried(*bodies[1], *yes[i], *no[i]));
    graph_.AddOutput(made, "", yes[i]->dtype, yes[i]->shape);
  }
  made->subgraphs = std::move(bodies);
  return GiveResults(scope, node, made->outputs);
}

// ---- while_loop ----

Status NodeBuilder::AddWhileLoop(Scope& scope, const ProgramNode& node) {
  TONDAR_ASSIGN_OR_RETURN(const ProgramGraph* condition, GraphArgument(node, 0));
  TONDAR_ASSIGN_OR_RETURN(const ProgramGraph* source, GraphArgument(node, 1));
  TONDAR_ASSIGN_OR_RETURN(const std::vector<Value*> carried, OperandsOf(scope, node, 2));
  TONDAR_ASSIGN_OR_RETURN(const std::vector<Value*> extras, OperandsOf(scope, node, 3));
  std::vector<std::unique_ptr<Graph>> bodies;
  Status failure = IsComplete(carried) && IsComplete(extras) ? OkStatus() : Reported();
  for (const ProgramGraph* graph : {condition, source}) {
    std::unique_ptr<Graph> body = NewBody(graph == source ? "body" : "condition");
    std::vector<Value*> brought;
    for (const Value* value : carried) brought.push_back(BringAsInput(*body, value));
    for (const Value* value : extras) brought.push_back(Bring(*body, value));
    Result<std::vector<Value*>> results = FillBody(*body, *graph, std::move(brought));
    if (results.ok()) body->outputs = *std::move(results);
    else if (failure.ok()) failure = results.status();
    bodies.push_back(std::move(body));
  }
  TONDAR_RETURN_IF_ERROR(failure);
  std::vector<Value*> inputs = carried;
  for (Value* extra : extras) {
    if (!extra->IsConstant()) inputs.push_back(extra);
  }
  if (bodies[0]->outputs.size() != 1 || bodies[0]->outputs[0]->dtype != DType::kBool) return InvalidArgument("the condition is no bool");
  TONDAR_ASSIGN_OR_RETURN(bodies[0]->outputs[0], Add(*bodies[0], "aten.reshape.default", "decision", {bodies[0]->outputs[0]}, {{"shape", Shape()}}));
  if (bodies[1]->outputs.size() != carried.size()) return InvalidArgument("the body gives {} of {} carried tensors", bodies[1]->outputs.size(), carried.size());
  Node* made = graph_.AddNode(kWhileOp, node.name, std::move(inputs));
  made->segments = {static_cast<int>(made->inputs.size())};
  for (size_t i = 0; i < carried.size(); ++i) {
    TONDAR_RETURN_IF_ERROR(CheckCarried(*bodies[1], *carried[i], *bodies[1]->outputs[i]));
    graph_.AddOutput(made, "", carried[i]->dtype, carried[i]->shape);
  }
  made->subgraphs = std::move(bodies);
  return GiveResults(scope, node, made->outputs);
}

// ---- scan and map ----

// A loop that counts: in round t the source graph gets what is carried, row t of every xs and the extras, and gives what
// is carried on and row t of every result. A map carries nothing.
Status NodeBuilder::AddScan(Scope& scope, const ProgramNode& node, bool carries) {
  TONDAR_ASSIGN_OR_RETURN(const ProgramGraph* source, GraphArgument(node, 0));
  std::vector<Value*> init;
  if (carries) {
    TONDAR_ASSIGN_OR_RETURN(init, OperandsOf(scope, node, 1));
  }
  TONDAR_ASSIGN_OR_RETURN(const std::vector<Value*> xs, OperandsOf(scope, node, carries ? 2 : 1));
  TONDAR_ASSIGN_OR_RETURN(const std::vector<Value*> extras, OperandsOf(scope, node, carries ? 3 : 2));
  if (!IsComplete(init) || !IsComplete(xs) || !IsComplete(extras)) {
    LookUpOperators(*source);
    return Reported();
  }
  if (xs.empty() || xs[0]->shape.empty()) return InvalidArgument("nothing to go over");
  const Dim rounds = xs[0]->shape[0];
  for (const Value* x : xs) {
    if (x->shape.empty()) return InvalidArgument("a 0-d tensor to go over");
    if (x->shape[0] != rounds) graph_.checks.push_back({.left = x->shape[0], .right = rounds, .where = fmt::format("{}: extents to go over", node.name)});
  }

  // The body takes the counter, what is carried and the results so far, then xs and extras.
  std::unique_ptr<Graph> body = NewBody("body");
  Value* counter = body->AddInput("round", DType::kInt64, {});
  std::vector<Value*> arguments, inputs = {Int64Scalar(graph_, 0, "round")};
  for (Value* value : init) {
    inputs.push_back(value);
    arguments.push_back(body->AddInput(value->name, value->dtype, value->shape));
  }
  // The results' shapes are known once the source graph is in the body, but inputs come first: fill it, then add them.
  std::vector<Value*> later;
  TONDAR_ASSIGN_OR_RETURN(Value * row, Add(*body, "aten.reshape.default", "row", {counter}, {{"shape", Shape{Dim(1)}}}));
  for (Value* x : xs) {
    Value* whole = Bring(*body, x);
    if (IsInputOf(*body, whole)) later.push_back(x);
    TONDAR_ASSIGN_OR_RETURN(Value * one, Add(*body, "aten.index_select.default", x->name, {whole, row}, {{"dim", Dim(0)}}));
    TONDAR_ASSIGN_OR_RETURN(one, Add(*body, "aten.reshape.default", x->name, {one}, {{"shape", Shape(x->shape.begin() + 1, x->shape.end())}}));
    arguments.push_back(one);
  }
  for (Value* extra : extras) {
    arguments.push_back(Bring(*body, extra));
    if (IsInputOf(*body, arguments.back())) later.push_back(extra);
  }
  TONDAR_ASSIGN_OR_RETURN(std::vector<Value*> results, FillBody(*body, *source, std::move(arguments)));
  if (results.size() < init.size()) return InvalidArgument("the graph gives {} of {} carried tensors", results.size(), init.size());

  TONDAR_ASSIGN_OR_RETURN(Value * next, Add(*body, "aten.add.Tensor", "next", {counter, Int64Scalar(*body, 1, "one")}, {}));
  body->outputs = {next};
  for (size_t i = 0; i < init.size(); ++i) {
    TONDAR_RETURN_IF_ERROR(CheckCarried(*body, *init[i], *results[i]));
    body->outputs.push_back(results[i]);
  }
  const size_t carried_inputs = 1 + init.size();
  std::vector<Value*> stacked;  // the results so far, as inputs of the body
  for (size_t i = init.size(); i < results.size(); ++i) {
    Shape shape = results[i]->shape;
    shape.insert(shape.begin(), rounds);
    TONDAR_ASSIGN_OR_RETURN(Value * empty, Add(graph_, "aten.full.default", node.name, {},
                                               {{"size", shape}, {"fill_value", Dim(0)}, {"dtype", results[i]->dtype}}));
    inputs.push_back(empty);
    Value* so_far = body->AddInput("so_far", results[i]->dtype, shape);
    stacked.push_back(so_far);
    shape[0] = 1;
    TONDAR_ASSIGN_OR_RETURN(Value * one, Add(*body, "aten.reshape.default", "result", {results[i]}, {{"shape", shape}}));
    TONDAR_ASSIGN_OR_RETURN(Value * filled, Add(*body, "aten.index_copy.default", "stacked", {so_far, row, one}, {{"dim", Dim(0)}}));
    body->outputs.push_back(filled);
  }
  // Carried inputs stand before the others.
  std::vector<Value*>& order = body->inputs;
  const auto middle = order.end() - static_cast<std::ptrdiff_t>(stacked.size());
  std::rotate(order.begin() + static_cast<std::ptrdiff_t>(carried_inputs), middle, order.end());
  const size_t carried = body->outputs.size();
  for (Value* value : later) inputs.push_back(value);

  std::unique_ptr<Graph> condition = NewBody("condition");
  for (const Value* value : inputs) condition->AddInput(value->name, value->dtype, value->shape);
  TONDAR_ASSIGN_OR_RETURN(Value * end, Add(*condition, "aten.full.default", "rounds", {},
                                           {{"size", Shape()}, {"fill_value", rounds}, {"dtype", DType::kInt64}}));
  TONDAR_ASSIGN_OR_RETURN(Value * goes_on, Add(*condition, "aten.lt.Tensor", "goes_on", {condition->inputs[0], end}, {}));
  condition->outputs = {goes_on};

  Node* made = graph_.AddNode(kWhileOp, node.name, std::move(inputs));
  made->segments = {static_cast<int>(made->inputs.size())};
  for (size_t i = 0; i < carried; ++i) graph_.AddOutput(made, "", made->inputs[i]->dtype, made->inputs[i]->shape);
  made->subgraphs.push_back(std::move(condition));
  made->subgraphs.push_back(std::move(body));
  return GiveResults(scope, node, {made->outputs.begin() + 1, made->outputs.end()});
}

}  // namespace tondar::pt2
