// The CPU backend's entry in the registry.
#include "engine/accelerators/accelerator.h"
#include "engine/accelerators/cpu/cpu_device.h"

namespace tondar {
namespace cpu {
namespace {

class CpuAccelerator final : public Accelerator {
 public:
  explicit CpuAccelerator(const CpuKernels& kernels) : device_(kernels) {}
  std::string_view name() const override { return "cpu"; }
  int DeviceCount() const override { return 1; }
  Result<Device*> OpenDevice(int index) override {
    if (index != 0) return NotFound("cpu:{}: no such device; the machine's processors are the one device cpu:0", index);
    return static_cast<Device*>(&device_);
  }

 private:
  CpuDevice device_;
};

Result<std::unique_ptr<Accelerator>> MakeCpuAccelerator(const AcceleratorOptions& options) {
  TONDAR_ASSIGN_OR_RETURN(const IsaLevel level, ChooseIsa(options.cpu_isa));
  const CpuKernels kernels = KernelsFor(level, DescribeCpu().micro_architecture);
  return std::unique_ptr<Accelerator>(std::make_unique<CpuAccelerator>(kernels));
}

}  // namespace
}  // namespace cpu

void RegisterCpuBackend(AcceleratorRegistry& registry) { registry.Register("cpu", cpu::MakeCpuAccelerator); }

}  // namespace tondar
