#include "server/http/testing/fake_services.h"

#include <cstring>

namespace tondar {
namespace {

Status CheckModel(std::string_view name, std::string_view version) {
  if (name == "loading") return Unavailable("model 'loading' has no ready version");
  if (name != "m" || (!version.empty() && version != "1" && version != "2")) {
    return NotFound("no model '{}' version '{}'", name, version);
  }
  return OkStatus();
}

}  // namespace

void FakeInferenceService::Infer(std::unique_ptr<Request> request) {
  ++calls;
  if (on_infer) return on_infer(std::move(request));
  Echo(std::move(request));
}

void FakeInferenceService::Echo(std::unique_ptr<Request> request) {
  Response response;
  response.model_version = "1";
  for (size_t i = 0; i < request->inputs.size(); ++i) {
    const InputTensor& input = request->inputs[i];
    OutputTensor& output = response.outputs.emplace_back();
    output.name = i < request->outputs.size() ? request->outputs[i].name : "OUT" + std::to_string(i);
    output.dtype = input.dtype;
    output.shape = input.shape;
    output.bytes = ByteBuffer(input.bytes.size());
    if (!input.bytes.empty()) std::memcpy(output.bytes.data(), input.bytes.data(), input.bytes.size());
  }
  Complete(std::move(request), std::move(response));
}

bool FakeControlService::ModelReady(std::string_view name, std::string_view version) const {
  return CheckModel(name, version).ok();
}

ServerMetadata FakeControlService::GetServerMetadata() const { return {"tondar", "0.1.0", {"binary_tensor_data", "statistics"}}; }

Result<ModelMetadata> FakeControlService::GetModelMetadata(std::string_view name, std::string_view version) const {
  TONDAR_RETURN_IF_ERROR(CheckModel(name, version));
  return ModelMetadata{"m", {"1", "2"}, "onnx", {{"x", DType::kFloat32, {-1, 3}}}, {{"y", DType::kString, {-1}}}};
}

Result<ModelConfig> FakeControlService::GetModelConfig(std::string_view name, std::string_view version) const {
  TONDAR_RETURN_IF_ERROR(CheckModel(name, version));
  return config;
}

Result<std::vector<ModelStatistics>> FakeControlService::GetStatistics(std::string_view name,
                                                                       std::string_view version) const {
  if (!name.empty()) TONDAR_RETURN_IF_ERROR(CheckModel(name, version));
  ModelStatistics statistics;
  statistics.name = "m";
  statistics.version = "1";
  statistics.inference_count = 7;
  statistics.success = {3, 900};
  statistics.batches.push_back({4, {1, 10}, {1, 20}, {1, 30}});
  statistics.memory_bytes = 4096;
  return std::vector<ModelStatistics>{statistics};
}

std::vector<ModelIndexEntry> FakeControlService::GetIndex(bool ready_only) const {
  std::vector<ModelIndexEntry> index;
  if (!ready_only) index.push_back({"broken", "", "UNAVAILABLE", "no model file"});
  index.push_back({"m", "1", "READY", ""});
  index.push_back({"m", "2", "READY", ""});
  return index;
}

Status FakeControlService::LoadModel(std::string_view name, const Parameters& parameters) {
  if (before_load) before_load();
  std::string call = "load " + std::string(name);
  for (const auto& [key, value] : parameters) {
    const auto* text = std::get_if<std::string>(&value);
    call += " " + key + "=" + (text != nullptr ? *text : "?");
  }
  MutexLock lock(mu);
  calls.push_back(call);
  return name == "missing" ? NotFound("no model 'missing' in the repository") : OkStatus();
}

Status FakeControlService::UnloadModel(std::string_view name) {
  MutexLock lock(mu);
  calls.push_back("unload " + std::string(name));
  return OkStatus();
}

}  // namespace tondar
