#include "engine/ir/graph.h"

#include <algorithm>

namespace tondar {

const Attribute* Node::Find(std::string_view attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? nullptr : &found->second;
}

Graph::~Graph() = default;

std::string Graph::UniqueName(std::map<std::string, int, std::less<>>& taken, std::string_view name) {
  std::string candidate(name.empty() ? "value" : name);
  auto [entry, is_new] = taken.emplace(candidate, 0);
  if (is_new) return candidate;
  const std::string base = candidate;
  do {
    candidate = fmt::format("{}_{}", base, ++entry->second);
  } while (!taken.emplace(candidate, 0).second);
  return candidate;
}

Value* Graph::AddValue(std::string_view value_name, DType dtype, Shape shape) {
  auto value = std::make_unique<Value>();
  value->name = UniqueName(value_names_, value_name);
  value->dtype = dtype;
  value->shape = std::move(shape);
  value->graph = this;
  Value* result = value.get();
  value_places_[result] = values_.insert(values_.end(), std::move(value));
  return result;
}

Value* Graph::AddInput(std::string input_name, DType dtype, Shape shape) {
  inputs.push_back(AddValue(input_name, dtype, std::move(shape)));
  return inputs.back();
}

Value* Graph::AddConstant(Constant constant) {
  Value* value = AddValue(constant.name.empty() ? "constant" : constant.name, constant.view.dtype,
                          ToShape(constant.view.shape));
  value->constant = std::move(constant);
  return value;
}

Node* Graph::AddNode(std::string_view op, std::string_view node_name, std::vector<Value*> node_inputs, Node* before) {
  auto node = std::make_unique<Node>();
  node->op = op;
  node->name = UniqueName(node_names_, node_name.empty() ? op : node_name);
  node->graph = this;
  Node* result = node.get();
  const auto place = before == nullptr ? nodes_.end() : places_.at(before);
  places_[result] = nodes_.insert(place, std::move(node));
  SetInputs(result, std::move(node_inputs));
  return result;
}

Value* Graph::AddOutput(Node* node, std::string_view output_name, DType dtype, Shape shape) {
  Value* value = AddValue(output_name.empty() ? node->name : output_name, dtype, std::move(shape));
  value->producer = node;
  node->outputs.push_back(value);
  return value;
}

Node* Graph::AddStep(StepBody body, std::string_view step_name, std::vector<Value*> step_inputs, DType dtype,
                     Shape shape, Node* before) {
  Node* node = AddNode(kStepOp, step_name, std::move(step_inputs), before);
  node->body = std::make_unique<StepBody>(std::move(body));
  AddOutput(node, step_name, dtype, std::move(shape));
  return node;
}

namespace {

void RemoveUse(Value* value, Node* user) {
  if (value == nullptr) return;
  const auto use = std::find(value->users.begin(), value->users.end(), user);
  TONDAR_CHECK(use != value->users.end(), "value '{}' does not know its user '{}'", value->name, user->name);
  value->users.erase(use);
}

void AddUse(Value* value, Node* user) {
  if (value != nullptr) value->users.push_back(user);
}

}  // namespace

void Graph::SetInput(Node* node, size_t index, Value* value) {
  AddUse(value, node);
  RemoveUse(node->inputs[index], node);
  node->inputs[index] = value;
}

void Graph::SetInputs(Node* node, std::vector<Value*> node_inputs) {
  for (Value* value : node_inputs) AddUse(value, node);
  for (Value* value : node->inputs) RemoveUse(value, node);
  if (node->segments.size() != node_inputs.size()) node->segments.assign(node_inputs.size(), 1);
  node->inputs = std::move(node_inputs);
}

void Graph::ReplaceAllUses(Value* from, Value* to) {
  if (from == to) return;
  std::vector<Node*> users = std::move(from->users);
  from->users.clear();
  for (Node* user : users) {
    std::replace(user->inputs.begin(), user->inputs.end(), from, to);
    to->users.push_back(user);
  }
  std::replace(outputs.begin(), outputs.end(), from, to);
}

bool Graph::IsOutput(const Value* value) const {
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
}

bool Graph::IsUsed(const Value* value) const { return !value->users.empty() || IsOutput(value); }

void Graph::Erase(Node* node) {
  for (Value* output : node->outputs) {
    TONDAR_CHECK(!IsUsed(output), "node '{}' cannot be erased: its result '{}' is used", node->name, output->name);
    values_.erase(value_places_.at(output));
    value_places_.erase(output);
  }
  for (Value* input : node->inputs) RemoveUse(input, node);
  nodes_.erase(places_.at(node));
  places_.erase(node);
}

void Graph::Move(Node* node, Node* before) { nodes_.splice(places_.at(before), nodes_, places_.at(node)); }

void Graph::EraseUnusedConstants() {
  for (auto it = values_.begin(); it != values_.end();) {
    if ((*it)->IsConstant() && !IsUsed(it->get())) {
      value_places_.erase(it->get());
      it = values_.erase(it);
    } else {
      ++it;
    }
  }
}

std::vector<Node*> Graph::NodeList() const {
  std::vector<Node*> list;
  list.reserve(nodes_.size());
  for (const auto& node : nodes_) list.push_back(node.get());
  return list;
}

std::vector<Value*> Graph::constants() const {
  std::vector<Value*> list;
  for (const auto& value : values_) {
    if (value->IsConstant()) list.push_back(value.get());
  }
  return list;
}

}  // namespace tondar
