// One ModelInfer call, from the bytes that came to the bytes that go.
#ifndef TONDAR_SERVER_GRPC_INFER_CALL_H_
#define TONDAR_SERVER_GRPC_INFER_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/service/inference_service.h"

namespace tondar {

// Decodes `message`, hands it to `service` and answers into `reply` when the service does. Returns the reactor that
// gRPC drives; it deletes itself. `message` and `reply` are the call's own and live until it ends.
grpc::ServerUnaryReactor* StartInferCall(grpc::CallbackServerContext* call, grpc::ByteBuffer* message,
                                         grpc::ByteBuffer* reply, InferenceService& service, size_t max_reply_bytes);

}  // namespace tondar

#endif  // TONDAR_SERVER_GRPC_INFER_CALL_H_
