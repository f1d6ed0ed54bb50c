#include "server/http/http_server.h"

namespace tondar {

HttpServer::HttpServer(const HttpServerOptions& options, InferenceService& inference, ControlService& control)
    : blocking_(options.load_threads, "http-load"),
      router_(http::RouteServices{inference, control, blocking_}, options.max_input_size) {}

HttpServer::~HttpServer() {
  if (listener_) Stop();
}

Result<std::unique_ptr<HttpServer>> HttpServer::Create(const HttpServerOptions& options, InferenceService& inference,
                                                       ControlService& control) {
  if (options.load_threads < 1) return InvalidArgument("http: {} load threads, expected at least 1", options.load_threads);
  std::unique_ptr<HttpServer> server(new HttpServer(options, inference, control));
  http::ListenerOptions listener{options.address, options.port, options.threads, options.limits};
  listener.limits.max_body_size = options.max_input_size;
  TONDAR_ASSIGN_OR_RETURN(server->listener_, http::Listener::Create(listener, server->router_));
  return server;
}

}  // namespace tondar
