#include "engine/base/private_memory.h"

#include <sys/mman.h>

#include <new>

namespace tondar {
namespace {

constexpr std::align_val_t kAlignment{64};           // a cache line, and what PyTorch aligns records to
constexpr size_t kOwnPages = size_t{64} << 10;       // below it, what pages waste and calls cost would count
constexpr size_t kHugePages = size_t{4} << 20;       // twice a huge page: one fits, wherever the mapping begins

std::shared_ptr<std::byte> FromPages(size_t size) {
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  // A wish: filling 90 MB took 29 ms with huge pages and 50 without (Xeon, Linux 6). Never rounds the size up.
  if (size >= kHugePages) ::madvise(pages, size, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(pages), [size](std::byte* bytes) { ::munmap(bytes, size); }};
}

std::shared_ptr<std::byte> FromHeap(size_t size) {
  auto* bytes = static_cast<std::byte*>(::operator new(size == 0 ? 1 : size, kAlignment, std::nothrow));
  if (bytes == nullptr) return nullptr;
  return {bytes, [](std::byte* memory) { ::operator delete(memory, kAlignment); }};
}

}  // namespace

std::shared_ptr<std::byte> AllocateShared(size_t size) { return size >= kOwnPages ? FromPages(size) : FromHeap(size); }

}  // namespace tondar
