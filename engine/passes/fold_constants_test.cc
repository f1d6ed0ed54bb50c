#include <gtest/gtest.h>

#include "engine/passes/testing/run_pass.h"

namespace tondar {
namespace {

// Gives ones for all results and notes what it was asked.
struct Evaluator {
  std::string asked;
  PassContext context;

  Evaluator() {
    context.evaluate = [this](Graph& graph) -> Result<std::vector<Constant>> {
      asked = NodesOf(ToText(graph));
      std::vector<Constant> results;
      for (const Value* output : graph.outputs) {
        results.push_back(AllocateConstant("", output->dtype, Evaluate(output->shape, {})));
        std::fill_n(results.back().view.as<float>(), results.back().view.elements(), 1.0F);
      }
      return results;
    };
  }
};

constexpr std::string_view kText = R"(graph g {
  symbol s0 [1, 8]
  input %x: float32 [s0, 4]
  constant %w: float32 [4] = {1, 2, 3, 4}
  %a: float32 [4] = step.map(%w, extents=[4]) program {
    %0 = in0[i0]: float32
    %1 = neg(%0): float32
    return %1
  }
  %b: float32 [2, 2] = reshape(%a, shape=[2, 2])
  %c: float32 [2, 2] = step.map(%b, extents=[2, 2]) program {
    %0 = in0[i0, i1]: float32
    %1 = exp(%0): float32
    return %1
  }
  %v: float32 [2, 2] = reshape(%w, shape=[2, 2])
  %e: float32 [s0, 2, 2] = expand(%c, shape=[s0, 2, 2])
  return %e, %v, %x
})";

TEST(FoldConstantsTest, EvaluatesWhatIsReadInOneCall) {
  Evaluator evaluator;
  EXPECT_EQ(RunPass("fold_constants", kText, evaluator.context), R"(graph "g" {
  symbol s0 [1, 8]
  input %x: float32 [s0, 4]
  constant %w: float32 [4] = {1.0, 2.0, 3.0, 4.0}
  constant %c_1: float32 [2, 2] = 1.0
  %v: float32 [2, 2] = reshape(%w, shape=[2, 2])
  %e: float32 [s0, 2, 2] = expand(%c_1, shape=[s0, 2, 2])
  return %e, %v, %x
}
)");
  EXPECT_EQ(evaluator.asked, R"(  %a: float32 [4] = step.map(%w, extents=[4]) program {
    %0 = in0[i0]: float32
    %1 = neg(%0): float32
    return %1
  }
  %b: float32 [2, 2] = reshape(%a, shape=[2, 2])
  %c: float32 [2, 2] = step.map(%b, extents=[2, 2]) program {
    %0 = in0[i0, i1]: float32
    %1 = exp(%0): float32
    return %1
  }
  return %c
)");
}

TEST(FoldConstantsTest, LeavesResultsThatWouldSwellTheModel) {
  Evaluator evaluator;
  RunPass("fold_constants", R"(graph g {
  constant %w: float32 [4] = {1, 2, 3, 4}
  %a: float32 [65536, 4] = step.map(%w, extents=[65536, 4]) program {
    %0 = in0[i1]: float32
    %1 = neg(%0): float32
    return %1
  }
  return %a
})",
          evaluator.context);
  EXPECT_EQ(evaluator.asked, "");
}

TEST(FoldConstantsTest, LeavesWhatDependsOnSymbols) {
  Evaluator evaluator;
  RunPass("fold_constants", R"(graph g {
  symbol s0 [1, 8]
  constant %w: float32 [4] = {1, 2, 3, 4}
  %a: int64 [] = step.map(extents=[]) program {
    %0 = size(s0): int64
    return %0
  }
  %b: float32 [] = step.reduce(%w, extents=[s0], reduced=1) program {
    %0 = in0[i0]: float32
    return %0
  }
  return %a, %b
})",
          evaluator.context);
  EXPECT_EQ(evaluator.asked, "");
}

TEST(FoldConstantsTest, DoesNothingWithoutAnEvaluator) {
  EXPECT_NE(RunPass("fold_constants", kText).find("exp"), std::string::npos);
}

}  // namespace
}  // namespace tondar
