// BatchScheduler: queues the requests of one model version, forms batches, runs them, answers everyone.
#ifndef TONDAR_SERVER_SCHEDULER_BATCH_SCHEDULER_H_
#define TONDAR_SERVER_SCHEDULER_BATCH_SCHEDULER_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"
#include "server/config/model_config.h"
#include "server/metrics/version_metrics.h"
#include "server/scheduler/batch_former.h"
#include "server/scheduler/completion_order.h"
#include "server/scheduler/instance_pool.h"
#include "server/scheduler/request_queue.h"
#include "server/scheduler/wakeup_timer.h"

namespace tondar {

struct SchedulerOptions {
  std::string where;              // how messages name the version: "model 'bert' version 3"
  bool batched = false;           // the first extent of every tensor is the batch
  BatchPolicy batching;
  QueuePolicy queue;
  bool preserve_ordering = false;
  bool run_inline = false;        // lone requests may run on the thread that submits them (CPU)
  Duration expected_run{0};       // what one row took at warm-up; 0 = not known
};

SchedulerOptions MakeSchedulerOptions(const ModelConfig& config, std::string_view version, bool run_inline,
                                      Duration expected_run);

// What the scheduler uses of the house; all of it outlives the scheduler.
struct SchedulerDependencies {
  const Clock& clock;
  WakeupTimer& timer;
  VersionMetrics& metrics;
};

// How a request is served. Thread-safe.
//
// An arriving request either runs at once on the submitting thread (see batch_scheduler.cc for when), or joins the
// queue and an idle instance is woken if the batch former says so. An instance that has answered its batch asks the
// batch former for the next and sleeps when there is none. The batch is formed when the instance is ready to run it and
// not before, so whatever came in meanwhile is in it. One timer per server wakes the scheduler for the next deadline,
// queue timeout or end of a batching delay.
//
// Every request is answered exactly once. One that is late or cancelled before its batch runs costs no compute; one
// whose deadline passes during compute is answered DEADLINE_EXCEEDED. Codes besides what the model itself says:
// Unavailable (queue full, waited longer than its queue timeout, closed), DeadlineExceeded, Cancelled.
class BatchScheduler final : private WakeupTimer::Sleeper {
 public:
  BatchScheduler(SchedulerOptions options, SchedulerDependencies dependencies,
                 std::vector<std::unique_ptr<Instance>> instances, const MakeExecutor& make_executor);
  // Ends the instances' threads. Requests without a lease that still wait are answered Unavailable. Not to be called
  // on an instance's thread, nor in a completion.
  ~BatchScheduler();

  // Takes a validated request with its inputs in the signature's order. `lease` is held until it is answered.
  // Does not block, unless the request runs here.
  void Submit(std::unique_ptr<Request> request, std::shared_ptr<const void> lease) TONDAR_EXCLUDES(mu_);

  // Refuses requests from here on and answers those that wait; batches that run finish. For a server that stops.
  void Close() TONDAR_EXCLUDES(mu_);

 private:
  // Why a request leaves without having run.
  enum class Refusal : uint8_t { kCancelled, kDeadline, kTimeout, kQueueFull, kClosed };

  void WakeUp() override TONDAR_EXCLUDES(mu_);

  // Places a request; the caller then does what is said here, without the lock.
  struct Placement {
    InstanceSlot* run_inline = nullptr;  // run it here on this instance
    InstanceSlot* wake = nullptr;        // start this instance
    bool refused = false;
    Refusal refusal{};
  };
  Placement Place(WaitingRequest& waiting, TimePoint now, std::vector<WaitingRequest>& gone) TONDAR_EXCLUDES(mu_);
  bool QueueFull(std::vector<WaitingRequest>& gone) TONDAR_REQUIRES(mu_);
  bool MayRunInline(const Request& request, TimePoint now) const TONDAR_REQUIRES(mu_);
  // Requests that the instances which have been woken are about to take.
  size_t AboutToLeave() const TONDAR_REQUIRES(mu_);

  void RunInline(InstanceSlot& slot, WaitingRequest waiting) TONDAR_EXCLUDES(mu_);
  void Start(InstanceSlot* slot) TONDAR_EXCLUDES(mu_);  // null is fine
  void Work(InstanceSlot& slot) TONDAR_EXCLUDES(mu_);
  void RunBatch(InstanceSlot& slot) TONDAR_EXCLUDES(mu_);
  // Forms the next batch in slot.batch and answers late and cancelled requests. False if there is no batch; the slot is
  // idle then and no longer the caller's.
  bool NextBatch(InstanceSlot& slot) TONDAR_EXCLUDES(mu_);
  bool FillBatch(std::vector<WaitingRequest>& batch, TimePoint now, std::vector<WaitingRequest>& gone)
      TONDAR_REQUIRES(mu_);
  void Release(InstanceSlot& slot) TONDAR_REQUIRES(mu_);
  // An instance, claimed, if one is idle and there is a batch for it at `now`. Sets the timer for what comes later.
  InstanceSlot* ClaimIfRipe(TimePoint now) TONDAR_REQUIRES(mu_);
  void SetTimer(TimePoint batch_ripe_at) TONDAR_REQUIRES(mu_);
  void LearnRunTime(InstanceSlot& slot) TONDAR_REQUIRES(mu_);

  void Answer(WaitingRequest waiting, Response response, TimePoint end, int64_t wall_ms) TONDAR_EXCLUDES(mu_);
  void Refuse(WaitingRequest waiting, Refusal refusal, TimePoint now) TONDAR_EXCLUDES(mu_);
  void RefuseLate(std::vector<WaitingRequest> late, TimePoint now) TONDAR_EXCLUDES(mu_);
  void RefuseAll(std::vector<WaitingRequest> requests, Refusal refusal, TimePoint now) TONDAR_EXCLUDES(mu_);
  Status RefusalStatus(const Request& request, Refusal refusal, TimePoint now) const;
  TimePoint TimesOut(const Request& request) const;

  const SchedulerOptions options_;
  const Clock& clock_;
  WakeupTimer& timer_;
  VersionMetrics& metrics_;
  CompletionOrder completion_order_;  // synchronises itself

  Mutex mu_;  // taken before the timer's and the completion order's
  RequestQueue queue_ TONDAR_GUARDED_BY(mu_);
  size_t slots_with_work_ TONDAR_GUARDED_BY(mu_) = 0;
  TimePoint timer_at_ TONDAR_GUARDED_BY(mu_) = TimePoint::max();  // what the timer was asked for
  TimePoint swept_at_ TONDAR_GUARDED_BY(mu_);                     // when late requests were last looked for
  TimePoint last_run_end_ TONDAR_GUARDED_BY(mu_);
  Duration run_per_row_ TONDAR_GUARDED_BY(mu_);                   // moving average of lone runs; 0 = not known
  bool closed_ TONDAR_GUARDED_BY(mu_) = false;
  CondVar idle_;  // signalled, once closed, when an instance becomes idle
  InstancePool pool_ TONDAR_GUARDED_BY(mu_);  // last: its threads end before what they use
};

}  // namespace tondar

#endif  // TONDAR_SERVER_SCHEDULER_BATCH_SCHEDULER_H_
