#include "engine/types/dim.h"

#include <gtest/gtest.h>

namespace tondar {
namespace {

const Dim kS = Dim::Symbol(0), kT = Dim::Symbol(1);
const std::vector<SymbolInfo> kSymbols = {{"s", 1, 64}, {"t", 1, 64}};

TEST(DimTest, EqualExpressionsCompareEqual) {
  EXPECT_EQ((kS + kT) * (kS - kT), kS * kS - kT * kT);
  EXPECT_EQ(kS * 2 + kS, kS * 3);
  EXPECT_EQ(kS - kS, Dim(0));
  EXPECT_FALSE(kS == kT);
}

TEST(DimTest, CheckedValuesDoNotWrap) {
  const Dim size = Dim::FloorDiv(Dim::Symbol(0) * Dim::Symbol(1) * 4, Dim::Symbol(0)) + 8;
  const int64_t small[] = {3, 5}, large[] = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(EvaluateChecked(size, small), size.Evaluate(small));
  EXPECT_EQ(EvaluateChecked(Dim::Symbol(0) * Dim::Symbol(1) * 4, large), std::nullopt);
  EXPECT_EQ(EvaluateChecked(Dim::Symbol(0) + INT64_MAX, small), std::nullopt);
  EXPECT_EQ(EvaluateChecked(Dim::Max(Dim::Symbol(0) * Dim::Symbol(1), 7), large), std::nullopt);
}

TEST(DimTest, ExactDivisionSimplifies) {
  EXPECT_EQ(Dim::FloorDiv(kS * kT * 12, kT * 4), kS * 3);
  EXPECT_EQ(Dim::FloorDiv(kS * 8 + 4, 4), kS * 2 + 1);
  EXPECT_EQ(Dim::Mod(kS * 8, 4), Dim(0));
  EXPECT_EQ(Dim::FloorDiv(kS, kS), Dim(1));
}

TEST(DimTest, DivisionFollowsPython) {
  EXPECT_EQ(Dim::FloorDiv(-7, 2), Dim(-4));
  EXPECT_EQ(Dim::Mod(-7, 2), Dim(1));
  EXPECT_EQ(Dim::Mod(7, -2), Dim(-1));
  const int64_t values[] = {7, 0};
  EXPECT_EQ(Dim::FloorDiv(kS, 2).Evaluate(values), 3);
  EXPECT_EQ(Dim::FloorDiv(kS, kT).Evaluate(values), 0) << "division by zero gives 0";
}

TEST(DimTest, TextRoundTrips) {
  const Dim expressions[] = {kS,
                             kS * -1,
                             kS * 4 - 1,
                             Dim(3) - kS * kT * 2,
                             Dim::FloorDiv(kS + 1, 2) * kT,
                             Dim::Max(kS, 4),
                             Dim::Min(kS - kT, Dim::Mod(kS, 3)),
                             Dim(-5)};
  for (const Dim& expression : expressions) {
    const std::string text = expression.ToString(kSymbols);
    const std::optional<Dim> parsed = Dim::Parse(text, kSymbols);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(*parsed, expression) << text << " became " << parsed->ToString(kSymbols);
  }
}

TEST(DimTest, ParseRefusesWhatItDoesNotKnow) {
  for (const char* text : {"", "s +", "unknown", "s ** 2", "(s", "1 2", "99999999999999999999"}) {
    EXPECT_FALSE(Dim::Parse(text, kSymbols).has_value()) << text;
  }
  EXPECT_FALSE(Dim::Parse(std::string(100000, '('), kSymbols).has_value());
}

TEST(DimTest, SubstituteReplacesEverywhere) {
  const Dim replacements[] = {Dim(6), kS};
  EXPECT_EQ((Dim::FloorDiv(kS, 4) + kT).Substitute(replacements), kS + 1);
}

}  // namespace
}  // namespace tondar
