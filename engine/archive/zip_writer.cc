#include "engine/archive/zip_writer.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "engine/archive/zip_format.h"

namespace tondar {
namespace {

constexpr uint16_t kVersionPlain = 20, kVersionZip64 = 45;
// 1980-01-01: archives of equal content are equal byte for byte.
constexpr uint16_t kDate = (1 << 5) | 1;

// Builds a header, little-endian.
class Header {
 public:
  Header& U16(uint64_t value) { return Put(value, 2); }
  Header& U32(uint64_t value) { return Put(value, 4); }
  Header& U64(uint64_t value) { return Put(value, 8); }
  Header& Text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  Header& Put(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }

  std::string bytes_;
};

bool NeedsZip64(uint64_t value) { return value >= zip::kSeeZip64; }
uint64_t Narrow(uint64_t value) { return NeedsZip64(value) ? zip::kSeeZip64 : value; }

// Extra field bytes that bring the content from `position` to a multiple of `alignment`.
uint64_t PaddingFor(uint64_t position, uint64_t alignment) {
  if (position % alignment == 0) return 0;
  return 4 + (alignment - (position + 4) % alignment) % alignment;
}

}  // namespace

Result<ZipWriter> ZipWriter::Create(const std::string& path) {
  ZipWriter writer;
  writer.path_ = path;
  writer.file_.reset(std::fopen(path.c_str(), "wb"));
  if (!writer.file_) return Internal("{}: cannot be created: {}", path, std::strerror(errno));
  return writer;
}

ZipWriter ZipWriter::ToMemory(std::string* out) {
  ZipWriter writer;
  writer.path_ = "(memory)";
  writer.memory_ = out;
  return writer;
}

Status ZipWriter::Write(std::span<const std::byte> bytes) {
  position_ += bytes.size();
  if (memory_ != nullptr) {
    memory_->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return OkStatus();
  }
  if (!file_) return FailedPrecondition("{}: written to after it was closed", path_);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    return Internal("{}: write failed at byte {}: {}", path_, position_, std::strerror(errno));
  }
  return OkStatus();
}

Status ZipWriter::Add(std::string_view name, std::string_view text, uint64_t alignment) {
  const std::span<const std::byte> part = std::as_bytes(std::span(text));
  return Add(name, {&part, 1}, alignment);
}

Status ZipWriter::Add(std::string_view name, std::span<const std::span<const std::byte>> parts, uint64_t alignment) {
  if (name.empty() || name.size() > 0xffff || name.front() == '/') {
    return InvalidArgument("{}: '{}' is no name for a record", path_, name.substr(0, 120));
  }
  Entry entry{.name = std::string(name), .offset = position_, .size = 0, .crc32 = 0};
  uLong crc = 0;
  for (const std::span<const std::byte> part : parts) {
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
    entry.size += part.size();
  }
  entry.crc32 = static_cast<uint32_t>(crc);

  const bool zip64 = NeedsZip64(entry.size);
  const uint64_t zip64_bytes = zip64 ? 20 : 0;
  const uint64_t padding =
      PaddingFor(position_ + zip::kLocalBytes + name.size() + zip64_bytes, alignment);
  Header header;
  header.U32(zip::kLocalSignature).U16(zip64 ? kVersionZip64 : kVersionPlain).U16(zip::kFlagUtf8).U16(zip::kStored);
  header.U16(0).U16(kDate).U32(entry.crc32).U32(Narrow(entry.size)).U32(Narrow(entry.size));
  header.U16(name.size()).U16(zip64_bytes + padding).Text(name);
  if (zip64) header.U16(zip::kExtraZip64).U16(16).U64(entry.size).U64(entry.size);
  if (padding > 0) header.U16(zip::kExtraPadding).U16(padding - 4).Text(std::string(padding - 4, 'Z'));
  TONDAR_RETURN_IF_ERROR(Write(header.bytes()));
  for (const std::span<const std::byte> part : parts) TONDAR_RETURN_IF_ERROR(Write(part));
  entries_.push_back(std::move(entry));
  return OkStatus();
}

Status ZipWriter::WriteDirectory() {
  const uint64_t begin = position_;
  for (const Entry& entry : entries_) {
    const bool wide_size = NeedsZip64(entry.size), wide_offset = NeedsZip64(entry.offset);
    const uint64_t extra = (wide_size ? 16 : 0) + (wide_offset ? 8 : 0);
    const uint16_t version = extra > 0 ? kVersionZip64 : kVersionPlain;
    Header header;
    header.U32(zip::kCentralSignature).U16(version).U16(version).U16(zip::kFlagUtf8).U16(zip::kStored);
    header.U16(0).U16(kDate).U32(entry.crc32).U32(Narrow(entry.size)).U32(Narrow(entry.size));
    header.U16(entry.name.size()).U16(extra > 0 ? extra + 4 : 0).U16(0).U16(0).U16(0).U32(0);
    header.U32(Narrow(entry.offset)).Text(entry.name);
    if (extra > 0) header.U16(zip::kExtraZip64).U16(extra);
    if (wide_size) header.U64(entry.size).U64(entry.size);
    if (wide_offset) header.U64(entry.offset);
    TONDAR_RETURN_IF_ERROR(Write(header.bytes()));
  }
  const uint64_t end = position_, count = entries_.size();
  Header header;
  if (count >= zip::kSeeZip64Short || NeedsZip64(end)) {
    header.U32(zip::kEnd64Signature).U64(zip::kEnd64Bytes - 12).U16(kVersionZip64).U16(kVersionZip64).U32(0).U32(0);
    header.U64(count).U64(count).U64(end - begin).U64(begin);
    header.U32(zip::kLocator64Signature).U32(0).U64(end).U32(1);
  }
  const uint64_t short_count = count >= zip::kSeeZip64Short ? zip::kSeeZip64Short : count;
  header.U32(zip::kEndSignature).U16(0).U16(0).U16(short_count).U16(short_count);
  header.U32(Narrow(end - begin)).U32(Narrow(begin)).U16(0);
  return Write(header.bytes());
}

Status ZipWriter::Close() {
  TONDAR_RETURN_IF_ERROR(WriteDirectory());
  if (!file_) return OkStatus();
  std::FILE* file = file_.release();
  if (std::fclose(file) != 0) return Internal("{}: cannot be closed: {}", path_, std::strerror(errno));
  return OkStatus();
}

}  // namespace tondar
