#include "server/repository/repository_poller.h"

namespace tondar {

RepositoryPoller::RepositoryPoller(ModelRepository& repository, Duration interval, const Clock& clock,
                                   WakeupTimer& timer, Executor& executor)
    : repository_(repository), interval_(interval), clock_(clock), timer_(timer), executor_(executor) {
  timer_.WakeAt(*this, clock_.Now() + interval_);
}

RepositoryPoller::~RepositoryPoller() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    while (looking_) looked_.Wait(mu_);
  }
  timer_.Forget(*this);
}

void RepositoryPoller::WakeUp() {
  {
    MutexLock lock(mu_);
    if (stopping_) return;
    looking_ = true;
  }
  executor_.Post([this] { Look(); });
}

void RepositoryPoller::Look() {
  repository_.Poll();
  MutexLock lock(mu_);
  if (!stopping_) timer_.WakeAt(*this, clock_.Now() + interval_);
  looking_ = false;
  looked_.NotifyAll();
}

}  // namespace tondar
