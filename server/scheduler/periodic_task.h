// PeriodicTask: does something every so often.
#ifndef TONDAR_SERVER_SCHEDULER_PERIODIC_TASK_H_
#define TONDAR_SERVER_SCHEDULER_PERIODIC_TASK_H_

#include <functional>

#include "engine/base/clock.h"
#include "engine/base/executor.h"
#include "engine/base/mutex.h"
#include "server/scheduler/wakeup_timer.h"

namespace tondar {

// Runs the task from construction to destruction, first after `interval`, then as long after the end of the last run.
class PeriodicTask final : private WakeupTimer::Sleeper {
 public:
  // Runs on `executor`, so the task may block. All arguments outlive this.
  PeriodicTask(std::function<void()> task, Duration interval, const Clock& clock, WakeupTimer& timer, Executor& executor);
  ~PeriodicTask();  // waits for a run that is under way

 private:
  void WakeUp() override;
  void Run() TONDAR_EXCLUDES(mu_);

  const std::function<void()> task_;
  const Duration interval_;
  const Clock& clock_;
  WakeupTimer& timer_;
  Executor& executor_;

  Mutex mu_;
  CondVar ended_;
  bool stopping_ TONDAR_GUARDED_BY(mu_) = false;
  bool running_ TONDAR_GUARDED_BY(mu_) = false;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_SCHEDULER_PERIODIC_TASK_H_
