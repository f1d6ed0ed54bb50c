#include "engine/importers/pt2/number.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

namespace tondar::pt2 {
namespace {

// "4*s0 - 1", "0.5", "true", "(s0)/2", "?" or "error".
std::string Read(std::string_view text) {
  SymbolTable symbols;
  const std::optional<Number> number = ParseExpression(text, symbols);
  if (!number) return "error";
  if (const bool* truth = std::get_if<bool>(&*number)) return *truth ? "true" : "false";
  if (const Dim* dim = AsDim(*number)) return dim->ToString(symbols.symbols());
  if (const double* real = std::get_if<double>(&*number)) return fmt::format("{}", *real);
  if (const Fraction* fraction = std::get_if<Fraction>(&*number)) {
    return fmt::format("({})/{}", fraction->numerator.ToString(symbols.symbols()), fraction->denominator);
  }
  if (const Condition* condition = std::get_if<Condition>(&*number)) {
    return fmt::format("if {}", condition->holds.ToString(symbols.symbols()));
  }
  return "?";
}

TEST(NumberTest, ConditionsAreOneOrZero) {
  const std::vector<Number> three = {Dim::Symbol(0), Dim(3)};
  const std::pair<const char*, std::vector<int64_t>> kCases[] = {  // for 2, 3 and 4
      {"_operator.lt", {1, 0, 0}}, {"_operator.le", {1, 1, 0}}, {"_operator.gt", {0, 0, 1}},
      {"_operator.ge", {0, 1, 1}}, {"_operator.eq", {0, 1, 0}}, {"_operator.ne", {1, 0, 1}},
  };
  for (const auto& [name, expected] : kCases) {
    const std::optional<Number> number = ApplyFunction(name, three);
    ASSERT_TRUE(number && std::holds_alternative<Condition>(*number)) << name;
    for (int64_t value = 2; value <= 4; ++value) {
      EXPECT_EQ(std::get<Condition>(*number).holds.Evaluate(std::vector<int64_t>{value}), expected[static_cast<size_t>(value - 2)]) << name;
    }
  }
  const Number low = *ApplyFunction("_operator.lt", three), high = *ApplyFunction("_operator.gt", three);
  for (int64_t value = 2; value <= 4; ++value) {
    const std::vector<int64_t> symbols = {value};
    const auto holds = [&](const std::optional<Number>& number) { return std::get<Condition>(*number).holds.Evaluate(symbols); };
    EXPECT_EQ(holds(ApplyFunction("Or", std::vector<Number>{low, high})), value != 3 ? 1 : 0);
    EXPECT_EQ(holds(ApplyFunction("And", std::vector<Number>{low, true, high})), 0);
    EXPECT_EQ(holds(ApplyFunction("Not", std::vector<Number>{low})), value >= 3 ? 1 : 0);
  }
}

TEST(NumberTest, ReadsExpressions) {
  const std::string s0 = "Symbol('s0', positive=True, integer=True)", s1 = "Symbol('s1', integer=True)";
  const std::pair<std::string, std::string> kCases[] = {
      {s0, "s0"},
      {"Integer(-3)", "-3"},
      {"7", "7"},
      {"Add(Mul(Integer(4), " + s0 + "), Integer(-1))", "4*s0 - 1"},
      {"Mul(" + s0 + ", " + s1 + ")", "s0*s1"},
      {"Pow(" + s0 + ", Integer(2))", "s0*s0"},
      {"FloorDiv(" + s0 + ", Integer(2))", "((s0) // (2))"},
      {"Mod(" + s0 + ", Integer(3))", "((s0) % (3))"},
      {"PythonMod(Integer(-1), Integer(3))", "2"},
      {"Max(Integer(1), Integer(7), Integer(3))", "7"},
      {"Min(Integer(32), Mul(Integer(32), " + s0 + "))", "min(32, 32*s0)"},
      {"Float('0.5', precision=53)", "0.5"},
      {"Mul(Float('0.5', precision=53), ToFloat(Add(" + s0 + ", Integer(-1))))", "(s0 - 1)/2"},
      {"TruncToInt(Mul(Float('1.5', precision=53), ToFloat(Mul(Integer(4), " + s0 + "))))", "6*s0"},
      {"TruncToInt(Mul(Float('1.5', precision=53), ToFloat(" + s0 + ")))", "((3*s0) // (2))"},
      {"CeilToInt(IntTrueDiv(" + s0 + ", Integer(2)))", "((s0 + 1) // (2))"},
      {"StrictGreaterThan(Integer(5), Integer(4))", "true"},
      {"LessThan(" + s0 + ", Add(" + s0 + ", Integer(-1)))", "false"},
      {"StrictGreaterThan(" + s0 + ", Integer(4))", "if min(1, max(0, s0 - 4))"},
      {"And(true, StrictGreaterThan(" + s0 + ", Integer(4)), false)", "false"},
      {"ModularIndexing(" + s0 + ", Integer(1), Integer(2))", "?"},
      {"FloorDiv(" + s0 + ", Integer(0))", "?"},
      {"Pow(" + s0 + ", Integer(-1))", "?"},
      {"Integer(99999999999999999999)", "?"},
      {"oo", "?"},
      {"", "error"},
      {"Add(", "error"},
      {"Add(Integer(1) Integer(2))", "error"},
      {"Integer(1))", "error"},
      {"Symbol('')", "error"},
      {"Symbol(s0)", "error"},
      {"4*s0", "error"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(Read(text), expected) << text;
}

TEST(NumberTest, BoundsWhatGrows) {
  std::string deep = "Integer(1)";
  for (int i = 0; i < 1000; ++i) deep = "Add(" + deep + ")";
  EXPECT_EQ(Read(deep), "error");
  std::string product = "Mul(Integer(1)";
  for (int i = 0; i < 200; ++i) product += fmt::format(", Add(Symbol('a{}'), Symbol('b{}'))", i, i);
  EXPECT_EQ(Read(product + ")"), "?");
  Number doubled = Dim::Symbol(0);
  for (int i = 0; i < 100 && IsKnown(doubled); ++i) {
    const Number pair[] = {doubled, doubled};
    const Number halves[] = {*ApplyFunction("_operator.floordiv", pair), doubled};
    doubled = *ApplyFunction("_operator.add", halves);
  }
  SUCCEED() << "ends in time";
}

TEST(NumberTest, AppliesPythonsOperators) {
  const Number two_three[] = {Dim(2), Dim(3)};
  EXPECT_EQ(*AsDim(*ApplyFunction("_operator.sub", two_three)), Dim(-1));
  EXPECT_EQ(*AsDim(*ApplyFunction("torch.sym_max", two_three)), Dim(3));
  EXPECT_TRUE(std::get<bool>(*ApplyFunction("_operator.lt", two_three)));
  EXPECT_DOUBLE_EQ(std::get<double>(*ApplyFunction("_operator.truediv", two_three)), 2.0 / 3);
  EXPECT_FALSE(ApplyFunction("_operator.neg", two_three).has_value()) << "too many arguments";
  EXPECT_FALSE(ApplyFunction("os.system", two_three).has_value());
  EXPECT_TRUE(IsNumberFunction("math.trunc"));
}

}  // namespace
}  // namespace tondar::pt2
