#include "engine/archive/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "engine/archive/zip_format.h"

namespace tondar {
namespace {

// Deflate cannot do better than one bit for 258 bytes.
constexpr uint64_t kMaxDeflateRatio = 1032;
constexpr size_t kMaxProblems = 10;

// Little-endian reads that answer zero outside the bytes; callers check the extent first.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t size() const { return bytes_.size(); }
  bool Holds(uint64_t offset, uint64_t count) const {
    return offset <= bytes_.size() && count <= bytes_.size() - offset;
  }
  uint16_t U16(uint64_t offset) const { return static_cast<uint16_t>(Read(offset, 2)); }
  uint32_t U32(uint64_t offset) const { return static_cast<uint32_t>(Read(offset, 4)); }
  uint64_t U64(uint64_t offset) const { return Read(offset, 8); }
  std::string_view Text(uint64_t offset, uint64_t count) const {
    if (!Holds(offset, count)) return {};
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, static_cast<size_t>(count)};
  }
  std::span<const std::byte> Span(uint64_t offset, uint64_t count) const {
    return bytes_.subspan(static_cast<size_t>(offset), static_cast<size_t>(count));
  }

 private:
  uint64_t Read(uint64_t offset, int count) const {
    if (!Holds(offset, static_cast<uint64_t>(count))) return 0;
    uint64_t value = 0;
    for (int i = 0; i < count; ++i) {
      value |= static_cast<uint64_t>(bytes_[static_cast<size_t>(offset) + static_cast<size_t>(i)]) << (8 * i);
    }
    return value;
  }

  std::span<const std::byte> bytes_;
};

// Where the central directory lies, and how many entries it should have.
struct Directory {
  uint64_t offset = 0, size = 0, entries = 0;
  uint64_t end_record = 0;  // where the end records begin: nothing else may reach beyond it
};

// One row of the central directory.
struct Entry {
  ZipRecord record;
  uint64_t local_offset = 0;
  uint64_t header_size = 0;  // of the local header
  uint16_t flags = 0, method = 0;
  bool is_folder = false;
};

std::string Join(const std::vector<std::string>& problems) {
  std::string text;
  for (size_t i = 0; i < std::min(problems.size(), kMaxProblems); ++i) {
    text += (i == 0 ? "" : "; ") + problems[i];
  }
  if (problems.size() > kMaxProblems) text += fmt::format("; and {} more", problems.size() - kMaxProblems);
  return text;
}

// A name fit for a message: control bytes and length tamed.
std::string Printable(std::string_view name) {
  std::string text;
  for (char c : name.substr(0, 120)) text += (c >= 0x20 && c != 0x7f) ? c : '?';
  if (name.size() > 120) text += "...";
  return text;
}

// Empty if the name is a plain relative path.
std::string_view NameProblem(std::string_view name, size_t max_bytes) {
  if (name.empty()) return "has no name";
  if (name.size() > max_bytes) return "has too long a name";
  if (name.front() == '/') return "has an absolute name";
  if (name.find('\\') != name.npos) return "has a backslash in its name";
  if (name.find('\0') != name.npos) return "has a zero byte in its name";
  if (name.size() > 1 && name[1] == ':') return "has a drive letter in its name";
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    if (name.substr(begin, end - begin) == "..") return "has '..' in its name";
    begin = end + 1;
  }
  return {};
}

class DirectoryReader {
 public:
  DirectoryReader(Bytes bytes, const ZipLimits& limits) : bytes_(bytes), limits_(limits) {}

  std::vector<std::string>& problems() { return problems_; }

  std::vector<ZipRecord> Read() {
    const std::optional<Directory> directory = FindDirectory();
    if (!directory) return {};
    std::vector<Entry> entries = ReadEntries(*directory);
    for (Entry& entry : entries) ReadLocalHeader(entry, *directory);
    CheckOverlaps(entries, *directory);
    std::vector<ZipRecord> records;
    for (Entry& entry : entries) {
      if (!entry.is_folder) records.push_back(std::move(entry.record));
    }
    return records;
  }

 private:
  template <typename... Args>
  void Problem(fmt::format_string<Args...> format, Args&&... args) {
    // Counted beyond the limit, but not worded: a hostile file must not cost memory.
    if (problems_.size() < kMaxProblems) problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
    else problems_.emplace_back();
  }

