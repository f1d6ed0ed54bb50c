#include "server/service/inference_service_impl.h"

#include "server/service/validate_request.h"

namespace tondar {
namespace {

// What a request may be refused with here; other codes come from the scheduler and are counted per version.
constexpr StatusCode kRefusals[] = {StatusCode::kInvalidArgument, StatusCode::kNotFound, StatusCode::kUnavailable,
                                    StatusCode::kUnimplemented, StatusCode::kResourceExhausted};

}  // namespace

InferenceServiceImpl::InferenceServiceImpl(const ModelRepository& repository, MetricRegistry& registry,
                                           const Clock& clock)
    : repository_(repository), clock_(clock) {
  for (size_t protocol = 0; protocol < kProtocols; ++protocol) {
    for (StatusCode code : kRefusals) {
      refused_[protocol][static_cast<size_t>(code)] = registry.GetCounter(
          "tondar_requests_refused_total", {Name(static_cast<Protocol>(protocol)), StatusCodeName(code)});
    }
  }
}

void InferenceServiceImpl::Infer(std::unique_ptr<Request> request) {
  if (request->times.received == TimePoint()) request->times.received = clock_.Now();
  Result<ModelHandle> version = Accept(*request);
  if (!version.ok()) return Refuse(std::move(request), version.status());
  const ModelVersion& model = **version;
  if (Status status = ValidateRequest(model.config(), model.signature(), *request); !status.ok()) {
    model.metrics().RecordFailure(FailureReason::kOther, clock_.Now() - request->times.received);
    return Refuse(std::move(request), status.Annotated(fmt::format("model '{}' version {}", model.name(), model.version())));
  }
  BatchScheduler& scheduler = model.scheduler();
  scheduler.Submit(std::move(request), *std::move(version));
}

Result<ModelHandle> InferenceServiceImpl::Accept(Request& request) const {
  if (draining_.load(std::memory_order_relaxed)) {
    return Unavailable("the server is shutting down; retry elsewhere");
  }
  Result<ModelHandle> version = repository_.Find(request.model_name, request.model_version);
  if (version.ok()) request.model_version = (*version)->version_text();  // the answer tells which one it was
  return version;
}

void InferenceServiceImpl::CountRefused(Protocol protocol, StatusCode code) {
  const auto& counter = refused_[static_cast<size_t>(protocol)][static_cast<size_t>(code)];
  if (counter != nullptr) counter->Add();
}

void InferenceServiceImpl::Refuse(std::unique_ptr<Request> request, Status status) {
  CountRefused(request->protocol, status.code());
  CompleteWithError(std::move(request), std::move(status));
}

}  // namespace tondar
