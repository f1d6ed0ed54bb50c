#include "engine/compiler/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/compiler/memory_order.h"

namespace tondar {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CompiledGraph CompileText(std::string_view text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  auto plan = Compile(*graph.value(), {});
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  return std::move(plan).value();
}

SlotRole RoleOf(const CompiledGraph& plan, const Operand& operand) {
  return plan.slots[static_cast<size_t>(operand.slot)].role;
}

int Copies(const CompiledGraph& plan) {
  int copies = 0;
  for (const Step& step : plan.steps) copies += step.name.ends_with("(copy)") ? 1 : 0;
  return copies;
}

constexpr std::string_view kRelu4 = R"( program {
    %0 = in0[i0, i1]: float32
    %1 = relu(%0): float32
    return %1
  })";

TEST(CompileTest, PlacesInputsConstantsAndResults) {
  const CompiledGraph plan = CompileText(R"(graph g {
  symbol s0 [1, 8]
  input %x: float32 [s0, 4]
  constant %w: float32 [4, 8] strides [1, 4] = 1.0
  %y: float32 [s0, 8] = step.matmul(%x, %w)
  return %y
})");
  ASSERT_EQ(plan.steps.size(), 1U);
  const Step& step = plan.steps[0];
  EXPECT_EQ(RoleOf(plan, step.inputs[0]), SlotRole::kInput);
  EXPECT_EQ(RoleOf(plan, step.inputs[1]), SlotRole::kConstant);
  EXPECT_THAT(step.inputs[1].strides, ElementsAre(Dim(1), Dim(4))) << "a constant is read as it lies";
  EXPECT_EQ(RoleOf(plan, step.outputs[0]), SlotRole::kOutput);
  EXPECT_EQ(plan.slots[static_cast<size_t>(step.outputs[0].slot)].size_bytes, Dim::Symbol(0) * 32);
}

TEST(CompileTest, ReadsViewsAsWindows) {
  const std::string text = fmt::format(R"(graph g {{
  input %x: float32 [6, 8]
  %s: float32 [6, 4] = slice(%x, dim=1, start=4, length=4, step=1)
  %t: float32 [4, 6] = permute(%s, dims=[1, 0])
  %y: float32 [4, 6] = step.map(%t, extents=[4, 6]){}
  return %y
}})", kRelu4);
  const CompiledGraph plan = CompileText(text);
  ASSERT_EQ(plan.steps.size(), 1U);
  const Operand& operand = plan.steps[0].inputs[0];
  EXPECT_THAT(operand.strides, ElementsAre(Dim(1), Dim(8)));
  EXPECT_EQ(operand.offset, Dim(4));
}

TEST(CompileTest, CopiesWhereStridesCannotExpressAReshape) {
  const CompiledGraph plan = CompileText(R"(graph g {
  input %x: float32 [6, 8]
  %t: float32 [8, 6] = permute(%x, dims=[1, 0])
  %y: float32 [48] = reshape(%t, shape=[48])
  return %y
})");
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_EQ(Copies(plan), 1);
  EXPECT_EQ(RoleOf(plan, plan.outputs[0]), SlotRole::kOutput);
  EXPECT_THAT(plan.outputs[0].strides, ElementsAre(Dim(1)));
}

TEST(CompileTest, WritesAttentionInTheOrderThatItsReaderMerges) {
  const CompiledGraph plan = CompileText(R"(graph g {
  symbol s0 [1, 8]
  symbol s1 [1, 64]
  input %x: float32 [s0, s1, 96]
  constant %w: float32 [32, 16] = 1.0
  %q: float32 [s0, s1, 32] = slice(%x, dim=2, start=0, length=32, step=1)
  %k: float32 [s0, s1, 32] = slice(%x, dim=2, start=32, length=32, step=1)
  %v: float32 [s0, s1, 32] = slice(%x, dim=2, start=64, length=32, step=1)
  %q4: float32 [s0, s1, 4, 8] = reshape(%q, shape=[s0, s1, 4, 8])
  %k4: float32 [s0, s1, 4, 8] = reshape(%k, shape=[s0, s1, 4, 8])
  %v4: float32 [s0, s1, 4, 8] = reshape(%v, shape=[s0, s1, 4, 8])
  %qt: float32 [s0, 4, s1, 8] = permute(%q4, dims=[0, 2, 1, 3])
  %kt: float32 [s0, 4, s1, 8] = permute(%k4, dims=[0, 2, 1, 3])
  %vt: float32 [s0, 4, s1, 8] = permute(%v4, dims=[0, 2, 1, 3])
  %a: float32 [s0, 4, s1, 8] = step.attention(%qt, %kt, %vt, scale=0.5)
  %at: float32 [s0, s1, 4, 8] = permute(%a, dims=[0, 2, 1, 3])
  %am: float32 [s0, s1, 32] = reshape(%at, shape=[s0, s1, 32])
  %we: float32 [s0, 32, 16] = expand(%w, shape=[s0, 32, 16])
  %y: float32 [s0, s1, 16] = step.matmul(%am, %we)
  return %y
})");
  EXPECT_EQ(Copies(plan), 0) << ToString(plan);
  ASSERT_EQ(plan.steps.size(), 2U);
  const Dim s1 = Dim::Symbol(1);
  EXPECT_THAT(plan.steps[0].inputs[1].strides, ElementsAre(s1 * 96, Dim(8), Dim(96), Dim(1)));
  EXPECT_EQ(plan.steps[0].inputs[1].offset, Dim(32));
  EXPECT_THAT(plan.steps[0].outputs[0].strides, ElementsAre(s1 * 32, Dim(8), Dim(32), Dim(1)));
}

