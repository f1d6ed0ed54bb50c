// LayerNorm written out becomes one layer_norm: d = x - mean(x); d / sqrt(mean(d^2) + eps) [* weight] [+ bias], the means over the
// last dim.
#include "engine/ops/op_schema.h"
#include "engine/passes/passes.h"
#include "engine/passes/pattern.h"

namespace tondar {
namespace {

// x if `value` is the mean of x over its last dim, kept.
Value* MeanOf(const Value* value) {
  const Node* mean = Made(value, "mean");
  if (mean == nullptr) return nullptr;
  const Arguments args(*mean);
  const std::vector<int64_t> dims = args.Ints("dim");
  const int64_t last = static_cast<int64_t>(mean->inputs[0]->shape.size()) - 1;
  const bool over_last = dims.size() == 1 && (dims[0] == -1 || dims[0] == last);
  return over_last && args.Bool("keepdim") ? mean->inputs[0] : nullptr;
}

bool IsSquare(const Value* value, const Value* x) {
  if (const auto power = MadeWithNumber(value, "pow", false)) return power->x == x && power->number == 2;
  const Node* product = Made(value, "mul");
  return product != nullptr && product->inputs[0] == x && product->inputs[1] == x;
}

// eps if `value` is mean(d^2) + eps.
std::optional<double> VarianceOf(const Value* value, const Value* d) {
  const auto sum = MadeWithNumber(value, "add", true);
  if (!sum) return std::nullopt;
  const Value* squares = MeanOf(sum->x);
  return squares != nullptr && IsSquare(squares, d) ? std::optional(sum->number) : std::nullopt;
}

struct Normalised {
  Value* x = nullptr;
  double epsilon = 0;
};

// d / sqrt(variance) or d * rsqrt(variance).
std::optional<Normalised> MatchNormalised(const Node& node) {
  for (const auto& [d, factor] : BothOrders(node)) {
    const Node* root = Made(factor, node.op == "div" ? "sqrt" : "rsqrt");
    const Node* difference = Made(d, "sub");
    if (root == nullptr || difference == nullptr || difference->inputs[0] == nullptr) continue;
    const auto epsilon = VarianceOf(root->inputs[0], d);
    if (epsilon && MeanOf(difference->inputs[1]) == difference->inputs[0]) return Normalised{difference->inputs[0], *epsilon};
    if (node.op == "div") break;  // a quotient has one order
  }
  return std::nullopt;
}

// The 1-d constant that `op` applies to `value` along the last dim, and the node that does; null if there is none.
Node* NextWith(const Value& value, std::string_view op, Value** parameter) {
  if (!UsedOnce(value) || value.users[0]->op != op) return nullptr;
  Node* user = value.users[0];
  for (const auto& [x, other] : BothOrders(*user)) {
    if (x != &value || other->shape.size() != 1 || other->shape[0] != value.shape.back() || !other->IsConstant()) continue;
    if (user->outputs[0]->shape != value.shape) continue;
    *parameter = other;
    return user;
  }
  return nullptr;
}

Status Recover(Graph& graph, Node& node) {
  const auto normalised = MatchNormalised(node);
  if (!normalised || normalised->x->shape != node.outputs[0]->shape) return OkStatus();
  Value *weight = nullptr, *bias = nullptr;
  Node* last = &node;
  if (Node* scaled = NextWith(*last->outputs[0], "mul", &weight)) last = scaled;
  if (Node* shifted = weight == nullptr ? nullptr : NextWith(*last->outputs[0], "add", &bias)) last = shifted;
  Attributes attributes = {{"normalized_shape", Shape{normalised->x->shape.back()}}, {"eps", normalised->epsilon}};
  TONDAR_ASSIGN_OR_RETURN(Node * norm, AddOp(graph, "layer_norm", node.name, {normalised->x, weight, bias}, {}, std::move(attributes), last));
  graph.ReplaceAllUses(last->outputs[0], norm->outputs[0]);
  return OkStatus();
}

}  // namespace

Status RecoverLayerNorm(Graph& graph, const PassContext&) {
  for (Node* node : graph.NodeList()) {
    if (node->op == "div" || node->op == "mul") TONDAR_RETURN_IF_ERROR(Recover(graph, *node));
  }
  return OkStatus();
}

}  // namespace tondar
