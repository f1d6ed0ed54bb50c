// Steps: eager launches of loop kinds, dynamic shapes, failing data, refusals.
#include <cmath>

#include "engine/plan/loop_builder.h"
#include "tests/conformance/accelerators/conformance.h"

namespace tondar::conformance {
namespace {

using Steps = DeviceTest;

std::vector<float> Ramp(size_t n, float step = 1) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i) * step;
  return values;
}

Operand FloatOperand(const Shape& shape) {
  return {.slot = 0, .dtype = DType::kFloat32, .shape = shape, .strides = ContiguousStrides(shape), .offset = Dim(0)};
}

TEST_F(Steps, MapAddsTwoTensors) {
  std::unique_ptr<Stream> stream = MakeStream();
  std::unique_ptr<Kernel> kernel = Prepare(AddStep({Dim(1000)}, {Dim(1000)}, {Dim(1000)}));
  const DeviceArray x = MakeArray(*stream, {1000}, Ramp(1000)), y = MakeArray(*stream, {1000}, Ramp(1000, 2));
  const DeviceArray z = MakeArray(*stream, {1000}, std::vector<float>(1000));
  const TensorView inputs[] = {x.view, y.view}, outputs[] = {z.view};
  ASSERT_TRUE(stream->Launch(*kernel, {inputs, outputs, {}}, "add").ok());
  EXPECT_EQ(ReadFloats(*stream, z), Ramp(1000, 3));
}

TEST_F(Steps, MapBroadcastsAndReadsStridedOperands) {
  std::unique_ptr<Stream> stream = MakeStream();
  std::unique_ptr<Kernel> kernel = Prepare(AddStep({Dim(3), Dim(4)}, {Dim(3), Dim(4)}, {Dim(4)}));
  DeviceArray x = MakeArray(*stream, {4, 3}, Ramp(12));
  x.view.shape = Dims{3, 4};
  x.view.strides = Dims{1, 3};  // transposed
  const DeviceArray bias = MakeArray(*stream, {4}, std::vector<float>{100, 200, 300, 400});
  const DeviceArray z = MakeArray(*stream, {3, 4}, std::vector<float>(12));
  const TensorView inputs[] = {x.view, bias.view}, outputs[] = {z.view};
  ASSERT_TRUE(stream->Launch(*kernel, {inputs, outputs, {}}, "add").ok());
  EXPECT_EQ(ReadFloats(*stream, z), (std::vector<float>{100, 203, 306, 409, 101, 204, 307, 410, 102, 205, 308, 411}));
}

TEST_F(Steps, MapFusesAChain) {
  LoopBuilder b;
  const auto x = b.Load(BroadcastAccess(0, {Dim(7)}, 1), DType::kFloat32);
  b.Result(b.Binary(LoopOp::kMul, x, b.Unary(LoopOp::kSigmoid, x)));
  Step step{"silu_0", MapStep{{Dim(7)}, std::move(b).Build()}, {FloatOperand({Dim(7)})}, {FloatOperand({Dim(7)})}};
  std::unique_ptr<Stream> stream = MakeStream();
  std::unique_ptr<Kernel> kernel = Prepare(step);
  const std::vector<float> values = {-3, -1, 0, 0.5, 1, 2, 10};
  const DeviceArray in = MakeArray(*stream, {7}, values), out = MakeArray(*stream, {7}, std::vector<float>(7));
  const TensorView inputs[] = {in.view}, outputs[] = {out.view};
  ASSERT_TRUE(stream->Launch(*kernel, {inputs, outputs, {}}, "silu").ok());
  const std::vector<float> actual = ReadFloats(*stream, out);
  for (size_t i = 0; i < 7; ++i) EXPECT_NEAR(actual[i], values[i] / (1 + std::exp(-values[i])), 1e-6) << i;
}

TEST_F(Steps, MapServesEveryShapeOfItsSymbols) {
  const Dim n = Dim::Symbol(0);
  std::unique_ptr<Stream> stream = MakeStream();
  std::unique_ptr<Kernel> kernel = Prepare(AddStep({n, Dim(5)}, {n, Dim(5)}, {Dim(5)}));
  for (const int64_t rows : {1, 2, 33, 0, 200}) {
    const auto elements = static_cast<size_t>(rows) * 5;
    const DeviceArray x = MakeArray(*stream, {rows, 5}, Ramp(elements)), y = MakeArray(*stream, {5}, std::vector<float>(5, 1));
    const DeviceArray z = MakeArray(*stream, {rows, 5}, std::vector<float>(elements));
    const TensorView inputs[] = {x.view, y.view}, outputs[] = {z.view};
    const int64_t symbols[] = {rows};
    ASSERT_TRUE(stream->Launch(*kernel, {inputs, outputs, symbols}, "add").ok());
    const std::vector<float> actual = ReadFloats(*stream, z);
    for (size_t i = 0; i < elements; ++i) ASSERT_EQ(actual[i], static_cast<float>(i) + 1) << rows << " rows";
  }
}

