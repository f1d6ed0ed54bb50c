#include "engine/passes/row_independence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tondar {
namespace {

using ::testing::HasSubstr;

// A loop that carries a decision that all rows share and %y: float32 [b, 4], which `step` makes %n.
std::string LoopOver(std::string_view step) {
  return fmt::format(R"(%go: bool [] = step.map(extents=[]) program {{
         %0 = 0: int64
         %1 = cast(%0): bool
         return %1
       }}
       %g: bool [], %r: float32 [b, 4] = while([%go, %x]) graph condition {{
         input %g: bool []
         input %y: float32 [b, 4]
         return %g
       }} graph body {{
         input %g: bool []
         input %y: float32 [b, 4]
         {}
         return %g, %n
       }} return %r)", step);
}

// The doubt about a graph over %x: float32 [b, 4] and a constant %w: float32 [4] that ends with `lines`.
std::string DoubtOf(std::string_view lines) {
  const std::string text = fmt::format(R"(graph g {{
  symbol b [1, 64]
  symbol s [1, 64]
  input %x: float32 [b, 4]
  input %ids: int64 [b, s]
  constant %w: float32 [4] = 1.0
  constant %m: float32 [4, 4] = 1.0
{}
}})", lines);
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  return graph.ok() ? WhyRowsMix(**graph, 0) : "";
}

struct Case {
  const char* name;
  std::string lines;
  const char* doubt;  // null: proved
};

