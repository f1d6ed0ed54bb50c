// Reduce steps.
//
// Two ways, chosen by where the elements lie and never by how many rows there are, so that a row's result does not
// depend on its batch: horizontally, along an innermost reduced dim that is contiguous; else vertically, many outputs
// side by side.
#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/accelerators/cpu/cpu_kernel.h"
#include "engine/accelerators/cpu/loop_support.h"
#include "engine/accelerators/cpu/reduced_window.h"
#include "engine/accelerators/cpu/tile_evaluator.h"

namespace tondar::cpu {
namespace {

// Vertical sums are kept in three levels, each flushed into the next after this many additions: the error of long sums
// grows with 32 + 32 + n / 1024 instead of n.
constexpr int kFlushEvery = 32;
// Outputs whose accumulators are gathered before the finish program runs over them.
constexpr int64_t kHorizontalOutputs = 256;

bool IsArg(ReduceOp op) { return op == ReduceOp::kArgMax || op == ReduceOp::kArgMin; }
bool IsFloatLane(Lane lane) { return lane == kF32 || lane == kF64; }
bool IsSummed(ReduceOp op, Lane lane) { return op == ReduceOp::kSum && IsFloatLane(lane); }

struct ReduceCall {
  ReduceOp op = ReduceOp::kSum;
  const LoopTable* table = nullptr;
  TileEvaluator body, finish;
  Nest nest;        // outer dims, then reduced dims
  size_t outer = 0;  // how many are outer; at least one
  bool horizontal = false;
  Lane lane = kF32;              // of the values
  Lane accumulator_lane = kF32;  // of what finish reads
  std::optional<ReducedWindow> window;  // vertical: in place of `body`
  alignas(8) std::byte fill[8] = {};    // what the window gives outside its operand
  TileFunction round = nullptr;         // for accumulators of 16-bit float dtype
  int64_t reduced_count = 1;     // elements per output
  int64_t chunk = 1;             // outputs per tile, along the last outer dim
  int64_t chunks = 1, tiles = 1;
  int64_t span = 1;  // horizontal: elements per body tile
  bool parallel = false;
  // Offsets in a member's scratch.
  size_t finish_offset = 0, accumulators_offset = 0, partial_offset = 0, index_offset = 0, rounded_offset = 0, fill_offset = 0;
  alignas(8) std::byte neutral[8] = {};
};

// The neutral element in the lane's form.
void WriteNeutral(ReduceOp op, Lane lane, std::byte* to) {
  const auto write = [&](auto value) { std::memcpy(to, &value, sizeof(value)); };
  const bool highest = op == ReduceOp::kMin || op == ReduceOp::kArgMin;
  if (op == ReduceOp::kSum || op == ReduceOp::kProduct || op == ReduceOp::kAll || op == ReduceOp::kAny) {
    const int64_t value = op == ReduceOp::kProduct || op == ReduceOp::kAll;
    if (lane == kF32) return write(static_cast<float>(value));
    if (lane == kF64) return write(static_cast<double>(value));
    std::memcpy(to, &value, LaneBytes(lane));
    return;
  }
  const auto extreme = [&](auto zero) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    if constexpr (Limits::has_infinity) {
      write(highest ? Limits::infinity() : -Limits::infinity());
    } else {
      write(highest ? Limits::max() : Limits::lowest());
    }
  };
  switch (lane) {
    case kBool: return write(static_cast<uint8_t>(highest));
    case kU8: return extreme(uint8_t{});
    case kU16: return extreme(uint16_t{});
    case kU32: return extreme(uint32_t{});
    case kU64: return extreme(uint64_t{});
    case kI8: return extreme(int8_t{});
    case kI16: return extreme(int16_t{});
    case kI32: return extreme(int32_t{});
    case kI64: return extreme(int64_t{});
    case kF32: return extreme(float{});
    case kF64: return extreme(double{});
  }
}

// A number in the lane's form.
void WriteScalar(double value, Lane lane, std::byte* to) {
  const float narrow = static_cast<float>(value);
  const auto integer = IsFloatLane(lane) ? int64_t{0} : static_cast<int64_t>(value);
  std::memcpy(to, lane == kF64 ? static_cast<const void*>(&value) : (lane == kF32 ? static_cast<const void*>(&narrow) : &integer), LaneBytes(lane));
}

ReduceState InitialState(const ReduceCall& call) {
  ReduceState state{0, 0, -1};
  if (call.lane == kF32) {
    float value;
    std::memcpy(&value, call.neutral, 4);
    state.f = static_cast<double>(value);
  } else if (call.lane == kF64) {
    std::memcpy(&state.f, call.neutral, 8);
  } else {
    std::memcpy(&state.i, call.neutral, LaneBytes(call.lane));
    const int shift = 64 - 8 * static_cast<int>(LaneBytes(call.lane));
    if (call.lane >= kI8) state.i = static_cast<int64_t>(static_cast<uint64_t>(state.i) << shift) >> shift;
  }
  return state;
}

void WriteState(const ReduceCall& call, const ReduceState& state, std::byte* accumulators, int64_t i) {
  if (IsArg(call.op)) {
    const int64_t index = std::max<int64_t>(state.index, 0);
    std::memcpy(accumulators + i * 8, &index, 8);
  } else if (call.lane == kF32) {
    const float value = static_cast<float>(state.f);
    std::memcpy(accumulators + i * 4, &value, 4);
  } else if (call.lane == kF64) {
    std::memcpy(accumulators + i * 8, &state.f, 8);
  } else {
    const auto size = static_cast<int64_t>(LaneBytes(call.lane));
    std::memcpy(accumulators + i * size, &state.i, static_cast<size_t>(size));
  }
}

struct ReduceWorker {
  TileEvaluator::Worker body, finish;
  std::byte* accumulators;
  std::byte* partial;  // two more levels of vertical sums
  int64_t* index;      // vertical arg reductions
  std::byte* rounded;
  std::byte* fill;  // a tile of the window's fill value
};

// One output: all its reduced elements, in spans of the innermost dim.
void ReduceHorizontally(const ReduceCall& call, ReduceWorker& worker, PerDim& index, int64_t output) {
  const size_t rank = call.nest.size(), inner = rank - 1;
  const ReduceFunction reduce = call.table->reduce[static_cast<int>(call.op)][call.lane];
  ReduceState state = InitialState(call);
  const int64_t length = call.nest[inner].extent;
  for (int64_t position = 0; position < call.reduced_count; position += length) {
    for (int64_t at = 0; at < length; at += call.span) {
      index[inner] = at;
      const int64_t n = std::min(call.span, length - at);
      call.body.RunTile(worker.body, index.data(), 1, static_cast<int>(n), at == 0);
      reduce(&state, call.body.ResultOf(worker.body, 0), position + at, n);
    }
    index[inner] = 0;
    Odometer::Next(call.nest, call.outer, inner, index.data());
  }
  WriteState(call, state, worker.accumulators, output);
}

void FillTile(const ReduceCall& call, const std::byte* value, std::byte* tile, int64_t n) {
  const size_t size = LaneBytes(call.lane);
  const int log2 = size == 1 ? 0 : (size == 2 ? 1 : (size == 4 ? 2 : 3));
  call.table->gather[log2](tile, value, 0, n);
}

// Gives the values of the reduced positions one after the other.
class VerticalValues {
 public:
  VerticalValues(const ReduceCall& call, ReduceWorker& worker, PerDim& index, int64_t n)
      : call_(call), worker_(worker), index_(index), n_(static_cast<int>(n)) {
    if (call.window) place_ = call.window->At(index.data());
  }
  const void* Next() {
    if (call_.window) {
      const std::byte* address = call_.window->Address(place_, position_++);
      return address == nullptr ? worker_.fill : address;
    }
    call_.body.RunTile(worker_.body, index_.data(), 1, n_, true);
    Odometer::Next(call_.nest, call_.outer, call_.nest.size(), index_.data());
    return call_.body.ResultOf(worker_.body, 0);
  }

