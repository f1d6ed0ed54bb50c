// Makers of the kernels that are not loops: matmul, conv, attention, norm, linalg. Rows of step_table.cc.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_LIBRARY_KERNELS_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_LIBRARY_KERNELS_H_

#include <memory>
#include <optional>
#include <span>

#include "engine/accelerators/cpu/cpu_kernel.h"

namespace tondar::cpu {

Status SupportsMatMul(const Step& step);
Status SupportsConv(const Step& step);
Status SupportsAttention(const Step& step);
Status SupportsNorm(const Step& step);
Status SupportsLinalg(const Step& step);

// Constant right-hand operands and weights are packed here, once.
Result<std::unique_ptr<CpuKernel>> MakeMatMulKernel(const Step&, std::span<const Constant* const>, const CpuKernels&);
Result<std::unique_ptr<CpuKernel>> MakeConvKernel(const Step&, std::span<const Constant* const>, const CpuKernels&);
Result<std::unique_ptr<CpuKernel>> MakeAttentionKernel(const Step&, std::span<const Constant* const>, const CpuKernels&);
Result<std::unique_ptr<CpuKernel>> MakeNormKernel(const Step&, std::span<const Constant* const>, const CpuKernels&);
Result<std::unique_ptr<CpuKernel>> MakeLinalgKernel(const Step&, std::span<const Constant* const>, const CpuKernels&);

// The value of input `input` if it is a constant.
std::optional<TensorView> ConstantInput(std::span<const Constant* const> constants, size_t input);

// Aligned memory for packed weights.
class PackedBytes {
 public:
  PackedBytes() = default;
  explicit PackedBytes(size_t size_bytes);
  std::byte* data() const { return memory_.get(); }
  size_t size_bytes() const { return size_bytes_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t size_bytes_ = 0;
};

// Lays out parts of a member's scratch one after the other, each 64-byte aligned.
class ScratchLayout {
 public:
  size_t Add(int64_t bytes) {
    const size_t offset = bytes_;
    bytes_ += (static_cast<size_t>(bytes) + 63) / 64 * 64;
    return offset;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_LIBRARY_KERNELS_H_
