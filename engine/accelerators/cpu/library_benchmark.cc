// Speed of matmul, conv, attention and norm steps as a model runs them: bound once, weights packed and cold where a model's
// would be. Counters: GFLOP/s (a multiply-add is two) and its share of the machine's multiply-add rate on one thread.
//   taskset -c 1 tondar_engine_accelerators_cpu_benchmark --benchmark_filter=MatMul
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "engine/accelerators/cpu/testing/step_harness.h"
#include "engine/plan/loop_builder.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tondar::cpu {
namespace {

#if defined(__x86_64__)
__attribute__((target("avx512f"))) double MultiplyAdds512(int rounds) {
  __m512 sums[16];
  for (int i = 0; i < 16; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f);
  for (int r = 0; r < rounds; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) sums[i] = _mm512_fmadd_ps(sums[i], x, y);
  for (int i = 0; i < 16; ++i) benchmark::DoNotOptimize(sums[i]);
  return rounds * 16.0 * 32;
}
__attribute__((target("avx2,fma"))) double MultiplyAdds256(int rounds) {
  __m256 sums[12];
  for (int i = 0; i < 12; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);
  for (int r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) sums[i] = _mm256_fmadd_ps(sums[i], x, y);
  for (int i = 0; i < 12; ++i) benchmark::DoNotOptimize(sums[i]);
  return rounds * 12.0 * 16;
}
#endif

// Floating-point operations per second of one thread that only multiplies and adds in registers; 0: not measured.
double Roof() {
  static const double roof = [] {
    double best = 0;
#if defined(__x86_64__)
    const IsaLevel level = DescribeCpu().highest;
    if (level < IsaLevel::kAvx2) return best;
    for (int i = 0; i < 5; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const double operations = level >= IsaLevel::kAvx512 ? MultiplyAdds512(1000000) : MultiplyAdds256(1000000);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      best = std::max(best, operations / taken.count());
    }
#endif
    return best;
  }();
  return roof;
}

void Report(benchmark::State& state, double operations, int threads) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(operations / 1e9, benchmark::Counter::kIsIterationInvariantRate);
  if (Roof() > 0)
    state.counters["of_roof"] =
        benchmark::Counter(operations / (Roof() * threads), benchmark::Counter::kIsIterationInvariantRate);
}

HarnessOptions Options(int threads, std::vector<size_t> constants) {
  HarnessOptions options;
  options.level = DescribeCpu().highest;
  options.micro_architecture = DescribeCpu().micro_architecture;
  options.threads = threads;
  options.constants = std::move(constants);
  return options;
}

StepTensor Random(const Dims& shape) {
  std::mt19937 random(1);
  StepTensor tensor(DType::kFloat32, shape);
  tensor.FillRandom(random);
  return tensor;
}
StepTensor RandomImage(const Dims& shape) {
  std::mt19937 random(1);
  StepTensor tensor(DType::kFloat32, shape, {0, 2, 3, 1});
  tensor.FillRandom(random);
  return tensor;
}

// Runs the steps in turn: several copies of a layer, so that weights come from where a model's weights come from.
void RunAll(benchmark::State& state, std::vector<std::unique_ptr<BoundStep>>& steps) {
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(steps[next]->Run().ok());
    next = next + 1 == steps.size() ? 0 : next + 1;
  }
}

LoopProgram BiasThen(int column_dim, std::optional<LoopOp> activation) {
  LoopBuilder b;
  auto value = b.Binary(LoopOp::kAdd, b.Accumulator(0, DType::kFloat32),
                        b.Load({2, {IndexExpression::LoopDim(column_dim)}}, DType::kFloat32));
  if (activation) value = b.Unary(*activation, value);
  b.Result(value);
  return std::move(b).Build();
}

