#include "server/repository/model_repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "server/repository/testing/repository_bench.h"
#include "server/scheduler/periodic_task.h"

namespace tondar {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using testing::MakeAddRequest;
using testing::RepositoryBench;

constexpr ModelControlMode kPoll = ModelControlMode::kPoll;
constexpr ModelControlMode kExplicit = ModelControlMode::kExplicit;

TEST(StartTest, LoadsTheLatestOfEveryModelAndIsReady) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.PutModel("a", 2, 20);
  bench.PutModel("b", 1, 30);
  EXPECT_FALSE(bench.repository->InitialModelsReady());
  EXPECT_THAT(bench.Start(), IsEmpty());
  EXPECT_TRUE(bench.repository->InitialModelsReady());
  EXPECT_EQ(bench.Ask("a"), 20);
  EXPECT_EQ(bench.Ask("a", "2"), 20);
  EXPECT_EQ(bench.Ask("b"), 30);
  EXPECT_EQ(bench.States("a"), "2 READY");
  EXPECT_EQ(bench.repository->Find("a", "1").status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(bench.repository->Find("a", "9").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(bench.repository->Find("a", "x").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(bench.repository->Find("nobody", "").status().code(), StatusCode::kNotFound);
}

TEST(StartTest, AnEmptyRepositoryIsReady) {
  RepositoryBench bench(kPoll);
  EXPECT_THAT(bench.Start(), IsEmpty());
  EXPECT_TRUE(bench.repository->InitialModelsReady());
}

TEST(StartTest, ABrokenModelIsReportedAndKeepsTheServerUnready) {
  RepositoryBench bench(kPoll);
  bench.PutModel("good", 1, 10);
  bench.PutBroken("bad", 1);
  const auto failures = bench.Start();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].model, "bad");
  EXPECT_THAT(std::string(failures[0].status.message()), HasSubstr("model 'bad' version 1: "));
  EXPECT_FALSE(bench.repository->InitialModelsReady());
  EXPECT_EQ(bench.Ask("good"), 10);
  EXPECT_EQ(bench.repository->Find("bad", "").status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(bench.Reason("bad", "1"), HasSubstr("not a model"));

  bench.PutModel("bad", 1, 5);  // mended
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("bad"), 5);
  EXPECT_TRUE(bench.repository->InitialModelsReady());
}

TEST(StartTest, FallsBackToAnOlderVersionWhenTheLatestIsBroken) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.PutBroken("a", 2);
  EXPECT_THAT(bench.Start(), IsEmpty()) << "the model serves";
  EXPECT_EQ(bench.Ask("a"), 10);
  EXPECT_EQ(bench.States("a"), "1 READY, 2 UNAVAILABLE");
}

TEST(StartTest, WhatWasMeantToBeAModelCountsAndSaysWhatIsMissing) {
  RepositoryBench bench(kPoll);
  bench.PutModel("good", 1, 10);
  bench.directory.Write("named/v1/model.pt2", "1");
  bench.directory.Write("flat/model.pt2", "1");
  bench.directory.Write("hollow/config.pbtxt", "");
  bench.directory.Write("folder/1/model.pt2/readme", "");
  bench.directory.Write("picky/config.pbtxt", "version_policy { specific { versions: 7 } }");
  bench.directory.Write("picky/1/model.pt2", "1");
  std::filesystem::create_directories(bench.directory.path() + "/empty/1");
  std::filesystem::create_directories(bench.directory.path() + "/lost+found");
  std::vector<std::string> failed;
  for (const LoadFailure& failure : bench.Start()) failed.push_back(failure.model);
  EXPECT_THAT(failed, UnorderedElementsAre("named", "flat", "hollow", "folder", "picky", "empty")) << "lost+found is no model";
  EXPECT_FALSE(bench.repository->InitialModelsReady());
  EXPECT_EQ(bench.Ask("good"), 10);
  EXPECT_THAT(bench.Reason("named", ""), HasSubstr("'v1' is skipped: a version directory is a decimal number"));
  EXPECT_THAT(bench.Reason("flat", ""), HasSubstr("'model.pt2' lies beside the version directories"));
  EXPECT_THAT(bench.Reason("hollow", ""), HasSubstr("put a model file at"));
  EXPECT_THAT(bench.Reason("empty", ""), HasSubstr("'1' holds no file"));
  EXPECT_THAT(bench.Reason("picky", ""), HasSubstr("version_policy picks none of the versions on disk, 1"));
  EXPECT_NE(bench.Reason("folder", "1"), "");
}

