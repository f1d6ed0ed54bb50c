// What the conformance suite cannot see of the CPU backend: the price of a replay.
#include "engine/accelerators/cpu/cpu_graph.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "engine/accelerators/cpu/cpu_device.h"
#include "engine/accelerators/cpu/testing/loop_launch.h"
#include "engine/plan/loop_builder.h"

namespace {
thread_local int64_t allocations = 0;
}  // namespace

// Counts what the replaying thread allocates.
void* operator new(size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace tondar::cpu {
namespace {

Step StepOf(StepBody body, size_t inputs) {
  Step step;
  step.name = "step";
  step.body = std::move(body);
  step.inputs.assign(inputs, {.slot = 0, .dtype = DType::kFloat32, .shape = {}, .strides = {}, .offset = {}});
  step.outputs.assign(1, {.slot = 0, .dtype = DType::kFloat32, .shape = {}, .strides = {}, .offset = {}});
  return step;
}

LoopProgram GeluOfSum(const Shape& shape) {
  LoopBuilder b;
  const int rank = static_cast<int>(shape.size());
  b.Result(b.Unary(LoopOp::kGelu, b.Binary(LoopOp::kAdd, b.Load(BroadcastAccess(0, shape, rank), DType::kFloat32),
                                           b.Load(BroadcastAccess(1, {shape.back()}, rank), DType::kFloat32))));
  return std::move(b).Build();
}

TEST(CpuGraph, AReplayAllocatesNothing) {
  CpuDevice device(KernelsFor(DescribeCpu().highest, MicroArchitecture::kOther));
  const Shape shape = {Dim(64), Dim(384)};
  const Step map = StepOf(MapStep{shape, GeluOfSum(shape)}, 2);
  const Step reduce = StepOf(ReduceStep{.extents = shape, .reduced = 1, .op = ReduceOp::kSum, .accumulator = DType::kFloat32,
                                        .program = GeluOfSum(shape), .finish = {}}, 2);
  TestTensor x(DType::kFloat32, {64, 384}), bias(DType::kFloat32, {384}), y(DType::kFloat32, {64, 384}), sums(DType::kFloat32, {64});
  const TensorView inputs[] = {x.view(), bias.view()}, outputs[] = {y.view()}, sum_view[] = {sums.view()};
  std::unique_ptr<Kernel> map_kernel = std::move(*device.PrepareKernel(map, {}));
  std::unique_ptr<Kernel> reduce_kernel = std::move(*device.PrepareKernel(reduce, {}));
  for (const int threads : {1, 3}) {
    std::unique_ptr<Stream> stream = std::move(*device.CreateStream({.threads = threads}));
    std::unique_ptr<CapturedGraph> graph = std::move(*device.CreateGraph());
    ASSERT_TRUE(graph->CaptureBegin(*stream, {}, CaptureMode::kDefault).ok());
    ASSERT_TRUE(stream->Launch(*map_kernel, {inputs, outputs, {}}, "map").ok());
    ASSERT_TRUE(stream->Launch(*reduce_kernel, {inputs, sum_view, {}}, "reduce").ok());
    ASSERT_TRUE(stream->CopyWithin(y.view().data, x.view().data, 64).ok());
    ASSERT_TRUE(graph->CaptureEnd().ok());
    ASSERT_TRUE(graph->Instantiate().ok());
    ASSERT_TRUE(graph->Replay(*stream).ok());
    const int64_t before = allocations;
    for (int i = 0; i < 100; ++i) graph->Replay(*stream).IgnoreError("counted only");
    EXPECT_EQ(allocations - before, 0) << threads << " threads";
  }
}

// Records bodies that set bytes.
class CpuBodies : public ::testing::Test {
 protected:
  void SetUp() override {
    stream_ = std::move(*device_.CreateStream({.threads = 1}));
    graph_ = std::move(*device_.CreateGraph());
    ASSERT_TRUE(graph_->CaptureBegin(*stream_, {}, CaptureMode::kDefault).ok());
  }
  Status Set(std::byte* place, int value) { return stream_->Fill(place, static_cast<std::byte>(value), 1); }
  void Finish() {
    ASSERT_TRUE(graph_->CaptureEnd().ok());
    ASSERT_TRUE(graph_->Instantiate().ok());
  }

  CpuDevice device_{KernelsFor(DescribeCpu().highest, MicroArchitecture::kOther)};
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<CapturedGraph> graph_;
  std::byte decision_{0}, other_{0}, taken_{0}, skipped_{0};
};

TEST_F(CpuBodies, AReplayDecidesByWhatIsInMemoryThen) {
  ASSERT_TRUE(stream_->BeginBody(BodyKind::kIf, &decision_).ok());
  ASSERT_TRUE(Set(&taken_, 1).ok());
  ASSERT_TRUE(stream_->BeginBody(BodyKind::kIfNot, &other_).ok());
  ASSERT_TRUE(Set(&taken_, 2).ok());
  ASSERT_TRUE(stream_->EndBody().ok());
  ASSERT_TRUE(stream_->EndBody().ok());
  ASSERT_TRUE(stream_->BeginBody(BodyKind::kIfNot, &decision_).ok());
  ASSERT_TRUE(Set(&skipped_, 1).ok());
  ASSERT_TRUE(stream_->EndBody().ok());
  Finish();
  struct Case {
    int decision, other, taken, skipped;
  };
  for (const Case& c : {Case{1, 1, 1, 0}, {1, 0, 2, 0}, {0, 1, 0, 1}, {0, 0, 0, 1}}) {
    decision_ = static_cast<std::byte>(c.decision);
    other_ = static_cast<std::byte>(c.other);
    taken_ = skipped_ = std::byte{0};
    const int64_t before = allocations;
    ASSERT_TRUE(graph_->Replay(*stream_).ok());
    EXPECT_EQ(allocations - before, 0);
    EXPECT_EQ(taken_, static_cast<std::byte>(c.taken));
    EXPECT_EQ(skipped_, static_cast<std::byte>(c.skipped));
  }
}

TEST_F(CpuBodies, ALoopGoesOnWhileItsBodyLeavesTheDecisionTrue) {
  ASSERT_TRUE(stream_->BeginBody(BodyKind::kWhile, &decision_).ok());
  ASSERT_TRUE(stream_->CopyWithin(&decision_, &other_, 1).ok());
  ASSERT_TRUE(Set(&other_, 0).ok());
  ASSERT_TRUE(Set(&taken_, 1).ok());
  ASSERT_TRUE(stream_->EndBody().ok());
  Finish();
  ASSERT_TRUE(graph_->Replay(*stream_).ok());
  EXPECT_EQ(taken_, std::byte{0}) << "not even once";
  decision_ = other_ = std::byte{1};
  ASSERT_TRUE(graph_->Replay(*stream_).ok());
  EXPECT_EQ(taken_, std::byte{1});
  EXPECT_EQ(decision_, std::byte{0});
}

TEST_F(CpuBodies, ALoopThatDoesNotEndIsAnError) {
  ASSERT_TRUE(stream_->BeginBody(BodyKind::kWhile, &decision_).ok());
  ASSERT_TRUE(stream_->EndBody().ok());
  Finish();
  decision_ = std::byte{1};
  EXPECT_EQ(graph_->Replay(*stream_).code(), StatusCode::kInvalidArgument);
  decision_ = std::byte{0};
  EXPECT_TRUE(graph_->Replay(*stream_).ok());
}

TEST_F(CpuBodies, BodiesMustBeClosed) {
  EXPECT_FALSE(stream_->EndBody().ok());
  ASSERT_TRUE(stream_->BeginBody(BodyKind::kIf, &decision_).ok());
  EXPECT_EQ(graph_->CaptureEnd().code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(stream_->BeginBody(BodyKind::kIf, &decision_).ok()) << "nothing is being captured";
}

}  // namespace
}  // namespace tondar::cpu
