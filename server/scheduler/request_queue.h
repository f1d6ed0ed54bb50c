// RequestQueue: the waiting requests of one model version, sorted into lanes of equal shape.
#ifndef TONDAR_SERVER_SCHEDULER_REQUEST_QUEUE_H_
#define TONDAR_SERVER_SCHEDULER_REQUEST_QUEUE_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/clock.h"
#include "server/request/request.h"

namespace tondar {

// A request on its way through the scheduler.
struct WaitingRequest {
  std::unique_ptr<Request> request;
  // Keeps the model version alive until the request is answered. shared_ptr: the version ends with its last request.
  std::shared_ptr<const void> lease;
  TimePoint times_out = TimePoint::max();  // when its wait in the queue becomes too long
  uint64_t ticket = 0;                     // place in the order of answers, where that is preserved
};

// Where a request stands: lower goes first.
struct QueueOrder {
  bool delayed = false;   // has waited too long under the DELAY action: behind all others
  uint32_t rank = 0;      // priority 1 first; priority 0, the default, after all numbered ones
  uint64_t arrival = 0;
  friend auto operator<=>(const QueueOrder&, const QueueOrder&) = default;
};

// A waiting request in its lane, as the batch former sees it.
struct QueueNode {
  WaitingRequest waiting;
  QueueOrder order;
  int64_t rows = 0;
  TimePoint queued;
  QueueNode* next = nullptr;

 private:
  friend class RequestQueue;
  friend struct QueueLane;
  static constexpr size_t kNotInHeap = SIZE_MAX;
  QueueNode* previous = nullptr;
  struct QueueLane* lane = nullptr;
  TimePoint due = TimePoint::max();  // when the queue must look at it: its deadline or its timeout
  size_t heap_position = kNotInHeap;
};

// Requests that may share a batch, because all their extents but the batch's are equal; in QueueOrder. Never empty.
struct QueueLane {
  const QueueNode* head() const { return first; }
  int64_t rows = 0;
  size_t size = 0;
  // When the one that waits longest came.
  TimePoint oldest() const;

 private:
  friend class RequestQueue;
  QueueNode* first = nullptr;
  QueueNode* last = nullptr;
  bool in_arrival_order = true;
  uint64_t shape_hash = 0;
  size_t position = 0;  // in RequestQueue::lanes_
};

// Allocates only while it grows: nodes and lanes are used again. Thread-compatible; the scheduler's lock guards it.
class RequestQueue {
 public:
  // `batched`: the first extent of every input is the batch and does not tell lanes apart.
  // `delay_late`: a request that has waited too long moves behind all others, once, instead of leaving.
  RequestQueue(bool batched, bool delay_late) : batched_(batched), delay_late_(delay_late) {}
  ~RequestQueue();
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  // The request's rows, priority, deadline and times.queued must be set. Amortised constant time among equal
  // priorities.
  void Push(WaitingRequest waiting);

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  size_t lane_count() const { return lanes_.size(); }
  const QueueLane& lane(size_t i) const { return *lanes_[i]; }

  // Moves the first `count` of a lane to the end of `out`.
  void TakeFront(size_t lane, size_t count, std::vector<WaitingRequest>& out);

  // When the next deadline or timeout strikes; max() if none will.
  TimePoint next_due() const { return due_.empty() ? TimePoint::max() : due_.front()->due; }
  // Moves those whose deadline or timeout has come to `out`, earliest first; delays those that are to be delayed.
  void TakeLate(TimePoint now, std::vector<WaitingRequest>& out);
  // Moves those whose client has gone to `out`. Looks at every request.
  void TakeCancelled(std::vector<WaitingRequest>& out);
  // Moves everything to `out`.
  void TakeAll(std::vector<WaitingRequest>& out);

 private:
  QueueNode* NewNode();
  QueueLane& LaneFor(const Request& request);
  void Insert(QueueNode& node, QueueLane& lane);
  void Unlink(QueueNode& node);
  WaitingRequest Remove(QueueNode& node);
  void Delay(QueueNode& node);
  bool SameLane(const Request& a, const Request& b) const;
  uint64_t ShapeHash(const Request& request) const;

  // A binary heap over due; a node knows its position, so that it can leave from the middle.
  void HeapAdd(QueueNode& node);
  void HeapRemove(QueueNode& node);
  void SiftUp(size_t position);
  void SiftDown(size_t position);
  void Place(size_t position, QueueNode* node);

  const bool batched_;
  const bool delay_late_;
  std::vector<std::unique_ptr<QueueLane>> lanes_;
  std::vector<QueueNode*> due_;
  size_t size_ = 0;
  uint64_t arrivals_ = 0;
  std::vector<std::unique_ptr<QueueLane>> spare_lanes_;
  std::vector<std::unique_ptr<QueueNode>> nodes_;  // owns all, in use or spare
  std::vector<QueueNode*> spare_nodes_;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_SCHEDULER_REQUEST_QUEUE_H_
