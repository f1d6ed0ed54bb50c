// grpc.health.v1 over the readiness of the control service.
#ifndef TONDAR_SERVER_GRPC_HEALTH_SERVICE_H_
#define TONDAR_SERVER_GRPC_HEALTH_SERVICE_H_

#include <list>
#include <thread>

#include "engine/base/mutex.h"
#include "health.grpc.pb.h"
#include "server/service/control_service.h"

namespace tondar {

// Services with a health of their own: "" and "inference.GRPCInferenceService" mean the server, another name the model
// of that name. Check answers NOT_FOUND for a name that is neither; Watch answers SERVICE_UNKNOWN and goes on watching.
class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;

  // `poll` is how often watched services are looked at. `control` outlives the service.
  explicit HealthService(const ControlService& control,
                         std::chrono::milliseconds poll = std::chrono::milliseconds(100));
  ~HealthService() override;

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* call,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* reply) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* call, const grpc::health::v1::HealthCheckRequest* request) override
      TONDAR_EXCLUDES(mu_);

  // Ends all watches, after which they are refused; a server cannot shut down while a stream is open.
  void Stop() TONDAR_EXCLUDES(mu_);

 private:
  class Watcher;

  Status StatusOf(const std::string& service) const;
  void PollWatchers() TONDAR_EXCLUDES(mu_);
  void Forget(Watcher* watcher) TONDAR_EXCLUDES(mu_);

  const ControlService& control_;
  const std::chrono::milliseconds poll_;
  Mutex mu_;
  CondVar wake_;
  bool stopping_ TONDAR_GUARDED_BY(mu_) = false;
  std::list<Watcher*> watchers_ TONDAR_GUARDED_BY(mu_);  // each owns itself and leaves the list in OnDone
  std::thread poller_ TONDAR_GUARDED_BY(mu_);            // started by the first watch
};

}  // namespace tondar

#endif  // TONDAR_SERVER_GRPC_HEALTH_SERVICE_H_
