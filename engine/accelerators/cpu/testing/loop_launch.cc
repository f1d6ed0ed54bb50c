#include "engine/accelerators/cpu/testing/loop_launch.h"

#include <cmath>
#include <cstring>

namespace tondar::cpu {
namespace {

constexpr size_t kGuardBytes = 64;

}  // namespace

TestTensor::TestTensor(DType dtype, const Dims& shape, const Dims& strides, int64_t offset) {
  int64_t last = offset;
  for (size_t d = 0; d < shape.size(); ++d) last += std::max<int64_t>(shape[d] - 1, 0) * strides[d];
  bytes_.assign(static_cast<size_t>(last + 1) * SizeOf(dtype) + 2 * kGuardBytes, std::byte{0x5a});
  view_ = {bytes_.data() + kGuardBytes + static_cast<size_t>(offset) * SizeOf(dtype), dtype, shape, strides};
}

std::byte* TestTensor::Address(int64_t linear) const {
  int64_t element = 0;
  for (size_t d = view_.shape.size(); d-- > 0;) {
    element += linear % view_.shape[d] * view_.strides[d];
    linear /= view_.shape[d];
  }
  return view_.data + element * static_cast<int64_t>(SizeOf(view_.dtype));
}

void TestTensor::FillRandom(std::mt19937& random) {
  const DTypeKind kind = InfoOf(view_.dtype).kind;
  for (int64_t i = 0; i < view_.elements(); ++i) {
    ReferenceScalar value;
    value.f = std::uniform_real_distribution<double>(-4, 4)(random);
    value.i = kind == DTypeKind::kBool ? static_cast<int64_t>(random() % 2)
                                       : static_cast<int64_t>(random() % 19) - (kind == DTypeKind::kSigned ? 9 : 0);
    Set(i, value);
  }
}

void TestTensor::FillByte(uint8_t byte) { std::fill(bytes_.begin(), bytes_.end(), std::byte{byte}); }
ReferenceScalar TestTensor::At(int64_t linear) const { return ReadScalar(Address(linear), view_.dtype); }
void TestTensor::Set(int64_t linear, ReferenceScalar value) { WriteScalar(Address(linear), view_.dtype, value); }

Status LaunchStep(const StepBody& body, const KernelArguments& arguments, const CpuKernels& kernels, int threads) {
  Step step;
  step.name = "step";
  step.body = body;
  for (const DeviceTensor& input : arguments.inputs) step.inputs.push_back({.slot = 0, .dtype = input.dtype, .shape = {}, .strides = {}, .offset = {}});
  for (const DeviceTensor& output : arguments.outputs) step.outputs.push_back({.slot = 0, .dtype = output.dtype, .shape = {}, .strides = {}, .offset = {}});
  const StepRow* row = FindStepRow(KindOf(body));
  TONDAR_RETURN_IF_ERROR(row->supports(step));
  TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<CpuKernel> kernel, row->make(step, {}, kernels));
  CpuStream stream(threads);
  return stream.Launch(*kernel, arguments, "step");
}

std::string Difference(const TestTensor& actual, const TestTensor& expected, double relative, double absolute) {
  const DType dtype = actual.view().dtype;
  for (int64_t i = 0; i < actual.view().elements(); ++i) {
    const ReferenceScalar a = actual.At(i), e = expected.At(i);
    if (!IsFloat(dtype)) {
      if (a.i != e.i) return fmt::format("element {}: {}, expected {}", i, a.i, e.i);
      continue;
    }
    if (a.f == e.f || (std::isnan(a.f) && std::isnan(e.f))) continue;
    if (!(std::fabs(a.f - e.f) <= absolute + relative * std::fabs(e.f))) {
      return fmt::format("element {}: {:.9g}, expected {:.9g}", i, a.f, e.f);
    }
  }
  return "";
}

}  // namespace tondar::cpu
