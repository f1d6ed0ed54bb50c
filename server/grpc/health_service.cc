#include "server/grpc/health_service.h"

#include <map>
#include <optional>

namespace tondar {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr std::string_view kInferenceService = "inference.GRPCInferenceService";

}  // namespace

// One open Watch. gRPC's callbacks and the poller meet here, under mu_.
class HealthService::Watcher final : public grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  Watcher(HealthService& health, std::string service) : health_(health), service_(std::move(service)) {}

  const std::string& service() const { return service_; }

  // Tells the client if the status differs from what it was told last.
  void Tell(HealthService::Status status) TONDAR_EXCLUDES(mu_) {
    MutexLock lock(mu_);
    wanted_ = status;
    WriteIfNews();
  }

  // Ends the stream once the message on its way, if any, has been written.
  void End(const grpc::Status& status) TONDAR_EXCLUDES(mu_) {
    MutexLock lock(mu_);
    if (end_) return;
    end_ = status;
    if (!writing_) Finish(*end_);
  }

  void OnWriteDone(bool ok) override TONDAR_EXCLUDES(mu_) {
    MutexLock lock(mu_);
    writing_ = false;
    if (!ok && !end_) end_ = grpc::Status(grpc::StatusCode::CANCELLED, "the client has gone");
    if (end_) return Finish(*end_);
    WriteIfNews();
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override {
    health_.Forget(this);
    delete this;
  }

 private:
  void WriteIfNews() TONDAR_REQUIRES(mu_) {
    if (writing_ || end_ || wanted_ == told_) return;
    told_ = wanted_;
    message_.set_status(wanted_);
    writing_ = true;
    StartWrite(&message_);
  }

  HealthService& health_;
  const std::string service_;
  Mutex mu_;
  HealthCheckResponse message_ TONDAR_GUARDED_BY(mu_);
  HealthService::Status wanted_ TONDAR_GUARDED_BY(mu_) = HealthCheckResponse::UNKNOWN;
  HealthService::Status told_ TONDAR_GUARDED_BY(mu_) = HealthCheckResponse::UNKNOWN;
  bool writing_ TONDAR_GUARDED_BY(mu_) = false;
  std::optional<grpc::Status> end_ TONDAR_GUARDED_BY(mu_);  // what the stream ends or will end with
};

HealthService::HealthService(const ControlService& control, std::chrono::milliseconds poll)
    : control_(control), poll_(poll) {}

HealthService::~HealthService() { Stop(); }

HealthService::Status HealthService::StatusOf(const std::string& service) const {
  const auto serving = [](bool ready) { return ready ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING; };
  if (service.empty() || service == kInferenceService) return serving(control_.Ready());
  if (control_.ModelReady(service, "")) return HealthCheckResponse::SERVING;
  const bool known = control_.GetModelMetadata(service, "").status().code() != StatusCode::kNotFound;
  return known ? HealthCheckResponse::NOT_SERVING : HealthCheckResponse::SERVICE_UNKNOWN;
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* call, const HealthCheckRequest* request,
                                               HealthCheckResponse* reply) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  const Status status = StatusOf(request->service());
  reply->set_status(status);
  reactor->Finish(status == HealthCheckResponse::SERVICE_UNKNOWN
                      ? grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown service")
                      : grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(grpc::CallbackServerContext*,
                                                                   const HealthCheckRequest* request) {
  auto* watcher = new Watcher(*this, request->service());  // deletes itself in OnDone
  watcher->Tell(StatusOf(watcher->service()));
  MutexLock lock(mu_);
  watchers_.push_back(watcher);
  if (stopping_) {
    watcher->End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is shutting down"));
  } else if (!poller_.joinable()) {
    poller_ = std::thread([this] { PollWatchers(); });
  }
  return watcher;
}

void HealthService::PollWatchers() {
  std::map<std::string, Status> statuses;
  for (;;) {
    for (auto& [service, status] : statuses) status = StatusOf(service);  // asked without holding the lock
    MutexLock lock(mu_);
    for (Watcher* watcher : watchers_) {
      if (const auto known = statuses.find(watcher->service()); known != statuses.end()) watcher->Tell(known->second);
    }
    if (!stopping_) wake_.WaitFor(mu_, poll_);
    if (stopping_) return;
    statuses.clear();
    for (Watcher* watcher : watchers_) statuses.emplace(watcher->service(), HealthCheckResponse::UNKNOWN);
  }
}

void HealthService::Forget(Watcher* watcher) {
  MutexLock lock(mu_);
  watchers_.remove(watcher);
}

void HealthService::Stop() {
  std::thread poller;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    for (Watcher* watcher : watchers_) {
      watcher->Tell(HealthCheckResponse::NOT_SERVING);
      watcher->End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is shutting down"));
    }
    poller.swap(poller_);
    wake_.NotifyAll();
  }
  if (poller.joinable()) poller.join();
}

}  // namespace tondar
