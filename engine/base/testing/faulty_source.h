// FaultySource: a ByteSource that counts what is read and fails from a chosen read on.
#ifndef TONDAR_ENGINE_BASE_TESTING_FAULTY_SOURCE_H_
#define TONDAR_ENGINE_BASE_TESTING_FAULTY_SOURCE_H_

#include <limits>

#include "engine/base/byte_source.h"

namespace tondar {

// One thread.
class FaultySource final : public ByteSource {
 public:
  // `source` outlives this. The first `good_reads` reads succeed, the others answer Unavailable.
  explicit FaultySource(const ByteSource& source, size_t good_reads = std::numeric_limits<size_t>::max())
      : source_(source), good_reads_(good_reads) {}

  const std::string& name() const override { return source_.name(); }
  uint64_t size() const override { return source_.size(); }
  Status Read(uint64_t offset, std::span<std::byte> to) const override {
    failed_ = failed_ || good_reads_ == 0;
    if (failed_) return Unavailable("{}: failed to read on purpose", name());
    --good_reads_;
    bytes_read_ += to.size();
    return source_.Read(offset, to);
  }
  Status CheckUnchanged() const override { return source_.CheckUnchanged(); }

  bool failed() const { return failed_; }
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  const ByteSource& source_;
  mutable size_t good_reads_;
  mutable bool failed_ = false;
  mutable uint64_t bytes_read_ = 0;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_BASE_TESTING_FAULTY_SOURCE_H_
