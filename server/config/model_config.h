// ModelConfig: the validated settings of one model.
#ifndef TONDAR_SERVER_CONFIG_MODEL_CONFIG_H_
#define TONDAR_SERVER_CONFIG_MODEL_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/signature.h"
#include "engine/base/status.h"

namespace inference {
class ModelConfig;  // proto/model_config.proto
}

namespace tondar {

// Which version directories to serve.
struct VersionPolicy {
  enum class Kind : uint8_t { kLatest, kAll, kSpecific } kind = Kind::kLatest;
  uint32_t latest = 1;              // kLatest: the newest so many
  std::vector<int64_t> versions;    // kSpecific
};

// What happens to a request that has waited longer than its timeout.
enum class TimeoutAction : uint8_t { kReject, kDelay };

struct QueuePolicy {
  uint32_t max_queue_size = 0;             // requests; 0 = unlimited
  std::chrono::microseconds timeout{0};    // 0 = none
  TimeoutAction timeout_action = TimeoutAction::kReject;
  bool allow_timeout_override = true;      // requests may bring a timeout of their own
};

struct DynamicBatching {
  bool enabled = false;
  std::vector<int32_t> preferred_batch_sizes;       // ascending
  std::chrono::microseconds max_queue_delay{0};     // how long the oldest may wait for company
  bool preserve_ordering = false;
  QueuePolicy queue;
};

// One input or output as the wire and config.pbtxt have it: extents without the batch dimension when the model
// batches, -1 for variable.
struct TensorConfig {
  std::string name;
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  bool optional = false;
};

// Every field has passed its range check once. Value type.
struct ModelConfig {
  std::string name;
  std::string platform;          // "pytorch_pt2" or "onnx"
  int32_t max_batch_size = 0;    // 0 = the model does not batch
  VersionPolicy version_policy;
  DynamicBatching batching;
  std::vector<TensorConfig> inputs, outputs;
  int instance_count = 1;
  std::string default_model_filename;  // "" = model.pt2, else model.onnx
  std::vector<std::string> warnings;   // fields that were given but have no effect here, one sentence each

  // The full message as clients read it (ModelConfig RPC, GET …/config), derived parts included. shared_ptr:
  // immutable once made and handed to many answers.
  std::shared_ptr<const inference::ModelConfig> proto;
};

// Settings of the whole server that deriving a model's configuration needs.
struct ModelConfigDefaults {
  int32_t default_max_batch_size = 64;
};

// What a model directory or a load request says, before the model file has been seen. Value type.
struct ModelConfigSource {
  std::shared_ptr<const inference::ModelConfig> proto;  // null: nothing was said
  bool says_max_batch_size = false;  // "max_batch_size: 0" was written, as against absent
};

// Reads config.pbtxt, else config.json, in `model_directory`; neither is fine. InvalidArgument: file:line and what is
// wrong; a field this server does not implement and cannot ignore is named.
Result<ModelConfigSource> ReadModelConfig(const std::string& model_directory);
// The same from the JSON text of a load request.
Result<ModelConfigSource> ParseModelConfigJson(std::string_view json, std::string_view where);

// The version policy alone, which is wanted before any version is loaded.
Result<VersionPolicy> GetVersionPolicy(const ModelConfigSource& source);

// The model file's name that the configuration asks for; "" if it asks for none. InvalidArgument: not a plain name.
Result<std::string> GetModelFilename(const ModelConfigSource& source);

// Checks `source` against the model file's signature and fills in what it leaves out. `model_name` is the directory's
// name; another name in the config is refused.
Result<ModelConfig> ResolveModelConfig(const ModelConfigSource& source, std::string_view model_name,
                                       std::string_view platform, const Signature& signature,
                                       const ModelConfigDefaults& defaults);

// The message as JSON with snake_case names and 64-bit integers as numbers, as GET …/config answers.
std::string ModelConfigToJson(const ModelConfig& config);

}  // namespace tondar

#endif  // TONDAR_SERVER_CONFIG_MODEL_CONFIG_H_