 private:
  const ReduceCall& call_;
  ReduceWorker& worker_;
  PerDim& index_;
  int n_;
  ReducedWindow::Place place_;
  int64_t position_ = 0;
};

// `n` outputs at once: every reduced position adds one tile.
void ReduceVertically(const ReduceCall& call, ReduceWorker& worker, PerDim& index, int64_t n) {
  const int op = static_cast<int>(call.op);
  const size_t tile_bytes = static_cast<size_t>(call.chunk) * 8;
  std::byte* const levels[3] = {worker.accumulators, worker.partial, worker.partial + tile_bytes};
  const bool arg = IsArg(call.op), summed = IsSummed(call.op, call.lane);
  const AccumulateFunction accumulate = call.table->accumulate[op][call.lane];
  FillTile(call, call.neutral, levels[0], n);
  if (summed) {
    FillTile(call, call.neutral, levels[1], n);
    FillTile(call, call.neutral, levels[2], n);
  }
  std::fill_n(worker.index, arg ? n : 0, -1);
  int64_t pending[2] = {};
  VerticalValues next(call, worker, index, n);
  for (int64_t position = 0; position < call.reduced_count; ++position) {
    const void* values = next.Next();
    if (arg) {
      call.table->arg_accumulate[call.op == ReduceOp::kArgMin][call.lane](levels[0], worker.index, values, position, n);
    } else {
      accumulate(levels[0], values, n);
    }
    for (int level = 0; summed && level < 2 && ++pending[level] == kFlushEvery; ++level) {
      accumulate(levels[level + 1], levels[level], n);
      FillTile(call, call.neutral, levels[level], n);
      pending[level] = 0;
    }
  }
  if (summed) {
    accumulate(levels[1], levels[2], n);
    accumulate(levels[0], levels[1], n);
  }
  if (!arg) return;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t winner = std::max<int64_t>(worker.index[i], 0);
    std::memcpy(worker.accumulators + i * 8, &winner, 8);
  }
}

