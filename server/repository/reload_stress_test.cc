// The property of the house, with real threads: versions come, go, break and are replaced in place while clients ask,
// and not one request fails, is lost, or is answered by a version that did not take it.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "server/repository/testing/repository_bench.h"
#include "server/scheduler/periodic_task.h"

namespace tondar {
namespace {

using namespace std::chrono_literals;
using testing::MakeAddRequest;

TEST(ReloadStressTest, NoRequestFailsWhileVersionsChange) {
  testing::TemporaryDirectory directory;
  MetricRegistry registry;
  testing::FakeEngine engine;
  TimerThread timer;
  auto reaper = std::make_unique<ThreadPool>(1, "reaper");
  auto loads = std::make_unique<ThreadPool>(2, "load");
  ModelLoader loader({}, {engine, Clock::Real(), timer, registry,
                          [](int i) { return std::make_unique<ThreadPool>(1, "instance-" + std::to_string(i)); }});
  ModelRepository repository({{directory.path()}, ModelControlMode::kPoll, {}}, {loader, *loads, *reaper, registry});
  auto put = [&](int version, const std::string& text) {
    directory.Write("m/" + std::to_string(version) + "/model.pt2", text);
  };
  put(1, "1000");
  std::atomic<bool> started{false};
  repository.LoadInitial([&](std::vector<LoadFailure>) { started = true; });
  while (!started) std::this_thread::yield();

  std::atomic<bool> stopping{false};
  std::atomic<int> sent{0}, answered{0}, failed{0}, wrong{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 3; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; !stopping; ++i) {
        Result<ModelHandle> handle = repository.Find("m", "");
        sent.fetch_add(1);
        if (!handle.ok()) {
          failed.fetch_add(1);
          answered.fetch_add(1);
          continue;
        }
        const int64_t version = (*handle)->version();
        auto request = MakeAddRequest("m", static_cast<float>(c));
        request->protocol = i % 2 == 0 ? Protocol::kHttp : Protocol::kInProcess;
        request->on_complete = [&, c, version](std::unique_ptr<Request>, Response response) {
          if (!response.status.ok()) {
            failed.fetch_add(1);
          } else {
            // A version's files may be replaced in place: thousands are the version, units the generation.
            const int value = static_cast<int>(*reinterpret_cast<const float*>(response.outputs[0].bytes.data())) - c;
            if (value / 1000 != version) wrong.fetch_add(1);
          }
          answered.fetch_add(1);
        };
        BatchScheduler& scheduler = (*handle)->scheduler();
        scheduler.Submit(std::move(request), *std::move(handle));
        if (i % 64 == 0) {
          while (sent - answered > 500) std::this_thread::yield();
        }
      }
    });
  }
  {
    PeriodicTask polling([&] { repository.Poll(); }, 2ms, Clock::Real(), timer, *reaper);
    std::mt19937 random(3);
    for (int step = 0; step < 60; ++step) {
      const int version = 1 + static_cast<int>(random() % 6);
      switch (random() % 4) {
        case 0: put(version, "broken"); break;
        case 1:
          if (version > 1) directory.Remove("m/" + std::to_string(version));
          break;
        default: put(version, std::to_string(version * 1000 + static_cast<int>(random() % 100) * 4));
      }
      std::this_thread::sleep_for(8ms);  // real time is what is tested
    }
  }
  stopping = true;
  for (std::thread& client : clients) client.join();
  while (answered < sent) std::this_thread::yield();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(answered, 1000);
  EXPECT_GT(engine.loads(), 10);
  EXPECT_NE(registry.Export().find("tondar_bug_total 0\n"), std::string::npos);
  repository.Shutdown();
  loads.reset();
  reaper.reset();
  EXPECT_EQ(engine.behaviour().live_sessions, 0);
  EXPECT_FALSE(engine.behaviour().overlapping);
}

}  // namespace
}  // namespace tondar
