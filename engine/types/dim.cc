#include "engine/types/dim.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "engine/base/status.h"

namespace tondar {

enum class DimFunction : uint8_t { kSymbol, kFloorDiv, kMod, kMax, kMin };

struct Dim::Atom {
  DimFunction function;
  SymbolId symbol = 0;  // kSymbol
  Dim a, b;             // the others
};

// coefficient * product of atoms; atoms sorted, repeated for powers.
struct Dim::Term {
  int64_t coefficient;
  std::vector<std::shared_ptr<const Atom>> atoms;
};

namespace {

int64_t FloorDivInt(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));  // INT64_MIN / -1 would trap
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

int64_t SaturatingMul(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

// An end at the limit of int64 stays there: it stands for "no bound".
int64_t SaturatingAdd(int64_t a, int64_t b) {
  for (int64_t limit : {INT64_MIN, INT64_MAX}) {
    if (a == limit || b == limit) return limit;
  }
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

DimRange Hull(std::initializer_list<int64_t> values) { return {std::min(values), std::max(values)}; }

DimRange Multiply(const DimRange& a, const DimRange& b) {
  return Hull({SaturatingMul(a.min, b.min), SaturatingMul(a.min, b.max), SaturatingMul(a.max, b.min),
               SaturatingMul(a.max, b.max)});
}

int64_t ModInt(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a - FloorDivInt(a, b) * b; }

int64_t ApplyInt(DimFunction function, int64_t a, int64_t b) {
  switch (function) {
    case DimFunction::kFloorDiv: return FloorDivInt(a, b);
    case DimFunction::kMod: return ModInt(a, b);
    case DimFunction::kMax: return std::max(a, b);
    default: return std::min(a, b);
  }
}

int64_t WrappingMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t WrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

DimRange FloorDivide(const DimRange& a, const DimRange& b) {
  if (b.min <= 0) return {};
  return Hull({FloorDivInt(a.min, b.min), FloorDivInt(a.min, b.max), FloorDivInt(a.max, b.min),
               FloorDivInt(a.max, b.max)});
}

DimRange ApplyRange(DimFunction function, const DimRange& a, const DimRange& b) {
  switch (function) {
    case DimFunction::kFloorDiv: return FloorDivide(a, b);
    case DimFunction::kMod: return b.min > 0 ? DimRange{0, b.max - 1} : DimRange{};
    case DimFunction::kMax: return {std::max(a.min, b.min), std::max(a.max, b.max)};
    default: return {std::min(a.min, b.min), std::min(a.max, b.max)};
  }
}

}  // namespace

// Canonical arithmetic on terms.
struct DimAlgebra {
  using Atom = Dim::Atom;
  using Term = Dim::Term;

  static int CompareAtoms(const Atom& a, const Atom& b) {
    if (a.function != b.function) return a.function < b.function ? -1 : 1;
    if (a.function == DimFunction::kSymbol) return a.symbol == b.symbol ? 0 : (a.symbol < b.symbol ? -1 : 1);
    if (const int first = Dim::Compare(a.a, b.a)) return first;
    return Dim::Compare(a.b, b.b);
  }

  static int CompareProducts(const Term& a, const Term& b) {
    const size_t n = std::min(a.atoms.size(), b.atoms.size());
    for (size_t i = 0; i < n; ++i) {
      if (const int order = CompareAtoms(*a.atoms[i], *b.atoms[i])) return order;
    }
    return a.atoms.size() == b.atoms.size() ? 0 : (a.atoms.size() < b.atoms.size() ? -1 : 1);
  }

  static Dim Make(int64_t constant, Dim::Terms terms) {
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return CompareProducts(a, b) < 0; });
    Dim::Terms merged;
    for (Term& term : terms) {
      if (!merged.empty() && CompareProducts(merged.back(), term) == 0) {
        merged.back().coefficient = WrappingAdd(merged.back().coefficient, term.coefficient);
      } else {
        merged.push_back(std::move(term));
      }
    }
    std::erase_if(merged, [](const Term& term) { return term.coefficient == 0; });
    Dim result(constant);
    if (!merged.empty()) result.terms_ = std::make_shared<const Dim::Terms>(std::move(merged));
    return result;
  }

