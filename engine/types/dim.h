// Dim: the extent of one dimension, a number or an integer expression over symbols ("4*s0 + 1").
#ifndef TONDAR_ENGINE_TYPES_DIM_H_
#define TONDAR_ENGINE_TYPES_DIM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tondar {

// Index of a symbol in its graph's symbol table.
using SymbolId = int32_t;

// What is known of a symbol. min and max are inclusive.
struct SymbolInfo {
  std::string name;  // "s0" as the exporter called it
  int64_t min = 0;
  int64_t max = INT64_MAX;
  friend bool operator==(const SymbolInfo&, const SymbolInfo&) = default;
};

// The values an expression can take, inclusive. Saturates at the ends of int64.
struct DimRange {
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
  friend bool operator==(const DimRange&, const DimRange&) = default;
};

// An integer expression in canonical form: a polynomial with integer coefficients over atoms, an atom being a symbol
// or one of FloorDiv, Mod, Max, Min of two Dims. Equal expressions compare equal whenever expanding the polynomial
// proves it; "not equal" only means "not proved". Arithmetic wraps on overflow, so check concrete sizes where they
// are allocated. Immutable value, cheap for constants; thread-compatible.
class Dim {
 public:
  Dim() : constant_(0) {}
  Dim(int64_t value) : constant_(value) {}  // NOLINT: implicit by design
  static Dim Symbol(SymbolId id);

  bool IsConstant() const { return terms_ == nullptr; }
  int64_t constant() const;  // checks IsConstant()
  bool Is(int64_t value) const { return IsConstant() && constant_ == value; }
  // The symbol if the expression is exactly one symbol.
  std::optional<SymbolId> AsSymbol() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  static Dim FloorDiv(const Dim& a, const Dim& b);  // rounds towards minus infinity, as Python's //
  static Dim Mod(const Dim& a, const Dim& b);       // sign of the divisor, as Python's %
  static Dim Max(const Dim& a, const Dim& b);
  static Dim Min(const Dim& a, const Dim& b);

  friend bool operator==(const Dim& a, const Dim& b) { return Compare(a, b) == 0; }
  // A total order over canonical forms, for sorting and maps; says nothing about the values.
  static int Compare(const Dim& a, const Dim& b);

  // The value when symbol i has values[i]. Division by zero gives 0.
  int64_t Evaluate(std::span<const int64_t> values) const;

  // An interval that holds every value for symbols within their ranges; not always the narrowest. A symbol without an
  // entry may be anything.
  DimRange RangeOver(std::span<const SymbolInfo> symbols) const;

  // The expression with symbol i replaced by replacements[i].
  Dim Substitute(std::span<const Dim> replacements) const;

  // Adds every symbol that occurs to `symbols` (each once, in order of first sight).
  void CollectSymbols(std::vector<SymbolId>& symbols) const;

  // "4*s0 + 1"; symbols without an entry print as s<id>.
  std::string ToString(std::span<const SymbolInfo> symbols = {}) const;

  // Parses what ToString prints (+, -, *, //, %, max(), min(), parentheses, integers, names); nullopt on a syntax
  // error or a name that is not in `symbols`.
  static std::optional<Dim> Parse(std::string_view text, std::span<const SymbolInfo> symbols);

 private:
  struct Atom;
  struct Term;
  using Terms = std::vector<Term>;
  friend struct DimAlgebra;

  int64_t constant_;                     // the constant term
  std::shared_ptr<const Terms> terms_;   // null for a constant; shared because expressions are immutable and copied
};

// As Dim::Evaluate, for sizes that must not wrap: nothing if a product or sum on the way does not fit.
std::optional<int64_t> EvaluateChecked(const Dim& dim, std::span<const int64_t> values);

}  // namespace tondar

#endif  // TONDAR_ENGINE_TYPES_DIM_H_
