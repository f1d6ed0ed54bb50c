// Common subexpressions: nodes that compute the same become one, as do constants that view the same bytes in the same
// way or are small and equal.
#include <cstring>
#include <unordered_map>

#include "engine/ir/step_text.h"
#include "engine/ops/op_schema.h"
#include "engine/passes/passes.h"

namespace tondar {
namespace {

// Constants of up to this size are compared by value.
constexpr size_t kSmallBytes = 64;

std::string KeyOf(const Constant& constant) {
  const TensorView& view = constant.view;
  std::string key = fmt::format("{} {} {} ", Name(view.dtype), ToString(view.shape), ToString(view.strides));
  if (view.contiguous() && view.size_bytes() <= kSmallBytes) {
    const auto bytes = view.bytes();
    return key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return key + fmt::format("{}", static_cast<const void*>(view.data));
}

// Names inputs by address: equal values are one by the time their users are looked at.
std::string KeyOf(const Node& node) {
  std::string key = node.op;
  for (const Value* input : node.inputs) key += fmt::format(" {}", static_cast<const void*>(input));
  for (int segment : node.segments) key += fmt::format("/{}", segment);
  for (const auto& [name, attribute] : node.attributes) key += fmt::format(" {}={}", name, ToString(attribute));
  for (const Value* output : node.outputs) key += fmt::format(" {}{}", Name(output->dtype), ToString(output->shape));
  if (!node.IsStep()) return key;
  const StepText step = TakeApart(*node.body);
  key += Name(KindOf(*node.body));
  for (const auto& [name, attribute] : step.parameters) key += fmt::format(" {}={}", name, ToString(attribute));
  for (const auto& [name, program] : step.programs) key += fmt::format(" {} {}", name, ProgramText(*program, {}, ""));
  return key;
}

bool MayMerge(const Node& node) {
  if (!node.subgraphs.empty()) return false;
  if (node.IsStep()) return true;
  const OpSchema* schema = OpRegistry::Get().Find(node.op);
  return schema != nullptr && schema->pure;
}

}  // namespace

Status MergeEqual(Graph& graph, const PassContext&) {
  std::unordered_map<std::string, Value*> constants;
  for (Value* value : graph.constants()) {
    const auto [first, is_new] = constants.emplace(KeyOf(*value->constant), value);
    if (!is_new) graph.ReplaceAllUses(value, first->second);
  }
  std::unordered_map<std::string, Node*> nodes;
  for (Node* node : graph.NodeList()) {
    if (!MayMerge(*node)) continue;
    const auto [first, is_new] = nodes.emplace(KeyOf(*node), node);
    if (is_new) continue;
    for (size_t i = 0; i < node->outputs.size(); ++i) graph.ReplaceAllUses(node->outputs[i], first->second->outputs[i]);
    graph.Erase(node);
  }
  graph.EraseUnusedConstants();
  return OkStatus();
}

}  // namespace tondar