  // The end record is the one whose comment ends with the file. A second candidate would let two readers see two
  // different archives in one file.
  std::optional<uint64_t> FindEndRecord() {
    if (bytes_.size() < zip::kEndBytes) {
      Problem("{} bytes are too few for a zip archive", bytes_.size());
      return std::nullopt;
    }
    std::optional<uint64_t> found;
    const uint64_t last = bytes_.size() - zip::kEndBytes;
    for (uint64_t back = 0; back <= std::min<uint64_t>(last, 0xffff); ++back) {
      const uint64_t at = last - back;
      if (bytes_.U32(at) != zip::kEndSignature || bytes_.U16(at + 20) != back) continue;
      if (found) {
        Problem("two end records, at {} and {}: the comment is ambiguous", *found, at);
        return std::nullopt;
      }
      found = at;
    }
    if (!found) Problem("no end record: truncated, or not a zip archive");
    return found;
  }

  std::optional<Directory> FindDirectory() {
    const std::optional<uint64_t> end = FindEndRecord();
    if (!end) return std::nullopt;
    if (bytes_.U16(*end + 4) != 0 && bytes_.U16(*end + 4) != zip::kSeeZip64Short) {
      Problem("split over several disks");
      return std::nullopt;
    }
    Directory directory{.offset = bytes_.U32(*end + 16),
                        .size = bytes_.U32(*end + 12),
                        .entries = bytes_.U16(*end + 10),
                        .end_record = *end};
    const bool wants_zip64 = directory.offset == zip::kSeeZip64 || directory.size == zip::kSeeZip64 ||
                             directory.entries == zip::kSeeZip64Short;
    if (wants_zip64 && !ReadEnd64(directory)) return std::nullopt;
    if (directory.entries > limits_.max_records) {
      Problem("{} records, at most {} are read", directory.entries, limits_.max_records);
      return std::nullopt;
    }
    if (directory.offset > directory.end_record ||
        directory.size > directory.end_record - directory.offset) {
      Problem("the central directory ({} bytes at {}) reaches beyond its end record at {}", directory.size,
              directory.offset, directory.end_record);
      return std::nullopt;
    }
    return directory;
  }

  bool ReadEnd64(Directory& directory) {
    const uint64_t end = directory.end_record;
    const uint64_t locator = end - zip::kLocator64Bytes;
    if (end < zip::kLocator64Bytes || bytes_.U32(locator) != zip::kLocator64Signature) {
      // 65535 records without zip64 are legal.
      if (directory.offset != zip::kSeeZip64 && directory.size != zip::kSeeZip64) return true;
      Problem("the zip64 locator is missing");
      return false;
    }
    const uint64_t at = bytes_.U64(locator + 8);
    if (!bytes_.Holds(at, zip::kEnd64Bytes) || at + zip::kEnd64Bytes > locator ||
        bytes_.U32(at) != zip::kEnd64Signature) {
      Problem("the zip64 end record at {} is missing", at);
      return false;
    }
    directory = {.offset = bytes_.U64(at + 48),
                 .size = bytes_.U64(at + 40),
                 .entries = bytes_.U64(at + 32),
                 .end_record = at};
    return true;
  }

  std::vector<Entry> ReadEntries(const Directory& directory) {
    std::vector<Entry> entries;
    const uint64_t end = directory.offset + directory.size;
    uint64_t at = directory.offset;
    for (uint64_t i = 0; i < directory.entries; ++i) {
      if (at + zip::kCentralBytes > end || bytes_.U32(at) != zip::kCentralSignature) {
        Problem("central directory entry {} of {} at {} is missing", i, directory.entries, at);
        return entries;
      }
      const uint64_t total = zip::kCentralBytes + bytes_.U16(at + 28) + bytes_.U16(at + 30) + bytes_.U16(at + 32);
      if (total > end - at) {
        Problem("central directory entry {} at {} is cut off", i, at);
        return entries;
      }
      entries.push_back(ReadEntry(at));
      at += total;
    }
    if (at != end) Problem("{} bytes follow the last central directory entry", end - at);
    return entries;
  }

  Entry ReadEntry(uint64_t at) {
    Entry entry;
    ZipRecord& record = entry.record;
    const uint64_t name_size = bytes_.U16(at + 28);
    entry.flags = bytes_.U16(at + 8);
    entry.method = bytes_.U16(at + 10);
    entry.local_offset = bytes_.U32(at + 42);
    record.name = bytes_.Text(at + zip::kCentralBytes, name_size);
    record.crc32 = bytes_.U32(at + 16);
    record.stored_size = bytes_.U32(at + 20);
    record.size = bytes_.U32(at + 24);
    record.deflated = entry.method == zip::kDeflated;
    entry.is_folder = record.name.ends_with('/');
    ReadZip64Extra(at + zip::kCentralBytes + name_size, bytes_.U16(at + 30), entry);
    CheckEntry(entry);
    return entry;
  }

