#include "server/scheduler/wakeup_timer.h"

#include <algorithm>

namespace tondar {

TimerThread::TimerThread() : thread_([this] { Run(); }) {}

TimerThread::~TimerThread() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void TimerThread::WakeAt(Sleeper& sleeper, TimePoint when) {
  {
    MutexLock lock(mu_);
    auto wish = std::find_if(wishes_.begin(), wishes_.end(), [&](const Wish& w) { return w.sleeper == &sleeper; });
    if (wish == wishes_.end()) {
      wishes_.push_back({&sleeper, when});
    } else {
      wish->when = when;
    }
  }
  changed_.NotifyAll();
}

void TimerThread::Forget(Sleeper& sleeper) {
  MutexLock lock(mu_);
  std::erase_if(wishes_, [&](const Wish& wish) { return wish.sleeper == &sleeper; });
  while (waking_ == &sleeper) changed_.Wait(mu_);
  std::erase_if(wishes_, [&](const Wish& wish) { return wish.sleeper == &sleeper; });  // it may have asked again
}

size_t TimerThread::Earliest() const {
  const auto earliest = std::min_element(wishes_.begin(), wishes_.end(),
                                         [](const Wish& a, const Wish& b) { return a.when < b.when; });
  return static_cast<size_t>(earliest - wishes_.begin());
}

void TimerThread::Run() {
  mu_.Lock();
  while (!stopping_) {
    const size_t next = Earliest();
    if (next == wishes_.size() || wishes_[next].when == TimePoint::max()) {
      changed_.Wait(mu_);
      continue;
    }
    const Duration left = wishes_[next].when - Clock::Real().Now();
    if (left > Duration::zero()) {
      changed_.WaitFor(mu_, left);
      continue;
    }
    Sleeper* const sleeper = wishes_[next].sleeper;
    waking_ = sleeper;
    wishes_.erase(wishes_.begin() + static_cast<std::ptrdiff_t>(next));
    mu_.Unlock();
    sleeper->WakeUp();
    mu_.Lock();
    waking_ = nullptr;
    changed_.NotifyAll();
  }
  mu_.Unlock();
}

}  // namespace tondar
