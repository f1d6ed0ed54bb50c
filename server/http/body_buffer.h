// A request body that grows while it is read or inflated.
#ifndef TONDAR_SERVER_HTTP_BODY_BUFFER_H_
#define TONDAR_SERVER_HTTP_BODY_BUFFER_H_

#include <algorithm>
#include <cstring>
#include <span>

#include "server/http/http_message.h"

namespace tondar::http {

// Bytes with kBodyPadding more behind them. Throws std::bad_alloc where memory ends. Thread-compatible.
class BodyBuffer {
 public:
  size_t size() const { return size_; }
  std::span<const std::byte> span() const { return {bytes_.data(), size_}; }
  // Room behind the bytes, the padding not counted.
  std::span<std::byte> room() { return {bytes_.data() + size_, capacity_ - size_}; }
  void Grow(size_t added) { size_ += added; }  // the first `added` bytes of room() have been written

  // Makes room for `capacity` bytes in all.
  void Reserve(size_t capacity) {
    if (capacity <= capacity_ && bytes_.data() != nullptr) return;
    ByteBuffer larger(capacity + kBodyPadding);
    if (size_ > 0) std::memcpy(larger.data(), bytes_.data(), size_);
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }

  // Copies `added` to the end; capacity at least doubles when it must grow, but not above `limit`.
  void Append(std::span<const std::byte> added, size_t limit) {
    if (added.empty()) return;
    if (added.size() > capacity_ - size_) {
      Reserve(std::max(size_ + added.size(), std::min(limit, std::max<size_t>(capacity_ * 2, 4096))));
    }
    std::memcpy(bytes_.data() + size_, added.data(), added.size());
    size_ += added.size();
  }

 private:
  ByteBuffer bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_BODY_BUFFER_H_
