// ZipReader: the records of a zip archive, in place.
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

#include "engine/base/mapped_file.h"
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

// Bytes and what keeps them alive.
struct OwnedBytes {
  std::span<const std::byte> bytes;
  // shared_ptr: tensors of many records and graphs borrow from one mapping.
  std::shared_ptr<const void> owner;
};

// Refuses what no honest writer makes.
struct ZipLimits {
  uint64_t max_records = 1 << 20;
  size_t max_name_bytes = 4096;
  uint64_t max_inflated_bytes = uint64_t{1} << 36;  // of one deflated record
};

// The directory of an archive, checked as a whole when opened: every record lies inside the file, none overlaps
// another, names are unique, relative and without "..". Reads stored and deflated records, zip64, data descriptors;
// not encrypted or split archives. Thread-safe: nothing changes after opening.
class ZipReader {
 public:
  // InvalidArgument: not a zip archive or a broken one; the message lists what is wrong.
  static Result<ZipReader> Open(std::shared_ptr<const MappedFile> file, const ZipLimits& limits = {});
  // The same over bytes that `owner` keeps alive; `name` stands for the file in messages.
  static Result<ZipReader> Open(std::string name, OwnedBytes file, const ZipLimits& limits = {});

  const std::string& name() const { return name_; }
  // In the order of the central directory; folders are left out.
  const std::vector<ZipRecord>& records() const { return records_; }
  // Null if there is none.
  const ZipRecord* Find(std::string_view record_name) const;

  // The content: in place for a stored record, inflated into memory of its own for a deflated one. A deflated record's
  // checksum is always checked, a stored one's only if asked, for that reads every byte. `record` is one of records().
  // InvalidArgument: the content does not fit its size or checksum.
  Result<OwnedBytes> Read(const ZipRecord& record, bool verify_checksum = false) const;

 private:
  ZipReader(std::string name, OwnedBytes file) : name_(std::move(name)), file_(std::move(file)) {}

  std::string name_;
  OwnedBytes file_;
  std::vector<ZipRecord> records_;
  std::map<std::string, size_t, std::less<>> by_name_;
  ZipLimits limits_;
};

// True if the bytes begin like a zip archive.
bool LooksLikeZip(std::span<const std::byte> bytes);

}  // namespace tondar

#endif  // TONDAR_ENGINE_ARCHIVE_ZIP_READER_H_
