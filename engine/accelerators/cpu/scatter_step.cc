// Scatter steps: base is copied, then values are written in the order of their loop. Threads take ranges of a loop dim
// that walks along the output, so that no two of them meet in an element and each keeps the order.
#include <algorithm>

#include "engine/accelerators/cpu/copy_plan.h"
#include "engine/accelerators/cpu/index_kernels.h"
#include "engine/accelerators/cpu/library_kernels.h"
#include "engine/accelerators/cpu/loop_support.h"
#include "engine/accelerators/cpu/scatter_functions.h"
#include "engine/accelerators/cpu/tile_evaluator.h"
#include "engine/plan/loop_builder.h"

namespace tondar::cpu {
namespace {

// A position that the program computes: result 1 + its place among them.
struct ComputedPosition {
  int64_t extent = 0, stride_bytes = 0;
};

struct ScatterCall {
  CopyPlan copy;
  bool empty = false;  // no values: only the copy
  bool in_place = false;  // the base lies where the output does
  TileEvaluator body;
  Nest nest;
  std::byte* out = nullptr;
  PerDim out_strides{};  // bytes, of the dims that walk along the output
  std::vector<ComputedPosition> positions;
  bool uniform = false;  // no computed position depends on the innermost dim
  ScatterFunctions functions;
  size_t split_dim = 0;  // of the nest
  int64_t span = 1;      // columns of a tile
  size_t offsets_at = 0;  // in the scratch
  bool parallel = false;
};

// One thread's share of the values.
class ScatterMember {
 public:
  ScatterMember(const ScatterCall& call, RunContext& context, int member)
      : call_(call), error_(*context.error), last_(call.nest.size() - 1) {
    std::byte* scratch = context.MemberScratch(member);
    offsets_ = reinterpret_cast<int64_t*>(scratch + call.offsets_at);
    body_ = call.body.Begin(scratch, context.error);
    call.body.RunOnce(body_);
  }

  void Run(Range range) {
    for (size_t d = 0; d < call_.nest.size(); ++d) ends_[d] = call_.nest[d].extent;
    begins_[call_.split_dim] = range.begin;
    ends_[call_.split_dim] = range.end;
    index_ = begins_;
    do {
      RunRow();
    } while (NextRow());
  }

 private:
  bool NextRow() {
    for (size_t d = last_; d-- > 0;) {
      if (++index_[d] < ends_[d]) return true;
      index_[d] = begins_[d];
    }
    return false;
  }

  void RunRow() {
    for (int64_t at = begins_[last_]; at < ends_[last_]; at += call_.span) {
      index_[last_] = at;
      const int64_t n = std::min(call_.span, ends_[last_] - at);
      call_.body.RunTile(body_, index_.data(), 1, static_cast<int>(n), at == begins_[last_]);
      Write(n);
    }
    index_[last_] = begins_[last_];
  }

  void Write(int64_t n) {
    std::byte* to = call_.out + Dot(call_.out_strides, index_.data(), call_.nest.size());
    const void* values = call_.body.ResultOf(body_, 0);
    std::fill_n(offsets_, call_.uniform ? 1 : n, 0);
    for (size_t i = 0; i < call_.positions.size(); ++i) {
      if (!AddOffsets(call_.positions[i], static_cast<const int64_t*>(call_.body.ResultOf(body_, 1 + i)), call_.uniform ? 1 : n)) return;
    }
    const int64_t stride = call_.out_strides[last_];
    if (call_.uniform) return call_.functions.strided(to + offsets_[0], stride, values, n);
    for (int64_t i = 0; i < n; ++i) offsets_[i] += i * stride;
    call_.functions.indexed(to, offsets_, values, n);
  }

  // False if a position is out of range, which is reported; the tile is not written then.
  bool AddOffsets(const ComputedPosition& position, const int64_t* values, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = values[i] < 0 ? values[i] + position.extent : values[i];
      if (at < 0 || at >= position.extent) {
        error_.ReportIndex(values[i], position.extent);
        return false;
      }
      offsets_[i] += at * position.stride_bytes;
    }
    return true;
  }

