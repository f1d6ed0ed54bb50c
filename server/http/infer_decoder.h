// The body of an infer call, JSON or JSON with binary tensors, into a Request.
#ifndef TONDAR_SERVER_HTTP_INFER_DECODER_H_
#define TONDAR_SERVER_HTTP_INFER_DECODER_H_

#include <memory>
#include <string_view>

#include "engine/base/status.h"
#include "server/config/model_config.h"
#include "server/http/http_message.h"
#include "server/request/request.h"

namespace tondar::http {

struct DecodedInfer {
  std::unique_ptr<Request> request;  // without model, version and completion
  bool binary_by_default = false;    // the request's binary_data_output: for outputs that say nothing
};

// How the body is made, by the Inference-Header-Content-Length field.
enum class InferForm : uint8_t { kJson, kBinary, kRaw };
struct InferFraming {
  InferForm form = InferForm::kJson;
  size_t json_size = 0;
};
// InvalidArgument: not a decimal number, or larger than the body.
Result<InferFraming> FramingOf(const HttpRequest& request);

// Decodes everything but raw requests. Binary inputs stay where they are in the body, which the request's storage then
// holds. Judges only what it must to decode; shapes and sizes against the model are the service's. InvalidArgument:
// malformed JSON, wrong types, data that do not fit the shape, unknown datatypes; names the input.
// Unimplemented: shared memory.
Result<DecodedInfer> DecodeInfer(const HttpRequest& request, size_t json_size);

// A raw request: the body is the only input of the model, a batch of one; its one variable extent follows from the
// size. BYTES are one element. All outputs are binary. InvalidArgument: the model has not exactly one input, or more
// than one variable extent, or the size does not fit.
Result<DecodedInfer> DecodeRawInfer(const HttpRequest& request, const ModelConfig& config);

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_INFER_DECODER_H_