  // The zip64 field holds, in this order, those values that did not fit their 32 bits.
  void ReadZip64Extra(uint64_t at, uint64_t size, Entry& entry) {
    uint64_t* const wide[] = {&entry.record.size, &entry.record.stored_size, &entry.local_offset};
    const uint64_t end = at + size;
    while (end - at >= 4) {
      const uint16_t id = bytes_.U16(at);
      const uint64_t field_end = std::min(end, at + 4 + bytes_.U16(at + 2));
      at += 4;
      if (id == zip::kExtraZip64) {
        for (uint64_t* value : wide) {
          if (*value != zip::kSeeZip64 || field_end - at < 8) continue;
          *value = bytes_.U64(at);
          at += 8;
        }
        return;
      }
      at = field_end;
    }
  }

  void CheckEntry(const Entry& entry) {
    const ZipRecord& record = entry.record;
    const std::string name = Printable(record.name);
    if (const std::string_view problem = NameProblem(record.name, limits_.max_name_bytes); !problem.empty()) {
      Problem("record '{}' {}", name, problem);
    }
    if (entry.flags & zip::kFlagEncrypted) Problem("record '{}' is encrypted", name);
    if (entry.method != zip::kStored && entry.method != zip::kDeflated) {
      Problem("record '{}' is compressed by method {}; store or deflate it", name, entry.method);
    }
    if (entry.method == zip::kStored && record.size != record.stored_size) {
      Problem("record '{}' is stored but has two sizes, {} and {}", name, record.stored_size, record.size);
    }
    const bool absurd = record.size > limits_.max_inflated_bytes ||
                        record.size / kMaxDeflateRatio > record.stored_size + 1;
    if (record.deflated && absurd) {
      Problem("record '{}' claims {} bytes inflated from {}", name, record.size, record.stored_size);
    }
  }

  void ReadLocalHeader(Entry& entry, const Directory& directory) {
    const std::string name = Printable(entry.record.name);
    const uint64_t at = entry.local_offset;
    if (!bytes_.Holds(at, zip::kLocalBytes) || bytes_.U32(at) != zip::kLocalSignature) {
      Problem("record '{}' has no local header at {}", name, at);
      return;
    }
    const uint64_t name_size = bytes_.U16(at + 26);
    entry.header_size = zip::kLocalBytes + name_size + bytes_.U16(at + 28);
    if (bytes_.Text(at + zip::kLocalBytes, name_size) != entry.record.name) {
      Problem("record '{}' has another name in its local header at {}", name, at);
    }
    if (bytes_.U16(at + 8) != entry.method) Problem("record '{}' has two compression methods", name);
    CheckLocalSize(entry, at, name);
    entry.record.offset = at + entry.header_size;
    if (entry.record.offset > directory.offset ||
        entry.record.stored_size > directory.offset - entry.record.offset) {
      Problem("record '{}' ({} bytes at {}) reaches beyond the central directory at {}", name,
              entry.record.stored_size, entry.record.offset, directory.offset);
    }
  }

  // With a descriptor the local sizes are zero or unknown, and with zip64 they lie in the extra field.
  void CheckLocalSize(const Entry& entry, uint64_t at, const std::string& name) {
    const uint32_t local = bytes_.U32(at + 18);
    const bool unknown = (bytes_.U16(at + 6) & zip::kFlagDescriptor) != 0 || local == zip::kSeeZip64;
    if (!unknown && local != entry.record.stored_size) {
      Problem("record '{}' has two sizes, {} in its local header and {} in the central directory", name, local,
              entry.record.stored_size);
    }
  }

  void CheckOverlaps(const std::vector<Entry>& entries, const Directory& directory) {
    if (!problems_.empty()) return;  // extents are not to be trusted
    std::vector<const Entry*> sorted;
    for (const Entry& entry : entries) sorted.push_back(&entry);
    std::sort(sorted.begin(), sorted.end(),
              [](const Entry* a, const Entry* b) { return a->local_offset < b->local_offset; });
    for (size_t i = 0; i < sorted.size(); ++i) {
      const ZipRecord& record = sorted[i]->record;
      const uint64_t limit = i + 1 < sorted.size() ? sorted[i + 1]->local_offset : directory.offset;
      if (record.offset + record.stored_size > limit) {
        Problem("record '{}' overlaps what begins at {}", Printable(record.name), limit);
      }
    }
  }

