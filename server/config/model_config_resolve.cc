// Joins what the user wrote about a model with what its file says of itself.
#include "server/config/model_config.h"

#include <algorithm>

#include "model_config.pb.h"
#include "server/config/model_config_rules.h"
#include "server/config/tensor_config_rules.h"

namespace tondar {
namespace {

using Proto = inference::ModelConfig;

constexpr std::chrono::microseconds kLongestDelay = std::chrono::hours(1);  // beyond it a typing error is likelier
constexpr int kMostInstances = 1024;
constexpr int32_t kLargestWrittenBatch = 1 << 20;  // as --default-max-batch-size; statistics keep a row per batch size

// The model file formats, and how configurations spell the server part that used to run them.
struct Platform {
  std::string_view engine;    // Model::platform()
  std::string_view name;      // what clients read
  std::string_view filename;  // default_model_filename if not written
};
constexpr Platform kPlatforms[] = {{"pt2", "pytorch_pt2", "model.pt2"}, {"onnx", "onnx", "model.onnx"}};

struct Spelling {
  std::string_view written;
  std::string_view platform;  // "" fits any
};
constexpr Spelling kSpellings[] = {
    {"", ""},           {"tondar", ""},          {"onnx", "onnx"},           {"onnxruntime", "onnx"},
    {"openvino", ""},   {"onnxruntime_onnx", "onnx"}, {"onnxv1", "onnx"},    {"pytorch", "pytorch_pt2"},
    {"pt2", "pytorch_pt2"}, {"pytorch_pt2", "pytorch_pt2"}, {"pytorch_libtorch", "pytorch_pt2"},
    {"torch_aoti", "pytorch_pt2"},
};

Result<Platform> FindPlatform(std::string_view engine_or_name) {
  for (const Platform& platform : kPlatforms) {
    if (engine_or_name == platform.engine || engine_or_name == platform.name) return platform;
  }
  return Internal("unknown model platform '{}'", engine_or_name);
}

Status CheckSpelling(std::string_view field, std::string_view written, const Platform& platform,
                     std::vector<std::string>& warnings) {
  const auto* spelling = std::find_if(std::begin(kSpellings), std::end(kSpellings),
                                      [&](const Spelling& s) { return s.written == written; });
  if (spelling == std::end(kSpellings)) {
    return InvalidArgument("config: {} '{}' cannot be served here; models are .pt2 or .onnx files "
                           "(backend \"pytorch\" or \"onnxruntime\", or none)", field, written);
  }
  if (!spelling->platform.empty() && spelling->platform != platform.name) {
    warnings.push_back(fmt::format("{} '{}' has no effect: the model file is {}", field, written, platform.filename));
  }
  return OkStatus();
}

Status CheckName(const Proto& proto, std::string_view model_name) {
  if (proto.name().empty() || proto.name() == model_name) return OkStatus();
  return InvalidArgument("config: name '{}' differs from the model's directory '{}'; they must be equal or the name "
                         "left out", proto.name(), model_name);
}

Status CheckModelFilename(std::string_view filename) {
  if (filename.find('/') == std::string_view::npos && filename != ".." && filename != "." &&
      filename.find('\0') == std::string_view::npos) {
    return OkStatus();
  }
  return InvalidArgument("config: default_model_filename '{}' must be a file name inside the version directory",
                         filename);
}

// Why calls of this model cannot be concatenated, for people.
std::string WhyNotBatchable(const Signature& signature) {
  auto first_unlike = [&](const std::vector<TensorSpec>& specs, std::string_view kind) -> std::string {
    for (const TensorSpec& spec : specs) {
      if (spec.shape.empty()) return fmt::format("{} '{}' has no dimensions", kind, spec.name);
      if (!spec.shape[0].AsSymbol()) {
        return fmt::format("{} '{}' has shape {}, whose first extent is not variable", kind, spec.name,
                           ToString(spec.shape, signature.symbols));
      }
    }
    return {};
  };
  if (signature.inputs.empty()) return "the model has no inputs";
  if (std::string why = first_unlike(signature.inputs, "input"); !why.empty()) return why;
  if (std::string why = first_unlike(signature.outputs, "output"); !why.empty()) return why;
  return "the first extents of inputs and outputs are not one and the same symbol, used nowhere else";
}

int64_t LargestBatch(const Signature& signature) {
  return signature.symbols[static_cast<size_t>(signature.batch_symbol)].max;
}

Result<int32_t> CheckWrittenBatchSize(int32_t written, const Signature& signature) {
  if (written < 0) return InvalidArgument("config: max_batch_size {} is negative; write 0 for a model that does not batch", written);
  if (written == 0) return 0;
  if (written > kLargestWrittenBatch) {
    return InvalidArgument("config: max_batch_size {} is out of range [0, {}]", written, kLargestWrittenBatch);
  }
  if (!signature.batchable) {
    return InvalidArgument("config: max_batch_size {}, but the model cannot batch: {}; export it with a dynamic first "
                           "dimension or write max_batch_size: 0", written, WhyNotBatchable(signature));
  }
  if (written > LargestBatch(signature)) {
    return InvalidArgument("config: max_batch_size {} is above {}, the largest the model was exported for", written,
                           LargestBatch(signature));
  }
  return written;
}

// Not written: batch if the model can and provably keeps rows apart, unless the written dims fix the first extent.
int32_t DeriveBatchSize(const Proto& proto, const Signature& signature, const ModelConfigDefaults& defaults) {
  if (!signature.batchable || !signature.batch_doubt.empty() || FixesFirstExtent(proto, signature)) return 0;
  return static_cast<int32_t>(std::clamp<int64_t>(LargestBatch(signature), 0, defaults.default_max_batch_size));
}

void WarnOfMixedRows(const Signature& signature, ModelConfig& config) {
  if (!signature.batchable || signature.batch_doubt.empty()) return;
  if (config.max_batch_size > 0) {
    config.warnings.push_back(fmt::format("max_batch_size {} is obeyed, but an answer may depend on what else is in the "
                                          "batch: {}", config.max_batch_size, signature.batch_doubt));
  } else {
    config.warnings.push_back(fmt::format("requests are not batched, for an answer would depend on the others: {}; "
                                          "write max_batch_size to batch all the same", signature.batch_doubt));
  }
}

Result<int> InstanceCount(const Proto& proto) {
  int64_t count = 0;
  for (const auto& group : proto.instance_group()) {
    if (group.count() < 0) return InvalidArgument("config: instance_group.count {} is negative", group.count());
    count += std::max(group.count(), 1);  // a group without a count is one instance
  }
  if (count > kMostInstances) {
    return InvalidArgument("config: instance_group asks for {} instances, expected at most {}", count, kMostInstances);
  }
  return static_cast<int>(std::max<int64_t>(count, 1));
}

Result<std::chrono::microseconds> CheckDelay(std::string_view field, uint64_t microseconds) {
  if (microseconds <= static_cast<uint64_t>(kLongestDelay.count())) return std::chrono::microseconds(microseconds);
  return InvalidArgument("config: {} = {} is out of range [0, {}]", field, microseconds, kLongestDelay.count());
}

Result<QueuePolicy> ResolveQueuePolicy(const inference::ModelQueuePolicy& proto) {
  QueuePolicy policy;
  policy.max_queue_size = proto.max_queue_size();
  TONDAR_ASSIGN_OR_RETURN(policy.timeout, CheckDelay("default_queue_policy.default_timeout_microseconds",
                                                     proto.default_timeout_microseconds()));
  policy.timeout_action = proto.timeout_action() == inference::ModelQueuePolicy::DELAY ? TimeoutAction::kDelay
                                                                                       : TimeoutAction::kReject;
  if (proto.has_allow_timeout_override()) policy.allow_timeout_override = proto.allow_timeout_override();
  return policy;
}

Result<std::vector<int32_t>> PreferredSizes(const inference::ModelDynamicBatching& proto, int32_t max_batch_size) {
  std::vector<int32_t> sizes(proto.preferred_batch_size().begin(), proto.preferred_batch_size().end());
  for (int32_t size : sizes) {
    if (size >= 1 && size <= max_batch_size) continue;
    return InvalidArgument("config: dynamic_batching.preferred_batch_size {} is out of range [1, {}], the "
                           "max_batch_size", size, max_batch_size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// parameters { key: "dynamic_batching" value { string_value: "off" } }: the one way to say no, since an absent
// dynamic_batching means yes here.
constexpr std::string_view kBatchingParameter = "dynamic_batching";

Result<bool> BatchingSwitchedOff(const Proto& proto) {
  const auto parameter = proto.parameters().find(std::string(kBatchingParameter));
  if (parameter == proto.parameters().end()) return false;
  const std::string& value = parameter->second.string_value();
  if (value != "on" && value != "off") {
    return InvalidArgument("config: parameter '{}' is '{}', expected \"on\" or \"off\"", kBatchingParameter, value);
  }
  return value == "off";
}

void WarnOfParameters(const Proto& proto, std::vector<std::string>& warnings) {
  std::vector<std::string> names;
  for (const auto& [name, value] : proto.parameters()) {
    if (name != kBatchingParameter) names.push_back(fmt::format("parameter '{}' has no effect", name));
  }
  std::sort(names.begin(), names.end());
  warnings.insert(warnings.end(), names.begin(), names.end());
}

Result<DynamicBatching> ResolveBatching(const Proto& proto, int32_t max_batch_size,
                                        std::vector<std::string>& warnings) {
  const inference::ModelDynamicBatching& written = proto.dynamic_batching();
  TONDAR_ASSIGN_OR_RETURN(const bool switched_off, BatchingSwitchedOff(proto));
  DynamicBatching batching;
  TONDAR_ASSIGN_OR_RETURN(batching.queue, ResolveQueuePolicy(written.default_queue_policy()));
  TONDAR_ASSIGN_OR_RETURN(batching.max_queue_delay, CheckDelay("dynamic_batching.max_queue_delay_microseconds",
                                                               written.max_queue_delay_microseconds()));
  batching.preserve_ordering = written.preserve_ordering();
  if (max_batch_size == 0) {
    if (proto.has_dynamic_batching()) {
      warnings.push_back("dynamic_batching has no effect but for its queue policy: the model does not batch");
    }
    return batching;
  }
  batching.enabled = !switched_off;
  TONDAR_ASSIGN_OR_RETURN(batching.preferred_batch_sizes, PreferredSizes(written, max_batch_size));
  return batching;
}

void WriteVersionPolicy(const VersionPolicy& policy, inference::ModelVersionPolicy& proto) {
  switch (policy.kind) {
    case VersionPolicy::Kind::kLatest: proto.mutable_latest()->set_num_versions(policy.latest); break;
    case VersionPolicy::Kind::kAll: proto.mutable_all(); break;
    case VersionPolicy::Kind::kSpecific:
      proto.mutable_specific()->mutable_versions()->Assign(policy.versions.begin(), policy.versions.end());
      break;
  }
}

void WriteInstanceGroups(std::string_view model_name, Proto& proto) {
  if (proto.instance_group_size() == 0) proto.add_instance_group();
  for (int i = 0; i < proto.instance_group_size(); ++i) {
    inference::ModelInstanceGroup& group = *proto.mutable_instance_group(i);
    if (group.name().empty()) group.set_name(fmt::format("{}_{}", model_name, i));
    group.set_count(std::max(group.count(), 1));
  }
}

std::string ConstantText(const ConstantSpec& constant) {
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, constant.value);
}

// The whole message as clients read it: what was written, and every derived part filled in.
std::shared_ptr<const Proto> CompleteProto(const Proto& written, const ModelConfig& config, const Platform& platform,
                                           const Signature& signature) {
  auto proto = std::make_shared<Proto>(written);
  proto->set_name(config.name);
  proto->set_platform(config.platform);
  if (proto->backend().empty()) proto->set_backend("tondar");
  WriteVersionPolicy(config.version_policy, *proto->mutable_version_policy());
  proto->set_max_batch_size(config.max_batch_size);
  WriteTensors(config, *proto);
  if (config.batching.enabled) proto->mutable_dynamic_batching();
  WriteInstanceGroups(config.name, *proto);
  if (proto->default_model_filename().empty()) proto->set_default_model_filename(std::string(platform.filename));
  for (const ConstantSpec& constant : signature.constants) {
    (*proto->mutable_parameters())["tondar.constant." + constant.name].set_string_value(ConstantText(constant));
  }
  return proto;
}

}  // namespace

Result<VersionPolicy> GetVersionPolicy(const ModelConfigSource& source) {
  VersionPolicy policy;
  if (source.proto == nullptr) return policy;
  const inference::ModelVersionPolicy& proto = source.proto->version_policy();
  if (proto.has_all()) policy.kind = VersionPolicy::Kind::kAll;
  if (proto.has_latest()) policy.latest = std::max(proto.latest().num_versions(), 1u);
  if (!proto.has_specific()) return policy;
  policy.kind = VersionPolicy::Kind::kSpecific;
  policy.versions.assign(proto.specific().versions().begin(), proto.specific().versions().end());
  std::sort(policy.versions.begin(), policy.versions.end());
  policy.versions.erase(std::unique(policy.versions.begin(), policy.versions.end()), policy.versions.end());
  if (policy.versions.empty()) return InvalidArgument("config: version_policy.specific names no version");
  if (policy.versions.front() < 0) {
    return InvalidArgument("config: version_policy.specific.versions {} is negative", policy.versions.front());
  }
  return policy;
}

Result<std::string> GetModelFilename(const ModelConfigSource& source) {
  if (source.proto == nullptr) return std::string();
  TONDAR_RETURN_IF_ERROR(CheckModelFilename(source.proto->default_model_filename()));
  return source.proto->default_model_filename();
}

Result<ModelConfig> ResolveModelConfig(const ModelConfigSource& source, std::string_view model_name,
                                       std::string_view platform_name, const Signature& signature,
                                       const ModelConfigDefaults& defaults) {
  static const Proto kNothingWritten;
  const Proto& written = source.proto ? *source.proto : kNothingWritten;
  TONDAR_ASSIGN_OR_RETURN(const Platform platform, FindPlatform(platform_name));
  ModelConfig config;
  config.name = model_name;
  config.platform = platform.name;
  TONDAR_RETURN_IF_ERROR(CheckName(written, model_name));
  TONDAR_RETURN_IF_ERROR(ApplyModelConfigRules(written, config.warnings));
  TONDAR_RETURN_IF_ERROR(CheckSpelling("backend", written.backend(), platform, config.warnings));
  TONDAR_RETURN_IF_ERROR(CheckSpelling("platform", written.platform(), platform, config.warnings));
  TONDAR_RETURN_IF_ERROR(CheckModelFilename(written.default_model_filename()));
  config.default_model_filename = written.default_model_filename();
  WarnOfParameters(written, config.warnings);
  TONDAR_ASSIGN_OR_RETURN(config.version_policy, GetVersionPolicy(source));
  TONDAR_ASSIGN_OR_RETURN(config.instance_count, InstanceCount(written));
  if (source.says_max_batch_size) {
    TONDAR_ASSIGN_OR_RETURN(config.max_batch_size, CheckWrittenBatchSize(written.max_batch_size(), signature));
  } else {
    config.max_batch_size = DeriveBatchSize(written, signature, defaults);
  }
  WarnOfMixedRows(signature, config);
  TONDAR_RETURN_IF_ERROR(ResolveTensors(written, source.says_max_batch_size, signature, config));
  TONDAR_ASSIGN_OR_RETURN(config.batching, ResolveBatching(written, config.max_batch_size, config.warnings));
  config.proto = CompleteProto(written, config, platform, signature);
  return config;
}

}  // namespace tondar