  static int64_t ConstantOf(const Dim& dim) { return dim.constant_; }
  static const Dim::Terms& TermsOf(const Dim& dim) {
    static const Dim::Terms kNone;
    return dim.terms_ ? *dim.terms_ : kNone;
  }

  static Dim MakeAtom(DimFunction function, const Dim& a, const Dim& b) {
    auto atom = std::make_shared<const Atom>(Atom{function, 0, a, b});
    return Make(0, {Term{1, {std::move(atom)}}});
  }

  static Term MultiplyTerms(const Term& a, const Term& b) {
    Term product{WrappingMul(a.coefficient, b.coefficient), a.atoms};
    product.atoms.insert(product.atoms.end(), b.atoms.begin(), b.atoms.end());
    std::sort(product.atoms.begin(), product.atoms.end(),
              [](const auto& x, const auto& y) { return CompareAtoms(*x, *y) < 0; });
    return product;
  }

  // a / b when every coefficient (and the constant) of a divides by the product b; nullopt otherwise.
  static std::optional<Dim> DivideExactly(const Dim& a, const Dim& b) {
    if (b.IsConstant()) {
      const int64_t divisor = b.constant_;
      if (divisor == 0 || divisor == -1 || a.constant_ % divisor != 0) return std::nullopt;
      Dim::Terms terms = TermsOf(a);
      for (Term& term : terms) {
        if (term.coefficient % divisor != 0) return std::nullopt;
        term.coefficient /= divisor;
      }
      return Make(a.constant_ / divisor, std::move(terms));
    }
    if (b.constant_ != 0 || TermsOf(b).size() != 1) return a == b ? std::optional<Dim>(1) : std::nullopt;
    if (a.constant_ != 0) return std::nullopt;
    return DivideTerms(a, TermsOf(b)[0]);
  }

  static std::optional<Dim> DivideTerms(const Dim& a, const Term& divisor) {
    Dim::Terms quotient;
    int64_t constant = 0;
    if (divisor.coefficient == -1) return std::nullopt;
    for (const Term& term : TermsOf(a)) {
      if (term.coefficient % divisor.coefficient != 0) return std::nullopt;
      Term rest{term.coefficient / divisor.coefficient, term.atoms};
      for (const auto& atom : divisor.atoms) {
        auto found = std::find_if(rest.atoms.begin(), rest.atoms.end(),
                                  [&](const auto& x) { return CompareAtoms(*x, *atom) == 0; });
        if (found == rest.atoms.end()) return std::nullopt;
        rest.atoms.erase(found);
      }
      if (rest.atoms.empty()) {
        constant += rest.coefficient;
      } else {
        quotient.push_back(std::move(rest));
      }
    }
    return Make(constant, std::move(quotient));
  }

  static int64_t EvaluateAtom(const Atom& atom, std::span<const int64_t> values) {
    if (atom.function == DimFunction::kSymbol) return values[static_cast<size_t>(atom.symbol)];
    return ApplyInt(atom.function, atom.a.Evaluate(values), atom.b.Evaluate(values));
  }

  static std::optional<int64_t> EvaluateAtomChecked(const Atom& atom, std::span<const int64_t> values) {
    if (atom.function == DimFunction::kSymbol) return values[static_cast<size_t>(atom.symbol)];
    const std::optional<int64_t> a = EvaluateChecked(atom.a, values), b = EvaluateChecked(atom.b, values);
    if (!a || !b) return std::nullopt;
    return ApplyInt(atom.function, *a, *b);
  }

  static DimRange RangeOfAtom(const Atom& atom, std::span<const SymbolInfo> symbols) {
    if (atom.function != DimFunction::kSymbol) {
      return ApplyRange(atom.function, atom.a.RangeOver(symbols), atom.b.RangeOver(symbols));
    }
    const size_t id = static_cast<size_t>(atom.symbol);
    return id < symbols.size() ? DimRange{symbols[id].min, symbols[id].max} : DimRange{};
  }

