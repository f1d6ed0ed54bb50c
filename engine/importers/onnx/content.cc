#include "engine/importers/onnx/content.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/ir/element.h"
#include "engine/ops/inference.h"

namespace tondar::onnx_format {
namespace {

constexpr double kExact = 9007199254740992.0;  // 2^53: whole doubles below it are exact

Scalar Fraction(Dim top, int64_t below) {
  Scalar value;
  if (top.IsConstant()) {
    const int64_t divisor = std::gcd(top.constant(), below);
    if (divisor > 1) top = Dim(top.constant() / divisor), below /= divisor;
  } else if (Dim::Mod(top, Dim(below)).Is(0)) {
    top = Dim::FloorDiv(top, Dim(below)), below = 1;
  }
  value.top = std::move(top);
  value.below = below;
  return value;
}

// What a constant of `dtype` keeps of a number.
double Rounded(double value, DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return static_cast<float>(value);
    case DType::kFloat16: return Float16ToFloat(FloatToFloat16(static_cast<float>(value)));
    case DType::kBFloat16: return BFloat16ToFloat(FloatToBFloat16(static_cast<float>(value)));
    default: return value;
  }
}

using Maybe = std::optional<Scalar>;

// Constants of float dtypes are computed as numbers; all else as fractions of expressions.
bool AsNumbers(const Scalar& a, const Scalar& b, DType dtype) { return IsFloat(dtype) && a.IsConstant() && b.IsConstant(); }

template <typename F>
Maybe Number(DType dtype, F f, const Scalar& a, const Scalar& b) {
  return Scalar::Real(Rounded(f(a.Number(), b.Number()), dtype));
}

// a + sign * b.
Maybe Sum(const Scalar& a, const Scalar& b, DType dtype, int64_t sign) {
  if (AsNumbers(a, b, dtype)) return Number(dtype, [sign](double x, double y) { return x + static_cast<double>(sign) * y; }, a, b);
  if (a.real || b.real) return std::nullopt;
  if (a.below == b.below) return Fraction(a.top + Dim(sign) * b.top, a.below);
  return Fraction(a.top * Dim(b.below) + Dim(sign * a.below) * b.top, a.below * b.below);
}

Maybe Add(const Scalar& a, const Scalar& b, DType dtype, const Graph&) { return Sum(a, b, dtype, 1); }
Maybe Sub(const Scalar& a, const Scalar& b, DType dtype, const Graph&) { return Sum(a, b, dtype, -1); }
Maybe Neg(const Scalar& a, const Scalar&, DType dtype, const Graph&) { return Sum(Scalar(Dim(0)), a, dtype, -1); }

Maybe Mul(const Scalar& a, const Scalar& b, DType dtype, const Graph&) {
  if (AsNumbers(a, b, dtype)) return Number(dtype, [](double x, double y) { return x * y; }, a, b);
  if (a.real || b.real) return std::nullopt;
  return Fraction(a.top * b.top, a.below * b.below);
}

// Integers truncate; a quotient that may be negative and inexact has no expression.
Maybe DivideWhole(const Dim& a, const Dim& b, const Graph& graph) {
  const DimRange above = a.RangeOver(graph.symbols), below = b.RangeOver(graph.symbols);
  if (a.IsConstant() && b.IsConstant() && b.constant() != 0 && !b.Is(-1)) return Scalar(Dim(a.constant() / b.constant()));
  if (above.min < 0 || below.min <= 0) return std::nullopt;
  return Scalar(Dim::FloorDiv(a, b));
}

Maybe Div(const Scalar& a, const Scalar& b, DType dtype, const Graph& graph) {
  if (!IsFloat(dtype)) return DivideWhole(a.top, b.top, graph);
  if (AsNumbers(a, b, dtype)) return Number(dtype, [](double x, double y) { return x / y; }, a, b);
  if (a.real || b.real || !b.top.IsConstant() || b.top.constant() <= 0) return std::nullopt;
  return Fraction(a.top * Dim(b.below), a.below * b.top.constant());
}

// Where the two kinds of remainder agree.
Maybe Mod(const Scalar& a, const Scalar& b, DType dtype, const Graph& graph) {
  if (IsFloat(dtype) || !b.top.IsConstant() || b.top.constant() < 1) return std::nullopt;
  if (a.top.RangeOver(graph.symbols).min < 0) return std::nullopt;
  return Scalar(Dim::Mod(a.top, b.top));
}

Maybe Pow(const Scalar& a, const Scalar& b, DType dtype, const Graph&) {
  if (AsNumbers(a, b, dtype)) return Number(dtype, [](double x, double y) { return std::pow(x, y); }, a, b);
  if (!a.IsWhole() || !b.IsWhole() || !b.top.IsConstant() || b.top.constant() < 0 || b.top.constant() > 4) return std::nullopt;
  Dim power(1);
  for (int64_t i = 0; i < b.top.constant(); ++i) power = power * a.top;
  return Scalar(power);
}

template <bool max>
Maybe Extremum(const Scalar& a, const Scalar& b, DType dtype, const Graph& graph) {
  if (AsNumbers(a, b, dtype)) return Number(dtype, [](double x, double y) { return max ? std::max(x, y) : std::min(x, y); }, a, b);
  if (!a.IsWhole() || !b.IsWhole()) return std::nullopt;
  return Scalar(max ? BoundedMax(graph, a.top, b.top) : BoundedMin(graph, a.top, b.top));
}

template <bool up>
Maybe RoundTo(const Scalar& a, const Scalar&, DType, const Graph&) {
  if (a.real) return Scalar::Real(up ? std::ceil(*a.real) : std::floor(*a.real));
  if (a.below == 1) return a;
  return Scalar(Dim::FloorDiv(up ? a.top + Dim(a.below - 1) : a.top, Dim(a.below)));
}

Maybe Abs(const Scalar& a, const Scalar&, DType dtype, const Graph& graph) {
  if (AsNumbers(a, a, dtype)) return Scalar::Real(std::abs(a.Number()));
  if (a.top.RangeOver(graph.symbols).min >= 0) return a;
  return a.top.IsConstant() ? Maybe(Fraction(Dim(-a.top.constant()), a.below)) : std::nullopt;
}

Maybe Sqrt(const Scalar& a, const Scalar&, DType dtype, const Graph&) {
  if (!AsNumbers(a, a, dtype)) return std::nullopt;
  return Scalar::Real(Rounded(std::sqrt(a.Number()), dtype));
}

Maybe Truth(std::optional<bool> value) { return value ? Maybe(Scalar(Dim(*value ? 1 : 0))) : std::nullopt; }

enum class Order { kEqual, kLess, kLessOrEqual };

template <Order order, bool swap>
Maybe Compare(const Scalar& left, const Scalar& right, DType, const Graph& graph) {
  const Scalar &a = swap ? right : left, &b = swap ? left : right;
  if (a.IsConstant() && b.IsConstant()) {
    const double x = a.Number(), y = b.Number();
    return Truth(order == Order::kEqual ? x == y : order == Order::kLess ? x < y : x <= y);
  }
  if (!a.IsWhole() || !b.IsWhole()) return std::nullopt;
  if (order == Order::kEqual) return Truth(IsEqual(a.top, b.top, graph.symbols));
  if (order == Order::kLess) return Truth(IsLess(a.top, b.top, graph.symbols));
  const std::optional<bool> greater = IsLess(b.top, a.top, graph.symbols);
  return greater ? Truth(!*greater) : std::nullopt;
}

template <typename F>
Maybe Logic(const Scalar& a, const Scalar& b, F f) {
  if (!a.IsConstant() || !b.IsConstant()) return std::nullopt;
  return Truth(f(a.Number() != 0, b.Number() != 0));
}
Maybe And(const Scalar& a, const Scalar& b, DType, const Graph&) { return Logic(a, b, [](bool x, bool y) { return x && y; }); }
Maybe Or(const Scalar& a, const Scalar& b, DType, const Graph&) { return Logic(a, b, [](bool x, bool y) { return x || y; }); }
Maybe Xor(const Scalar& a, const Scalar& b, DType, const Graph&) { return Logic(a, b, [](bool x, bool y) { return x != y; }); }
Maybe Not(const Scalar& a, const Scalar&, DType, const Graph&) { return Logic(a, a, [](bool x, bool) { return !x; }); }

constexpr ScalarOperator kOperators[] = {
    {"Add", 2, Add},
    {"Sub", 2, Sub},
    {"Mul", 2, Mul},
    {"Div", 2, Div},
    {"Mod", 2, Mod},
    {"Pow", 2, Pow},
    {"Max", 2, Extremum<true>},
    {"Min", 2, Extremum<false>},
    {"Neg", 1, Neg},
    {"Abs", 1, Abs},
    {"Sqrt", 1, Sqrt},
    {"Floor", 1, RoundTo<false>},
    {"Ceil", 1, RoundTo<true>},
    {"Equal", 2, Compare<Order::kEqual, false>, true},
    {"Less", 2, Compare<Order::kLess, false>, true},
    {"LessOrEqual", 2, Compare<Order::kLessOrEqual, false>, true},
    {"Greater", 2, Compare<Order::kLess, true>, true},
    {"GreaterOrEqual", 2, Compare<Order::kLessOrEqual, true>, true},
    {"And", 2, And, true},
    {"Or", 2, Or, true},
    {"Xor", 2, Xor, true},
    {"Not", 1, Not, true},
};

}  // namespace

