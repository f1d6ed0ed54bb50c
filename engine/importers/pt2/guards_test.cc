#include "engine/importers/pt2/guards.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tondar::pt2 {
namespace {

const std::vector<SymbolInfo> kSymbols = {{.name = "s0"}, {.name = "s1"}};

// x is [s0, 4*s1], pair[1] is [s0], n is the int s1. "holds", "?" or "left == right".
std::string Read(std::string_view text) {
  const Shape x = {Dim::Symbol(0), Dim(4) * Dim::Symbol(1)}, pair = {Dim::Symbol(0)};
  GuardTerms terms;
  terms.shape_of = [&](std::string_view path) -> const Shape* {
    return path == "L['x']" ? &x : path == "L['pair'][1]" ? &pair : nullptr;
  };
  terms.number_of = [](std::string_view path) { return path == "L['n']" ? std::optional(Dim::Symbol(1)) : std::nullopt; };
  const Guard guard = ReadGuard(text, terms);
  if (guard.kind == GuardKind::kHolds) return "holds";
  if (guard.kind == GuardKind::kUnknown) return "?";
  return guard.check.left.ToString(kSymbols) + " == " + guard.check.right.ToString(kSymbols);
}

TEST(GuardsTest, ReadsWhatExportersWrite) {
  const std::pair<const char*, const char*> kCases[] = {
      {"L['x'].size()[0] == L['pair'][1].size()[0]", "holds"},
      {"(2*(L['x'].size()[1] // 2)) == L['x'].size()[1]", "holds"},
      {"L['x'].size()[0] % 2 == 0", "((s0) % (2)) == 0"},
      {"(2*(L['x'].size()[0] // 2)) == L['x'].size()[0]", "2*((s0) // (2)) == s0"},
      {"L['x'].size()[0] <= L['x'].size()[1]", "max(s0, 4*s1) == 4*s1"},
      {"L['x'].size()[0] > 1", "max(2, s0) == s0"},
      {"L['x'].size()[0] + 1 > L['x'].size()[0]", "holds"},
      {"L['x'].size()[0] != 1", "max(1, -2*s0 + s0*s0 + 1) == -2*s0 + s0*s0 + 1"},
      {"torch.sym_max(1, L['x'].size()[0]) == 16", "max(1, s0) == 16"},
      {"max(1, L['x'].size()[0]) == 16", "max(1, s0) == 16"},
      {"10.0*torch.sym_float(12*L['x'].size()[0]) ** 0.145 > 5.0", "?"},
      {"L['n'] <= L['x'].size()[0]", "max(s0, s1) == s0"},
      {"3*L['n'] >= 2", "max(2, 3*s1) == 3*s1"},
      {"L['n'] != 1", "max(1, -2*s1 + s1*s1 + 1) == -2*s1 + s1*s1 + 1"},
      {"L['k'] >= 0", "?"},
      {"L['x'] == 1", "?"},
      {"L['n'", "?"},
      {"L['n'].size()[0] == 1", "?"},
      {"L['k'].size()[0] == 1", "?"},
      {"L['x'].size()[2] == 1", "?"},
      {"L['x'].size()[-1] == 1", "?"},
      {"L['x'].size()[0] == ", "?"},
      {"L['x'].size()[0] == 1 == 1", "?"},
      {"L['x'].size()[", "?"},
      {"__import__('os') == 1", "?"},
      {"1 == 2", "?"},
      {"", "?"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(Read(text), expected) << text;
}

TEST(GuardsTest, SplitsAtAnd) {
  EXPECT_EQ(SplitGuard("L['k'] >= 0 and L['k'] <= 6"), (std::vector<std::string_view>{"L['k'] >= 0", "L['k'] <= 6"}));
  EXPECT_EQ(SplitGuard("1 == 1"), std::vector<std::string_view>{"1 == 1"});
}

TEST(GuardsTest, BoundsHostileText) {
  EXPECT_EQ(Read(std::string(5000, '(') + "1 == 1"), "?");
  EXPECT_EQ(Read(std::string(5000, '-') + "1 == 1"), "?");
  std::string product = "1";
  for (int i = 0; i < 100; ++i) product += "*(L['x'].size()[0]+L['x'].size()[1]+7)";
  EXPECT_EQ(Read(product + " == 1"), "?");
}

}  // namespace
}  // namespace tondar::pt2
