#include "engine/archive/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/archive/zip_format.h"

namespace tondar {
namespace {

// Deflate cannot do better than one bit for 258 bytes.
constexpr uint64_t kMaxDeflateRatio = 1032;
constexpr size_t kMaxProblems = 10;
constexpr uint64_t kMaxCommentBytes = 0xffff;
// Read and summed up at a time: what a second-level cache holds.
constexpr size_t kChunkBytes = size_t{256} << 10;

// A part of the file, addressed by places in the file. Little-endian reads that answer zero outside the part; callers
// check the extent first.
class Bytes {
 public:
  Bytes() = default;
  Bytes(uint64_t begin, OwnedBytes part) : begin_(begin), part_(std::move(part)) {}

  bool Holds(uint64_t offset, uint64_t count) const {
    const uint64_t size = part_.bytes.size();
    return offset >= begin_ && offset - begin_ <= size && count <= size - (offset - begin_);
  }
  uint16_t U16(uint64_t offset) const { return static_cast<uint16_t>(Read(offset, 2)); }
  uint32_t U32(uint64_t offset) const { return static_cast<uint32_t>(Read(offset, 4)); }
  uint64_t U64(uint64_t offset) const { return Read(offset, 8); }
  std::string_view Text(uint64_t offset, uint64_t count) const {
    if (!Holds(offset, count)) return {};
    return {reinterpret_cast<const char*>(part_.bytes.data()) + (offset - begin_), static_cast<size_t>(count)};
  }

 private:
  uint64_t Read(uint64_t offset, size_t count) const {
    if (!Holds(offset, count)) return 0;
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      value |= static_cast<uint64_t>(part_.bytes[static_cast<size_t>(offset - begin_) + i]) << (8 * i);
    }
    return value;
  }

  uint64_t begin_ = 0;
  OwnedBytes part_;
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
  DirectoryReader(const ByteSource& file, const ZipLimits& limits) : file_(file), limits_(limits) {}

  // What kept the file from being read; nothing was found out about it then.
  const Status& status() const { return status_; }
  std::vector<std::string>& problems() { return problems_; }

