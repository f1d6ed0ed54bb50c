// InferTensorContents, the spelled-out form of tensor data, as the bytes that raw data would have been.
#ifndef TONDAR_SERVER_GRPC_TYPED_CONTENTS_H_
#define TONDAR_SERVER_GRPC_TYPED_CONTENTS_H_

#include "engine/base/status.h"
#include "engine/types/dtype.h"
#include "server/grpc/wire_reader.h"
#include "server/request/request.h"

namespace tondar {

// Decodes `contents`, an encoded InferTensorContents, into input.bytes; input.name and input.dtype are set. The bytes
// are either borrowed from `contents` (floats as protobuf packs them) or a new buffer in `owned`.
// InvalidArgument: malformed, data in the field of another datatype, a value out of the datatype's range, a datatype
// that has no typed form (FP16, BF16). ResourceExhausted: no memory.
Status DecodeTypedContents(WireBytes contents, InputTensor& input, std::vector<ByteBuffer>& owned);

}  // namespace tondar

#endif  // TONDAR_SERVER_GRPC_TYPED_CONTENTS_H_
