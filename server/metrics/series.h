// Series: the live numbers behind the catalogue. Observing is wait-free: relaxed atomic additions, nothing else.
#ifndef TONDAR_SERVER_METRICS_SERIES_H_
#define TONDAR_SERVER_METRICS_SERIES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/status.h"

namespace tondar {

// Only grows. Counts ticks of its row. Thread-safe.
class Counter {
 public:
  void Add(uint64_t ticks = 1) { ticks_.fetch_add(ticks, std::memory_order_relaxed); }
  // For a number that somebody else counts: moves to `ticks`, never back.
  void AdvanceTo(uint64_t ticks) {
    uint64_t seen = ticks_.load(std::memory_order_relaxed);
    while (seen < ticks && !ticks_.compare_exchange_weak(seen, ticks, std::memory_order_relaxed)) {
    }
  }
  uint64_t ticks() const { return ticks_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> ticks_{0};
};

// Goes up and down, in ticks of its row. Thread-safe.
class Gauge {
 public:
  void Set(int64_t ticks) { ticks_.store(ticks, std::memory_order_relaxed); }
  void Add(int64_t ticks) { ticks_.fetch_add(ticks, std::memory_order_relaxed); }
  int64_t ticks() const { return ticks_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> ticks_{0};
};

// Counts observations by size. Thread-safe. A reader may see an observation in its bucket before it is in the sum.
class Histogram {
 public:
  static constexpr size_t kMaxBounds = 24;

  // `bounds`: ascending upper bounds in ticks, inclusive; they outlive the histogram.
  explicit Histogram(std::span<const int64_t> bounds) : bounds_(bounds) {
    TONDAR_CHECK(bounds.size() <= kMaxBounds, "{} bounds", bounds.size());
  }

  void Observe(int64_t ticks) {
    size_t bucket = 0;
    while (bucket < bounds_.size() && ticks > bounds_[bucket]) ++bucket;
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(static_cast<uint64_t>(ticks < 0 ? 0 : ticks), std::memory_order_relaxed);
  }

  std::span<const int64_t> bounds() const { return bounds_; }
  // Observations in one bucket, not cumulative; bucket bounds().size() is the one to infinity.
  uint64_t count(size_t bucket) const { return counts_[bucket].load(std::memory_order_relaxed); }
  uint64_t sum_ticks() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::span<const int64_t> bounds_;  // fixed after construction
  std::array<std::atomic<uint64_t>, kMaxBounds + 1> counts_{};
  std::atomic<uint64_t> sum_{0};
};

}  // namespace tondar

#endif  // TONDAR_SERVER_METRICS_SERIES_H_
