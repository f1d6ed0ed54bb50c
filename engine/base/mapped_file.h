// Read-only memory mapping of a whole file.
#ifndef TONDAR_ENGINE_BASE_MAPPED_FILE_H_
#define TONDAR_ENGINE_BASE_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "engine/base/status.h"

namespace tondar {

// Keeps a file mapped for its lifetime. The bytes are page-aligned and stay valid while the object lives, also when
// the file is unlinked or replaced by rename. Thread-safe: nothing changes after opening.
class MappedFile {
 public:
  // NotFound: no such file. InvalidArgument: not a regular file. Internal: the system refused, with its words.
  // shared_ptr: weights of several sessions and their archive borrow from one mapping.
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, std::span<const std::byte> bytes) : path_(std::move(path)), bytes_(bytes) {}

  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_BASE_MAPPED_FILE_H_
