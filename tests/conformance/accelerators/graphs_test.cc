// Captured graphs: the states of torch.accelerator.Graph, what a capture records, and what ends it.
#include "tests/conformance/accelerators/conformance.h"

namespace tondar::conformance {
namespace {

class Graphs : public DeviceTest {
 protected:
  // y = x + 1.
  struct Work {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Kernel> kernel;
    DeviceArray x, y;
    std::vector<TensorView> inputs, outputs;
    Status Launch(Stream& on) { return on.Launch(*kernel, {inputs, outputs, {}}, "increment"); }
  };
  Work MakeWork() {
    Work work;
    work.stream = MakeStream();
    work.kernel = Prepare(IncrementStep(Dim(8)));
    work.x = MakeArray(*work.stream, {8}, std::vector<float>(8, 1));
    work.y = MakeArray(*work.stream, {8}, std::vector<float>(8, 0));
    work.inputs = {work.x.view};
    work.outputs = {work.y.view};
    return work;
  }
  // A graph of one launch, instantiated.
  std::unique_ptr<CapturedGraph> Capture(Work& work) {
    std::unique_ptr<CapturedGraph> graph = MakeGraph();
    EXPECT_TRUE(graph->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).ok());
    EXPECT_TRUE(work.Launch(*work.stream).ok());
    EXPECT_TRUE(graph->CaptureEnd().ok());
    EXPECT_TRUE(graph->Instantiate().ok());
    return graph;
  }
};

constexpr StatusCode kWrongState = StatusCode::kFailedPrecondition;

TEST_F(Graphs, CallsInTheWrongStateAreRefused) {
  Work work = MakeWork();
  std::unique_ptr<CapturedGraph> graph = MakeGraph();
  // empty
  EXPECT_EQ(graph->CaptureEnd().code(), kWrongState);
  EXPECT_EQ(graph->Instantiate().code(), kWrongState);
  EXPECT_EQ(graph->Replay(*work.stream).code(), kWrongState);
  EXPECT_TRUE(graph->Reset().ok());
  // capturing
  ASSERT_TRUE(graph->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).ok());
  EXPECT_EQ(graph->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).code(), kWrongState);
  EXPECT_EQ(graph->Instantiate().code(), kWrongState);
  EXPECT_EQ(graph->Replay(*work.stream).code(), kWrongState);
  ASSERT_TRUE(work.Launch(*work.stream).ok());
  ASSERT_TRUE(graph->CaptureEnd().ok());
  // captured
  EXPECT_EQ(graph->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).code(), kWrongState);
  EXPECT_EQ(graph->CaptureEnd().code(), kWrongState);
  EXPECT_EQ(graph->Replay(*work.stream).code(), kWrongState);
  ASSERT_TRUE(graph->Instantiate().ok());
  // instantiated
  EXPECT_EQ(graph->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).code(), kWrongState);
  EXPECT_EQ(graph->CaptureEnd().code(), kWrongState);
  EXPECT_TRUE(graph->Replay(*work.stream).ok());
}

TEST_F(Graphs, ACaptureRecordsAndDoesNotRun) {
  Work work = MakeWork();
  std::unique_ptr<CapturedGraph> graph = MakeGraph();
  ASSERT_TRUE(graph->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).ok());
  EXPECT_TRUE(work.stream->IsCapturing());
  ASSERT_TRUE(work.Launch(*work.stream).ok());
  ASSERT_TRUE(work.stream->CopyWithin(work.x.view.data, work.y.view.data, 32).ok());
  ASSERT_TRUE(graph->CaptureEnd().ok());
  EXPECT_FALSE(work.stream->IsCapturing());
  EXPECT_EQ(graph->size(), 2u);
  ASSERT_TRUE(graph->Instantiate().ok());
  EXPECT_EQ(ReadFloats(*work.stream, work.y), std::vector<float>(8, 0));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(graph->Replay(*work.stream).ok());
  EXPECT_EQ(ReadFloats(*work.stream, work.x), std::vector<float>(8, 4));
}

TEST_F(Graphs, ReplayReadsWhatTheBuffersHoldNow) {
  Work work = MakeWork();
  std::unique_ptr<CapturedGraph> graph = Capture(work);
  const std::vector<float> fresh(8, 41);
  ASSERT_TRUE(work.stream->CopyIn(work.x.view.data, std::as_bytes(std::span<const float>(fresh))).ok());
  ASSERT_TRUE(graph->Replay(*work.stream).ok());
  EXPECT_EQ(ReadFloats(*work.stream, work.y), std::vector<float>(8, 42));
}

TEST_F(Graphs, ReplaysOnAnotherStream) {
  Work work = MakeWork();
  std::unique_ptr<CapturedGraph> graph = Capture(work);
  std::unique_ptr<Stream> other = MakeStream(2);
  ASSERT_TRUE(graph->Replay(*other).ok());
  EXPECT_EQ(ReadFloats(*other, work.y), std::vector<float>(8, 2));
  work.stream.reset();  // a graph outlives the stream that it was captured on
  ASSERT_TRUE(graph->Replay(*other).ok());
}

