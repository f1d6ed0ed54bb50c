// InferenceServiceImpl: lookup, validation, hand-over to the version's scheduler.
#ifndef TONDAR_SERVER_SERVICE_INFERENCE_SERVICE_IMPL_H_
#define TONDAR_SERVER_SERVICE_INFERENCE_SERVICE_IMPL_H_

#include <array>
#include <atomic>
#include <memory>

#include "engine/base/clock.h"
#include "server/metrics/registry.h"
#include "server/repository/model_repository.h"
#include "server/service/inference_service.h"

namespace tondar {

class InferenceServiceImpl final : public InferenceService {
 public:
  // All outlive the service.
  InferenceServiceImpl(const ModelRepository& repository, MetricRegistry& registry, const Clock& clock);

  void Infer(std::unique_ptr<Request> request) override;
  void CountRefused(Protocol protocol, StatusCode code) override;

  // Refuses requests from here on with Unavailable; those that were accepted are answered as ever.
  void BeginDrain() { draining_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr size_t kProtocols = 3;
  static constexpr size_t kCodes = 17;

  Result<ModelHandle> Accept(Request& request) const;
  void Refuse(std::unique_ptr<Request> request, Status status);

  const ModelRepository& repository_;
  const Clock& clock_;
  std::atomic<bool> draining_{false};
  std::array<std::array<std::shared_ptr<Counter>, kCodes>, kProtocols> refused_;  // fixed after construction
};

}  // namespace tondar

#endif  // TONDAR_SERVER_SERVICE_INFERENCE_SERVICE_IMPL_H_
