#include <gtest/gtest.h>

#include "engine/passes/testing/run_pass.h"

namespace tondar {
namespace {

// The instructions that a map over %x: float32 [4] (and constants) with these instructions becomes.
std::string Simplify(std::string_view instructions, std::string_view dtype = "float32") {
  const std::string text = RunPass("simplify_programs", fmt::format(R"(graph g {{
  symbol s0 [1, 8]
  input %x: float32 [4]
  input %table: float32 [8, 4]
  constant %half: float32 [] = 0.5
  constant %third: int64 [4] strides [0] = 3
  constant %ninth: int64 [4] strides [0] = 9
  %y: {} [4] = step.map(%x, %table, %half, %third, %ninth, extents=[4]) program {{
    %0 = in0[i0]: float32
{}  }}
  return %y
}})", dtype, instructions));
  const size_t begin = text.find("{\n    %0");
  return begin == std::string::npos ? text : text.substr(begin + 2, text.find("  }", begin) - begin - 2);
}

TEST(SimplifyProgramsTest, KnowsThatPositionsAreNotNegative) {
  EXPECT_EQ(Simplify(R"(    %1 = index(0): int64
    %2 = 0: int64
    %3 = lt(%1, %2): bool
    %4 = 4611686018427387904: int64
    %5 = sub(%1, %4): int64
    %6 = select(%3, %5, %1): int64
    return %6
)", "int64"),
            "    %0 = index(0): int64\n    return %0\n");
}

TEST(SimplifyProgramsTest, FindsGelu) {
  constexpr std::string_view kGelu = "    %0 = in0[i0]: float32\n    %1 = gelu(%0): float32\n    return %1\n";
  EXPECT_EQ(Simplify(R"(    %1 = 0.7071067690849304: float32
    %2 = mul(%0, %1): float32
    %3 = erf(%2): float32
    %4 = 1.0: float32
    %5 = add(%3, %4): float32
    %6 = in2[]: float32
    %7 = mul(%0, %6): float32
    %8 = mul(%7, %5): float32
    return %8
)"),
            kGelu);
  EXPECT_EQ(Simplify(R"(    %1 = 1.4142135623730951: float32
    %2 = div(%0, %1): float32
    %3 = erf(%2): float32
    %4 = 1.0: float32
    %5 = add(%4, %3): float32
    %6 = mul(%5, %0): float32
    %7 = 2.0: float32
    %8 = div(%6, %7): float32
    return %8
)"),
            kGelu);
}

TEST(SimplifyProgramsTest, FindsGeluTanh) {
  EXPECT_EQ(Simplify(R"(    %1 = 3.0: float32
    %2 = pow(%0, %1): float32
    %3 = 0.044715: float32
    %4 = mul(%2, %3): float32
    %5 = add(%0, %4): float32
    %6 = 0.7978845608028654: float32
    %7 = mul(%5, %6): float32
    %8 = tanh(%7): float32
    %9 = 1.0: float32
    %10 = add(%8, %9): float32
    %11 = 0.5: float32
    %12 = mul(%0, %11): float32
    %13 = mul(%12, %10): float32
    return %13
)"),
            "    %0 = in0[i0]: float32\n    %1 = gelu_tanh(%0): float32\n    return %1\n");
}

TEST(SimplifyProgramsTest, FindsSigmoidSiluAndRelu) {
  EXPECT_EQ(Simplify(R"(    %1 = neg(%0): float32
    %2 = exp(%1): float32
    %3 = 1.0: float32
    %4 = add(%2, %3): float32
    %5 = reciprocal(%4): float32
    %6 = mul(%0, %5): float32
    %7 = 0.0: float32
    %8 = max(%6, %7): float32
    return %8
)"),
            "    %0 = in0[i0]: float32\n    %1 = silu(%0): float32\n    %2 = relu(%1): float32\n    return %2\n");
}

TEST(SimplifyProgramsTest, ResolvesKnownPositions) {
  // A loop dim within the table, a number within it, and one that must fail at run time.
  EXPECT_EQ(Simplify(R"(    %1 = index(0): int64
    %2 = in3[i0]: int64
    %3 = in4[i0]: int64
    %4 = in1[%1, 0]: float32
    %5 = in1[%2, 1]: float32
    %6 = in1[%3, 1]: float32
    %7 = add(%4, %5): float32
    %8 = add(%7, %6): float32
    return %8
)"),
            R"(    %0 = 9: int64
    %1 = in0[i0, 0]: float32
    %2 = in0[3, 1]: float32
    %3 = in0[%0, 1]: float32
    %4 = add(%1, %2): float32
    %5 = add(%4, %3): float32
    return %5
)");
}

TEST(SimplifyProgramsTest, KeepsLooksUpThatMayFail) {
  EXPECT_EQ(RunPass("simplify_programs", R"(graph g {
  symbol s0 [1, 600]
  input %table: float32 [512]
  %y: float32 [s0] = step.map(%table, extents=[s0]) program {
    %0 = index(0): int64
    %1 = in0[%0]: float32
    return %1
  }
  return %y
})"),
            R"(graph "g" {
  symbol s0 [1, 600]
  input %table: float32 [512]
  %y: float32 [s0] = step.map(%table, extents=[s0]) program {
    %0 = index(0): int64
    %1 = in0[%0]: float32
    return %1
  }
  return %y
}
)");
}

}  // namespace
}  // namespace tondar
