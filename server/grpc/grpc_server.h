// The gRPC front end.
#ifndef TONDAR_SERVER_GRPC_GRPC_SERVER_H_
#define TONDAR_SERVER_GRPC_GRPC_SERVER_H_

#include <chrono>
#include <memory>
#include <string>

#include "engine/base/status.h"
#include "server/config/server_config.h"
#include "server/service/control_service.h"
#include "server/service/inference_service.h"

namespace tondar {

struct GrpcServerOptions {
  std::string address = "0.0.0.0";
  int port = 8001;  // 0 = any free one
  size_t max_message_bytes = INT32_MAX;
  // TLS if `certificate` is not empty; clients must show a certificate if `client_authorities` is not. PEM text.
  std::string certificate, private_key, client_authorities;
};

// The options in `config`; reads the PEM files. InvalidArgument: a file that cannot be read.
Result<GrpcServerOptions> GrpcOptionsFrom(const ServerConfig& config);

// Serves from Create until Stop or the destructor. Thread-safe.
class GrpcServer {
 public:
  // `inference` and `control` outlive the server. Unavailable: the port is taken or the address is not ours.
  // InvalidArgument: bad certificates.
  static Result<std::unique_ptr<GrpcServer>> Create(const GrpcServerOptions& options, InferenceService& inference,
                                                    ControlService& control);
  // Stops with a deadline of zero if Stop has not been called.
  virtual ~GrpcServer() = default;

  virtual int port() const = 0;

  // Stops listening, lets calls in flight finish until `grace` has passed, then cancels the rest. Blocks until the last
  // call has ended. Readiness should have turned false before, so that clients have gone elsewhere.
  virtual void Stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_GRPC_GRPC_SERVER_H_
