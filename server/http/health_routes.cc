// GET /v2, /v2/health/live, /v2/health/ready
#include "server/http/json_writer.h"
#include "server/http/route.h"

namespace tondar::http {
namespace {

// Triton's clients go by the status, KServe's by the body; both are answered.
HttpResponse Truth(std::string_view key, bool value) {
  HttpResponse response;
  response.status = value ? 200 : 503;
  JsonWriter json(response.text);
  json.BeginObject();
  json.Key(key);
  json.Bool(value);
  json.EndObject();
  return response;
}

void ServerLive(const RouteServices& services, const RouteCall& call) {
  call.exchange.Respond(Truth("live", services.control.Live()));
}

void ServerReady(const RouteServices& services, const RouteCall& call) {
  call.exchange.Respond(Truth("ready", services.control.Ready()));
}

void ServerMetadataOf(const RouteServices& services, const RouteCall& call) {
  const ServerMetadata metadata = services.control.GetServerMetadata();
  HttpResponse response;
  JsonWriter json(response.text);
  json.BeginObject();
  json.Key("name");
  json.String(metadata.name);
  json.Key("version");
  json.String(metadata.version);
  json.Key("extensions");
  json.BeginArray();
  for (const std::string& extension : metadata.extensions) json.String(extension);
  json.EndArray();
  json.EndObject();
  call.exchange.Respond(std::move(response));
}

constexpr Route kRoutes[] = {
    {kGet, "/v2/health/live", &ServerLive},
    {kGet, "/v2/health/ready", &ServerReady},
    {kGet, "/v2", &ServerMetadataOf},
};

}  // namespace

std::span<const Route> HealthRoutes() { return kRoutes; }

}  // namespace tondar::http
