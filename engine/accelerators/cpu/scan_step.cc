// Scan steps: running sums, products, extrema and their positions along the last loop dim.
#include <algorithm>

#include "engine/accelerators/cpu/cpu_kernel.h"
#include "engine/accelerators/cpu/loop_support.h"
#include "engine/accelerators/cpu/scan_functions.h"
#include "engine/accelerators/cpu/tile_evaluator.h"

namespace tondar::cpu {
namespace {

struct ScanCall {
  TileEvaluator body, store;
  Nest nest;  // outer dims, then the scanned one
  ScanFunction scan = nullptr;             // sums and products
  PositionedScan positioned_scan = nullptr;  // the others
  double start = 0;
  int64_t rows = 1, span = 1;
  size_t store_offset = 0, values_offset = 0;
  bool parallel = false;
};

void ScanRow(const ScanCall& call, TileEvaluator::Worker& body, TileEvaluator::Worker& store, std::byte* values, PerDim& index) {
  const size_t last = call.nest.size() - 1;
  ReduceState carry{call.start, static_cast<int64_t>(call.start), -1};
  for (int64_t at = 0; at < call.nest[last].extent; at += call.span) {
    index[last] = at;
    const int64_t n = std::min(call.span, call.nest[last].extent - at);
    call.body.RunTile(body, index.data(), 1, static_cast<int>(n), at == 0);
    const void* in = call.body.ResultOf(body, 0);
    if (call.scan != nullptr) {
      call.scan(&carry, values, in, n);
    } else {
      call.positioned_scan(&carry, values, in, at, n);
    }
    call.store.RunTile(store, index.data(), 1, static_cast<int>(n), at == 0);
  }
  index[last] = 0;
}

void RunScan(const void* arguments, RunContext& context) {
  const ScanCall& call = *static_cast<const ScanCall*>(arguments);
  SplitOverTeam(context, call.parallel, [&](int member, int members) {
    const Range range = RangeOf(call.rows, member, members);
    if (range.begin == range.end) return;
    std::byte* scratch = context.MemberScratch(member);
    std::byte* values = scratch + call.values_offset;
    TileEvaluator::Worker body = call.body.Begin(scratch, context.error);
    TileEvaluator::Worker store = call.store.Begin(scratch + call.store_offset, context.error);
    call.store.SetAccumulator(store, 0, values);
    call.body.RunOnce(body);
    call.store.RunOnce(store);
    const size_t last = call.nest.size() - 1;
    PerDim index{};
    Odometer::Seek(call.nest, 0, last, range.begin, index.data());
    for (int64_t row = range.begin; row < range.end; ++row) {
      ScanRow(call, body, store, values, index);
      Odometer::Next(call.nest, 0, last, index.data());
    }
  });
}

class ScanKernel final : public CpuKernel {
 public:
  ScanKernel(ScanStep step, DType output, const CpuKernels& kernels)
      : step_(std::move(step)), store_(AccumulatorProgram(Running(step_), output)), kernels_(kernels) {
    const int16_t result = step_.program.results[0];
    if (step_.program.body[static_cast<size_t>(result)].dtype == step_.accumulator) return;
    step_.program.body.push_back({.op = LoopOp::kCast, .dtype = step_.accumulator, .a = result});
    step_.program.results[0] = static_cast<int16_t>(step_.program.body.size() - 1);
  }

  Result<BoundCall> Bind(const KernelArguments& arguments) const override {
    const Dims extents = Evaluate(step_.extents, arguments.symbols);
    TONDAR_RETURN_IF_ERROR(CheckOperands(arguments, 1, extents.size()));
    if (extents.empty()) return Internal("a scan needs a dim");
    if (ElementCount(extents) == 0) return BoundCall();
    TONDAR_ASSIGN_OR_RETURN(std::vector<BoundAccess> accesses, BindAccesses(step_.program, arguments, extents));
    BoundOutput output = BindOutput(arguments.outputs[0]);

    auto call = std::make_unique<ScanCall>();
    NestBuilder builder(extents);
    builder.Add(accesses);
    builder.Add(output);
    builder.KeepIndexed(step_.program);
    builder.Append(NestBuilder::OrderByStride(DimRange(0, extents.rank() - 1), output.strides), call->nest);
    const size_t outer = call->nest.size();
    builder.Append(DimRange(extents.rank() - 1, 1), call->nest);
    if (call->nest.size() == outer) call->nest.push_back({});
    for (BoundAccess& access : accesses) access = Permute(std::move(access), call->nest);
    output = Permute(output, call->nest);

    const Lane lane = *LaneOf(step_.accumulator);
    if (IsSumOrProduct()) {
      call->scan = kernels_.loop->scan[step_.op == ReduceOp::kProduct][lane];
    } else {
      call->positioned_scan = PositionedScanFor(step_.op, lane);
    }
    if (call->scan == nullptr && call->positioned_scan == nullptr) return Unimplemented("a scan of {}", Name(step_.accumulator));
    call->start = step_.op == ReduceOp::kProduct ? 1 : 0;
    call->span = std::min<int64_t>(call->nest.back().extent, kTileElements);
    call->rows = Count(call->nest, 0, call->nest.size() - 1);
    EvaluatorInputs inputs;
    inputs.program = &step_.program;
    inputs.accesses = accesses;
    inputs.symbols = arguments.symbols;
    inputs.nest = &call->nest;
    inputs.columns_dim = static_cast<int>(call->nest.size()) - 1;
    inputs.max_columns = static_cast<int>(call->span);
    TONDAR_ASSIGN_OR_RETURN(call->body, TileEvaluator::Compile(inputs, kernels_));
    inputs.program = &store_;
    inputs.accesses = {};
    inputs.outputs = {&output, 1};
    TONDAR_ASSIGN_OR_RETURN(call->store, TileEvaluator::Compile(inputs, kernels_));
    const double nanoseconds = 1.0 + call->body.nanoseconds_per_element() + call->store.nanoseconds_per_element();
    call->parallel = nanoseconds * static_cast<double>(ElementCount(extents)) > kParallelNanoseconds;
    call->store_offset = call->body.scratch_bytes();
    call->values_offset = call->store_offset + call->store.scratch_bytes();
    const size_t scratch = call->values_offset + static_cast<size_t>(call->span) * 8;
    return BoundCall(RunScan, std::move(call), scratch);
  }

 private:
  bool IsSumOrProduct() const { return step_.op == ReduceOp::kSum || step_.op == ReduceOp::kProduct; }

  // The dtype of what is carried along.
  static DType Running(const ScanStep& step) {
    return step.op == ReduceOp::kArgMax || step.op == ReduceOp::kArgMin ? DType::kInt64 : step.accumulator;
  }

  ScanStep step_;
  LoopProgram store_;
  const CpuKernels& kernels_;
};

}  // namespace

Result<std::unique_ptr<CpuKernel>> MakeScanKernel(const Step& step, std::span<const Constant* const>, const CpuKernels& kernels) {
  return std::unique_ptr<CpuKernel>(
      std::make_unique<ScanKernel>(std::get<ScanStep>(step.body), step.outputs[0].dtype, kernels));
}

}  // namespace tondar::cpu
