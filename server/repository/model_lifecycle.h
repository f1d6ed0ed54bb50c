// ModelLifecycle: the states of a model's versions. The only place where a state changes.
#ifndef TONDAR_SERVER_REPOSITORY_MODEL_LIFECYCLE_H_
#define TONDAR_SERVER_REPOSITORY_MODEL_LIFECYCLE_H_

#include <array>
#include <map>
#include <memory>
#include <string>

#include "server/metrics/registry.h"

namespace tondar {

//   UNKNOWN ──▶ LOADING ──▶ READY ──▶ UNLOADING ──▶ UNAVAILABLE
//                  │  ▲                   │              │
//                  │  └───────────────────┴──────────────┘  wanted again
//                  └──▶ UNAVAILABLE (with the reason)
// READY begins after requests can reach the version and UNLOADING before they no longer can. While a ready version is
// replaced by new files it stays READY; if they are broken, the reason says so.
enum class VersionState : uint8_t { kUnknown, kLoading, kReady, kUnloading, kUnavailable };
inline constexpr size_t kVersionStates = 5;
std::string_view Name(VersionState state);  // "READY"

bool IsLegalMove(VersionState from, VersionState to);

struct VersionStatus {
  VersionState state = VersionState::kUnknown;
  std::string reason;
};

// Keeps the gauge tondar_model_versions. Thread-compatible; the repository's lock guards it.
class ModelLifecycle {
 public:
  // `registry` outlives this.
  ModelLifecycle(MetricRegistry& registry, std::string_view model);
  ~ModelLifecycle();
  ModelLifecycle(const ModelLifecycle&) = delete;
  ModelLifecycle& operator=(const ModelLifecycle&) = delete;

  // An illegal move is reported as a bug and not made.
  void Move(int64_t version, VersionState to, std::string reason = "");
  // Says something about a version without changing its state: why its new files are not served.
  void Note(int64_t version, std::string reason);
  // Drops what is known of a version that is neither loaded nor on disk any more.
  void Forget(int64_t version);

  VersionState state(int64_t version) const;
  const std::map<int64_t, VersionStatus>& versions() const { return versions_; }

 private:
  void Count(VersionState state, int64_t change);

  MetricRegistry& registry_;
  const std::string model_;
  std::map<int64_t, VersionStatus> versions_;
  std::array<std::shared_ptr<Gauge>, kVersionStates> gauges_;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_REPOSITORY_MODEL_LIFECYCLE_H_
