#include "engine/importers/pt2/guards.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

#include "engine/importers/pt2/number.h"

namespace tondar::pt2 {
namespace {

enum class Relation : uint8_t { kEqual, kNotEqual, kLessEqual, kGreaterEqual, kLess, kGreater };

struct Comparison {
  Relation relation;
  Number left, right;
};

// Recursive descent over the part of Python that guards are written in. Arithmetic goes through ApplyFunction, which
// bounds what a hostile file can make it grow to. Anything else gives an unknown number or no comparison.
class GuardParser {
 public:
  GuardParser(std::string_view text, const GuardTerms& terms) : text_(text), terms_(terms) {}

  // A single comparison: "or" and chains are not read.
  std::optional<Comparison> Parse() {
    const Number left = Sum();
    const std::optional<Relation> relation = TakeRelation();
    if (!relation) return std::nullopt;
    const Number right = Sum();
    SkipSpace();
    if (failed_ || at_ != text_.size()) return std::nullopt;
    return Comparison{*relation, left, right};
  }

 private:
  static constexpr int kMaxDepth = 64;

  void SkipSpace() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(std::string_view token) {
    SkipSpace();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  std::optional<Relation> TakeRelation() {
    constexpr std::pair<std::string_view, Relation> kSpellings[] = {
        {"==", Relation::kEqual},        {"!=", Relation::kNotEqual}, {"<=", Relation::kLessEqual},
        {">=", Relation::kGreaterEqual}, {"<", Relation::kLess},      {">", Relation::kGreater},
    };
    for (const auto& [token, relation] : kSpellings) {
      if (Take(token)) return relation;
    }
    return std::nullopt;
  }

  static Number Apply(std::string_view function, const std::vector<Number>& arguments) {
    return ApplyFunction(function, arguments).value_or(Number());
  }

  Number Sum() {
    Number value = Product();
    for (;;) {
      if (Take("+")) value = Apply("_operator.add", {value, Product()});
      else if (Take("-")) value = Apply("_operator.sub", {value, Product()});
      else return value;
    }
  }

  Number Product() {
    Number value = Unary();
    for (;;) {
      if (Take("**")) value = Apply("_operator.pow", {value, Unary()});
      else if (Take("*")) value = Apply("_operator.mul", {value, Unary()});
      else if (Take("//")) value = Apply("_operator.floordiv", {value, Unary()});
      else if (Take("/")) value = Apply("_operator.truediv", {value, Unary()});
      else if (Take("%")) value = Apply("_operator.mod", {value, Unary()});
      else return value;
    }
  }

  Number Unary() {
    if (++depth_ > kMaxDepth) failed_ = true;
    const Number value = failed_ ? Number() : Take("-") ? Apply("_operator.neg", {Unary()}) : Atom();
    --depth_;
    return value;
  }

  Number Atom() {
    if (Take("(")) {
      const Number value = Sum();
      if (!Take(")")) failed_ = true;
      return value;
    }
    SkipSpace();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (std::isdigit(static_cast<unsigned char>(c))) return Literal();
    if (text_.substr(at_).starts_with("L[")) return Variable();
    return Call();
  }

  Number Literal() {
    const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
    int64_t integer = 0;
    double real = 0;
    const auto as_integer = std::from_chars(begin, end, integer);
    const auto as_real = std::from_chars(begin, end, real);
    at_ += static_cast<size_t>(std::max(as_integer.ptr, as_real.ptr) - begin);
    if (as_real.ptr > as_integer.ptr) return real;
    return as_integer.ec == std::errc() ? Number(Dim(integer)) : Number();
  }

  // "max(a, b)", "torch.sym_max(a, b)".
  Number Call() {
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
                                  text_[at_] == '.')) {
      ++at_;
    }
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name.empty() || !Take("(")) {
      failed_ = true;
      return {};
    }
    std::vector<Number> arguments;
    while (!failed_ && !Take(")")) {
      arguments.push_back(Sum());
      if (!Take(",") && !text_.substr(at_).starts_with(")")) failed_ = true;
    }
    if (name == "max") return Apply("Max", arguments);
    if (name == "min") return Apply("Min", arguments);
    return Apply(name, arguments);
  }

