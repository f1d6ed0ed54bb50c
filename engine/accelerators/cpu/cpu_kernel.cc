#include "engine/accelerators/cpu/cpu_kernel.h"

namespace tondar::cpu {

void StepError::ReportIndex(int64_t index, int64_t extent) {
  int expected = kNone;
  if (!state_.compare_exchange_strong(expected, kWriting)) return;
  index_ = index;
  extent_ = extent;
  state_.store(kIndex, std::memory_order_release);
}

void StepError::Report(const char* what) {
  int expected = kNone;
  if (!state_.compare_exchange_strong(expected, kWriting)) return;
  text_ = what;
  state_.store(kText, std::memory_order_release);
}

Status StepError::Take(const char* label) {
  const int state = state_.exchange(kNone, std::memory_order_acquire);
  if (state == kIndex) {
    const bool moved = index_ >= -kBelowZero - kBelowZero / 2 && index_ < -kBelowZero / 2;
    return InvalidArgument("step '{}': index {} is out of range for an extent of {}", label,
                           moved ? index_ + kBelowZero : index_, extent_);
  }
  return InvalidArgument("step '{}': {}", label, text_);
}

}  // namespace tondar::cpu