  const ScatterCall& call_;
  StepError& error_;
  const size_t last_;
  int64_t* offsets_;
  TileEvaluator::Worker body_;
  PerDim begins_{}, ends_{}, index_{};
};

void RunScatter(const void* arguments, RunContext& context) {
  const ScatterCall& call = *static_cast<const ScatterCall*>(arguments);
  if (!call.in_place) call.copy.Run(context);
  if (call.empty) return;
  SplitOverTeam(context, call.parallel, [&](int member, int members) {
    const Range range = RangeOf(call.nest[call.split_dim].extent, member, members);
    if (range.begin < range.end) ScatterMember(call, context, member).Run(range);
  });
}

// The loop dim whose index an instruction is, or -1.
int IndexedDim(const LoopProgram& program, int16_t position) {
  const LoopInstruction& instruction = program.body[static_cast<size_t>(position)];
  return instruction.op == LoopOp::kIndex ? instruction.source : -1;
}

// Whether each instruction's value depends on a loop dim.
std::vector<bool> DependsOn(const LoopProgram& program, int loop_dim) {
  std::vector<bool> depends;
  const auto operand = [&](int16_t i) { return i >= 0 && depends[static_cast<size_t>(i)]; };
  for (const LoopInstruction& x : program.body) {
    bool one = operand(x.a) || operand(x.b) || operand(x.c) || (x.op == LoopOp::kIndex && x.source == loop_dim);
    if (x.op == LoopOp::kLoad) {
      for (const IndexExpression& index : program.accesses[static_cast<size_t>(x.source)].index) {
        one = one || operand(index.dynamic);
        for (const IndexExpression::Term& term : index.terms) one = one || term.loop_dim == loop_dim;
      }
    }
    depends.push_back(one);
  }
  return depends;
}

class ScatterKernel final : public CpuKernel {
 public:
  ScatterKernel(ScatterStep step, const CpuKernels& kernels) : step_(std::move(step)), kernels_(kernels) {
    // What is evaluated: the value, and the positions that are not simply a loop dim's.
    LoopBuilder b;
    const std::vector<LoopBuilder::Handle> results = b.Append(step_.program);
    b.Result(results[0]);
    for (size_t d = 1; d < results.size(); ++d) {
      output_dims_.push_back(IndexedDim(step_.program, step_.program.results[d]));
      if (output_dims_.back() < 0) b.Result(results[d]);
    }
    evaluated_ = std::move(b).Build();
  }

  Result<BoundCall> Bind(const KernelArguments& arguments) const override {
    const Dims extents = Evaluate(step_.extents, arguments.symbols);
    TONDAR_RETURN_IF_ERROR(CheckOperands(arguments, 1, output_dims_.size()));
    const DeviceTensor& output = arguments.outputs[0];
    auto call = std::make_unique<ScatterCall>();
    call->empty = ElementCount(extents) == 0;
    call->in_place = arguments.inputs[0].data == output.data && arguments.inputs[0].strides == output.strides;
    if (call->empty && ElementCount(output.shape) == 0) return BoundCall();
    TONDAR_ASSIGN_OR_RETURN(call->copy, PlanCopy(arguments));
    ScratchLayout scratch;
    if (!call->empty) TONDAR_RETURN_IF_ERROR(BindValues(arguments, extents, *call, scratch));
    return BoundCall(RunScatter, std::move(call), scratch.bytes());
  }

 private:
  Result<CopyPlan> PlanCopy(const KernelArguments& arguments) const {
    const DeviceTensor& output = arguments.outputs[0];
    Access whole{0, {}, 0};
    for (int d = 0; d < output.shape.rank(); ++d) whole.index.push_back(IndexExpression::LoopDim(d));
    TONDAR_ASSIGN_OR_RETURN(BoundAccess from, BindAccess(whole, arguments, output.shape));
    BoundOutput to = BindOutput(output);
    NestBuilder builder(output.shape);
    builder.Add({&from, 1});
    builder.Add(to);
    Nest nest;
    builder.Append(NestBuilder::OrderByStride(DimRange(0, output.shape.rank()), to.strides), nest);
    return CopyPlan::Make(nest, Permute(std::move(from), nest), Permute(to, nest), *kernels_.loop);
  }