  // "L['x'][0]": keys in brackets.
  std::string_view Path() {
    const size_t begin = at_;
    ++at_;
    while (at_ < text_.size() && text_[at_] == '[') {
      const size_t close = text_.find(']', at_);
      at_ = close == text_.npos ? text_.size() : close + 1;
    }
    return text_.substr(begin, at_ - begin);
  }

  // "L['x'][0].size()[1]", or "L['k']".
  Number Variable() {
    constexpr std::string_view kSize = ".size()[";
    const std::string_view path = Path();
    if (!text_.substr(at_).starts_with(kSize)) {
      const std::optional<Dim> number = terms_.number_of(path);
      failed_ = failed_ || !number;
      return number ? Number(*number) : Number();
    }
    const Shape* shape = terms_.shape_of(path);
    if (shape == nullptr) {
      failed_ = true;
      return {};
    }
    at_ += kSize.size();
    const Number index = Literal();
    const Dim* dim = AsDim(index);
    if (dim == nullptr || dim->constant() < 0 || dim->constant() >= static_cast<int64_t>(shape->size()) || !Take("]")) {
      failed_ = true;
      return {};
    }
    return (*shape)[static_cast<size_t>(dim->constant())];
  }

  std::string_view text_;
  const GuardTerms& terms_;
  size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

bool Holds(Relation relation, int64_t difference) {
  switch (relation) {
    case Relation::kEqual: return difference == 0;
    case Relation::kNotEqual: return difference != 0;
    case Relation::kLessEqual: return difference <= 0;
    case Relation::kGreaterEqual: return difference >= 0;
    case Relation::kLess: return difference < 0;
    default: return difference > 0;
  }
}

// a <= b.
ShapeCheck AtMost(const Dim& a, const Dim& b) { return {.left = Dim::Max(a, b), .right = b}; }

// left != right: the square of the difference is at least 1. nullopt if the square is too large an expression.
std::optional<ShapeCheck> Unequal(const Dim& left, const Dim& right) {
  const Number difference = left - right;
  const Number square = ApplyFunction("_operator.mul", std::vector<Number>{difference, difference}).value_or(Number());
  const Dim* distance = AsDim(square);
  return distance == nullptr ? std::nullopt : std::optional(AtMost(1, *distance));
}

std::optional<ShapeCheck> CheckOf(Relation relation, const Dim& left, const Dim& right) {
  switch (relation) {
    case Relation::kEqual: break;
    case Relation::kNotEqual: return Unequal(left, right);
    case Relation::kLessEqual: return AtMost(left, right);
    case Relation::kGreaterEqual: return AtMost(right, left);
    case Relation::kLess: return AtMost(left + 1, right);
    case Relation::kGreater: return AtMost(right + 1, left);
  }
  return ShapeCheck{.left = left, .right = right};
}

}  // namespace

std::vector<std::string_view> SplitGuard(std::string_view text) {
  constexpr std::string_view kAnd = " and ";
  std::vector<std::string_view> parts;
  for (size_t end = text.find(kAnd); end != text.npos; end = text.find(kAnd)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + kAnd.size());
  }
  parts.push_back(text);
  return parts;
}

Guard ReadGuard(std::string_view text, const GuardTerms& terms) {
  constexpr size_t kMaxBytes = 10000;
  if (text.size() > kMaxBytes) return {};
  const std::optional<Comparison> comparison = GuardParser(text, terms).Parse();
  const Dim* left = comparison ? AsDim(comparison->left) : nullptr;
  const Dim* right = comparison ? AsDim(comparison->right) : nullptr;
  if (left == nullptr || right == nullptr) return {};
  if (const Dim difference = *left - *right; difference.IsConstant()) {
    if (Holds(comparison->relation, difference.constant())) return {.kind = GuardKind::kHolds};
    return {};
  }
  std::optional<ShapeCheck> check = CheckOf(comparison->relation, *left, *right);
  if (!check) return {};
  check->condition = text;
  return {.kind = GuardKind::kCheck, .check = std::move(*check)};
}

}  // namespace tondar::pt2
