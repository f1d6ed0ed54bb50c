// The null backend's entry in the registry.
#include "engine/accelerators/accelerator.h"
#include "engine/accelerators/null/null_device.h"

namespace tondar {
namespace null {
namespace {

// A real backend asks its driver how many devices there are, and opens each on first use.
class NullAccelerator final : public Accelerator {
 public:
  std::string_view name() const override { return "null"; }
  int DeviceCount() const override { return 1; }
  Result<Device*> OpenDevice(int index) override {
    if (index != 0) return NotFound("null:{}: no such device; there is only null:0", index);
    return static_cast<Device*>(&device_);
  }

 private:
  NullDevice device_;
};

// A real backend answers Unavailable here, with the reason, where its driver is missing.
Result<std::unique_ptr<Accelerator>> MakeNullAccelerator(const AcceleratorOptions&) {
  return std::unique_ptr<Accelerator>(std::make_unique<NullAccelerator>());
}

}  // namespace
}  // namespace null

void RegisterNullBackend(AcceleratorRegistry& registry) { registry.Register("null", null::MakeNullAccelerator); }

}  // namespace tondar
