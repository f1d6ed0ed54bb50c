#include "server/scheduler/wakeup_timer.h"

#include <gtest/gtest.h>

namespace tondar {
namespace {

using namespace std::chrono_literals;

class Recorder final : public WakeupTimer::Sleeper {
 public:
  void WakeUp() override {
    MutexLock lock(mu_);
    woken_at_ = Clock::Real().Now();
    ++wakes_;
    changed_.NotifyAll();
  }
  TimePoint AwaitWake() {
    MutexLock lock(mu_);
    while (wakes_ == 0) changed_.Wait(mu_);
    --wakes_;
    return woken_at_;
  }
  int wakes() {
    MutexLock lock(mu_);
    return wakes_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int wakes_ TONDAR_GUARDED_BY(mu_) = 0;
  TimePoint woken_at_ TONDAR_GUARDED_BY(mu_);
};

TEST(TimerThreadTest, WakesNotBeforeTheTime) {
  TimerThread timer;
  Recorder recorder;
  const TimePoint when = Clock::Real().Now() + 20ms;
  timer.WakeAt(recorder, when);
  EXPECT_GE(recorder.AwaitWake(), when);
  timer.Forget(recorder);
}

TEST(TimerThreadTest, AnEarlierWishReplacesALaterOne) {
  TimerThread timer;
  Recorder recorder, other;
  timer.WakeAt(recorder, Clock::Real().Now() + 1h);
  timer.WakeAt(other, TimePoint::max());
  timer.WakeAt(recorder, Clock::Real().Now() + 5ms);
  recorder.AwaitWake();
  EXPECT_EQ(recorder.wakes(), 0);
  EXPECT_EQ(other.wakes(), 0);
  timer.Forget(recorder);
  timer.Forget(other);
}

TEST(TimerThreadTest, ForgottenSleepersSleepOn) {
  TimerThread timer;
  Recorder forgotten, kept;
  timer.WakeAt(forgotten, Clock::Real().Now() + 10ms);
  timer.Forget(forgotten);
  timer.WakeAt(kept, Clock::Real().Now() + 30ms);
  kept.AwaitWake();
  EXPECT_EQ(forgotten.wakes(), 0);
  timer.Forget(kept);
}

}  // namespace
}  // namespace tondar
