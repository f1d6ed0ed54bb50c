// The only source of time, so that tests can replace it.
#ifndef TONDAR_ENGINE_BASE_CLOCK_H_
#define TONDAR_ENGINE_BASE_CLOCK_H_

#include <chrono>

namespace tondar {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// Monotonic time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;

  // Milliseconds since the epoch, for statistics that clients read; may jump.
  virtual int64_t WallMillis() const = 0;

  // The machine's clock; lives as long as the process.
  static const Clock& Real();
};

// A clock that moves only when told. Thread-compatible.
class FakeClock final : public Clock {
 public:
  TimePoint Now() const override { return now_; }
  int64_t WallMillis() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now_.time_since_epoch()).count();
  }
  void Advance(Duration step) { now_ += step; }

 private:
  TimePoint now_{std::chrono::seconds(1000)};
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_BASE_CLOCK_H_
