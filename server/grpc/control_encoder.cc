#include "server/grpc/control_encoder.h"

namespace tondar {
namespace {

void Encode(const StatisticDuration& duration, inference::StatisticDuration& reply) {
  reply.set_count(duration.count);
  reply.set_ns(duration.ns);
}

void Encode(const TensorMetadata& tensor, inference::ModelMetadataResponse::TensorMetadata& reply) {
  reply.set_name(tensor.name);
  reply.set_datatype(std::string(WireName(tensor.dtype)));
  reply.mutable_shape()->Assign(tensor.shape.begin(), tensor.shape.end());
}

void Encode(const BatchStatistics& batch, inference::InferBatchStatistics& reply) {
  reply.set_batch_size(batch.batch_size);
  Encode(batch.compute_input, *reply.mutable_compute_input());
  Encode(batch.compute_infer, *reply.mutable_compute_infer());
  Encode(batch.compute_output, *reply.mutable_compute_output());
}

// Every member is set, also where it is zero: clients read them all.
void Encode(const ModelStatistics& model, inference::ModelStatistics& reply) {
  reply.set_name(model.name);
  reply.set_version(model.version);
  reply.set_last_inference(model.last_inference_ms);
  reply.set_inference_count(model.inference_count);
  reply.set_execution_count(model.execution_count);
  inference::InferStatistics& sums = *reply.mutable_inference_stats();
  Encode(model.success, *sums.mutable_success());
  Encode(model.fail, *sums.mutable_fail());
  Encode(model.queue, *sums.mutable_queue());
  Encode(model.compute_input, *sums.mutable_compute_input());
  Encode(model.compute_infer, *sums.mutable_compute_infer());
  Encode(model.compute_output, *sums.mutable_compute_output());
  Encode(model.cache_hit, *sums.mutable_cache_hit());
  Encode(model.cache_miss, *sums.mutable_cache_miss());
  for (const BatchStatistics& batch : model.batches) Encode(batch, *reply.add_batch_stats());
  inference::MemoryUsage& memory = *reply.add_memory_usage();
  memory.set_type("CPU");
  memory.set_byte_size(model.memory_bytes);
}

}  // namespace

void Encode(const ServerMetadata& metadata, inference::ServerMetadataResponse& reply) {
  reply.set_name(metadata.name);
  reply.set_version(metadata.version);
  reply.mutable_extensions()->Assign(metadata.extensions.begin(), metadata.extensions.end());
}

void Encode(const ModelMetadata& metadata, inference::ModelMetadataResponse& reply) {
  reply.set_name(metadata.name);
  reply.mutable_versions()->Assign(metadata.versions.begin(), metadata.versions.end());
  reply.set_platform(metadata.platform);
  for (const TensorMetadata& input : metadata.inputs) Encode(input, *reply.add_inputs());
  for (const TensorMetadata& output : metadata.outputs) Encode(output, *reply.add_outputs());
}

void Encode(const std::vector<ModelStatistics>& statistics, inference::ModelStatisticsResponse& reply) {
  for (const ModelStatistics& model : statistics) Encode(model, *reply.add_model_stats());
}

void Encode(const std::vector<ModelIndexEntry>& index, inference::RepositoryIndexResponse& reply) {
  for (const ModelIndexEntry& entry : index) {
    inference::RepositoryIndexResponse::ModelIndex& model = *reply.add_models();
    model.set_name(entry.name);
    model.set_version(entry.version);
    model.set_state(entry.state);
    model.set_reason(entry.reason);
  }
}

Result<Parameters> DecodeRepositoryParameters(const RepositoryParameters& parameters) {
  Parameters decoded;
  for (const auto& [name, value] : parameters) {
    switch (value.parameter_choice_case()) {
      case inference::ModelRepositoryParameter::kBoolParam: decoded[name] = value.bool_param(); break;
      case inference::ModelRepositoryParameter::kInt64Param: decoded[name] = int64_t{value.int64_param()}; break;
      case inference::ModelRepositoryParameter::kStringParam: decoded[name] = value.string_param(); break;
      case inference::ModelRepositoryParameter::kBytesParam: decoded[name] = value.bytes_param(); break;
      case inference::ModelRepositoryParameter::PARAMETER_CHOICE_NOT_SET:
        return InvalidArgument("parameter '{}' has no value", name);
    }
  }
  return decoded;
}

}  // namespace tondar
