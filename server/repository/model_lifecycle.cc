#include "server/repository/model_lifecycle.h"

#include <utility>

namespace tondar {
namespace {

constexpr std::pair<VersionState, VersionState> kLegalMoves[] = {
    {VersionState::kUnknown, VersionState::kLoading},     {VersionState::kLoading, VersionState::kReady},
    {VersionState::kLoading, VersionState::kUnavailable}, {VersionState::kReady, VersionState::kUnloading},
    {VersionState::kUnloading, VersionState::kUnavailable}, {VersionState::kUnloading, VersionState::kLoading},
    {VersionState::kUnavailable, VersionState::kLoading},
};

}  // namespace

std::string_view Name(VersionState state) {
  static constexpr std::string_view kNames[kVersionStates] = {"UNKNOWN", "LOADING", "READY", "UNLOADING", "UNAVAILABLE"};
  return kNames[static_cast<size_t>(state)];
}

bool IsLegalMove(VersionState from, VersionState to) {
  for (const auto& [a, b] : kLegalMoves) {
    if (a == from && b == to) return true;
  }
  return false;
}

ModelLifecycle::ModelLifecycle(MetricRegistry& registry, std::string_view model) : registry_(registry), model_(model) {
  for (VersionState state : {VersionState::kLoading, VersionState::kReady, VersionState::kUnloading,
                             VersionState::kUnavailable}) {
    gauges_[static_cast<size_t>(state)] = registry.GetGauge("tondar_model_versions", {model, Name(state)});
  }
}

ModelLifecycle::~ModelLifecycle() {
  for (const auto& [version, status] : versions_) Count(status.state, -1);
}

void ModelLifecycle::Count(VersionState state, int64_t change) {
  if (const auto& gauge = gauges_[static_cast<size_t>(state)]) gauge->Add(change);
}

void ModelLifecycle::Move(int64_t version, VersionState to, std::string reason) {
  VersionStatus& status = versions_[version];
  if (!IsLegalMove(status.state, to)) {
    registry_.ReportBug(fmt::format("model '{}' version {}: no way from {} to {}", model_, version, Name(status.state),
                                    Name(to)));
    return;
  }
  Count(status.state, -1);
  Count(to, 1);
  status = {to, std::move(reason)};
}

void ModelLifecycle::Note(int64_t version, std::string reason) {
  if (const auto entry = versions_.find(version); entry != versions_.end()) entry->second.reason = std::move(reason);
}

void ModelLifecycle::Forget(int64_t version) {
  const auto entry = versions_.find(version);
  if (entry == versions_.end()) return;
  Count(entry->second.state, -1);
  versions_.erase(entry);
}

VersionState ModelLifecycle::state(int64_t version) const {
  const auto entry = versions_.find(version);
  return entry == versions_.end() ? VersionState::kUnknown : entry->second.state;
}

}  // namespace tondar
