// REST, with tensors as JSON numbers and as binary tensors behind the JSON.
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include "server/http/testing/raw_client.h"
#include "tests/conformance/protocols/driver.h"

namespace tondar::conformance {
namespace {

using nlohmann::json;

// One of the codes that HTTP shows as this status.
StatusCode CodeOf(int http_status) {
  switch (http_status) {
    case 400: return StatusCode::kInvalidArgument;
    case 404: return StatusCode::kNotFound;
    case 501: return StatusCode::kUnimplemented;
    case 503: return StatusCode::kUnavailable;
    case 504: return StatusCode::kDeadlineExceeded;
    default: return StatusCode::kInternal;
  }
}

Result<json> Parse(const RawAnswer& answer) {
  const json body = json::parse(answer.body, nullptr, false);
  if (answer.status == 200) return body;
  return Status(CodeOf(answer.status), body.is_object() ? body.value("error", answer.body) : answer.body);
}

json ToJson(const ParameterValue& value) {
  return std::visit([](const auto& held) { return json(held); }, value);
}

json ToJson(const Parameters& parameters) {
  json object = json::object();
  for (const auto& [key, value] : parameters) object[key] = ToJson(value);
  return object;
}

json NumberToJson(float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}
json NumberToJson(double value) { return value; }
json NumberToJson(int64_t value) { return value; }

template <typename T>
json Elements(const Tensor& tensor) {
  json data = json::array();
  for (size_t at = 0; at + sizeof(T) <= tensor.bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, tensor.bytes.data() + at, sizeof(T));
    data.push_back(NumberToJson(value));
  }
  return data;
}

json Data(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::kFloat32: return Elements<float>(tensor);
    case DType::kFloat64: return Elements<double>(tensor);
    case DType::kInt64: return Elements<int64_t>(tensor);
    case DType::kBool: {
      json data = json::array();
      for (const char value : tensor.bytes) data.push_back(value != 0);
      return data;
    }
    default: TONDAR_CHECK(false, "the suite has no JSON for {}", Name(tensor.dtype));
  }
  return {};
}

float FloatOf(const json& value) {
  if (value.is_number()) return value.get<float>();
  const auto text = value.get<std::string>();
  if (text == "NaN") return std::numeric_limits<float>::quiet_NaN();
  return text == "Infinity" ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
}