Scalar Scalar::Real(double value) {
  for (int64_t below = 1; below <= 1024; below *= 2) {
    const double above = value * static_cast<double>(below);
    if (above == std::floor(above) && std::abs(above) < kExact && !(value == 0 && std::signbit(value))) {
      return Fraction(Dim(static_cast<int64_t>(above)), below);
    }
  }
  Scalar scalar;
  scalar.real = value;
  return scalar;
}

double Scalar::Number() const {
  return real ? *real : static_cast<double>(top.constant()) / static_cast<double>(below);
}

bool Content::IsConstant() const {
  return std::all_of(elements.begin(), elements.end(), [](const Scalar& element) { return element.IsConstant(); });
}

std::optional<Content> ContentOf(const Value& value) {
  if (!value.IsConstant() || !HasElements(value.dtype)) return std::nullopt;
  const TensorView& view = value.constant->view;
  const int64_t count = view.elements();
  if (count > Content::kMaxElements) return std::nullopt;
  Content content{value.dtype, view.shape, {}};
  for (int64_t i = 0; i < count; ++i) {
    const Element element = ReadElement(view, i);
    if (const double* real = std::get_if<double>(&element)) {
      content.elements.push_back(Scalar::Real(*real));
    } else {
      content.elements.emplace_back(Dim(std::get<int64_t>(element)));
    }
  }
  return content;
}

