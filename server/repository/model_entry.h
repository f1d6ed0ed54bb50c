// ModelEntry: what the repository knows of one model: what is on disk, what is wanted, what serves, what failed.
#ifndef TONDAR_SERVER_REPOSITORY_MODEL_ENTRY_H_
#define TONDAR_SERVER_REPOSITORY_MODEL_ENTRY_H_

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/config/model_config.h"
#include "server/repository/directory_source.h"
#include "server/repository/model_lifecycle.h"
#include "server/repository/model_version.h"
#include "server/repository/version_policy.h"

namespace tondar {

// A configuration sent with a load request; replaces the file's.
struct ConfigOverride {
  ModelConfigSource source;
  Fingerprint fingerprint = 0;  // of its text
};

// Everything about one model. Decides, but does nothing: ModelRepository acts. Thread-compatible; the repository's lock
// guards it.
class ModelEntry {
 public:
  ModelEntry(MetricRegistry& registry, std::string name);

  const std::string& name() const { return name_; }
  ModelLifecycle& lifecycle() { return lifecycle_; }
  const ModelLifecycle& lifecycle() const { return lifecycle_; }

  // ---- what is on disk

  // Takes over what a scan found. Files count as settled if they are as in the scan before, or `trusted`.
  void See(const FoundModel& found, bool trusted);
  void SeeNothing();  // the model's directory has gone
  bool on_disk() const { return on_disk_; }
  const FoundModel& found() const { return found_; }
  // Of the files and the configuration that version `version` would be loaded from.
  Fingerprint CurrentFingerprint(int64_t version) const;

  // ---- the configuration

  // Whether the configuration has changed since it was read.
  bool ConfigIsStale() const { return !config_read_ || config_read_from_ != ConfigFingerprint(); }
  bool config_settled() const { return config_settled_; }
  Fingerprint ConfigFingerprint() const { return override_ ? override_->fingerprint : found_.config; }
  const std::optional<ConfigOverride>& config_override() const { return override_; }
  void SetOverride(std::optional<ConfigOverride> config) { override_ = std::move(config); }
  // The outcome of reading the configuration whose fingerprint was `from`.
  void TakeConfig(Result<ModelConfigSource> source, Fingerprint from);
  const ModelConfigSource& config() const { return config_; }

  // ---- what to do

  void Want(bool wanted) { wanted_ = wanted; }
  TransitionPlan Plan() const;
  bool NeedsWork() const;
  // Why what is wanted is not what serves; OK if it is.
  Status Shortfall() const;
  // Why no version serves, for people.
  std::string WhyNothingServes() const;

  // ---- what serves

  struct Served {
    ModelHandle handle;
    Fingerprint fingerprint = 0;  // of what it was loaded from
  };
  std::map<int64_t, Served>& served() { return served_; }
  const std::map<int64_t, Served>& served() const { return served_; }
  void RecordFailure(int64_t version, Fingerprint fingerprint, Status status);
  void RecordSuccess(int64_t version);
  void ForgiveFailures() { failed_.clear(); }

  // Versions taken out of service that still answer their last requests.
  void Retire(int64_t version) { ++retired_[version]; }
  // True if this was the last of them.
  bool RetiredGone(int64_t version);
  bool all_retired_gone() const { return retired_.empty(); }
  std::vector<std::function<void()>> when_all_gone;

  // Why nothing can be done about this model; "" if nothing stands against it.
  std::string problem() const;

  // ---- operations, one at a time, in order
  std::deque<std::function<void()>> operations;
  bool operating = false;

 private:
  struct Seen {
    Fingerprint fingerprint = 0;
    bool settled = false;
  };
  struct Failure {
    Fingerprint fingerprint = 0;
    Status status;
  };
  std::vector<VersionView> Views() const;
  std::vector<int64_t> OnDisk() const;
  void ForgetTheGone();

  const std::string name_;
  ModelLifecycle lifecycle_;
  const std::shared_ptr<Counter> load_successes_, load_failures_;
  FoundModel found_;
  bool on_disk_ = false;
  bool wanted_ = false;
  std::map<int64_t, Seen> seen_;
  bool config_settled_ = false;
  std::optional<ConfigOverride> override_;
  bool config_read_ = false;
  Fingerprint config_read_from_ = 0;
  Status config_status_;
  ModelConfigSource config_;
  VersionPolicy policy_;
  std::map<int64_t, Served> served_;
  std::map<int64_t, Failure> failed_;
  std::map<int64_t, int> retired_;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_REPOSITORY_MODEL_ENTRY_H_