TEST(CompileTest, ConvolutionsAndWhatFlowsBetweenThemLieChannelsLast) {
  const CompiledGraph plan = CompileText(R"(graph g {
  symbol s0 [1, 8]
  input %x: float32 [s0, 3, 8, 8]
  constant %w: float32 [16, 3, 1, 1] = 1.0
  constant %v: float32 [16, 16, 1, 1] = 1.0
  %a: float32 [s0, 16, 8, 8] = step.conv(%x, %w, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
  %b: float32 [s0, 16, 8, 8] = step.map(%a, extents=[s0, 16, 8, 8]) program {
    %0 = in0[i0, i1, i2, i3]: float32
    %1 = relu(%0): float32
    return %1
  }
  %c: float32 [s0, 16, 8, 8] = step.conv(%b, %v, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
  %d: float32 [s0, 16] = step.reduce(%c, extents=[s0, 16, 8, 8], reduced=2, op="sum", accumulator=float32) program {
    %0 = in0[i0, i1, i2, i3]: float32
    return %0
  }
  return %d
})");
  ASSERT_EQ(plan.steps.size(), 4U);
  EXPECT_EQ(Copies(plan), 0);
  for (size_t i : {0, 1, 2}) {
    EXPECT_THAT(plan.steps[i].outputs[0].strides, ElementsAre(Dim(1024), Dim(1), Dim(128), Dim(16))) << i;
  }
  EXPECT_THAT(plan.outputs[0].strides, ElementsAre(Dim(16), Dim(1)));
}

TEST(CompileTest, GraphOutputsAreContiguous) {
  const CompiledGraph plan = CompileText(R"(graph g {
  input %x: float32 [1, 3, 8, 8]
  constant %w: float32 [16, 3, 1, 1] = 1.0
  %a: float32 [1, 16, 8, 8] = step.conv(%x, %w, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
  return %a, %x, %a
})");
  ASSERT_EQ(plan.steps.size(), 1U) << "the convolution writes the caller's order itself";
  EXPECT_THAT(plan.outputs[0].strides, ElementsAre(Dim(1024), Dim(64), Dim(8), Dim(1)));
  EXPECT_EQ(RoleOf(plan, plan.outputs[1]), SlotRole::kInput);
  EXPECT_EQ(plan.outputs[2].slot, plan.outputs[0].slot);
}

TEST(CompileTest, ProducersWriteStraightIntoAConcat) {
  const CompiledGraph plan = CompileText(R"(graph g {
  symbol s0 [1, 8]
  input %x: float32 [s0, 3, 8, 8]
  constant %cls: float32 [1, 1, 16] = 1.0
  constant %w: float32 [16, 3, 2, 2] = 1.0
  %a: float32 [s0, 16, 4, 4] = step.conv(%x, %w, stride=[2, 2], padding=[0, 0], dilation=[1, 1])
  %f: float32 [s0, 16, 16] = reshape(%a, shape=[s0, 16, 16])
  %t: float32 [s0, 16, 16] = permute(%f, dims=[0, 2, 1])
  %e: float32 [s0, 1, 16] = expand(%cls, shape=[s0, 1, 16])
  %c: float32 [s0, 17, 16] = concat([%e, %t], dim=1)
  return %c
})");
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(Copies(plan), 1) << "the class token";
  const Operand& conv = plan.steps[0].outputs[0];
  EXPECT_EQ(conv.slot, plan.outputs[0].slot);
  EXPECT_EQ(conv.offset, Dim(16));
  EXPECT_THAT(conv.strides, ElementsAre(Dim(272), Dim(1), Dim(64), Dim(16)));
}