void FinishTile(const ReduceCall& call, ReduceWorker& worker, const PerDim& index, int64_t n) {
  const void* accumulators = worker.accumulators;
  if (call.round != nullptr) {
    call.round(worker.rounded, accumulators, nullptr, nullptr, n);
    accumulators = worker.rounded;
  }
  call.finish.SetAccumulator(worker.finish, 0, accumulators);
  call.finish.RunTile(worker.finish, index.data(), 1, static_cast<int>(n), true);
}

void RunReduceTile(const ReduceCall& call, ReduceWorker& worker, PerDim& index, int64_t n) {
  const size_t last = call.outer - 1;
  const int64_t first = index[last];
  if (!call.horizontal) {
    ReduceVertically(call, worker, index, n);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      index[last] = first + i;
      ReduceHorizontally(call, worker, index, i);
    }
    index[last] = first;
  }
  FinishTile(call, worker, index, n);
}

void RunReduce(const void* arguments, RunContext& context) {
  const ReduceCall& call = *static_cast<const ReduceCall*>(arguments);
  SplitOverTeam(context, call.parallel, [&](int member, int members) {
    const Range range = RangeOf(call.tiles, member, members);
    if (range.begin == range.end) return;
    std::byte* scratch = context.MemberScratch(member);
    ReduceWorker worker;
    worker.body = call.body.Begin(scratch, context.error);
    worker.finish = call.finish.Begin(scratch + call.finish_offset, context.error);
    worker.accumulators = scratch + call.accumulators_offset;
    worker.partial = scratch + call.partial_offset;
    worker.index = reinterpret_cast<int64_t*>(scratch + call.index_offset);
    worker.rounded = scratch + call.rounded_offset;
    worker.fill = scratch + call.fill_offset;
    if (call.window) FillTile(call, call.fill, worker.fill, call.chunk);
    if (call.reduced_count > 0) call.body.RunOnce(worker.body);
    call.finish.RunOnce(worker.finish);
    PerDim index{};
    const size_t last = call.outer - 1;
    int64_t chunk = range.begin % call.chunks;
    Odometer::Seek(call.nest, 0, last, range.begin / call.chunks, index.data());
    for (int64_t tile = range.begin; tile < range.end; ++tile) {
      index[last] = chunk * call.chunk;
      RunReduceTile(call, worker, index, std::min(call.chunk, call.nest[last].extent - index[last]));
      if (++chunk < call.chunks) continue;
      chunk = 0;
      Odometer::Next(call.nest, 0, last, index.data());
    }
  });
}

class ReduceKernel final : public CpuKernel {
 public:
  ReduceKernel(ReduceStep step, DType output, const CpuKernels& kernels) : step_(std::move(step)), kernels_(kernels) {
    CastBody();
    const DType accumulator = IsArg(step_.op) ? DType::kInt64 : value_dtype_;
    if (step_.finish.empty()) step_.finish = AccumulatorProgram(accumulator, output);
  }

