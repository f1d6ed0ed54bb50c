// The only sources of threads: Executor runs tasks, ThreadTeam splits one loop over cores.
#ifndef TONDAR_ENGINE_BASE_EXECUTOR_H_
#define TONDAR_ENGINE_BASE_EXECUTOR_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/mutex.h"

namespace tondar {

// Cores that this process may use (its affinity mask), at least 1.
int CoreCount();

// Runs tasks some time later, in the order posted per thread. Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void Post(std::function<void()> task) = 0;
};

// An executor of a fixed number of threads. The destructor runs what was posted, then joins.
class ThreadPool final : public Executor {
 public:
  ThreadPool(int threads, std::string name);
  ~ThreadPool() override;
  void Post(std::function<void()> task) override TONDAR_EXCLUDES(mu_);

 private:
  void Work() TONDAR_EXCLUDES(mu_);

  Mutex mu_;
  CondVar wake_;
  std::deque<std::function<void()>> tasks_ TONDAR_GUARDED_BY(mu_);
  bool stopping_ TONDAR_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;  // fixed after construction
};

// An executor for tests: tasks wait until RunAll or RunOne is called on the test's thread.
class ManualExecutor final : public Executor {
 public:
  void Post(std::function<void()> task) override;
  bool RunOne();
  int RunAll();  // also runs what the tasks post; returns how many ran

 private:
  std::deque<std::function<void()>> tasks_;
};

// Splits a loop over a fixed team of threads; the caller is member 0. Used by CPU kernels on the hot path: Run
// allocates nothing and takes no lock while the team is awake; the others spin for a while after a run, then park.
// Run may be called by one thread at a time. Which member runs which range is fixed, so results never depend on timing.
class ThreadTeam {
 public:
  using Body = void (*)(void* context, int member, int members);

  explicit ThreadTeam(int members);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int members() const { return members_; }

  // Calls body(context, i, members()) once for every member i and returns when all have returned.
  void Run(Body body, void* context);

 private:
  struct State;
  void Help(int member);

  int members_;
  std::unique_ptr<State> state_;
  std::vector<std::thread> threads_;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_BASE_EXECUTOR_H_
