// Small questions that pattern recovery asks of a graph, from a value backwards.
#ifndef TONDAR_ENGINE_PASSES_PATTERN_H_
#define TONDAR_ENGINE_PASSES_PATTERN_H_

#include <optional>
#include <string_view>
#include <vector>

#include "engine/ir/graph.h"

namespace tondar {

// The node that makes `value` if it is an application of `op`, else null. `value` may be null.
Node* Made(const Value* value, std::string_view op);

// The number that argument `name` at input `index` is: written as a number, or a constant tensor of equal elements.
std::optional<double> NumberAt(const Node& node, size_t index, std::string_view name);

// x and the number of a pointwise `op`(x, number), or of op(number, x) if `commutes`.
struct WithNumber {
  Value* x = nullptr;
  double number = 0;
};
std::optional<WithNumber> MadeWithNumber(const Value* value, std::string_view op, bool commutes);

// True if the value is used once, and not as a graph output.
bool UsedOnce(const Value& value);

// The value below reshapes, aliases and expands that keep every element.
Value* BelowReshapes(Value* value);

// Both orders of the operands of a commutative binary node; empty if an operand is a number.
std::vector<std::pair<Value*, Value*>> BothOrders(const Node& node);

}  // namespace tondar

#endif  // TONDAR_ENGINE_PASSES_PATTERN_H_
