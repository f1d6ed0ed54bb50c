// FileSource: a file, read by calls that can fail instead of through memory that can end the process.
#ifndef TONDAR_ENGINE_BASE_FILE_SOURCE_H_
#define TONDAR_ENGINE_BASE_FILE_SOURCE_H_

#include <memory>
#include <string>

#include "engine/base/byte_source.h"

namespace tondar {

// Keeps the file open: unlinking it or renaming another onto its name changes nothing. Writing into it while it is read
// is noticed by CheckUnchanged, as finely as the file system keeps its times (milliseconds); what must be certain needs
// a checksum on top.
class FileSource final : public ByteSource {
 public:
  // NotFound: no such file. InvalidArgument: not a regular file. PermissionDenied: it may not be read. Internal: the
  // system refused, with its words.
  static Result<std::unique_ptr<FileSource>> Open(const std::string& path);

  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  const std::string& name() const override { return path_; }
  uint64_t size() const override { return opened_.size; }
  Status Read(uint64_t offset, std::span<std::byte> to) const override;
  Status CheckUnchanged() const override;

 private:
  // What differs after a write. Not the time of the last status change: that changes with the name, too.
  struct State {
    uint64_t size = 0;
    int64_t modified_ns = 0;
  };
  FileSource(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Result<State> Look() const;
  Status Changed(std::string_view how) const;

  const std::string path_;
  const int fd_;
  State opened_;  // fixed by Open
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_BASE_FILE_SOURCE_H_