TEST(StartTest, ExplicitModeLoadsWhatIsNamed) {
  RepositoryBench bench(kExplicit, {"a", "a", "missing"});
  bench.PutModel("a", 1, 10);
  bench.PutModel("b", 1, 20);
  const auto failures = bench.Start();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].model, "missing");
  EXPECT_EQ(bench.Ask("a"), 10);
  EXPECT_EQ(bench.Ask("b"), -1);
  EXPECT_EQ(bench.States("b"), " UNAVAILABLE");
  EXPECT_EQ(bench.Reason("b", ""), "not loaded: nobody has asked for it");
  EXPECT_FALSE(bench.repository->InitialModelsReady());
  bench.PutModel("missing", 1, 1);
  EXPECT_TRUE(bench.Load("missing").ok());
  EXPECT_TRUE(bench.repository->InitialModelsReady());
}

TEST(StartTest, AStarLoadsAll) {
  RepositoryBench bench(kExplicit, {"*"});
  bench.PutModel("a", 1, 10);
  bench.PutModel("b", 1, 20);
  EXPECT_THAT(bench.Start(), IsEmpty());
  EXPECT_EQ(bench.Ask("b"), 20);
}

TEST(PollTest, ANewVersionTakesOverOnceItsFilesAreSettled) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.Start();
  bench.PutModel("a", 2, 20);
  bench.repository->Poll();
  bench.RunAll();
  EXPECT_EQ(bench.Ask("a"), 10) << "seen for the first time: it may be half a copy";
  bench.directory.Write("a/2/model.pt2", "21");  // the copy goes on
  bench.repository->Poll();
  bench.RunAll();
  EXPECT_EQ(bench.Ask("a"), 10);
  bench.repository->Poll();
  bench.RunAll();
  EXPECT_EQ(bench.Ask("a"), 21);
  EXPECT_EQ(bench.States("a"), "1 UNAVAILABLE, 2 READY");
  EXPECT_EQ(bench.Reason("a", "1"), "unloaded");
}

TEST(PollTest, AReplacedFileIsReloadedAlsoWhenItIsOlder) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.Start();
  bench.directory.Write("a/1/model.pt2", "11");
  const std::filesystem::path file = bench.directory.path() + "/a/1/model.pt2";
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) - 24h);
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("a"), 11);
  EXPECT_EQ(bench.States("a"), "1 READY");
  EXPECT_EQ(bench.engine.behaviour().live_sessions, 1) << "the old one has gone";
}

TEST(PollTest, NothingChangedLoadsNothing) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.Start();
  for (int i = 0; i < 3; ++i) bench.PollTwice();
  EXPECT_EQ(bench.engine.loads(), 1);
}

TEST(PollTest, ABrokenVersionLeavesTheOldAndIsTriedAgainWhenItChanges) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.Start();
  bench.PutBroken("a", 2);
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("a"), 10);
  EXPECT_EQ(bench.States("a"), "1 READY, 2 UNAVAILABLE");
  EXPECT_THAT(bench.Reason("a", "2"), HasSubstr("not a model"));
  const int loads = bench.engine.loads();
  bench.PollTwice();
  EXPECT_EQ(bench.engine.loads(), loads) << "the same files fail the same way";
  bench.PutModel("a", 2, 20);
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("a"), 20);
  EXPECT_EQ(bench.States("a"), "1 UNAVAILABLE, 2 READY");
}

TEST(PollTest, ABrokenReplacementOfAServingVersionIsNoted) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.Start();
  bench.PutBroken("a", 1);
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("a"), 10);
  EXPECT_EQ(bench.States("a"), "1 READY");
  EXPECT_THAT(bench.Reason("a", "1"), HasSubstr("the new files were refused"));
}

TEST(PollTest, VersionsAndModelsThatVanishAreUnloaded) {
  RepositoryBench bench(kPoll);
  bench.directory.Write("a/config.pbtxt", "version_policy: { all {} }");
  bench.PutModel("a", 1, 10);
  bench.PutModel("a", 2, 20);
  bench.PutModel("b", 1, 30);
  bench.Start();
  EXPECT_EQ(bench.Ask("a", "1"), 10);
  bench.directory.Remove("a/2");
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("a"), 10);
  EXPECT_EQ(bench.States("a"), "1 READY");
  bench.directory.Remove("a/1");
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("a"), -1);
  bench.directory.Remove("b");
  bench.PollTwice();
  EXPECT_EQ(bench.States("b"), "");
  EXPECT_EQ(bench.repository->Find("b", "").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(bench.engine.behaviour().live_sessions, 0);
}

