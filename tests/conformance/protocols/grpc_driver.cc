// gRPC, with tensors as raw bytes and as typed contents.
#include <grpcpp/create_channel.h>

#include <cstring>
#include <span>

#include "grpc_service.grpc.pb.h"
#include "model_config.pb.h"
#include "tests/conformance/protocols/driver.h"

namespace tondar::conformance {
namespace {

using inference::GRPCInferenceService;

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  return {static_cast<StatusCode>(status.error_code()), status.error_message()};
}

void SetParameter(const ParameterValue& value, inference::InferParameter& out) {
  if (const auto* flag = std::get_if<bool>(&value)) return out.set_bool_param(*flag);
  if (const auto* number = std::get_if<int64_t>(&value)) return out.set_int64_param(*number);
  if (const auto* number = std::get_if<uint64_t>(&value)) return out.set_uint64_param(*number);
  if (const auto* number = std::get_if<double>(&value)) return out.set_double_param(*number);
  out.set_string_param(std::get<std::string>(value));
}

void SetParameter(const ParameterValue& value, inference::ModelRepositoryParameter& out) {
  if (const auto* flag = std::get_if<bool>(&value)) return out.set_bool_param(*flag);
  if (const auto* number = std::get_if<int64_t>(&value)) return out.set_int64_param(*number);
  out.set_string_param(std::get<std::string>(value));
}

template <typename T, typename Field>
void Fill(const Tensor& tensor, Field& field) {
  field.Resize(static_cast<int>(tensor.bytes.size() / sizeof(T)), T{});
  if (!tensor.bytes.empty()) std::memcpy(field.mutable_data(), tensor.bytes.data(), field.size() * sizeof(T));
}

void SetContents(const Tensor& tensor, inference::InferTensorContents& contents) {
  switch (tensor.dtype) {
    case DType::kFloat32: return Fill<float>(tensor, *contents.mutable_fp32_contents());
    case DType::kFloat64: return Fill<double>(tensor, *contents.mutable_fp64_contents());
    case DType::kInt64: return Fill<int64_t>(tensor, *contents.mutable_int64_contents());
    case DType::kBool: return Fill<bool>(tensor, *contents.mutable_bool_contents());
    default: TONDAR_CHECK(false, "the suite has no typed contents for {}", Name(tensor.dtype));
  }
}

Dims Extents(const google::protobuf::RepeatedField<int64_t>& field) {
  return Dims(std::span<const int64_t>(field.data(), static_cast<size_t>(field.size())));
}

Answer ToAnswer(const inference::ModelInferResponse& response) {
  Answer answer{response.model_name(), response.model_version(), response.id(), {}};
  for (int i = 0; i < response.outputs_size(); ++i) {
    const auto& output = response.outputs(i);
    answer.outputs.push_back({output.name(), DTypeFromWire(output.datatype()).value(),
                              Extents(output.shape()), response.raw_output_contents(i)});
  }
  return answer;
}

template <typename List>
std::vector<TensorMetadata> Tensors(const List& list) {
  std::vector<TensorMetadata> tensors;
  for (const auto& tensor : list) {
    tensors.push_back({tensor.name(), DTypeFromWire(tensor.datatype()).value(),
                       Extents(tensor.shape())});
  }
  return tensors;
}

StatisticDuration Duration(const inference::StatisticDuration& value) { return {value.count(), value.ns()}; }

ModelStatistics Statistics(const inference::ModelStatistics& model) {
  ModelStatistics statistics;
  statistics.name = model.name();
  statistics.version = model.version();
  statistics.last_inference_ms = model.last_inference();
  statistics.inference_count = model.inference_count();
  statistics.execution_count = model.execution_count();
  const inference::InferStatistics& durations = model.inference_stats();
  statistics.success = Duration(durations.success());
  statistics.fail = Duration(durations.fail());
  statistics.queue = Duration(durations.queue());
  statistics.compute_input = Duration(durations.compute_input());
  statistics.compute_infer = Duration(durations.compute_infer());
  statistics.compute_output = Duration(durations.compute_output());
  statistics.cache_hit = Duration(durations.cache_hit());
  statistics.cache_miss = Duration(durations.cache_miss());
  for (const auto& batch : model.batch_stats()) {
    statistics.batches.push_back({batch.batch_size(), Duration(batch.compute_input()),
                                  Duration(batch.compute_infer()), Duration(batch.compute_output())});
  }
  statistics.memory_bytes = model.memory_usage(0).byte_size();
  return statistics;
}

class GrpcDriver final : public Driver {
 public:
  GrpcDriver(Server& server, bool typed)
      : typed_(typed),
        stub_(GRPCInferenceService::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(server.grpc_port()),
                                                                grpc::InsecureChannelCredentials()))) {}

  Result<Answer> Infer(const Call& call) override {
    inference::ModelInferRequest request;
    request.set_model_name(call.model);
    request.set_model_version(call.version);
    request.set_id(call.id);
    for (const auto& [key, value] : call.parameters) SetParameter(value, (*request.mutable_parameters())[key]);
    for (const Tensor& tensor : call.inputs) {
      auto& input = *request.add_inputs();
      input.set_name(tensor.name);
      input.set_datatype(std::string(WireName(tensor.dtype)));
      for (const int64_t extent : tensor.shape) input.add_shape(extent);
      if (typed_) {
        SetContents(tensor, *input.mutable_contents());
      } else {
        request.add_raw_input_contents(tensor.bytes);
      }
    }
    for (const std::string& name : call.outputs) request.add_outputs()->set_name(name);
    TONDAR_ASSIGN_OR_RETURN(const auto response, Ask(&GRPCInferenceService::Stub::ModelInfer, request));
    return ToAnswer(response);
  }

  bool Live() override { return Ask(&GRPCInferenceService::Stub::ServerLive, {}).value().live(); }
  bool Ready() override { return Ask(&GRPCInferenceService::Stub::ServerReady, {}).value().ready(); }
  bool ModelReady(std::string_view model, std::string_view version) override {
    return Ask(&GRPCInferenceService::Stub::ModelReady, Named<inference::ModelReadyRequest>(model, version))
        .value()
        .ready();
  }

  ServerMetadata GetServerMetadata() override {
    const auto response = Ask(&GRPCInferenceService::Stub::ServerMetadata, {}).value();
    return {response.name(), response.version(), {response.extensions().begin(), response.extensions().end()}};
  }

  Result<ModelMetadata> GetModelMetadata(std::string_view model, std::string_view version) override {
    const auto request = Named<inference::ModelMetadataRequest>(model, version);
    TONDAR_ASSIGN_OR_RETURN(const auto response, Ask(&GRPCInferenceService::Stub::ModelMetadata, request));
    return ModelMetadata{response.name(), {response.versions().begin(), response.versions().end()},
                         response.platform(), Tensors(response.inputs()), Tensors(response.outputs())};
  }

  Result<std::string> GetModelConfig(std::string_view model, std::string_view version) override {
    const auto request = Named<inference::ModelConfigRequest>(model, version);
    TONDAR_ASSIGN_OR_RETURN(const auto response, Ask(&GRPCInferenceService::Stub::ModelConfig, request));
    ModelConfig config;
    config.proto = std::make_shared<inference::ModelConfig>(response.config());
    return ModelConfigToJson(config);
  }

  Result<std::vector<ModelStatistics>> GetStatistics(std::string_view model, std::string_view version) override {
    const auto request = Named<inference::ModelStatisticsRequest>(model, version);
    TONDAR_ASSIGN_OR_RETURN(const auto response, Ask(&GRPCInferenceService::Stub::ModelStatistics, request));
    std::vector<ModelStatistics> all;
    for (const auto& one : response.model_stats()) all.push_back(Statistics(one));
    return all;
  }

  std::vector<ModelIndexEntry> GetIndex(bool ready_only) override {
    inference::RepositoryIndexRequest request;
    request.set_ready(ready_only);
    const auto response = Ask(&GRPCInferenceService::Stub::RepositoryIndex, request).value();
    std::vector<ModelIndexEntry> index;
    for (const auto& entry : response.models()) {
      index.push_back({entry.name(), entry.version(), entry.state(), entry.reason()});
    }
    return index;
  }

  Status LoadModel(std::string_view model, const Parameters& parameters) override {
    inference::RepositoryModelLoadRequest request;
    request.set_model_name(std::string(model));
    for (const auto& [key, value] : parameters) SetParameter(value, (*request.mutable_parameters())[key]);
    return Ask(&GRPCInferenceService::Stub::RepositoryModelLoad, request).status();
  }
  Status UnloadModel(std::string_view model, const Parameters& parameters) override {
    inference::RepositoryModelUnloadRequest request;
    request.set_model_name(std::string(model));
    for (const auto& [key, value] : parameters) SetParameter(value, (*request.mutable_parameters())[key]);
    return Ask(&GRPCInferenceService::Stub::RepositoryModelUnload, request).status();
  }

 private:
  template <typename Request, typename Response>
  Result<Response> Ask(grpc::Status (GRPCInferenceService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                         Response*),
                       const std::type_identity_t<Request>& request) {
    grpc::ClientContext context;
    Response response;
    TONDAR_RETURN_IF_ERROR(FromGrpc((stub_.get()->*method)(&context, request, &response)));
    return response;
  }

  template <typename Request>
  static Request Named(std::string_view name, std::string_view version) {
    Request request;
    request.set_name(std::string(name));
    request.set_version(std::string(version));
    return request;
  }

  const bool typed_;
  const std::unique_ptr<GRPCInferenceService::Stub> stub_;
};

}  // namespace

std::vector<DriverKind> TestedDrivers() {
  return {
      {"raw", [](Server& server) -> std::unique_ptr<Driver> { return std::make_unique<GrpcDriver>(server, false); }},
      {"typed", [](Server& server) -> std::unique_ptr<Driver> { return std::make_unique<GrpcDriver>(server, true); }},
  };
}

}  // namespace tondar::conformance
