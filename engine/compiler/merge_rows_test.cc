#include "engine/compiler/merge_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/compiler/compile.h"

namespace tondar {
namespace {

using ::testing::ElementsAre;

// The one step of: [s0, s1, 4] x one matrix, plus a residual that the epilogue reads as given.
Step Compiled(std::string_view residual_shape, std::string_view index) {
  auto graph = ParseGraph(fmt::format(R"(graph g {{
  symbol s0 [1, 8]
  symbol s1 [1, 64]
  input %x: float32 [s0, s1, 4]
  input %r: float32 {}
  constant %w: float32 [4, 8] = 1.0
  constant %b: float32 [8] = 1.0
  %we: float32 [s0, 4, 8] = expand(%w, shape=[s0, 4, 8])
  %y: float32 [s0, s1, 8] = step.matmul(%x, %we, %b, %r) epilogue {{
    %0 = accumulator(0): float32
    %1 = in2[i2]: float32
    %2 = in3{}: float32
    %3 = add(%0, %1): float32
    %4 = add(%3, %2): float32
    return %4
  }}
  return %y
}})", residual_shape, index));
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  auto plan = Compile(*graph.value(), {});
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan.value().steps.size(), 1U);
  return plan.value().steps[0];
}

const Dim kRows = Dim::Symbol(0) * Dim::Symbol(1);

TEST(MergeRowsTest, BatchesOfOneMatrixAreRows) {
  const Step step = Compiled("[s0, s1, 8]", "[i0, i1, i2]");
  EXPECT_THAT(step.inputs[0].shape, ElementsAre(kRows, Dim(4)));
  EXPECT_THAT(step.inputs[0].strides, ElementsAre(Dim(4), Dim(1)));
  EXPECT_THAT(step.inputs[1].shape, ElementsAre(Dim(4), Dim(8)));
  EXPECT_THAT(step.inputs[3].shape, ElementsAre(kRows, Dim(8)));
  EXPECT_THAT(step.outputs[0].shape, ElementsAre(kRows, Dim(8)));
  const LoopProgram& epilogue = std::get<MatMulStep>(step.body).epilogue;
  EXPECT_TRUE(VerifyProgram(epilogue, std::vector<int>{2, 2, 1, 2}, 2, 1).ok()) << ToString(epilogue);
  EXPECT_THAT(epilogue.accesses[0].index, ElementsAre(IndexExpression::LoopDim(1)));
}

TEST(MergeRowsTest, OperandsThatRepeatPerBatchKeepTheBatch) {
  EXPECT_EQ(Compiled("[s1, 8]", "[i1, i2]").outputs[0].shape.size(), 3U);
  EXPECT_EQ(Compiled("[s0, 1, 8]", "[i0, 0, i2]").outputs[0].shape.size(), 3U);
  EXPECT_EQ(Compiled("[8]", "[i2]").outputs[0].shape.size(), 2U);
}

}  // namespace
}  // namespace tondar
