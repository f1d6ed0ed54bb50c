// The one implementation of inference, whatever protocol a call came through.
#ifndef TONDAR_SERVER_SERVICE_INFERENCE_SERVICE_H_
#define TONDAR_SERVER_SERVICE_INFERENCE_SERVICE_H_

#include <memory>
#include <string_view>

#include "server/request/request.h"

namespace tondar {

// What the codecs see. Thread-safe.
class InferenceService {
 public:
  virtual ~InferenceService() = default;

  // Finds the model version, validates, queues and answers through request->on_complete, exactly once, possibly
  // before Infer returns (on CPU a lone request runs on the calling thread). Codes of the answer:
  // NotFound: no such model or version. Unavailable: not ready, queue full, waited too long, shutting down.
  // InvalidArgument: names, dtypes, shapes, sizes; names the input. Cancelled, DeadlineExceeded: as they say.
  virtual void Infer(std::unique_ptr<Request> request) = 0;

  // Counts a request that its codec could not make a Request of, and answered itself.
  virtual void CountRefused(Protocol protocol, StatusCode code) = 0;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_SERVICE_INFERENCE_SERVICE_H_
