#include "server/scheduler/batch_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/scheduler/testing/scheduler_bench.h"

namespace tondar {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SchedulerBench;

using Batches = std::vector<std::vector<int>>;

SchedulerOptions Batching(int64_t max_rows, Duration delay = 0us) {
  SchedulerOptions options;
  options.batched = true;
  options.batching = {.combine = true, .max_rows = max_rows, .max_delay = delay};
  return options;
}

StatusCode CodeOf(SchedulerBench& bench, int id) {
  EXPECT_EQ(bench.outcomes[id].answers, 1) << "request " << id;
  return bench.outcomes[id].status.code();
}

TEST(BatchSchedulerTest, WhatCameInBeforeTheInstanceWasReadyRunsTogether) {
  SchedulerBench bench(Batching(4));
  for (int id = 1; id <= 3; ++id) bench.Submit(id);
  EXPECT_EQ(bench.executor.RunAll(), 1) << "one wake-up is enough";
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1, 2, 3}}));
  for (int id = 1; id <= 3; ++id) {
    EXPECT_EQ(CodeOf(bench, id), StatusCode::kOk);
    EXPECT_THAT(bench.outcomes[id].values, ElementsAre(100.0f + static_cast<float>(id)));
    EXPECT_EQ(bench.outcomes[id].output_name, "y");
  }
}

TEST(BatchSchedulerTest, ABatchThatLeavesSomeOverIsFollowedByAnother) {
  SchedulerBench bench(Batching(2));
  for (int id = 1; id <= 5; ++id) bench.Submit(id);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1, 2}, {3, 4}, {5}}));
}

TEST(BatchSchedulerTest, RowsAreScatteredToTheirRequests) {
  SchedulerBench bench(Batching(8));
  bench.Submit(1, 2);
  bench.Submit(2, 3);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1, 1, 2, 2, 2}}));
  EXPECT_THAT(bench.outcomes[1].values, ElementsAre(101, 101));
  EXPECT_THAT(bench.outcomes[2].values, ElementsAre(102, 102, 102));
}

TEST(BatchSchedulerTest, UnlikeShapesRunApart) {
  SchedulerBench bench(Batching(8), 1, {Dim::Symbol(1)});
  bench.Submit(1, 1, 2);
  bench.Submit(2, 1, 3);
  bench.Submit(3, 1, 2);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1, 1, 3, 3}, {2, 2, 2}}));
}

TEST(BatchSchedulerTest, ADelayWaitsForCompanyAndNoLonger) {
  SchedulerBench bench(Batching(4, 100us));
  bench.Submit(1);
  EXPECT_EQ(bench.executor.RunAll(), 0);
  bench.Advance(60us);
  bench.Submit(2);
  EXPECT_EQ(bench.executor.RunAll(), 0);
  bench.Advance(39us);
  EXPECT_EQ(bench.executor.RunAll(), 0);
  bench.Advance(1us);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1, 2}}));
}

TEST(BatchSchedulerTest, AFullBatchEndsTheDelay) {
  SchedulerBench bench(Batching(2, 100us));
  bench.Submit(1);
  bench.Submit(2);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1, 2}}));
  bench.Submit(3);
  EXPECT_EQ(bench.executor.RunAll(), 0) << "the delay begins anew";
  bench.Advance(100us);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{3}}));
}

TEST(BatchSchedulerTest, TwoInstancesShareTheWork) {
  SchedulerBench bench(Batching(2), 2);
  for (int id = 1; id <= 4; ++id) bench.Submit(id);
  EXPECT_TRUE(bench.executor.RunOne());
  EXPECT_TRUE(bench.executor.RunOne()) << "the second instance was woken for what the first leaves over";
  EXPECT_EQ(bench.TakeBatches().size(), 2u);
}

TEST(BatchSchedulerTest, WithoutBatchingEachRunsAlone) {
  SchedulerOptions options;
  options.batched = true;
  options.batching.max_rows = 8;
  SchedulerBench bench(options);
  bench.Submit(1);
  bench.Submit(2);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1}, {2}}));
}

