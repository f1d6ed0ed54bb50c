// ModelInferRequest, from the wire to a Request, without copying tensor data.
#ifndef TONDAR_SERVER_GRPC_INFER_DECODER_H_
#define TONDAR_SERVER_GRPC_INFER_DECODER_H_

#include "engine/base/status.h"
#include "server/grpc/wire_reader.h"
#include "server/request/request.h"

namespace tondar {

// Fills names, parameters, inputs and outputs of `request` from an encoded ModelInferRequest.
// InputTensor::bytes borrow from `message`, which must live as long as the request, or from request.owned.
// Accepts exactly what protobuf's parser accepts; unknown fields are skipped. Whether tensors fit a model is judged
// later, by service/validate_request.
// InvalidArgument: malformed bytes, an unknown datatype, more than kMaxRank extents, typed and raw data together, a
// wrong number of raw entries, a parameter without a value. Unimplemented: shared memory, classification.
// ResourceExhausted: no memory for typed data.
Status DecodeInferRequest(WireBytes message, Request& request);

}  // namespace tondar

#endif  // TONDAR_SERVER_GRPC_INFER_DECODER_H_
