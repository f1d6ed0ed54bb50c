#include "server/http/infer_encoder.h"

#include <algorithm>

#include "server/http/json_tensor.h"
#include "server/http/json_writer.h"

namespace tondar::http {
namespace {

bool IsBinary(const OutputTensor& output, std::span<const RequestedOutput> requested, bool binary_by_default) {
  for (const RequestedOutput& candidate : requested) {
    if (candidate.name == output.name) return candidate.binary;
  }
  return binary_by_default;
}

void WriteParameter(JsonWriter& json, const ParameterValue& value) {
  struct Visitor {
    JsonWriter& json;
    void operator()(bool v) { json.Bool(v); }
    void operator()(int64_t v) { json.Int(v); }
    void operator()(uint64_t v) { json.UInt(v); }
    void operator()(double v) { json.Double(v); }
    void operator()(const std::string& v) { json.String(v); }
  };
  std::visit(Visitor{json}, value);
}

void WriteHead(const Response& response, JsonWriter& json) {
  json.Key("model_name");
  json.String(response.model_name);
  json.Key("model_version");
  json.String(response.model_version);
  if (!response.id.empty()) {
    json.Key("id");
    json.String(response.id);
  }
  if (response.parameters.empty()) return;
  json.Key("parameters");
  json.BeginObject();
  for (const auto& [name, value] : response.parameters) {
    json.String(name);
    json.Colon();
    WriteParameter(json, value);
  }
  json.EndObject();
}

Status WriteOutput(const OutputTensor& output, bool binary, JsonWriter& json) {
  json.BeginObject();
  json.Key("name");
  json.String(output.name);
  json.Key("datatype");
  json.String(WireName(output.dtype));
  json.Key("shape");
  json.BeginArray();
  for (int64_t extent : output.shape) json.Int(extent);
  json.EndArray();
  if (binary) {
    json.Key("parameters");
    json.BeginObject();
    json.Key("binary_data_size");
    json.UInt(output.bytes.size());
    json.EndObject();
  } else {
    json.Key("data");
    TONDAR_RETURN_IF_ERROR(WriteJsonTensor(output, json));
  }
  json.EndObject();
  return OkStatus();
}

// Room for the text: a guess that saves growing it step by step.
size_t ExpectedTextSize(const Response& response, std::span<const RequestedOutput> requested, bool binary_by_default) {
  size_t size = 192;
  for (const OutputTensor& output : response.outputs) {
    size += 96 + output.name.size();
    if (!IsBinary(output, requested, binary_by_default)) size += output.bytes.size() * 3;
  }
  return size;
}

}  // namespace

HttpResponse EncodeInfer(Response response, std::span<const RequestedOutput> requested, bool binary_by_default) {
  if (!response.status.ok()) return ErrorResponse(response.status);
  HttpResponse http;
  http.text.reserve(ExpectedTextSize(response, requested, binary_by_default));
  JsonWriter json(http.text);
  json.BeginObject();
  WriteHead(response, json);
  json.Key("outputs");
  json.BeginArray();
  bool any_binary = false;
  for (OutputTensor& output : response.outputs) {
    const bool binary = IsBinary(output, requested, binary_by_default);
    if (const Status status = WriteOutput(output, binary, json); !status.ok()) return ErrorResponse(status);
    if (binary) http.tensors.push_back(std::move(output.bytes));
    any_binary = any_binary || binary;
  }
  json.EndArray();
  json.EndObject();
  if (any_binary) {
    http.content_type = "application/octet-stream";
    http.inference_header_length = http.text.size();
  }
  return http;
}

}  // namespace tondar::http
