// Walks protobuf's wire format over borrowed bytes. Every read is checked against the end; nothing is copied.
#ifndef TONDAR_SERVER_GRPC_WIRE_READER_H_
#define TONDAR_SERVER_GRPC_WIRE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tondar {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroup = 3, kEndGroup = 4, kFixed32 = 5 };

using WireBytes = std::span<const std::byte>;

inline std::string_view AsText(WireBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A cursor over one message. After a failed read the cursor is of no further use; ok() tells a clean end from a
// failure. The usual loop:
//   while (reader.Next()) { switch (reader.field()) { case 1: ...; default: reader.Skip(); } }
//   if (!reader.ok()) ...
class WireReader {
 public:
  explicit WireReader(WireBytes message)
      : next_(reinterpret_cast<const uint8_t*>(message.data())), end_(next_ + message.size()) {}

  // Moves to the next field; false at the end and on malformed bytes.
  bool Next() {
    uint64_t tag = 0;
    if (next_ == end_ || failed_) return false;
    if (!ReadVarint(tag)) return false;
    field_ = static_cast<uint32_t>(tag >> 3);
    type_ = static_cast<WireType>(tag & 7);
    if (tag > UINT32_MAX || field_ == 0 || (tag & 7) > 5 || type_ == WireType::kEndGroup) return Fail();
    return true;
  }

  bool ok() const { return !failed_; }
  uint32_t field() const { return field_; }
  WireType type() const { return type_; }
  // True if the current field has this number and type; a known number with another type is an unknown field.
  bool Is(uint32_t field, WireType type) const { return field_ == field && type_ == type; }

  // The value of the current field, whose type the caller has looked at. Empty or 0 after a failure.
  WireBytes Bytes() {
    uint64_t size = 0;
    if (!ReadVarint(size) || size > static_cast<uint64_t>(end_ - next_)) return Fail(), WireBytes();
    const WireBytes bytes(reinterpret_cast<const std::byte*>(next_), static_cast<size_t>(size));
    next_ += size;
    return bytes;
  }
  uint64_t Varint() {
    uint64_t value = 0;
    return ReadVarint(value) ? value : 0;
  }
  uint64_t Fixed64() { return Fixed<uint64_t>(); }
  uint32_t Fixed32() { return Fixed<uint32_t>(); }

  // Steps over the value of the current field.
  void Skip() { SkipValue(field_, type_, 0); }

  // Reads the next varint of a packed run; use with a reader made over the run.
  bool NextVarint(uint64_t& value) { return next_ != end_ && !failed_ && ReadVarint(value); }

 private:
  static constexpr int kDeepestGroup = 100;  // protobuf's own limit

  bool Fail() {
    failed_ = true;
    next_ = end_;
    return false;
  }

  bool ReadVarint(uint64_t& value) {
    if (next_ != end_ && *next_ < 0x80) {
      value = *next_++;
      return true;
    }
    return ReadLongVarint(value);
  }
  bool ReadLongVarint(uint64_t& value);
  void SkipValue(uint32_t field, WireType type, int depth);

  template <typename T>
  T Fixed() {
    T value = 0;
    if (static_cast<size_t>(end_ - next_) < sizeof(T)) return Fail(), T(0);
    std::memcpy(&value, next_, sizeof(T));
    next_ += sizeof(T);
    return value;
  }

  const uint8_t* next_;
  const uint8_t* end_;
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  bool failed_ = false;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_GRPC_WIRE_READER_H_