TEST(CompileTest, CopiesWhatAConcatNamesTwice) {
  const CompiledGraph plan = CompileText(fmt::format(R"(graph g {{
  input %x: float32 [2, 4]
  %a: float32 [2, 4] = step.map(%x, extents=[2, 4]){}
  %c: float32 [4, 4] = concat([%a, %a], dim=0)
  %d: float32 [6, 4] = concat([%x, %c], dim=0)
  return %d
}})", kRelu4));
  ASSERT_EQ(plan.steps.size(), 3U);
  EXPECT_EQ(Copies(plan), 2);
  EXPECT_EQ(plan.steps[0].outputs[0].slot, plan.outputs[0].slot) << "through both";
  EXPECT_EQ(plan.steps[0].outputs[0].offset, Dim(8));
}

TEST(CompileTest, KeepsOnlyChecksThatCanFail) {
  const CompiledGraph plan = CompileText(R"(graph g {
  symbol s0 [1, 8]
  input %x: float32 [s0]
  check s0 == s0 "same"
  check s0 == 4 "four"
  return %x
})");
  ASSERT_EQ(plan.checks.size(), 1U);
  EXPECT_EQ(plan.checks[0].where, "four");
}

constexpr std::string_view kCountedRows = R"(graph g {
  symbol s0 [1, 8]
  symbol u0 [0, 8]
  input %x: float32 [s0]
  %count: int64 [] = step.reduce(%x, accumulator=int64, extents=[s0], op="sum", reduced=1) program {
    %0 = in0[i0]: float32
    %1 = cast(%0): int64
    return %1
  }
  %ones: float32 [u0] = step.map(extents=[u0]) program {
    %0 = 1.0: float32
    return %0
  }
  %twice: float32 [s0] = step.map(%x, extents=[s0]) program {
    %0 = in0[i0]: float32
    %1 = add(%0, %0): float32
    return %1
  }
  check u0 == s0 "as many"
  size u0
  return %ones, %twice, %count
})";

TEST(CompileTest, RunsWhatNeedsASizeAfterWhatFindsItOut) {
  const CompiledGraph plan = CompileText(kCountedRows);
  ASSERT_EQ(plan.segments.size(), 2U);
  EXPECT_EQ(plan.segments[0].end_step, 2) << "what needs no size from the data does not wait";
  EXPECT_EQ(plan.steps[1].name, "twice");
  EXPECT_TRUE(plan.segments[0].symbols.empty());
  ASSERT_EQ(plan.segments[1].symbols.size(), 1U);
  EXPECT_EQ(plan.segments[1].symbols[0].symbol, 1);
  EXPECT_EQ(plan.segments[1].symbols[0].value.slot, plan.steps[0].outputs[0].slot);
  EXPECT_EQ(plan.slots[static_cast<size_t>(plan.outputs[0].slot)].segment, 1);
  EXPECT_EQ(plan.slots[static_cast<size_t>(plan.outputs[1].slot)].segment, 0);
  EXPECT_EQ(plan.checks.at(0).segment, 1);
}

TEST(CompileTest, RefusesASizeThatIsNeededToComputeIt) {
  auto graph = ParseGraph(R"(graph g {
  symbol u0 [0, 8]
  %ones: int64 [u0] = step.map(extents=[u0]) program {
    %0 = 1: int64
    return %0
  }
  %count: int64 [] = step.reduce(%ones, accumulator=int64, extents=[u0], op="sum", reduced=1) program {
    %0 = in0[i0]: int64
    return %0
  }
  size u0
  return %count
})");
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_THAT(Compile(*graph.value(), {}).status().ToString(), HasSubstr("the size u0 is needed to compute itself"));
}

TEST(CompileTest, StoresStatesLast) {
  const CompiledGraph plan = CompileText(R"(graph g {
  input %a: float32 [4]
  input %b: float32 [4]
  state "a" %a
  state "b" %b
  return %a, %b, %a
})");
  EXPECT_TRUE(plan.inputs.empty());
  ASSERT_EQ(plan.states.size(), 2U);
  EXPECT_NE(RoleOf(plan, plan.outputs.at(0)), SlotRole::kState) << "the caller's tensor must survive the next run";
  ASSERT_EQ(plan.steps.size(), 5U) << "an output, two put aside, two stored";
  EXPECT_NE(RoleOf(plan, plan.steps[1].outputs[0]), SlotRole::kState);
  EXPECT_NE(RoleOf(plan, plan.steps[2].outputs[0]), SlotRole::kState);
  EXPECT_EQ(RoleOf(plan, plan.steps[3].outputs[0]), SlotRole::kState);
  EXPECT_EQ(RoleOf(plan, plan.steps[4].outputs[0]), SlotRole::kState);
}

constexpr std::string_view kHalve = R"( program {
    %0 = in0[i0]: float32
    %1 = 0.5: float32
    %2 = mul(%0, %1): float32
    return %2
  })";

