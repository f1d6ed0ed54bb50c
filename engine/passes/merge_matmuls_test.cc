#include <gtest/gtest.h>

#include "engine/passes/testing/run_pass.h"

namespace tondar {
namespace {

TEST(MergeMatMulsTest, JoinsProductsOfOneInput) {
  EXPECT_EQ(RunPass("merge_matmuls", R"(graph g {
  symbol s0 [1, 8]
  input %x: float32 [s0, 2]
  constant %p: float32 [2, 2] strides [1, 2] = {1, 2, 3, 4}
  constant %q: float32 [2, 1] = {5, 6}
  constant %b: float32 [2] = {7, 8}
  %m: float32 [s0, 2] = step.matmul(%x, %p, %b) epilogue {
    %0 = accumulator(0): float32
    %1 = in2[i1]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %n: float32 [s0, 1] = step.matmul(%x, %q)
  %mk: float32 [s0] = step.reduce(%m, extents=[s0, 2], reduced=1) program {
    %0 = in0[i0, i1]: float32
    return %0
  }
  %nk: float32 [s0] = step.reduce(%n, extents=[s0, 1], reduced=1) program {
    %0 = in0[i0, i1]: float32
    return %0
  }
  return %mk, %nk
})"),
            R"(graph "g" {
  symbol s0 [1, 8]
  input %x: float32 [s0, 2]
  constant %p_joined: float32 [2, 3] strides [1, 2] = {1.0, 2.0, 5.0, 3.0, 4.0, 6.0}
  constant %p_joined_bias: float32 [3] = {7.0, 8.0, 0.0}
  %m_1: float32 [s0, 3] = step.matmul(%x, %p_joined, %p_joined_bias) epilogue {
    %0 = accumulator(0): float32
    %1 = in2[i1]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %m_1_slice: float32 [s0, 2] = slice(%m_1, dim=1, length=2, start=0, step=1)
  %m_1_slice_1: float32 [s0, 1] = slice(%m_1, dim=1, length=1, start=2, step=1)
  %mk: float32 [s0] = step.reduce(%m_1_slice, accumulator=float32, extents=[s0, 2], op="sum", reduced=1) program {
    %0 = in0[i0, i1]: float32
    return %0
  }
  %nk: float32 [s0] = step.reduce(%m_1_slice_1, accumulator=float32, extents=[s0, 1], op="sum", reduced=1) program {
    %0 = in0[i0, i1]: float32
    return %0
  }
  return %mk, %nk
}
)");
}

TEST(MergeMatMulsTest, PrefersAnEpilogue) {
  const std::string text = R"(graph "g" {
  input %x: float32 [4, 2]
  constant %p: float32 [2, 2] = 1.0
  constant %q: float32 [2, 2] = 2.0
  %m: float32 [4, 2] = step.matmul(%x, %p)
  %n: float32 [4, 2] = step.matmul(%x, %q)
  %a: float32 [4, 2] = step.map(%n, extents=[4, 2]) program {
    %0 = in0[i0, i1]: float32
    %1 = relu(%0): float32
    return %1
  }
  return %m, %a
}
)";
  EXPECT_EQ(RunPass("merge_matmuls", text), text);
}

TEST(MergeMatMulsTest, LeavesWhatTheCallerGets) {
  const std::string text = R"(graph "g" {
  input %x: float32 [4, 2]
  constant %p: float32 [2, 2] = 1.0
  constant %q: float32 [2, 2] = 2.0
  %m: float32 [4, 2] = step.matmul(%x, %p)
  %n: float32 [4, 2] = step.matmul(%x, %q)
  return %m, %n
}
)";
  EXPECT_EQ(RunPass("merge_matmuls", text), text);
}

}  // namespace
}  // namespace tondar
