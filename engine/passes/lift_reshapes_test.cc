#include <gtest/gtest.h>

#include "engine/passes/testing/run_pass.h"

namespace tondar {
namespace {

TEST(LiftReshapesTest, ProductsOfMergedRowsKeepTheDims) {
  EXPECT_EQ(NodesOf(RunPass("lift_reshapes", R"(graph g {
  symbol s0 [1, 8]
  symbol s1 [1, 64]
  input %x: float32 [s0, s1, 4]
  input %r: float32 [s0*s1, 8]
  constant %w: float32 [4, 8] = 1.0
  constant %b: float32 [8] = 2.0
  %rows: float32 [s0*s1, 4] = reshape(%x, shape=[s0*s1, 4])
  %m: float32 [s0*s1, 8] = step.matmul(%rows, %w, %b) epilogue {
    %0 = accumulator(0): float32
    %1 = in2[i1]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %a: float32 [s0*s1, 8] = step.map(%m, %r, extents=[s0*s1, 8]) program {
    %0 = in0[i0, i1]: float32
    %1 = in1[i0, i1]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %y: float32 [s0, s1, 2, 4] = reshape(%a, shape=[s0, s1, 2, 4])
  return %y
})")),
            R"(  %w_expand: float32 [s0, 4, 8] = expand(%w, shape=[s0, 4, 8])
  %m_1: float32 [s0, s1, 8] = step.matmul(%x, %w_expand, %b) epilogue {
    %0 = accumulator(0): float32
    %1 = in2[i2]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %r_reshape: float32 [s0, s1, 8] = reshape(%r, shape=[s0, s1, 8])
  %a_1: float32 [s0, s1, 8] = step.map(%m_1, %r_reshape, extents=[s0, s1, 8]) program {
    %0 = in0[i0, i1, i2]: float32
    %1 = in1[i0, i1, i2]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %a_1_reshape_1: float32 [s0, s1, 2, 4] = reshape(%a_1, shape=[s0, s1, 2, 4])
  return %a_1_reshape_1
)");
}

TEST(LiftReshapesTest, LeavesStepsThatLookAtTheRowNumber) {
  const std::string text = R"(graph "g" {
  symbol s0 [1, 8]
  symbol s1 [1, 64]
  input %x: float32 [s0, s1, 4]
  %rows: float32 [s0*s1, 4] = reshape(%x, shape=[s0*s1, 4])
  %a: float32 [s0*s1, 4] = step.map(%rows, extents=[s0*s1, 4]) program {
    %0 = in0[i0, i1]: float32
    %1 = index(0): int64
    %2 = cast(%1): float32
    %3 = add(%0, %2): float32
    return %3
  }
  return %a
}
)";
  EXPECT_EQ(RunPass("lift_reshapes", text), text);
}

}  // namespace
}  // namespace tondar