TEST(CompileTest, LaysBothBranchesBehindTheDecision) {
  const CompiledGraph plan = CompileText(fmt::format(R"(graph g {{
  input %d: bool []
  input %x: float32 [4]
  %y: float32 [4] = cond([%d, %x]) graph yes {{
    input %a: float32 [4]
    %b: float32 [4] = step.map(%a, extents=[4]){0}
    return %b
  }} graph no {{
    input %a: float32 [4]
    return %a
  }}
  return %y
}})", kHalve));
  ASSERT_EQ(plan.steps.size(), 4U) << "the decision, a map and its copy, a copy";
  EXPECT_EQ(plan.steps[0].control.kind, Control::Kind::kCond);
  EXPECT_EQ(plan.steps[0].control.first, 2);
  EXPECT_EQ(plan.steps[0].control.second, 1);
  EXPECT_EQ(RoleOf(plan, plan.steps[0].inputs[0]), SlotRole::kInput);
  EXPECT_EQ(plan.steps[2].outputs[0].slot, plan.outputs[0].slot);
  EXPECT_EQ(plan.steps[3].outputs[0].slot, plan.outputs[0].slot);
}

TEST(CompileTest, WhatALoopCarriesTradesPlacesByWayOfAnother) {
  const CompiledGraph plan = CompileText(R"(graph g {
  input %go: bool []
  input %x: float32 [4]
  input %y: float32 [4]
  %g: bool [], %a: float32 [4], %b: float32 [4] = while([%go, %x, %y]) graph condition {
    input %g: bool []
    input %a: float32 [4]
    input %b: float32 [4]
    return %g
  } graph body {
    input %g: bool []
    input %a: float32 [4]
    input %b: float32 [4]
    return %g, %b, %a
  }
  return %a, %b
})");
  const auto loop = std::find_if(plan.steps.begin(), plan.steps.end(), [](const Step& step) { return step.IsControl(); });
  ASSERT_NE(loop, plan.steps.end());
  EXPECT_EQ(loop - plan.steps.begin(), 3) << "three are carried in";
  EXPECT_EQ(loop->control.first, 1) << "the decision is copied to where the loop reads it";
  EXPECT_EQ(loop->control.second, 4) << "two put aside, two stored";
  for (const SlotId slot : {plan.outputs[0].slot, plan.outputs[1].slot}) {
    EXPECT_EQ(plan.slots[static_cast<size_t>(slot)].last_step, 9) << "alive to the end";
  }
  const Slot& decision = plan.slots[static_cast<size_t>(loop->inputs[0].slot)];
  EXPECT_LE(decision.first_step, 3);
  EXPECT_GE(decision.last_step, 8) << "nothing else may lie there in any round";
}

TEST(CompileTest, ALoopFillsATensorInPlace) {
  const CompiledGraph plan = CompileText(R"(graph g {
  input %go: bool []
  input %x: float32 [4]
  %g: bool [], %all: float32 [4] = while([%go, %x]) graph condition {
    input %g: bool []
    input %all: float32 [4]
    return %g
  } graph body {
    input %g: bool []
    input %all: float32 [4]
    %filled: float32 [4] = step.scatter(%all, extents=[1], op="store") program {
      %0 = 1.0: float32
      %1 = 2: int64
      return %0, %1
    }
    return %g, %filled
  }
  return %all
})");
  const auto fill = std::find_if(plan.steps.begin(), plan.steps.end(), [](const Step& step) { return step.name == "filled"; });
  ASSERT_NE(fill, plan.steps.end());
  EXPECT_EQ(fill->inputs[0].slot, fill->outputs[0].slot);
  EXPECT_EQ(plan.steps.back().name, "filled") << "nothing is copied back";
}

TEST(CompileTest, AConditionOfABodyHoldsOnlyThere) {
  const CompiledGraph plan = CompileText(R"(graph g {
  symbol s0 [1, 8]
  input %d: bool []
  input %x: float32 [s0]
  %y: float32 [s0] = cond([%d, %x]) graph yes {
    input %a: float32 [s0]
    check s0 == 4 "four"
    return %a
  } graph no {
    input %a: float32 [s0]
    return %a
  }
  return %y
})");
  ASSERT_EQ(plan.checks.size(), 1U);
  EXPECT_EQ(plan.checks[0].body, 1) << "the step behind the decision";
}

TEST(CompileTest, RefusesOperators) {
  auto graph = ParseGraph("graph g { input %x: float32 [4] %y: float32 [4] = relu(%x) return %y }");
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(Compile(*graph.value(), {}).status().ToString(), HasSubstr("node 'y' (relu) is neither a step nor a view"));
}

TEST(MemoryOrderTest, NamesDimsFromTheOutside) {
  EXPECT_THAT(ChannelsLast(4), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(ChannelsLast(3), ElementsAre(0, 2, 1));
  EXPECT_THAT(StridesInOrder({2, 16, 4, 5}, ChannelsLast(4)), ElementsAre(Dim(320), Dim(1), Dim(80), Dim(16)));
}

}  // namespace
}  // namespace tondar