  static Dim SubstituteAtom(const Atom& atom, std::span<const Dim> replacements) {
    if (atom.function == DimFunction::kSymbol) return replacements[static_cast<size_t>(atom.symbol)];
    return Apply(atom.function, atom.a.Substitute(replacements), atom.b.Substitute(replacements));
  }

  static Dim Apply(DimFunction function, const Dim& a, const Dim& b) {
    switch (function) {
      case DimFunction::kFloorDiv: return Dim::FloorDiv(a, b);
      case DimFunction::kMod: return Dim::Mod(a, b);
      case DimFunction::kMax: return Dim::Max(a, b);
      default: return Dim::Min(a, b);
    }
  }

  static std::string AtomToString(const Atom& atom, std::span<const SymbolInfo> symbols) {
    if (atom.function == DimFunction::kSymbol) {
      const size_t id = static_cast<size_t>(atom.symbol);
      return id < symbols.size() ? symbols[id].name : fmt::format("s{}", atom.symbol);
    }
    const std::string a = atom.a.ToString(symbols), b = atom.b.ToString(symbols);
    switch (atom.function) {
      case DimFunction::kFloorDiv: return fmt::format("(({}) // ({}))", a, b);
      case DimFunction::kMod: return fmt::format("(({}) % ({}))", a, b);
      case DimFunction::kMax: return fmt::format("max({}, {})", a, b);
      default: return fmt::format("min({}, {})", a, b);
    }
  }
};

Dim Dim::Symbol(SymbolId id) {
  auto atom = std::make_shared<const Atom>(Atom{DimFunction::kSymbol, id, Dim(), Dim()});
  return DimAlgebra::Make(0, {Term{1, {std::move(atom)}}});
}

int64_t Dim::constant() const {
  TONDAR_CHECK(IsConstant(), "Dim {} is symbolic", ToString());
  return constant_;
}

std::optional<SymbolId> Dim::AsSymbol() const {
  if (IsConstant() || constant_ != 0 || terms_->size() != 1) return std::nullopt;
  const Term& term = (*terms_)[0];
  if (term.coefficient != 1 || term.atoms.size() != 1) return std::nullopt;
  if (term.atoms[0]->function != DimFunction::kSymbol) return std::nullopt;
  return term.atoms[0]->symbol;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.IsConstant() && b.IsConstant()) return WrappingAdd(a.constant_, b.constant_);
  Dim::Terms terms = DimAlgebra::TermsOf(a);
  const Dim::Terms& more = DimAlgebra::TermsOf(b);
  terms.insert(terms.end(), more.begin(), more.end());
  return DimAlgebra::Make(WrappingAdd(a.constant_, b.constant_), std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.IsConstant() && b.IsConstant()) return WrappingMul(a.constant_, b.constant_);
  Dim::Terms terms;
  for (const Dim::Term& x : DimAlgebra::TermsOf(a)) {
    for (const Dim::Term& y : DimAlgebra::TermsOf(b)) terms.push_back(DimAlgebra::MultiplyTerms(x, y));
    if (b.constant_ != 0) terms.push_back({WrappingMul(x.coefficient, b.constant_), x.atoms});
  }
  for (const Dim::Term& y : DimAlgebra::TermsOf(b)) {
    if (a.constant_ != 0) terms.push_back({WrappingMul(y.coefficient, a.constant_), y.atoms});
  }
  return DimAlgebra::Make(WrappingMul(a.constant_, b.constant_), std::move(terms));
}

Dim Dim::FloorDiv(const Dim& a, const Dim& b) {
  if (a.IsConstant() && b.IsConstant()) return FloorDivInt(a.constant_, b.constant_);
  if (auto exact = DimAlgebra::DivideExactly(a, b)) return *exact;
  return DimAlgebra::MakeAtom(DimFunction::kFloorDiv, a, b);
}

