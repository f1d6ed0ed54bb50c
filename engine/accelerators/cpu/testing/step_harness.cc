#include "engine/accelerators/cpu/testing/step_harness.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/accelerators/cpu/library_kernels.h"

namespace tondar::cpu {
namespace {

constexpr int64_t kGuardBytes = 256;
constexpr std::byte kGuard{0x5a};

double Read(const std::byte* p, DType dtype) {
  const auto as = [&]<class T>(T) {
    T value;
    std::memcpy(&value, p, sizeof(T));
    return value;
  };
  switch (dtype) {
    case DType::kFloat32: return static_cast<double>(as(float{}));
    case DType::kFloat64: return as(double{});
    case DType::kFloat16: return static_cast<double>(Float16ToFloat(as(uint16_t{})));
    case DType::kBFloat16: return static_cast<double>(BFloat16ToFloat(as(uint16_t{})));
    case DType::kInt8: return as(int8_t{});
    case DType::kUInt8: return as(uint8_t{});
    case DType::kBool: return as(uint8_t{});
    case DType::kInt32: return as(int32_t{});
    default: TONDAR_CHECK(false, "the harness does not read {}", Name(dtype));
  }
}

void Write(std::byte* p, DType dtype, double value) {
  const auto put = [&](auto converted) { std::memcpy(p, &converted, sizeof(converted)); };
  switch (dtype) {
    case DType::kFloat32: return put(static_cast<float>(value));
    case DType::kFloat64: return put(value);
    case DType::kFloat16: return put(FloatToFloat16(static_cast<float>(value)));
    case DType::kBFloat16: return put(FloatToBFloat16(static_cast<float>(value)));
    case DType::kInt8: return put(static_cast<int8_t>(value));
    case DType::kUInt8: return put(static_cast<uint8_t>(value));
    case DType::kBool: return put(static_cast<uint8_t>(value != 0));
    case DType::kInt32: return put(static_cast<int32_t>(value));
    default: TONDAR_CHECK(false, "the harness does not write {}", Name(dtype));
  }
}

Operand OperandOf(const StepTensor& tensor, int slot) {
  return {slot, tensor.view().dtype, ToShape(tensor.view().shape), ToShape(tensor.view().strides), Dim(0)};
}

}  // namespace

StepTensor::StepTensor(DType dtype, const Dims& shape) {
  Allocate(dtype, shape, ContiguousStrides(shape), ElementCount(shape));
}

StepTensor::StepTensor(DType dtype, const Dims& shape, const Dims& order, int64_t gap) {
  Dims strides = Dims::Filled(shape.rank(), 0);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    strides[d] = stride;
    stride *= shape[d];
    if (i + 1 == order.size()) stride += gap;
  }
  Allocate(dtype, shape, strides, stride);
}

void StepTensor::Allocate(DType dtype, const Dims& shape, const Dims& strides, int64_t elements) {
  const int64_t bytes = elements * static_cast<int64_t>(SizeOf(dtype)) + kGuardBytes;
  memory_ = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(bytes), kGuard);
  view_ = {memory_->data(), dtype, shape, strides};
  ForEachIndex(shape, [&](const Dims& index) { Set(index, 0); });
}

StepTensor StepTensor::As(const Dims& shape, const Dims& strides, int64_t offset) const {
  StepTensor result = *this;
  result.view_.shape = shape;
  result.view_.strides = strides;
  result.view_.data += offset * static_cast<int64_t>(SizeOf(view_.dtype));
  return result;
}

double StepTensor::Get(const Dims& index) const {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * view_.strides[d];
  return Read(view_.data + offset * static_cast<int64_t>(SizeOf(view_.dtype)), view_.dtype);
}

void StepTensor::Set(const Dims& index, double value) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * view_.strides[d];
  Write(view_.data + offset * static_cast<int64_t>(SizeOf(view_.dtype)), view_.dtype, value);
}

void StepTensor::FillRandom(std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> integer(0, 200);
  ForEachIndex(view_.shape, [&](const Dims& index) {
    if (IsFloat(view_.dtype)) return Set(index, normal(random));
    Set(index, view_.dtype == DType::kInt8 ? integer(random) - 100 : integer(random));
  });
}

bool StepTensor::GuardsIntact() const {
  std::vector<std::byte> expected(memory_->size(), kGuard);
  const auto size = static_cast<int64_t>(SizeOf(view_.dtype));
  bool intact = true;
  const int64_t base = view_.data - memory_->data();
  ForEachIndex(view_.shape, [&](const Dims& index) {
    int64_t offset = base;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * view_.strides[d] * size;
    std::memcpy(expected.data() + offset, memory_->data() + offset, static_cast<size_t>(size));
  });
  for (size_t i = 0; i < expected.size(); ++i) intact &= expected[i] == (*memory_)[i];
  return intact;
}

Step MakeStep(StepBody body, const std::vector<StepTensor>& inputs, const StepTensor& output) {
  Step step;
  step.name = "step";
  step.body = std::move(body);
  for (size_t i = 0; i < inputs.size(); ++i) step.inputs.push_back(OperandOf(inputs[i], static_cast<int>(i)));
  step.outputs.push_back(OperandOf(output, static_cast<int>(inputs.size())));
  return step;
}

BoundStep::BoundStep(StepBody body, const std::vector<StepTensor>& inputs, const StepTensor& output,
                     const HarnessOptions& options)
    : step_(MakeStep(std::move(body), inputs, output)),
      kernels_(KernelsFor(options.level, options.micro_architecture)),
      team_(options.threads) {
  std::vector<const Constant*> constants(inputs.size(), nullptr);
  constants_.reserve(inputs.size());
  for (size_t i : options.constants) {
    constants_.push_back({"constant", inputs[i].view(), nullptr});
    constants[i] = &constants_.back();
  }
  const StepRow* row = FindStepRow(KindOf(step_.body));
  TONDAR_CHECK(row != nullptr, "no kernel for {}", Name(KindOf(step_.body)));
  const Status supported = row->supports(step_);
  TONDAR_CHECK(supported.ok(), "{}", supported.ToString());
  kernel_ = std::move(row->make(step_, constants, kernels_)).value();
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs_.push_back(inputs[i].view());
    if (kernel_->ReplacesInput(i)) inputs_.back().data = nullptr;  // any read is a bug
  }
  outputs_.push_back(output.view());
  call_ = std::move(kernel_->Bind({inputs_, outputs_, {}})).value();
  context_.team = &team_;
  context_.error = &error_;
  context_.scratch_stride = (call_.scratch_bytes() + 63) / 64 * 64;
  // Scratch begins as NaN, so that reading what was not written shows.
  scratch_.assign(context_.scratch_stride * static_cast<size_t>(options.threads) + 64, std::byte{0xff});
  const auto address = reinterpret_cast<uintptr_t>(scratch_.data());
  context_.scratch = scratch_.data() + (64 - address % 64) % 64;
}

Status BoundStep::Run() {
  call_.Run(context_);
  return error_.failed() ? error_.Take(step_.name.c_str()) : OkStatus();
}

}  // namespace tondar::cpu
