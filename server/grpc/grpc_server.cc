#include "server/grpc/grpc_server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "engine/base/executor.h"
#include "server/grpc/grpc_inference_service.h"
#include "server/grpc/health_service.h"

namespace tondar {
namespace {

// Loads and unloads that wait at the same time; the repository runs as many as --model-load-threads of them.
constexpr int kWaitingThreads = 4;

// Clients of v2 servers set keepalive pings as often as every ten seconds; gRPC's default would hang up on them.
constexpr int kLeastPingIntervalMs = 5000;

std::shared_ptr<grpc::ServerCredentials> Credentials(const GrpcServerOptions& options) {
  if (options.certificate.empty()) return grpc::InsecureServerCredentials();
  const bool mutual = !options.client_authorities.empty();
  grpc::SslServerCredentialsOptions ssl(mutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                               : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  ssl.pem_key_cert_pairs.push_back({options.private_key, options.certificate});
  ssl.pem_root_certs = options.client_authorities;
  return grpc::SslServerCredentials(ssl);
}

// "::1" needs brackets before a port can follow.
std::string Endpoint(const GrpcServerOptions& options) {
  const bool bare_ipv6 = options.address.find(':') != std::string::npos && !options.address.starts_with('[');
  return fmt::format(fmt::runtime(bare_ipv6 ? "[{}]:{}" : "{}:{}"), options.address, options.port);
}

class GrpcServerImpl final : public GrpcServer {
 public:
  GrpcServerImpl(const GrpcServerOptions& options, InferenceService& inference, ControlService& control)
      : may_wait_(kWaitingThreads, "grpc-control"),
        service_(inference, control, may_wait_, options.max_message_bytes),
        health_(control) {}
  ~GrpcServerImpl() override { Stop(std::chrono::milliseconds(0)); }

  Status Listen(const GrpcServerOptions& options) {
    const int limit = static_cast<int>(std::min<size_t>(options.max_message_bytes, INT32_MAX));
    grpc::ServerBuilder builder;
    builder.AddListeningPort(Endpoint(options), Credentials(options), &port_);
    builder.RegisterService(&service_);
    builder.RegisterService(&health_);
    builder.SetMaxReceiveMessageSize(limit);
    builder.SetMaxSendMessageSize(limit);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server on the port is a mistake, not a helper
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingIntervalMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      return Unavailable("gRPC: cannot listen on {}; the port is taken, the address is not this machine's, or the "
                         "certificate is unusable", Endpoint(options));
    }
    return OkStatus();
  }

  int port() const override { return port_; }

  void Stop(std::chrono::milliseconds grace) override {
    if (server_ == nullptr) return;
    health_.Stop();
    server_->Shutdown(std::chrono::system_clock::now() + grace);
    server_->Wait();
  }

 private:
  ThreadPool may_wait_;  // destroyed last: its tasks refer to the services
  GrpcInferenceService service_;
  HealthService health_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

Result<std::string> ReadPem(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) return InvalidArgument("{}: cannot be read as a PEM file", path);
  return std::move(text).str();
}

}  // namespace

Result<GrpcServerOptions> GrpcOptionsFrom(const ServerConfig& config) {
  GrpcServerOptions options;
  options.address = config.grpc_address;
  options.port = config.grpc_port;
  options.max_message_bytes = config.grpc_max_message_size;
  if (!config.grpc_use_ssl) return options;
  TONDAR_ASSIGN_OR_RETURN(options.certificate, ReadPem(config.grpc_server_cert));
  TONDAR_ASSIGN_OR_RETURN(options.private_key, ReadPem(config.grpc_server_key));
  if (config.grpc_use_ssl_mutual) {
    TONDAR_ASSIGN_OR_RETURN(options.client_authorities, ReadPem(config.grpc_root_cert));
  }
  return options;
}

Result<std::unique_ptr<GrpcServer>> GrpcServer::Create(const GrpcServerOptions& options, InferenceService& inference,
                                                       ControlService& control) {
  auto server = std::make_unique<GrpcServerImpl>(options, inference, control);
  TONDAR_RETURN_IF_ERROR(server->Listen(options));
  return std::unique_ptr<GrpcServer>(std::move(server));
}

}  // namespace tondar
