#include "server/scheduler/batch_former.h"

#include <gtest/gtest.h>

namespace tondar {
namespace {

using namespace std::chrono_literals;
using Kind = BatchDecision::Kind;

const TimePoint kStart{1000s};

// A waiting request of `rows` rows, width telling lanes apart.
struct Arrival {
  int64_t rows = 1;
  int64_t width = 1;
  Duration at{0};
  uint32_t priority = 0;
};

class BatchFormerTest : public ::testing::Test {
 protected:
  ~BatchFormerTest() override {
    std::vector<WaitingRequest> rest;
    queue_.TakeAll(rest);
  }
  void Push(const Arrival& arrival) {
    auto request = std::make_unique<Request>();
    request->rows = arrival.rows;
    request->priority = arrival.priority;
    request->times.queued = kStart + arrival.at;
    request->inputs.push_back({"x", DType::kFloat32, Dims{arrival.rows, arrival.width}, {}, {}});
    queue_.Push({std::move(request), nullptr});
  }
  void ExpectTake(const BatchDecision& decision, int64_t width, size_t count) {
    ASSERT_EQ(decision.kind, Kind::kTake);
    EXPECT_EQ(queue_.lane(decision.lane).head()->waiting.request->inputs[0].shape[1], width);
    EXPECT_EQ(decision.count, count);
  }
  RequestQueue queue_{true, false};
};

TEST_F(BatchFormerTest, NothingWaits) { EXPECT_EQ(FormBatch(queue_, {}, kStart).kind, Kind::kNothing); }

TEST_F(BatchFormerTest, WithoutBatchingTheFirstRunsAlone) {
  for (int i = 0; i < 3; ++i) Push({});
  ExpectTake(FormBatch(queue_, {.combine = false, .max_rows = 8}, kStart), 1, 1);
}

// Each row: arrivals of one lane at time 0, policy, age of the oldest, and what comes out; count 0 means wait.
struct Case {
  const char* name;
  std::vector<int64_t> rows;
  BatchPolicy policy;
  Duration age;
  size_t count;
};

class BatchSizeTest : public BatchFormerTest, public ::testing::WithParamInterface<Case> {};

TEST_P(BatchSizeTest, Decides) {
  const Case& c = GetParam();
  for (int64_t rows : c.rows) Push({.rows = rows});
  const BatchDecision decision = FormBatch(queue_, c.policy, kStart + c.age);
  if (c.count == 0) {
    EXPECT_EQ(decision.kind, Kind::kWait);
    EXPECT_EQ(decision.wait_until, kStart + c.policy.max_delay);
  } else {
    ExpectTake(decision, 1, c.count);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BatchSizeTest,
    ::testing::Values(
        Case{"no delay takes what waits", {1, 1, 1}, {true, 8, {}, 0us}, 0us, 3},
        Case{"rows are counted, not requests", {3, 3, 3}, {true, 8, {}, 0us}, 0us, 2},
        Case{"a request is never split", {5, 4}, {true, 8, {}, 0us}, 0us, 1},
        Case{"nor passed over", {5, 5, 3}, {true, 8, {}, 0us}, 0us, 1},
        Case{"too large runs alone", {9, 1}, {true, 8, {}, 0us}, 0us, 1},
        Case{"waits for company", {1, 1}, {true, 8, {}, 100us}, 99us, 0},
        Case{"until the delay is over", {1, 1}, {true, 8, {}, 100us}, 100us, 2},
        Case{"a full batch does not wait", {4, 4, 1}, {true, 8, {}, 100us}, 0us, 2},
        Case{"full because the next does not fit", {4, 3, 2}, {true, 8, {}, 100us}, 0us, 2},
        Case{"a preferred size does not wait", {1, 1, 1, 1}, {true, 8, {4}, 100us}, 0us, 4},
        Case{"the largest preferred size wins", {1, 1, 1, 1, 1}, {true, 8, {2, 4}, 100us}, 0us, 4},
        Case{"preferred leaves the rest", {1, 1, 1}, {true, 8, {2}, 0us}, 0us, 2},
        Case{"a preferred size that no prefix hits is none", {3, 3}, {true, 8, {4}, 100us}, 50us, 0},
        Case{"without a preferred one as much as fits", {3, 3}, {true, 8, {4}, 100us}, 100us, 2}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::erase_if(name, [](char c) { return !isalnum(static_cast<unsigned char>(c)); });
      return name;
    });

TEST_F(BatchFormerTest, ShapesDoNotMixAndTheFirstInTheQueueGoesFirst) {
  Push({.width = 7});
  Push({.width = 5});
  Push({.width = 7});
  ExpectTake(FormBatch(queue_, {.combine = true, .max_rows = 8}, kStart), 7, 2);
}

TEST_F(BatchFormerTest, AFullLaneGoesWhileAnotherWaits) {
  Push({.width = 7});
  for (int i = 0; i < 4; ++i) Push({.width = 5, .at = 10us});
  ExpectTake(FormBatch(queue_, {.combine = true, .max_rows = 4, .max_delay = 100us}, kStart + 20us), 5, 4);
}

TEST_F(BatchFormerTest, AnOldLaneGoesBeforeAFullYoungerOne) {
  Push({.width = 7});
  for (int i = 0; i < 4; ++i) Push({.width = 5, .at = 10us});
  ExpectTake(FormBatch(queue_, {.combine = true, .max_rows = 4, .max_delay = 100us}, kStart + 100us), 7, 1);
}

TEST_F(BatchFormerTest, WaitsForTheLaneThatIsRipeFirst) {
  Push({.width = 7, .at = 30us});
  Push({.width = 5, .at = 40us});
  const BatchDecision decision = FormBatch(queue_, {.combine = true, .max_rows = 4, .max_delay = 100us}, kStart + 50us);
  EXPECT_EQ(decision.kind, Kind::kWait);
  EXPECT_EQ(decision.wait_until, kStart + 130us);
}

TEST_F(BatchFormerTest, PriorityGoesBeforeArrivalAndTheDefaultComesLast) {
  Push({.width = 1, .priority = 0});
  Push({.width = 2, .priority = 9});
  Push({.width = 3, .priority = 1});
  const BatchPolicy policy{.combine = true, .max_rows = 4};
  std::vector<WaitingRequest> taken;
  for (int64_t width : {3, 2, 1}) {
    const BatchDecision decision = FormBatch(queue_, policy, kStart);
    ExpectTake(decision, width, 1);
    queue_.TakeFront(decision.lane, decision.count, taken);
  }
}

TEST_F(BatchFormerTest, TheDelayCountsFromTheOldestEvenBehindAHigherPriority) {
  Push({.at = 0us, .priority = 0});
  Push({.at = 90us, .priority = 1});
  const BatchPolicy policy{.combine = true, .max_rows = 4, .max_delay = 100us};
  EXPECT_EQ(FormBatch(queue_, policy, kStart + 95us).wait_until, kStart + 100us);
  ExpectTake(FormBatch(queue_, policy, kStart + 100us), 1, 2);
}

TEST(BatchPolicyTest, ComesFromTheModelConfiguration) {
  ModelConfig config;
  config.max_batch_size = 16;
  EXPECT_FALSE(MakeBatchPolicy(config).combine);
  config.batching.enabled = true;
  config.batching.preferred_batch_sizes = {4, 8};
  config.batching.max_queue_delay = 250us;
  const BatchPolicy policy = MakeBatchPolicy(config);
  EXPECT_TRUE(policy.combine);
  EXPECT_EQ(policy.max_rows, 16);
  EXPECT_EQ(policy.max_delay, 250us);
  EXPECT_EQ(policy.preferred, (std::vector<int32_t>{4, 8}));
  config.max_batch_size = 0;
  EXPECT_FALSE(MakeBatchPolicy(config).combine) << "a model without a batch dimension cannot be batched";
}

}  // namespace
}  // namespace tondar
