#include "engine/base/file_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tondar {
namespace {

constexpr size_t kMostPerCall = size_t{1} << 30;  // Linux reads less than 2 GiB in a call

Status CannotOpen(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) return NotFound("{}: no such file", path);
  if (error == EACCES || error == EPERM) {
    return PermissionDenied("{}: cannot open: {}; let the user that runs this read it", path, std::strerror(error));
  }
  return Internal("{}: cannot open: {}", path, std::strerror(error));
}

}  // namespace

Result<std::unique_ptr<FileSource>> FileSource::Open(const std::string& path) {
  // Not blocking: a pipe would wait for its other end.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return CannotOpen(path, errno);
  std::unique_ptr<FileSource> file(new FileSource(path, fd));
  TONDAR_ASSIGN_OR_RETURN(file->opened_, file->Look());
  return file;
}

FileSource::~FileSource() { ::close(fd_); }

Result<FileSource::State> FileSource::Look() const {
  struct stat info;
  if (::fstat(fd_, &info) != 0) return Internal("{}: cannot stat: {}", path_, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return InvalidArgument("{}: expected a regular file", path_);
  return State{.size = static_cast<uint64_t>(info.st_size),
               .modified_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

Status FileSource::Changed(std::string_view how) const {
  return Unavailable("{}: changed while it was read: {}; load it again once it is complete, and replace files by "
                     "rename (mv)", path_, how);
}

Status FileSource::Read(uint64_t offset, std::span<std::byte> to) const {
  if (offset > size() || to.size() > size() - offset) {
    return OutOfRange("{}: {} bytes at {} do not lie within its {} bytes", path_, to.size(), offset, size());
  }
  while (!to.empty()) {
    const ssize_t count = ::pread(fd_, to.data(), std::min(to.size(), kMostPerCall), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Internal("{}: cannot read at {}: {}", path_, offset, std::strerror(errno));
    if (count == 0) return Changed(fmt::format("it ends at byte {} of {}", offset, size()));
    to = to.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return OkStatus();
}

Status FileSource::CheckUnchanged() const {
  TONDAR_ASSIGN_OR_RETURN(const State now, Look());
  if (now.size != opened_.size) return Changed(fmt::format("it had {} bytes and has {}", opened_.size, now.size));
  if (now.modified_ns != opened_.modified_ns) return Changed("it was written to");
  return OkStatus();
}

}  // namespace tondar
