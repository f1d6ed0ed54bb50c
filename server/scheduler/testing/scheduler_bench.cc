#include "server/scheduler/testing/scheduler_bench.h"

#include <algorithm>
#include <cstring>

namespace tondar::testing {

TimePoint ManualTimer::next() const {
  TimePoint next = TimePoint::max();
  for (const auto& [sleeper, when] : wishes_) next = std::min(next, when);
  return next;
}

void ManualTimer::WakeDue(TimePoint now) {
  for (bool woke = true; woke;) {
    woke = false;
    for (const auto& [sleeper, when] : wishes_) {
      if (when > now) continue;
      Sleeper* due = sleeper;
      wishes_.erase(due);
      due->WakeUp();
      woke = true;
      break;
    }
  }
}

SchedulerBench::SchedulerBench(SchedulerOptions options, int instances, Shape rest) {
  behaviour->record = true;
  if (options.where.empty()) options.where = "model 'm' version 1";
  std::vector<std::unique_ptr<Instance>> made;
  for (int i = 0; i < instances; ++i) {
    auto session = std::make_unique<FakeSession>(AddSignature(1 << 20, rest), 100.0f, behaviour);
    made.push_back(std::make_unique<Instance>(std::move(session), options.batched, options.where, clock, metrics));
  }
  scheduler = std::make_unique<BatchScheduler>(std::move(options), SchedulerDependencies{clock, timer, metrics},
                                               std::move(made),
                                               [this](int) { return std::make_unique<BorrowedExecutor>(executor); });
}

SchedulerBench::~SchedulerBench() {
  executor.RunAll();
  scheduler.reset();
}

std::unique_ptr<Request> SchedulerBench::MakeRequest(int id, int64_t rows, int64_t width) {
  auto request = std::make_unique<Request>();
  auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(rows * width), static_cast<float>(id));
  request->model_name = "m";
  request->model_version = "1";
  request->id = std::to_string(id);
  request->rows = rows;
  request->protocol = Protocol::kHttp;
  request->times.received = clock.Now();
  request->inputs.push_back({"x", DType::kFloat32, Dims{rows, width}, std::as_bytes(std::span(*values)), {}});
  request->storage = values;
  request->on_complete = [this, id](std::unique_ptr<Request>, Response response) {
    Outcome& outcome = outcomes[id];
    ++outcome.answers;
    outcome.answered = clock.Now();
    if (!response.outputs.empty()) {
      const OutputTensor& output = response.outputs[0];
      outcome.output_name = output.name;
      outcome.values.resize(output.bytes.size() / sizeof(float));
      std::memcpy(outcome.values.data(), output.bytes.data(), output.bytes.size());
    }
    outcome.status = std::move(response.status);
  };
  return request;
}

void SchedulerBench::Advance(Duration step) {
  clock.Advance(step);
  timer.WakeDue(clock.Now());
}

std::vector<std::vector<int>> SchedulerBench::TakeBatches() {
  MutexLock lock(behaviour->mu);
  std::vector<std::vector<int>> batches;
  for (const std::vector<float>& batch : behaviour->batches) batches.emplace_back(batch.begin(), batch.end());
  behaviour->batches.clear();
  return batches;
}

}  // namespace tondar::testing
