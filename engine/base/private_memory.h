// Memory of this process alone, for bytes that are large and live long: weights.
#ifndef TONDAR_ENGINE_BASE_PRIVATE_MEMORY_H_
#define TONDAR_ENGINE_BASE_PRIVATE_MEMORY_H_

#include <cstddef>
#include <memory>
#include <span>

namespace tondar {

// Bytes and what keeps them alive.
struct OwnedBytes {
  std::span<const std::byte> bytes;
  // shared_ptr: tensors that are views of one storage, and graphs, plans and kernels, hold it together.
  std::shared_ptr<const void> owner;
};

// `size` uninitialised bytes, aligned to 64. From 64 KiB on they are pages of their own, which go back to the system
// with the last holder whatever the heap around them looks like, and are huge where the system has such. Null if there
// is no memory.
std::shared_ptr<std::byte> AllocateShared(size_t size);

}  // namespace tondar

#endif  // TONDAR_ENGINE_BASE_PRIVATE_MEMORY_H_
