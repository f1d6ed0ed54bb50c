// The text form reads back as it was written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ir/element.h"
#include "engine/ir/graph.h"

namespace tondar {
namespace {

using ::testing::HasSubstr;

// Writing what was read gives the same text.
void ExpectRoundTrip(std::string_view text) {
  auto graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(ToText(*graph.value()), text);
}

TEST(TextTest, OperatorsRoundTrip) {
  ExpectRoundTrip(R"(graph "tiny" {
  symbol s0 [1, 64]
  symbol s1 [0, inf]
  input %x: float32 [s0, 4]
  input %"odd name": int64 [2*s0, 4*s1 + 1]
  constant %w: float32 [2, 2] strides [1, 2] = {1.0, 2.0, 3.5, -inf}
  constant %half: float32 [100] = 0.5
  constant %large: float64 [5, 20] = 0.0
  constant %ids: int64 [3] = {-1, 0, 1}
  constant %flag: bool [] = 1
  %y: float32 [s0, 4] = add(%x, %x, alpha=1)
  %a: float32 [s0, 2], %b: float32 [s0, 2] = split "parts" (%y, dim=-1, sizes=[2, 2])
  %c: float32 [s0, 4] = cat([%a, %b], dim=1)
  %d: float32 [s0, 4] = norm(%c, _, [], a=none, b=true, c=0.5, d="te\"xt", e=float32, f=[s0, s0 + 1], g=floats[0.5, -inf], h=bools[true, false], i=strings["p", "q,r"], j=s0 + 3, k=nan, l=1e-05)
  check s0 == 8 "where it was assumed"
  return %d, %a
}
)");
}

TEST(TextTest, StatesAndSizesRoundTrip) {
  ExpectRoundTrip(R"(graph "remembers" {
  symbol s0 [1, 64]
  symbol u0 [0, inf]
  input %x: float32 [s0]
  input %old: float32 [4]
  %count: int64 [] = nonzero_size(%x)
  %places: int64 [u0, 1] = nonzero(%x, count=u0)
  state "cache" %old
  size u0
  return %places, %old, %count
}
)");
}

TEST(TextTest, StepsRoundTrip) {
  ExpectRoundTrip(R"(graph "steps" {
  symbol s0 [1, 64]
  input %x: float32 [s0, 4]
  input %i: int64 [s0]
  constant %w: float32 [4, 8] = 1.0
  %m: float32 [s0, 4], %n: bool [s0, 4] = step.map(%x, %i, extents=[s0, 4]) program {
    %0 = in1[i0]: int64
    %1 = in0[%0 + (s0 - 1), 2*i1 + -1?]{0.0}: float32
    %2 = index(1): int64
    %3 = size(s0 + 1): int64
    %4 = lt(%2, %3): bool
    %5 = 0.5: float32
    %6 = select(%4, %1, %5): float32
    return %6, %4
  }
  %p: float32 [s0, 8] = step.matmul(%m, %w) epilogue {
    %0 = accumulator(0): float32
    %1 = relu(%0): float32
    return %1
  }
  %q: float32 [s0] = step.reduce(%p, accumulator=float32, extents=[s0, 8], op="max", reduced=1) program {
    %0 = in0[i0, i1]: float32
    return %0
  } finish {
    %0 = accumulator(0): float32
    %1 = neg(%0): float32
    return %1
  }
  %r: float32 [s0, 8] = step.norm(%p, axes=1, epsilon=1e-05, has_bias=false, has_weight=false, kind="layer_norm")
  return %q, %r, %n
}
)");
}

TEST(TextTest, SubgraphsRoundTrip) {
  ExpectRoundTrip(R"(graph "outer" {
  symbol s0 [1, 64]
  input %x: float32 [s0]
  input %p: bool []
  %y: float32 [s0] = cond(%p, %x) graph "then" {
    input %x: float32 [s0]
    return %x
  } graph "else" {
    input %x: float32 [s0]
    %y: float32 [s0] = neg(%x)
    return %y
  }
  return %y
}
)");
}

TEST(TextTest, ConstantsKeepTheirValues) {
  auto graph = ParseGraph(R"(graph g {
    constant %w: float32 [2, 2] strides [1, 2] = {1.0, 2.0, 3.5, 4}  # in logical order
    return %w
  })");
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const TensorView& view = graph.value()->outputs[0]->constant->view;
  EXPECT_EQ(view.as<float>()[1], 3.5F) << "element [1, 0] lies one after [0, 0]";
  EXPECT_EQ(std::get<double>(ReadElement(view, 1)), 2.0);
}

TEST(TextTest, ErrorsNameTheLine) {
  const auto Message = [](std::string_view text) { return ParseGraph(text).status().ToString(); };
  EXPECT_THAT(Message("graph g {\n  input %x: float33 [4]\n return %x }"), HasSubstr("graph text:2: unknown dtype 'float33'"));
  EXPECT_THAT(Message("graph g {\n  return %x }"), HasSubstr("graph text:2: '%x' is not defined"));
  EXPECT_THAT(Message("graph g { input %x: float32 [4]\ninput %x: float32 [4] return %x }"), HasSubstr("defined twice"));
  EXPECT_THAT(Message("graph g { %x: float32 [4] = step.map(extents=[4], size=3) return %x }"),
              HasSubstr("unknown step parameter 'size'"));
  EXPECT_THAT(Message("graph g { input %x: float32 [s0] return %x }"), HasSubstr("'[s0]' is no shape"));
}

}  // namespace
}  // namespace tondar
