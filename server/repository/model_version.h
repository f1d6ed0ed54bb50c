// ModelVersion: a loaded version of a model, ready to serve.
#ifndef TONDAR_SERVER_REPOSITORY_MODEL_VERSION_H_
#define TONDAR_SERVER_REPOSITORY_MODEL_VERSION_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/api/engine.h"
#include "server/config/model_config.h"
#include "server/metrics/version_metrics.h"
#include "server/scheduler/batch_scheduler.h"

namespace tondar {

// Immutable but for what its scheduler and metrics do inside. Thread-safe.
class ModelVersion {
 public:
  ModelVersion(int64_t version, ModelConfig config, std::shared_ptr<const Model> model,
               std::unique_ptr<VersionMetrics> metrics, std::unique_ptr<BatchScheduler> scheduler)
      : version_(version),
        version_text_(std::to_string(version)),
        config_(std::move(config)),
        model_(std::move(model)),
        metrics_(std::move(metrics)),
        scheduler_(std::move(scheduler)) {}

  const std::string& name() const { return config_.name; }
  int64_t version() const { return version_; }
  const std::string& version_text() const { return version_text_; }
  const ModelConfig& config() const { return config_; }
  const Signature& signature() const { return model_->signature(); }
  VersionMetrics& metrics() const { return *metrics_; }
  BatchScheduler& scheduler() const { return *scheduler_; }

 private:
  const int64_t version_;
  const std::string version_text_;
  const ModelConfig config_;
  const std::shared_ptr<const Model> model_;  // shared_ptr: the engine and its sessions hold it too
  const std::unique_ptr<VersionMetrics> metrics_;
  const std::unique_ptr<BatchScheduler> scheduler_;  // last: its threads use the rest
};

// shared_ptr, the one shared thing of the server: requests in flight and the repository hold a version, and it is
// unloaded when the last of them lets go, whichever that is.
using ModelHandle = std::shared_ptr<const ModelVersion>;

}  // namespace tondar

#endif  // TONDAR_SERVER_REPOSITORY_MODEL_VERSION_H_
