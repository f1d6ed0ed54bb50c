#include "server/repository/model_repository.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/log.h"
#include "engine/base/platform.h"

namespace tondar {
namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Collects the outcomes of the loads at start; the last one reports. shared by their operations.
struct InitialLoads {
  explicit InitialLoads(size_t count) : left(count) {}
  Mutex mu;
  size_t left TONDAR_GUARDED_BY(mu);
  std::vector<LoadFailure> failures TONDAR_GUARDED_BY(mu);
};

}  // namespace

ModelRepository::ModelRepository(RepositoryOptions options, RepositoryDependencies dependencies)
    : options_(std::move(options)), dependencies_(dependencies), source_(options_.roots) {}

ModelRepository::~ModelRepository() { Shutdown(); }

// ---- for requests

Result<ModelHandle> ModelRepository::Find(std::string_view name, std::string_view version) const {
  if (ModelHandle handle = routes_.Find(name, version)) return handle;
  return WhyNotReady(name, version);
}

Result<std::vector<ModelHandle>> ModelRepository::FindAll(std::string_view name) const {
  if (!name.empty()) {
    std::vector<ModelHandle> versions = routes_.FindAll(name);
    if (versions.empty()) return WhyNotReady(name, "");
    return versions;
  }
  const std::shared_ptr<const Routes> routes = routes_.Snapshot();
  std::vector<ModelHandle> versions;
  for (const auto& [model, handles] : *routes) versions.insert(versions.end(), handles.begin(), handles.end());
  std::sort(versions.begin(), versions.end(), [](const ModelHandle& a, const ModelHandle& b) {
    return std::pair(std::string_view(a->name()), a->version()) < std::pair(std::string_view(b->name()), b->version());
  });
  return versions;
}

Status ModelRepository::WhyNotReady(std::string_view name, std::string_view version) const {
  if (!version.empty() && !IsNumber(version)) {
    return InvalidArgument("version '{}' of model '{}' is not a number; send a decimal number, or none for the highest",
                           version, name);
  }
  MutexLock lock(mu_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return NotFound("model '{}' is not known; the repository index lists the models", name);
  }
  const ModelEntry& entry = *found->second;
  if (!entry.on_disk() && entry.lifecycle().versions().empty()) {
    return NotFound("model '{}' is no longer in the model repository", name);
  }
  const auto& versions = entry.lifecycle().versions();
  for (auto status = versions.rbegin(); status != versions.rend(); ++status) {
    if (!version.empty() && std::to_string(status->first) != version) continue;
    return Unavailable("model '{}' version {} is not ready: {}{}{}; retry when it is", name, status->first,
                       Name(status->second.state), status->second.reason.empty() ? "" : ": ", status->second.reason);
  }
  const bool version_on_disk =
      std::any_of(entry.found().versions.begin(), entry.found().versions.end(),
                  [&](const FoundVersion& v) { return std::to_string(v.version) == version; });
  if (!version.empty() && !version_on_disk) return NotFound("model '{}' has no version {}", name, version);
  if (!version.empty() && !entry.served().empty()) {
    return Unavailable("model '{}' version {} is not loaded: the model's version_policy picks other versions", name,
                       version);
  }
  return Unavailable("model '{}' is not ready: {}; retry when it is", name, entry.WhyNothingServes());
}

std::vector<IndexEntry> ModelRepository::Index() const {
  MutexLock lock(mu_);
  std::vector<IndexEntry> index;
  for (const auto& [name, entry] : entries_) {
    const auto& versions = entry->lifecycle().versions();
    const std::string problem = entry->problem();
    for (const auto& [version, status] : versions) {
      index.push_back({name, std::to_string(version), status.state, status.reason.empty() ? problem : status.reason});
    }
    if (versions.empty() && entry->on_disk()) {
      index.push_back({name, "", VersionState::kUnavailable, entry->WhyNothingServes()});
    }
  }
  return index;
}

// ---- for operators

