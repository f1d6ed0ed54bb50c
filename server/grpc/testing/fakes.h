// Services that do what a test says.
#ifndef TONDAR_SERVER_GRPC_TESTING_FAKES_H_
#define TONDAR_SERVER_GRPC_TESTING_FAKES_H_

#include <atomic>
#include <functional>
#include <memory>

#include "server/service/control_service.h"
#include "server/service/inference_service.h"

namespace tondar::testing {

// Answers each request with its inputs as outputs, or through `behaviour` if one is set (before requests come).
class FakeInferenceService final : public InferenceService {
 public:
  void Infer(std::unique_ptr<Request> request) override;

  std::function<void(std::unique_ptr<Request>)> behaviour;

  // A response whose outputs equal the inputs of `request`.
  static Response Echo(const Request& request);
};

// Knows one model, "echo" version 1 with an FP32 input and output; members may be changed while nothing is called.
class FakeControlService final : public ControlService {
 public:
  bool Live() const override { return true; }
  bool Ready() const override { return ready; }
  bool ModelReady(std::string_view name, std::string_view version) const override;
  ServerMetadata GetServerMetadata() const override;
  Result<ModelMetadata> GetModelMetadata(std::string_view name, std::string_view version) const override;
  Result<ModelConfig> GetModelConfig(std::string_view name, std::string_view version) const override;
  Result<std::vector<ModelStatistics>> GetStatistics(std::string_view name, std::string_view version) const override;
  std::vector<ModelIndexEntry> GetIndex(bool ready_only) const override;
  Status LoadModel(std::string_view name, const Parameters& parameters) override;
  Status UnloadModel(std::string_view name) override;

  std::atomic<bool> ready{true};
  std::function<Status(std::string_view name, const Parameters& parameters)> load;
  std::function<Status(std::string_view name)> unload;
};

}  // namespace tondar::testing

#endif  // TONDAR_SERVER_GRPC_TESTING_FAKES_H_
