// NullStream and NullEvent: an in-order queue that takes no work.
#ifndef TONDAR_ENGINE_ACCELERATORS_NULL_NULL_STREAM_H_
#define TONDAR_ENGINE_ACCELERATORS_NULL_NULL_STREAM_H_

#include "engine/accelerators/device.h"

namespace tondar::null {

class NullEvent final : public Event {
 public:
  Status Synchronize() override;
  Result<bool> Query() override;
};

// One thread at a time.
class NullStream final : public Stream {
 public:
  Status CopyIn(std::byte* device, std::span<const std::byte> host) override;
  Status CopyOut(std::span<std::byte> host, const std::byte* device) override;
  Status CopyWithin(std::byte* to, const std::byte* from, size_t size_bytes) override;
  Status Fill(std::byte* device, std::byte value, size_t size_bytes) override;
  Status Launch(const Kernel& kernel, const KernelArguments& arguments, const char* label) override;
  Status Record(Event& event) override;
  Status Wait(Event& event) override;
  Status Synchronize() override;
};

}  // namespace tondar::null

#endif  // TONDAR_ENGINE_ACCELERATORS_NULL_NULL_STREAM_H_
