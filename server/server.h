// Server: ties configuration, repository, services and front ends together.
#ifndef TONDAR_SERVER_SERVER_H_
#define TONDAR_SERVER_SERVER_H_

#include <memory>
#include <optional>
#include <vector>

#include "engine/api/engine.h"
#include "engine/base/executor.h"
#include "engine/base/mutex.h"
#include "server/config/server_config.h"
#include "server/metrics/registry.h"
#include "server/repository/model_loader.h"
#include "server/repository/model_repository.h"
#include "server/scheduler/periodic_task.h"
#include "server/scheduler/wakeup_timer.h"
#include "server/service/control_service_impl.h"
#include "server/service/inference_service_impl.h"

namespace tondar {

class GrpcServer;
class HttpServer;
class MetricsServer;

// A server from its ports to its models. Life: Create (listening, live, not ready) → Start (loads; ready when done) →
// Drain (not ready, refuses, finishes) → destruction. Thread-compatible, but for RequestStop, which any thread may call.
class Server {
 public:
  // Opens the ports; nothing is loaded. Unavailable: a port is taken. InvalidArgument: bad options, unreadable
  // certificates. NotFound: a repository directory does not exist.
  static Result<std::unique_ptr<Server>> Create(const ServerConfig& config, std::unique_ptr<Engine> engine);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Begins to load the models wanted at start, and to poll if that is the mode. Returns at once.
  void Start();

  // Blocks until the loads at start have ended or a stop was requested. The error names the models that do not serve.
  Status WaitUntilStarted() TONDAR_EXCLUDES(mu_);
  // Blocks until a stop is requested.
  void WaitForStop() TONDAR_EXCLUDES(mu_);
  void RequestStop() TONDAR_EXCLUDES(mu_);

  // Turns readiness false at once, refuses new requests with Unavailable, finishes those that were accepted, and closes
  // the ports; after exit_timeout what still waits is refused and what runs is waited for.
  void Drain();

  // What the front ends speak to, for callers inside the process. They end with the server.
  InferenceService& inference() { return inference_; }
  ControlService& control() { return control_; }

  // 0 where the front end is switched off.
  int http_port() const;
  int grpc_port() const;
  int metrics_port() const;

 private:
  Server(const ServerConfig& config, std::unique_ptr<Engine> engine);
  Status OpenPorts();

  const ServerConfig config_;
  // In the order in which things are used, so that destruction ends the users first.
  MetricRegistry registry_;
  const std::unique_ptr<Engine> engine_;
  TimerThread timer_;
  ModelLoader loader_;
  std::unique_ptr<ThreadPool> reaper_;        // versions end here, and polls run here; ends last of the three
  std::unique_ptr<ThreadPool> load_threads_;
  ModelRepository repository_;
  InferenceServiceImpl inference_;
  ControlServiceImpl control_;
  std::unique_ptr<PeriodicTask> polling_, giving_back_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<MetricsServer> metrics_;
  bool drained_ = false;

  Mutex mu_;
  CondVar changed_;
  bool stop_requested_ TONDAR_GUARDED_BY(mu_) = false;
  bool started_ TONDAR_GUARDED_BY(mu_) = false;
  std::vector<LoadFailure> failures_ TONDAR_GUARDED_BY(mu_);
};

// `tondar serve`: runs a server until SIGTERM or SIGINT, then drains it; a second signal ends the process at once.
// Returns the exit code: 0 drained, 1 could not start (with exit_on_error: not all models wanted at start serve).
int RunServer(const ServerConfig& config);

}  // namespace tondar

#endif  // TONDAR_SERVER_SERVER_H_
