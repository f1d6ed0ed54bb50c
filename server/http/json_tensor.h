// Tensors as JSON arrays: into typed bytes and back.
#ifndef TONDAR_SERVER_HTTP_JSON_TENSOR_H_
#define TONDAR_SERVER_HTTP_JSON_TENSOR_H_

#include <string_view>

#include "engine/base/status.h"
#include "engine/types/dtype.h"
#include "engine/types/shape.h"
#include "server/http/json_reader.h"
#include "server/http/json_writer.h"
#include "server/request/request.h"

namespace tondar::http {

// True for the dtypes that the protocol writes in JSON: all of its datatypes but FP16 and BF16.
bool HasJsonForm(DType dtype);

// Reads array `data` into exactly the elements that `shape` has, framed as InputTensor::bytes. The array is flat, or
// nested evenly in any way that has as many elements (NumPy's reshape decides nothing else). Floats are numbers or the
// strings "NaN", "Infinity", "-Infinity"; integers have no fraction; booleans are true or false. `json_size` bounds how
// many elements can come, so that nothing is allocated for a shape that cannot be filled. InvalidArgument, without the
// input's name: everything else.
Result<ByteBuffer> ParseJsonTensor(JsonValue array, DType dtype, const Dims& shape, size_t json_size);

// Writes `tensor`'s elements as a flat array. InvalidArgument: no JSON form, or BYTES that are not UTF-8 (which JSON
// cannot hold; replacing them would change the answer silently). Internal: bytes that do not fit the shape.
Status WriteJsonTensor(const OutputTensor& tensor, JsonWriter& json);

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_JSON_TENSOR_H_
