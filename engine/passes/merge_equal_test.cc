#include <gtest/gtest.h>

#include "engine/passes/testing/run_pass.h"

namespace tondar {
namespace {

TEST(MergeEqualTest, MergesNodesAndSmallConstants) {
  EXPECT_EQ(RunPass("merge_equal", R"(graph g {
  input %x: float32 [4]
  constant %one: float32 [] = 1.0
  constant %uno: float32 [] = 1.0
  constant %two: float32 [] = 2.0
  %a: float32 [4] = step.map(%x, %one, extents=[4]) program {
    %0 = in0[i0]: float32
    %1 = in1[]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %b: float32 [4] = step.map(%x, %uno, extents=[4]) program {
    %0 = in0[i0]: float32
    %1 = in1[]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %c: float32 [4] = step.map(%x, %two, extents=[4]) program {
    %0 = in0[i0]: float32
    %1 = in1[]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %p: float32 [2, 2] = reshape(%a, shape=[2, 2])
  %q: float32 [2, 2] = reshape(%b, shape=[2, 2])
  return %p, %q, %c
})"),
            R"(graph "g" {
  input %x: float32 [4]
  constant %one: float32 [] = 1.0
  constant %two: float32 [] = 2.0
  %a: float32 [4] = step.map(%x, %one, extents=[4]) program {
    %0 = in0[i0]: float32
    %1 = in1[]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %c: float32 [4] = step.map(%x, %two, extents=[4]) program {
    %0 = in0[i0]: float32
    %1 = in1[]: float32
    %2 = add(%0, %1): float32
    return %2
  }
  %p: float32 [2, 2] = reshape(%a, shape=[2, 2])
  return %p, %p, %c
}
)");
}

}  // namespace
}  // namespace tondar
