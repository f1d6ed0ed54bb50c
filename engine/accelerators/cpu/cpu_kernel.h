// CpuKernel: a prepared step; BoundCall: one launch of it with its arguments settled, which a replay list calls.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_CPU_KERNEL_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_CPU_KERNEL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/accelerators/cpu/kernels.h"
#include "engine/accelerators/device.h"
#include "engine/base/executor.h"

namespace tondar::cpu {

// Where a running step says that the data made it fail. The first report wins. Thread-safe.
class StepError {
 public:
  void ReportIndex(int64_t index, int64_t extent);  // outside [-extent, extent), or moved by kBelowZero
  void Report(const char* what);                    // text that outlives the run
  bool failed() const { return state_.load(std::memory_order_relaxed) != kNone; }
  // The report as InvalidArgument naming the step; clears it.
  Status Take(const char* label);

 private:
  enum State : int { kNone, kWriting, kIndex, kText };
  std::atomic<int> state_{kNone};
  int64_t index_ = 0, extent_ = 0;
  const char* text_ = "";
};

// What a bound call may use while it runs.
struct RunContext {
  ThreadTeam* team;
  StepError* error;
  std::byte* scratch;     // 64-byte aligned; as much per member as the call asked for when bound
  size_t scratch_stride;  // from one member's scratch to the next one's

  std::byte* MemberScratch(int member) const { return scratch + static_cast<size_t>(member) * scratch_stride; }
};

// Runs `body(member, members)` on every member of the team; on the caller alone if the work is not worth a hand-over.
// Body may not allocate.
template <typename Body>
void SplitOverTeam(const RunContext& context, bool parallel, const Body& body) {
  if (!parallel || context.team->members() == 1) {
    body(0, 1);
    return;
  }
  context.team->Run(
      [](void* erased, int member, int members) { (*static_cast<const Body*>(erased))(member, members); },
      const_cast<Body*>(&body));
}

// One member's share of `count` items, in fixed contiguous ranges.
struct Range {
  int64_t begin, end;
};
inline Range RangeOf(int64_t count, int member, int members) {
  return {count * member / members, count * (member + 1) / members};
}

// Work in nanoseconds below which a step runs on the calling thread alone. Waking a spinning helper and joining it costs
// about 1 us, so that halving 6 us is the least that pays.
inline constexpr double kParallelNanoseconds = 6000;

// A launch with everything settled: running it neither allocates, locks, nor looks anything up. Movable.
class BoundCall {
 public:
  using Function = void (*)(const void* arguments, RunContext& context);

  BoundCall() = default;  // runs to no effect
  // `arguments` is what `function` gets; `scratch_bytes` is per member of the team.
  template <typename T>
  BoundCall(Function function, std::unique_ptr<T> arguments, size_t scratch_bytes)
      : function_(function),
        arguments_(arguments.release(), [](void* p) { delete static_cast<T*>(p); }),
        scratch_bytes_(scratch_bytes) {}

  void Run(RunContext& context) const { function_(arguments_.get(), context); }
  size_t scratch_bytes() const { return scratch_bytes_; }

 private:
  Function function_ = [](const void*, RunContext&) {};
  std::unique_ptr<void, void (*)(void*)> arguments_{nullptr, [](void*) {}};
  size_t scratch_bytes_ = 0;
};

// Immutable, for all shapes. Thread-safe.
class CpuKernel : public Kernel {
 public:
  // Settles a launch: chooses the algorithm for these shapes and strides. The arguments' memory must outlive the runs of
  // the call, the kernel must outlive it too. Internal: the operands do not fit the step (a bug of ours).
  virtual Result<BoundCall> Bind(const KernelArguments& arguments) const = 0;
};

// Makes the kernel of one step. `constants` as in Device::PrepareKernel; `kernels` outlives the kernel.
using KernelMaker = Result<std::unique_ptr<CpuKernel>> (*)(const Step& step,
                                                           std::span<const Constant* const> constants,
                                                           const CpuKernels& kernels);

Result<std::unique_ptr<CpuKernel>> MakeMapKernel(const Step&, std::span<const Constant* const>, const CpuKernels&);
Result<std::unique_ptr<CpuKernel>> MakeReduceKernel(const Step&, std::span<const Constant* const>, const CpuKernels&);
Result<std::unique_ptr<CpuKernel>> MakeScanKernel(const Step&, std::span<const Constant* const>, const CpuKernels&);

// One row per step kind; step_table.cc.
struct StepRow {
  StepKind kind;
  Status (*supports)(const Step& step);  // Unimplemented with the reason
  KernelMaker make;
};
const StepRow* FindStepRow(StepKind kind);  // null: this backend lacks the kind

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_CPU_KERNEL_H_
