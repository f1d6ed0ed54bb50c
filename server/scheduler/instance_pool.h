// InstancePool: the instances of one model version, each with its thread and its batch.
#ifndef TONDAR_SERVER_SCHEDULER_INSTANCE_POOL_H_
#define TONDAR_SERVER_SCHEDULER_INSTANCE_POOL_H_

#include <functional>
#include <memory>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/executor.h"
#include "server/scheduler/instance.h"

namespace tondar {

// Makes the executor of one instance: a thread of its own in the server, a manual one in tests.
using MakeExecutor = std::function<std::unique_ptr<Executor>(int index)>;

// An instance and what it needs to run batch after batch. Whoever claimed it from the pool has it alone.
struct InstanceSlot {
  explicit InstanceSlot(std::unique_ptr<Instance> i) : instance(std::move(i)) {}
  std::unique_ptr<Instance> instance;
  std::unique_ptr<Executor> executor;
  Batch batch;            // kept, so that a batch allocates no vectors
  bool has_work = false;  // claimed for the queue, but has not looked into it yet

  // The last run, for the scheduler to learn from.
  Duration ran_for{0};
  int64_t ran_rows = 0;      // 0: nothing to learn
  size_t ran_requests = 0;
  TimePoint ran_until;
};

// Which instances are idle. Thread-compatible; the scheduler's lock guards it.
class InstancePool {
 public:
  InstancePool(std::vector<std::unique_ptr<Instance>> instances, const MakeExecutor& make_executor);

  bool has_idle() const { return !idle_.empty(); }
  bool all_idle() const { return idle_.size() == slots_.size(); }
  // The instance that became idle last, because its memory is still in the caches; null if all are busy.
  InstanceSlot* Claim();
  void Release(InstanceSlot& slot) { idle_.push_back(&slot); }

 private:
  std::vector<std::unique_ptr<InstanceSlot>> slots_;
  std::vector<InstanceSlot*> idle_;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_SCHEDULER_INSTANCE_POOL_H_
