#include "server/scheduler/batch_former.h"

#include <algorithm>

namespace tondar {
namespace {

// What a lane could give now.
struct Reach {
  size_t count = 0;             // requests that fit in a batch
  size_t preferred_count = 0;   // requests that make the largest preferred size; 0 if none does
  bool full = false;            // waiting longer would not add a request
  size_t best() const { return preferred_count > 0 ? preferred_count : count; }
};

Reach Measure(const QueueLane& lane, const BatchPolicy& policy) {
  Reach reach;
  int64_t rows = 0;
  for (const QueueNode* node = lane.head(); node != nullptr; node = node->next) {
    if (rows + node->rows > policy.max_rows) {
      reach.full = true;
      break;
    }
    rows += node->rows;
    ++reach.count;
    if (std::binary_search(policy.preferred.begin(), policy.preferred.end(), rows)) reach.preferred_count = reach.count;
  }
  reach.full |= rows == policy.max_rows;
  reach.count = std::max<size_t>(reach.count, 1);  // validation keeps larger requests out; alone they still run
  return reach;
}

size_t FirstLane(const RequestQueue& queue) {
  size_t first = 0;
  for (size_t i = 1; i < queue.lane_count(); ++i) {
    if (queue.lane(i).head()->order < queue.lane(first).head()->order) first = i;
  }
  return first;
}

BatchDecision Take(size_t lane, size_t count) { return {BatchDecision::Kind::kTake, lane, count, TimePoint::max()}; }

// Rules 3 to 5 where lanes may wait.
BatchDecision TakeRipest(const RequestQueue& queue, const BatchPolicy& policy, TimePoint now) {
  BatchDecision decision{BatchDecision::Kind::kWait};
  for (size_t i = 0; i < queue.lane_count(); ++i) {
    const QueueLane& lane = queue.lane(i);
    const Reach reach = Measure(lane, policy);
    const TimePoint ripe_at = lane.oldest() + policy.max_delay;
    const bool ripe = reach.preferred_count > 0 || reach.full || ripe_at <= now;
    if (!ripe) {
      if (decision.kind == BatchDecision::Kind::kWait) decision.wait_until = std::min(decision.wait_until, ripe_at);
    } else if (decision.kind == BatchDecision::Kind::kWait ||
               lane.head()->order < queue.lane(decision.lane).head()->order) {
      decision = Take(i, reach.best());
    }
  }
  return decision;
}

}  // namespace

BatchPolicy MakeBatchPolicy(const ModelConfig& config) {
  BatchPolicy policy;
  policy.max_rows = std::max<int64_t>(config.max_batch_size, 1);
  policy.combine = config.max_batch_size > 0 && config.batching.enabled;
  if (!policy.combine) return policy;
  policy.preferred = config.batching.preferred_batch_sizes;
  policy.max_delay = config.batching.max_queue_delay;
  return policy;
}

BatchDecision FormBatch(const RequestQueue& queue, const BatchPolicy& policy, TimePoint now) {
  if (queue.empty()) return {};
  if (policy.combine && policy.max_delay > Duration::zero()) return TakeRipest(queue, policy, now);
  const size_t lane = FirstLane(queue);
  return Take(lane, policy.combine ? Measure(queue.lane(lane), policy).best() : 1);
}

}  // namespace tondar
