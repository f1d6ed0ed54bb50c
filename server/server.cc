#include "server/server.h"

#include <fmt/format.h>

#include <filesystem>
#include <thread>

#include "engine/base/log.h"
#include "engine/base/platform.h"
#include "engine/base/version.h"
#include "server/grpc/grpc_server.h"
#include "server/http/http_server.h"
#include "server/http/metrics_server.h"
#include "server/metrics/process_metrics.h"

namespace tondar {
namespace {

ModelLoaderOptions LoaderOptions(const ServerConfig& config) {
  return {.accelerator = config.accelerator,
          .threads = config.threads,
          .defaults = {.default_max_batch_size = config.default_max_batch_size}};
}

Status CheckRepositories(const std::vector<std::string>& roots) {
  if (roots.empty()) return InvalidArgument("no model repository; give one with --model-repository=DIR");
  for (const std::string& root : roots) {
    std::error_code error;
    if (std::filesystem::is_directory(root, error)) continue;
    return NotFound("model repository '{}' is not a directory{}{}; create it or correct --model-repository", root,
                    error ? ": " : "", error ? error.message() : "");
  }
  return OkStatus();
}

std::string Describe(const std::vector<LoadFailure>& failures) {
  std::string text;
  for (const LoadFailure& failure : failures) {
    text += fmt::format("{}{}", text.empty() ? "" : "\n", failure.status.message());
  }
  return text;
}

// What large requests leave in the allocator's pools goes back to the system, a few seconds after they are over. Below
// this the pages are kept: trimming costs milliseconds, and the next request its page faults.
constexpr std::chrono::seconds kGiveBackInterval{5};
constexpr size_t kKeptFreeBytes = size_t{64} << 20;

void GiveBackMemory() {
  if (FreeMemoryHeld() > kKeptFreeBytes) ReturnFreeMemory();
}

std::unique_ptr<Executor> MakeInstanceThread(int index) {
  return std::make_unique<ThreadPool>(1, fmt::format("instance-{}", index));
}

std::chrono::milliseconds Left(TimePoint end) {
  return std::max(std::chrono::milliseconds(0),
                  std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::Real().Now()));
}

}  // namespace

Server::Server(const ServerConfig& config, std::unique_ptr<Engine> engine)
    : config_(config),
      engine_(std::move(engine)),
      loader_(LoaderOptions(config), {*engine_, Clock::Real(), timer_, registry_, MakeInstanceThread}),
      reaper_(std::make_unique<ThreadPool>(1, "reaper")),
      load_threads_(std::make_unique<ThreadPool>(std::max(config.model_load_threads, 1), "load")),
      repository_({config.model_repository, config.model_control_mode, config.load_model},
                  {loader_, *load_threads_, *reaper_, registry_}),
      inference_(repository_, registry_, Clock::Real()),
      control_({.server_version = kVersion, .strict_readiness = config.strict_readiness}, repository_) {
  AddProcessMetrics(registry_, kVersion);
}

Result<std::unique_ptr<Server>> Server::Create(const ServerConfig& config, std::unique_ptr<Engine> engine) {
  TONDAR_RETURN_IF_ERROR(CheckRepositories(config.model_repository));
  TONDAR_RETURN_IF_ERROR(engine->CheckAccelerator(config.accelerator).Annotated("--accelerator"));
  std::unique_ptr<Server> server(new Server(config, std::move(engine)));
  TONDAR_RETURN_IF_ERROR(server->OpenPorts());
  return server;
}

Status Server::OpenPorts() {
  if (config_.allow_http) {
    HttpServerOptions options;
    options.address = config_.http_address;
    options.port = config_.http_port;
    options.threads = config_.http_threads;
    options.max_input_size = config_.http_max_input_size;
    options.load_threads = config_.model_load_threads;
    TONDAR_ASSIGN_OR_RETURN(http_, HttpServer::Create(options, inference_, control_));
    LogInfo("REST on {}:{}", config_.http_address, http_->port());
  }
  if (config_.allow_grpc) {
    TONDAR_ASSIGN_OR_RETURN(const GrpcServerOptions options, GrpcOptionsFrom(config_));
    TONDAR_ASSIGN_OR_RETURN(grpc_, GrpcServer::Create(options, inference_, control_));
    LogInfo("gRPC on {}:{}", config_.grpc_address, grpc_->port());
  }
  if (config_.allow_metrics) {
    MetricsServerOptions options;
    options.address = config_.metrics_address;
    options.port = config_.metrics_port;
    TONDAR_ASSIGN_OR_RETURN(metrics_, MetricsServer::Create(options, [this] { return registry_.Export(); }));
    LogInfo("metrics on {}:{}/metrics", config_.metrics_address, metrics_->port());
  }
  return OkStatus();
}

Server::~Server() {
  Drain();
  load_threads_.reset();  // finishes the load under way
  reaper_.reset();        // ends the last versions
}

void Server::Start() {
  repository_.LoadInitial([this](std::vector<LoadFailure> failures) {
    control_.SetStarted();
    LogInfo("{}", failures.empty() ? "all models wanted at start are loaded" : "some models wanted at start do not serve");
    MutexLock lock(mu_);
    started_ = true;
    failures_ = std::move(failures);
    changed_.NotifyAll();
  });
  if (config_.model_control_mode == ModelControlMode::kPoll) {
    polling_ = std::make_unique<PeriodicTask>([this] { repository_.Poll(); }, config_.repository_poll, Clock::Real(),
                                              timer_, *reaper_);
  }
  giving_back_ = std::make_unique<PeriodicTask>(GiveBackMemory, kGiveBackInterval, Clock::Real(), timer_, *reaper_);
}

Status Server::WaitUntilStarted() {
  MutexLock lock(mu_);
  while (!started_ && !stop_requested_) changed_.Wait(mu_);
  if (failures_.empty()) return OkStatus();
  return FailedPrecondition("{} of the models wanted at start do not serve:\n{}", failures_.size(), Describe(failures_));
}

void Server::WaitForStop() {
  MutexLock lock(mu_);
  while (!stop_requested_) changed_.Wait(mu_);
}

void Server::RequestStop() {
  MutexLock lock(mu_);
  stop_requested_ = true;
  changed_.NotifyAll();
}

void Server::Drain() {
  if (std::exchange(drained_, true)) return;
  const TimePoint end = Clock::Real().Now() + config_.exit_timeout;
  control_.BeginDrain();  // first, so that no one is sent here who would be refused
  inference_.BeginDrain();
  polling_.reset();
  giving_back_.reset();
  if (http_) http_->BeginDrain();
  // Both at once: each may take all of the time there is.
  std::thread stopping_grpc([&] {
    if (grpc_) grpc_->Stop(Left(end));
  });
  if (http_ && !http_->Drain(Left(end))) {
    LogWarning("requests were still being answered after exit_timeout, {} s; they are refused", config_.exit_timeout.count());
  }
  if (grpc_ && Left(end).count() > 0) stopping_grpc.join();
  repository_.Shutdown();  // answers what still waits in queues, so that the rest can end
  if (stopping_grpc.joinable()) stopping_grpc.join();
  if (http_) http_->Stop();
  if (metrics_) metrics_->Stop();
}

int Server::http_port() const { return http_ ? http_->port() : 0; }
int Server::grpc_port() const { return grpc_ ? grpc_->port() : 0; }
int Server::metrics_port() const { return metrics_ ? metrics_->port() : 0; }

}  // namespace tondar
