// Runs one step through its CPU kernel, for tests and benchmarks of kernels.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_TESTING_STEP_HARNESS_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_TESTING_STEP_HARNESS_H_

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "engine/accelerators/cpu/cpu_kernel.h"

namespace tondar::cpu {

// A tensor in memory of its own, with any strides and a guard zone behind it.
class StepTensor {
 public:
  StepTensor() = default;
  // Contiguous, zeros.
  StepTensor(DType dtype, const Dims& shape);
  // As if `order` listed the dims from outermost to innermost in memory, with `gap` unused elements after each innermost
  // run.
  StepTensor(DType dtype, const Dims& shape, const Dims& order, int64_t gap = 0);

  const TensorView& view() const { return view_; }
  // The same memory seen with other extents and strides.
  StepTensor As(const Dims& shape, const Dims& strides, int64_t offset = 0) const;

  // Values from a normal distribution; integers from [-100, 100] or [0, 200].
  void FillRandom(std::mt19937& random);
  double Get(const Dims& index) const;
  void Set(const Dims& index, double value);
  // True if nothing outside the tensor's elements has been written.
  bool GuardsIntact() const;

 private:
  void Allocate(DType dtype, const Dims& shape, const Dims& strides, int64_t elements);
  TensorView view_;
  std::shared_ptr<std::vector<std::byte>> memory_;  // shared by the views that As() gives
};

// Calls visit(index) for every index of `shape`, row-major.
template <class Visit>
void ForEachIndex(const Dims& shape, const Visit& visit) {
  if (ElementCount(shape) == 0) return;
  Dims index = Dims::Filled(shape.rank(), 0);
  while (true) {
    visit(index);
    int d = shape.rank() - 1;
    while (d >= 0 && ++index[static_cast<size_t>(d)] == shape[static_cast<size_t>(d)]) index[static_cast<size_t>(d--)] = 0;
    if (d < 0) return;
  }
}

struct HarnessOptions {
  IsaLevel level = IsaLevel::kBaseline;
  MicroArchitecture micro_architecture = MicroArchitecture::kOther;
  int threads = 1;
  std::vector<size_t> constants;  // inputs that are constants
};

// A step bound to its tensors, ready to run many times.
class BoundStep {
 public:
  // Fails the process if the step is refused: tests ask for what is supported.
  BoundStep(StepBody body, const std::vector<StepTensor>& inputs, const StepTensor& output, const HarnessOptions& options);
  Status Run();

 private:
  Step step_;
  std::vector<Constant> constants_;
  CpuKernels kernels_;
  std::unique_ptr<CpuKernel> kernel_;
  std::vector<DeviceTensor> inputs_, outputs_;
  BoundCall call_;
  ThreadTeam team_;
  StepError error_;
  std::vector<std::byte> scratch_;
  RunContext context_;
};

// The step that reads and writes tensors of these shapes and strides.
Step MakeStep(StepBody body, const std::vector<StepTensor>& inputs, const StepTensor& output);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_TESTING_STEP_HARNESS_H_
