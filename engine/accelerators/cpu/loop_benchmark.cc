// Replayed loop steps: the price of a call, and the shapes that models are made of. Counters: bytes read and written.
#include <benchmark/benchmark.h>

#include "engine/accelerators/cpu/cpu_device.h"
#include "engine/accelerators/cpu/testing/loop_launch.h"
#include "engine/plan/loop_builder.h"

namespace tondar::cpu {
namespace {

using Handle = LoopBuilder::Handle;

// Captures `calls` launches of one step and replays them; the time is that of one launch.
void Replay(benchmark::State& state, const StepBody& body, std::vector<TensorView> inputs, std::vector<TensorView> outputs) {
  constexpr int kCalls = 10;
  CpuDevice device(KernelsFor(DescribeCpu().highest, DescribeCpu().micro_architecture));
  Step step;
  step.name = "step";
  step.body = body;
  int64_t bytes = 0;
  for (const TensorView& view : inputs) {
    step.inputs.push_back({.slot = 0, .dtype = view.dtype, .shape = {}, .strides = {}, .offset = {}});
    bytes += static_cast<int64_t>(view.size_bytes());
  }
  for (const TensorView& view : outputs) {
    step.outputs.push_back({.slot = 0, .dtype = view.dtype, .shape = {}, .strides = {}, .offset = {}});
    bytes += static_cast<int64_t>(view.size_bytes());
  }
  const std::unique_ptr<Kernel> kernel = std::move(*device.PrepareKernel(step, {}));
  const std::unique_ptr<Stream> stream = std::move(*device.CreateStream({.threads = 1}));
  const std::unique_ptr<CapturedGraph> graph = std::move(*device.CreateGraph());
  graph->CaptureBegin(*stream, {}, CaptureMode::kDefault).IgnoreError("checked by the replay");
  for (int i = 0; i < kCalls; ++i) stream->Launch(*kernel, {inputs, outputs, {}}, "step").IgnoreError("checked by the replay");
  graph->CaptureEnd().IgnoreError("checked by the replay");
  graph->Instantiate().IgnoreError("checked by the replay");
  for (auto _ : state) {
    if (!graph->Replay(*stream).ok()) state.SkipWithError("replay failed");
  }
  state.SetItemsProcessed(state.iterations() * kCalls);
  state.SetBytesProcessed(state.iterations() * kCalls * bytes);
  state.counters["ns_per_call"] = benchmark::Counter(static_cast<double>(state.iterations()) * kCalls / 1e9,
                                                     benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

Handle LoadOf(LoopBuilder& b, int operand, const Dims& operand_shape, int rank, DType dtype = DType::kFloat32) {
  return b.Load(BroadcastAccess(operand, ToShape(operand_shape), rank), dtype);
}

TestTensor Random(const Dims& shape, DType dtype = DType::kFloat32) {
  TestTensor tensor(dtype, shape);
  std::mt19937 random(1);
  tensor.FillRandom(random);
  return tensor;
}

void BM_Add(benchmark::State& state) {
  const Dims shape = {state.range(0)};
  TestTensor x = Random(shape), y = Random(shape), z(DType::kFloat32, shape);
  LoopBuilder b;
  b.Result(b.Binary(LoopOp::kAdd, LoadOf(b, 0, shape, 1), LoadOf(b, 1, shape, 1)));
  Replay(state, MapStep{ToShape(shape), std::move(b).Build()}, {x.view(), y.view()}, {z.view()});
}
BENCHMARK(BM_Add)->Arg(1)->Arg(16)->Arg(384)->Arg(16384)->Arg(1 << 20);

// A chain over [rows, columns]: a bias of the columns, an activation, a residual.
void BM_BiasGeluResidual(benchmark::State& state) {
  const Dims shape = {state.range(0), state.range(1)}, bias_shape = {state.range(1)};
  TestTensor x = Random(shape), bias = Random(bias_shape), r = Random(shape), z(DType::kFloat32, shape);
  LoopBuilder b;
  const Handle sum = b.Binary(LoopOp::kAdd, LoadOf(b, 0, shape, 2), LoadOf(b, 1, bias_shape, 2));
  b.Result(b.Binary(LoopOp::kAdd, b.Unary(LoopOp::kGelu, sum), LoadOf(b, 2, shape, 2)));
  Replay(state, MapStep{ToShape(shape), std::move(b).Build()}, {x.view(), bias.view(), r.view()}, {z.view()});
}
BENCHMARK(BM_BiasGeluResidual)->Args({1, 384})->Args({16, 384})->Args({128, 1536})->Args({1000, 3});

void BM_Unary(benchmark::State& state, LoopOp op) {
  const Dims shape = {16384};
  TestTensor x = Random(shape), z(DType::kFloat32, shape);
  LoopBuilder b;
  b.Result(b.Unary(op, LoadOf(b, 0, shape, 1)));
  Replay(state, MapStep{ToShape(shape), std::move(b).Build()}, {x.view()}, {z.view()});
}
BENCHMARK_CAPTURE(BM_Unary, relu, LoopOp::kRelu);
BENCHMARK_CAPTURE(BM_Unary, exp, LoopOp::kExp);
BENCHMARK_CAPTURE(BM_Unary, tanh, LoopOp::kTanh);
BENCHMARK_CAPTURE(BM_Unary, gelu, LoopOp::kGelu);
BENCHMARK_CAPTURE(BM_Unary, sigmoid, LoopOp::kSigmoid);
BENCHMARK_CAPTURE(BM_Unary, log, LoopOp::kLog);
BENCHMARK_CAPTURE(BM_Unary, sin, LoopOp::kSin);

// NCHW to NHWC, and back where channels are few.
void BM_ChannelsLast(benchmark::State& state) {
  const int64_t c = state.range(0), hw = state.range(1);
  TestTensor x = Random({c, hw}), z(DType::kFloat32, {hw, c});
  TensorView from = x.view();
  from.shape = Dims{hw, c};
  from.strides = Dims{1, hw};
  LoopBuilder b;
  b.Result(LoadOf(b, 0, {hw, c}, 2));
  Replay(state, MapStep{ToShape(Dims{hw, c}), std::move(b).Build()}, {from}, {z.view()});
}
BENCHMARK(BM_ChannelsLast)->Args({3, 224 * 224})->Args({64, 56 * 56})->Args({224 * 224, 3})->Args({56 * 56, 64});

void BM_Embedding(benchmark::State& state) {
  const int64_t n = state.range(0), width = 384;
  TestTensor table = Random({30522, width}), ids(DType::kInt64, {n}), z(DType::kFloat32, {n, width});
  for (int64_t i = 0; i < n; ++i) ids.Set(i, {0, i * 97 % 30522});
  LoopBuilder b;
  const Handle id = b.Load({.operand = 1, .index = {IndexExpression::LoopDim(0)}}, DType::kInt64);
  b.Result(b.Load({.operand = 0, .index = {IndexExpression::Dynamic(id), IndexExpression::LoopDim(1)}}, DType::kFloat32));
  TensorView small = table.view();
  Replay(state, MapStep{{Dim(n), Dim(width)}, std::move(b).Build()}, {small, ids.view()}, {z.view()});
}
BENCHMARK(BM_Embedding)->Arg(16)->Arg(128);

void BM_SumRows(benchmark::State& state) {
  const Dims shape = {state.range(0), state.range(1)};
  TestTensor x = Random(shape), z(DType::kFloat32, {state.range(0)});
  LoopBuilder b;
  b.Result(LoadOf(b, 0, shape, 2));
  Replay(state, ReduceStep{.extents = ToShape(shape), .reduced = 1, .op = ReduceOp::kSum, .accumulator = DType::kFloat32,
                           .program = std::move(b).Build(), .finish = {}}, {x.view()}, {z.view()});
}
BENCHMARK(BM_SumRows)->Args({1, 384})->Args({128, 384})->Args({64, 16384});

// 3 x 3 maximum at stride 2 with padding 1 over a channels-last image; 7 x 7 average of one.
void BM_MaxPool(benchmark::State& state) {
  const int64_t size = 112, c = 64, out = 56;
  TestTensor x = Random({size, size, c}), z(DType::kFloat32, {out, out, c});
  Access access{.operand = 0, .index = {}, .fill = -INFINITY};
  for (int d = 0; d < 2; ++d) {
    access.index.push_back({{{static_cast<int8_t>(d), 2}, {static_cast<int8_t>(d + 3), 1}}, Dim(-1), -1, true});
  }
  access.index.push_back(IndexExpression::LoopDim(2));
  LoopBuilder b;
  b.Result(b.Load(access, DType::kFloat32));
  Replay(state, ReduceStep{.extents = {Dim(out), Dim(out), Dim(c), Dim(3), Dim(3)}, .reduced = 2, .op = ReduceOp::kMax,
                           .accumulator = DType::kFloat32, .program = std::move(b).Build(), .finish = {}}, {x.view()}, {z.view()});
}
BENCHMARK(BM_MaxPool);

void BM_GlobalAverage(benchmark::State& state) {
  TestTensor x = Random({7, 7, 2048}), z(DType::kFloat32, {2048});
  LoopBuilder b;
  b.Result(b.Load({.operand = 0, .index = {IndexExpression::LoopDim(1), IndexExpression::LoopDim(2), IndexExpression::LoopDim(0)}}, DType::kFloat32));
  Replay(state, ReduceStep{.extents = {Dim(2048), Dim(7), Dim(7)}, .reduced = 2, .op = ReduceOp::kSum,
                           .accumulator = DType::kFloat32, .program = std::move(b).Build(), .finish = {}}, {x.view()}, {z.view()});
}
BENCHMARK(BM_GlobalAverage);

}  // namespace
}  // namespace tondar::cpu
