// bmm(x, w) with one matrix w for the whole batch becomes a product of more rows: mm(rows of x, w). Exporters write such an
// expanded weight when they decompose a linear layer without bias.
#include "engine/ir/view.h"
#include "engine/ops/op_schema.h"
#include "engine/passes/passes.h"
#include "engine/passes/pattern.h"

namespace tondar {
namespace {

// The [K, N] matrix that `value` [batch..., K, N] repeats for every batch position; null if it does not.
Value* RepeatedMatrix(Graph& graph, Value* value, Node* before) {
  const Node* expand = Made(value, "expand");
  if (expand == nullptr) return nullptr;
  Value* x = expand->inputs[0];
  const Shape matrix(value->shape.end() - 2, value->shape.end());
  return ElementCount(x->shape) == ElementCount(matrix) ? AddReshape(graph, x, matrix, before) : nullptr;
}

Status Share(Graph& graph, Node& node) {
  Value* x = node.inputs[0];
  if (node.inputs[1]->shape.size() < 3 || x->shape.size() < 3) return OkStatus();
  Value* matrix = RepeatedMatrix(graph, node.inputs[1], &node);
  if (matrix == nullptr) return OkStatus();
  const Shape outer(x->shape.begin(), x->shape.end() - 1);
  Value* rows = AddReshape(graph, x, {ElementCount(outer), x->shape.back()}, &node);
  TONDAR_ASSIGN_OR_RETURN(Node * product, AddOp(graph, "mm", node.name, {rows, matrix}, {}, {}, &node));
  graph.ReplaceAllUses(node.outputs[0], AddReshape(graph, product->outputs[0], node.outputs[0]->shape, &node));
  return OkStatus();
}

}  // namespace

Status ShareBatchMatrix(Graph& graph, const PassContext&) {
  for (Node* node : graph.NodeList()) {
    if (node->op == "bmm" || node->op == "matmul") TONDAR_RETURN_IF_ERROR(Share(graph, *node));
  }
  return OkStatus();
}

}  // namespace tondar
