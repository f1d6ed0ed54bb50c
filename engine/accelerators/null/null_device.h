// NullDevice: the skeleton of a backend. Every entry answers Unimplemented until it is filled in; see README.md.
#ifndef TONDAR_ENGINE_ACCELERATORS_NULL_NULL_DEVICE_H_
#define TONDAR_ENGINE_ACCELERATORS_NULL_NULL_DEVICE_H_

#include "engine/accelerators/device.h"

namespace tondar::null {

// Thread-safe: immutable after construction.
class NullDevice final : public Device {
 public:
  NullDevice();

  const DeviceProperties& properties() const override { return properties_; }
  Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) override;
  Result<std::unique_ptr<Stream>> CreateStream(const StreamOptions& options) override;
  Result<std::unique_ptr<Event>> CreateEvent() override;
  Status Supports(const Step& step) const override;
  Result<std::unique_ptr<Kernel>> PrepareKernel(const Step& step, std::span<const Constant* const> constants) override;
  // CreateGraph: inherits Unimplemented; override it and set capabilities.graphs once streams can capture.

 private:
  DeviceProperties properties_;
};

}  // namespace tondar::null

#endif  // TONDAR_ENGINE_ACCELERATORS_NULL_NULL_DEVICE_H_
