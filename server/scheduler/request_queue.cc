#include "server/scheduler/request_queue.h"

#include <algorithm>

#include "engine/base/status.h"

namespace tondar {
namespace {

uint32_t Rank(uint32_t priority) { return priority == 0 ? UINT32_MAX : priority; }

}  // namespace

TimePoint QueueLane::oldest() const {
  if (in_arrival_order) return first->queued;
  TimePoint oldest = first->queued;
  for (const QueueNode* node = first->next; node != nullptr; node = node->next) oldest = std::min(oldest, node->queued);
  return oldest;
}

RequestQueue::~RequestQueue() { TONDAR_CHECK(empty(), "{} requests were never answered", size_); }

void RequestQueue::Push(WaitingRequest waiting) {
  QueueNode& node = *NewNode();
  const Request& request = *waiting.request;
  QueueLane& lane = LaneFor(request);
  node.order = {false, Rank(request.priority), arrivals_++};
  node.rows = request.rows;
  node.queued = request.times.queued;
  node.due = std::min(request.deadline, waiting.times_out);
  node.waiting = std::move(waiting);
  Insert(node, lane);
  HeapAdd(node);
  ++size_;
}

QueueNode* RequestQueue::NewNode() {
  if (spare_nodes_.empty()) {
    nodes_.push_back(std::make_unique<QueueNode>());
    spare_nodes_.reserve(nodes_.size());
    return nodes_.back().get();
  }
  QueueNode* node = spare_nodes_.back();
  spare_nodes_.pop_back();
  return node;
}

QueueLane& RequestQueue::LaneFor(const Request& request) {
  const uint64_t hash = ShapeHash(request);
  for (const auto& lane : lanes_) {
    if (lane->shape_hash == hash && SameLane(*lane->first->waiting.request, request)) return *lane;
  }
  if (spare_lanes_.empty()) spare_lanes_.push_back(std::make_unique<QueueLane>());
  lanes_.push_back(std::move(spare_lanes_.back()));
  spare_lanes_.pop_back();
  QueueLane& lane = *lanes_.back();
  lane = QueueLane();
  lane.shape_hash = hash;
  lane.position = lanes_.size() - 1;
  return lane;
}

// Keeps the lane in QueueOrder. Most requests belong at the end, so it looks from there.
void RequestQueue::Insert(QueueNode& node, QueueLane& lane) {
  QueueNode* before = lane.last;
  while (before != nullptr && node.order < before->order) before = before->previous;
  QueueNode* after = before == nullptr ? lane.first : before->next;
  node.lane = &lane;
  node.previous = before;
  node.next = after;
  (before == nullptr ? lane.first : before->next) = &node;
  (after == nullptr ? lane.last : after->previous) = &node;
  if (after != nullptr || (before != nullptr && node.queued < before->queued)) lane.in_arrival_order = false;
  lane.rows += node.rows;
  ++lane.size;
}

void RequestQueue::Unlink(QueueNode& node) {
  QueueLane& lane = *node.lane;
  (node.previous == nullptr ? lane.first : node.previous->next) = node.next;
  (node.next == nullptr ? lane.last : node.next->previous) = node.previous;
  lane.rows -= node.rows;
  if (--lane.size == 0) {
    lanes_.back()->position = lane.position;
    std::swap(lanes_[lane.position], lanes_.back());
    spare_lanes_.push_back(std::move(lanes_.back()));
    lanes_.pop_back();
  }
}

WaitingRequest RequestQueue::Remove(QueueNode& node) {
  HeapRemove(node);
  Unlink(node);
  --size_;
  spare_nodes_.push_back(&node);
  return std::move(node.waiting);
}

void RequestQueue::TakeFront(size_t lane, size_t count, std::vector<WaitingRequest>& out) {
  QueueNode* node = lanes_[lane]->first;
  for (size_t i = 0; i < count; ++i) {
    QueueNode* next = node->next;  // the lane may be gone after the last
    out.push_back(Remove(*node));
    node = next;
  }
}

void RequestQueue::TakeLate(TimePoint now, std::vector<WaitingRequest>& out) {
  while (!due_.empty() && due_.front()->due <= now) {
    QueueNode& node = *due_.front();
    if (delay_late_ && node.waiting.request->deadline > now) {
      Delay(node);
    } else {
      out.push_back(Remove(node));
    }
  }
}

void RequestQueue::Delay(QueueNode& node) {
  HeapRemove(node);
  QueueLane& lane = *node.lane;
  // Unlinking the only one would drop the lane; order within a lane of one does not matter.
  node.order.delayed = true;
  if (lane.size > 1) {
    Unlink(node);
    Insert(node, lane);
  }
  node.waiting.times_out = TimePoint::max();
  node.due = node.waiting.request->deadline;
  HeapAdd(node);
}

void RequestQueue::TakeCancelled(std::vector<WaitingRequest>& out) {
  for (size_t i = lanes_.size(); i-- > 0;) {
    for (QueueNode* node = lanes_[i]->first; node != nullptr;) {
      QueueNode* next = node->next;
      const auto& cancelled = node->waiting.request->cancelled;
      if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) out.push_back(Remove(*node));
      node = next;
    }
  }
}

