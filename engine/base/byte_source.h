// ByteSource: where the bytes of a file are read from. Nothing that a file holds is used in place: what was read stays
// what it was, whatever becomes of the file (docs/adr/0007).
#ifndef TONDAR_ENGINE_BASE_BYTE_SOURCE_H_
#define TONDAR_ENGINE_BASE_BYTE_SOURCE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/private_memory.h"
#include "engine/base/status.h"

namespace tondar {

// Thread-safe. Blocks on the file system.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual const std::string& name() const = 0;  // the path, for messages
  virtual uint64_t size() const = 0;

  // Fills `to` with the bytes from `offset` on. OutOfRange: they do not lie within size(). Unavailable: they are no
  // longer there. Internal: the system refused, with its words.
  virtual Status Read(uint64_t offset, std::span<std::byte> to) const = 0;

  // Whether all that was read belongs together. Unavailable: it was written to since it was opened.
  virtual Status CheckUnchanged() const = 0;
};

// A copy of `size` bytes from `offset` on. Codes as Read; ResourceExhausted: no memory.
Result<OwnedBytes> ReadBytes(const ByteSource& source, uint64_t offset, uint64_t size);

// Bytes in memory that nobody changes.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, OwnedBytes bytes) : name_(std::move(name)), bytes_(std::move(bytes)) {}
  // Borrows `bytes`, which outlive this.
  MemorySource(std::string name, std::string_view bytes)
      : MemorySource(std::move(name), OwnedBytes{std::as_bytes(std::span(bytes)), nullptr}) {}

  const std::string& name() const override { return name_; }
  uint64_t size() const override { return bytes_.bytes.size(); }
  Status Read(uint64_t offset, std::span<std::byte> to) const override;
  Status CheckUnchanged() const override { return OkStatus(); }

 private:
  const std::string name_;
  const OwnedBytes bytes_;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_BASE_BYTE_SOURCE_H_
