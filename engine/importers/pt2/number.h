// Number: what import knows of a Python number in a program, and the functions on them.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_NUMBER_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_NUMBER_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/types/dim.h"

namespace tondar::pt2 {

// A float that depends on sizes, numerator / denominator; denominator >= 1.
struct Fraction {
  Dim numerator;
  int64_t denominator = 1;
};

// A truth that depends on sizes: the value is 1 if it holds, else 0.
struct Condition {
  Dim holds;
};

// monostate: not known before the model runs, or more than can be expressed. A Dim is an int, constant or not.
using Number = std::variant<std::monostate, bool, Dim, Fraction, double, Condition>;

inline bool IsKnown(const Number& number) { return !std::holds_alternative<std::monostate>(number); }
inline const Dim* AsDim(const Number& number) { return std::get_if<Dim>(&number); }

// Applies a function by the name that sympy ("FloorDiv") or a node ("_operator.floordiv", "torch.sym_max") has for
// it. nullopt: no such function, or the wrong number of arguments. Expressions that would grow without bound give an
// unknown number.
std::optional<Number> ApplyFunction(std::string_view name, std::span<const Number> arguments);
// True if ApplyFunction has the name.
bool IsNumberFunction(std::string_view name);

// The symbols of a program, numbered in order of first sight.
class SymbolTable {
 public:
  SymbolId Intern(std::string_view name);
  const std::vector<SymbolInfo>& symbols() const { return symbols_; }
  std::vector<SymbolInfo>& symbols() { return symbols_; }

 private:
  std::vector<SymbolInfo> symbols_;
  std::map<std::string, SymbolId, std::less<>> ids_;
};

// Parses a sympy srepr, "Add(Mul(Integer(4), Symbol('s0', positive=True, integer=True)), Integer(-1))". nullopt: a
// syntax error. Unknown functions give an unknown number.
std::optional<Number> ParseExpression(std::string_view text, SymbolTable& symbols);

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_NUMBER_H_
