#include "server/service/control_service_impl.h"

#include <optional>

#include "engine/base/log.h"

namespace tondar {
namespace {

// What is really implemented; clients decide by this list what to ask for.
constexpr std::string_view kExtensions[] = {"model_repository", "model_configuration", "schedule_policy",
                                            "binary_tensor_data", "parameters", "statistics"};

// Waits for a callback that brings a Status. Shared by the one who waits and the one who calls, whoever ends last.
class Outcome {
 public:
  void Set(Status status) TONDAR_EXCLUDES(mu_) {
    MutexLock lock(mu_);
    status_ = std::move(status);
    set_.NotifyAll();
  }
  Status Wait() TONDAR_EXCLUDES(mu_) {
    MutexLock lock(mu_);
    while (!status_) set_.Wait(mu_);
    return *status_;
  }
  // Nothing if `limit` passed first.
  std::optional<Status> WaitFor(std::chrono::milliseconds limit) TONDAR_EXCLUDES(mu_) {
    const TimePoint end = Clock::Real().Now() + limit;
    MutexLock lock(mu_);
    while (!status_) {
      const Duration left = end - Clock::Real().Now();
      if (left <= Duration::zero()) return std::nullopt;
      set_.WaitFor(mu_, left);
    }
    return status_;
  }

 private:
  Mutex mu_;
  CondVar set_;
  std::optional<Status> status_ TONDAR_GUARDED_BY(mu_);
};

Result<std::optional<ConfigOverride>> ReadLoadParameters(const Parameters& parameters) {
  std::optional<ConfigOverride> config;
  for (const auto& [name, value] : parameters) {
    if (name != "config") {
      return InvalidArgument("load parameter '{}' is not supported; only 'config' is", name);
    }
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return InvalidArgument("load parameter 'config' must be a string with the JSON of a ModelConfig");
    TONDAR_ASSIGN_OR_RETURN(ModelConfigSource source, ParseModelConfigJson(*text, "load parameter 'config'"));
    config = ConfigOverride{std::move(source), Combine(StringHash()(*text), 1)};
  }
  return config;
}

Status CheckUnloadParameters(const Parameters& parameters) {
  for (const auto& [name, value] : parameters) {
    if (name != "unload_dependents") {
      return InvalidArgument("unload parameter '{}' is not supported; only 'unload_dependents' is", name);
    }
    if (!std::holds_alternative<bool>(value)) {
      return InvalidArgument("unload parameter 'unload_dependents' must be true or false");
    }
  }
  return OkStatus();
}

TensorMetadata Describe(const TensorConfig& tensor, bool batched) {
  TensorMetadata metadata{tensor.name, tensor.dtype, Dims()};
  if (batched) metadata.shape.push_back(-1);
  for (int64_t extent : tensor.dims) metadata.shape.push_back(extent);
  return metadata;
}

StatisticDuration From(const DurationTotal& total) { return {total.count, total.ns}; }

ModelStatistics StatisticsOf(const ModelVersion& version) {
  const VersionTotals totals = version.metrics().Totals();
  ModelStatistics statistics;
  statistics.name = version.name();
  statistics.version = version.version_text();
  statistics.last_inference_ms = totals.last_inference_ms;
  statistics.inference_count = totals.inferences;
  statistics.execution_count = totals.executions;
  statistics.success = From(totals.success);
  statistics.fail = From(totals.fail);
  statistics.queue = From(totals.queue);
  statistics.compute_input = From(totals.compute_input);
  statistics.compute_infer = From(totals.compute_infer);
  statistics.compute_output = From(totals.compute_output);
  for (const BatchSizeTotals& batch : totals.batches) {
    statistics.batches.push_back(
        {batch.batch_size, From(batch.compute_input), From(batch.compute_infer), From(batch.compute_output)});
  }
  statistics.memory_bytes = totals.memory_bytes;
  return statistics;
}

}  // namespace

ControlServiceImpl::ControlServiceImpl(ControlServiceOptions options, ModelRepository& repository)
    : options_(std::move(options)), repository_(repository) {}

bool ControlServiceImpl::Ready() const {
  if (draining_.load(std::memory_order_relaxed)) return false;
  if (was_ready_.load(std::memory_order_relaxed)) return true;
  if (!options_.strict_readiness) return true;
  if (!started_.load(std::memory_order_relaxed) || !repository_.InitialModelsReady()) return false;
  was_ready_.store(true, std::memory_order_relaxed);
  return true;
}

bool ControlServiceImpl::ModelReady(std::string_view name, std::string_view version) const {
  return !draining_.load(std::memory_order_relaxed) && repository_.Find(name, version).ok();
}

ServerMetadata ControlServiceImpl::GetServerMetadata() const {
  return {"tondar", options_.server_version, {std::begin(kExtensions), std::end(kExtensions)}};
}

Result<ModelMetadata> ControlServiceImpl::GetModelMetadata(std::string_view name, std::string_view version) const {
  TONDAR_ASSIGN_OR_RETURN(const ModelHandle model, repository_.Find(name, version));
  TONDAR_ASSIGN_OR_RETURN(const std::vector<ModelHandle> versions, repository_.FindAll(name));
  const ModelConfig& config = model->config();
  ModelMetadata metadata;
  metadata.name = config.name;
  metadata.platform = config.platform;
  for (const ModelHandle& ready : versions) metadata.versions.push_back(ready->version_text());
  const bool batched = config.max_batch_size > 0;
  for (const TensorConfig& input : config.inputs) metadata.inputs.push_back(Describe(input, batched));
  for (const TensorConfig& output : config.outputs) metadata.outputs.push_back(Describe(output, batched));
  return metadata;
}

Result<ModelConfig> ControlServiceImpl::GetModelConfig(std::string_view name, std::string_view version) const {
  TONDAR_ASSIGN_OR_RETURN(const ModelHandle model, repository_.Find(name, version));
  return model->config();
}

Result<std::vector<ModelStatistics>> ControlServiceImpl::GetStatistics(std::string_view name,
                                                                       std::string_view version) const {
  std::vector<ModelHandle> versions;
  if (version.empty()) {
    TONDAR_ASSIGN_OR_RETURN(versions, repository_.FindAll(name));
  } else {
    TONDAR_ASSIGN_OR_RETURN(ModelHandle one, repository_.Find(name, version));
    versions.push_back(std::move(one));
  }
  std::vector<ModelStatistics> statistics;
  for (const ModelHandle& model : versions) statistics.push_back(StatisticsOf(*model));
  return statistics;
}

std::vector<ModelIndexEntry> ControlServiceImpl::GetIndex(bool ready_only) const {
  std::vector<ModelIndexEntry> index;
  for (IndexEntry& entry : repository_.Index()) {
    if (ready_only && entry.state != VersionState::kReady) continue;
    index.push_back({std::move(entry.model), std::move(entry.version), std::string(Name(entry.state)),
                     std::move(entry.reason)});
  }
  return index;
}

Status ControlServiceImpl::LoadModel(std::string_view name, const Parameters& parameters) {
  if (draining_.load(std::memory_order_relaxed)) return Unavailable("the server is shutting down");
  TONDAR_ASSIGN_OR_RETURN(std::optional<ConfigOverride> config, ReadLoadParameters(parameters));
  auto outcome = std::make_shared<Outcome>();
  repository_.Load(name, std::move(config), [outcome](Status status) { outcome->Set(std::move(status)); });
  return outcome->Wait();
}

Status ControlServiceImpl::UnloadModel(std::string_view name, const Parameters& parameters) {
  TONDAR_RETURN_IF_ERROR(CheckUnloadParameters(parameters));
  auto outcome = std::make_shared<Outcome>();
  repository_.Unload(name, [outcome](Status status) { outcome->Set(std::move(status)); });
  if (std::optional<Status> status = outcome->WaitFor(options_.unload_wait)) return *std::move(status);
  LogWarning("model '{}': out of service, but requests are still being answered after {} ms", name,
             options_.unload_wait.count());
  return OkStatus();
}

}  // namespace tondar
