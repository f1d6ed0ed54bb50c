#include "server/repository/model_entry.h"

#include <fmt/format.h>

#include <algorithm>

namespace tondar {
namespace {

// A load request answers what the client can mend as its own fault; only the machine's troubles stay as they are.
Status AsLoadError(const Status& status) {
  switch (status.code()) {
    case StatusCode::kResourceExhausted:
    case StatusCode::kUnavailable:
    case StatusCode::kInternal: return status;
    default: return Status(StatusCode::kInvalidArgument, std::string(status.message()));
  }
}

}  // namespace

ModelEntry::ModelEntry(MetricRegistry& registry, std::string name)
    : name_(std::move(name)),
      lifecycle_(registry, name_),
      load_successes_(registry.GetCounter("tondar_model_load_total", {name_, "success"})),
      load_failures_(registry.GetCounter("tondar_model_load_total", {name_, "failure"})) {}

void ModelEntry::See(const FoundModel& found, bool trusted) {
  config_settled_ = trusted || (on_disk_ && found.config == found_.config);
  found_ = found;
  on_disk_ = true;
  std::map<int64_t, Seen> seen;
  for (const FoundVersion& version : found.versions) {
    const auto before = seen_.find(version.version);
    const bool same = before != seen_.end() && before->second.fingerprint == version.fingerprint;
    seen[version.version] = {version.fingerprint, trusted || same};
  }
  seen_ = std::move(seen);
  ForgetTheGone();
}

void ModelEntry::SeeNothing() {
  on_disk_ = false;
  found_.versions.clear();
  seen_.clear();
  ForgetTheGone();
}

// Drops versions that are neither on disk nor loaded nor on their way out.
void ModelEntry::ForgetTheGone() {
  std::erase_if(failed_, [&](const auto& failure) { return !seen_.contains(failure.first); });
  std::vector<int64_t> gone;
  for (const auto& [version, status] : lifecycle_.versions()) {
    if (status.state == VersionState::kUnavailable && !seen_.contains(version)) gone.push_back(version);
  }
  for (int64_t version : gone) lifecycle_.Forget(version);
}

Fingerprint ModelEntry::CurrentFingerprint(int64_t version) const {
  const auto seen = seen_.find(version);
  return seen == seen_.end() ? 0 : Combine(seen->second.fingerprint, ConfigFingerprint());
}

void ModelEntry::TakeConfig(Result<ModelConfigSource> source, Fingerprint from) {
  config_read_ = true;
  config_read_from_ = from;
  config_status_ = source.status();
  if (!source.ok()) return;
  Result<VersionPolicy> policy = GetVersionPolicy(*source);
  config_status_ = policy.status();
  if (!policy.ok()) return;
  config_ = *std::move(source);
  policy_ = *std::move(policy);
}

std::vector<VersionView> ModelEntry::Views() const {
  std::map<int64_t, VersionView> views;
  for (const auto& [version, seen] : seen_) {
    VersionView& view = views[version];
    view.on_disk = true;
    view.settled = seen.settled && config_settled_;
    const auto failure = failed_.find(version);
    view.failed = failure != failed_.end() && failure->second.fingerprint == CurrentFingerprint(version);
  }
  for (const auto& [version, served] : served_) {
    VersionView& view = views[version];
    view.ready = true;
    view.current = view.on_disk && served.fingerprint == CurrentFingerprint(version);
  }
  std::vector<VersionView> ascending;
  for (auto& [version, view] : views) {
    view.version = version;
    ascending.push_back(view);
  }
  return ascending;
}

TransitionPlan ModelEntry::Plan() const {
  TransitionPlan plan;
  if (!wanted_) {
    for (const auto& [version, served] : served_) plan.unload.push_back(version);
    return plan;
  }
  if (!problem().empty()) return plan;  // whatever serves goes on serving
  return PlanTransition(policy_, Views());
}

bool ModelEntry::NeedsWork() const {
  if (wanted_ && on_disk_ && config_settled_ && ConfigIsStale() && (!seen_.empty() || !served_.empty())) return true;
  const TransitionPlan plan = Plan();
  return !plan.load.empty() || !plan.unload.empty();
}

std::string ModelEntry::problem() const {
  if (on_disk_ && !found_.conflict.empty()) return found_.conflict;
  if (!config_status_.ok()) return fmt::format("model '{}': {}", name_, config_status_.message());
  return "";
}

std::vector<int64_t> ModelEntry::OnDisk() const {
  std::vector<int64_t> versions;
  for (const auto& [version, seen] : seen_) versions.push_back(version);
  return versions;
}

Status ModelEntry::Shortfall() const {
  if (!on_disk_) return OkStatus();  // gone from disk, so nothing is wanted
  if (const std::string why = problem(); !why.empty()) {
    return Status(found_.conflict.empty() ? StatusCode::kInvalidArgument : StatusCode::kUnavailable, why);
  }
  const std::vector<int64_t> on_disk = OnDisk();
  if (on_disk.empty()) {
    return InvalidArgument("model '{}': no version in {}{}{}; put a model file at {}/1/model.pt2 or model.onnx", name_,
                           found_.directory, found_.skipped.empty() ? "" : ": ", fmt::join(found_.skipped, ", "),
                           found_.directory);
  }
  const std::vector<int64_t> wanted = SelectVersions(policy_, on_disk);
  if (wanted.empty()) {
    return InvalidArgument("model '{}': version_policy picks none of the versions on disk, {}", name_,
                           fmt::join(on_disk, ", "));
  }
  for (int64_t version : wanted) {
    const auto failure = failed_.find(version);
    if (failure != failed_.end() && failure->second.fingerprint == CurrentFingerprint(version)) {
      return AsLoadError(failure->second.status);
    }
  }
  return OkStatus();
}

std::string ModelEntry::WhyNothingServes() const {
  if (!wanted_) return "not loaded: nobody has asked for it";
  const Status shortfall = Shortfall();
  return shortfall.ok() ? "waits to be loaded" : std::string(shortfall.message());
}

void ModelEntry::RecordFailure(int64_t version, Fingerprint fingerprint, Status status) {
  load_failures_->Add();
  const std::string reason(status.message());
  failed_.insert_or_assign(version, Failure{fingerprint, std::move(status)});
  if (lifecycle_.state(version) == VersionState::kLoading) {
    lifecycle_.Move(version, VersionState::kUnavailable, reason);
  } else {
    lifecycle_.Note(version, "serves what it was loaded from; the new files were refused: " + reason);
  }
}

void ModelEntry::RecordSuccess(int64_t version) {
  load_successes_->Add();
  failed_.erase(version);
}

bool ModelEntry::RetiredGone(int64_t version) {
  if (--retired_[version] == 0) {
    retired_.erase(version);
    if (lifecycle_.state(version) == VersionState::kUnloading) {
      lifecycle_.Move(version, VersionState::kUnavailable, "unloaded");
    }
    ForgetTheGone();
  }
  return retired_.empty();
}

}  // namespace tondar