void RequestQueue::TakeAll(std::vector<WaitingRequest>& out) {
  while (!lanes_.empty()) TakeFront(lanes_.size() - 1, lanes_.back()->size, out);
}

bool RequestQueue::SameLane(const Request& a, const Request& b) const {
  const size_t skip = batched_ ? 1 : 0;
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const Dims &x = a.inputs[i].shape, &y = b.inputs[i].shape;
    if (x.size() != y.size() || !std::equal(x.begin() + std::min(skip, x.size()), x.end(), y.begin() + std::min(skip, y.size()))) {
      return false;
    }
  }
  return true;
}

// Tells most lanes apart with one comparison; FNV-1a over extents.
uint64_t RequestQueue::ShapeHash(const Request& request) const {
  uint64_t hash = 14695981039346656037u;
  for (const InputTensor& input : request.inputs) {
    hash = (hash ^ input.shape.size()) * 1099511628211u;
    for (size_t d = batched_ ? 1 : 0; d < input.shape.size(); ++d) {
      hash = (hash ^ static_cast<uint64_t>(input.shape[d])) * 1099511628211u;
    }
  }
  return hash;
}

void RequestQueue::Place(size_t position, QueueNode* node) {
  due_[position] = node;
  node->heap_position = position;
}

void RequestQueue::HeapAdd(QueueNode& node) {
  if (node.due == TimePoint::max()) return;
  due_.push_back(&node);
  Place(due_.size() - 1, &node);
  SiftUp(due_.size() - 1);
}

void RequestQueue::HeapRemove(QueueNode& node) {
  const size_t hole = node.heap_position;
  if (hole == QueueNode::kNotInHeap) return;
  node.heap_position = QueueNode::kNotInHeap;
  QueueNode* moved = due_.back();
  due_.pop_back();
  if (moved == &node) return;
  Place(hole, moved);
  SiftUp(hole);
  SiftDown(moved->heap_position);
}

void RequestQueue::SiftUp(size_t position) {
  QueueNode* node = due_[position];
  while (position > 0) {
    const size_t parent = (position - 1) / 2;
    if (due_[parent]->due <= node->due) break;
    Place(position, due_[parent]);
    position = parent;
  }
  Place(position, node);
}

void RequestQueue::SiftDown(size_t position) {
  QueueNode* node = due_[position];
  for (size_t child = 2 * position + 1; child < due_.size(); child = 2 * position + 1) {
    if (child + 1 < due_.size() && due_[child + 1]->due < due_[child]->due) ++child;
    if (node->due <= due_[child]->due) break;
    Place(position, due_[child]);
    position = child;
  }
  Place(position, node);
}

}  // namespace tondar
