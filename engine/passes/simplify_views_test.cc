#include <gtest/gtest.h>

#include "engine/passes/testing/run_pass.h"

namespace tondar {
namespace {

std::string Simplify(std::string_view text) { return NodesOf(RunPass("simplify_views", text)); }

TEST(SimplifyViewsTest, CombinesViewsOfOneKind) {
  EXPECT_EQ(Simplify(R"(graph g {
  input %x: float32 [2, 3, 4]
  %a: float32 [4, 3, 2] = permute(%x, dims=[2, 1, 0])
  %b: float32 [3, 4, 2] = permute(%a, dims=[1, 0, 2])
  %c: float32 [12, 2] = reshape(%b, shape=[12, 2])
  %d: float32 [24] = reshape(%c, shape=[24])
  %e: float32 [20] = slice(%d, dim=0, start=4, length=20, step=1)
  %f: float32 [5] = slice(%e, dim=0, start=2, length=5, step=3)
  return %f
})"),
            R"(  %x_permute: float32 [3, 4, 2] = permute(%x, dims=[1, 2, 0])
  %x_permute_reshape: float32 [24] = reshape(%x_permute, shape=[24])
  %x_permute_reshape_slice: float32 [5] = slice(%x_permute_reshape, dim=0, length=5, start=6, step=3)
  return %x_permute_reshape_slice
)");
}

TEST(SimplifyViewsTest, RemovesViewsThatUndoEachOther) {
  EXPECT_EQ(Simplify(R"(graph g {
  symbol s0 [1, 8]
  input %x: float32 [s0, 4]
  %a: float32 [4, s0] = permute(%x, dims=[1, 0])
  %b: float32 [s0, 4] = permute(%a, dims=[1, 0])
  %c: float32 [4*s0] = reshape(%b, shape=[4*s0])
  %d: float32 [s0, 4] = reshape(%c, shape=[s0, 4])
  %e: float32 [s0, 4] = alias(%d)
  %f: float32 [s0, 4] = expand(%e, shape=[s0, 4])
  %g: float32 [s0, 4] = concat([%f], dim=0)
  return %g
})"),
            "  return %x\n");
}

TEST(SimplifyViewsTest, FoldsViewsOfConstants) {
  EXPECT_EQ(RunPass("simplify_views", R"(graph g {
  symbol s0 [1, 8]
  constant %w: float32 [2, 3] = {1, 2, 3, 4, 5, 6}
  %a: float32 [3, 2] = permute(%w, dims=[1, 0])
  %b: float32 [2, 2] = slice(%a, dim=0, start=1, length=2, step=1)
  %c: float32 [s0, 2, 2] = expand(%b, shape=[s0, 2, 2])
  return %b, %c
})"),
            R"(graph "g" {
  symbol s0 [1, 8]
  constant %w_2: float32 [2, 2] strides [1, 3] = {2.0, 5.0, 3.0, 6.0}
  %c: float32 [s0, 2, 2] = expand(%w_2, shape=[s0, 2, 2])
  return %w_2, %c
}
)");
}

TEST(SimplifyViewsTest, PermutingUnitsIsReshaping) {
  EXPECT_EQ(Simplify(R"(graph g {
  input %x: float32 [2, 1, 4]
  %a: float32 [1, 2, 4] = permute(%x, dims=[1, 0, 2])
  %b: float32 [8] = reshape(%a, shape=[8])
  return %b
})"),
            R"(  %x_reshape_1: float32 [8] = reshape(%x, shape=[8])
  return %x_reshape_1
)");
}

}  // namespace
}  // namespace tondar