std::vector<std::string> ModelRepository::NamesAtStart(const RepositoryScan& scan) const {
  const bool all = options_.mode != ModelControlMode::kExplicit ||
                   std::find(options_.load_at_start.begin(), options_.load_at_start.end(), "*") !=
                       options_.load_at_start.end();
  if (!all) return options_.load_at_start;
  std::vector<std::string> names;
  for (const auto& [name, found] : scan.models) {
    if (LooksLikeModel(found)) names.push_back(name);
  }
  return names;
}

void ModelRepository::LoadInitial(std::function<void(std::vector<LoadFailure>)> done) {
  const RepositoryScan scan = source_.Scan();
  std::vector<ModelEntry*> entries;
  std::vector<LoadFailure> missing;
  {
    MutexLock lock(mu_);
    NoteSilentRoots(scan.silent_roots);
    for (const auto& [name, found] : scan.models) {
      EntryFor(name).See(found, true);
    }
    for (const std::string& name : NamesAtStart(scan)) {
      ModelEntry& entry = EntryFor(name);
      if (std::find(initial_.begin(), initial_.end(), &entry) != initial_.end()) continue;
      initial_.push_back(&entry);
      if (scan.models.contains(name)) {
        entry.Want(true);
        entries.push_back(&entry);
      } else {
        missing.push_back({name, NotFound("model '{}' is not in the model repository ({})", name,
                                          fmt::join(options_.roots, ", "))});
      }
    }
    initial_known_ = true;
  }
  if (entries.empty()) return done(std::move(missing));
  auto loads = std::make_shared<InitialLoads>(entries.size());
  {
    MutexLock lock(loads->mu);
    loads->failures = std::move(missing);
  }
  for (ModelEntry* entry : entries) {
    Enqueue(*entry, [this, entry, loads, done] {
      const Status shortfall = Converge(*entry);
      if (!shortfall.ok()) LogError("{}", shortfall.message());
      const bool serves = routes_.Find(entry->name(), "") != nullptr;
      std::vector<LoadFailure> failures;
      {
        MutexLock lock(loads->mu);
        if (!serves) loads->failures.push_back({entry->name(), shortfall});
        if (--loads->left > 0) return;
        failures = std::move(loads->failures);
      }
      done(std::move(failures));
    });
  }
}

bool ModelRepository::InitialModelsReady() const {
  MutexLock lock(mu_);
  return initial_known_ && initial_.empty();
}

void ModelRepository::Poll() {
  const RepositoryScan scan = source_.Scan();
  std::vector<ModelEntry*> work;
  {
    MutexLock lock(mu_);
    if (shut_down_) return;
    NoteSilentRoots(scan.silent_roots);
    for (const auto& [name, found] : scan.models) {
      ModelEntry& entry = EntryFor(name);
      entry.See(found, false);
      entry.Want(true);
    }
    for (const auto& [name, entry] : entries_) {
      if (!scan.models.contains(name) && !silent_roots_.contains(entry->found().root)) entry->SeeNothing();
      // An operation that is under way plans anew after each step, so it takes this in by itself.
      if (!entry->operating && entry->NeedsWork()) work.push_back(entry.get());
    }
  }
  for (ModelEntry* entry : work) {
    Enqueue(*entry, [this, entry] {
      const Status shortfall = Converge(*entry);
      if (!shortfall.ok()) LogError("{}", shortfall.message());
    });
  }
}

void ModelRepository::NoteSilentRoots(const std::vector<std::string>& roots) {
  const std::set<std::string> silent(roots.begin(), roots.end());
  for (const std::string& root : silent) {
    if (!silent_roots_.contains(root)) {
      LogWarning("model repository {} is empty or cannot be read; models that serve from it go on serving", root);
    }
  }
  silent_roots_ = silent;
}

Status ModelRepository::CheckExplicit(std::string_view verb) const {
  if (options_.mode == ModelControlMode::kExplicit) return OkStatus();
  return Unavailable("cannot {} models by request: the server was started with --model-control-mode={}; start it with "
                     "--model-control-mode=explicit", verb, options_.mode == ModelControlMode::kNone ? "none" : "poll");
}

