#include "server/service/testing/fake_services.h"

#include <cstring>

namespace tondar::testing {
namespace {

Status CheckModel(std::string_view name, std::string_view version) {
  if (name == "loading") return Unavailable("model 'loading' has no ready version");
  if (name != "m" || (!version.empty() && version != "1" && version != "2")) {
    return NotFound("no model '{}' version '{}'", name, version);
  }
  return OkStatus();
}

ModelConfig ConfigOfM() {
  Signature signature;
  signature.symbols = {{"batch", 1, INT64_MAX}};
  signature.inputs = {{"x", DType::kFloat32, {Dim::Symbol(0), 3}}};
  signature.outputs = {{"y", DType::kString, {Dim::Symbol(0)}}};
  DeriveBatching(signature);
  return ResolveModelConfig({}, "m", "onnx", signature, {}).value();
}

std::string TextOf(const ParameterValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return "?";
}

// "load m config={}"
std::string Describe(std::string_view verb, std::string_view name, const Parameters& parameters) {
  std::string call = fmt::format("{} {}", verb, name);
  for (const auto& [key, value] : parameters) call += fmt::format(" {}={}", key, TextOf(value));
  return call;
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

FakeControlService::FakeControlService() : config(ConfigOfM()) {}

bool FakeControlService::ModelReady(std::string_view name, std::string_view version) const {
  return CheckModel(name, version).ok();
}

ServerMetadata FakeControlService::GetServerMetadata() const {
  return {"tondar", "0.1.0", {"binary_tensor_data", "statistics"}};
}

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
  statistics.batches.push_back({4, {1, 10}, {2, 20}, {3, 30}});
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
  {
    MutexLock lock(mu);
    calls.push_back(Describe("load", name, parameters));
  }
  if (on_load) return on_load(name, parameters);
  return name == "missing" ? NotFound("no model 'missing' in the repository") : OkStatus();
}

Status FakeControlService::UnloadModel(std::string_view name, const Parameters& parameters) {
  MutexLock lock(mu);
  calls.push_back(Describe("unload", name, parameters));
  return OkStatus();
}

}  // namespace tondar::testing