  Bytes bytes_;
  const ZipLimits& limits_;
  std::vector<std::string> problems_;
};

uint32_t Checksum(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

// Inflates raw deflate data; the number of bytes made, or nullopt if the data is broken or has more than `to` holds.
std::optional<size_t> Inflate(std::span<const std::byte> from, std::span<std::byte> to) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return std::nullopt;
  size_t read = 0, written = 0;
  int code = Z_OK;
  constexpr size_t kChunk = size_t{1} << 30;  // avail_* are 32 bits wide
  // One spare byte lets a record of exactly `to.size()` bytes end, and catches one byte too many.
  std::byte spare{};
  while (code == Z_OK) {
    const size_t in = std::min(kChunk, from.size() - read);
    const size_t room = std::min(kChunk, to.size() - written);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(room > 0 ? to.data() + written : &spare);
    stream.avail_out = room > 0 ? static_cast<uInt>(room) : 1;
    const uInt offered = stream.avail_out;
    code = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    const size_t made = offered - stream.avail_out;
    if (room == 0 && made > 0) code = Z_DATA_ERROR;
    if (room > 0) written += made;
    if (code == Z_OK && in == stream.avail_in && made == 0) code = Z_BUF_ERROR;
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END || read != from.size()) return std::nullopt;
  return written;
}

}  // namespace

Result<ZipReader> ZipReader::Open(std::shared_ptr<const MappedFile> file, const ZipLimits& limits) {
  const std::span<const std::byte> bytes = file->bytes();
  std::string path = file->path();
  return Open(std::move(path), {bytes, std::move(file)}, limits);
}

Result<ZipReader> ZipReader::Open(std::string name, OwnedBytes file, const ZipLimits& limits) {
  ZipReader reader(std::move(name), std::move(file));
  reader.limits_ = limits;
  DirectoryReader directory(Bytes(reader.file_.bytes), limits);
  reader.records_ = directory.Read();
  for (size_t i = 0; i < reader.records_.size(); ++i) {
    const std::string& record_name = reader.records_[i].name;
    if (!reader.by_name_.emplace(record_name, i).second) {
      directory.problems().push_back(fmt::format("two records are called '{}'", Printable(record_name)));
    }
  }
  if (!directory.problems().empty()) {
    return InvalidArgument("{}: broken zip archive: {}", reader.name_, Join(directory.problems()));
  }
  return reader;
}

const ZipRecord* ZipReader::Find(std::string_view record_name) const {
  const auto it = by_name_.find(record_name);
  return it == by_name_.end() ? nullptr : &records_[it->second];
}

Result<OwnedBytes> ZipReader::Read(const ZipRecord& record, bool verify_checksum) const {
  const std::span<const std::byte> stored = Bytes(file_.bytes).Span(record.offset, record.stored_size);
  if (!record.deflated) {
    if (verify_checksum && Checksum(stored) != record.crc32) {
      return InvalidArgument("{}: record '{}': the checksum is wrong; the file is damaged", name_, record.name);
    }
    return OwnedBytes{stored, file_.owner};
  }
  // Bounded when the directory was read. Aligned like the records that PyTorch writes.
  constexpr size_t kAlignment = 64;
  const auto size = static_cast<size_t>(record.size);
  auto* memory = static_cast<std::byte*>(::operator new(size + 1, std::align_val_t(kAlignment), std::nothrow));
  if (memory == nullptr) {
    return ResourceExhausted("{}: record '{}': no memory for {} bytes", name_, record.name, record.size);
  }
  std::shared_ptr<std::byte> owner(
      memory, [](std::byte* bytes) { ::operator delete(bytes, std::align_val_t(kAlignment)); });
  const std::span<std::byte> content(memory, size);
  const std::optional<size_t> written = Inflate(stored, content);
  if (!written || *written != size) {
    return InvalidArgument("{}: record '{}': deflated data does not give the {} bytes it claims", name_, record.name,
                           record.size);
  }
  if (Checksum(content) != record.crc32) {
    return InvalidArgument("{}: record '{}': the checksum is wrong; the file is damaged", name_, record.name);
  }
  return OwnedBytes{content, std::move(owner)};
}

bool LooksLikeZip(std::span<const std::byte> bytes) {
  const uint32_t signature = Bytes(bytes).U32(0);
  return signature == zip::kLocalSignature || signature == zip::kEndSignature;
}

}  // namespace tondar
