// Runs a loop step through the kernels of one instruction set, and through the reference, on the same operands.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_TESTING_LOOP_LAUNCH_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_TESTING_LOOP_LAUNCH_H_

#include <memory>
#include <random>
#include <vector>

#include "engine/accelerators/cpu/cpu_kernel.h"
#include "engine/accelerators/cpu/cpu_stream.h"
#include "engine/accelerators/cpu/testing/reference_loops.h"

namespace tondar::cpu {

// A tensor that owns its bytes, with guard bytes around them.
class TestTensor {
 public:
  // Strides in elements; all of them non-negative.
  TestTensor(DType dtype, const Dims& shape, const Dims& strides, int64_t offset = 0);
  TestTensor(DType dtype, const Dims& shape) : TestTensor(dtype, shape, ContiguousStrides(shape)) {}
  const TensorView& view() const { return view_; }
  // Small "nice" values: floats in [-4, 4], integers in [-9, 9] (or [0, 9]), bool.
  void FillRandom(std::mt19937& random);
  void FillByte(uint8_t byte);
  ReferenceScalar At(int64_t linear) const;  // row-major element
  void Set(int64_t linear, ReferenceScalar value);
  bool SameBytes(const TestTensor& other) const { return bytes_ == other.bytes_; }

 private:
  std::byte* Address(int64_t linear) const;
  std::vector<std::byte> bytes_;
  TensorView view_;
};

// Binds and runs the step; the result of Bind or of the run.
Status LaunchStep(const StepBody& body, const KernelArguments& arguments, const CpuKernels& kernels, int threads = 1);

// "" if all elements agree to within the tolerances (relative and absolute), else says where they do not.
std::string Difference(const TestTensor& actual, const TestTensor& expected, double relative, double absolute);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_TESTING_LOOP_LAUNCH_H_
