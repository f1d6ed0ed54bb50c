// POST /v2/repository/index, /v2/repository/models/{model}/load, .../unload
#include <functional>
#include <string>

#include "server/http/json_reader.h"
#include "server/http/json_writer.h"
#include "server/http/route.h"

namespace tondar::http {
namespace {

// Bodies are optional here: clients send none, {} or more.
template <typename Read>
Status ReadOptionalBody(const HttpRequest& request, Read read) {
  if (request.body.empty()) return OkStatus();
  return ReadJsonObject(request.body, [&](JsonObject object) { return ForEachMember(object, read); });
}

Result<bool> ReadReadyOnly(const HttpRequest& request) {
  bool ready_only = false;
  TONDAR_RETURN_IF_ERROR(ReadOptionalBody(request, [&](std::string_view key, JsonValue value) {
    return key == "ready" ? ReadJsonBool(value, "'ready'", ready_only) : SkipJson(value, 1);
  }));
  return ready_only;
}

Result<Parameters> ReadRepositoryParameters(const HttpRequest& request) {
  Parameters parameters;
  const auto read_one = [&](std::string_view key, JsonValue value) {
    std::string name(key);
    return ReadJsonParameter(value, "parameter '" + name + "'", parameters[name]);
  };
  TONDAR_RETURN_IF_ERROR(ReadOptionalBody(request, [&](std::string_view key, JsonValue value) -> Status {
    if (key != "parameters") return SkipJson(value, 1);
    JsonObject object;
    TONDAR_RETURN_IF_ERROR(ReadJsonObjectValue(value, "'parameters'", object));
    return ForEachMember(object, read_one);
  }));
  return parameters;
}

void Index(const RouteServices& services, const RouteCall& call) {
  const Result<bool> ready_only = ReadReadyOnly(call.request);
  if (!ready_only.ok()) return call.exchange.Respond(ErrorResponse(ready_only.status()));
  HttpResponse response;
  JsonWriter json(response.text);
  json.BeginArray();
  for (const ModelIndexEntry& entry : services.control.GetIndex(*ready_only)) {
    json.BeginObject();
    json.Key("name");
    json.String(entry.name);
    if (!entry.version.empty()) {
      json.Key("version");
      json.String(entry.version);
    }
    json.Key("state");
    json.String(entry.state);
    json.Key("reason");
    json.String(entry.reason);
    json.EndObject();
  }
  json.EndArray();
  call.exchange.Respond(std::move(response));
}

// {"name": ..., "load": true}, which KServe's client reads and Triton's does not mind.
HttpResponse Done(const std::string& model, std::string_view verb) {
  HttpResponse response;
  JsonWriter json(response.text);
  json.BeginObject();
  json.Key("name");
  json.String(model);
  json.Key(verb);
  json.Bool(true);
  json.EndObject();
  return response;
}

// Runs a verb that waits where it may, and answers with its outcome.
void RunBlocking(const RouteServices& services, const RouteCall& call, std::string_view verb,
                 std::function<Status(const std::string& model)> run) {
  services.blocking.Post(
      [&exchange = call.exchange, model = std::string(call.model), verb, run = std::move(run)] {
        const Status status = run(model);
        exchange.Respond(status.ok() ? Done(model, verb) : ErrorResponse(status));
      });
}

void Load(const RouteServices& services, const RouteCall& call) {
  Result<Parameters> parameters = ReadRepositoryParameters(call.request);
  if (!parameters.ok()) return call.exchange.Respond(ErrorResponse(parameters.status()));
  RunBlocking(services, call, "load",
              [&control = services.control, parameters = std::move(*parameters)](const std::string& model) {
                return control.LoadModel(model, parameters);
              });
}

void Unload(const RouteServices& services, const RouteCall& call) {
  Result<Parameters> parameters = ReadRepositoryParameters(call.request);
  if (!parameters.ok()) return call.exchange.Respond(ErrorResponse(parameters.status()));
  RunBlocking(services, call, "unload",
              [&control = services.control, parameters = std::move(*parameters)](const std::string& model) {
                return control.UnloadModel(model, parameters);
              });
}

constexpr Route kRoutes[] = {
    {kPost, "/v2/repository/index", &Index},
    {kPost, "/v2/repository/models/{model}/load", &Load},
    {kPost, "/v2/repository/models/{model}/unload", &Unload},
};

}  // namespace

std::span<const Route> RepositoryRoutes() { return kRoutes; }

}  // namespace tondar::http
