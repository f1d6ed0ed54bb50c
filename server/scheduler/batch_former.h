// The batch former: which waiting requests run together next. Pure, so that every rule has a test without threads.
#ifndef TONDAR_SERVER_SCHEDULER_BATCH_FORMER_H_
#define TONDAR_SERVER_SCHEDULER_BATCH_FORMER_H_

#include <cstdint>
#include <vector>

#include "engine/base/clock.h"
#include "server/config/model_config.h"
#include "server/scheduler/request_queue.h"

namespace tondar {

struct BatchPolicy {
  bool combine = false;  // false: every request runs alone
  int64_t max_rows = 1;
  std::vector<int32_t> preferred = {};  // rows, ascending
  Duration max_delay{0};  // how long the oldest of a lane may wait for company
};

BatchPolicy MakeBatchPolicy(const ModelConfig& config);

struct BatchDecision {
  enum class Kind : uint8_t {
    kNothing,  // no request waits
    kWait,     // for company, until `wait_until` or the next arrival
    kTake,     // the first `count` requests of lane `lane`
  } kind = Kind::kNothing;
  size_t lane = 0;
  size_t count = 0;
  TimePoint wait_until = TimePoint::max();
};

// Decides for an instance that is idle at `now`. Rules, in the order in which they apply:
//  1. A batch is a prefix of one lane, in QueueOrder: requests are never split, passed over, or mixed with another
//     shape. Its rows are at most max_rows.
//  2. Its size is the largest preferred size that a prefix hits exactly; if none, as much as fits.
//  3. A lane is ripe if it reaches a preferred size, is full, or its oldest request has waited max_delay; with no
//     delay every lane is ripe at once.
//  4. Of the ripe lanes the one whose first request stands first in the queue is taken. A lane's first request only
//     gets older and a lane is ripe after max_delay at the latest, so no shape starves behind others.
//  5. With no ripe lane, wait until the first will be.
// Reads nothing but its arguments. Costs the rows of one batch per lane, with no delay of one lane.
BatchDecision FormBatch(const RequestQueue& queue, const BatchPolicy& policy, TimePoint now);

}  // namespace tondar

#endif  // TONDAR_SERVER_SCHEDULER_BATCH_FORMER_H_
