#include "server/scheduler/request_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tondar {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart{1000s};

WaitingRequest Make(const char* id, Dims shape = {1, 4}, TimePoint deadline = TimePoint::max()) {
  auto request = std::make_unique<Request>();
  request->id = id;
  request->deadline = deadline;
  request->times.queued = kStart;
  request->rows = shape.empty() ? 1 : shape[0];
  request->inputs.push_back({"x", DType::kFloat32, shape, {}, {}});
  return {std::move(request), nullptr};
}

std::string Ids(const std::vector<WaitingRequest>& requests) {
  std::string ids;
  for (const auto& waiting : requests) ids += waiting.request->id;
  return ids;
}

class RequestQueueTest : public ::testing::Test {
 protected:
  ~RequestQueueTest() override {
    std::vector<WaitingRequest> rest;
    queue_.TakeAll(rest);
    delaying_.TakeAll(rest);
  }
  RequestQueue queue_{true, false};
  RequestQueue delaying_{true, true};
};

TEST_F(RequestQueueTest, LanesAreShapesWithoutTheBatch) {
  queue_.Push(Make("a", {1, 4}));
  queue_.Push(Make("b", {3, 4}));
  queue_.Push(Make("c", {1, 5}));
  ASSERT_EQ(queue_.lane_count(), 2u);
  EXPECT_EQ(queue_.lane(0).rows, 4);
  EXPECT_EQ(queue_.lane(0).size, 2u);
}

TEST(RequestQueueUnbatchedTest, LanesAreWholeShapes) {
  RequestQueue queue(false, false);
  queue.Push(Make("a", {1, 4}));
  queue.Push(Make("b", {3, 4}));
  queue.Push(Make("c", {}));
  EXPECT_EQ(queue.lane_count(), 3u);
  std::vector<WaitingRequest> rest;
  queue.TakeAll(rest);
  EXPECT_EQ(rest.size(), 3u);
}

TEST_F(RequestQueueTest, ALaneGoesWithItsLastRequest) {
  queue_.Push(Make("a", {1, 4}));
  queue_.Push(Make("b", {1, 5}));
  std::vector<WaitingRequest> taken;
  queue_.TakeFront(0, 1, taken);
  EXPECT_EQ(queue_.lane_count(), 1u);
  queue_.Push(Make("c", {1, 5}));
  queue_.TakeFront(0, 2, taken);
  EXPECT_EQ(Ids(taken), "abc");
  EXPECT_TRUE(queue_.empty());
}

TEST_F(RequestQueueTest, LateOnesLeaveEarliestFirst) {
  queue_.Push(Make("a", {1, 4}, kStart + 30ms));
  queue_.Push(Make("b", {1, 4}, kStart + 10ms));
  queue_.Push(Make("c", {1, 5}, kStart + 20ms));
  queue_.Push(Make("d"));
  EXPECT_EQ(queue_.next_due(), kStart + 10ms);
  std::vector<WaitingRequest> late;
  queue_.TakeLate(kStart + 20ms, late);
  EXPECT_EQ(Ids(late), "bc");
  EXPECT_EQ(queue_.next_due(), kStart + 30ms);
  EXPECT_EQ(queue_.size(), 2u);
}

TEST_F(RequestQueueTest, DelayMovesBehindAllOthersOnce) {
  WaitingRequest first = Make("a"), second = Make("b");
  first.times_out = kStart + 1ms;
  delaying_.Push(std::move(first));
  delaying_.Push(std::move(second));
  std::vector<WaitingRequest> out;
  delaying_.TakeLate(kStart + 1ms, out);
  EXPECT_TRUE(out.empty());
  delaying_.Push(Make("c"));
  EXPECT_EQ(delaying_.next_due(), TimePoint::max());
  delaying_.TakeFront(0, 3, out);
  EXPECT_EQ(Ids(out), "bca");
}

TEST_F(RequestQueueTest, DelayDoesNotPostponeADeadline) {
  WaitingRequest waiting = Make("a", {1, 4}, kStart + 5ms);
  waiting.times_out = kStart + 1ms;
  delaying_.Push(std::move(waiting));
  std::vector<WaitingRequest> out;
  delaying_.TakeLate(kStart + 1ms, out);
  EXPECT_EQ(delaying_.next_due(), kStart + 5ms);
  delaying_.TakeLate(kStart + 5ms, out);
  EXPECT_EQ(Ids(out), "a");
}

TEST_F(RequestQueueTest, CancelledOnesLeaveFromAnywhere) {
  auto cancelled = std::make_shared<std::atomic<bool>>(true);
  for (const char* id : {"a", "b", "c", "d"}) {
    WaitingRequest waiting = Make(id, {1, id[0] == 'c' ? 5 : 4});
    if (id[0] == 'b' || id[0] == 'c') waiting.request->cancelled = cancelled;
    queue_.Push(std::move(waiting));
  }
  std::vector<WaitingRequest> out;
  queue_.TakeCancelled(out);
  EXPECT_EQ(out.size(), 2u);
  EXPECT_EQ(queue_.lane_count(), 1u);
  EXPECT_EQ(queue_.size(), 2u);
}

// Against a multiset of due times: the heap gives the minimum whatever leaves from where.
TEST_F(RequestQueueTest, NextDueIsTheMinimumUnderRandomTraffic) {
  std::mt19937 random(7);
  std::multiset<TimePoint> due;
  std::vector<WaitingRequest> out;
  for (int step = 0; step < 5000; ++step) {
    if (random() % 3 != 0 || queue_.empty()) {
      const TimePoint deadline = random() % 4 == 0 ? TimePoint::max() : kStart + std::chrono::microseconds(random() % 100000);
      queue_.Push(Make("x", {1, static_cast<int64_t>(random() % 6)}, deadline));
      if (deadline != TimePoint::max()) due.insert(deadline);
    } else if (random() % 2 == 0) {
      queue_.TakeFront(random() % queue_.lane_count(), 1, out);
    } else if (!due.empty()) {
      queue_.TakeLate(*std::next(due.begin(), static_cast<std::ptrdiff_t>(std::min<size_t>(2, due.size() - 1))), out);
    }
    for (const auto& waiting : out) {
      if (waiting.request->deadline != TimePoint::max()) due.erase(due.find(waiting.request->deadline));
    }
    out.clear();
    ASSERT_EQ(queue_.next_due(), due.empty() ? TimePoint::max() : *due.begin()) << "step " << step;
  }
}

}  // namespace
}  // namespace tondar
