// ZipWriter: writes a zip archive of stored records, one after the other.
#ifndef TONDAR_ENGINE_ARCHIVE_ZIP_WRITER_H_
#define TONDAR_ENGINE_ARCHIVE_ZIP_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace tondar {

// Streams: a record is on its way to the file when Add returns, nothing is kept but the directory. Uses zip64 where
// sizes or offsets need it. The file is complete only after Close(). One thread.
class ZipWriter {
 public:
  // Creates or truncates the file. Internal: the system refused, with its words.
  static Result<ZipWriter> Create(const std::string& path);
  // Writes into `*out` instead, for tests and small archives; `out` outlives the writer.
  static ZipWriter ToMemory(std::string* out);

  // Adds a record whose content is the parts in order and begins at a multiple of `alignment` bytes (a power of two,
  // at most 65536 / 2). InvalidArgument: the name is empty, absolute or longer than 65535 bytes.
  Status Add(std::string_view name, std::span<const std::span<const std::byte>> parts, uint64_t alignment = 1);
  Status Add(std::string_view name, std::string_view text, uint64_t alignment = 1);

  // Writes the directory and closes the file.
  Status Close();

 private:
  struct Entry {
    std::string name;
    uint64_t offset, size;
    uint32_t crc32;
  };
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  Status Write(std::span<const std::byte> bytes);
  Status WriteDirectory();

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;  // null when writing to memory
  std::string* memory_ = nullptr;
  uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_ARCHIVE_ZIP_WRITER_H_
