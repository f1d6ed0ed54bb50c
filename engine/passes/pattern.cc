#include "engine/passes/pattern.h"

#include "engine/ir/element.h"

namespace tondar {
namespace {

std::optional<double> NumberOf(const Attribute& attribute) {
  if (const double* number = std::get_if<double>(&attribute)) return *number;
  const Dim* integer = std::get_if<Dim>(&attribute);
  if (integer == nullptr || !integer->IsConstant()) return std::nullopt;
  return static_cast<double>(integer->constant());
}

// What a tensor of equal elements is filled with; null if `node` makes none.
const Attribute* FillOf(const Node& node) {
  for (const std::string_view op : {"full", "full_like", "new_full", "scalar_tensor"}) {
    if (node.op == op) return node.Find("fill_value");
  }
  return nullptr;
}

// Looks through views: an expanded scalar is as good as the scalar.
std::optional<double> UniformNumber(const Value* value) {
  for (; value->producer != nullptr; value = value->producer->inputs[0]) {
    const Node& node = *value->producer;
    if (const Attribute* fill = FillOf(node)) return NumberOf(*fill);
    if (node.op != "expand" && node.op != "reshape" && node.op != "alias") return std::nullopt;
  }
  if (!value->IsConstant()) return std::nullopt;
  const std::optional<Element> element = UniformElement(*value);
  if (!element) return std::nullopt;
  return std::visit([](auto number) { return static_cast<double>(number); }, *element);
}

}  // namespace

Node* Made(const Value* value, std::string_view op) {
  if (value == nullptr || value->producer == nullptr || value->producer->op != op) return nullptr;
  return value->producer;
}

std::optional<double> NumberAt(const Node& node, size_t index, std::string_view name) {
  if (index < node.inputs.size() && node.inputs[index] != nullptr) return UniformNumber(node.inputs[index]);
  const Attribute* attribute = node.Find(name);
  return attribute == nullptr ? std::nullopt : NumberOf(*attribute);
}

std::optional<WithNumber> MadeWithNumber(const Value* value, std::string_view op, bool commutes) {
  const Node* node = Made(value, op);
  if (node == nullptr || node->inputs.empty()) return std::nullopt;
  const std::optional<double> second = NumberAt(*node, 1, op == "pow" ? "exponent" : "other");
  if (second && node->inputs[0] != nullptr) return WithNumber{node->inputs[0], *second};
  if (!commutes || node->inputs.size() < 2 || node->inputs[1] == nullptr) return std::nullopt;
  const std::optional<double> first = NumberAt(*node, 0, "self");
  return first ? std::optional(WithNumber{node->inputs[1], *first}) : std::nullopt;
}

bool UsedOnce(const Value& value) { return value.users.size() == 1 && !value.graph->IsOutput(&value); }

Value* BelowReshapes(Value* value) {
  for (;;) {
    const Node* producer = value->producer;
    if (producer == nullptr) return value;
    const bool same = producer->op == "reshape" || producer->op == "alias" ||
                      (producer->op == "expand" && ElementCount(producer->inputs[0]->shape) == ElementCount(value->shape));
    if (!same) return value;
    value = producer->inputs[0];
  }
}

std::vector<std::pair<Value*, Value*>> BothOrders(const Node& node) {
  if (node.inputs.size() < 2 || node.inputs[0] == nullptr || node.inputs[1] == nullptr) return {};
  return {{node.inputs[0], node.inputs[1]}, {node.inputs[1], node.inputs[0]}};
}

}  // namespace tondar