  Result<BoundCall> Bind(const KernelArguments& arguments) const override {
    const Dims extents = Evaluate(step_.extents, arguments.symbols);
    const int outer_rank = extents.rank() - step_.reduced;
    TONDAR_RETURN_IF_ERROR(CheckOperands(arguments, 1, static_cast<size_t>(outer_rank)));
    const Dims outer_extents(extents.span().subspan(0, static_cast<size_t>(outer_rank)));
    if (ElementCount(outer_extents) == 0) return BoundCall();
    TONDAR_ASSIGN_OR_RETURN(std::vector<BoundAccess> body, BindAccesses(step_.program, arguments, extents));
    TONDAR_ASSIGN_OR_RETURN(std::vector<BoundAccess> finish, BindAccesses(step_.finish, arguments, outer_extents));
    BoundOutput output = BindOutput(arguments.outputs[0]);

    auto call = std::make_unique<ReduceCall>();
    call->op = step_.op;
    call->table = kernels_.loop;
    const size_t rank = extents.size();
    call->horizontal = outer_rank == 0 || ReducesAlongMemory(body, extents, outer_rank);
    BuildNest(*call, extents, outer_rank, body, finish, output);
    for (BoundAccess& access : body) access = Permute(std::move(access), call->nest);
    for (BoundAccess& access : finish) access = Permute(std::move(access), call->nest);
    output = Permute(output, call->nest);
    call->reduced_count = ElementCount(Dims(extents.span().subspan(static_cast<size_t>(outer_rank), rank - static_cast<size_t>(outer_rank))));
    TONDAR_RETURN_IF_ERROR(CompilePrograms(*call, body, finish, output, arguments.symbols));
    const size_t scratch = LayOutScratch(*call);
    return BoundCall(RunReduce, std::move(call), scratch);
  }

 private:
  // The values must have the accumulator's dtype; kAll and kAny take bool.
  void CastBody() {
    const int16_t result = step_.program.results[0];
    DType wanted = step_.accumulator;
    if (step_.op == ReduceOp::kAll || step_.op == ReduceOp::kAny) wanted = DType::kBool;
    if (IsArg(step_.op)) wanted = step_.program.body[static_cast<size_t>(result)].dtype;
    value_dtype_ = wanted;
    if (step_.program.body[static_cast<size_t>(result)].dtype == wanted) return;
    step_.program.body.push_back({.op = LoopOp::kCast, .dtype = wanted, .a = result});
    step_.program.results[0] = static_cast<int16_t>(step_.program.body.size() - 1);
  }

  // True if every operand that changes along the innermost reduced dim is contiguous there. Looks at strides of reduced
  // dims only.
  static bool ReducesAlongMemory(std::span<const BoundAccess> accesses, const Dims& extents, int outer_rank) {
    for (size_t d = extents.size(); d-- > static_cast<size_t>(outer_rank);) {
      if (extents[d] == 1) continue;
      return std::all_of(accesses.begin(), accesses.end(), [d](const BoundAccess& access) {
        return access.dynamics.empty() && (access.strides[d] == 0 || access.strides[d] == access.element_bytes);
      });
    }
    return true;
  }

  // The strides by which the outer dims are walked. Vertical reductions read reduced_count times what they write, so the
  // input's layout decides (a pool that reads channels-last and writes channels-first); dims it does not have go outermost.
  static PerDim WalkOrder(const ReduceCall& call, int outer_rank, std::span<const BoundAccess> body, const BoundOutput& output) {
    PerDim order = output.strides;
    if (call.horizontal || body.empty()) return order;
    for (size_t d = 0; d < static_cast<size_t>(outer_rank); ++d) {
      const int64_t stride = body[0].strides[d];
      order[d] = stride == 0 ? std::numeric_limits<int64_t>::max() : stride;
    }
    return order;
  }

  void BuildNest(ReduceCall& call, const Dims& extents, int outer_rank, std::span<const BoundAccess> body,
                 std::span<const BoundAccess> finish, const BoundOutput& output) const {
    NestBuilder builder(extents);
    builder.Add(body);
    builder.Add(finish);
    builder.Add(output);
    builder.KeepIndexed(step_.program);
    builder.KeepIndexed(step_.finish);
    builder.Append(NestBuilder::OrderByStride(DimRange(0, outer_rank), WalkOrder(call, outer_rank, body, output)), call.nest);
    if (call.nest.empty()) call.nest.push_back({});
    call.outer = call.nest.size();
    builder.Append(DimRange(outer_rank, step_.reduced), call.nest);
    if (call.nest.size() == call.outer) call.nest.push_back({});
  }

