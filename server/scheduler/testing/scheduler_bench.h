// A bench for scheduler tests: fake clock, manual threads and timer, and a record of what became of each request.
#ifndef TONDAR_SERVER_SCHEDULER_TESTING_SCHEDULER_BENCH_H_
#define TONDAR_SERVER_SCHEDULER_TESTING_SCHEDULER_BENCH_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/executor.h"
#include "server/scheduler/batch_scheduler.h"
#include "server/scheduler/testing/fake_engine.h"

namespace tondar::testing {

// Wakes its sleepers when told that it is so late.
class ManualTimer final : public WakeupTimer {
 public:
  void WakeAt(Sleeper& sleeper, TimePoint when) override { wishes_[&sleeper] = when; }
  void Forget(Sleeper& sleeper) override { wishes_.erase(&sleeper); }
  void WakeDue(TimePoint now);
  TimePoint next() const;

 private:
  std::map<Sleeper*, TimePoint> wishes_;
};

// Posts to an executor that outlives it.
class BorrowedExecutor final : public Executor {
 public:
  explicit BorrowedExecutor(Executor& executor) : executor_(executor) {}
  void Post(std::function<void()> task) override { executor_.Post(std::move(task)); }

 private:
  Executor& executor_;
};

// What became of a request.
struct Outcome {
  int answers = 0;
  Status status;
  std::vector<float> values;
  std::string output_name;
  TimePoint answered;
};

// One scheduler of a fake "y = x + 100" with everything manual.
class SchedulerBench {
 public:
  explicit SchedulerBench(SchedulerOptions options, int instances = 1, Shape rest = {Dim(1)});
  ~SchedulerBench();

  // A request of `rows` rows whose every element is `id`; its outcome is outcomes[id].
  std::unique_ptr<Request> MakeRequest(int id, int64_t rows = 1, int64_t width = 1);
  void Submit(std::unique_ptr<Request> request) { scheduler->Submit(std::move(request), nullptr); }
  void Submit(int id, int64_t rows = 1, int64_t width = 1) { Submit(MakeRequest(id, rows, width)); }
  // Moves the clock on and wakes whoever asked for a time until then.
  void Advance(Duration step);
  // Ids per batch that ran since the last call, in order: {{1, 1, 2}} for request 1 of two rows and 2 of one.
  std::vector<std::vector<int>> TakeBatches();

  FakeClock clock;
  ManualTimer timer;
  ManualExecutor executor;
  MetricRegistry registry;
  VersionMetrics metrics{registry, "m", "1", {"inprocess", "http", "grpc"}, 64};
  std::shared_ptr<FakeBehaviour> behaviour = std::make_shared<FakeBehaviour>();
  std::map<int, Outcome> outcomes;
  std::unique_ptr<BatchScheduler> scheduler;
};

}  // namespace tondar::testing

#endif  // TONDAR_SERVER_SCHEDULER_TESTING_SCHEDULER_BENCH_H_