TEST(BatchSchedulerTest, PriorityOrder) {
  SchedulerBench bench(Batching(1));
  for (int id = 1; id <= 4; ++id) {
    auto request = bench.MakeRequest(id);
    request->priority = static_cast<uint32_t>(id == 1 ? 0 : 5 - id);  // 0, 3, 2, 1
    bench.Submit(std::move(request));
  }
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{4}, {3}, {2}, {1}}));
}

TEST(BatchSchedulerTest, AFullQueueRefusesAtOnce) {
  SchedulerOptions options = Batching(1);
  options.queue.max_queue_size = 2;
  SchedulerBench bench(options);
  bench.behaviour->on_run = [&, submitted = false](const Binding&) mutable {
    if (!std::exchange(submitted, true)) {
      for (int id = 2; id <= 4; ++id) bench.Submit(id);  // while the instance is busy
      EXPECT_EQ(bench.outcomes[4].answers, 1) << "refused while the others wait";
    }
    return OkStatus();
  };
  bench.Submit(1);
  bench.executor.RunAll();
  EXPECT_EQ(CodeOf(bench, 4), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(bench.outcomes[4].status.message()), HasSubstr("the queue is full, max_queue_size is 2"));
  for (int id = 1; id <= 3; ++id) EXPECT_EQ(CodeOf(bench, id), StatusCode::kOk);
  EXPECT_THAT(bench.registry.Export(), HasSubstr("nv_inference_request_failure{model=\"m\",version=\"1\",reason=\"REJECTED\"} 1\n"));
}

TEST(BatchSchedulerTest, CancelledRequestsMakeRoomInAFullQueue) {
  SchedulerOptions options = Batching(1, 0us);
  options.batching.max_delay = 1s;
  options.batching.max_rows = 8;
  options.queue.max_queue_size = 1;
  SchedulerBench bench(options);
  auto request = bench.MakeRequest(1);
  request->cancelled = std::make_shared<std::atomic<bool>>(false);
  auto cancelled = request->cancelled;
  bench.Submit(std::move(request));
  cancelled->store(true);
  bench.Submit(2);
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kCancelled);
  bench.Advance(1s);
  bench.executor.RunAll();
  EXPECT_EQ(CodeOf(bench, 2), StatusCode::kOk);
}

TEST(BatchSchedulerTest, QueueTimeoutRejectsAtExpiryWhileTheInstanceIsBusy) {
  SchedulerOptions options = Batching(1);
  options.queue.timeout = 5000us;
  SchedulerBench bench(options);
  bench.behaviour->on_run = [&, first = true](const Binding&) mutable {
    if (!std::exchange(first, false)) return OkStatus();
    bench.Submit(2);
    bench.Advance(4999us);
    EXPECT_EQ(bench.outcomes[2].answers, 0);
    bench.Advance(1us);
    EXPECT_EQ(CodeOf(bench, 2), StatusCode::kUnavailable);
    return OkStatus();
  };
  bench.Submit(1);
  bench.executor.RunAll();
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kOk);
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1}}));
}

TEST(BatchSchedulerTest, QueueTimeoutWithDelayGoesBehindAllOthers) {
  SchedulerOptions options = Batching(1);
  options.queue.timeout = 5000us;
  options.queue.timeout_action = TimeoutAction::kDelay;
  SchedulerBench bench(options);
  bench.Submit(1);
  bench.Advance(4000us);
  bench.Submit(2);
  bench.Advance(1000us);
  bench.Submit(3);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{2}, {3}, {1}}));
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kOk);
}

struct TimeoutCase {
  std::chrono::microseconds configured, own;
  bool allow_override;
  std::chrono::microseconds effective;  // 0 = none
};
class RequestTimeoutTest : public ::testing::TestWithParam<TimeoutCase> {};