TEST_F(Steps, MapReportsAnIndexOutOfRange) {
  std::unique_ptr<Stream> stream = MakeStream();
  std::unique_ptr<Kernel> kernel = Prepare(LookupStep(Dim(10), Dim(4), Dim(3)));
  const DeviceArray table = MakeArray(*stream, {10, 4}, Ramp(40)), out = MakeArray(*stream, {3, 4}, std::vector<float>(12));
  const DeviceArray good = MakeArray(*stream, {3}, std::vector<int64_t>{9, -10, 0});
  const DeviceArray bad = MakeArray(*stream, {3}, std::vector<int64_t>{0, 10, 0});
  const TensorView outputs[] = {out.view};
  const auto run = [&](const DeviceArray& ids) {
    const TensorView inputs[] = {table.view, ids.view};
    const Status launched = stream->Launch(*kernel, {inputs, outputs, {}}, "token embedding");
    return launched.ok() ? stream->Synchronize() : launched;
  };
  ASSERT_TRUE(run(good).ok());
  EXPECT_EQ(ReadFloats(*stream, out), (std::vector<float>{36, 37, 38, 39, 0, 1, 2, 3, 0, 1, 2, 3}));
  const Status status = run(bad);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("token embedding"), std::string_view::npos) << status.ToString();
  EXPECT_TRUE(run(good).ok());  // the stream goes on
}

TEST_F(Steps, ReduceSumsRowsAndColumns) {
  std::unique_ptr<Stream> stream = MakeStream();
  const DeviceArray x = MakeArray(*stream, {3, 4}, Ramp(12));
  const TensorView inputs[] = {x.view};
  const auto sum = [&](std::vector<IndexExpression> index, const Shape& extents, int64_t outputs_count) {
    LoopBuilder b;
    b.Result(b.Load({.operand = 0, .index = std::move(index)}, DType::kFloat32));
    Step step{"sum_0", ReduceStep{.extents = extents, .reduced = 1, .op = ReduceOp::kSum, .accumulator = DType::kFloat32,
                                  .program = std::move(b).Build(), .finish = {}},
              {FloatOperand({Dim(3), Dim(4)})}, {FloatOperand({extents[0]})}};
    std::unique_ptr<Kernel> kernel = Prepare(step);
    const DeviceArray out = MakeArray(*stream, {outputs_count}, std::vector<float>(static_cast<size_t>(outputs_count)));
    const TensorView outputs[] = {out.view};
    EXPECT_TRUE(stream->Launch(*kernel, {inputs, outputs, {}}, "sum").ok());
    return ReadFloats(*stream, out);
  };
  EXPECT_EQ(sum({IndexExpression::LoopDim(0), IndexExpression::LoopDim(1)}, {Dim(3), Dim(4)}, 3), (std::vector<float>{6, 22, 38}));
  EXPECT_EQ(sum({IndexExpression::LoopDim(1), IndexExpression::LoopDim(0)}, {Dim(4), Dim(3)}, 4), (std::vector<float>{12, 15, 18, 21}));
}

TEST_F(Steps, ReduceFinishesWithAProgram) {
  LoopBuilder b, finish;
  b.Result(b.Load(BroadcastAccess(0, {Dim(2), Dim(5)}, 2), DType::kFloat32));
  finish.Result(finish.Binary(LoopOp::kDiv, finish.Accumulator(0, DType::kFloat32), finish.Constant(5, DType::kFloat32)));
  Step step{"mean_0", ReduceStep{.extents = {Dim(2), Dim(5)}, .reduced = 1, .op = ReduceOp::kSum, .accumulator = DType::kFloat32,
                                 .program = std::move(b).Build(), .finish = std::move(finish).Build()},
            {FloatOperand({Dim(2), Dim(5)})}, {FloatOperand({Dim(2)})}};
  std::unique_ptr<Stream> stream = MakeStream();
  std::unique_ptr<Kernel> kernel = Prepare(step);
  const DeviceArray x = MakeArray(*stream, {2, 5}, Ramp(10)), out = MakeArray(*stream, {2}, std::vector<float>(2));
  const TensorView inputs[] = {x.view}, outputs[] = {out.view};
  ASSERT_TRUE(stream->Launch(*kernel, {inputs, outputs, {}}, "mean").ok());
  EXPECT_EQ(ReadFloats(*stream, out), (std::vector<float>{2, 7}));
}

TEST_F(Steps, ScanRunsAlongTheLastDim) {
  LoopBuilder b;
  b.Result(b.Load(BroadcastAccess(0, {Dim(2), Dim(4)}, 2), DType::kFloat32));
  Step step{"cumsum_0", ScanStep{{Dim(2), Dim(4)}, ReduceOp::kSum, DType::kFloat32, std::move(b).Build()},
            {FloatOperand({Dim(2), Dim(4)})}, {FloatOperand({Dim(2), Dim(4)})}};
  std::unique_ptr<Stream> stream = MakeStream();
  std::unique_ptr<Kernel> kernel = Prepare(step);
  const DeviceArray x = MakeArray(*stream, {2, 4}, Ramp(8)), out = MakeArray(*stream, {2, 4}, std::vector<float>(8));
  const TensorView inputs[] = {x.view}, outputs[] = {out.view};
  ASSERT_TRUE(stream->Launch(*kernel, {inputs, outputs, {}}, "cumsum").ok());
  EXPECT_EQ(ReadFloats(*stream, out), (std::vector<float>{0, 1, 3, 6, 4, 9, 15, 22}));
}

TEST_F(Steps, SupportsAndPrepareKernelAgreeOnRefusals) {
  LoopBuilder b;
  b.Result(b.Load(BroadcastAccess(0, {Dim(4)}, 1), DType::kString));
  Step step{"strings_0", MapStep{{Dim(4)}, std::move(b).Build()}, {FloatOperand({Dim(4)})}, {FloatOperand({Dim(4)})}};
  step.inputs[0].dtype = step.outputs[0].dtype = DType::kString;
  const Status status = device().Supports(step);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("strings_0"), std::string_view::npos) << status.ToString();
  const Constant* const constants[] = {nullptr};
  EXPECT_EQ(device().PrepareKernel(step, constants).status().code(), StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace tondar::conformance