// m, k, n, threads, activation: 0 none, 1 gelu. Weights of 24 MB in turn.
void BM_MatMul(benchmark::State& state) {
  const int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  const int threads = static_cast<int>(state.range(3));
  const StepTensor a = Random({m, k}), w = Random({k, n}), bias = Random({n});
  StepTensor out(DType::kFloat32, {m, n});
  const auto activation = state.range(4) == 1 ? std::optional(LoopOp::kGelu) : std::nullopt;
  std::vector<std::unique_ptr<BoundStep>> steps;
  const int64_t copies = std::clamp<int64_t>(6 * 1024 * 1024 / (k * n), 1, 16);
  for (int64_t i = 0; i < copies; ++i)
    steps.push_back(std::make_unique<BoundStep>(MatMulStep{BiasThen(1, activation)}, std::vector{a, w, bias}, out,
                                                Options(threads, {1})));
  RunAll(state, steps);
  Report(state, 2.0 * static_cast<double>(m * k * n), threads);
}
BENCHMARK(BM_MatMul)
    ->ArgNames({"m", "k", "n", "threads", "gelu"})
    ->ArgsProduct({{1, 16, 128, 512}, {384}, {384, 1152}, {1, 2}, {0}})
    ->ArgsProduct({{1, 16, 128, 512}, {384}, {1536}, {1, 2}, {1}})
    ->ArgsProduct({{1, 16, 128, 512}, {1536}, {384}, {1, 2}, {0}})
    ->ArgsProduct({{1, 2, 3, 8, 32, 256, 1024}, {768}, {768}, {1}, {0}})
    ->ArgsProduct({{1, 32}, {64}, {10, 64}, {1}, {0}})
    ->UseRealTime();

// batch, heads, rows, depth: both factors computed, as scores are where attention is not fused.
void BM_BatchedMatMul(benchmark::State& state) {
  const int64_t batch = state.range(0), m = state.range(1), k = state.range(2), n = state.range(3);
  const StepTensor a = Random({batch, m, k}), b = Random({batch, k, n});
  StepTensor out(DType::kFloat32, {batch, m, n});
  std::vector<std::unique_ptr<BoundStep>> steps;
  steps.push_back(std::make_unique<BoundStep>(MatMulStep{}, std::vector{a, b}, out, Options(1, {})));
  RunAll(state, steps);
  Report(state, 2.0 * static_cast<double>(batch * m * k * n), 1);
}
BENCHMARK(BM_BatchedMatMul)->Args({12, 16, 32, 16})->Args({12, 128, 32, 128})->Args({1, 256, 256, 256})->UseRealTime();

// images, pixels (square), in, out, kernel, stride, groups, threads; channels last; bias and relu.
void BM_Conv(benchmark::State& state) {
  const int64_t images = state.range(0), size = state.range(1), in = state.range(2), out_channels = state.range(3);
  const int64_t kernel = state.range(4), stride = state.range(5), groups = state.range(6);
  const int threads = static_cast<int>(state.range(7));
  const int64_t out_size = (size + 2 * (kernel / 2) - kernel) / stride + 1;
  const StepTensor x = in <= 3 ? Random({images, in, size, size}) : RandomImage({images, in, size, size});
  const StepTensor w = Random({out_channels, in / groups, kernel, kernel}), bias = Random({out_channels});
  const StepTensor out = RandomImage({images, out_channels, out_size, out_size});
  ConvStep step;
  step.stride = {stride, stride};
  step.padding = {kernel / 2, kernel / 2};
  step.dilation = {1, 1};
  step.output_padding = {0, 0};
  step.groups = groups;
  step.epilogue = BiasThen(1, LoopOp::kRelu);
  std::vector<std::unique_ptr<BoundStep>> steps;
  steps.push_back(std::make_unique<BoundStep>(step, std::vector{x, w, bias}, out, Options(threads, {1})));
  RunAll(state, steps);
  Report(state,
         2.0 * static_cast<double>(images * out_size * out_size * out_channels * in / groups * kernel * kernel), threads);
}
BENCHMARK(BM_Conv)
    ->ArgNames({"n", "size", "in", "out", "kernel", "stride", "groups", "threads"})
    ->Args({1, 224, 3, 64, 7, 2, 1, 1})
    ->Args({1, 56, 64, 64, 3, 1, 1, 1})
    ->Args({1, 56, 64, 256, 1, 1, 1, 1})
    ->Args({1, 56, 256, 64, 1, 1, 1, 1})
    ->Args({1, 28, 128, 128, 3, 1, 1, 1})
    ->Args({1, 28, 128, 128, 3, 1, 1, 2})
    ->Args({1, 14, 256, 256, 3, 1, 1, 1})
    ->Args({1, 14, 1024, 256, 1, 1, 1, 1})
    ->Args({1, 7, 512, 512, 3, 1, 1, 1})
    ->Args({1, 7, 512, 512, 3, 1, 1, 2})
    ->Args({8, 7, 512, 512, 3, 1, 1, 1})
    ->Args({1, 56, 128, 128, 3, 1, 128, 1})
    ->Args({1, 14, 480, 480, 5, 1, 480, 1})
    ->Args({1, 32, 3, 16, 3, 1, 1, 1})
    ->Args({1, 32, 16, 16, 3, 1, 1, 1})
    ->Args({1, 8, 64, 64, 3, 1, 1, 1})
    ->UseRealTime();