TEST_P(RequestTimeoutTest, Holds) {
  const TimeoutCase& c = GetParam();
  SchedulerOptions options = Batching(8, 1h);  // nothing runs by itself
  options.queue.timeout = c.configured;
  options.queue.allow_timeout_override = c.allow_override;
  SchedulerBench bench(options);
  auto request = bench.MakeRequest(1);
  request->timeout = c.own;
  bench.Submit(std::move(request));
  if (c.effective == 0us) {
    bench.Advance(1h - 1us);
    EXPECT_EQ(bench.outcomes[1].answers, 0);
    return;
  }
  bench.Advance(c.effective - 1us);
  EXPECT_EQ(bench.outcomes[1].answers, 0);
  bench.Advance(1us);
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kUnavailable);
}
INSTANTIATE_TEST_SUITE_P(Table, RequestTimeoutTest,
                         ::testing::Values(TimeoutCase{0us, 2000us, true, 2000us},      // honoured without a default
                                           TimeoutCase{5000us, 2000us, true, 2000us},   // shorter
                                           TimeoutCase{5000us, 9000us, true, 5000us},   // may not lengthen
                                           TimeoutCase{5000us, 2000us, false, 5000us},  // not allowed
                                           TimeoutCase{0us, 2000us, false, 0us}, TimeoutCase{5000us, 0us, true, 5000us},
                                           TimeoutCase{0us, std::chrono::microseconds::max(), true, 0us}));

TEST(BatchSchedulerTest, ADeadlineInTheQueueIsAnsweredWhenItPassesAndCostsNoCompute) {
  SchedulerBench bench(Batching(8, 1s));
  auto request = bench.MakeRequest(1);
  request->deadline = bench.clock.Now() + 3ms;
  bench.Submit(std::move(request));
  bench.Advance(3ms);
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kDeadlineExceeded);
  bench.executor.RunAll();
  EXPECT_EQ(bench.behaviour->runs, 0);
}

TEST(BatchSchedulerTest, MemoryThatEndsFailsTheRequestAndNotTheServer) {
  SchedulerBench bench(Batching(4));
  bench.behaviour->on_run = [](const Binding& io) -> Status {
    if (io.inputs[0].shape[0] > 1) throw std::bad_alloc();
    return OkStatus();
  };
  bench.Submit(1);
  bench.Submit(2, 2);
  bench.executor.RunAll();
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kOk) << "it fits alone";
  EXPECT_EQ(CodeOf(bench, 2), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(bench.outcomes[2].status.message()), HasSubstr("no memory for a batch of 2 rows"));
}

TEST(BatchSchedulerTest, AnAnswerAfterTheDeadlineIsNoSuccess) {
  SchedulerBench bench(Batching(2));
  bench.behaviour->on_run = [&](const Binding&) {
    bench.clock.Advance(5ms);
    return OkStatus();
  };
  auto request = bench.MakeRequest(1);
  request->deadline = bench.clock.Now() + 3ms;
  bench.Submit(std::move(request));
  bench.Submit(2);
  bench.executor.RunAll();
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(bench.outcomes[1].values.empty());
  EXPECT_EQ(CodeOf(bench, 2), StatusCode::kOk) << "its neighbour is not late";
}

TEST(BatchSchedulerTest, ADeadlineThatHasPassedOnArrivalIsRefused) {
  SchedulerBench bench(Batching(2));
  auto request = bench.MakeRequest(1);
  request->deadline = bench.clock.Now();
  bench.Submit(std::move(request));
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kDeadlineExceeded);
}

TEST(BatchSchedulerTest, CancelledRequestsNeverRun) {
  SchedulerBench bench(Batching(4));
  auto cancelled = std::make_shared<std::atomic<bool>>(false);
  for (int id = 1; id <= 3; ++id) {
    auto request = bench.MakeRequest(id);
    if (id != 2) request->cancelled = cancelled;
    bench.Submit(std::move(request));
  }
  cancelled->store(true);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{2}}));
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kCancelled);
  EXPECT_EQ(CodeOf(bench, 3), StatusCode::kCancelled);
  EXPECT_THAT(bench.registry.Export(), HasSubstr("reason=\"CANCELED\"} 2\n"));
}

TEST(BatchSchedulerTest, OneBadRequestDoesNotFailItsNeighbours) {
  SchedulerBench bench(Batching(4));
  bench.behaviour->on_run = [](const Binding& io) {
    const float* x = io.inputs[0].as<float>();
    for (int64_t i = 0; i < io.inputs[0].elements(); ++i) {
      if (x[i] == 2) return InvalidArgument("step 3 (gather): index 2 is out of range");
    }
    return OkStatus();
  };
  for (int id = 1; id <= 3; ++id) bench.Submit(id);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1, 2, 3}, {1}, {2}, {3}}));
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kOk);
  EXPECT_EQ(CodeOf(bench, 2), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(bench.outcomes[2].status.message()), HasSubstr("model 'm' version 1: step 3"));
  EXPECT_EQ(CodeOf(bench, 3), StatusCode::kOk);
  EXPECT_THAT(bench.outcomes[3].values, ElementsAre(103));
}

