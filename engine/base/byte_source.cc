#include "engine/base/byte_source.h"

#include <algorithm>

namespace tondar {

Result<OwnedBytes> ReadBytes(const ByteSource& source, uint64_t offset, uint64_t size) {
  if (offset > source.size() || size > source.size() - offset) {  // before memory is asked for
    return OutOfRange("{}: {} bytes at {} do not lie within its {} bytes", source.name(), size, offset, source.size());
  }
  const std::shared_ptr<std::byte> memory = AllocateShared(size);
  if (memory == nullptr) return ResourceExhausted("{}: no memory for {} bytes", source.name(), size);
  TONDAR_RETURN_IF_ERROR(source.Read(offset, {memory.get(), size}));
  return OwnedBytes{{memory.get(), size}, memory};
}

Status MemorySource::Read(uint64_t offset, std::span<std::byte> to) const {
  if (offset > size() || to.size() > size() - offset) {
    return OutOfRange("{}: {} bytes at {} do not lie within its {} bytes", name_, to.size(), offset, size());
  }
  std::copy_n(bytes_.bytes.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
  return OkStatus();
}

}  // namespace tondar