Dim Dim::Mod(const Dim& a, const Dim& b) {
  if (a.IsConstant() && b.IsConstant()) return ModInt(a.constant_, b.constant_);
  if (DimAlgebra::DivideExactly(a, b)) return 0;
  return DimAlgebra::MakeAtom(DimFunction::kMod, a, b);
}

Dim Dim::Max(const Dim& a, const Dim& b) {
  if (a.IsConstant() && b.IsConstant()) return std::max(a.constant_, b.constant_);
  const int order = Compare(a, b);
  if (order == 0) return a;
  return order < 0 ? DimAlgebra::MakeAtom(DimFunction::kMax, a, b) : DimAlgebra::MakeAtom(DimFunction::kMax, b, a);
}

Dim Dim::Min(const Dim& a, const Dim& b) {
  if (a.IsConstant() && b.IsConstant()) return std::min(a.constant_, b.constant_);
  const int order = Compare(a, b);
  if (order == 0) return a;
  return order < 0 ? DimAlgebra::MakeAtom(DimFunction::kMin, a, b) : DimAlgebra::MakeAtom(DimFunction::kMin, b, a);
}

int Dim::Compare(const Dim& a, const Dim& b) {
  const Terms &x = DimAlgebra::TermsOf(a), &y = DimAlgebra::TermsOf(b);
  if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
  for (size_t i = 0; i < x.size(); ++i) {
    if (const int order = DimAlgebra::CompareProducts(x[i], y[i])) return order;
    if (x[i].coefficient != y[i].coefficient) return x[i].coefficient < y[i].coefficient ? -1 : 1;
  }
  return a.constant_ == b.constant_ ? 0 : (a.constant_ < b.constant_ ? -1 : 1);
}

int64_t Dim::Evaluate(std::span<const int64_t> values) const {
  int64_t sum = constant_;
  for (const Term& term : DimAlgebra::TermsOf(*this)) {
    int64_t product = term.coefficient;
    for (const auto& atom : term.atoms) product = WrappingMul(product, DimAlgebra::EvaluateAtom(*atom, values));
    sum = WrappingAdd(sum, product);
  }
  return sum;
}

