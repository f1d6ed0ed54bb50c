// What the control service answers, as messages of the protocol.
#ifndef TONDAR_SERVER_GRPC_CONTROL_ENCODER_H_
#define TONDAR_SERVER_GRPC_CONTROL_ENCODER_H_

#include "grpc_service.pb.h"
#include "server/service/control_service.h"

namespace tondar {

void Encode(const ServerMetadata& metadata, inference::ServerMetadataResponse& reply);
void Encode(const ModelMetadata& metadata, inference::ModelMetadataResponse& reply);
void Encode(const std::vector<ModelStatistics>& statistics, inference::ModelStatisticsResponse& reply);
void Encode(const std::vector<ModelIndexEntry>& index, inference::RepositoryIndexResponse& reply);

using RepositoryParameters = google::protobuf::Map<std::string, inference::ModelRepositoryParameter>;

// InvalidArgument: a parameter without a value.
Result<Parameters> DecodeRepositoryParameters(const RepositoryParameters& parameters);

}  // namespace tondar

#endif  // TONDAR_SERVER_GRPC_CONTROL_ENCODER_H_
