// Writes protobuf's wire format, once into a counter to learn the size, once into memory of exactly that size.
#ifndef TONDAR_SERVER_GRPC_WIRE_WRITER_H_
#define TONDAR_SERVER_GRPC_WIRE_WRITER_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "server/grpc/wire_reader.h"

namespace tondar {

inline size_t VarintSize(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}

// Counts what WireSink would write.
class WireCounter {
 public:
  void Varint(uint64_t value) { size_ += VarintSize(value); }
  void Raw(const void*, size_t size) { size_ += size; }
  size_t size() const { return size_; }

 private:
  size_t size_ = 0;
};

// Writes to memory that is known to be large enough.
class WireSink {
 public:
  explicit WireSink(uint8_t* next) : next_(next) {}
  void Varint(uint64_t value) {
    while (value >= 0x80) {
      *next_++ = static_cast<uint8_t>(value | 0x80);
      value >>= 7;
    }
    *next_++ = static_cast<uint8_t>(value);
  }
  void Raw(const void* data, size_t size) {
    if (size > 0) std::memcpy(next_, data, size);
    next_ += size;
  }
  uint8_t* next() const { return next_; }

 private:
  uint8_t* next_;
};

template <typename Out>
void PutTag(Out& out, uint32_t field, WireType type) {
  out.Varint(field << 3 | static_cast<uint32_t>(type));
}
template <typename Out>
void PutBytes(Out& out, uint32_t field, std::string_view bytes) {
  PutTag(out, field, WireType::kBytes);
  out.Varint(bytes.size());
  out.Raw(bytes.data(), bytes.size());
}
// Leaves an empty text out, as proto3 does.
template <typename Out>
void PutText(Out& out, uint32_t field, std::string_view text) {
  if (!text.empty()) PutBytes(out, field, text);
}
// A submessage written by `put(out)`.
template <typename Out, typename Put>
void PutMessage(Out& out, uint32_t field, const Put& put) {
  WireCounter counter;
  put(counter);
  PutTag(out, field, WireType::kBytes);
  out.Varint(counter.size());
  put(out);
}

}  // namespace tondar

#endif  // TONDAR_SERVER_GRPC_WIRE_WRITER_H_
