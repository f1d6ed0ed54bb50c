#include <condition_variable>
#include <mutex>
#include <optional>

#include "tests/conformance/protocols/driver.h"

namespace tondar::conformance {
namespace {

std::string_view Text(const ByteBuffer& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::unique_ptr<Request> MakeRequest(const Call& call) {
  auto request = std::make_unique<Request>();
  request->model_name = call.model;
  request->model_version = call.version;
  request->id = call.id;
  request->parameters = call.parameters;
  const auto inputs = std::make_shared<std::vector<Tensor>>(call.inputs);
  for (const Tensor& tensor : *inputs) {
    request->inputs.push_back({tensor.name, tensor.dtype, tensor.shape, std::as_bytes(std::span(tensor.bytes)), {}});
  }
  for (const std::string& name : call.outputs) request->outputs.emplace_back().name = name;
  request->storage = inputs;
  return request;
}

Answer ToAnswer(const Response& response) {
  Answer answer{response.model_name, response.model_version, response.id, {}};
  for (const OutputTensor& output : response.outputs) {
    answer.outputs.push_back({output.name, output.dtype, output.shape, std::string(Text(output.bytes))});
  }
  return answer;
}

class InProcessDriver final : public Driver {
 public:
  explicit InProcessDriver(Server& server) : inference_(server.inference()), control_(server.control()) {}

  Result<Answer> Infer(const Call& call) override {
    std::mutex mutex;
    std::condition_variable answered;
    std::optional<Response> response;
    std::unique_ptr<Request> request = MakeRequest(call);
    request->on_complete = [&](std::unique_ptr<Request>, Response given) {
      const std::lock_guard lock(mutex);
      response = std::move(given);
      answered.notify_one();
    };
    inference_.Infer(std::move(request));
    std::unique_lock lock(mutex);
    answered.wait(lock, [&] { return response.has_value(); });
    if (!response->status.ok()) return response->status;
    return ToAnswer(*response);
  }

  bool Live() override { return control_.Live(); }
  bool Ready() override { return control_.Ready(); }
  bool ModelReady(std::string_view model, std::string_view version) override {
    return control_.ModelReady(model, version);
  }
  ServerMetadata GetServerMetadata() override { return control_.GetServerMetadata(); }
  Result<ModelMetadata> GetModelMetadata(std::string_view model, std::string_view version) override {
    return control_.GetModelMetadata(model, version);
  }
  Result<std::string> GetModelConfig(std::string_view model, std::string_view version) override {
    TONDAR_ASSIGN_OR_RETURN(const ModelConfig config, control_.GetModelConfig(model, version));
    return ModelConfigToJson(config);
  }
  Result<std::vector<ModelStatistics>> GetStatistics(std::string_view model, std::string_view version) override {
    return control_.GetStatistics(model, version);
  }
  std::vector<ModelIndexEntry> GetIndex(bool ready_only) override { return control_.GetIndex(ready_only); }
  Status LoadModel(std::string_view model, const Parameters& parameters) override {
    return control_.LoadModel(model, parameters);
  }
  Status UnloadModel(std::string_view model, const Parameters& parameters) override {
    return control_.UnloadModel(model, parameters);
  }

 private:
  InferenceService& inference_;
  ControlService& control_;
};

}  // namespace

std::unique_ptr<Driver> ConnectInProcess(Server& server) { return std::make_unique<InProcessDriver>(server); }

}  // namespace tondar::conformance
