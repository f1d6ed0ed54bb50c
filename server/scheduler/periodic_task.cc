#include "server/scheduler/periodic_task.h"

#include <utility>

namespace tondar {

PeriodicTask::PeriodicTask(std::function<void()> task, Duration interval, const Clock& clock, WakeupTimer& timer,
                           Executor& executor)
    : task_(std::move(task)), interval_(interval), clock_(clock), timer_(timer), executor_(executor) {
  timer_.WakeAt(*this, clock_.Now() + interval_);
}

PeriodicTask::~PeriodicTask() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    while (running_) ended_.Wait(mu_);
  }
  timer_.Forget(*this);
}

void PeriodicTask::WakeUp() {
  {
    MutexLock lock(mu_);
    if (stopping_) return;
    running_ = true;
  }
  executor_.Post([this] { Run(); });
}

void PeriodicTask::Run() {
  task_();
  MutexLock lock(mu_);
  if (!stopping_) timer_.WakeAt(*this, clock_.Now() + interval_);
  running_ = false;
  ended_.NotifyAll();
}

}  // namespace tondar
