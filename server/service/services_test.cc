#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "server/repository/testing/repository_bench.h"
#include "server/service/control_service_impl.h"
#include "server/service/inference_service_impl.h"

namespace tondar {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeAddRequest;
using testing::RepositoryBench;

struct Answer {
  int count = 0;
  Response response;
};

class ServicesTest : public ::testing::Test {
 protected:
  ServicesTest() {
    bench_.PutModel("a", 1, 10);
    bench_.PutBroken("bad", 1);
  }
  void Start() {
    bench_.Start();
    control_.SetStarted();
  }
  Answer Infer(std::unique_ptr<Request> request) {
    Answer answer;
    request->on_complete = [&](std::unique_ptr<Request>, Response response) {
      ++answer.count;
      answer.response = std::move(response);
    };
    inference_.Infer(std::move(request));
    bench_.RunAll();
    EXPECT_EQ(answer.count, 1);
    return answer;
  }
  StatusCode CodeOf(std::unique_ptr<Request> request) { return Infer(std::move(request)).response.status.code(); }

  RepositoryBench bench_{ModelControlMode::kExplicit, {"a", "bad"}};
  InferenceServiceImpl inference_{*bench_.repository, bench_.registry, bench_.clock};
  ControlServiceImpl control_{{.server_version = "1.2.3", .strict_readiness = true}, *bench_.repository};
};

TEST_F(ServicesTest, AnswersWithTheVersionThatAnswered) {
  Start();
  auto request = MakeAddRequest("a", 5);
  request->id = "seven";
  const Answer answer = Infer(std::move(request));
  ASSERT_TRUE(answer.response.status.ok()) << answer.response.status.ToString();
  EXPECT_EQ(answer.response.model_name, "a");
  EXPECT_EQ(answer.response.model_version, "1");
  EXPECT_EQ(answer.response.id, "seven");
  ASSERT_EQ(answer.response.outputs.size(), 1u);
  float value = 0;
  std::memcpy(&value, answer.response.outputs[0].bytes.data(), sizeof(value));
  EXPECT_EQ(value, 15);
}

TEST_F(ServicesTest, RefusalsAreCodedAndCounted) {
  Start();
  EXPECT_EQ(CodeOf(MakeAddRequest("nobody", 1)), StatusCode::kNotFound);
  EXPECT_EQ(CodeOf(MakeAddRequest("bad", 1)), StatusCode::kUnavailable);
  auto version = MakeAddRequest("a", 1);
  version->model_version = "9";
  EXPECT_EQ(CodeOf(std::move(version)), StatusCode::kNotFound);
  auto wrong = MakeAddRequest("a", 1);
  wrong->inputs[0].dtype = DType::kInt32;
  const Answer answer = Infer(std::move(wrong));
  EXPECT_EQ(answer.response.status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(answer.response.status.message()),
              HasSubstr("model 'a' version 1: input 'x': datatype INT32, expected FP32"));
  const std::string metrics = bench_.registry.Export();
  EXPECT_THAT(metrics, HasSubstr("tondar_requests_refused_total{protocol=\"inprocess\",code=\"NOT_FOUND\"} 2\n"));
  EXPECT_THAT(metrics, HasSubstr("tondar_requests_refused_total{protocol=\"inprocess\",code=\"UNAVAILABLE\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("nv_inference_request_failure{model=\"a\",version=\"1\",reason=\"OTHER\"} 1\n"));
  EXPECT_EQ(metrics.find("nobody"), std::string::npos) << "a name that a client made up is no label";
}

TEST_F(ServicesTest, DrainingRefusesWhatComes) {
  Start();
  inference_.BeginDrain();
  const Answer answer = Infer(MakeAddRequest("a", 1));
  EXPECT_EQ(answer.response.status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(answer.response.status.message()), HasSubstr("shutting down"));
}

TEST_F(ServicesTest, ReadinessLatchesAndDrainingEndsIt) {
  EXPECT_TRUE(control_.Live());
  EXPECT_FALSE(control_.Ready());
  Start();
  EXPECT_FALSE(control_.Ready()) << "'bad' is wanted and does not serve";
  bench_.PutModel("bad", 1, 3);
  EXPECT_TRUE(bench_.Load("bad").ok());
  EXPECT_TRUE(control_.Ready());
  EXPECT_TRUE(bench_.Unload("bad").ok());
  EXPECT_TRUE(control_.Ready()) << "later events do not flip it";
  control_.BeginDrain();
  EXPECT_FALSE(control_.Ready());
  EXPECT_TRUE(control_.Live());
}

TEST_F(ServicesTest, WithoutStrictReadinessItIsReadyAtOnce) {
  ControlServiceImpl relaxed({.server_version = "1", .strict_readiness = false}, *bench_.repository);
  EXPECT_TRUE(relaxed.Ready());
}

TEST_F(ServicesTest, Metadata) {
  Start();
  const ServerMetadata server = control_.GetServerMetadata();
  EXPECT_EQ(server.name, "tondar");
  EXPECT_EQ(server.version, "1.2.3");
  EXPECT_THAT(server.extensions, ::testing::Contains("statistics"));
  const auto model = control_.GetModelMetadata("a", "");
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(model->versions, ElementsAre("1"));
  ASSERT_EQ(model->inputs.size(), 1u);
  EXPECT_EQ(model->inputs[0].shape, (Dims{-1, 1}));
  EXPECT_TRUE(control_.ModelReady("a", ""));
  EXPECT_TRUE(control_.ModelReady("a", "1"));
  EXPECT_FALSE(control_.ModelReady("a", "2"));
  EXPECT_FALSE(control_.ModelReady("bad", ""));
  EXPECT_FALSE(control_.ModelReady("nobody", ""));
  EXPECT_EQ(control_.GetModelMetadata("nobody", "").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(control_.GetModelMetadata("bad", "").status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(control_.GetModelConfig("a", "1")->max_batch_size, 64);
}

TEST_F(ServicesTest, Statistics) {
  Start();
  Infer(MakeAddRequest("a", 1));
  Infer(MakeAddRequest("a", 2));
  const auto statistics = control_.GetStatistics("", "");
  ASSERT_TRUE(statistics.ok());
  ASSERT_EQ(statistics->size(), 1u);
  EXPECT_EQ((*statistics)[0].name, "a");
  EXPECT_EQ((*statistics)[0].version, "1");
  EXPECT_EQ((*statistics)[0].inference_count, 2u);
  EXPECT_EQ((*statistics)[0].execution_count, 2u);
  EXPECT_EQ((*statistics)[0].success.count, 2u);
  ASSERT_EQ((*statistics)[0].batches.size(), 1u);
  EXPECT_EQ((*statistics)[0].batches[0].batch_size, 1u);
  EXPECT_GT((*statistics)[0].memory_bytes, 0u);
  EXPECT_EQ(control_.GetStatistics("a", "2").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(control_.GetStatistics("nobody", "").status().code(), StatusCode::kNotFound);
}

TEST_F(ServicesTest, Index) {
  Start();
  const auto all = control_.GetIndex(false);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(all[0].state, "READY");
  EXPECT_EQ(all[1].name, "bad");
  EXPECT_EQ(all[1].state, "UNAVAILABLE");
  EXPECT_THAT(all[1].reason, HasSubstr("not a model"));
  EXPECT_EQ(control_.GetIndex(true).size(), 1u);
}

TEST_F(ServicesTest, LoadRefusals) {
  Start();
  EXPECT_EQ(control_.LoadModel("nobody", {}).code(), StatusCode::kNotFound);
  EXPECT_EQ(control_.LoadModel("a", {{"file:1/model.pt2", std::string("x")}}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(control_.LoadModel("a", {{"config", int64_t{1}}}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(control_.LoadModel("a", {{"config", std::string("{")}}).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(control_.UnloadModel("a", {{"unload_dependents", true}}).ok());
  EXPECT_EQ(control_.UnloadModel("nobody", {}).code(), StatusCode::kNotFound);
  EXPECT_EQ(control_.UnloadModel("nobody", {{"unload_dependents", int64_t{1}}}).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(control_.UnloadModel("nobody", {{"force", true}}).message()), HasSubstr("'force'"));
  control_.BeginDrain();
  EXPECT_EQ(control_.LoadModel("a", {}).code(), StatusCode::kUnavailable);
}

// With real threads, for LoadModel and UnloadModel block until others have done the work.
TEST(BlockingVerbsTest, LoadAndUnloadReturnWhenDone) {
  testing::TemporaryDirectory directory;
  directory.Write("a/1/model.pt2", "10");
  directory.Write("bad/1/model.pt2", "nonsense");
  MetricRegistry registry;
  testing::FakeEngine engine;
  TimerThread timer;
  auto reaper = std::make_unique<ThreadPool>(1, "reaper");
  auto loads = std::make_unique<ThreadPool>(2, "load");
  ModelLoader loader({}, {engine, Clock::Real(), timer, registry,
                          [](int) { return std::make_unique<ThreadPool>(1, "instance"); }});
  ModelRepository repository({{directory.path()}, ModelControlMode::kExplicit, {}}, {loader, *loads, *reaper, registry});
  ControlServiceImpl control({.server_version = "1"}, repository);
  for (int cycle = 0; cycle < 20; ++cycle) {
    EXPECT_TRUE(control.LoadModel("a", {{"config", std::string("{\"max_batch_size\": 4}")}}).ok());
    EXPECT_EQ(control.GetModelConfig("a", "")->max_batch_size, 4);
    EXPECT_EQ(control.LoadModel("bad", {}).code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE(control.UnloadModel("a", {}).ok());
    EXPECT_EQ(engine.behaviour().live_sessions, 0) << "memory is free when unload returns";
  }
  std::vector<std::thread> callers;  // many at once on one model: no crash, no deadlock, and the end is as asked last
  for (int t = 0; t < 8; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Status status = (t + i) % 2 == 0 ? control.LoadModel("a", {}) : control.UnloadModel("a", {});
        EXPECT_TRUE(status.ok()) << status.ToString();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(control.LoadModel("a", {}).ok());
  EXPECT_TRUE(control.ModelReady("a", ""));
  repository.Shutdown();
  loads.reset();
  reaper.reset();
  EXPECT_EQ(engine.behaviour().live_sessions, 0);
}

}  // namespace
}  // namespace tondar