TEST(PollTest, AnEmptyOrUnreadableRepositoryUnloadsNothing) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.Start();
  std::filesystem::rename(bench.directory.path() + "/a", bench.directory.path() + "/.a");
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("a"), 10) << "empty";
  std::filesystem::rename(bench.directory.path(), bench.directory.path() + ".away");
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("a"), 10) << "not there";
  std::filesystem::rename(bench.directory.path() + ".away", bench.directory.path());
  std::filesystem::rename(bench.directory.path() + "/.a", bench.directory.path() + "/a");
  bench.PollTwice();
  EXPECT_EQ(bench.engine.loads(), 1) << "back, and the same";
}

TEST(PollTest, AChangedConfigurationReloads) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.PutModel("a", 2, 20);
  bench.Start();
  bench.directory.Write("a/config.pbtxt", "max_batch_size: 4 version_policy: { specific { versions: 1 } }");
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("a"), 10);
  EXPECT_EQ((*bench.repository->Find("a", ""))->config().max_batch_size, 4);
  EXPECT_EQ(bench.States("a"), "1 READY, 2 UNAVAILABLE");
}

TEST(PollTest, ABrokenConfigurationLeavesWhatServes) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.Start();
  bench.directory.Write("a/config.pbtxt", "max_batch_size: {");
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("a"), 10);
  EXPECT_THAT(bench.Reason("a", "1"), HasSubstr("config.pbtxt"));
  bench.directory.Remove("a/config.pbtxt");
  bench.PollTwice();
  EXPECT_EQ(bench.Reason("a", "1"), "");
}

TEST(PollTest, AModelInTwoRepositoriesIsUnavailableUntilItIsInOne) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.second_directory.Write("a/1/model.pt2", "20");
  ASSERT_EQ(bench.Start().size(), 1u);
  EXPECT_THAT(bench.Reason("a", ""), HasSubstr("more than one repository"));
  bench.second_directory.Remove("a");
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("a"), 10);
}

TEST(PollTest, OneFailureDoesNotStopTheOthers) {
  RepositoryBench bench(kPoll);
  bench.Start();
  bench.PutBroken("a", 1);
  bench.PutModel("b", 1, 10);
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("b"), 10);
  bench.PutModel("c", 1, 20);
  bench.PollTwice();
  EXPECT_EQ(bench.Ask("c"), 20);
}

TEST(PollTest, ThePollerLooksAtEveryInterval) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.Start();
  bench.PutModel("a", 2, 20);
  {
    PeriodicTask polling([&] { bench.repository->Poll(); }, 100ms, bench.clock, bench.timer, bench.reaper);
    for (int i = 0; i < 2; ++i) {
      bench.clock.Advance(99ms);
      bench.timer.WakeDue(bench.clock.Now());
      EXPECT_EQ(bench.reaper.RunAll(), 0);
      bench.clock.Advance(1ms);
      bench.timer.WakeDue(bench.clock.Now());
      bench.RunAll();
    }
  }
  EXPECT_EQ(bench.Ask("a"), 20);
  EXPECT_EQ(bench.timer.next(), TimePoint::max());
}

