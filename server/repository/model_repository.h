// ModelRepository: maps (name, version) to a ModelHandle and keeps what serves in line with what is wanted.
#ifndef TONDAR_SERVER_REPOSITORY_MODEL_REPOSITORY_H_
#define TONDAR_SERVER_REPOSITORY_MODEL_REPOSITORY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/executor.h"
#include "engine/base/mutex.h"
#include "server/config/server_config.h"
#include "server/repository/directory_source.h"
#include "server/repository/model_entry.h"
#include "server/repository/model_loader.h"
#include "server/repository/routing_table.h"

namespace tondar {

struct RepositoryOptions {
  std::vector<std::string> roots;
  ModelControlMode mode = ModelControlMode::kPoll;
  std::vector<std::string> load_at_start;  // explicit mode; "*" = all
};

// Used by the repository; all of it outlives it, but for the executors, see Shutdown.
struct RepositoryDependencies {
  const ModelLoader& loader;
  Executor& load_executor;  // loads run here, as many models at once as it has threads
  Executor& reaper;         // versions end here: their threads are joined and their memory given back
  MetricRegistry& registry;
};

struct IndexEntry {
  std::string model;
  std::string version;  // "" for a model without a known version
  VersionState state = VersionState::kUnavailable;
  std::string reason;
};

struct LoadFailure {
  std::string model;
  Status status;
};

// Thread-safe. Operations on one model run one after the other in the order in which they were asked for, so the last
// one wins; different models go on at once. A new version is published before an old one is retired; a retired one
// answers its requests and ends with the last of them. A load that fails changes nothing but the reason in the index.
class ModelRepository {
 public:
  ModelRepository(RepositoryOptions options, RepositoryDependencies dependencies);
  ~ModelRepository();
  ModelRepository(const ModelRepository&) = delete;
  ModelRepository& operator=(const ModelRepository&) = delete;

  // ---- for requests

  // The version that answers; `version` "" means the highest that is ready. The handle keeps it loaded.
  // NotFound: no such model or version. Unavailable: known, but not ready; says why. InvalidArgument: not a number.
  Result<ModelHandle> Find(std::string_view name, std::string_view version) const TONDAR_EXCLUDES(mu_);
  // All ready versions, ascending, of one model or (name "") of all, by name. Codes as Find.
  Result<std::vector<ModelHandle>> FindAll(std::string_view name) const TONDAR_EXCLUDES(mu_);
  // Everything that is known, by name and version.
  std::vector<IndexEntry> Index() const TONDAR_EXCLUDES(mu_);

  // ---- for operators

  // Loads what is wanted at start. `done` gets the models that have no version ready. Call once, first.
  void LoadInitial(std::function<void(std::vector<LoadFailure>)> done) TONDAR_EXCLUDES(mu_);
  // True once each model wanted at start has had a version ready.
  bool InitialModelsReady() const TONDAR_EXCLUDES(mu_);

  // Looks at the directories once and starts what follows from it (poll mode). Files are loaded when two looks in a row
  // saw them the same, for they may be half written. A repository that cannot be read or is empty changes nothing.
  void Poll() TONDAR_EXCLUDES(mu_);

  // Loads a model, or what has changed of it (explicit mode). A configuration sent along stays in force for later
  // loads without one, until the model is unloaded. `done` gets, on some thread: Unavailable: not in explicit mode.
  // NotFound: not on disk. InvalidArgument: broken; what served before serves on.
  void Load(std::string_view name, std::optional<ConfigOverride> config, std::function<void(Status)> done)
      TONDAR_EXCLUDES(mu_);
  // Takes all versions out of service; `done` is called when the last request of them has been answered and their
  // memory is free. Unknown models count as unloaded. Unavailable: not in explicit mode.
  void Unload(std::string_view name, std::function<void(Status)> done) TONDAR_EXCLUDES(mu_);

  // Answers what waits with Unavailable and lets go of everything. Afterwards end the executors, load_executor first
  // and reaper last, when no request holds a handle any more; then the repository may go.
  void Shutdown() TONDAR_EXCLUDES(mu_);

 private:
  using Operation = std::function<void()>;

  ModelEntry& EntryFor(const std::string& name) TONDAR_REQUIRES(mu_);
  void Enqueue(ModelEntry& entry, Operation operation) TONDAR_EXCLUDES(mu_);
  void Operate(ModelEntry& entry) TONDAR_EXCLUDES(mu_);

  // The steps of an operation; on the load executor, one operation per entry at a time.
  Status Converge(ModelEntry& entry) TONDAR_EXCLUDES(mu_);
  void RefreshConfig(ModelEntry& entry) TONDAR_EXCLUDES(mu_);
  void LoadVersion(ModelEntry& entry, int64_t version) TONDAR_EXCLUDES(mu_);
  void Retire(ModelEntry& entry, const std::vector<int64_t>& versions) TONDAR_EXCLUDES(mu_);

  ModelHandle Adopt(ModelEntry& entry, std::unique_ptr<ModelVersion> version);
  void Ended(ModelEntry& entry, int64_t version) TONDAR_EXCLUDES(mu_);
  void PublishRoutes() TONDAR_REQUIRES(mu_);
  Status WhyNotReady(std::string_view name, std::string_view version) const TONDAR_EXCLUDES(mu_);
  Status CheckExplicit(std::string_view verb) const;
  std::vector<std::string> NamesAtStart(const RepositoryScan& scan) const;
  void NoteSilentRoots(const std::vector<std::string>& roots) TONDAR_REQUIRES(mu_);

  const RepositoryOptions options_;
  const RepositoryDependencies dependencies_;
  DirectorySource source_;
  RoutingTable routes_;

  mutable Mutex mu_;  // taken before the routing table's
  // Entries are never removed: operations and ended versions refer to them.
  std::map<std::string, std::unique_ptr<ModelEntry>, std::less<>> entries_ TONDAR_GUARDED_BY(mu_);
  std::vector<ModelEntry*> initial_ TONDAR_GUARDED_BY(mu_);  // wanted at start and never ready so far
  bool initial_known_ TONDAR_GUARDED_BY(mu_) = false;
  std::set<std::string> silent_roots_ TONDAR_GUARDED_BY(mu_);
  bool shut_down_ TONDAR_GUARDED_BY(mu_) = false;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_REPOSITORY_MODEL_REPOSITORY_H_
