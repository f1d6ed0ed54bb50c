// ZipReader: the records of a zip archive.
#ifndef TONDAR_ENGINE_ARCHIVE_ZIP_READER_H_
#define TONDAR_ENGINE_ARCHIVE_ZIP_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/byte_source.h"
#include "engine/base/status.h"

namespace tondar {

struct ZipRecord {
  std::string name;
  uint64_t offset = 0;       // of the stored bytes, from the start of the file
  uint64_t stored_size = 0;  // bytes in the file
  uint64_t size = 0;         // bytes of the content
  uint32_t crc32 = 0;
  bool deflated = false;
};

// Refuses what no honest writer makes.
struct ZipLimits {
  uint64_t max_records = 1 << 20;
  uint64_t max_directory_bytes = uint64_t{1} << 28;
  size_t max_name_bytes = 4096;
  uint64_t max_inflated_bytes = uint64_t{1} << 36;  // of one deflated record
};

// The directory of an archive, checked as a whole when opened: every record lies inside the file, none overlaps
// another, names are unique, relative and without "..". Reads stored and deflated records, zip64, data descriptors;
// not encrypted or split archives. Thread-safe: nothing changes after opening.
class ZipReader {
 public:
  // `file` outlives the reader; its name stands for it in messages. InvalidArgument: not a zip archive or a broken one;
  // the message lists what is wrong. Else as ByteSource::Read.
  static Result<ZipReader> Open(const ByteSource& file, const ZipLimits& limits = {});

  const std::string& name() const { return file_->name(); }
  // In the order of the central directory; folders are left out.
  const std::vector<ZipRecord>& records() const { return records_; }
  // Null if there is none.
  const ZipRecord* Find(std::string_view record_name) const;

  // The content, inflated if need be, in memory of its own; its checksum has been checked. `record` is one of records().
  // InvalidArgument: the content does not fit its size or checksum. ResourceExhausted: no memory. Else as
  // ByteSource::Read.
  Result<OwnedBytes> Read(const ZipRecord& record) const;

 private:
  explicit ZipReader(const ByteSource& file) : file_(&file) {}
  // Fill `content` and give its checksum.
  Result<uint32_t> Copy(const ZipRecord& record, std::span<std::byte> content) const;
  Result<uint32_t> Inflate(const ZipRecord& record, std::span<std::byte> content) const;

  const ByteSource* file_;
  std::vector<ZipRecord> records_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

// True if the file begins like a zip archive.
bool LooksLikeZip(const ByteSource& file);

}  // namespace tondar

#endif  // TONDAR_ENGINE_ARCHIVE_ZIP_READER_H_
