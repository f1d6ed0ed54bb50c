#include "server/repository/model_lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tondar {
namespace {

using ::testing::HasSubstr;

TEST(ModelLifecycleTest, LegalMovesAreThese) {
  std::string legal;
  for (size_t from = 0; from < kVersionStates; ++from) {
    for (size_t to = 0; to < kVersionStates; ++to) {
      if (IsLegalMove(static_cast<VersionState>(from), static_cast<VersionState>(to))) {
        legal += fmt::format("{}-{} ", Name(static_cast<VersionState>(from)), Name(static_cast<VersionState>(to)));
      }
    }
  }
  EXPECT_EQ(legal,
            "UNKNOWN-LOADING LOADING-READY LOADING-UNAVAILABLE READY-UNLOADING UNLOADING-LOADING "
            "UNLOADING-UNAVAILABLE UNAVAILABLE-LOADING ");
}

TEST(ModelLifecycleTest, CountsVersionsByState) {
  MetricRegistry registry;
  ModelLifecycle lifecycle(registry, "m");
  lifecycle.Move(1, VersionState::kLoading);
  lifecycle.Move(1, VersionState::kReady);
  lifecycle.Move(2, VersionState::kLoading);
  EXPECT_THAT(registry.Export(), HasSubstr("tondar_model_versions{model=\"m\",state=\"READY\"} 1\n"));
  EXPECT_THAT(registry.Export(), HasSubstr("tondar_model_versions{model=\"m\",state=\"LOADING\"} 1\n"));
  lifecycle.Move(2, VersionState::kUnavailable, "broken");
  EXPECT_EQ(lifecycle.versions().at(2).reason, "broken");
  lifecycle.Forget(2);
  EXPECT_THAT(registry.Export(), HasSubstr("tondar_model_versions{model=\"m\",state=\"UNAVAILABLE\"} 0\n"));
}

TEST(ModelLifecycleTest, AnIllegalMoveIsABugAndNotMade) {
  MetricRegistry registry;
  ModelLifecycle lifecycle(registry, "m");
  lifecycle.Move(1, VersionState::kReady);
  EXPECT_EQ(lifecycle.state(1), VersionState::kUnknown);
  EXPECT_THAT(registry.Export(), HasSubstr("tondar_bug_total 1\n"));
}

}  // namespace
}  // namespace tondar
