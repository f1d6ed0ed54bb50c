// Paths of the protocol's extensions that this server does not advertise: 501 says more than 404.
#include "server/http/route.h"

namespace tondar::http {
namespace {

void NotImplemented(const RouteServices&, const RouteCall& call) {
  call.exchange.Respond(ErrorResponse(501, "this extension of the protocol is not implemented here"));
}

// No region can be registered, so this is the whole truth.
void NoRegions(const RouteServices&, const RouteCall& call) {
  HttpResponse response;
  response.text = "[]";
  call.exchange.Respond(std::move(response));
}

constexpr Route kRoutes[] = {
    {kGet, "/v2/systemsharedmemory[/region/{any}]/status", &NoRegions},
    {kPost, "/v2/systemsharedmemory/region/{any}/register", &NotImplemented},
    {kPost, "/v2/systemsharedmemory[/region/{any}]/unregister", &NotImplemented},
    {kGet, "/v2/cudasharedmemory[/region/{any}]/status", &NoRegions},
    {kPost, "/v2/cudasharedmemory/region/{any}/register", &NotImplemented},
    {kPost, "/v2/cudasharedmemory[/region/{any}]/unregister", &NotImplemented},
    {kGet | kPost, "/v2/trace/setting", &NotImplemented},
    {kGet | kPost, "/v2/models/{model}/trace/setting", &NotImplemented},
    {kGet | kPost, "/v2/logging", &NotImplemented},
    {kPost, "/v2/models/{model}[/versions/{version}]/generate", &NotImplemented},
    {kPost, "/v2/models/{model}[/versions/{version}]/generate_stream", &NotImplemented},
    {kPost, "/v2/repository/{any}/index", &NotImplemented},  // named repositories
    {kPost, "/v2/repository/{any}/models/{model}/load", &NotImplemented},
    {kPost, "/v2/repository/{any}/models/{model}/unload", &NotImplemented},
};

}  // namespace

std::span<const Route> UnimplementedRoutes() { return kRoutes; }

}  // namespace tondar::http
