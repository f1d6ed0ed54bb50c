// Payloads: takes the large byte fields out of a serialized model, so that they stay where they lie in the file.
#ifndef TONDAR_ENGINE_IMPORTERS_ONNX_PAYLOADS_H_
#define TONDAR_ENGINE_IMPORTERS_ONNX_PAYLOADS_H_

#include <cstddef>
#include <string>

#include "engine/base/byte_source.h"

namespace tondar::onnx_format {

// True if the file begins as a ModelProto does. Says nothing about the rest.
bool LooksLikeModel(const ByteSource& file);

// A copy of the serialized ModelProto in which every TensorProto.raw_data of `min_bytes` or more is replaced by
// raw_offset and raw_length, its place in `file`. Protobuf copies what it parses and ends at 2 GiB; the copy without
// the weights is small whatever the file's size.
// InvalidArgument: not the wire format (truncated, a length beyond its message, nesting above 100 levels), with the
// place; or a model without a graph. Unimplemented: the copy would have more than 2 GiB. Else as ByteSource::Read.
Result<std::string> WithoutPayloads(const ByteSource& file, size_t min_bytes = 64);

}  // namespace tondar::onnx_format

#endif  // TONDAR_ENGINE_IMPORTERS_ONNX_PAYLOADS_H_
