// The listener that Prometheus scrapes: GET /metrics on a port of its own.
#ifndef TONDAR_SERVER_HTTP_METRICS_SERVER_H_
#define TONDAR_SERVER_HTTP_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "engine/base/status.h"
#include "server/http/http_message.h"
#include "server/http/listener.h"

namespace tondar {

struct MetricsServerOptions {
  std::string address = "0.0.0.0";
  int port = 8002;  // 0 = any free one, see port()
};

// Answers every scrape with what `text` returns at that moment; other paths 404. Thread-compatible.
class MetricsServer {
 public:
  // `text` is called on the listener's thread. InvalidArgument: bad options. Unavailable: the port cannot be had.
  static Result<std::unique_ptr<MetricsServer>> Create(const MetricsServerOptions& options,
                                                       std::function<std::string()> text);
  ~MetricsServer();  // stops

  int port() const { return listener_->port(); }
  void Stop() { listener_->Stop(); }

 private:
  class Handler;
  MetricsServer() = default;

  std::unique_ptr<Handler> handler_;
  std::unique_ptr<http::Listener> listener_;  // destroyed first
};

}  // namespace tondar

#endif  // TONDAR_SERVER_HTTP_METRICS_SERVER_H_
