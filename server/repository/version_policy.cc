#include "server/repository/version_policy.h"

#include <algorithm>

namespace tondar {
namespace {

bool Contains(const std::vector<int64_t>& versions, int64_t version) {
  return std::binary_search(versions.begin(), versions.end(), version);
}

}  // namespace

std::vector<int64_t> SelectVersions(const VersionPolicy& policy, std::span<const int64_t> available) {
  std::vector<int64_t> selected(available.begin(), available.end());
  switch (policy.kind) {
    case VersionPolicy::Kind::kAll: break;
    case VersionPolicy::Kind::kLatest:
      if (selected.size() > policy.latest) {
        selected.erase(selected.begin(), selected.end() - static_cast<std::ptrdiff_t>(policy.latest));
      }
      break;
    case VersionPolicy::Kind::kSpecific:
      std::erase_if(selected, [&](int64_t version) {
        return std::find(policy.versions.begin(), policy.versions.end(), version) == policy.versions.end();
      });
      break;
  }
  return selected;
}

TransitionPlan PlanTransition(const VersionPolicy& policy, std::span<const VersionView> versions) {
  std::vector<int64_t> on_disk, usable;
  for (const VersionView& view : versions) {
    if (!view.on_disk) continue;
    on_disk.push_back(view.version);
    if (!view.failed || view.ready) usable.push_back(view.version);
  }
  const std::vector<int64_t> wanted = SelectVersions(policy, usable);
  // Nothing usable is wanted: unload only if nothing at all is wanted, not if all that is wanted has failed.
  bool complete = !wanted.empty() || SelectVersions(policy, on_disk).empty();
  TransitionPlan plan;
  for (const VersionView& view : versions) {
    if (!Contains(wanted, view.version)) continue;
    complete &= view.ready;
    if (!view.current && view.settled && !view.failed) plan.load.insert(plan.load.begin(), view.version);
  }
  for (const VersionView& view : versions) {
    if (complete && view.ready && !Contains(wanted, view.version)) plan.unload.push_back(view.version);
  }
  return plan;
}

}  // namespace tondar
