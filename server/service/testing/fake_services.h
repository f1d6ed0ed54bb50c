// Services that do as little as front ends need to be tested.
#ifndef TONDAR_SERVER_SERVICE_TESTING_FAKE_SERVICES_H_
#define TONDAR_SERVER_SERVICE_TESTING_FAKE_SERVICES_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/mutex.h"
#include "server/service/control_service.h"
#include "server/service/inference_service.h"

namespace tondar::testing {

// Answers every request with its inputs, or does what `on_infer` says. Thread-safe.
class FakeInferenceService final : public InferenceService {
 public:
  void Infer(std::unique_ptr<Request> request) override;

  void CountRefused(Protocol, StatusCode) override { ++refused; }

  // Output i is input i, named as the i-th requested output, else OUT<i>.
  static void Echo(std::unique_ptr<Request> request);

  std::function<void(std::unique_ptr<Request>)> on_infer;  // set before the first request
  std::atomic<int> calls{0}, refused{0};
};

// Serves one model, "m" versions 1 and 2, with an FP32 input "x" [batch, 3] and a BYTES output "y" [batch], and says
// what it was asked; "loading" has no ready version and "missing" cannot be loaded. Thread-safe.
class FakeControlService final : public ControlService {
 public:
  FakeControlService();

  bool Live() const override { return true; }
  bool Ready() const override { return ready; }
  bool ModelReady(std::string_view name, std::string_view version) const override;
  ServerMetadata GetServerMetadata() const override;
  Result<ModelMetadata> GetModelMetadata(std::string_view name, std::string_view version) const override;
  Result<ModelConfig> GetModelConfig(std::string_view name, std::string_view version) const override;
  Result<std::vector<ModelStatistics>> GetStatistics(std::string_view name, std::string_view version) const override;
  std::vector<ModelIndexEntry> GetIndex(bool ready_only) const override;
  Status LoadModel(std::string_view name, const Parameters& parameters) override TONDAR_EXCLUDES(mu);
  Status UnloadModel(std::string_view name, const Parameters& parameters) override TONDAR_EXCLUDES(mu);

  std::atomic<bool> ready{true};
  // Set before the first request.
  ModelConfig config;  // answered for "m"
  std::function<Status(std::string_view name, const Parameters& parameters)> on_load;

  Mutex mu;
  std::vector<std::string> calls TONDAR_GUARDED_BY(mu);  // "load NAME config=...", "unload NAME ..."
};

}  // namespace tondar::testing

#endif  // TONDAR_SERVER_SERVICE_TESTING_FAKE_SERVICES_H_