template <typename T>
void Append(T value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string Bytes(DType dtype, const json& data) {
  std::string bytes;
  for (const json& value : data) {
    switch (dtype) {
      case DType::kFloat32: Append(FloatOf(value), bytes); break;
      case DType::kFloat64: Append(value.get<double>(), bytes); break;
      case DType::kInt64: Append(value.get<int64_t>(), bytes); break;
      case DType::kBool: Append(value.get<bool>(), bytes); break;
      default: TONDAR_CHECK(false, "the suite has no JSON for {}", Name(dtype));
    }
  }
  return bytes;
}

Dims Extents(const json& list) { return Dims(list.get<std::vector<int64_t>>()); }

std::vector<TensorMetadata> Tensors(const json& list) {
  std::vector<TensorMetadata> tensors;
  for (const json& tensor : list) {
    tensors.push_back({tensor.at("name"), DTypeFromWire(tensor.at("datatype").get<std::string>()).value(),
                       Extents(tensor.at("shape"))});
  }
  return tensors;
}

StatisticDuration Duration(const json& value) { return {value.at("count"), value.at("ns")}; }

ModelStatistics Statistics(const json& model) {
  ModelStatistics statistics;
  statistics.name = model.at("name");
  statistics.version = model.at("version");
  statistics.last_inference_ms = model.at("last_inference");
  statistics.inference_count = model.at("inference_count");
  statistics.execution_count = model.at("execution_count");
  const json& durations = model.at("inference_stats");
  statistics.success = Duration(durations.at("success"));
  statistics.fail = Duration(durations.at("fail"));
  statistics.queue = Duration(durations.at("queue"));
  statistics.compute_input = Duration(durations.at("compute_input"));
  statistics.compute_infer = Duration(durations.at("compute_infer"));
  statistics.compute_output = Duration(durations.at("compute_output"));
  statistics.cache_hit = Duration(durations.at("cache_hit"));
  statistics.cache_miss = Duration(durations.at("cache_miss"));
  for (const json& batch : model.at("batch_stats")) {
    statistics.batches.push_back({batch.at("batch_size"), Duration(batch.at("compute_input")),
                                  Duration(batch.at("compute_infer")), Duration(batch.at("compute_output"))});
  }
  statistics.memory_bytes = model.at("memory_usage").at(0).at("byte_size");
  return statistics;
}

std::string ModelPath(std::string_view model, std::string_view version) {
  std::string path = "/v2/models/" + std::string(model);
  if (!version.empty()) path += "/versions/" + std::string(version);
  return path;
}

class HttpDriver final : public Driver {
 public:
  HttpDriver(Server& server, bool binary) : port_(server.http_port()), binary_(binary) {}

  Result<Answer> Infer(const Call& call) override {
    json body{{"inputs", json::array()}, {"parameters", ToJson(call.parameters)}};
    std::string tail;
    if (!call.id.empty()) body["id"] = call.id;
    for (const Tensor& tensor : call.inputs) body["inputs"].push_back(Encode(tensor, tail));
    for (const std::string& name : call.outputs) body["outputs"].push_back({{"name", name}});
    if (binary_) body["parameters"]["binary_data_output"] = true;
    const std::string head = body.dump();
    const std::string field = "Inference-Header-Content-Length: " + std::to_string(head.size()) + "\r\n";
    RawClient client(port_);
    return Decode(client.Post(ModelPath(call.model, call.version) + "/infer", head + tail, binary_ ? field : ""));
  }

  bool Live() override { return Get("/v2/health/live").status == 200; }
  bool Ready() override { return Get("/v2/health/ready").status == 200; }
  bool ModelReady(std::string_view model, std::string_view version) override {
    return Get(ModelPath(model, version) + "/ready").status == 200;
  }

  ServerMetadata GetServerMetadata() override {
    const json body = Parse(Get("/v2")).value();
    return {body.at("name"), body.at("version"), body.at("extensions")};
  }

  Result<ModelMetadata> GetModelMetadata(std::string_view model, std::string_view version) override {
    TONDAR_ASSIGN_OR_RETURN(const json body, Parse(Get(ModelPath(model, version))));
    return ModelMetadata{body.at("name"), body.at("versions"), body.at("platform"), Tensors(body.at("inputs")),
                         Tensors(body.at("outputs"))};
  }

  Result<std::string> GetModelConfig(std::string_view model, std::string_view version) override {
    const RawAnswer answer = Get(ModelPath(model, version) + "/config");
    TONDAR_RETURN_IF_ERROR(Parse(answer).status());
    return answer.body;
  }

  Result<std::vector<ModelStatistics>> GetStatistics(std::string_view model, std::string_view version) override {
    TONDAR_ASSIGN_OR_RETURN(const json body,
                            Parse(Get(model.empty() ? "/v2/models/stats" : ModelPath(model, version) + "/stats")));
    std::vector<ModelStatistics> all;
    for (const json& one : body.at("model_stats")) all.push_back(Statistics(one));
    return all;
  }

  std::vector<ModelIndexEntry> GetIndex(bool ready_only) override {
    const json body = Parse(Post("/v2/repository/index", json{{"ready", ready_only}})).value();
    std::vector<ModelIndexEntry> index;
    for (const json& entry : body) {
      index.push_back({entry.at("name"), entry.value("version", ""), entry.at("state"), entry.at("reason")});
    }
    return index;
  }

  Status LoadModel(std::string_view model, const Parameters& parameters) override {
    return Parse(Post("/v2/repository/models/" + std::string(model) + "/load", {{"parameters", ToJson(parameters)}}))
        .status();
  }
  Status UnloadModel(std::string_view model, const Parameters& parameters) override {
    return Parse(Post("/v2/repository/models/" + std::string(model) + "/unload", {{"parameters", ToJson(parameters)}}))
        .status();
  }

 private:
  RawAnswer Get(const std::string& path) { return RawClient(port_).Get(path); }
  RawAnswer Post(const std::string& path, const json& body) { return RawClient(port_).Post(path, body.dump()); }

  json Encode(const Tensor& tensor, std::string& tail) const {
    json encoded{{"name", tensor.name}, {"datatype", WireName(tensor.dtype)}, {"shape", tensor.shape}};
    if (binary_) {
      encoded["parameters"]["binary_data_size"] = tensor.bytes.size();
      tail += tensor.bytes;
    } else {
      encoded["data"] = Data(tensor);
    }
    return encoded;
  }

  Result<Answer> Decode(const RawAnswer& raw) const {
    RawAnswer head = raw;
    std::string_view tail;
    if (const auto field = raw.headers.find("inference-header-content-length"); field != raw.headers.end()) {
      const size_t size = std::stoul(field->second);
      tail = std::string_view(raw.body).substr(size);
      head.body.resize(size);
    }
    TONDAR_ASSIGN_OR_RETURN(const json body, Parse(head));
    Answer answer{body.at("model_name"), body.at("model_version"), body.value("id", ""), {}};
    for (const json& output : body.at("outputs")) {
      Tensor& tensor = answer.outputs.emplace_back();
      tensor.name = output.at("name");
      tensor.dtype = DTypeFromWire(output.at("datatype").get<std::string>()).value();
      tensor.shape = Extents(output.at("shape"));
      if (output.contains("data")) {
        tensor.bytes = Bytes(tensor.dtype, output.at("data"));
      } else {
        const size_t size = output.at("parameters").at("binary_data_size");
        tensor.bytes = tail.substr(0, size);
        tail.remove_prefix(size);
      }
    }
    return answer;
  }

  const int port_;
  const bool binary_;
};

}  // namespace

std::vector<DriverKind> TestedDrivers() {
  return {
      {"json", [](Server& server) -> std::unique_ptr<Driver> { return std::make_unique<HttpDriver>(server, false); }},
      {"binary", [](Server& server) -> std::unique_ptr<Driver> { return std::make_unique<HttpDriver>(server, true); }},
  };
}

}  // namespace tondar::conformance