TEST(BatchSchedulerTest, ARetryAloneIsOnlyForThoseWhoStillWantIt) {
  SchedulerBench bench(Batching(4));
  bench.behaviour->on_run = [&, first = true](const Binding&) mutable {
    if (!std::exchange(first, false)) return OkStatus();
    bench.clock.Advance(5ms);
    return InvalidArgument("bad data");
  };
  auto request = bench.MakeRequest(1);
  request->deadline = bench.clock.Now() + 5ms;
  bench.Submit(std::move(request));
  bench.Submit(2);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1, 2}, {2}}));
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(CodeOf(bench, 2), StatusCode::kOk);
}

TEST(BatchSchedulerTest, AFailingDeviceFailsTheBatchOnceAndTheNextBatchRuns) {
  SchedulerBench bench(Batching(2));
  bench.behaviour->on_run = [n = 0](const Binding&) mutable {
    return ++n == 1 ? Internal("the device is lost") : OkStatus();
  };
  for (int id = 1; id <= 3; ++id) bench.Submit(id);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1, 2}, {3}}));
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kInternal);
  EXPECT_EQ(CodeOf(bench, 2), StatusCode::kInternal);
  EXPECT_EQ(CodeOf(bench, 3), StatusCode::kOk);
  EXPECT_THAT(bench.registry.Export(), HasSubstr("reason=\"BACKEND\"} 2\n"));
}

TEST(BatchSchedulerTest, OnlyWantedOutputsUnderTheNamesAsked) {
  SchedulerBench bench(Batching(2));
  auto request = bench.MakeRequest(1);
  request->outputs.push_back({"OUTPUT__0", {}, false, 0});
  bench.Submit(std::move(request));
  bench.executor.RunAll();
  EXPECT_EQ(bench.outcomes[1].output_name, "OUTPUT__0");
  EXPECT_THAT(bench.outcomes[1].values, ElementsAre(101));
}

TEST(BatchSchedulerTest, ACloseAnswersWhatWaitsAndRefusesWhatComes) {
  SchedulerBench bench(Batching(8, 1s));
  bench.Submit(1);
  bench.scheduler->Close();
  bench.Submit(2);
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kUnavailable);
  EXPECT_EQ(CodeOf(bench, 2), StatusCode::kUnavailable);
}

