// WakeupTimer: one thread that wakes whoever asked, for all model versions together.
#ifndef TONDAR_SERVER_SCHEDULER_WAKEUP_TIMER_H_
#define TONDAR_SERVER_SCHEDULER_WAKEUP_TIMER_H_

#include <thread>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace tondar {

// Calls sleepers at the time they asked for; replaceable, so that tests decide when it is late. Thread-safe.
class WakeupTimer {
 public:
  // Something that has one next time to look up.
  class Sleeper {
   public:
    // Runs on the timer's thread, so it must not block. Called without any lock of the timer held.
    virtual void WakeUp() = 0;

   protected:
    ~Sleeper() = default;
  };

  virtual ~WakeupTimer() = default;
  // Wakes `sleeper` once, at `when` or soon after; replaces what it asked for before.
  virtual void WakeAt(Sleeper& sleeper, TimePoint when) = 0;
  // Returns when `sleeper` is not being woken and never will be. Not to be called from WakeUp.
  virtual void Forget(Sleeper& sleeper) = 0;
};

// The timer of a running server.
class TimerThread final : public WakeupTimer {
 public:
  TimerThread();
  ~TimerThread() override;

  void WakeAt(Sleeper& sleeper, TimePoint when) override TONDAR_EXCLUDES(mu_);
  void Forget(Sleeper& sleeper) override TONDAR_EXCLUDES(mu_);

 private:
  struct Wish {
    Sleeper* sleeper;
    TimePoint when;
  };
  void Run() TONDAR_EXCLUDES(mu_);
  // Position of the earliest wish; wishes_.size() if there is none.
  size_t Earliest() const TONDAR_REQUIRES(mu_);

  Mutex mu_;
  CondVar changed_;  // a wish was added or a sleeper has been woken
  // A handful, one per model version: searching them is faster than a tree that allocates.
  std::vector<Wish> wishes_ TONDAR_GUARDED_BY(mu_);
  Sleeper* waking_ TONDAR_GUARDED_BY(mu_) = nullptr;
  bool stopping_ TONDAR_GUARDED_BY(mu_) = false;
  std::thread thread_;  // last: starts when all else is made
};

}  // namespace tondar

#endif  // TONDAR_SERVER_SCHEDULER_WAKEUP_TIMER_H_