std::optional<int64_t> EvaluateChecked(const Dim& dim, std::span<const int64_t> values) {
  int64_t sum = DimAlgebra::ConstantOf(dim);
  for (const auto& term : DimAlgebra::TermsOf(dim)) {
    int64_t product = term.coefficient;
    for (const auto& atom : term.atoms) {
      const std::optional<int64_t> factor = DimAlgebra::EvaluateAtomChecked(*atom, values);
      if (!factor || __builtin_mul_overflow(product, *factor, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

DimRange Dim::RangeOver(std::span<const SymbolInfo> symbols) const {
  DimRange sum{constant_, constant_};
  for (const Term& term : DimAlgebra::TermsOf(*this)) {
    DimRange product{term.coefficient, term.coefficient};
    for (const auto& atom : term.atoms) product = Multiply(product, DimAlgebra::RangeOfAtom(*atom, symbols));
    sum = {SaturatingAdd(sum.min, product.min), SaturatingAdd(sum.max, product.max)};
  }
  return sum;
}

Dim Dim::Substitute(std::span<const Dim> replacements) const {
  Dim sum(constant_);
  for (const Term& term : DimAlgebra::TermsOf(*this)) {
    Dim product(term.coefficient);
    for (const auto& atom : term.atoms) product = product * DimAlgebra::SubstituteAtom(*atom, replacements);
    sum = sum + product;
  }
  return sum;
}

void Dim::CollectSymbols(std::vector<SymbolId>& symbols) const {
  for (const Term& term : DimAlgebra::TermsOf(*this)) {
    for (const auto& atom : term.atoms) {
      if (atom->function != DimFunction::kSymbol) {
        atom->a.CollectSymbols(symbols);
        atom->b.CollectSymbols(symbols);
      } else if (std::find(symbols.begin(), symbols.end(), atom->symbol) == symbols.end()) {
        symbols.push_back(atom->symbol);
      }
    }
  }
}

std::string Dim::ToString(std::span<const SymbolInfo> symbols) const {
  std::string text;
  for (const Term& term : DimAlgebra::TermsOf(*this)) {
    if (!text.empty()) text += term.coefficient < 0 ? " - " : " + ";
    const int64_t magnitude = text.empty() || term.coefficient >= 0 ? term.coefficient : -term.coefficient;
    if (magnitude == -1) {
      text += "-";
    } else if (magnitude != 1) {
      text += fmt::format("{}*", magnitude);
    }
    for (size_t i = 0; i < term.atoms.size(); ++i) {
      if (i > 0) text += "*";
      text += DimAlgebra::AtomToString(*term.atoms[i], symbols);
    }
  }
  if (text.empty()) return std::to_string(constant_);
  if (constant_ != 0) text += fmt::format(" {} {}", constant_ < 0 ? '-' : '+', constant_ < 0 ? -constant_ : constant_);
  return text;
}

namespace {

// Recursive descent over: sum := product (('+'|'-') product)*; product := unary (('*'|'//'|'%') unary)*;
// unary := '-' unary | integer | name | ('max'|'min') '(' sum ',' sum ')' | '(' sum ')'.
class DimParser {
 public:
  DimParser(std::string_view text, std::span<const SymbolInfo> symbols) : text_(text), symbols_(symbols) {}

  std::optional<Dim> ParseAll() {
    Dim result = Sum();
    Skip();
    if (failed_ || position_ != text_.size()) return std::nullopt;
    return result;
  }

 private:
  // Deeper nesting than any exporter writes; bounds the stack for hostile input.
  static constexpr int kMaxDepth = 64;

  Dim Sum() {
    Dim value = Product();
    for (;;) {
      if (Take("+")) {
        value = value + Product();
      } else if (Take("-")) {
        value = value - Product();
      } else {
        return value;
      }
    }
  }

  Dim Product() {
    Dim value = Unary();
    for (;;) {
      if (Take("//")) {
        value = Dim::FloorDiv(value, Unary());
      } else if (Take("*")) {
        value = value * Unary();
      } else if (Take("%")) {
        value = Dim::Mod(value, Unary());
      } else {
        return value;
      }
    }
  }

  Dim Unary() {
    if (failed_ || ++depth_ > kMaxDepth) return Fail();
    Dim value = Operand();
    --depth_;
    return value;
  }

  Dim Operand() {
    if (Take("-")) return Dim(0) - Unary();
    if (Take("(")) return Closed(Sum());
    Skip();
    if (position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_]))) return Integer();
    const std::string_view name = Word();
    if ((name == "max" || name == "min") && Take("(")) {
      const Dim a = Sum();
      if (!Take(",")) return Fail();
      const Dim b = Sum();
      return Closed(name == "max" ? Dim::Max(a, b) : Dim::Min(a, b));
    }
    for (size_t i = 0; i < symbols_.size(); ++i) {
      if (symbols_[i].name == name) return Dim::Symbol(static_cast<SymbolId>(i));
    }
    return Fail();
  }

  Dim Integer() {
    int64_t value = 0;
    while (position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_]))) {
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[position_] - '0', &value)) {
        return Fail();
      }
      ++position_;
    }
    return value;
  }

  std::string_view Word() {
    const size_t begin = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_')) {
      ++position_;
    }
    return text_.substr(begin, position_ - begin);
  }

  Dim Closed(Dim value) { return Take(")") ? value : Fail(); }
  Dim Fail() {
    failed_ = true;
    return Dim();
  }
  void Skip() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool Take(std::string_view token) {
    Skip();
    if (failed_ || text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }

  std::string_view text_;
  std::span<const SymbolInfo> symbols_;
  size_t position_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<Dim> Dim::Parse(std::string_view text, std::span<const SymbolInfo> symbols) {
  return DimParser(text, symbols).ParseAll();
}

}  // namespace tondar
