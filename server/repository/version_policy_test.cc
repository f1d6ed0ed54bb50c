#include "server/repository/version_policy.h"

#include <gtest/gtest.h>

namespace tondar {
namespace {

using Versions = std::vector<int64_t>;

VersionPolicy Latest(uint32_t n) { return {.kind = VersionPolicy::Kind::kLatest, .latest = n, .versions = {}}; }
VersionPolicy All() { return {.kind = VersionPolicy::Kind::kAll, .latest = 1, .versions = {}}; }
VersionPolicy Specific(Versions versions) {
  return {.kind = VersionPolicy::Kind::kSpecific, .latest = 1, .versions = std::move(versions)};
}

TEST(SelectVersionsTest, Table) {
  EXPECT_EQ(SelectVersions(Latest(1), Versions{1, 2, 10}), (Versions{10}));
  EXPECT_EQ(SelectVersions(Latest(2), Versions{1, 2, 10}), (Versions{2, 10}));
  EXPECT_EQ(SelectVersions(Latest(5), Versions{1, 2}), (Versions{1, 2}));
  EXPECT_EQ(SelectVersions(All(), Versions{1, 2}), (Versions{1, 2}));
  EXPECT_EQ(SelectVersions(Specific({2, 7}), Versions{1, 2}), (Versions{2}));
  EXPECT_EQ(SelectVersions(Latest(1), Versions{}), (Versions{}));
}

// A version in a word: n = new and settled, w = still being written, f = failed, r = ready and current, s = ready with
// stale files, b = ready with stale files and the new ones failed, g = ready but gone from disk.
VersionView View(int64_t version, char kind) {
  VersionView view{.version = version};
  view.on_disk = kind != 'g';
  view.settled = kind != 'w';
  view.failed = kind == 'f' || kind == 'b';
  view.ready = kind == 'r' || kind == 's' || kind == 'b' || kind == 'g';
  view.current = kind == 'r';
  return view;
}

struct Case {
  const char* name;
  VersionPolicy policy;
  const char* versions;  // one letter per version from 1 on; '-' = there is none
  Versions load, unload;
};

class PlanTransitionTest : public ::testing::TestWithParam<Case> {};

TEST_P(PlanTransitionTest, Plans) {
  std::vector<VersionView> views;
  for (int64_t i = 0; GetParam().versions[i] != '\0'; ++i) {
    if (GetParam().versions[i] != '-') views.push_back(View(i + 1, GetParam().versions[i]));
  }
  const TransitionPlan plan = PlanTransition(GetParam().policy, views);
  EXPECT_EQ(plan.load, GetParam().load);
  EXPECT_EQ(plan.unload, GetParam().unload);
}

INSTANTIATE_TEST_SUITE_P(
    Table, PlanTransitionTest,
    ::testing::Values(Case{"first load", Latest(1), "nn", {2}, {}},
                      Case{"nothing to do", Latest(1), "-r", {}, {}},
                      Case{"a new version comes before the old one goes", Latest(1), "rn", {2}, {}},
                      Case{"the old one goes after", Latest(1), "rr", {}, {1}},
                      Case{"half a copy is waited for", Latest(1), "rw", {}, {}},
                      Case{"even by a newcomer", Latest(1), "nw", {}, {}},
                      Case{"a failed version leaves the old", Latest(1), "rf", {}, {}},
                      Case{"a restart falls back", Latest(1), "nf", {1}, {}},
                      Case{"after the fall back others may go", Latest(1), "rrf", {}, {1}},
                      Case{"changed files are loaded anew", Latest(1), "s", {1}, {}},
                      Case{"changed files that fail change nothing", Latest(1), "b", {}, {}},
                      Case{"nor call the one before back", Latest(1), "nb", {}, {}},
                      Case{"a vanished version goes", All(), "rg", {}, {2}},
                      Case{"the last one too", Latest(1), "g", {}, {1}},
                      Case{"not while its successor is copied", Latest(1), "gw", {}, {}},
                      Case{"not because its successor fails", Latest(1), "gf", {}, {}},
                      Case{"back to the one before", Latest(1), "ng", {1}, {}},
                      Case{"then the vanished one goes", Latest(1), "rg", {}, {2}},
                      Case{"all, newest first", All(), "nnn", {3, 2, 1}, {}},
                      Case{"all, one broken", All(), "rfr", {}, {}},
                      Case{"two latest", Latest(2), "rrn", {3}, {}},
                      Case{"two latest, then", Latest(2), "rrr", {}, {1}},
                      Case{"specific", Specific({1}), "nn", {1}, {}},
                      Case{"specific goes back", Specific({1}), "nr", {1}, {}},
                      Case{"specific gone back", Specific({1}), "rr", {}, {2}},
                      Case{"specific that fails leaves others", Specific({1}), "fr", {}, {}},
                      Case{"specific that is not there", Specific({9}), "r", {}, {1}}),
    [](const auto& info) {
      std::string name = info.param.name;
      for (char& c : name) c = isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

// Whatever the snapshot: something that serves is never given up for nothing, and plans name each version once.
TEST(PlanTransitionTest, NeverUnloadsTheLastServingVersionWhileOneIsOnDisk) {
  const std::string kinds = "-nwfrsbg";
  for (int code = 0; code < 8 * 8 * 8; ++code) {
    std::vector<VersionView> views;
    for (int i = 0, rest = code; i < 3; ++i, rest /= 8) {
      if (kinds[static_cast<size_t>(rest % 8)] != '-') views.push_back(View(i + 1, kinds[static_cast<size_t>(rest % 8)]));
    }
    for (const VersionPolicy& policy : {Latest(1), Latest(2), All()}) {
      const TransitionPlan plan = PlanTransition(policy, views);
      size_t serving = 0, on_disk = 0;
      for (const VersionView& view : views) {
        serving += view.ready;
        on_disk += view.on_disk;
      }
      if (on_disk > 0 && serving > 0) {
        EXPECT_LT(plan.unload.size(), serving) << code;
      }
    }
  }
}

}  // namespace
}  // namespace tondar