Content VectorOf(const Shape& values, DType dtype) {
  Content content{dtype, {static_cast<int64_t>(values.size())}, {}};
  for (const Dim& value : values) content.elements.emplace_back(value);
  return content;
}

std::optional<Shape> WholeNumbers(const Content& content) {
  Shape values;
  for (const Scalar& element : content.elements) {
    if (!element.IsWhole()) return std::nullopt;
    values.push_back(element.top);
  }
  return values;
}

std::optional<bool> IsLess(const Dim& a, const Dim& b, std::span<const SymbolInfo> symbols) {
  const DimRange range = (a - b).RangeOver(symbols);
  if (range.max < 0) return true;
  if (range.min >= 0) return false;
  return std::nullopt;
}

std::optional<bool> IsEqual(const Dim& a, const Dim& b, std::span<const SymbolInfo> symbols) {
  if (a == b) return true;
  const DimRange range = (a - b).RangeOver(symbols);
  if (range.max < 0 || range.min > 0) return false;
  return std::nullopt;
}

const ScalarOperator* FindScalarOperator(std::string_view op_type) {
  for (const ScalarOperator& row : kOperators) {
    if (row.op_type == op_type) return &row;
  }
  return nullptr;
}

std::optional<Scalar> Convert(const Scalar& value, DType from, DType to) {
  if (to == DType::kBool) return value.IsConstant() ? Truth(value.Number() != 0) : std::nullopt;
  if (IsFloat(to)) return value.IsConstant() ? Scalar::Real(Rounded(value.Number(), to)) : value;
  if (!IsInteger(to)) return std::nullopt;
  if (value.real) {
    const double whole = std::trunc(*value.real);
    return std::abs(whole) < kExact ? Maybe(Scalar(Dim(static_cast<int64_t>(whole)))) : std::nullopt;
  }
  if (value.below != 1) {
    if (value.top.IsConstant()) return Scalar(Dim(value.top.constant() / value.below));
    return Scalar(Dim::FloorDiv(value.top, Dim(value.below)));  // sizes are not negative
  }
  const bool wide = to == DType::kInt64 || (to == DType::kInt32 && from != DType::kInt64);
  const int64_t limit = int64_t{1} << (to == DType::kInt64 ? 62 : 8 * SizeOf(to) - 1);
  const bool fits = !value.top.IsConstant() || (value.top.constant() > -limit && value.top.constant() < limit);
  return wide || fits ? Maybe(value) : std::nullopt;
}

}  // namespace tondar::onnx_format