  std::vector<ZipRecord> Read() {
    const std::optional<Directory> directory = FindDirectory();
    if (!directory) return {};
    std::vector<Entry> entries = ReadEntries(*directory, Fetch(directory->offset, directory->size));
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

  // The bytes of the file from `offset` on, at most `size`; what lies beyond its end is left out.
  Bytes Fetch(uint64_t offset, uint64_t size) {
    if (!status_.ok() || offset >= file_.size()) return {};
    Result<OwnedBytes> part = ReadBytes(file_, offset, std::min(size, file_.size() - offset));
    if (part.ok()) return Bytes(offset, *std::move(part));
    status_ = part.status();
    return {};
  }

  // The end record is the one whose comment ends with the file. A second candidate would let two readers see two
  // different archives in one file.
  std::optional<uint64_t> FindEndRecord(const Bytes& tail) {
    if (file_.size() < zip::kEndBytes) {
      Problem("{} bytes are too few for a zip archive", file_.size());
      return std::nullopt;
    }
    std::optional<uint64_t> found;
    const uint64_t last = file_.size() - zip::kEndBytes;
    for (uint64_t back = 0; back <= std::min(last, kMaxCommentBytes); ++back) {
      const uint64_t at = last - back;
      if (tail.U32(at) != zip::kEndSignature || tail.U16(at + 20) != back) continue;
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
    constexpr uint64_t kTail = zip::kLocator64Bytes + zip::kEndBytes + kMaxCommentBytes;
    const Bytes tail = Fetch(file_.size() - std::min(file_.size(), kTail), kTail);
    const std::optional<uint64_t> end = FindEndRecord(tail);
    if (!end) return std::nullopt;
    if (tail.U16(*end + 4) != 0 && tail.U16(*end + 4) != zip::kSeeZip64Short) {
      Problem("split over several disks");
      return std::nullopt;
    }
    Directory directory{.offset = tail.U32(*end + 16),
                        .size = tail.U32(*end + 12),
                        .entries = tail.U16(*end + 10),
                        .end_record = *end};
    const bool wants_zip64 = directory.offset == zip::kSeeZip64 || directory.size == zip::kSeeZip64 ||
                             directory.entries == zip::kSeeZip64Short;
    if (wants_zip64 && !ReadEnd64(directory, tail)) return std::nullopt;
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
    if (directory.size > limits_.max_directory_bytes) {
      Problem("a central directory of {} bytes, at most {} are read", directory.size, limits_.max_directory_bytes);
      return std::nullopt;
    }
    return directory;
  }

  bool ReadEnd64(Directory& directory, const Bytes& tail) {
    const uint64_t end = directory.end_record;
    const uint64_t locator = end - zip::kLocator64Bytes;
    if (end < zip::kLocator64Bytes || tail.U32(locator) != zip::kLocator64Signature) {
      // 65535 records without zip64 are legal.
      if (directory.offset != zip::kSeeZip64 && directory.size != zip::kSeeZip64) return true;
      Problem("the zip64 locator is missing");
      return false;
    }
    const uint64_t at = tail.U64(locator + 8);
    const Bytes end64 = Fetch(at, zip::kEnd64Bytes);
    if (!end64.Holds(at, zip::kEnd64Bytes) || at + zip::kEnd64Bytes > locator ||
        end64.U32(at) != zip::kEnd64Signature) {
      Problem("the zip64 end record at {} is missing", at);
      return false;
    }
    directory = {.offset = end64.U64(at + 48),
                 .size = end64.U64(at + 40),
                 .entries = end64.U64(at + 32),
                 .end_record = at};
    return true;
  }

  std::vector<Entry> ReadEntries(const Directory& directory, const Bytes& bytes) {
    std::vector<Entry> entries;
    const uint64_t end = directory.offset + directory.size;
    uint64_t at = directory.offset;
    for (uint64_t i = 0; i < directory.entries; ++i) {
      if (at + zip::kCentralBytes > end || bytes.U32(at) != zip::kCentralSignature) {
        Problem("central directory entry {} of {} at {} is missing", i, directory.entries, at);
        return entries;
      }
      const uint64_t total = zip::kCentralBytes + bytes.U16(at + 28) + bytes.U16(at + 30) + bytes.U16(at + 32);
      if (total > end - at) {
        Problem("central directory entry {} at {} is cut off", i, at);
        return entries;
      }
      entries.push_back(ReadEntry(bytes, at));
      at += total;
    }
    if (at != end) Problem("{} bytes follow the last central directory entry", end - at);
    return entries;
  }

  Entry ReadEntry(const Bytes& bytes, uint64_t at) {
    Entry entry;
    ZipRecord& record = entry.record;
    const uint64_t name_size = bytes.U16(at + 28);
    entry.flags = bytes.U16(at + 8);
    entry.method = bytes.U16(at + 10);
    entry.local_offset = bytes.U32(at + 42);
    record.name = bytes.Text(at + zip::kCentralBytes, name_size);
    record.crc32 = bytes.U32(at + 16);
    record.stored_size = bytes.U32(at + 20);
    record.size = bytes.U32(at + 24);
    record.deflated = entry.method == zip::kDeflated;
    entry.is_folder = record.name.ends_with('/');
    ReadZip64Extra(at + zip::kCentralBytes + name_size, bytes.U16(at + 30), bytes, entry);
    CheckEntry(entry);
    return entry;
  }

  // The zip64 field holds, in this order, those values that did not fit their 32 bits.
  static void ReadZip64Extra(uint64_t at, uint64_t size, const Bytes& bytes, Entry& entry) {
    uint64_t* const wide[] = {&entry.record.size, &entry.record.stored_size, &entry.local_offset};
    const uint64_t end = at + size;
    while (end - at >= 4) {
      const uint16_t id = bytes.U16(at);
      const uint64_t field_end = std::min(end, at + 4 + bytes.U16(at + 2));
      at += 4;
      if (id == zip::kExtraZip64) {
        for (uint64_t* value : wide) {
          if (*value != zip::kSeeZip64 || field_end - at < 8) continue;
          *value = bytes.U64(at);
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
    const Bytes bytes = Fetch(at, zip::kLocalBytes + entry.record.name.size());
    if (!bytes.Holds(at, zip::kLocalBytes) || bytes.U32(at) != zip::kLocalSignature) {
      Problem("record '{}' has no local header at {}", name, at);
      return;
    }
    const uint64_t name_size = bytes.U16(at + 26);
    entry.header_size = zip::kLocalBytes + name_size + bytes.U16(at + 28);
    if (bytes.Text(at + zip::kLocalBytes, name_size) != entry.record.name) {
      Problem("record '{}' has another name in its local header at {}", name, at);
    }
    if (bytes.U16(at + 8) != entry.method) Problem("record '{}' has two compression methods", name);
    CheckLocalSize(entry, bytes, name);
    entry.record.offset = at + entry.header_size;
    if (entry.record.offset > directory.offset ||
        entry.record.stored_size > directory.offset - entry.record.offset) {
      Problem("record '{}' ({} bytes at {}) reaches beyond the central directory at {}", name,
              entry.record.stored_size, entry.record.offset, directory.offset);
    }
  }

  // With a descriptor the local sizes are zero or unknown, and with zip64 they lie in the extra field.
  void CheckLocalSize(const Entry& entry, const Bytes& bytes, const std::string& name) {
    const uint64_t at = entry.local_offset;
    const uint32_t local = bytes.U32(at + 18);
    const bool unknown = (bytes.U16(at + 6) & zip::kFlagDescriptor) != 0 || local == zip::kSeeZip64;
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

  const ByteSource& file_;
  const ZipLimits& limits_;
  Status status_;
  std::vector<std::string> problems_;
};

uint32_t Checksum(uint32_t before, std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

// Inflates a record chunk by chunk, into exactly the memory given.
class Inflater {
 public:
  explicit Inflater(std::span<std::byte> to) : to_(to) { code_ = inflateInit2(&stream_, -MAX_WBITS); }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // False if the data is broken, goes on after its end, or has more than the memory holds.
  bool Feed(std::span<std::byte> from) {
    stream_.next_in = reinterpret_cast<Bytef*>(from.data());
    stream_.avail_in = static_cast<uInt>(from.size());
    while (code_ == Z_OK && (stream_.avail_in > 0 || filled_)) Step();
    return stream_.avail_in == 0 && (code_ == Z_OK || code_ == Z_STREAM_END);
  }
  bool complete() const { return code_ == Z_STREAM_END && written_ == to_.size(); }

 private:
  void Step() {
    constexpr size_t kMost = size_t{1} << 30;  // avail_out is 32 bits wide
    const size_t room = std::min(kMost, to_.size() - written_);
    // One spare byte lets a record of exactly the memory's size end, and catches one byte too many.
    std::byte spare{};
    stream_.next_out = reinterpret_cast<Bytef*>(room > 0 ? to_.data() + written_ : &spare);
    stream_.avail_out = room > 0 ? static_cast<uInt>(room) : 1;
    const uInt offered = stream_.avail_out;
    code_ = inflate(&stream_, Z_NO_FLUSH);
    const size_t made = offered - stream_.avail_out;
    if (room == 0 && made > 0) code_ = Z_DATA_ERROR;
    if (room > 0) written_ += made;
    filled_ = stream_.avail_out == 0;
    if (code_ == Z_BUF_ERROR && stream_.avail_in == 0) code_ = Z_OK;  // waits for the next chunk
  }

  const std::span<std::byte> to_;
  z_stream stream_{};
  size_t written_ = 0;
  bool filled_ = false;  // all room was used: more may be waiting
  int code_ = Z_OK;
};

}  // namespace

Result<ZipReader> ZipReader::Open(const ByteSource& file, const ZipLimits& limits) {
  ZipReader reader(file);
  DirectoryReader directory(file, limits);
  reader.records_ = directory.Read();
  TONDAR_RETURN_IF_ERROR(directory.status());
  for (size_t i = 0; i < reader.records_.size(); ++i) {
    const std::string& record_name = reader.records_[i].name;
    if (!reader.by_name_.emplace(record_name, i).second) {
      directory.problems().push_back(fmt::format("two records are called '{}'", Printable(record_name)));
    }
  }
  if (!directory.problems().empty()) {
    return InvalidArgument("{}: broken zip archive: {}", file.name(), Join(directory.problems()));
  }
  return reader;
}

const ZipRecord* ZipReader::Find(std::string_view record_name) const {
  const auto it = by_name_.find(record_name);
  return it == by_name_.end() ? nullptr : &records_[it->second];
}

// Sizes were bounded when the directory was read.
Result<OwnedBytes> ZipReader::Read(const ZipRecord& record) const {
  const auto size = static_cast<size_t>(record.size);
  const std::shared_ptr<std::byte> memory = AllocateShared(size);
  if (memory == nullptr) {
    return ResourceExhausted("{}: record '{}': no memory for {} bytes", name(), record.name, size);
  }
  const std::span<std::byte> content(memory.get(), size);
  TONDAR_ASSIGN_OR_RETURN(const uint32_t sum, record.deflated ? Inflate(record, content) : Copy(record, content));
  if (sum != record.crc32) {
    return InvalidArgument("{}: record '{}': the checksum is wrong; the file is damaged", name(), record.name);
  }
  return OwnedBytes{content, memory};
}

Result<uint32_t> ZipReader::Copy(const ZipRecord& record, std::span<std::byte> content) const {
  uint32_t sum = 0;
  for (size_t done = 0; done < content.size(); done += kChunkBytes) {
    const std::span<std::byte> chunk = content.subspan(done, std::min(kChunkBytes, content.size() - done));
    TONDAR_RETURN_IF_ERROR(file_->Read(record.offset + done, chunk));
    sum = Checksum(sum, chunk);
  }
  return sum;
}

Result<uint32_t> ZipReader::Inflate(const ZipRecord& record, std::span<std::byte> content) const {
  std::vector<std::byte> buffer(static_cast<size_t>(std::min<uint64_t>(kChunkBytes, record.stored_size)));
  Inflater inflater(content);
  bool sound = true;
  for (uint64_t done = 0; sound && done < record.stored_size; done += kChunkBytes) {
    const uint64_t left = record.stored_size - done;
    const std::span<std::byte> chunk = std::span(buffer).first(static_cast<size_t>(std::min<uint64_t>(kChunkBytes, left)));
    TONDAR_RETURN_IF_ERROR(file_->Read(record.offset + done, chunk));
    sound = inflater.Feed(chunk);
  }
  if (!sound || !inflater.complete()) {
    return InvalidArgument("{}: record '{}': deflated data does not give the {} bytes it claims", name(), record.name,
                           record.size);
  }
  return Checksum(0, content);
}

bool LooksLikeZip(const ByteSource& file) {
  std::array<std::byte, 4> head{};
  if (file.size() < head.size() || !file.Read(0, head).ok()) return false;
  const uint32_t signature = Bytes(0, {head, nullptr}).U32(0);
  return signature == zip::kLocalSignature || signature == zip::kEndSignature;
}

}  // namespace tondar
