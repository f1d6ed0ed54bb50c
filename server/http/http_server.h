// The REST front end: the v2 inference protocol over HTTP/1.1.
#ifndef TONDAR_SERVER_HTTP_HTTP_SERVER_H_
#define TONDAR_SERVER_HTTP_HTTP_SERVER_H_

#include <chrono>
#include <memory>
#include <string>

#include "engine/base/executor.h"
#include "engine/base/status.h"
#include "server/http/listener.h"
#include "server/http/router.h"
#include "server/service/control_service.h"
#include "server/service/inference_service.h"

namespace tondar {

struct HttpServerOptions {
  std::string address = "0.0.0.0";
  int port = 8000;  // 0 = any free one, see port()
  int threads = 2;
  size_t max_input_size = 64u << 20;  // bytes of a body, also after decompression
  int load_threads = 2;               // models loaded or unloaded at once through this door
  http::ConnectionLimits limits;      // max_body_size is taken from max_input_size
};

// Listens from Create to Stop. Thread-compatible.
class HttpServer {
 public:
  // The services outlive the server. InvalidArgument: bad options. Unavailable: the port cannot be had.
  static Result<std::unique_ptr<HttpServer>> Create(const HttpServerOptions& options, InferenceService& inference,
                                                    ControlService& control);
  ~HttpServer();  // stops

  int port() const { return listener_->port(); }

  // Refuses new connections and makes every answer close its connection; does not block. Requests that still come on
  // open connections go to the service, which refuses them once it drains.
  void BeginDrain() { listener_->BeginDrain(); }
  // BeginDrain, then waits for the requests under way and closes what is idle. False if `limit` passed first.
  bool Drain(std::chrono::milliseconds limit) { return listener_->Drain(limit); }
  // Closes all connections at once; requests under way are cancelled, and waited for.
  void Stop() { listener_->Stop(); }

 private:
  HttpServer(const HttpServerOptions& options, InferenceService& inference, ControlService& control);

  ThreadPool blocking_;
  http::Router router_;
  std::unique_ptr<http::Listener> listener_;  // destroyed first: it calls the router
};

}  // namespace tondar

#endif  // TONDAR_SERVER_HTTP_HTTP_SERVER_H_
