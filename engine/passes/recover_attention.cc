// Attention written out in products and a softmax becomes one attention.
//
// What exporters write, after views are simplified (torch decomposes SDPA so on the CPU; hand-written attention and
// other frameworks put the scale on the scores, leave the guard out, or use products of any rank):
//
//   scores  = reshape(bmm(reshape(q * c), reshape(permute(k) * c)))    [batch..., S, T]
//   scores' = scores + mask
//   p       = softmax(scores', dim=-1)
//   p'      = where(not any(not (scores' == -inf), -1), 0, p)          the guard: rows that see no key give zeros;
//             where(isnan(p), 0, p)                                      as ONNX exports have it
//   out     = bmm(reshape(p'), reshape(v))
#include <cmath>

#include "engine/ir/view.h"
#include "engine/ops/op_schema.h"
#include "engine/passes/passes.h"
#include "engine/passes/pattern.h"

namespace tondar {
namespace {

bool IsProduct(const Node* node) { return node != nullptr && (node->op == "bmm" || node->op == "matmul"); }

// x and the factor of x * factor or x / divisor; x itself and 1 if it is neither. Looks below reshapes.
WithNumber Unscaled(Value* value) {
  double factor = 1;
  for (;;) {
    Value* below = BelowReshapes(value);
    if (const auto product = MadeWithNumber(below, "mul", true)) {
      factor *= product->number;
      value = product->x;
    } else if (const auto quotient = MadeWithNumber(below, "div", false)) {
      factor /= quotient->number;
      value = quotient->x;
    } else {
      return {value, factor};
    }
  }
}

struct Scores {
  Node* product = nullptr;  // q k^T, of whatever rank
  Value* mask = nullptr;
  double scale = 1;
};

// The product below optional scaling, if there is one.
std::optional<Scores> ScaledProduct(Value* value) {
  const WithNumber unscaled = Unscaled(value);
  Node* product = BelowReshapes(unscaled.x)->producer;
  if (!IsProduct(product)) return std::nullopt;
  return Scores{product, nullptr, unscaled.number};
}

// scores = product * scale [+ mask], the mask broadcasting to the scores' shape.
std::optional<Scores> MatchScores(Value* value) {
  if (const auto unmasked = ScaledProduct(value)) return unmasked;
  const Node* sum = Made(value, "add");
  if (sum == nullptr || (sum->Find("alpha") != nullptr && NumberAt(*sum, 9, "alpha") != 1.0)) return std::nullopt;
  for (const auto& [product, mask] : BothOrders(*sum)) {
    auto scores = ScaledProduct(product);
    if (!scores || product->shape != value->shape || mask->shape.size() > value->shape.size()) continue;
    scores->mask = mask;
    return scores;
  }
  return std::nullopt;
}

// The bool mask behind where(mask, 0, -inf): less to read, and the same after the softmax. Else the mask itself.
Value* VisibleKeys(Graph& graph, Value* mask, Node* before) {
  Value* below = BelowReshapes(mask);
  const Node* where = Made(below, "where");
  if (where == nullptr || where->inputs[0] == nullptr || where->inputs[0]->shape != below->shape) return mask;
  const bool hides = NumberAt(*where, 1, "self") == 0.0 && NumberAt(*where, 2, "other") == -INFINITY;
  return hides ? AddReshape(graph, where->inputs[0], mask->shape, before) : mask;
}

// True if `condition` is not any(not (scores == -inf), last dim).
bool IsAllMasked(const Value* condition, const Value* scores) {
  const Node* none = Made(condition, "logical_not");
  const Node* any = none == nullptr ? nullptr : Made(none->inputs[0], "any");
  const Node* visible = any == nullptr ? nullptr : Made(any->inputs[0], "logical_not");
  const Node* equal = visible == nullptr ? nullptr : Made(visible->inputs[0], "eq");
  return equal != nullptr && equal->inputs[0] == scores && NumberAt(*equal, 1, "other") == -INFINITY;
}

// What follows the softmax: the guard, if it is there, and the product with v.
struct Tail {
  Node* product = nullptr;
  bool guarded = false;
};

// The only product that reads `value`, below reshapes, as its first operand; null if anything else reads it.
Node* OnlyProduct(const Value& value) {
  if (!UsedOnce(value)) return nullptr;
  Node* user = value.users[0];
  if (user->op == "reshape" || user->op == "expand" || user->op == "alias") return OnlyProduct(*user->outputs[0]);
  return IsProduct(user) && BelowReshapes(user->inputs[0]) == BelowReshapes(const_cast<Value*>(&value)) ? user : nullptr;
}

std::optional<Tail> MatchTail(const Node& softmax) {
  const Value& p = *softmax.outputs[0];
  if (Node* product = OnlyProduct(p)) return Tail{product, false};
  for (Node* user : p.users) {
    if (user->op != "where" || user->inputs.size() < 3 || user->inputs[2] != &p) continue;
    const Node* not_number = Made(user->inputs[0], "isnan");
    const bool hidden = (not_number != nullptr && not_number->inputs[0] == &p) || IsAllMasked(user->inputs[0], softmax.inputs[0]);
    if (NumberAt(*user, 1, "self") != 0.0 || !hidden) continue;
    if (Node* product = OnlyProduct(*user->outputs[0])) return Tail{product, true};
  }
  return std::nullopt;
}

Shape WithLast(const Shape& batch, const Dim& rows, const Dim& columns) {
  Shape shape = batch;
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

// True if `value` is batch dims times [rows, columns] in row-major order, so that a reshape shows it so.
bool Holds(const Value& value, const Shape& shape) { return ElementCount(value.shape) == ElementCount(shape); }

Status Recover(Graph& graph, const Node& softmax) {
  const Value& scores_value = *softmax.inputs[0];
  const size_t rank = scores_value.shape.size();
  const Attribute* dim = softmax.Find("dim");
  if (rank < 3 || scores_value.dtype != DType::kFloat32 || dim == nullptr || !std::holds_alternative<Dim>(*dim)) return OkStatus();
  if (const Dim& axis = std::get<Dim>(*dim); !axis.Is(-1) && !axis.Is(static_cast<int64_t>(rank) - 1)) return OkStatus();
  const auto scores = MatchScores(softmax.inputs[0]);
  const auto tail = MatchTail(softmax);
  if (!scores || !tail) return OkStatus();

  const Shape batch(scores_value.shape.begin(), scores_value.shape.end() - 2);
  const Dim &rows = scores_value.shape[rank - 2], &keys = scores_value.shape[rank - 1];
  const WithNumber q = Unscaled(scores->product->inputs[0]), k = Unscaled(scores->product->inputs[1]);
  Value* v = tail->product->inputs[1];
  const Dim depth = scores->product->inputs[0]->shape.back(), width = v->shape.back();
  const Shape q_shape = WithLast(batch, rows, depth), k_shape = WithLast(batch, depth, keys), v_shape = WithLast(batch, keys, width);
  if (!Holds(*q.x, q_shape) || !Holds(*k.x, k_shape) || !Holds(*v, v_shape)) return OkStatus();

  Node* before = tail->product;
  std::vector<size_t> swap;
  for (size_t d = 0; d < rank; ++d) swap.push_back(d < rank - 2 ? d : 2 * rank - 3 - d);
  Value* query = AddReshape(graph, q.x, q_shape, before);
  Value* key = AddPermute(graph, AddReshape(graph, k.x, k_shape, before), swap, before);
  Value* value = AddReshape(graph, v, v_shape, before);
  Value* mask = scores->mask == nullptr ? nullptr : VisibleKeys(graph, scores->mask, before);
  Attributes attributes = {{"scale", scores->scale * q.number * k.number}};
  if (!tail->guarded && scores->mask != nullptr) attributes["zero_masked_rows"] = false;
  TONDAR_ASSIGN_OR_RETURN(Node * attention,
                          AddOp(graph, "attention", softmax.name, {query, key, value, mask}, {},
                                std::move(attributes), before));
  Value* result = AddReshape(graph, attention->outputs[0], tail->product->outputs[0]->shape, before);
  graph.ReplaceAllUses(tail->product->outputs[0], result);
  return OkStatus();
}

}  // namespace

Status RecoverAttention(Graph& graph, const PassContext&) {
  for (Node* node : graph.NodeList()) {
    if (node->op == "softmax") TONDAR_RETURN_IF_ERROR(Recover(graph, *node));
  }
  return OkStatus();
}

}  // namespace tondar
