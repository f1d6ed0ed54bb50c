// Random traffic against the rules that always hold: every request is answered once, in time or with an error, with its
// own rows, never run when it was cancelled or late, never mixed with another shape, and no batch is too large.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

#include "server/scheduler/testing/scheduler_bench.h"

namespace tondar {
namespace {

using namespace std::chrono_literals;
using testing::SchedulerBench;

struct Sent {
  int64_t rows;
  int64_t width;
  TimePoint deadline;
  std::shared_ptr<std::atomic<bool>> cancelled;
  TimePoint cancelled_at = TimePoint::max();
  bool poisoned;  // the model refuses it
};

class SchedulerPropertyTest : public ::testing::TestWithParam<unsigned> {
 protected:
  SchedulerPropertyTest() : random_(GetParam()) {}
  bool OneIn(unsigned n) { return random_() % n == 0; }

  SchedulerOptions RandomOptions() {
    SchedulerOptions options;
    options.batched = true;
    options.batching.combine = !OneIn(5);
    options.batching.max_rows = 1 + random_() % 8;
    if (OneIn(2)) options.batching.max_delay = std::chrono::microseconds(random_() % 500);
    if (OneIn(2)) options.batching.preferred = {static_cast<int32_t>(1 + random_() % 4)};
    if (OneIn(3)) options.queue.max_queue_size = 1 + random_() % 10;
    if (OneIn(3)) options.queue.timeout = std::chrono::microseconds(1 + random_() % 3000);
    if (OneIn(2)) options.queue.timeout_action = TimeoutAction::kDelay;
    options.preserve_ordering = OneIn(4);
    options.run_inline = OneIn(2);
    options.expected_run = std::chrono::microseconds(random_() % 300);
    return options;
  }