TEST_F(Graphs, ResetEmptiesAndAllowsAnotherCapture) {
  Work work = MakeWork();
  std::unique_ptr<CapturedGraph> graph = Capture(work);
  ASSERT_TRUE(graph->Reset().ok());
  EXPECT_EQ(graph->size(), 0u);
  EXPECT_EQ(graph->Replay(*work.stream).code(), kWrongState);
  ASSERT_TRUE(graph->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).ok());
  ASSERT_TRUE(graph->Reset().ok());  // ends the capture
  EXPECT_FALSE(work.stream->IsCapturing());
  ASSERT_TRUE(graph->CaptureBegin(*work.stream, {}, CaptureMode::kRelaxed).ok());
  ASSERT_TRUE(graph->CaptureEnd().ok());
}

TEST_F(Graphs, SynchronisingEndsTheCaptureWithAnError) {
  Work work = MakeWork();
  std::unique_ptr<CapturedGraph> graph = MakeGraph();
  ASSERT_TRUE(graph->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).ok());
  EXPECT_EQ(work.stream->Synchronize().code(), kWrongState);
  EXPECT_EQ(graph->CaptureEnd().code(), kWrongState);
  EXPECT_FALSE(work.stream->IsCapturing());
  EXPECT_EQ(graph->size(), 0u);
  ASSERT_TRUE(graph->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).ok());  // empty again
  ASSERT_TRUE(graph->CaptureEnd().ok());
}

TEST_F(Graphs, AFailingLaunchFailsTheCapture) {
  Work work = MakeWork();
  std::unique_ptr<CapturedGraph> graph = MakeGraph();
  ASSERT_TRUE(graph->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).ok());
  const Status refused = work.stream->Launch(*work.kernel, {work.inputs, {}, {}}, "no output");
  EXPECT_FALSE(refused.ok());
  const Status ended = graph->CaptureEnd();
  EXPECT_EQ(ended.code(), refused.code());
  EXPECT_NE(ended.message().find("no output"), std::string_view::npos) << ended.ToString();
  EXPECT_EQ(graph->Instantiate().code(), kWrongState);
}

TEST_F(Graphs, DataThatFailsAStepFailsTheReplayOnly) {
  std::unique_ptr<Stream> stream = MakeStream();
  std::unique_ptr<Kernel> kernel = Prepare(LookupStep(Dim(10), Dim(4), Dim(1)));
  const DeviceArray table = MakeArray(*stream, {10, 4}, std::vector<float>(40, 3)), out = MakeArray(*stream, {1, 4}, std::vector<float>(4));
  const DeviceArray ids = MakeArray(*stream, {1}, std::vector<int64_t>{99});
  const TensorView inputs[] = {table.view, ids.view}, outputs[] = {out.view};
  std::unique_ptr<CapturedGraph> graph = MakeGraph();
  ASSERT_TRUE(graph->CaptureBegin(*stream, {}, CaptureMode::kDefault).ok());
  ASSERT_TRUE(stream->Launch(*kernel, {inputs, outputs, {}}, "token embedding").ok());
  ASSERT_TRUE(graph->CaptureEnd().ok());
  ASSERT_TRUE(graph->Instantiate().ok());
  Status status = graph->Replay(*stream);
  if (status.ok()) status = stream->Synchronize();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("token embedding"), std::string_view::npos) << status.ToString();
  const int64_t good = 2;
  ASSERT_TRUE(stream->CopyIn(ids.view.data, std::as_bytes(std::span<const int64_t>(&good, 1))).ok());
  ASSERT_TRUE(graph->Replay(*stream).ok());
  EXPECT_EQ(ReadFloats(*stream, out), std::vector<float>(4, 3));
}

TEST_F(Graphs, OneStreamIsCapturedByOneGraph) {
  Work work = MakeWork();
  std::unique_ptr<CapturedGraph> one = MakeGraph(), two = MakeGraph();
  ASSERT_TRUE(one->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).ok());
  EXPECT_EQ(two->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).code(), kWrongState);
  ASSERT_TRUE(one->CaptureEnd().ok());
}

TEST_F(Graphs, PoolsAreNamedAndShared) {
  Work work = MakeWork();
  std::unique_ptr<CapturedGraph> one = Capture(work), two = MakeGraph();
  EXPECT_NE(one->pool(), PoolId{});
  ASSERT_TRUE(two->CaptureBegin(*work.stream, one->pool(), CaptureMode::kDefault).ok());
  ASSERT_TRUE(two->CaptureEnd().ok());
  EXPECT_EQ(two->pool(), one->pool());
  std::unique_ptr<CapturedGraph> three = Capture(work);
  EXPECT_NE(three->pool(), one->pool());
}

TEST_F(Graphs, AGraphDestroyedWhileCapturingFreesItsStream) {
  Work work = MakeWork();
  std::unique_ptr<CapturedGraph> graph = MakeGraph();
  ASSERT_TRUE(graph->CaptureBegin(*work.stream, {}, CaptureMode::kDefault).ok());
  graph.reset();
  EXPECT_FALSE(work.stream->IsCapturing());
  EXPECT_TRUE(work.stream->Synchronize().ok());
}

}  // namespace
}  // namespace tondar::conformance