// batch, sequence, depth, threads; 12 heads, windows of [batch, sequence, 3, heads, depth] memory, padding mask.
void BM_Attention(benchmark::State& state) {
  const int64_t batch = state.range(0), length = state.range(1), depth = state.range(2), heads = 12;
  const int threads = static_cast<int>(state.range(3));
  const StepTensor memory = Random({batch, length, 3, heads, depth});
  const int64_t row = 3 * heads * depth;
  const auto window = [&](int64_t which) {
    return memory.As({batch, heads, length, depth}, {length * row, depth, row, 1}, which * heads * depth);
  };
  StepTensor mask(DType::kBool, {batch, 1, 1, length});
  ForEachIndex(mask.view().shape, [&](const Dims& i) { mask.Set(i, 1); });
  StepTensor out(DType::kFloat32, {batch, heads, length, depth}, {0, 2, 1, 3});
  AttentionStep step;
  step.scale = 0.2;
  step.has_mask = true;
  std::vector<std::unique_ptr<BoundStep>> steps;
  steps.push_back(std::make_unique<BoundStep>(step, std::vector{window(0), window(1), window(2), mask}, out,
                                              Options(threads, {})));
  RunAll(state, steps);
  Report(state, 4.0 * static_cast<double>(batch * heads * length * length * depth), threads);
}
BENCHMARK(BM_Attention)
    ->ArgNames({"batch", "length", "depth", "threads"})
    ->ArgsProduct({{1, 8}, {16, 128}, {32}, {1, 2}})
    ->ArgsProduct({{1}, {64, 512}, {64}, {1}})
    ->UseRealTime();

// kind, rows, length.
void BM_Norm(benchmark::State& state) {
  const int64_t rows = state.range(1), length = state.range(2);
  NormStep step;
  step.kind = static_cast<NormKind>(state.range(0));
  step.epsilon = 1e-12;
  const StepTensor x = Random({rows, length}), weight = Random({length}), bias = Random({length});
  StepTensor out(DType::kFloat32, {rows, length});
  std::vector<StepTensor> inputs{x};
  if (step.kind == NormKind::kLayerNorm) {
    step.has_weight = step.has_bias = true;
    inputs = {x, weight, bias};
  }
  std::vector<std::unique_ptr<BoundStep>> steps;
  steps.push_back(std::make_unique<BoundStep>(step, inputs, out, Options(1, {})));
  RunAll(state, steps);
  state.SetBytesProcessed(state.iterations() * rows * length * 8);
}
BENCHMARK(BM_Norm)
    ->ArgNames({"kind", "rows", "length"})
    ->ArgsProduct({{0, 2}, {16, 128}, {384}})
    ->Args({0, 128, 128})
    ->Args({0, 1, 1000})
    ->UseRealTime();

}  // namespace
}  // namespace tondar::cpu
