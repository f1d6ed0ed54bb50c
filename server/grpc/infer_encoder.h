// Response to ModelInferResponse on the wire, without copying large tensors.
#ifndef TONDAR_SERVER_GRPC_INFER_ENCODER_H_
#define TONDAR_SERVER_GRPC_INFER_ENCODER_H_

#include <grpcpp/support/byte_buffer.h>

#include "engine/base/status.h"
#include "server/request/request.h"

namespace tondar {

// Encodes a successful response; takes the bytes of its outputs, which the ByteBuffer then owns.
// InvalidArgument: the message would be larger than `max_bytes`.
Result<grpc::ByteBuffer> EncodeInferResponse(Response response, size_t max_bytes);

}  // namespace tondar

#endif  // TONDAR_SERVER_GRPC_INFER_ENCODER_H_