TEST(BatchSchedulerTest, StatisticsMatchWhatHappened) {
  SchedulerBench bench(Batching(4));
  bench.behaviour->on_run = [&](const Binding&) {
    bench.clock.Advance(7us);
    return OkStatus();
  };
  bench.Submit(1);
  bench.clock.Advance(10us);
  bench.Submit(2, 2);
  bench.executor.RunAll();
  const VersionTotals totals = bench.metrics.Totals();
  EXPECT_EQ(totals.success.count, 2u);
  EXPECT_EQ(totals.inferences, 3u);
  EXPECT_EQ(totals.executions, 1u);
  EXPECT_EQ(totals.queue.ns, 10'000u);
  EXPECT_EQ(totals.compute_infer.ns, 14'000u) << "each request counts the whole batch";
  ASSERT_EQ(totals.batches.size(), 1u);
  EXPECT_EQ(totals.batches[0].batch_size, 3u);
  EXPECT_EQ(totals.batches[0].compute_infer.ns, 7'000u);
  EXPECT_THAT(bench.registry.Export(), HasSubstr("nv_inference_pending_request_count{model=\"m\",version=\"1\"} 0\n"));
}

TEST(BatchSchedulerTest, PreserveOrderingHoldsAnswersBack) {
  SchedulerOptions options = Batching(1);
  options.preserve_ordering = true;
  SchedulerBench bench(options, 2);
  std::vector<int> order;
  auto submit = [&](int id, uint32_t priority) {
    auto request = bench.MakeRequest(id);
    request->priority = priority;
    request->on_complete = [&order, id](std::unique_ptr<Request>, Response) { order.push_back(id); };
    bench.Submit(std::move(request));
  };
  submit(1, 3);
  submit(2, 2);
  submit(3, 1);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{3}, {2}, {1}}));
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

// ---- running on the submitting thread

SchedulerOptions Inline(Duration expected_run) {
  SchedulerOptions options = Batching(4);
  options.run_inline = true;
  options.expected_run = expected_run;
  return options;
}

TEST(InlineTest, ALoneRequestRunsWhereItIsSubmitted) {
  SchedulerBench bench(Inline(100us));
  bench.Submit(1);
  EXPECT_EQ(CodeOf(bench, 1), StatusCode::kOk) << "answered before Submit returned";
  EXPECT_EQ(bench.executor.RunAll(), 0);
}

TEST(InlineTest, ALongRunGoesToTheInstancesThread) {
  SchedulerBench bench(Inline(201us));
  bench.Submit(1);
  EXPECT_EQ(bench.outcomes[1].answers, 0);
  EXPECT_EQ(bench.executor.RunAll(), 1);
}

TEST(InlineTest, RightBehindTheLastRunTheQueueIsUsedSoThatBatchesGrow) {
  SchedulerBench bench(Inline(100us));
  bench.Submit(1);
  bench.clock.Advance(19us);
  bench.Submit(2);
  bench.Submit(3);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1}, {2, 3}}));
  bench.clock.Advance(20us);
  bench.Submit(4);
  EXPECT_EQ(CodeOf(bench, 4), StatusCode::kOk);
}

TEST(InlineTest, ARunShorterThanAHopIsAlwaysInline) {
  SchedulerBench bench(Inline(5us));
  bench.Submit(1);
  bench.Submit(2);
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1}, {2}}));
}

TEST(InlineTest, ADelayIsHeeded) {
  SchedulerOptions options = Inline(5us);
  options.batching.max_delay = 100us;
  SchedulerBench bench(options);
  bench.Submit(1);
  EXPECT_EQ(bench.outcomes[1].answers, 0);
  bench.Submit(2, 4);
  EXPECT_EQ(bench.outcomes[2].answers, 0) << "not before the one that waits";
  bench.Advance(100us);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1}, {2, 2, 2, 2}}));
}

TEST(InlineTest, RunTimesAreLearned) {
  SchedulerBench bench(Inline(100us));
  bench.behaviour->on_run = [&](const Binding&) {
    bench.clock.Advance(10ms);
    return OkStatus();
  };
  bench.Submit(1);
  EXPECT_EQ(bench.outcomes[1].answers, 1);
  bench.clock.Advance(1s);
  bench.Submit(2);
  EXPECT_EQ(bench.outcomes[2].answers, 0) << "runs of 10 ms do not belong here";
  bench.executor.RunAll();
}

TEST(InlineTest, WhatArrivesDuringAnInlineRunIsHandedToTheInstancesThread) {
  SchedulerBench bench(Inline(100us));
  bench.behaviour->on_run = [&, first = true](const Binding&) mutable {
    if (std::exchange(first, false)) {
      bench.Submit(2);
      bench.Submit(3);
    }
    return OkStatus();
  };
  bench.Submit(1);
  EXPECT_EQ(bench.outcomes[1].answers, 1);
  EXPECT_EQ(bench.outcomes[2].answers, 0);
  bench.executor.RunAll();
  EXPECT_EQ(bench.TakeBatches(), (Batches{{1}, {2, 3}}));
}

TEST(InlineTest, TheSchedulerOutlivesItsLastRequest) {
  auto bench = std::make_unique<SchedulerBench>(Inline(5us));
  std::shared_ptr<BatchScheduler> scheduler = std::move(bench->scheduler);
  BatchScheduler* raw = scheduler.get();
  std::weak_ptr<BatchScheduler> watch = scheduler;
  bool alive_in_completion = false;
  auto request = bench->MakeRequest(1);
  request->on_complete = [&](std::unique_ptr<Request>, Response) { alive_in_completion = !watch.expired(); };
  raw->Submit(std::move(request), std::move(scheduler));
  EXPECT_TRUE(alive_in_completion);
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace tondar
