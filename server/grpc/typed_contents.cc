#include "server/grpc/typed_contents.h"

#include <limits>
#include <new>
#include <optional>

namespace tondar {
namespace {

constexpr const char* kFieldNames[] = {"",              "bool_contents",   "int_contents",  "int64_contents",
                                       "uint_contents", "uint64_contents", "fp32_contents", "fp64_contents",
                                       "bytes_contents"};
constexpr uint32_t kFieldCount = std::size(kFieldNames);

// One run of a repeated field: a packed run, or the single element of an unpacked one.
struct Run {
  WireType type;      // of one element; kBytes for a string
  uint64_t scalar;    // an unpacked number
  WireBytes bytes;    // a packed run, or a string
  bool packed;
};

// How elements of a datatype travel: the field that carries them, and what appends one element to memory.
struct Layout {
  uint32_t field;
  WireType type;  // of one element
  // Converts the low bits of a varint; false if out of range. Null where bytes are copied as they are.
  bool (*store)(uint64_t value, std::byte* out);
};

// protobuf truncates a varint to the width of its field; the datatype may be narrower still, which is checked.
template <typename Field, typename Element>
bool Store(uint64_t value, std::byte* out) {
  const auto field = static_cast<Field>(value);
  if (field < static_cast<Field>(std::numeric_limits<Element>::min()) ||
      field > static_cast<Field>(std::numeric_limits<Element>::max())) {
    return false;
  }
  const auto element = static_cast<Element>(field);
  std::memcpy(out, &element, sizeof(Element));
  return true;
}

bool StoreBool(uint64_t value, std::byte* out) {
  *out = std::byte(value != 0);
  return true;
}

Layout LayoutOf(DType dtype) {
  switch (dtype) {
    case DType::kBool: return {1, WireType::kVarint, StoreBool};
    case DType::kInt8: return {2, WireType::kVarint, Store<int32_t, int8_t>};
    case DType::kInt16: return {2, WireType::kVarint, Store<int32_t, int16_t>};
    case DType::kInt32: return {2, WireType::kVarint, Store<int32_t, int32_t>};
    case DType::kInt64: return {3, WireType::kVarint, Store<int64_t, int64_t>};
    case DType::kUInt8: return {4, WireType::kVarint, Store<uint32_t, uint8_t>};
    case DType::kUInt16: return {4, WireType::kVarint, Store<uint32_t, uint16_t>};
    case DType::kUInt32: return {4, WireType::kVarint, Store<uint32_t, uint32_t>};
    case DType::kUInt64: return {5, WireType::kVarint, Store<uint64_t, uint64_t>};
    case DType::kFloat32: return {6, WireType::kFixed32, nullptr};
    case DType::kFloat64: return {7, WireType::kFixed64, nullptr};
    case DType::kString: return {8, WireType::kBytes, nullptr};
    default: return {0, WireType::kVarint, nullptr};
  }
}

Status Malformed(const InputTensor& input) {
  return InvalidArgument("malformed ModelInferRequest: contents of input '{}'", input.name);
}

constexpr WireType kElementTypes[] = {WireType::kVarint, WireType::kVarint, WireType::kVarint,
                                      WireType::kVarint, WireType::kVarint, WireType::kVarint,
                                      WireType::kFixed32, WireType::kFixed64, WireType::kBytes};

// Reads the value of the current field as a run; nullopt, stepping over it, if no contents field has that type.
std::optional<Run> ReadRun(WireReader& reader) {
  const uint32_t field = reader.field();
  if (field >= kFieldCount || (reader.type() != kElementTypes[field] && reader.type() != WireType::kBytes)) {
    reader.Skip();
    return std::nullopt;
  }
  Run run{kElementTypes[field], 0, {}, reader.type() == WireType::kBytes && field != 8};
  switch (reader.type()) {
    case WireType::kBytes: run.bytes = reader.Bytes(); break;
    case WireType::kFixed32: run.scalar = reader.Fixed32(); break;
    case WireType::kFixed64: run.scalar = reader.Fixed64(); break;
    default: run.scalar = reader.Varint(); break;
  }
  return run;
}

size_t ElementSize(WireType fixed) { return fixed == WireType::kFixed32 ? 4 : 8; }

size_t CountVarints(WireBytes run) {
  size_t count = 0;
  for (std::byte byte : run) count += (byte & std::byte{0x80}) == std::byte{0};
  return count;
}

// What a first walk learns.
struct Extent {
  size_t bytes = 0;            // of the decoded tensor
  size_t runs = 0;
  WireBytes last_packed;
};

Result<Extent> Measure(WireBytes contents, const InputTensor& input, const Layout& layout) {
  Extent extent;
  WireReader reader(contents);
  while (reader.Next()) {
    const uint32_t field = reader.field();
    const std::optional<Run> run = ReadRun(reader);
    if (!run || !reader.ok()) continue;
    if (run->packed && run->bytes.empty()) continue;
    if (field != layout.field) {
      return InvalidArgument("input '{}': its data is in {}, but {} data goes into {}", input.name, kFieldNames[field],
                             WireName(input.dtype), kFieldNames[layout.field]);
    }
    ++extent.runs;
    extent.last_packed = run->packed ? run->bytes : WireBytes();
    if (layout.type == WireType::kBytes) {
      if (run->bytes.size() > UINT32_MAX) return Malformed(input);
      extent.bytes += 4 + run->bytes.size();
    } else if (layout.type == WireType::kVarint) {
      extent.bytes += (run->packed ? CountVarints(run->bytes) : 1) * SizeOf(input.dtype);
    } else {
      if (run->packed && run->bytes.size() % ElementSize(layout.type) != 0) return Malformed(input);
      extent.bytes += run->packed ? run->bytes.size() : ElementSize(layout.type);
    }
  }
  if (!reader.ok()) return Malformed(input);
  return extent;
}

// Appends decoded elements to a buffer that Measure has found large enough.
class Filler {
 public:
  Filler(const InputTensor& input, const Layout& layout, std::span<std::byte> out)
      : input_(input), layout_(layout), size_(SizeOf(input.dtype)), next_(out.data()), end_(out.data() + out.size()) {}

