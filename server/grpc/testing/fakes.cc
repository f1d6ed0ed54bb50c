#include "server/grpc/testing/fakes.h"

#include <cstring>

namespace tondar::testing {
namespace {

Status CheckName(std::string_view name) {
  return name == "echo" ? OkStatus() : NotFound("unknown model '{}'", name);
}

}  // namespace

Response FakeInferenceService::Echo(const Request& request) {
  Response response;
  response.model_version = "1";
  for (const InputTensor& input : request.inputs) {
    OutputTensor& output = response.outputs.emplace_back();
    output.name = input.name;
    output.dtype = input.dtype;
    output.shape = input.shape;
    output.bytes = ByteBuffer(input.bytes.size());
    if (!input.bytes.empty()) std::memcpy(output.bytes.data(), input.bytes.data(), input.bytes.size());
  }
  return response;
}

void FakeInferenceService::Infer(std::unique_ptr<Request> request) {
  if (behaviour) return behaviour(std::move(request));
  Response response = Echo(*request);
  Complete(std::move(request), std::move(response));
}

bool FakeControlService::ModelReady(std::string_view name, std::string_view) const { return name == "echo"; }

ServerMetadata FakeControlService::GetServerMetadata() const { return {"tondar", "0.1.0", {"statistics"}}; }

Result<ModelMetadata> FakeControlService::GetModelMetadata(std::string_view name, std::string_view) const {
  TONDAR_RETURN_IF_ERROR(CheckName(name));
  return ModelMetadata{"echo", {"1"}, "onnx", {{"x", DType::kFloat32, {-1, 4}}}, {{"x", DType::kFloat32, {-1, 4}}}};
}

Result<ModelConfig> FakeControlService::GetModelConfig(std::string_view name, std::string_view) const {
  TONDAR_RETURN_IF_ERROR(CheckName(name));
  Signature signature;
  signature.symbols = {{"batch", 1, INT64_MAX}};
  signature.inputs = signature.outputs = {{"x", DType::kFloat32, {Dim::Symbol(0), 4}}};
  DeriveBatching(signature);
  return ResolveModelConfig({}, "echo", "onnx", signature, {});
}

Result<std::vector<ModelStatistics>> FakeControlService::GetStatistics(std::string_view name, std::string_view) const {
  if (!name.empty()) TONDAR_RETURN_IF_ERROR(CheckName(name));
  ModelStatistics statistics;
  statistics.name = "echo";
  statistics.version = "1";
  statistics.inference_count = 3;
  statistics.success = {2, 1000};
  statistics.batches = {{2, {1, 2}, {3, 4}, {5, 6}}};
  statistics.memory_bytes = 77;
  return std::vector<ModelStatistics>{statistics};
}

std::vector<ModelIndexEntry> FakeControlService::GetIndex(bool ready_only) const {
  std::vector<ModelIndexEntry> index = {{"echo", "1", "READY", ""}};
  if (!ready_only) index.push_back({"broken", "", "UNAVAILABLE", "no file"});
  return index;
}

Status FakeControlService::LoadModel(std::string_view name, const Parameters& parameters) {
  return load ? load(name, parameters) : OkStatus();
}

Status FakeControlService::UnloadModel(std::string_view name) { return unload ? unload(name) : OkStatus(); }

}  // namespace tondar::testing
