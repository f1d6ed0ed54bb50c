// The one implementation of every verb that is not inference: metadata, health, statistics, repository.
#ifndef TONDAR_SERVER_SERVICE_CONTROL_SERVICE_H_
#define TONDAR_SERVER_SERVICE_CONTROL_SERVICE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/types/dtype.h"
#include "engine/types/shape.h"
#include "server/config/model_config.h"
#include "server/request/request.h"

namespace tondar {

struct ServerMetadata {
  std::string name;     // "tondar"
  std::string version;  // "0.1.0"
  std::vector<std::string> extensions;
};

struct TensorMetadata {
  std::string name;
  DType dtype = DType::kInvalid;
  Dims shape;  // -1 for variable extents; with the batch dimension if the model batches
};

struct ModelMetadata {
  std::string name;
  std::vector<std::string> versions;  // ready ones, ascending
  std::string platform;               // "pytorch_pt2", "onnx"
  std::vector<TensorMetadata> inputs;
  std::vector<TensorMetadata> outputs;
};

struct StatisticDuration {
  uint64_t count = 0;
  uint64_t ns = 0;
};

struct BatchStatistics {
  uint64_t batch_size = 0;
  StatisticDuration compute_input, compute_infer, compute_output;
};

// Everything cumulative since the version was loaded.
struct ModelStatistics {
  std::string name;
  std::string version;
  uint64_t last_inference_ms = 0;  // wall clock, ms since the epoch
  uint64_t inference_count = 0;
  uint64_t execution_count = 0;
  StatisticDuration success, fail, queue, compute_input, compute_infer, compute_output, cache_hit, cache_miss;
  std::vector<BatchStatistics> batches;  // ascending batch size
  uint64_t memory_bytes = 0;             // weights and arenas of this version, on the CPU
};

struct ModelIndexEntry {
  std::string name;
  std::string version;  // "" for a model without any version
  std::string state;    // "READY", "LOADING", "UNLOADING", "UNAVAILABLE"
  std::string reason;   // why it is UNAVAILABLE
};

// What the codecs see. Thread-safe. Load and Unload block until the model is up (or down) and are called on threads
// that may wait; everything else answers at once.
class ControlService {
 public:
  virtual ~ControlService() = default;

  virtual bool Live() const = 0;
  // True once the models wanted at start are loaded, until draining begins.
  virtual bool Ready() const = 0;
  // False for unknown models too. version "" means any.
  virtual bool ModelReady(std::string_view name, std::string_view version) const = 0;
  virtual ServerMetadata GetServerMetadata() const = 0;
  // NotFound: no such model or version. Unavailable: known, but no version is ready.
  virtual Result<ModelMetadata> GetModelMetadata(std::string_view name, std::string_view version) const = 0;
  // The complete configuration, derived parts filled in. Codes as GetModelMetadata.
  virtual Result<ModelConfig> GetModelConfig(std::string_view name, std::string_view version) const = 0;
  // name "" means all models, version "" all versions. Codes as GetModelMetadata.
  virtual Result<std::vector<ModelStatistics>> GetStatistics(std::string_view name, std::string_view version) const = 0;
  // One entry per version, sorted by name then version; `ready_only` leaves out the rest.
  virtual std::vector<ModelIndexEntry> GetIndex(bool ready_only) const = 0;

  // Loads or reloads a model. `parameters` may hold "config" (JSON text of a ModelConfig that replaces the file's).
  // Unavailable: not in explicit mode. NotFound: no such model in the repository. InvalidArgument: the model is
  // broken; the versions that served go on serving. Other parameters: InvalidArgument, by name.
  virtual Status LoadModel(std::string_view name, const Parameters& parameters) = 0;
  // Unloads all versions; requests in flight finish. Unknown models count as unloaded. `parameters` may hold
  // "unload_dependents", a bool without effect: no model depends on another. Unavailable: not in explicit mode.
  // InvalidArgument: other parameters, by name.
  virtual Status UnloadModel(std::string_view name, const Parameters& parameters) = 0;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_SERVICE_CONTROL_SERVICE_H_
