#include <gtest/gtest.h>

#include "engine/passes/testing/run_pass.h"

namespace tondar {
namespace {

TEST(DeadCodeTest, RemovesChainsAndTheirConstants) {
  EXPECT_EQ(RunPass("dead_code", R"(graph g {
  input %x: float32 [4]
  constant %w: float32 [4] = 1.0
  %a: float32 [2, 2] = reshape(%w, shape=[2, 2])
  %b: float32 [4] = reshape(%a, shape=[4])
  return %x
})"),
            R"(graph "g" {
  input %x: float32 [4]
  return %x
}
)");
}

}  // namespace
}  // namespace tondar
