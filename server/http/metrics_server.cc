#include "server/http/metrics_server.h"

#include <utility>

namespace tondar {
namespace {

constexpr size_t kMaxBodySize = 65536;  // a scrape has none
constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";  // Prometheus' text format

}  // namespace

class MetricsServer::Handler final : public http::HttpHandler {
 public:
  explicit Handler(std::function<std::string()> text) : text_(std::move(text)) {}

  void Handle(const http::HttpRequest& request, http::Exchange& exchange) override {
    const std::string_view path = request.target.substr(0, request.target.find('?'));
    if (path != "/metrics") return exchange.Respond(http::ErrorResponse(404, "unknown path; metrics are at /metrics"));
    if (request.method != http::kGet && request.method != http::kHead) {
      http::HttpResponse refused = http::ErrorResponse(405, "metrics are read with GET");
      refused.extra_headers = "Allow: GET, HEAD\r\n";
      return exchange.Respond(std::move(refused));
    }
    http::HttpResponse response;
    response.content_type = kContentType;
    response.text = text_();
    exchange.Respond(std::move(response));
  }

 private:
  const std::function<std::string()> text_;
};

MetricsServer::~MetricsServer() {
  if (listener_) Stop();
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::Create(const MetricsServerOptions& options,
                                                             std::function<std::string()> text) {
  std::unique_ptr<MetricsServer> server(new MetricsServer());
  server->handler_ = std::make_unique<Handler>(std::move(text));
  http::ListenerOptions listener{options.address, options.port, 1, {}};
  listener.limits.max_body_size = kMaxBodySize;
  TONDAR_ASSIGN_OR_RETURN(server->listener_, http::Listener::Create(listener, *server->handler_));
  return server;
}

}  // namespace tondar
