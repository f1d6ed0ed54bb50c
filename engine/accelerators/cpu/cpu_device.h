// CpuDevice: the host as a device.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_CPU_DEVICE_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_CPU_DEVICE_H_

#include "engine/accelerators/cpu/cpu_kernel.h"
#include "engine/accelerators/device.h"

namespace tondar::cpu {

// Thread-safe: immutable after construction.
class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuKernels& kernels);

  const DeviceProperties& properties() const override { return properties_; }
  Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) override;
  Result<std::unique_ptr<Stream>> CreateStream(const StreamOptions& options) override;
  Result<std::unique_ptr<Event>> CreateEvent() override;
  Status Supports(const Step& step) const override;
  Result<std::unique_ptr<Kernel>> PrepareKernel(const Step& step, std::span<const Constant* const> constants) override;
  Result<std::unique_ptr<CapturedGraph>> CreateGraph() override;

  const CpuKernels& kernels() const { return kernels_; }

 private:
  CpuKernels kernels_;
  DeviceProperties properties_;
};

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_CPU_DEVICE_H_
