// A Response as the body of an infer answer: JSON, or JSON with binary tensors behind it.
#ifndef TONDAR_SERVER_HTTP_INFER_ENCODER_H_
#define TONDAR_SERVER_HTTP_INFER_ENCODER_H_

#include <span>

#include "server/http/http_message.h"
#include "server/request/request.h"

namespace tondar::http {

// Encodes `response`; binary outputs move into the answer without a copy. `requested` says which outputs are binary;
// outputs it does not name follow `binary_by_default`. An error status becomes an error answer, as do outputs that
// cannot be written in JSON (400).
HttpResponse EncodeInfer(Response response, std::span<const RequestedOutput> requested, bool binary_by_default);

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_INFER_ENCODER_H_