  Status CompilePrograms(ReduceCall& call, std::span<const BoundAccess> body, std::span<const BoundAccess> finish,
                         const BoundOutput& output, std::span<const int64_t> symbols) const {
    const NestDim& last = call.nest[call.outer - 1];
    call.chunk = std::min<int64_t>(last.extent, call.horizontal ? kHorizontalOutputs : kTileElements);
    call.chunks = (last.extent + call.chunk - 1) / call.chunk;
    call.tiles = Count(call.nest, 0, call.outer - 1) * call.chunks;
    const double per_output = call.horizontal ? 15 : 0.5;
    const double per_element = 0.06 * static_cast<double>(step_.program.body.size());
    const double outputs = static_cast<double>(Count(call.nest, 0, call.outer));
    call.parallel = outputs * (per_output + per_element * static_cast<double>(call.reduced_count)) > kParallelNanoseconds;
    if (call.parallel && call.tiles < 16) SpreadTiles(call);
    call.lane = *LaneOf(value_dtype_);
    WriteNeutral(step_.op, call.lane, call.neutral);
    if (value_dtype_ == DType::kFloat16) call.round = kernels_.loop->round_f16;
    if (value_dtype_ == DType::kBFloat16) call.round = kernels_.loop->round_bf16;
    if (IsArg(step_.op)) call.round = nullptr;
    if (kernels_.loop->reduce[static_cast<int>(step_.op)][call.lane] == nullptr) {
      return Unimplemented("reduction {} of {}", static_cast<int>(step_.op), Name(value_dtype_));
    }

    EvaluatorInputs inputs;
    inputs.program = &step_.program;
    inputs.accesses = body;
    inputs.symbols = symbols;
    inputs.nest = &call.nest;
    const int64_t length = call.nest.back().extent;
    call.span = std::clamp<int64_t>(length, 1, kTileElements);
    inputs.columns_dim = static_cast<int>(call.horizontal ? call.nest.size() : call.outer) - 1;
    inputs.max_columns = static_cast<int>(call.horizontal ? call.span : call.chunk);
    inputs.whole_columns = (call.horizontal ? length <= call.span : call.chunks == 1);
    TONDAR_ASSIGN_OR_RETURN(call.body, TileEvaluator::Compile(inputs, kernels_));
    if (call.horizontal && call.body.IsPlainLoad()) call.span = std::clamp<int64_t>(length, 1, 1 << 30);

    if (!call.horizontal && call.reduced_count > 0) call.window = ReducedWindow::Make(step_.program, body, call.nest, call.outer);
    if (call.window) WriteScalar(call.window->fill(), call.lane, call.fill);

    inputs.program = &step_.finish;
    inputs.accesses = finish;
    inputs.outputs = {&output, 1};
    inputs.columns_dim = static_cast<int>(call.outer) - 1;
    inputs.max_columns = static_cast<int>(call.chunk);
    inputs.whole_columns = call.chunks == 1;
    TONDAR_ASSIGN_OR_RETURN(call.finish, TileEvaluator::Compile(inputs, kernels_));

    return OkStatus();
  }

  // Few tiles would leave members idle; smaller ones share better. Which outputs share a tile changes no result.
  static void SpreadTiles(ReduceCall& call) {
    constexpr int64_t kWantedTiles = 16, kLeastOutputs = 16;
    const NestDim& last = call.nest[call.outer - 1];
    const int64_t wanted = (kWantedTiles + call.tiles / call.chunks - 1) / (call.tiles / call.chunks);
    const int64_t least = call.horizontal ? 1 : kLeastOutputs;
    call.chunk = std::clamp<int64_t>(last.extent / wanted, std::min(least, call.chunk), call.chunk);
    const int64_t chunks = (last.extent + call.chunk - 1) / call.chunk;
    call.tiles = call.tiles / call.chunks * chunks;
    call.chunks = chunks;
  }

  static size_t LayOutScratch(ReduceCall& call) {
    size_t bytes = call.body.scratch_bytes();
    const auto add = [&](size_t size) {
      const size_t offset = bytes;
      bytes += (size + 63) / 64 * 64;
      return offset;
    };
    const size_t tile = static_cast<size_t>(call.chunk) * 8;
    call.finish_offset = add(call.finish.scratch_bytes());
    call.accumulators_offset = add(tile);
    call.partial_offset = add(2 * tile);
    call.index_offset = add(tile);
    call.rounded_offset = add(tile);
    call.fill_offset = add(tile);
    return bytes;
  }

  ReduceStep step_;
  const CpuKernels& kernels_;
  DType value_dtype_ = DType::kFloat32;
};

}  // namespace

Result<std::unique_ptr<CpuKernel>> MakeReduceKernel(const Step& step, std::span<const Constant* const>, const CpuKernels& kernels) {
  return std::unique_ptr<CpuKernel>(
      std::make_unique<ReduceKernel>(std::get<ReduceStep>(step.body), step.outputs[0].dtype, kernels));
}

}  // namespace tondar::cpu
