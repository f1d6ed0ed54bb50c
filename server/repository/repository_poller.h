// RepositoryPoller: has the repository look at its directories every so often.
#ifndef TONDAR_SERVER_REPOSITORY_REPOSITORY_POLLER_H_
#define TONDAR_SERVER_REPOSITORY_REPOSITORY_POLLER_H_

#include "engine/base/clock.h"
#include "engine/base/executor.h"
#include "engine/base/mutex.h"
#include "server/repository/model_repository.h"
#include "server/scheduler/wakeup_timer.h"

namespace tondar {

// Polls from construction to destruction, the next time `interval` after the end of the last.
class RepositoryPoller final : private WakeupTimer::Sleeper {
 public:
  // Looks on `executor`, for it reads directories. All arguments outlive the poller.
  RepositoryPoller(ModelRepository& repository, Duration interval, const Clock& clock, WakeupTimer& timer,
                   Executor& executor);
  ~RepositoryPoller();  // waits for a look that is under way

 private:
  void WakeUp() override;
  void Look() TONDAR_EXCLUDES(mu_);

  ModelRepository& repository_;
  const Duration interval_;
  const Clock& clock_;
  WakeupTimer& timer_;
  Executor& executor_;

  Mutex mu_;
  CondVar looked_;
  bool stopping_ TONDAR_GUARDED_BY(mu_) = false;
  bool looking_ TONDAR_GUARDED_BY(mu_) = false;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_REPOSITORY_REPOSITORY_POLLER_H_
