#include "engine/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tondar {
namespace {

// Closes a descriptor at the end of a scope.
struct ScopedFd {
  int fd;
  ~ScopedFd() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  const ScopedFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NotFound("{}: no such file", path);
    return Internal("{}: cannot open: {}", path, std::strerror(errno));
  }
  struct stat info;
  if (::fstat(file.fd, &info) != 0) return Internal("{}: cannot stat: {}", path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return InvalidArgument("{}: expected a regular file", path);
  const size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(path, {}));
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED) return Internal("{}: cannot map {} bytes: {}", path, size, std::strerror(errno));
  return std::shared_ptr<const MappedFile>(new MappedFile(path, {static_cast<const std::byte*>(address), size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace tondar