  Status Fill(WireBytes contents) {
    WireReader reader(contents);
    while (reader.Next()) {
      const std::optional<Run> run = ReadRun(reader);
      if (run && reader.ok()) TONDAR_RETURN_IF_ERROR(Add(*run));
    }
    return reader.ok() && next_ == end_ ? OkStatus() : Malformed(input_);
  }

 private:
  Status Add(const Run& run) {
    if (layout_.type == WireType::kBytes) {
      const auto length = static_cast<uint32_t>(run.bytes.size());
      Copy(&length, 4);
      Copy(run.bytes.data(), run.bytes.size());
      return OkStatus();
    }
    if (layout_.type != WireType::kVarint) {
      run.packed ? Copy(run.bytes.data(), run.bytes.size()) : Copy(&run.scalar, size_);
      return OkStatus();
    }
    if (!run.packed) return AddVarint(run.scalar);
    WireReader values(run.bytes);
    for (uint64_t value = 0; values.NextVarint(value);) TONDAR_RETURN_IF_ERROR(AddVarint(value));
    return values.ok() ? OkStatus() : Malformed(input_);
  }

  Status AddVarint(uint64_t value) {
    if (static_cast<size_t>(end_ - next_) < size_) return Malformed(input_);
    if (!layout_.store(value, next_)) {
      return InvalidArgument("input '{}': value {} is out of the range of {}", input_.name,
                             layout_.field == 2 ? static_cast<int64_t>(static_cast<int32_t>(value))
                                                : static_cast<int64_t>(static_cast<uint32_t>(value)),
                             WireName(input_.dtype));
    }
    next_ += size_;
    return OkStatus();
  }

  void Copy(const void* data, size_t size) {
    TONDAR_CHECK(static_cast<size_t>(end_ - next_) >= size, "contents grew between two walks");
    if (size > 0) std::memcpy(next_, data, size);
    next_ += size;
  }

  const InputTensor& input_;
  const Layout& layout_;
  size_t size_;
  std::byte* next_;
  std::byte* end_;
};

}  // namespace

Status DecodeTypedContents(WireBytes contents, InputTensor& input, std::vector<ByteBuffer>& owned) {
  const Layout layout = LayoutOf(input.dtype);
  if (layout.field == 0) {
    return InvalidArgument("input '{}': {} has no typed form, send it in raw_input_contents", input.name,
                           WireName(input.dtype));
  }
  TONDAR_ASSIGN_OR_RETURN(const Extent extent, Measure(contents, input, layout));
  const bool as_raw = layout.type == WireType::kFixed32 || layout.type == WireType::kFixed64;
  if (extent.runs == 0 || (as_raw && extent.runs == 1 && !extent.last_packed.empty())) {
    input.bytes = extent.last_packed;
    return OkStatus();
  }
  try {
    owned.emplace_back(extent.bytes);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("input '{}': no memory for {} bytes", input.name, extent.bytes);
  }
  TONDAR_RETURN_IF_ERROR(Filler(input, layout, owned.back().span()).Fill(contents));
  input.bytes = owned.back().span();
  return OkStatus();
}

}  // namespace tondar
