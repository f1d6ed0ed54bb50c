// x W + b with constant W and b becomes one linear: ONNX exporters write the two apart wherever x has more than two dims.
#include "engine/ir/view.h"
#include "engine/ops/op_schema.h"
#include "engine/passes/passes.h"
#include "engine/passes/pattern.h"

namespace tondar {
namespace {

// The product below `value` if nothing else reads it and `bias` is a row of its columns.
Node* ProductOf(const Value* value, const Value* bias, const Node& sum) {
  Node* product = Made(value, "matmul");
  if (product == nullptr || !UsedOnce(*value) || value->shape != sum.outputs[0]->shape) return nullptr;
  const Value *x = product->inputs[0], *w = product->inputs[1];
  const bool layer = w->IsConstant() && w->shape.size() == 2 && x->shape.size() >= 2 && IsFloat(x->dtype);
  const bool row = bias->IsConstant() && bias->shape.size() == 1 && bias->dtype == x->dtype;
  return layer && row && bias->shape[0] == w->shape[1] ? product : nullptr;
}

Status Recover(Graph& graph, Node& sum) {
  if (sum.Find("alpha") != nullptr && NumberAt(sum, 9, "alpha") != 1.0) return OkStatus();
  for (const auto& [value, bias] : BothOrders(sum)) {
    const Node* product = ProductOf(value, bias, sum);
    if (product == nullptr) continue;
    Value* weight = AddPermute(graph, product->inputs[1], {1, 0}, &sum);  // linear has [columns, rows]
    TONDAR_ASSIGN_OR_RETURN(Node * linear, AddOp(graph, "linear", sum.name, {product->inputs[0], weight, bias}, {}, {}, &sum));
    graph.ReplaceAllUses(sum.outputs[0], linear->outputs[0]);
    return OkStatus();
  }
  return OkStatus();
}

}  // namespace

Status RecoverLinear(Graph& graph, const PassContext&) {
  for (Node* node : graph.NodeList()) {
    if (node->op == "add") TONDAR_RETURN_IF_ERROR(Recover(graph, *node));
  }
  return OkStatus();
}

}  // namespace tondar
