// Removes nodes whose results nothing reads, and the constants that only they read.
#include <algorithm>

#include "engine/ops/op_schema.h"
#include "engine/passes/passes.h"

namespace tondar {
namespace {

bool HasEffects(const Node& node) {
  if (node.IsStep()) return false;
  const OpSchema* schema = OpRegistry::Get().Find(node.op);
  return schema != nullptr && !schema->pure;
}

}  // namespace

Status RemoveDeadCode(Graph& graph, const PassContext& context) {
  std::vector<Node*> nodes = graph.NodeList();
  std::reverse(nodes.begin(), nodes.end());
  for (Node* node : nodes) {
    for (const auto& subgraph : node->subgraphs) TONDAR_RETURN_IF_ERROR(RemoveDeadCode(*subgraph, context));
    const auto used = [&](const Value* output) { return graph.IsUsed(output); };
    if (HasEffects(*node) || std::any_of(node->outputs.begin(), node->outputs.end(), used)) continue;
    graph.Erase(node);
  }
  graph.EraseUnusedConstants();
  return OkStatus();
}

}  // namespace tondar
