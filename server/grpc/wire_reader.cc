#include "server/grpc/wire_reader.h"

namespace tondar {

bool WireReader::ReadLongVarint(uint64_t& value) {
  uint64_t result = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (next_ == end_) return Fail();
    const uint64_t byte = *next_++;
    if (shift < 64) result |= (byte & 0x7f) << shift;  // bits beyond 64 are dropped, as protobuf does
    if (byte < 0x80) {
      value = result;
      return true;
    }
  }
  return Fail();
}

void WireReader::SkipValue(uint32_t field, WireType type, int depth) {
  switch (type) {
    case WireType::kVarint: Varint(); return;
    case WireType::kFixed64: Fixed64(); return;
    case WireType::kBytes: Bytes(); return;
    case WireType::kFixed32: Fixed32(); return;
    case WireType::kEndGroup: Fail(); return;
    case WireType::kGroup: break;
  }
  if (depth >= kDeepestGroup) {
    Fail();
    return;
  }
  for (uint64_t tag = 0; ReadVarint(tag);) {
    const auto inner = static_cast<uint32_t>(tag >> 3);
    const auto inner_type = static_cast<WireType>(tag & 7);
    if (tag > UINT32_MAX || inner == 0 || (tag & 7) > 5) break;
    if (inner_type == WireType::kEndGroup) {
      if (inner != field) break;
      return;
    }
    SkipValue(inner, inner_type, depth + 1);
    if (failed_) return;
  }
  Fail();
}

}  // namespace tondar
