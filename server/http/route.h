// One row of the route table and what a route function gets to see.
#ifndef TONDAR_SERVER_HTTP_ROUTE_H_
#define TONDAR_SERVER_HTTP_ROUTE_H_

#include <memory>
#include <span>
#include <string_view>

#include "engine/base/executor.h"
#include "server/http/http_message.h"
#include "server/service/control_service.h"
#include "server/service/inference_service.h"

namespace tondar::http {

// What routes call. All outlive the router.
struct RouteServices {
  InferenceService& inference;
  ControlService& control;
  Executor& blocking;  // for verbs that wait: load, unload
};

// One request at its route. Valid during the call only, except `exchange`; what is needed later is copied (a body is
// kept by its storage).
struct RouteCall {
  const HttpRequest& request;  // with its body decompressed
  Exchange& exchange;
  std::string_view model;      // percent-decoded; "" where the pattern has none
  std::string_view version;
};

using RouteFunction = void (*)(const RouteServices& services, const RouteCall& call);

// Segments of `pattern`: a literal, {model}, {version} (decimal digits) or {any}; one group in brackets is optional. The
// first row that matches path and verb wins.
struct Route {
  uint8_t methods;  // Method bits; kGet takes HEAD too
  std::string_view pattern;
  RouteFunction function;
};

// The tables, one per file of routes.
std::span<const Route> InferRoutes();
std::span<const Route> HealthRoutes();
std::span<const Route> ModelRoutes();
std::span<const Route> RepositoryRoutes();
std::span<const Route> UnimplementedRoutes();

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_ROUTE_H_