void ModelRepository::Load(std::string_view name, std::optional<ConfigOverride> config,
                           std::function<void(Status)> done) {
  if (Status status = CheckExplicit("load"); !status.ok()) return done(std::move(status));
  Result<FoundModel> found = source_.ScanModel(name);
  if (!found.ok()) return done(found.status());
  ModelEntry* entry = nullptr;
  {
    MutexLock lock(mu_);
    entry = &EntryFor(found->name);
  }
  Enqueue(*entry, [this, entry, config = std::move(config), done = std::move(done)]() mutable {
    // Looked at again: an operation before this one may have taken long.
    const Result<FoundModel> now = source_.ScanModel(entry->name());
    if (!now.ok()) return done(now.status());
    {
      MutexLock lock(mu_);
      entry->See(*now, true);
      entry->Want(true);
      entry->ForgiveFailures();
      if (config) entry->SetOverride(std::move(config));
    }
    done(Converge(*entry));
  });
}

void ModelRepository::Unload(std::string_view name, std::function<void(Status)> done) {
  if (Status status = CheckExplicit("unload"); !status.ok()) return done(std::move(status));
  ModelEntry* entry = nullptr;
  {
    MutexLock lock(mu_);
    const auto found = entries_.find(name);
    const bool known = found != entries_.end() && (found->second->on_disk() || !found->second->lifecycle().versions().empty());
    if (known) entry = found->second.get();
  }
  if (entry == nullptr) return done(NotFound("model '{}' is not known; the repository index lists the models", name));
  Enqueue(*entry, [this, entry, done = std::move(done)]() mutable {
    std::vector<int64_t> versions;
    {
      MutexLock lock(mu_);
      entry->Want(false);
      entry->SetOverride(std::nullopt);
      entry->ForgiveFailures();
      versions = entry->Plan().unload;
    }
    Retire(*entry, versions);
    {
      MutexLock lock(mu_);
      if (!entry->all_retired_gone()) {
        entry->when_all_gone.push_back([done = std::move(done)] { done(OkStatus()); });
        return;
      }
    }
    done(OkStatus());
  });
}

void ModelRepository::Shutdown() {
  std::vector<ModelHandle> handles;
  {
    MutexLock lock(mu_);
    if (std::exchange(shut_down_, true)) return;
    for (const auto& [name, entry] : entries_) {
      for (const auto& [version, served] : entry->served()) {
        entry->lifecycle().Move(version, VersionState::kUnloading);
        entry->Retire(version);
        handles.push_back(served.handle);
      }
      entry->served().clear();
    }
    PublishRoutes();
  }
  for (const ModelHandle& handle : handles) handle->scheduler().Close();
}

// ---- operations

ModelEntry& ModelRepository::EntryFor(const std::string& name) {
  std::unique_ptr<ModelEntry>& entry = entries_[name];
  if (entry == nullptr) entry = std::make_unique<ModelEntry>(dependencies_.registry, name);
  return *entry;
}

void ModelRepository::Enqueue(ModelEntry& entry, Operation operation) {
  {
    MutexLock lock(mu_);
    entry.operations.push_back(std::move(operation));
    if (entry.operating) return;
    entry.operating = true;
  }
  dependencies_.load_executor.Post([this, &entry] { Operate(entry); });
}

// One operation, then the next one waits for its turn among the other models'.
void ModelRepository::Operate(ModelEntry& entry) {
  Operation operation;
  {
    MutexLock lock(mu_);
    operation = std::move(entry.operations.front());
    entry.operations.pop_front();
  }
  operation();
  {
    MutexLock lock(mu_);
    entry.operating = !entry.operations.empty();
    if (!entry.operating) return;
  }
  dependencies_.load_executor.Post([this, &entry] { Operate(entry); });
}

Status ModelRepository::Converge(ModelEntry& entry) {
  for (;;) {
    RefreshConfig(entry);
    TransitionPlan plan;
    {
      MutexLock lock(mu_);
      if (shut_down_) return Unavailable("model '{}': the server is shutting down", entry.name());
      plan = entry.Plan();
    }
    if (!plan.load.empty()) {
      LoadVersion(entry, plan.load.front());
      continue;  // plan anew: the load may have failed, and the disk may have changed meanwhile
    }
    Retire(entry, plan.unload);
    MutexLock lock(mu_);
    return entry.Shortfall();
  }
}

