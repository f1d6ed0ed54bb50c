#include <gtest/gtest.h>

#include "engine/plan/compiled_graph.h"
#include "engine/plan/loop_builder.h"

namespace tondar {
namespace {

TEST(LoopBuilderTest, EqualInstructionsAreMadeOnce) {
  LoopBuilder builder;
  const auto x = builder.Load(BroadcastAccess(0, {4, 8}, 2), DType::kFloat32);
  const auto again = builder.Load(BroadcastAccess(0, {4, 8}, 2), DType::kFloat32);
  EXPECT_EQ(x, again);
  EXPECT_NE(x, builder.Load(BroadcastAccess(0, {1, 8}, 2), DType::kFloat32));
}

TEST(LoopBuilderTest, BuildDropsWhatNoResultNeeds) {
  LoopBuilder builder;
  builder.Load(BroadcastAccess(0, {4}, 1), DType::kInt32);
  const auto used = builder.Load(BroadcastAccess(1, {4}, 1), DType::kFloat32);
  builder.Result(builder.Unary(LoopOp::kExp, used));
  const LoopProgram program = std::move(builder).Build();
  EXPECT_EQ(program.accesses.size(), 1u);
  EXPECT_EQ(program.body.size(), 2u);
  const int ranks[] = {1, 1};
  EXPECT_TRUE(VerifyProgram(program, ranks, 1, 0).ok());
}

TEST(LoopBuilderTest, AppendReplacesAccumulators) {
  LoopBuilder epilogue;
  epilogue.Result(epilogue.Unary(LoopOp::kRelu, epilogue.Accumulator(0, DType::kFloat32)));
  const LoopProgram relu = std::move(epilogue).Build();
  LoopBuilder outer;
  const auto x = outer.Load(BroadcastAccess(0, {4}, 1), DType::kFloat32);
  const LoopBuilder::Handle accumulators[] = {x};
  outer.Result(outer.Append(relu, accumulators)[0]);
  const LoopProgram program = std::move(outer).Build();
  ASSERT_EQ(program.body.size(), 2u);
  EXPECT_EQ(program.body[1].op, LoopOp::kRelu);
  EXPECT_EQ(program.body[1].a, 0);
}

TEST(VerifyProgramTest, NamesTheBadInstruction) {
  LoopProgram program;
  program.body.push_back({.op = LoopOp::kExp, .dtype = DType::kFloat32, .a = 0});
  program.results = {0};
  const Status status = VerifyProgram(program, {}, 1, 0);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("%0 exp"), std::string_view::npos) << status.message();
}

// A chain of three temporaries: first and third may share bytes, neighbours may not.
CompiledGraph Chain() {
  CompiledGraph graph;
  graph.symbols = {{"n", 1, 100}};
  const Dim size = Dim::Symbol(0) * Dim(4);
  graph.slots = {{SlotRole::kInput, size}, {SlotRole::kTemporary, size}, {SlotRole::kTemporary, size}, {SlotRole::kOutput, size}};
  auto operand = [&](SlotId slot) { return Operand{slot, DType::kFloat32, {Dim::Symbol(0)}, {1}, 0}; };
  for (SlotId i = 0; i < 3; ++i) {
    graph.steps.push_back({"step", MapStep{{Dim::Symbol(0)}, {}}, {operand(i)}, {operand(i + 1)}});
  }
  graph.inputs = {operand(0)};
  graph.outputs = {operand(3)};
  graph.segments = {{{}, 0, 3}};
  ComputeLifetimes(graph);
  return graph;
}

TEST(PlanMemoryTest, SlotsAliveTogetherNeverOverlap) {
  const CompiledGraph graph = Chain();
  const int64_t symbols[] = {32};
  const Result<MemoryPlan> plan = PlanMemory(graph, 0, symbols, 1 << 20);
  ASSERT_TRUE(plan.ok());
  for (size_t a = 0; a < graph.slots.size(); ++a) {
    for (size_t b = a + 1; b < graph.slots.size(); ++b) {
      if (graph.slots[a].last_step < graph.slots[b].first_step || graph.slots[b].last_step < graph.slots[a].first_step) continue;
      EXPECT_GE(std::abs(plan->offsets[a] - plan->offsets[b]), 128) << a << " and " << b;
    }
  }
  EXPECT_EQ(plan->arena_bytes, 3 * 128) << "input, two temporaries and an output fit three places";
}

TEST(PlanMemoryTest, RefusesWhatDoesNotFit) {
  const CompiledGraph graph = Chain();
  for (const int shift : {20, 61, 62}) {  // 4 << 62 bytes would wrap to none
    const int64_t symbols[] = {int64_t{1} << shift};
    EXPECT_EQ(PlanMemory(graph, 0, symbols, 1 << 20).status().code(), StatusCode::kResourceExhausted) << shift;
  }
}

}  // namespace
}  // namespace tondar
