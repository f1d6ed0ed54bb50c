// GET /v2/models, /v2/models/stats, /v2/models/{model}[/versions/{version}][/ready|/config|/stats]
#include <vector>

#include "server/http/json_writer.h"
#include "server/http/route.h"

namespace tondar::http {
namespace {

void WriteTensors(JsonWriter& json, const std::vector<TensorMetadata>& tensors) {
  json.BeginArray();
  for (const TensorMetadata& tensor : tensors) {
    json.BeginObject();
    json.Key("name");
    json.String(tensor.name);
    json.Key("datatype");
    json.String(WireName(tensor.dtype));
    json.Key("shape");
    json.BeginArray();
    for (int64_t extent : tensor.shape) json.Int(extent);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

void Metadata(const RouteServices& services, const RouteCall& call) {
  const Result<ModelMetadata> metadata = services.control.GetModelMetadata(call.model, call.version);
  if (!metadata.ok()) return call.exchange.Respond(ErrorResponse(metadata.status()));
  HttpResponse response;
  JsonWriter json(response.text);
  json.BeginObject();
  json.Key("name");
  json.String(metadata->name);
  json.Key("versions");
  json.BeginArray();
  for (const std::string& version : metadata->versions) json.String(version);
  json.EndArray();
  json.Key("platform");
  json.String(metadata->platform);
  json.Key("inputs");
  WriteTensors(json, metadata->inputs);
  json.Key("outputs");
  WriteTensors(json, metadata->outputs);
  json.EndObject();
  call.exchange.Respond(std::move(response));
}

// A known model that does not serve is 503; an unknown one 400 rather than 404, as clients of Triton expect.
int ReadyStatus(const RouteServices& services, const RouteCall& call, bool ready) {
  if (ready) return 200;
  const Status status = services.control.GetModelMetadata(call.model, call.version).status();
  return status.code() == StatusCode::kNotFound ? 400 : 503;
}

void Ready(const RouteServices& services, const RouteCall& call) {
  const bool ready = services.control.ModelReady(call.model, call.version);
  HttpResponse response;
  response.status = ReadyStatus(services, call, ready);
  JsonWriter json(response.text);
  json.BeginObject();
  json.Key("name");
  json.String(call.model);
  json.Key("ready");
  json.Bool(ready);
  json.EndObject();
  call.exchange.Respond(std::move(response));
}

void Config(const RouteServices& services, const RouteCall& call) {
  const Result<ModelConfig> config = services.control.GetModelConfig(call.model, call.version);
  if (!config.ok()) return call.exchange.Respond(ErrorResponse(config.status()));
  HttpResponse response;
  response.text = ModelConfigToJson(*config);
  call.exchange.Respond(std::move(response));
}

void WriteDuration(JsonWriter& json, std::string_view key, const StatisticDuration& duration) {
  json.Key(key);
  json.BeginObject();
  json.Key("count");
  json.UInt(duration.count);
  json.Key("ns");
  json.UInt(duration.ns);
  json.EndObject();
}

template <typename Owner>
struct DurationField {
  std::string_view key;
  StatisticDuration Owner::*field;
};

constexpr DurationField<ModelStatistics> kInferenceDurations[] = {
    {"success", &ModelStatistics::success},
    {"fail", &ModelStatistics::fail},
    {"queue", &ModelStatistics::queue},
    {"compute_input", &ModelStatistics::compute_input},
    {"compute_infer", &ModelStatistics::compute_infer},
    {"compute_output", &ModelStatistics::compute_output},
    {"cache_hit", &ModelStatistics::cache_hit},
    {"cache_miss", &ModelStatistics::cache_miss},
};

constexpr DurationField<BatchStatistics> kBatchDurations[] = {
    {"compute_input", &BatchStatistics::compute_input},
    {"compute_infer", &BatchStatistics::compute_infer},
    {"compute_output", &BatchStatistics::compute_output},
};

void WriteCounters(JsonWriter& json, const ModelStatistics& statistics) {
  json.Key("name");
  json.String(statistics.name);
  json.Key("version");
  json.String(statistics.version);  // a string: perf_analyzer insists
  json.Key("last_inference");
  json.UInt(statistics.last_inference_ms);
  json.Key("inference_count");
  json.UInt(statistics.inference_count);
  json.Key("execution_count");
  json.UInt(statistics.execution_count);
  json.Key("inference_stats");
  json.BeginObject();
  for (const auto& row : kInferenceDurations) WriteDuration(json, row.key, statistics.*row.field);
  json.EndObject();
}

void WriteBatches(JsonWriter& json, const std::vector<BatchStatistics>& batches) {
  json.Key("batch_stats");
  json.BeginArray();
  for (const BatchStatistics& batch : batches) {
    json.BeginObject();
    json.Key("batch_size");
    json.UInt(batch.batch_size);
    for (const auto& row : kBatchDurations) WriteDuration(json, row.key, batch.*row.field);
    json.EndObject();
  }
  json.EndArray();
}

void WriteMemory(JsonWriter& json, uint64_t bytes) {
  json.Key("memory_usage");
  json.BeginArray();
  json.BeginObject();
  json.Key("type");
  json.String("CPU");
  json.Key("id");
  json.Int(0);
  json.Key("byte_size");
  json.UInt(bytes);
  json.EndObject();
  json.EndArray();
}

void Statistics(const RouteServices& services, const RouteCall& call) {
  const auto statistics = services.control.GetStatistics(call.model, call.version);
  if (!statistics.ok()) return call.exchange.Respond(ErrorResponse(statistics.status()));
  HttpResponse response;
  JsonWriter json(response.text);
  json.BeginObject();
  json.Key("model_stats");
  json.BeginArray();
  for (const ModelStatistics& model : *statistics) {
    json.BeginObject();
    WriteCounters(json, model);
    WriteBatches(json, model.batches);
    json.Key("response_stats");
    json.BeginObject();
    json.EndObject();
    WriteMemory(json, model.memory_bytes);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  call.exchange.Respond(std::move(response));
}

// KServe's list: names of what can be asked now.
void List(const RouteServices& services, const RouteCall& call) {
  const std::vector<ModelIndexEntry> index = services.control.GetIndex(true);  // sorted by name
  HttpResponse response;
  JsonWriter json(response.text);
  json.BeginObject();
  json.Key("models");
  json.BeginArray();
  for (size_t i = 0; i < index.size(); ++i) {
    if (i == 0 || index[i].name != index[i - 1].name) json.String(index[i].name);
  }
  json.EndArray();
  json.EndObject();
  call.exchange.Respond(std::move(response));
}

// Order matters: /v2/models/stats is not a model named stats.
constexpr Route kRoutes[] = {
    {kGet, "/v2/models/{model}[/versions/{version}]/ready", &Ready},
    {kGet, "/v2/models/stats", &Statistics},
    {kGet, "/v2/models/{model}[/versions/{version}]/stats", &Statistics},
    {kGet, "/v2/models/{model}[/versions/{version}]/config", &Config},
    {kGet, "/v2/models/{model}[/versions/{version}]", &Metadata},
    {kGet, "/v2/models", &List},
};

}  // namespace

std::span<const Route> ModelRoutes() { return kRoutes; }

}  // namespace tondar::http