TEST(RowIndependenceTest, FollowsRowsThroughSteps) {
  const Case kCases[] = {
      {"passes through", "return %x", nullptr},
      {"adds what all rows share", R"(%y: float32 [b, 4] = step.map(%x, %w, extents=[b, 4]) program {
         %0 = in0[i0, i1]: float32
         %1 = in1[i1]: float32
         %2 = add(%0, %1): float32
         return %2
       } return %y)", nullptr},
      {"looks up by a row's own index", R"(%y: float32 [b, s, 4] = step.map(%m, %ids, extents=[b, s, 4]) program {
         %0 = in1[i0, i1]: int64
         %1 = in0[%0, i2]: float32
         return %1
       } return %y)", nullptr},
      {"looks up rows by data", R"(%y: float32 [b, s, 4] = step.map(%x, %ids, extents=[b, s, 4]) program {
         %0 = in1[i0, i1]: int64
         %1 = in0[%0, i2]: float32
         return %1
       } return %y)", "step 'y' reads other rows than its own"},
      {"reverses the batch", R"(%y: float32 [b, 4] = step.map(%x, extents=[b, 4]) program {
         %0 = in0[-1*i0 + (b - 1), i1]: float32
         return %0
       } return %y)", "depends on the batch's size"},
      {"shifts the batch", R"(%y: float32 [b, 4] = step.map(%x, extents=[b, 4]) program {
         %0 = in0[i0 + -1?, i1]{0.0}: float32
         return %0
       } return %y)", "reads other rows than its own"},
      {"computes with the place", R"(%y: int64 [b, 4] = step.map(extents=[b, 4]) program {
         %0 = index(0): int64
         return %0
       } return %y)", "computes with the row's place in the batch"},
      {"computes with the number of rows", R"(%y: int64 [b, 4] = step.map(extents=[b, 4]) program {
         %0 = size(b): int64
         return %0
       } return %y)", "computes with the batch's size"},
      {"sums each row", R"(%y: float32 [b] = step.reduce(%x, accumulator=float32, extents=[b, 4], op="sum", reduced=1) program {
         %0 = in0[i0, i1]: float32
         return %0
       } return %y)", nullptr},
      {"sums over the batch", R"(%y: float32 [4] = step.reduce(%x, accumulator=float32, extents=[4, b], op="sum", reduced=1) program {
         %0 = in0[i1, i0]: float32
         return %0
       }
       %z: float32 [b, 4] = expand(%y, shape=[b, 4]) return %z)", "step 'y' reduces over the batch"},
      {"runs along the batch", R"(%t: float32 [4, b] = permute(%x, dims=[1, 0])
       %y: float32 [4, b] = step.scan(%t, accumulator=float32, extents=[4, b], op="sum") program {
         %0 = in0[i0, i1]: float32
         return %0
       }
       %z: float32 [b, 4] = permute(%y, dims=[1, 0]) return %z)", "step 'y' runs along the batch"},
      {"multiplies each row", "%y: float32 [b, 4] = step.matmul(%x, %m) return %y", nullptr},
      {"multiplies from the left", R"(%t: float32 [4, b] = permute(%x, dims=[1, 0])
       %p: float32 [4, b] = step.matmul(%m, %t)
       %y: float32 [b, 4] = permute(%p, dims=[1, 0]) return %y)", nullptr},
      {"multiplies rows by rows", R"(%t: float32 [4, b] = permute(%x, dims=[1, 0])
       %g: float32 [4, 4] = step.matmul(%t, %x)
       %e: float32 [b, 4, 4] = expand(%g, shape=[b, 4, 4]) return %e)", "step 'g' sums over the batch"},
      {"softmax of a row", R"(%y: float32 [b, 4] = step.norm(%x, axes=1, epsilon=0.0, has_bias=false, has_weight=false, kind="softmax") return %y)", nullptr},
      {"softmax over the batch", R"(%t: float32 [4, b] = permute(%x, dims=[1, 0])
       %n: float32 [4, b] = step.norm(%t, axes=1, epsilon=0.0, has_bias=false, has_weight=false, kind="softmax")
       %y: float32 [b, 4] = permute(%n, dims=[1, 0]) return %y)", "step 'n' normalises over the batch"},
      {"sorts each row", "%y: int64 [b, 4] = step.sort(%x, descending=false) return %y", nullptr},
      {"splits and joins rows with other dims", R"(%r: float32 [b, 2, 2] = reshape(%x, shape=[b, 2, 2])
       %f: float32 [2*b, 2] = reshape(%r, shape=[2*b, 2])
       %y: float32 [b, 4] = reshape(%f, shape=[b, 4]) return %y)", nullptr},
      {"joins the batch inside", R"(%t: float32 [4, b] = permute(%x, dims=[1, 0])
       %f: float32 [4*b] = reshape(%t, shape=[4*b])
       %y: float32 [b, 4] = reshape(%f, shape=[b, 4]) return %y)", "joins the batch with dims around it"},
      {"takes a row", "%r: float32 [1, 4] = slice(%x, dim=0, start=0, length=1, step=1)\n %y: float32 [b, 4] = expand(%r, shape=[b, 4]) return %y",
       "slice 'r' takes rows out of the batch"},
      {"takes columns", "%r: float32 [b, 2] = slice(%x, dim=1, start=0, length=2, step=1) return %r", nullptr},
      {"joins columns", "%y: float32 [b, 8] = concat([%x, %x], dim=1) return %y", nullptr},
      {"joins rows", "%y: float32 [2*b, 4] = concat([%x, %x], dim=0) return %y", "joins rows along the batch"},
      {"gives what all share for every row", "%y: float32 [b, 4] = expand(%w, shape=[b, 4]) return %y", nullptr},
      {"gives what has no rows", "return %w", "output 'w' is not made of the inputs' rows"},
      {"writes into its row", R"(%y: float32 [b, 4] = step.scatter(%x, extents=[b], op="store") program {
         %0 = 1.0: float32
         %1 = index(0): int64
         %2 = 2: int64
         return %0, %1, %2
       } return %y)", nullptr},
      {"writes into a chosen row", R"(%y: float32 [b, 4] = step.scatter(%x, extents=[b], op="store") program {
         %0 = 1.0: float32
         %1 = 0: int64
         %2 = 2: int64
         return %0, %1, %2
       } return %y)", "step 'y' writes other rows than its own"},
      {"goes round row by row",
       LoopOver(R"(%n: float32 [b, 4] = step.norm(%y, axes=1, epsilon=0.0, has_bias=false, has_weight=false, kind="softmax"))"), nullptr},
      {"goes round by the place in the batch", LoopOver(R"(%n: float32 [b, 4] = step.map(%y, extents=[b, 4]) program {
         %0 = index(0): int64
         %1 = cast(%0): float32
         return %1
       })"), "while 'g' computes with the row's place"},
      {"writes its place", R"(%base: int64 [b, 4] = step.map(extents=[b, 4]) program {
         %0 = 0: int64
         return %0
       }
       %y: int64 [b, 4] = step.scatter(%base, extents=[b], op="store") program {
         %0 = index(0): int64
         %1 = 2: int64
         return %0, %0, %1
       } return %y)", "computes with the row's place"},
  };
  for (const Case& one : kCases) {
    const std::string doubt = DoubtOf(one.lines);
    if (one.doubt == nullptr) {
      EXPECT_EQ(doubt, "") << one.name;
    } else {
      EXPECT_THAT(doubt, HasSubstr(one.doubt)) << one.name;
    }
  }
}

}  // namespace
}  // namespace tondar