void ModelRepository::RefreshConfig(ModelEntry& entry) {
  std::string directory;
  Fingerprint fingerprint = 0;
  {
    MutexLock lock(mu_);
    if (!entry.ConfigIsStale()) return;
    fingerprint = entry.ConfigFingerprint();
    if (const auto& sent = entry.config_override()) {
      entry.TakeConfig(sent->source, fingerprint);
      return;
    }
    directory = entry.found().directory;
  }
  Result<ModelConfigSource> source = ReadModelConfig(directory);
  MutexLock lock(mu_);
  entry.TakeConfig(std::move(source), fingerprint);
}

void ModelRepository::LoadVersion(ModelEntry& entry, int64_t version) {
  std::string directory;
  ModelConfigSource config;
  Fingerprint fingerprint = 0;
  {
    MutexLock lock(mu_);
    directory = entry.found().directory;
    config = entry.config();
    fingerprint = entry.CurrentFingerprint(version);
    if (!entry.served().contains(version)) entry.lifecycle().Move(version, VersionState::kLoading);
  }
  Result<std::unique_ptr<ModelVersion>> loaded = dependencies_.loader.Load(entry.name(), directory, version, config);
  const Status status = loaded.status();
  ModelHandle fresh, old;  // end without the lock
  if (status.ok()) fresh = Adopt(entry, *std::move(loaded));
  MutexLock lock(mu_);
  if (fresh == nullptr) return entry.RecordFailure(version, fingerprint, status);
  if (shut_down_) return entry.Retire(version);  // too late: it goes as it came
  entry.RecordSuccess(version);
  ModelEntry::Served& served = entry.served()[version];
  old = std::exchange(served.handle, fresh);
  served.fingerprint = fingerprint;
  if (old != nullptr) entry.Retire(version);
  PublishRoutes();
  if (entry.lifecycle().state(version) == VersionState::kLoading) {
    entry.lifecycle().Move(version, VersionState::kReady);
  } else {
    entry.lifecycle().Note(version, "");
  }
  std::erase(initial_, &entry);
}

void ModelRepository::Retire(ModelEntry& entry, const std::vector<int64_t>& versions) {
  if (versions.empty()) return;
  std::vector<ModelHandle> handles;  // end without the lock
  {
    MutexLock lock(mu_);
    for (int64_t version : versions) {
      const auto served = entry.served().find(version);
      if (served == entry.served().end()) continue;
      entry.lifecycle().Move(version, VersionState::kUnloading);
      entry.Retire(version);
      handles.push_back(std::move(served->second.handle));
      entry.served().erase(served);
    }
    PublishRoutes();
  }
  for (const ModelHandle& handle : handles) {
    LogInfo("model '{}' version {}: taken out of service", handle->name(), handle->version());
  }
}

// The last holder of a version may be any thread, one of its own instances' too, so it always ends on the reaper.
ModelHandle ModelRepository::Adopt(ModelEntry& entry, std::unique_ptr<ModelVersion> version) {
  return ModelHandle(version.release(), [this, &entry](const ModelVersion* last) {
    dependencies_.reaper.Post([this, &entry, last] {
      const int64_t number = last->version();
      delete last;
      ReturnFreeMemory();
      Ended(entry, number);
    });
  });
}

void ModelRepository::Ended(ModelEntry& entry, int64_t version) {
  std::vector<std::function<void()>> waiting;
  {
    MutexLock lock(mu_);
    if (entry.RetiredGone(version)) waiting.swap(entry.when_all_gone);
  }
  for (const auto& done : waiting) done();
}

void ModelRepository::PublishRoutes() {
  Routes routes;
  for (const auto& [name, entry] : entries_) {
    for (const auto& [version, served] : entry->served()) routes[name].push_back(served.handle);
  }
  routes_.Publish(std::move(routes));
}

}  // namespace tondar
