// The one validator: whether a request fits a model version, whatever protocol it came through.
#ifndef TONDAR_SERVER_SERVICE_VALIDATE_REQUEST_H_
#define TONDAR_SERVER_SERVICE_VALIDATE_REQUEST_H_

#include <string_view>

#include "engine/api/signature.h"
#include "engine/base/status.h"
#include "server/config/model_config.h"
#include "server/request/request.h"

namespace tondar {

// Checks names, dtypes, shapes, sizes, batch, wanted outputs and parameters, and brings the request into the form that
// the scheduler takes: inputs in the signature's order, those that the export made constants dropped; `rows` and the
// outputs' positions set; `timeout` and `priority` taken out of the parameters of these names. Names of Triton's
// PyTorch backend, INPUT__0 and OUTPUT__0, are accepted by position; who used them for inputs and asked for no outputs
// gets all outputs under such names.
//
// `config` was resolved against `signature`. InvalidArgument: anything wrong; the message names the input or output,
// what was found, what is expected and how to mend it. A valid request costs no allocation.
Status ValidateRequest(const ModelConfig& config, const Signature& signature, Request& request);

}  // namespace tondar

#endif  // TONDAR_SERVER_SERVICE_VALIDATE_REQUEST_H_