TEST(ExplicitTest, LoadReloadUnload) {
  RepositoryBench bench(kExplicit);
  bench.PutModel("a", 1, 10);
  bench.Start();
  EXPECT_EQ(bench.Ask("a"), -1);
  EXPECT_TRUE(bench.Load("a").ok());
  EXPECT_EQ(bench.Ask("a"), 10);
  EXPECT_TRUE(bench.Load("a").ok());
  EXPECT_EQ(bench.engine.loads(), 1) << "nothing has changed";
  bench.PutModel("a", 1, 11);
  EXPECT_TRUE(bench.Load("a").ok());
  EXPECT_EQ(bench.Ask("a"), 11);
  EXPECT_TRUE(bench.Unload("a").ok());
  EXPECT_EQ(bench.Ask("a"), -1);
  EXPECT_EQ(bench.repository->Find("a", "").status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(bench.engine.behaviour().live_sessions, 0);
  EXPECT_TRUE(bench.Load("a").ok());
  EXPECT_EQ(bench.Ask("a"), 11);
}

TEST(ExplicitTest, Refusals) {
  RepositoryBench bench(kExplicit);
  bench.PutBroken("bad", 1);
  bench.directory.Write("hollow/config.pbtxt", "");
  bench.Start();
  EXPECT_EQ(bench.Load("nobody").code(), StatusCode::kNotFound);
  EXPECT_EQ(bench.Load("../etc").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(bench.Load("bad").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(bench.Load("hollow").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(bench.Unload("nobody").code(), StatusCode::kNotFound);
  EXPECT_TRUE(bench.Unload("hollow").ok()) << "known, and not loaded already";
  RepositoryBench polled(kPoll);
  EXPECT_EQ(polled.Load("a").code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(polled.Load("a").message()), HasSubstr("--model-control-mode=explicit"));
  EXPECT_EQ(polled.Unload("a").code(), StatusCode::kUnavailable);
}

TEST(ExplicitTest, AFailedLoadIsTriedAgainWhenAsked) {
  RepositoryBench bench(kExplicit);
  bench.PutModel("a", 1, 10);
  bench.Start();
  bench.engine.FailLoad(1, ResourceExhausted("out of memory"));
  EXPECT_EQ(bench.Load("a").code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(bench.Load("a").ok());
  EXPECT_EQ(bench.Ask("a"), 10);
}

TEST(ExplicitTest, AModelThatDoesNotFitIsRefusedAndTheOthersServe) {
  RepositoryBench bench(kExplicit);
  bench.PutModel("a", 1, 10);
  bench.PutModel("b", 1, 20);
  bench.Start();
  ASSERT_TRUE(bench.Load("a").ok());
  bench.engine.on_load = [](const std::string&) { throw std::bad_alloc(); };
  const Status status = bench.Load("b");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("model 'b' version 1: no memory to load it"));
  EXPECT_EQ(bench.Ask("a"), 10);
}

TEST(ExplicitTest, MemoryOfAVersionIsWeightsOnceAndActivations) {
  RepositoryBench bench(kExplicit);
  bench.PutModel("a", 1, 10);
  bench.Start();
  ASSERT_TRUE(bench.Load("a").ok());
  // 1000 of the model, and one float each of input and output.
  EXPECT_THAT(bench.registry.Export(), HasSubstr("tondar_model_memory_bytes{model=\"a\",version=\"1\"} 1008\n"));
}

TEST(ExplicitTest, AConfigurationSentAlongStaysUntilTheModelIsUnloaded) {
  RepositoryBench bench(kExplicit);
  bench.PutModel("a", 1, 10);
  bench.Start();
  auto config = ParseModelConfigJson(R"({"max_batch_size": 2})", "the request");
  ASSERT_TRUE(config.ok());
  ASSERT_TRUE(bench.Load("a", ConfigOverride{*config, 77}).ok());
  auto max_batch = [&] { return (*bench.repository->Find("a", ""))->config().max_batch_size; };
  EXPECT_EQ(max_batch(), 2);
  bench.PutModel("a", 1, 11);
  ASSERT_TRUE(bench.Load("a").ok());
  EXPECT_EQ(bench.Ask("a"), 11);
  EXPECT_EQ(max_batch(), 2);
  ASSERT_TRUE(bench.Unload("a").ok());
  ASSERT_TRUE(bench.Load("a").ok());
  EXPECT_EQ(max_batch(), 64);
}

TEST(ExplicitTest, OperationsOnOneModelHappenInOrder) {
  RepositoryBench bench(kExplicit);
  bench.PutModel("a", 1, 10);
  bench.Start();
  std::string order;
  auto done = [&](const char* what) { return [&order, what](Status status) { order += status.ok() ? what : "!"; }; };
  bench.repository->Load("a", std::nullopt, done("L"));
  bench.repository->Unload("a", done("u"));
  bench.repository->Load("a", std::nullopt, done("l"));
  bench.repository->Load("a", std::nullopt, done("k"));
  bench.RunAll();
  EXPECT_EQ(order.find('!'), std::string::npos);
  EXPECT_EQ(order.size(), 4u);
  EXPECT_EQ(bench.Ask("a"), 10) << "the last one wins";
}

TEST(RetireTest, RequestsInFlightFinishOnTheOldVersionAndUnloadWaitsForThem) {
  RepositoryBench bench(kExplicit);
  bench.PutModel("a", 1, 10);
  bench.Start();
  ASSERT_TRUE(bench.Load("a").ok());
  float answer = 0;
  auto request = MakeAddRequest("a", 1);
  request->protocol = Protocol::kHttp;
  request->on_complete = [&](std::unique_ptr<Request>, Response response) {
    ASSERT_TRUE(response.status.ok());
    answer = *reinterpret_cast<const float*>(response.outputs[0].bytes.data());
  };
  Result<ModelHandle> handle = bench.repository->Find("a", "");
  bench.engine.behaviour().on_run = [&, first = true](const Binding&) mutable -> Status {
    if (!std::exchange(first, false)) return OkStatus();
    // The request runs; meanwhile the file is replaced and reloaded, then the model is unloaded.
    bench.PutModel("a", 1, 20);
    bool reloaded = false, unloaded = false;
    bench.repository->Load("a", std::nullopt, [&](Status status) { reloaded = status.ok(); });
    bench.load_executor.RunAll();
    EXPECT_TRUE(reloaded);
    EXPECT_EQ(bench.engine.behaviour().live_sessions, 2) << "old and new side by side";
    bench.repository->Unload("a", [&unloaded](Status) { unloaded = true; });
    bench.load_executor.RunAll();
    bench.reaper.RunAll();
    EXPECT_FALSE(unloaded) << "a request is still being answered";
    EXPECT_EQ(bench.States("a"), "1 UNLOADING");
    bench.repository->Unload("a", [](Status) {});
    return OkStatus();
  };
  BatchScheduler& scheduler = (*handle)->scheduler();
  scheduler.Submit(std::move(request), std::move(*handle));
  bench.RunAll();
  EXPECT_EQ(answer, 11) << "answered by the version that took it";
  EXPECT_EQ(bench.States("a"), "1 UNAVAILABLE");
  EXPECT_EQ(bench.engine.behaviour().live_sessions, 0);
}

// Fails the n-th load, n = 1, 2, ... until a whole story goes without failure; whatever fails, what served serves on.
TEST(FaultTest, AnyLoadMayFail) {
  for (int nth = 1;; ++nth) {
    RepositoryBench bench(kPoll);
    bench.PutModel("a", 1, 10);
    bench.PutModel("b", 1, 50);
    bench.engine.FailLoad(nth, Internal("injected"));
    bench.Start();
    bench.PutModel("a", 2, 20);
    float served = bench.Ask("a");
    bench.PollTwice();
    EXPECT_TRUE(bench.Ask("a") == 20 || bench.Ask("a") == served || served == -1);
    served = bench.Ask("a");
    bench.PutModel("a", 3, 30);
    bench.PollTwice();
    if (served != -1) {
      EXPECT_NE(bench.Ask("a"), -1) << "load " << nth;
    }
    EXPECT_THAT(bench.registry.Export(), HasSubstr("tondar_bug_total 0\n"));
    if (bench.engine.loads() < nth) break;
    EXPECT_THAT(bench.registry.Export(), HasSubstr("result=\"failure\"} 1\n")) << "load " << nth;
  }
}

TEST(FaultTest, AFailingWarmUpKeepsTheVersionOut) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.Start();
  bench.engine.behaviour().on_run = [](const Binding&) { return Internal("the device is lost"); };
  bench.PutModel("a", 2, 20);
  bench.PollTwice();
  EXPECT_EQ(bench.States("a"), "1 READY, 2 UNAVAILABLE");
  EXPECT_THAT(bench.Reason("a", "2"), HasSubstr("warm-up: the device is lost"));
}

TEST(FaultTest, AModelThatRefusesZerosIsServedAllTheSame) {
  RepositoryBench bench(kPoll);
  bench.PutModel("a", 1, 10);
  bench.engine.behaviour().on_run = [](const Binding&) { return InvalidArgument("zeros are not positive definite"); };
  EXPECT_THAT(bench.Start(), IsEmpty());
  EXPECT_EQ(bench.States("a"), "1 READY");
}

TEST(MetricsTest, SeriesComeWithAVersionAndGoWithIt) {
  RepositoryBench bench(kExplicit);
  bench.PutModel("a", 1, 10);
  bench.Start();
  ASSERT_TRUE(bench.Load("a").ok());
  EXPECT_THAT(bench.registry.Export(), HasSubstr("nv_inference_request_success{model=\"a\",version=\"1\"} 0\n"));
  EXPECT_THAT(bench.registry.Export(), HasSubstr("nv_model_load_duration_secs{model=\"a\",version=\"1\"}"));
  bench.Ask("a");
  ASSERT_TRUE(bench.Unload("a").ok());
  EXPECT_THAT(bench.registry.Export(), Not(HasSubstr("model=\"a\",version=\"1\"")));
  EXPECT_THAT(bench.registry.Export(), HasSubstr("tondar_model_load_total{model=\"a\",result=\"success\"} 1\n"));
}

}  // namespace
}  // namespace tondar
