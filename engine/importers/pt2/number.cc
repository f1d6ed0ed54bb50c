#include "engine/importers/pt2/number.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tondar::pt2 {
namespace {

using Arguments = std::span<const Number>;
constexpr Number kUnknown{};

// Expressions are polynomials: a product of sums expands. The length of the text form bounds the work; what sizes of
// real models need stays far below.
constexpr size_t kMaxWeight = 4096;

size_t Weight(const Dim& dim) { return dim.IsConstant() ? 1 : dim.ToString().size() / 2 + 1; }

Number Bounded(const Dim& a, const Dim& b, bool product, Dim (*function)(const Dim&, const Dim&)) {
  if (!a.IsConstant() || !b.IsConstant()) {
    const size_t weight = product ? Weight(a) * Weight(b) : Weight(a) + Weight(b);
    if (weight > kMaxWeight) return kUnknown;
  }
  return function(a, b);
}

Dim AddDims(const Dim& a, const Dim& b) { return a + b; }
Dim SubDims(const Dim& a, const Dim& b) { return a - b; }
Dim MulDims(const Dim& a, const Dim& b) { return a * b; }

// A float with few bits is a fraction over a power of two, so that 0.5 * size stays exact.
std::optional<Fraction> ToFraction(const Number& number) {
  if (const Dim* dim = AsDim(number)) return Fraction{*dim, 1};
  if (const bool* truth = std::get_if<bool>(&number)) return Fraction{*truth ? 1 : 0, 1};
  if (const Fraction* fraction = std::get_if<Fraction>(&number)) return *fraction;
  const double* real = std::get_if<double>(&number);
  if (real == nullptr || !(std::abs(*real) < 1 << 30)) return std::nullopt;
  for (int64_t denominator = 1; denominator <= 1 << 20; denominator *= 2) {
    const double scaled = *real * static_cast<double>(denominator);
    if (scaled == std::floor(scaled) && std::abs(scaled) < 1 << 30) {
      return Fraction{static_cast<int64_t>(scaled), denominator};
    }
  }
  return std::nullopt;
}

std::optional<double> ToReal(const Number& number) {
  if (const double* real = std::get_if<double>(&number)) return *real;
  if (const bool* truth = std::get_if<bool>(&number)) return *truth ? 1.0 : 0.0;
  const std::optional<Fraction> fraction = ToFraction(number);
  if (!fraction || !fraction->numerator.IsConstant()) return std::nullopt;
  return static_cast<double>(fraction->numerator.constant()) / static_cast<double>(fraction->denominator);
}

Number FromFraction(Number numerator, int64_t denominator) {
  const Dim* dim = AsDim(numerator);
  if (dim == nullptr) return kUnknown;
  if (dim->IsConstant()) return static_cast<double>(dim->constant()) / static_cast<double>(denominator);
  return Fraction{*dim, denominator};
}

bool IsInteger(const Number& number) { return AsDim(number) != nullptr || std::holds_alternative<bool>(number); }
Dim IntegerOf(const Number& number) {
  const Dim* dim = AsDim(number);
  return dim != nullptr ? *dim : Dim(std::get<bool>(number) ? 1 : 0);
}

// a + b or a - b over ints, reals and fractions.
Number Sum(const Number& a, const Number& b, Dim (*function)(const Dim&, const Dim&), double sign) {
  if (IsInteger(a) && IsInteger(b)) return Bounded(IntegerOf(a), IntegerOf(b), false, function);
  if (const auto x = ToReal(a), y = ToReal(b); x && y) return *x + sign * *y;
  const std::optional<Fraction> x = ToFraction(a), y = ToFraction(b);
  int64_t denominator = 0;
  if (!x || !y || __builtin_mul_overflow(x->denominator, y->denominator, &denominator)) return kUnknown;
  const Number left = Bounded(x->numerator, y->denominator, true, MulDims);
  const Number right = Bounded(y->numerator, x->denominator, true, MulDims);
  if (!IsKnown(left) || !IsKnown(right)) return kUnknown;
  return FromFraction(Bounded(*AsDim(left), *AsDim(right), false, function), denominator);
}

Number Product(const Number& a, const Number& b) {
  if (IsInteger(a) && IsInteger(b)) return Bounded(IntegerOf(a), IntegerOf(b), true, MulDims);
  if (const auto x = ToReal(a), y = ToReal(b); x && y) return *x * *y;
  const std::optional<Fraction> x = ToFraction(a), y = ToFraction(b);
  int64_t denominator = 0;
  if (!x || !y || __builtin_mul_overflow(x->denominator, y->denominator, &denominator)) return kUnknown;
  return FromFraction(Bounded(x->numerator, y->numerator, true, MulDims), denominator);
}

Number Add(Arguments a) {
  Number sum = a[0];
  for (const Number& term : a.subspan(1)) sum = Sum(sum, term, AddDims, 1);
  return sum;
}
Number Sub(Arguments a) { return Sum(a[0], a[1], SubDims, -1); }
Number Neg(Arguments a) { return Product(Dim(-1), a[0]); }
Number Mul(Arguments a) {
  Number product = a[0];
  for (const Number& factor : a.subspan(1)) product = Product(product, factor);
  return product;
}

Number Pow(Arguments a) {
  const Dim* exponent = AsDim(a[1]);
  if (const auto base = ToReal(a[0]), power = ToReal(a[1]); base && power && (!IsInteger(a[0]) || !exponent)) {
    return std::pow(*base, *power);
  }
  constexpr int64_t kMaxExponent = 16;
  if (exponent == nullptr || !exponent->IsConstant()) return kUnknown;
  if (exponent->constant() < 0 || exponent->constant() > kMaxExponent) return kUnknown;
  Number result = Dim(1);
  for (int64_t i = 0; i < exponent->constant(); ++i) result = Product(result, a[0]);
  return result;
}

// Integer functions of two arguments; bools count as 0 and 1.
template <Dim (*function)(const Dim&, const Dim&)>
Number OfIntegers(Arguments a) {
  if (!IsInteger(a[0])) return kUnknown;
  Number result = a[0];
  for (const Number& next : a.subspan(1)) {
    if (!IsKnown(result) || !IsInteger(next)) return kUnknown;
    result = Bounded(IntegerOf(result), IntegerOf(next), false, function);
  }
  return result;
}

Number FloorDiv(Arguments a) {
  if (IsInteger(a[1]) && IntegerOf(a[1]).Is(0)) return kUnknown;
  return OfIntegers<Dim::FloorDiv>(a);
}
Number Mod(Arguments a) {
  if (IsInteger(a[1]) && IntegerOf(a[1]).Is(0)) return kUnknown;
  return OfIntegers<Dim::Mod>(a);
}

Number TrueDiv(Arguments a) {
  const std::optional<double> divisor = ToReal(a[1]);
  if (!divisor || *divisor == 0) return kUnknown;
  if (const auto x = ToReal(a[0])) return *x / *divisor;
  const Dim* integer = AsDim(a[1]);
  const std::optional<Fraction> x = ToFraction(a[0]);
  int64_t denominator = 0;
  if (!x || integer == nullptr || integer->constant() < 1 ||
      __builtin_mul_overflow(x->denominator, integer->constant(), &denominator)) {
    return kUnknown;
  }
  return FromFraction(x->numerator, denominator);
}

Number ToFloat(Arguments a) {
  if (const auto real = ToReal(a[0])) return *real;
  const std::optional<Fraction> fraction = ToFraction(a[0]);
  return fraction ? FromFraction(fraction->numerator, fraction->denominator) : kUnknown;
}

// The two ways to an integer that differ for a symbolic fraction. Sizes are not negative, so truncating is flooring.
Number Floor(const Number& number, int64_t add) {
  if (IsInteger(number)) return IntegerOf(number);
  const std::optional<Fraction> fraction = ToFraction(number);
  if (!fraction) return kUnknown;
  const int64_t up = add == 0 ? 0 : fraction->denominator - 1;
  return Bounded(fraction->numerator + Dim(up), fraction->denominator, false, Dim::FloorDiv);
}
Number FloorToInt(Arguments a) { return Floor(a[0], 0); }
Number CeilToInt(Arguments a) { return Floor(a[0], 1); }
Number TruncToInt(Arguments a) {
  if (const auto real = ToReal(a[0])) {
    return std::abs(*real) < 9e15 ? Number(Dim(static_cast<int64_t>(std::trunc(*real)))) : kUnknown;
  }
  return Floor(a[0], 0);
}

Number Identity(Arguments a) { return a[0]; }

// The difference if it is a constant; else comparisons of integers are conditions, and of anything else unknown.
std::optional<double> Difference(Arguments a) { return ToReal(Sub(a)); }

// 1 if the integer is positive, else 0.
Number IfPositive(const Number& integer) {
  const Dim* dim = AsDim(integer);
  return dim == nullptr ? kUnknown : Number(Condition{Dim::Min(Dim::Max(*dim, 0), 1)});
}
Number IntegerDifference(const Number& a, const Number& b) {
  return IsInteger(a) && IsInteger(b) ? Bounded(IntegerOf(a), IntegerOf(b), false, SubDims) : kUnknown;
}
Number Negated(const Number& truth) {
  if (const bool* known = std::get_if<bool>(&truth)) return !*known;
  const Condition* condition = std::get_if<Condition>(&truth);
  return condition == nullptr ? kUnknown : Number(Condition{Dim(1) - condition->holds});
}

Number Less(Arguments a) {
  const auto d = Difference(a);
  return d ? Number(*d < 0) : IfPositive(IntegerDifference(a[1], a[0]));
}
Number Greater(Arguments a) {
  const auto d = Difference(a);
  return d ? Number(*d > 0) : IfPositive(IntegerDifference(a[0], a[1]));
}
Number LessEqual(Arguments a) {
  const auto d = Difference(a);
  return d ? Number(*d <= 0) : Negated(Greater(a));
}
Number GreaterEqual(Arguments a) {
  const auto d = Difference(a);
  return d ? Number(*d >= 0) : Negated(Less(a));
}
Number NotEqual(Arguments a) {
  if (const auto d = Difference(a)) return Number(*d != 0);
  const Number difference = IntegerDifference(a[0], a[1]);
  return IfPositive(IsKnown(difference) ? Product(difference, difference) : kUnknown);
}
Number Equal(Arguments a) { return Negated(NotEqual(a)); }

Number Not(Arguments a) {
  return Negated(a[0]);
}
Number And(Arguments a) {
  Number all = true;
  for (const Number& number : a) {
    const bool* truth = std::get_if<bool>(&number);
    if (truth != nullptr && !*truth) return false;
    if (truth != nullptr) continue;
    const Condition *one = std::get_if<Condition>(&number), *before = std::get_if<Condition>(&all);
    if (one == nullptr || !IsKnown(all)) {
      all = kUnknown;
    } else {
      all = before == nullptr ? *one : Condition{Dim::Min(before->holds, one->holds)};
    }
  }
  return all;
}
Number Or(Arguments a) {
  std::vector<Number> negated;
  for (const Number& number : a) negated.push_back(Negated(number));
  return Negated(And(negated));
}
Number IfThenElse(Arguments a) {
  const bool* truth = std::get_if<bool>(&a[0]);
  return truth == nullptr ? kUnknown : *truth ? a[1] : a[2];
}

struct Function {
  std::string_view name;
  size_t min_arguments, max_arguments;
  Number (*apply)(Arguments);
};
constexpr size_t kMany = 1 << 16;

constexpr Function kFunctions[] = {
    {"Add", 1, kMany, Add},
    {"_operator.add", 2, 2, Add},
    {"_operator.sub", 2, 2, Sub},
    {"_operator.neg", 1, 1, Neg},
    {"_operator.pos", 1, 1, Identity},
    {"Mul", 1, kMany, Mul},
    {"_operator.mul", 2, 2, Mul},
    {"Pow", 2, 2, Pow},
    {"PowByNatural", 2, 2, Pow},
    {"FloatPow", 2, 2, Pow},
    {"_operator.pow", 2, 2, Pow},
    {"FloorDiv", 2, 2, FloorDiv},
    {"CleanDiv", 2, 2, FloorDiv},
    {"_operator.floordiv", 2, 2, FloorDiv},
    {"Mod", 2, 2, Mod},
    {"PythonMod", 2, 2, Mod},
    {"_operator.mod", 2, 2, Mod},
    {"IntTrueDiv", 2, 2, TrueDiv},
    {"FloatTrueDiv", 2, 2, TrueDiv},
    {"_operator.truediv", 2, 2, TrueDiv},
    {"Rational", 2, 2, TrueDiv},
    {"Max", 1, kMany, OfIntegers<Dim::Max>},
    {"torch.sym_max", 2, 2, OfIntegers<Dim::Max>},
    {"Min", 1, kMany, OfIntegers<Dim::Min>},
    {"torch.sym_min", 2, 2, OfIntegers<Dim::Min>},
    {"ToFloat", 1, 1, ToFloat},
    {"torch.sym_float", 1, 1, ToFloat},
    {"TruncToInt", 1, 1, TruncToInt},
    {"torch.sym_int", 1, 1, TruncToInt},
    {"math.trunc", 1, 1, TruncToInt},
    {"FloorToInt", 1, 1, FloorToInt},
    {"math.floor", 1, 1, FloorToInt},
    {"CeilToInt", 1, 1, CeilToInt},
    {"math.ceil", 1, 1, CeilToInt},
    {"Identity", 1, 1, Identity},
    {"StrictLessThan", 2, 2, Less},
    {"_operator.lt", 2, 2, Less},
    {"LessThan", 2, 2, LessEqual},
    {"_operator.le", 2, 2, LessEqual},
    {"StrictGreaterThan", 2, 2, Greater},
    {"_operator.gt", 2, 2, Greater},
    {"GreaterThan", 2, 2, GreaterEqual},
    {"_operator.ge", 2, 2, GreaterEqual},
    {"Equality", 2, 2, Equal},
    {"_operator.eq", 2, 2, Equal},
    {"Unequality", 2, 2, NotEqual},
    {"_operator.ne", 2, 2, NotEqual},
    {"Not", 1, 1, Not},
    {"torch.sym_not", 1, 1, Not},
    {"And", 1, kMany, And},
    {"_operator.and_", 2, 2, And},
    {"Or", 1, kMany, Or},
    {"_operator.or_", 2, 2, Or},
    {"torch.sym_ite", 3, 3, IfThenElse},
};

const Function* FindFunction(std::string_view name) {
  for (const Function& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

// Recursive descent over srepr.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, SymbolTable& symbols) : text_(text), symbols_(symbols) {}

  std::optional<Number> Parse() {
    std::optional<Number> number = Expression();
    SkipSpace();
    return at_ == text_.size() ? number : std::nullopt;
  }

 private:
  static constexpr int kMaxDepth = 100;

  void SkipSpace() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Peek(char c) {
    SkipSpace();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool Take(char c) {
    const bool there = Peek(c);
    if (there) ++at_;
    return there;
  }
  std::string_view Word() {
    SkipSpace();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::optional<std::string_view> Quoted() {
    if (!Take('\'')) return std::nullopt;
    const size_t end = text_.find('\'', at_);
    if (end == text_.npos) return std::nullopt;
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end + 1;
    return word;
  }

  std::optional<Number> Expression() {
    if (++depth_ > kMaxDepth) return std::nullopt;
    std::optional<Number> number = Peek('-') || IsDigit() ? Literal() : Call();
    --depth_;
    return number;
  }
  bool IsDigit() { return at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); }

  std::optional<Number> Literal() {
    const char* begin = text_.data() + at_;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::invalid_argument || end == begin) return std::nullopt;
    at_ += static_cast<size_t>(end - begin);
    return error == std::errc() ? Number(Dim(value)) : kUnknown;
  }

  std::optional<Number> Call() {
    const std::string_view name = Word();
    if (name.empty()) return std::nullopt;
    if (!Take('(')) return Constant(name);
    if (name == "Symbol") return Named([&](std::string_view word) { return Dim::Symbol(symbols_.Intern(word)); });
    if (name == "Float") return Named([](std::string_view word) { return Real(word); });
    std::vector<Number> arguments;
    while (!Take(')')) {
      std::optional<Number> argument = Argument();
      if (!argument) return std::nullopt;
      arguments.push_back(std::move(*argument));
      if (!Take(',') && !Peek(')')) return std::nullopt;
    }
    if (name == "Integer" && arguments.size() == 1) return arguments[0];
    return ApplyFunction(name, arguments).value_or(kUnknown);
  }

  // Keyword arguments ("evaluate=False") change nothing.
  std::optional<Number> Argument() {
    const size_t begin = at_;
    if (!Word().empty() && Take('=')) return Expression();
    at_ = begin;
    return Expression();
  }

  static Number Constant(std::string_view name) {
    if (name == "true" || name == "True") return true;
    if (name == "false" || name == "False") return false;
    return kUnknown;  // oo, int_oo, nan
  }

  static Number Real(std::string_view word) {
    const std::string text(word);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return end == text.c_str() + text.size() && !text.empty() ? Number(value) : kUnknown;
  }

  // "'s0', positive=True, integer=True)": assumptions are not needed.
  template <typename Make>
  std::optional<Number> Named(Make make) {
    const std::optional<std::string_view> word = Quoted();
    const size_t end = text_.find(')', at_);
    if (!word || word->empty() || end == text_.npos) return std::nullopt;
    at_ = end + 1;
    return make(*word);
  }

  std::string_view text_;
  SymbolTable& symbols_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<Number> ApplyFunction(std::string_view name, std::span<const Number> arguments) {
  const Function* function = FindFunction(name);
  if (function == nullptr || arguments.size() < function->min_arguments ||
      arguments.size() > function->max_arguments) {
    return std::nullopt;
  }
  return function->apply(arguments);
}

bool IsNumberFunction(std::string_view name) { return FindFunction(name) != nullptr; }

SymbolId SymbolTable::Intern(std::string_view name) {
  if (const auto it = ids_.find(name); it != ids_.end()) return it->second;
  const auto id = static_cast<SymbolId>(symbols_.size());
  symbols_.push_back({.name = std::string(name)});
  ids_.emplace(name, id);
  return id;
}

std::optional<Number> ParseExpression(std::string_view text, SymbolTable& symbols) {
  constexpr size_t kMaxBytes = 1 << 16;
  if (text.size() > kMaxBytes) return std::nullopt;
  return ExpressionParser(text, symbols).Parse();
}

}  // namespace tondar::pt2