  std::mt19937 random_;
};

TEST_P(SchedulerPropertyTest, NothingIsLostDuplicatedMixedOrLate) {
  const SchedulerOptions options = RandomOptions();
  SchedulerBench bench(options, 1 + static_cast<int>(random_() % 3), {Dim::Symbol(1)});
  std::map<int, Sent> sent;
  bool in_run = false;
  bench.behaviour->on_run = [&](const Binding& io) -> Status {
    const Dims& shape = io.inputs[0].shape;
    EXPECT_LE(shape[0], options.batching.max_rows);
    std::set<int> members;
    const float* x = io.inputs[0].as<float>();
    for (int64_t i = 0; i < io.inputs[0].elements(); ++i) members.insert(static_cast<int>(x[i]));
    int64_t rows = 0;
    bool poisoned = false;
    for (int id : members) {
      const Sent& request = sent.at(id);
      EXPECT_EQ(request.width, shape[1]) << "mixed shapes";
      EXPECT_GT(request.deadline, bench.clock.Now()) << "compute spent on a late request";
      EXPECT_EQ(request.cancelled_at, TimePoint::max()) << "compute spent on a cancelled request";
      rows += request.rows;
      poisoned |= request.poisoned;
    }
    EXPECT_EQ(rows, shape[0]) << "rows lost or split";
    if (!options.batching.combine) {
      EXPECT_EQ(members.size(), 1u);
    }
    if (!in_run && OneIn(2)) {  // time passes while the device works
      in_run = true;
      bench.Advance(std::chrono::microseconds(random_() % 800));
      in_run = false;
    }
    return poisoned ? InvalidArgument("bad data") : OkStatus();
  };

  for (int id = 1; id <= 400; ++id) {
    Sent request{.rows = 1 + static_cast<int64_t>(random_() % static_cast<unsigned>(options.batching.max_rows)),
                 .width = 1 + static_cast<int64_t>(random_() % 3),
                 .deadline = OneIn(4) ? bench.clock.Now() + std::chrono::microseconds(random_() % 2000) : TimePoint::max(),
                 .cancelled = std::make_shared<std::atomic<bool>>(false),
                 .poisoned = OneIn(20)};
    auto made = bench.MakeRequest(id, request.rows, request.width);
    made->deadline = request.deadline;
    made->cancelled = request.cancelled;
    made->priority = random_() % 3;
    if (OneIn(5)) made->timeout = std::chrono::microseconds(random_() % 1000);
    sent[id] = request;
    bench.Submit(std::move(made));
    if (OneIn(8)) {
      Sent& victim = sent[1 + static_cast<int>(random_() % static_cast<unsigned>(id))];
      if (victim.cancelled_at == TimePoint::max()) victim.cancelled_at = bench.clock.Now();
      victim.cancelled->store(true);
    }
    if (OneIn(3)) bench.executor.RunOne();
    if (OneIn(3)) bench.Advance(std::chrono::microseconds(random_() % 400));
  }
  for (int i = 0; i < 20; ++i) {
    bench.executor.RunAll();
    bench.Advance(10ms);
  }

  EXPECT_FALSE(bench.behaviour->overlapping);
  uint64_t successes = 0, failures = 0;
  for (auto& [id, request] : sent) {
    const testing::Outcome& outcome = bench.outcomes[id];
    ASSERT_EQ(outcome.answers, 1) << "request " << id;
    if (!outcome.status.ok()) {
      ++failures;
      EXPECT_TRUE(outcome.values.empty());
      if (outcome.status.code() == StatusCode::kInvalidArgument) {
        EXPECT_TRUE(request.poisoned) << "failed for a neighbour's fault";
      }
      if (outcome.status.code() == StatusCode::kCancelled) {
        EXPECT_NE(request.cancelled_at, TimePoint::max());
      }
      continue;
    }
    ++successes;
    EXPECT_FALSE(request.poisoned);
    EXPECT_EQ(outcome.values.size(), static_cast<size_t>(request.rows * request.width));
    for (float value : outcome.values) EXPECT_EQ(value, 100.0f + static_cast<float>(id)) << "another request's answer";
    if (!options.preserve_ordering) {
      EXPECT_LE(outcome.answered, request.deadline) << "success after the deadline";
    }
  }
  const VersionTotals totals = bench.metrics.Totals();
  EXPECT_EQ(totals.success.count, successes);
  EXPECT_EQ(totals.fail.count, failures);
  EXPECT_GT(successes, 0u);
  EXPECT_NE(bench.registry.Export().find("nv_inference_pending_request_count{model=\"m\",version=\"1\"} 0\n"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SchedulerPropertyTest, ::testing::Range(1u, 121u));

// The same with real threads, for the races: four submitters, two instances, a real timer.
TEST(SchedulerThreadsTest, EveryRequestIsAnsweredOnce) {
  TimerThread timer;
  MetricRegistry registry;
  VersionMetrics metrics(registry, "m", "1", {"inprocess", "http", "grpc"}, 8);
  auto behaviour = std::make_shared<testing::FakeBehaviour>();
  constexpr int kThreads = 4, kEach = 3000;
  std::atomic<int> answered{0}, wrong{0};
  {
    SchedulerOptions options;
    options.where = "model 'm' version 1";
    options.batched = true;
    options.batching = {.combine = true, .max_rows = 8, .max_delay = 50us};
    options.queue.timeout = 5000us;
    options.run_inline = true;
    std::vector<std::unique_ptr<Instance>> instances;
    for (int i = 0; i < 2; ++i) {
      auto session = std::make_unique<testing::FakeSession>(testing::AddSignature(), 100.0f, behaviour);
      instances.push_back(std::make_unique<Instance>(std::move(session), true, options.where, Clock::Real(), metrics));
    }
    BatchScheduler scheduler(options, {Clock::Real(), timer, metrics}, std::move(instances), [](int i) {
      return std::make_unique<ThreadPool>(1, "instance-" + std::to_string(i));
    });
    std::vector<std::thread> submitters;
    for (int t = 0; t < kThreads; ++t) {
      submitters.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          auto request = std::make_unique<Request>();
          auto value = std::make_shared<float>(static_cast<float>(t * kEach + i));
          const float expected = *value + 100.0f;
          request->protocol = Protocol::kGrpc;
          if (i % 7 == 0) request->deadline = Clock::Real().Now() + 200us;
          request->inputs.push_back({"x", DType::kFloat32, Dims{1, 1}, std::as_bytes(std::span(value.get(), 1)), {}});
          request->storage = value;
          request->on_complete = [&answered, &wrong, expected](std::unique_ptr<Request>, Response response) {
            if (response.status.ok() &&
                *reinterpret_cast<const float*>(response.outputs[0].bytes.data()) != expected) {
              wrong.fetch_add(1);
            }
            answered.fetch_add(1);
          };
          scheduler.Submit(std::move(request), nullptr);
        }
      });
    }
    for (std::thread& submitter : submitters) submitter.join();
  }  // what still waits is answered here
  EXPECT_EQ(answered, kThreads * kEach);
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(behaviour->overlapping);
}

}  // namespace
}  // namespace tondar
