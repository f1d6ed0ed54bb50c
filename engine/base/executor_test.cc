#include "engine/base/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

namespace tondar {
namespace {

using namespace std::chrono_literals;

TEST(ThreadPoolTest, OneThreadRunsTasksInOrderAndTheEndWaitsForAll) {
  std::vector<int> ran;
  {
    ThreadPool pool(1, "test");
    for (int i = 0; i < 100; ++i) pool.Post([&ran, i] { ran.push_back(i); });
  }
  ASSERT_EQ(ran.size(), 100u);
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
}

TEST(ThreadPoolTest, TasksPostedByTasksRunToo) {
  std::atomic<int> left{50};
  {
    ThreadPool pool(3, "test");
    std::function<void()> task = [&] {
      if (--left > 0) pool.Post(task);
    };
    pool.Post(task);
    while (left > 0) std::this_thread::yield();
  }
  EXPECT_EQ(left, 0);
}

TEST(ManualExecutorTest, RunsWhenToldAndWhatTasksPost) {
  ManualExecutor executor;
  int ran = 0;
  executor.Post([&] {
    ++ran;
    executor.Post([&] { ++ran; });
  });
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(executor.RunOne());
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(executor.RunAll(), 1);
  EXPECT_EQ(ran, 2);
  EXPECT_FALSE(executor.RunOne());
}

// Which members ran how often, written without synchronisation of its own: Run's return must make it visible.
struct Tally {
  explicit Tally(int members) : runs(static_cast<size_t>(members), 0) {}
  static void Count(void* context, int member, int members) {
    auto& tally = *static_cast<Tally*>(context);
    if (members == static_cast<int>(tally.runs.size())) ++tally.runs[static_cast<size_t>(member)];
  }
  std::vector<int> runs;
};

TEST(ThreadTeamTest, EveryMemberRunsOncePerRun) {
  for (int members : {1, 2, 5}) {
    ThreadTeam team(members);
    EXPECT_EQ(team.members(), members);
    Tally tally(members);
    for (int i = 0; i < 200; ++i) team.Run(Tally::Count, &tally);
    EXPECT_EQ(tally.runs, std::vector<int>(static_cast<size_t>(members), 200));
  }
}

TEST(ThreadTeamTest, WakesMembersThatHaveParked) {
  ThreadTeam team(4);
  Tally tally(4);
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(20ms);  // real time: how long members spin is what is tested
    team.Run(Tally::Count, &tally);
  }
  EXPECT_EQ(tally.runs, std::vector<int>(4, 5));
}

TEST(ThreadTeamTest, LessThanOneMemberIsTheCallerAlone) {
  ThreadTeam team(0);
  Tally tally(1);
  team.Run(Tally::Count, &tally);
  EXPECT_EQ(tally.runs, std::vector<int>{1});
}

}  // namespace
}  // namespace tondar
