// Finds the route of a request by its path and verb.
#ifndef TONDAR_SERVER_HTTP_ROUTER_H_
#define TONDAR_SERVER_HTTP_ROUTER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_message.h"
#include "server/http/route.h"

namespace tondar::http {

// Answers what no route can: 404 unknown path, 405 wrong verb with Allow, 415 unknown Content-Encoding, and what
// Decompress refuses. Thread-safe: nothing changes after construction.
class Router final : public HttpHandler {
 public:
  Router(const RouteServices& services, size_t max_body_size);
  void Handle(const HttpRequest& request, Exchange& exchange) override;

 private:
  enum class Kind : uint8_t { kLiteral, kModel, kVersion, kAny };
  struct Segment {
    Kind kind;
    std::string_view text;
  };
  struct CompiledRoute {
    uint8_t methods;
    RouteFunction function;
    std::vector<Segment> segments;
  };
  struct Match {
    const CompiledRoute* route = nullptr;
    std::string_view model, version;  // as sent
  };

  void Add(const Route& route);
  void AddPattern(const Route& route, const std::vector<std::string_view>& pieces);
  static bool Matches(const CompiledRoute& route, std::span<const std::string_view> path, Match& match);
  void Call(const HttpRequest& request, Exchange& exchange);
  void CallRoute(const Match& match, const HttpRequest& request, Exchange& exchange);

  const RouteServices services_;
  const size_t max_body_size_;
  std::vector<CompiledRoute> routes_;
};

// "a%20b" decoded; nullopt if the percent signs make no sense.
std::optional<std::string> PercentDecode(std::string_view text);

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_ROUTER_H_
