#include "server/scheduler/batch_scheduler.h"

#include <algorithm>

namespace tondar {
namespace {

// When a request runs on the thread that submits it. That thread reads other connections too, so the run must be worth
// more to it than to them:
//  - A run shorter than a hop costs (two thread switches with their wake-ups, 10 to 20 us of CPU here) always is: the
//    others wait less than if the instance's thread had competed with this one.
//  - A run up to kInlineRun is, if nothing else seems to be going on. Requests right behind the end of the last run were
//    already waiting in a socket; then the queue and the instance's thread are better: this thread goes on reading
//    while the batch grows. A lone client answers after a network round trip, 40 us and more even on loopback.
//  - A longer run never is: the hop is lost in it, and the other connections would feel it.
constexpr Duration kHopCost = std::chrono::microseconds(20);
constexpr Duration kInlineRun = std::chrono::microseconds(200);
constexpr Duration kQuietGap = std::chrono::microseconds(20);
// Batches that a submitting thread runs for others before it hands the instance over.
constexpr int kInlineFollowUps = 4;

// Late requests are looked for at most this often, so that an overload of them costs little.
constexpr Duration kSweepInterval = std::chrono::milliseconds(1);

// A queue timeout beyond this is none; keeps sums of times within range.
constexpr Duration kLongestTimeout = std::chrono::hours(24 * 365);

bool IsCancelled(const WaitingRequest& waiting) {
  const auto& cancelled = waiting.request->cancelled;
  return cancelled != nullptr && cancelled->load(std::memory_order_relaxed);
}

FailureReason ReasonFor(const Status& status) {
  switch (status.code()) {
    case StatusCode::kCancelled: return FailureReason::kCancelled;
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded: return FailureReason::kRejected;
    case StatusCode::kInvalidArgument: return FailureReason::kOther;
    default: return FailureReason::kBackend;
  }
}

TimePoint ReceivedAt(const Request& request) {
  return request.times.received == TimePoint() ? request.times.queued : request.times.received;
}

RequestDurations DurationsOf(const Timestamps& times, TimePoint received, TimePoint end) {
  return {.total = end - received,
          .queue = times.compute_start - times.queued,
          .compute_input = times.infer_start - times.compute_start,
          .compute_infer = times.infer_end - times.infer_start,
          .compute_output = times.compute_end - times.infer_end};
}

int64_t Microseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

}  // namespace

SchedulerOptions MakeSchedulerOptions(const ModelConfig& config, std::string_view version, bool run_inline,
                                      Duration expected_run) {
  SchedulerOptions options;
  options.where = fmt::format("model '{}' version {}", config.name, version);
  options.batched = config.max_batch_size > 0;
  options.batching = MakeBatchPolicy(config);
  options.queue = config.batching.queue;
  options.preserve_ordering = config.batching.preserve_ordering;
  options.run_inline = run_inline;
  options.expected_run = expected_run;
  return options;
}

BatchScheduler::BatchScheduler(SchedulerOptions options, SchedulerDependencies dependencies,
                               std::vector<std::unique_ptr<Instance>> instances, const MakeExecutor& make_executor)
    : options_(std::move(options)),
      clock_(dependencies.clock),
      timer_(dependencies.timer),
      metrics_(dependencies.metrics),
      queue_(options_.batched, options_.queue.timeout_action == TimeoutAction::kDelay),
      run_per_row_(options_.expected_run),
      pool_(std::move(instances), make_executor) {}

BatchScheduler::~BatchScheduler() {
  Close();
  timer_.Forget(*this);
  MutexLock lock(mu_);
  while (!pool_.all_idle()) idle_.Wait(mu_);
}

void BatchScheduler::Submit(std::unique_ptr<Request> request, std::shared_ptr<const void> lease) {
  const TimePoint now = clock_.Now();
  request->times.queued = now;
  // Whoever answers drops the request's lease, and with the last one goes the scheduler: this holds it to the end.
  const std::shared_ptr<const void> alive = lease;
  WaitingRequest waiting{std::move(request), std::move(lease)};
  waiting.times_out = TimesOut(*waiting.request);
  if (options_.preserve_ordering) waiting.ticket = completion_order_.Enter();
  std::vector<WaitingRequest> gone;
  const Placement placement = Place(waiting, now, gone);
  if (placement.refused) {
    Refuse(std::move(waiting), placement.refusal, now);
  } else if (placement.run_inline != nullptr) {
    RunInline(*placement.run_inline, std::move(waiting));
  }
  Start(placement.wake);
  RefuseAll(std::move(gone), Refusal::kCancelled, now);
}

BatchScheduler::Placement BatchScheduler::Place(WaitingRequest& waiting, TimePoint now,
                                                std::vector<WaitingRequest>& gone) {
  auto refuse = [](Refusal why) { return Placement{.refused = true, .refusal = why}; };
  if (IsCancelled(waiting)) return refuse(Refusal::kCancelled);
  if (waiting.request->deadline <= now) return refuse(Refusal::kDeadline);
  MutexLock lock(mu_);
  if (closed_) return refuse(Refusal::kClosed);
  if (MayRunInline(*waiting.request, now)) return {.run_inline = pool_.Claim()};
  if (QueueFull(gone)) return refuse(Refusal::kQueueFull);
  queue_.Push(std::move(waiting));
  metrics_.AddPending(1);
  return {.wake = ClaimIfRipe(now)};
}

size_t BatchScheduler::AboutToLeave() const {
  return slots_with_work_ * static_cast<size_t>(options_.batching.combine ? options_.batching.max_rows : 1);
}

bool BatchScheduler::QueueFull(std::vector<WaitingRequest>& gone) {
  if (options_.queue.max_queue_size == 0) return false;
  const size_t limit = options_.queue.max_queue_size + AboutToLeave();
  if (queue_.size() < limit) return false;
  queue_.TakeCancelled(gone);  // those who have gone make room
  metrics_.AddPending(-static_cast<int64_t>(gone.size()));
  return queue_.size() >= limit;
}

bool BatchScheduler::MayRunInline(const Request& request, TimePoint now) const {
  if (!options_.run_inline || !queue_.empty() || !pool_.has_idle()) return false;
  const BatchPolicy& batching = options_.batching;
  const bool would_wait = batching.combine && batching.max_delay > Duration::zero() && request.rows < batching.max_rows &&
                          !std::binary_search(batching.preferred.begin(), batching.preferred.end(), request.rows);
  if (would_wait) return false;
  if (request.protocol == Protocol::kInProcess) return true;  // the caller's own thread: nobody else waits for it
  const Duration expected = run_per_row_ * request.rows;
  return expected <= kHopCost || (expected <= kInlineRun && now - last_run_end_ >= kQuietGap);
}

void BatchScheduler::RunInline(InstanceSlot& slot, WaitingRequest waiting) {
  slot.batch.requests.push_back(std::move(waiting));
  RunBatch(slot);
  bool short_run = false;
  {
    MutexLock lock(mu_);
    LearnRunTime(slot);
    if (queue_.empty()) {
      Release(slot);
      return;
    }
    short_run = run_per_row_ * options_.batching.max_rows <= kHopCost;
  }
  // Others came meanwhile. What is over sooner than a hop runs here too, but not for ever.
  for (int i = 0; short_run && i < kInlineFollowUps; ++i) {
    if (!NextBatch(slot)) return;
    RunBatch(slot);
  }
  Start(&slot);
}

void BatchScheduler::Start(InstanceSlot* slot) {
  if (slot != nullptr) slot->executor->Post([this, slot] { Work(*slot); });
}

void BatchScheduler::Work(InstanceSlot& slot) {
  while (NextBatch(slot)) RunBatch(slot);
}

void BatchScheduler::RunBatch(InstanceSlot& slot) {
  Batch& batch = slot.batch;
  slot.instance->Run(batch);
  TimePoint end;  // the latest: requests that had to run alone ended one after the other
  slot.ran_requests = batch.requests.size();
  slot.ran_rows = 0;
  for (const WaitingRequest& waiting : batch.requests) {
    slot.ran_rows += waiting.request->rows;
    end = std::max(end, waiting.request->times.compute_end);
  }
  slot.ran_until = end;
  slot.ran_for = end - batch.requests.front().request->times.compute_start;
  const int64_t wall_ms = clock_.WallMillis();
  for (size_t i = 0; i < batch.requests.size(); ++i) {
    Answer(std::move(batch.requests[i]), std::move(batch.responses[i]), end, wall_ms);
  }
  batch.requests.clear();
  batch.responses.clear();
}

bool BatchScheduler::NextBatch(InstanceSlot& slot) {
  std::vector<WaitingRequest> late, gone;  // empty vectors cost nothing
  InstanceSlot* another = nullptr;
  bool formed = false;
  TimePoint now;
  {
    MutexLock lock(mu_);
    now = clock_.Now();
    LearnRunTime(slot);
    if (std::exchange(slot.has_work, false)) --slots_with_work_;
    const size_t waited = queue_.size();
    queue_.TakeLate(now, late);
    formed = FillBatch(slot.batch.requests, now, gone);
    if (formed) {
      another = ClaimIfRipe(now);
    } else {
      Release(slot);
    }
    metrics_.AddPending(static_cast<int64_t>(queue_.size()) - static_cast<int64_t>(waited));
  }
  Start(another);
  RefuseLate(std::move(late), now);
  RefuseAll(std::move(gone), Refusal::kCancelled, now);
  return formed;
}

bool BatchScheduler::FillBatch(std::vector<WaitingRequest>& batch, TimePoint now, std::vector<WaitingRequest>& gone) {
  while (batch.empty()) {
    const BatchDecision decision = FormBatch(queue_, options_.batching, now);
    if (decision.kind != BatchDecision::Kind::kTake) {
      SetTimer(decision.wait_until);
      return false;
    }
    queue_.TakeFront(decision.lane, decision.count, batch);
    const auto cancelled = std::stable_partition(batch.begin(), batch.end(),
                                                 [](const WaitingRequest& waiting) { return !IsCancelled(waiting); });
    std::move(cancelled, batch.end(), std::back_inserter(gone));
    batch.erase(cancelled, batch.end());
  }
  return true;
}

InstanceSlot* BatchScheduler::ClaimIfRipe(TimePoint now) {
  // Instances that are on their way will ask again for what they leave over.
  if (!pool_.has_idle() || queue_.size() <= AboutToLeave()) {
    SetTimer(TimePoint::max());
    return nullptr;
  }
  const BatchDecision decision = FormBatch(queue_, options_.batching, now);
  SetTimer(decision.wait_until);
  if (decision.kind != BatchDecision::Kind::kTake) return nullptr;
  InstanceSlot* slot = pool_.Claim();
  slot->has_work = true;
  ++slots_with_work_;
  return slot;
}

void BatchScheduler::Release(InstanceSlot& slot) {
  pool_.Release(slot);
  if (closed_) idle_.NotifyAll();
}

void BatchScheduler::SetTimer(TimePoint batch_ripe_at) {
  TimePoint wake_at = queue_.next_due();
  if (wake_at != TimePoint::max()) wake_at = std::max(wake_at, swept_at_ + kSweepInterval);
  wake_at = std::min(wake_at, batch_ripe_at);
  if (wake_at >= timer_at_) return;  // it comes soon enough, and sets itself again then
  timer_at_ = wake_at;
  timer_.WakeAt(*this, wake_at);
}

void BatchScheduler::WakeUp() {
  std::vector<WaitingRequest> late;
  InstanceSlot* slot = nullptr;
  TimePoint now;
  {
    MutexLock lock(mu_);
    now = clock_.Now();
    timer_at_ = TimePoint::max();
    swept_at_ = now;
    queue_.TakeLate(now, late);
    metrics_.AddPending(-static_cast<int64_t>(late.size()));
    slot = ClaimIfRipe(now);
  }
  Start(slot);
  RefuseLate(std::move(late), now);
}

void BatchScheduler::Close() {
  std::vector<WaitingRequest> waiting;
  {
    MutexLock lock(mu_);
    closed_ = true;
    queue_.TakeAll(waiting);
    metrics_.AddPending(-static_cast<int64_t>(waiting.size()));
  }
  RefuseAll(std::move(waiting), Refusal::kClosed, clock_.Now());
}

// A batch tells of a lone run only that it takes no longer.
void BatchScheduler::LearnRunTime(InstanceSlot& slot) {
  if (slot.ran_rows == 0) return;
  last_run_end_ = slot.ran_until;
  const bool lone = slot.ran_requests == 1;
  const Duration sample = lone ? slot.ran_for / slot.ran_rows : slot.ran_for;
  slot.ran_rows = 0;
  if (run_per_row_ == Duration::zero()) {
    run_per_row_ = sample;
  } else if (lone || sample < run_per_row_) {
    run_per_row_ += (sample - run_per_row_) / 8;
  }
}

void BatchScheduler::Answer(WaitingRequest waiting, Response response, TimePoint end, int64_t wall_ms) {
  const Request& request = *waiting.request;
  const TimePoint received = ReceivedAt(request);
  if (response.status.ok() && end > request.deadline) {
    response.outputs.clear();
    response.status = RefusalStatus(request, Refusal::kDeadline, end);
  }
  if (response.status.ok()) {
    metrics_.RecordSuccess(static_cast<size_t>(request.protocol), static_cast<uint64_t>(request.rows),
                           DurationsOf(request.times, received, end), wall_ms);
  } else {
    metrics_.RecordFailure(ReasonFor(response.status), end - received);
  }
  if (options_.preserve_ordering) {
    completion_order_.Finish(waiting.ticket, std::move(waiting.request), std::move(response));
  } else {
    Complete(std::move(waiting.request), std::move(response));
  }
}

void BatchScheduler::Refuse(WaitingRequest waiting, Refusal refusal, TimePoint now) {
  Status status = RefusalStatus(*waiting.request, refusal, now);
  metrics_.RecordFailure(ReasonFor(status), now - ReceivedAt(*waiting.request));
  CompleteWithError(std::move(waiting.request), std::move(status));
  if (options_.preserve_ordering) completion_order_.Leave(waiting.ticket);
}

void BatchScheduler::RefuseLate(std::vector<WaitingRequest> late, TimePoint now) {
  for (WaitingRequest& waiting : late) {
    const bool deadline = waiting.request->deadline <= now;
    Refuse(std::move(waiting), deadline ? Refusal::kDeadline : Refusal::kTimeout, now);
  }
}

void BatchScheduler::RefuseAll(std::vector<WaitingRequest> requests, Refusal refusal, TimePoint now) {
  for (WaitingRequest& waiting : requests) Refuse(std::move(waiting), refusal, now);
}

Status BatchScheduler::RefusalStatus(const Request& request, Refusal refusal, TimePoint now) const {
  const int64_t waited_us = Microseconds(now - request.times.queued);
  switch (refusal) {
    case Refusal::kCancelled:
      return Cancelled("{}: the client cancelled the request before it ran", options_.where);
    case Refusal::kDeadline:
      return DeadlineExceeded("{}: the deadline passed {} us after the request was queued; raise the client's timeout",
                              options_.where, waited_us);
    case Refusal::kTimeout:
      return Unavailable("{}: the request waited {} us in the queue, longer than its timeout; retry later",
                         options_.where, waited_us);
    case Refusal::kQueueFull:
      return Unavailable("{}: the queue is full, max_queue_size is {}; retry later", options_.where,
                         options_.queue.max_queue_size);
    case Refusal::kClosed: break;
  }
  return Unavailable("{}: the server is shutting down; retry elsewhere", options_.where);
}

// Triton heeds a request's timeout only where the model has a default that is longer; without a default the request's
// own is what the client meant, so it holds here.
TimePoint BatchScheduler::TimesOut(const Request& request) const {
  Duration limit = options_.queue.timeout;
  if (options_.queue.allow_timeout_override && request.timeout && request.timeout->count() > 0) {
    const Duration own = std::min<std::chrono::microseconds>(
        *request.timeout, std::chrono::duration_cast<std::chrono::microseconds>(kLongestTimeout));
    limit = limit == Duration::zero() ? own : std::min(limit, own);
  }
  return limit == Duration::zero() ? TimePoint::max() : request.times.queued + limit;
}

}  // namespace tondar
