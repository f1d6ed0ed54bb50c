#include "engine/accelerators/null/null_device.h"

#include "engine/accelerators/null/null_stream.h"

namespace tondar::null {

NullDevice::NullDevice() {
  properties_.name = "null";
  properties_.architecture = "none";
  properties_.memory_bytes = 0;
}

Result<std::unique_ptr<Buffer>> NullDevice::Allocate(size_t size_bytes) {
  return Unimplemented("null: cannot allocate {} bytes; this backend is a skeleton", size_bytes);
}

Result<std::unique_ptr<Stream>> NullDevice::CreateStream(const StreamOptions&) {
  return std::unique_ptr<Stream>(std::make_unique<NullStream>());
}

Result<std::unique_ptr<Event>> NullDevice::CreateEvent() { return std::unique_ptr<Event>(std::make_unique<NullEvent>()); }

Status NullDevice::Supports(const Step& step) const {
  return Unimplemented("null: step '{}' of kind '{}' is not supported", step.name, Name(KindOf(step.body)));
}

Result<std::unique_ptr<Kernel>> NullDevice::PrepareKernel(const Step& step, std::span<const Constant* const>) {
  return Supports(step);
}

}  // namespace tondar::null