  Status BindValues(const KernelArguments& arguments, const Dims& extents, ScatterCall& call, ScratchLayout& scratch) const {
    TONDAR_ASSIGN_OR_RETURN(std::vector<BoundAccess> accesses, BindAccesses(evaluated_, arguments, extents));
    TONDAR_ASSIGN_OR_RETURN(const PerDim strides, BindTarget(arguments.outputs[0], extents, call));
    NestBuilder builder(extents);
    builder.Add(accesses);
    BoundOutput target;
    target.strides = strides;
    builder.Add(target);
    builder.KeepIndexed(evaluated_);
    builder.Append(DimRange(0, extents.rank()), call.nest);
    if (call.nest.empty()) call.nest.push_back({});
    for (BoundAccess& access : accesses) access = Permute(std::move(access), call.nest);
    call.out_strides = Permute(strides, call.nest);
    call.functions = ScatterFunctionsFor(step_.op, arguments.outputs[0].dtype);
    if (call.functions.strided == nullptr) return Unimplemented("a scatter of {}", Name(arguments.outputs[0].dtype));
    call.uniform = PositionsIgnore(call.nest.back().original);
    call.span = std::min<int64_t>(call.nest.back().extent, kTileElements);
    EvaluatorInputs inputs;
    inputs.program = &evaluated_;
    inputs.accesses = accesses;
    inputs.symbols = arguments.symbols;
    inputs.nest = &call.nest;
    inputs.columns_dim = static_cast<int>(call.nest.size()) - 1;
    inputs.max_columns = static_cast<int>(call.span);
    TONDAR_ASSIGN_OR_RETURN(call.body, TileEvaluator::Compile(inputs, kernels_));
    scratch.Add(static_cast<int64_t>(call.body.scratch_bytes()));
    call.offsets_at = scratch.Add(call.span * static_cast<int64_t>(sizeof(int64_t)));
    ChooseSplit(call);
    return OkStatus();
  }

  // Strides of the target by loop dim, for the output dims that loop dims walk along; the others become positions.
  Result<PerDim> BindTarget(const DeviceTensor& output, const Dims& extents, ScatterCall& call) const {
    PerDim strides{};
    call.out = output.data;
    for (size_t d = 0; d < output_dims_.size(); ++d) {
      const int64_t stride = output.strides[d] * static_cast<int64_t>(SizeOf(output.dtype));
      if (output_dims_[d] < 0) {
        call.positions.push_back({output.shape[d], stride});
        continue;
      }
      const size_t loop = static_cast<size_t>(output_dims_[d]);
      if (extents[loop] > output.shape[d]) {
        return InvalidArgument("{} values along dim {} exceed its extent of {}", extents[loop], d, output.shape[d]);
      }
      strides[loop] += stride;
    }
    return strides;
  }

  bool PositionsIgnore(int loop_dim) const {
    if (loop_dim < 0) return true;
    const std::vector<bool> depends = DependsOn(evaluated_, loop_dim);
    return std::none_of(evaluated_.results.begin() + 1, evaluated_.results.end(),
                        [&](int16_t result) { return depends[static_cast<size_t>(result)]; });
  }

  // The outermost dim along the output that gives every thread something, else the longest.
  static void ChooseSplit(ScatterCall& call) {
    constexpr int64_t kEnough = 64;
    constexpr double kWriteNanoseconds = 1;
    int64_t longest = 1;
    for (size_t d = 0; d < call.nest.size() && longest < kEnough; ++d) {
      if (call.out_strides[d] == 0 || call.nest[d].extent <= longest) continue;
      longest = call.nest[d].extent;
      call.split_dim = d;
    }
    const double each = call.body.nanoseconds_per_element() + kWriteNanoseconds;
    call.parallel = longest > 1 && each * static_cast<double>(Count(call.nest, 0, call.nest.size())) > kParallelNanoseconds;
  }

  ScatterStep step_;
  LoopProgram evaluated_;
  std::vector<int> output_dims_;  // of each output dim: the loop dim that walks along it, or -1
  const CpuKernels& kernels_;
};

}  // namespace

Status SupportsScatter(const Step& step) {
  const ScatterStep& scatter = std::get<ScatterStep>(step.body);
  TONDAR_RETURN_IF_ERROR(TileEvaluator::Supports(scatter.program).Annotated(fmt::format("step '{}'", step.name)));
  const DType dtype = step.outputs[0].dtype;
  if (ScatterFunctionsFor(scatter.op, dtype).strided != nullptr) return OkStatus();
  return Unimplemented("step '{}': a scatter of {}", step.name, Name(dtype));
}

Result<std::unique_ptr<CpuKernel>> MakeScatterKernel(const Step& step, std::span<const Constant* const>, const CpuKernels& kernels) {
  return std::unique_ptr<CpuKernel>(std::make_unique<ScatterKernel>(std::get<ScatterStep>(step.body), kernels));
}

}  // namespace tondar::cpu
