// ControlServiceImpl: metadata, health, statistics and the repository verbs.
#ifndef TONDAR_SERVER_SERVICE_CONTROL_SERVICE_IMPL_H_
#define TONDAR_SERVER_SERVICE_CONTROL_SERVICE_IMPL_H_

#include <atomic>
#include <chrono>
#include <string>

#include "server/repository/model_repository.h"
#include "server/service/control_service.h"

namespace tondar {

struct ControlServiceOptions {
  std::string server_version;
  bool strict_readiness = true;  // ready only once the models wanted at start have been
  // How long UnloadModel waits for the last requests of the model before it leaves them to themselves.
  std::chrono::milliseconds unload_wait{10'000};
};

class ControlServiceImpl final : public ControlService {
 public:
  // `repository` outlives the service.
  ControlServiceImpl(ControlServiceOptions options, ModelRepository& repository);

  bool Live() const override { return true; }
  bool Ready() const override;
  bool ModelReady(std::string_view name, std::string_view version) const override;
  ServerMetadata GetServerMetadata() const override;
  Result<ModelMetadata> GetModelMetadata(std::string_view name, std::string_view version) const override;
  Result<ModelConfig> GetModelConfig(std::string_view name, std::string_view version) const override;
  Result<std::vector<ModelStatistics>> GetStatistics(std::string_view name, std::string_view version) const override;
  std::vector<ModelIndexEntry> GetIndex(bool ready_only) const override;
  Status LoadModel(std::string_view name, const Parameters& parameters) override;
  Status UnloadModel(std::string_view name, const Parameters& parameters) override;

  // The loads at start have ended, well or not.
  void SetStarted() { started_.store(true, std::memory_order_relaxed); }
  // Not ready from here on; loads are refused.
  void BeginDrain() { draining_.store(true, std::memory_order_relaxed); }

 private:
  const ControlServiceOptions options_;
  ModelRepository& repository_;
  std::atomic<bool> started_{false};
  std::atomic<bool> draining_{false};
  mutable std::atomic<bool> was_ready_{false};  // once ready, later loads and failures do not flip it
};

}  // namespace tondar

#endif  // TONDAR_SERVER_SERVICE_CONTROL_SERVICE_IMPL_H_
