// POST /v2/models/{model}[/versions/{version}]/infer
#include <new>

#include "server/http/content_coding.h"
#include "server/http/infer_decoder.h"
#include "server/http/infer_encoder.h"
#include "server/http/route.h"

namespace tondar::http {
namespace {

// What an infer call keeps until its answer is encoded, which happens on the connection's thread.
class InferCall final : public DeferredResponse {
 public:
  InferCall(Exchange& exchange, bool binary_by_default, ContentCoding coding)
      : exchange_(exchange), binary_by_default_(binary_by_default), coding_(coding) {}

  // Any thread.
  static void Complete(std::unique_ptr<InferCall> call, std::unique_ptr<Request> request, Response response) {
    Exchange& exchange = call->exchange_;
    call->request_ = std::move(request);
    call->response_ = std::move(response);
    exchange.Respond(std::move(call));
  }

  HttpResponse Make() override try {
    HttpResponse http = EncodeInfer(std::move(response_), request_->outputs, binary_by_default_);
    if (coding_ != ContentCoding::kIdentity) Compress(http, coding_);
    return http;
  } catch (const std::bad_alloc&) {
    return ErrorResponse(ResourceExhausted("no memory for the response; ask for fewer outputs or a smaller batch"));
  }

 private:
  Exchange& exchange_;
  const bool binary_by_default_;
  const ContentCoding coding_;
  std::unique_ptr<Request> request_;
  Response response_;
};

Result<DecodedInfer> Decode(const RouteServices& services, const RouteCall& call) try {
  TONDAR_ASSIGN_OR_RETURN(const InferFraming framing, FramingOf(call.request));
  if (framing.form != InferForm::kRaw) return DecodeInfer(call.request, framing.json_size);
  TONDAR_ASSIGN_OR_RETURN(const ModelConfig config, services.control.GetModelConfig(call.model, call.version));
  return DecodeRawInfer(call.request, config);
} catch (const std::bad_alloc&) {
  return ResourceExhausted("no memory for the tensors of this request; send less at once");
}

void Infer(const RouteServices& services, const RouteCall& call) {
  Result<DecodedInfer> decoded = Decode(services, call);
  if (!decoded.ok()) {
    services.inference.CountRefused(Protocol::kHttp, decoded.status().code());
    return call.exchange.Respond(ErrorResponse(decoded.status()));
  }
  std::unique_ptr<Request> request = std::move(decoded->request);
  request->model_name = call.model;
  request->model_version = call.version;
  request->cancelled = call.exchange.cancelled();
  const ContentCoding coding = call.request.accept_encoding.empty() ? ContentCoding::kIdentity
                                                                    : NegotiateCoding(call.request.accept_encoding);
  // A plain pointer, owned by the completion, which is called exactly once: so that std::function need not allocate.
  auto* infer = new InferCall(call.exchange, decoded->binary_by_default, coding);
  request->on_complete = [infer](std::unique_ptr<Request> done, Response response) {
    InferCall::Complete(std::unique_ptr<InferCall>(infer), std::move(done), std::move(response));
  };
  services.inference.Infer(std::move(request));
}

constexpr Route kRoutes[] = {{kPost, "/v2/models/{model}[/versions/{version}]/infer", &Infer}};

}  // namespace

std::span<const Route> InferRoutes() { return kRoutes; }

}  // namespace tondar::http
