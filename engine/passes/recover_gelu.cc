// GELU written out becomes one gelu: x * 0.5 * (1 + erf(x / sqrt 2)) and x * 0.5 * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))),
// the factors in any order.
#include <cmath>

#include "engine/ops/op_schema.h"
#include "engine/passes/passes.h"
#include "engine/passes/pattern.h"

namespace tondar {
namespace {

bool Near(double a, double b) { return std::fabs(a - b) <= 1e-5 * std::fabs(b); }

// A product as its number and its other factors.
struct Product {
  double number = 1;
  std::vector<Value*> factors;
};

void Collect(Value* value, Product& product) {
  if (const auto scaled = MadeWithNumber(value, "mul", true)) {
    product.number *= scaled->number;
    Collect(scaled->x, product);
  } else if (const auto divided = MadeWithNumber(value, "div", false)) {
    product.number /= divided->number;
    Collect(divided->x, product);
  } else if (const Node* node = Made(value, "mul"); node != nullptr && node->inputs[0] != nullptr && node->inputs[1] != nullptr) {
    Collect(node->inputs[0], product);
    Collect(node->inputs[1], product);
  } else {
    product.factors.push_back(value);
  }
}

Product ProductOf(Value* value) {
  Product product;
  Collect(value, product);
  return product;
}

bool IsCube(Value* value, const Value* x) {
  if (const auto power = MadeWithNumber(value, "pow", false)) return power->x == x && power->number == 3;
  const Product product = ProductOf(value);
  return product.number == 1 && product.factors == std::vector<Value*>(3, const_cast<Value*>(x));
}

// u = x / sqrt 2
bool IsErfArgument(Value* u, const Value* x) {
  const Product product = ProductOf(u);
  return product.factors.size() == 1 && product.factors[0] == x && Near(product.number, std::sqrt(0.5));
}

// x + 0.044715 x^3
bool IsCubic(Value* value, const Value* x) {
  const Node* sum = Made(value, "add");
  if (sum == nullptr) return false;
  for (const auto& [linear, cubic] : BothOrders(*sum)) {
    const auto scaled = MadeWithNumber(cubic, "mul", true);
    if (linear == x && scaled && Near(scaled->number, 0.044715) && IsCube(scaled->x, x)) return true;
  }
  return false;
}

bool IsTanhArgument(Value* u, const Value* x) {
  const auto scaled = MadeWithNumber(u, "mul", true);
  return scaled && Near(scaled->number, std::sqrt(2 / M_PI)) && IsCubic(scaled->x, x);
}

// "none" or "tanh" if `factor` is 1 + erf(...) or 1 + tanh(...) of x; null otherwise.
const char* Approximation(const Value* factor, const Value* x) {
  const auto sum = MadeWithNumber(factor, "add", true);
  if (!sum || sum->number != 1) return nullptr;
  const Node *erf = Made(sum->x, "erf"), *tanh = Made(sum->x, "tanh");
  if (erf != nullptr && IsErfArgument(erf->inputs[0], x)) return "none";
  if (tanh != nullptr && IsTanhArgument(tanh->inputs[0], x)) return "tanh";
  return nullptr;
}

Status Recover(Graph& graph, Node& node) {
  const Product product = ProductOf(node.outputs[0]);
  if (product.factors.size() != 2 || !Near(product.number, 0.5)) return OkStatus();
  for (size_t i = 0; i < 2; ++i) {
    Value* x = product.factors[i];
    const char* approximate = Approximation(product.factors[1 - i], x);
    if (approximate == nullptr || x->shape != node.outputs[0]->shape) continue;
    TONDAR_ASSIGN_OR_RETURN(Node * gelu, AddOp(graph, "gelu", node.name, {x}, {}, {{"approximate", std::string(approximate)}}, &node));
    graph.ReplaceAllUses(node.outputs[0], gelu->outputs[0]);
    return OkStatus();
  }
  return OkStatus();
}

}  // namespace

Status RecoverGelu(Graph& graph, const PassContext&) {
  for (Node* node : graph.NodeList()) {
    if (node->op == "mul" && IsFloat(node->outputs[0]->dtype)) TONDAR_RETURN_IF_ERROR(Recover(graph, *node));
  }
  return OkStatus();
}

}  // namespace tondar
