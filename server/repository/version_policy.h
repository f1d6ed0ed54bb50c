// Which versions to serve and what to do about it: pure functions of a snapshot, one table of tests each.
#ifndef TONDAR_SERVER_REPOSITORY_VERSION_POLICY_H_
#define TONDAR_SERVER_REPOSITORY_VERSION_POLICY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "server/config/model_config.h"

namespace tondar {

// The versions that `policy` picks from `available` (ascending), ascending.
std::vector<int64_t> SelectVersions(const VersionPolicy& policy, std::span<const int64_t> available);

// One version of a model, as far as the next step depends on it.
struct VersionView {
  int64_t version = 0;
  bool on_disk = false;
  bool settled = false;  // its files have stopped changing
  bool failed = false;   // these very files could not be loaded
  bool ready = false;    // requests are served, maybe by what the files were before
  bool current = false;  // ready, with the files and the configuration as they are on disk
};

struct TransitionPlan {
  std::vector<int64_t> load;    // newest first, so that the version which answers by default comes first
  std::vector<int64_t> unload;  // ascending
};

// What to load and unload next. `versions` is ascending. Keeps these promises:
//  - A new version is ready before an old one goes: nothing is unloaded while a wanted version is still to come.
//  - A version that cannot be loaded does not count; the policy picks among the others. So the old version goes on
//    serving, and a restarted server falls back to it.
//  - Files that are still being written are waited for, not loaded; meanwhile nothing is unloaded.
//  - Versions whose files have gone are unloaded like those that the policy no longer picks; never because the version
//    that was to replace them fails.
TransitionPlan PlanTransition(const VersionPolicy& policy, std::span<const VersionView> versions);

}  // namespace tondar

#endif  // TONDAR_SERVER_REPOSITORY_VERSION_POLICY_H_
