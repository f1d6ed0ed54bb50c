// Linear algebra steps: each matrix of the batch goes to doubles in scratch, is solved there, and the result goes out. A
// matrix's result therefore depends on nothing but the matrix.
#include <array>

#include "engine/accelerators/cpu/library_kernels.h"
#include "engine/accelerators/cpu/loop_support.h"
#include "engine/accelerators/cpu/strided_rows.h"
#include "engine/linalg/step_solver.h"

namespace tondar::cpu {
namespace {

// A batch of matrices (or of rows, the result's) in memory; strides and offsets in elements.
struct Batch {
  std::byte* data = nullptr;
  StridedRows problems;
  int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;
};

struct LinalgCall {
  LinalgStep step;
  linalg::Extents extents;
  std::array<Batch, 2> inputs;
  Batch output;
  int64_t problems = 0;
  bool is_double = false, parallel = false;
  // Offsets in a member's scratch.
  size_t a = 0, b = 0, result = 0, work = 0;
};

template <typename T>
void Read(const Batch& from, int64_t problem, double* to) {
  const T* const base = reinterpret_cast<const T*>(from.data) + from.problems.Offset(problem);
  for (int64_t i = 0; i < from.rows; ++i) {
    for (int64_t j = 0; j < from.columns; ++j) *to++ = base[i * from.row_stride + j * from.column_stride];
  }
}

template <typename T>
void Write(const double* from, const Batch& to, int64_t problem) {
  T* const base = reinterpret_cast<T*>(to.data) + to.problems.Offset(problem);
  for (int64_t j = 0; j < to.columns; ++j) base[j * to.column_stride] = static_cast<T>(from[j]);
}

template <typename T>
void SolveOne(const LinalgCall& call, int64_t problem, std::byte* scratch, StepError* error) {
  const auto at = [&](size_t offset) { return reinterpret_cast<double*>(scratch + offset); };
  Read<T>(call.inputs[0], problem, at(call.a));
  Read<T>(call.inputs[1], problem, at(call.b));
  if (const char* what = linalg::Solve(call.step, call.extents, at(call.a), at(call.b), at(call.result), at(call.work))) {
    error->Report(what);
  }
  Write<T>(at(call.result), call.output, problem);
}

void RunLinalg(const void* arguments, RunContext& context) {
  const LinalgCall& call = *static_cast<const LinalgCall*>(arguments);
  const auto solve = call.is_double ? SolveOne<double> : SolveOne<float>;
  SplitOverTeam(context, call.parallel, [&](int member, int members) {
    const Range range = RangeOf(call.problems, member, members);
    for (int64_t i = range.begin; i < range.end; ++i) solve(call, i, context.MemberScratch(member), context.error);
  });
}

Batch BatchOf(const DeviceTensor& tensor, size_t matrix_dims) {
  const size_t outer = tensor.shape.size() - matrix_dims;
  Batch batch;
  batch.data = tensor.data;
  batch.rows = 1;
  batch.columns = tensor.shape[tensor.shape.size() - 1];
  for (size_t d = 0; d < outer; ++d) batch.problems.Append(tensor.shape[d], tensor.strides[d]);
  batch.column_stride = tensor.strides[tensor.shape.size() - 1];
  if (matrix_dims == 2) {
    batch.rows = tensor.shape[outer];
    batch.row_stride = tensor.strides[outer];
  }
  return batch;
}

class LinalgKernel final : public CpuKernel {
 public:
  explicit LinalgKernel(LinalgStep step) : step_(step) {}

  Result<BoundCall> Bind(const KernelArguments& arguments) const override {
    TONDAR_RETURN_IF_ERROR(CheckOperands(arguments, 1, arguments.inputs[0].shape.size() - 1));
    auto call = std::make_unique<LinalgCall>();
    call->step = step_;
    for (size_t i = 0; i < arguments.inputs.size(); ++i) call->inputs[i] = BatchOf(arguments.inputs[i], 2);
    call->output = BatchOf(arguments.outputs[0], 1);
    call->extents = {call->inputs[0].rows, call->inputs[0].columns, arguments.inputs.size() > 1 ? call->inputs[1].columns : 0};
    const int64_t elements = linalg::ResultElements(step_, call->extents);
    if (elements != call->output.columns) return Internal("a result of {} elements in a place for {}", elements, call->output.columns);
    if (ElementCount(arguments.outputs[0].shape) == 0) return BoundCall();
    call->problems = call->output.problems.count();
    call->is_double = arguments.inputs[0].dtype == DType::kFloat64;
    const double cost = static_cast<double>(call->extents.m * call->extents.n) * static_cast<double>(std::max(call->extents.m, call->extents.n));
    call->parallel = call->problems > 1 && static_cast<double>(call->problems) * cost > kParallelNanoseconds;
    ScratchLayout layout;
    constexpr auto kDouble = static_cast<int64_t>(sizeof(double));
    call->a = layout.Add(call->extents.m * call->extents.n * kDouble);
    call->b = layout.Add(call->extents.n * call->extents.k * kDouble);
    call->result = layout.Add(elements * kDouble);
    call->work = layout.Add(linalg::WorkElements(step_, call->extents) * kDouble);
    return BoundCall(RunLinalg, std::move(call), layout.bytes());
  }

 private:
  LinalgStep step_;
};

}  // namespace

Status SupportsLinalg(const Step& step) {
  const DType dtype = step.inputs[0].dtype;
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) return OkStatus();
  return Unimplemented("step '{}': linear algebra of {}", step.name, Name(dtype));
}

Result<std::unique_ptr<CpuKernel>> MakeLinalgKernel(const Step& step, std::span<const Constant* const>, const CpuKernels&) {
  return std::unique_ptr<CpuKernel>(std::make_unique<LinalgKernel>(std::get<LinalgStep>(step.body)));
}

}  // namespace tondar::cpu
