#include "server/grpc/infer_call.h"

#include <grpc/support/time.h>
#include <grpcpp/support/slice.h>

#include <new>

#include "server/grpc/grpc_status.h"
#include "server/grpc/infer_decoder.h"
#include "server/grpc/infer_encoder.h"

namespace tondar {
namespace {

// What outlives the call: the scheduler may look at `cancelled`, and a batch may read the message, after the reactor
// is gone. One allocation for both.
struct CallState {
  std::atomic<bool> cancelled{false};
  grpc::Slice message;
};

TimePoint DeadlineOf(const grpc::CallbackServerContext& call) {
  const gpr_timespec deadline = call.raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) return TimePoint::max();
  // gRPC's monotonic clock is the steady clock: both are CLOCK_MONOTONIC.
  const gpr_timespec steady = gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC);
  constexpr int64_t kLongestSeconds = INT64_MAX / 1'000'000'000 - 1;
  if (steady.tv_sec > kLongestSeconds) return TimePoint::max();
  return TimePoint(std::chrono::seconds(steady.tv_sec) + std::chrono::nanoseconds(steady.tv_nsec));
}

class InferCall final : public grpc::ServerUnaryReactor {
 public:
  InferCall(grpc::ByteBuffer* reply, size_t max_reply_bytes) : reply_(reply), max_reply_bytes_(max_reply_bytes) {}

  // Afterwards only gRPC may touch the object: it may have answered already.
  void Start(const grpc::CallbackServerContext& call, grpc::ByteBuffer& message, InferenceService& service) {
    auto request = std::make_unique<Request>();
    request->protocol = Protocol::kGrpc;
    request->times.received = Clock::Real().Now();
    request->deadline = DeadlineOf(call);
    request->cancelled = std::shared_ptr<std::atomic<bool>>(state_, &state_->cancelled);
    request->storage = state_;
    if (Status status = TakeMessage(message, *request); !status.ok()) {
      service.CountRefused(Protocol::kGrpc, status.code());
      return Finish(ToGrpc(status));
    }
    request->on_complete = [this](std::unique_ptr<Request> done, Response response) {
      Answer(std::move(done), std::move(response));
    };
    service.Infer(std::move(request));
  }

  void OnCancel() override { state_->cancelled.store(true, std::memory_order_relaxed); }
  void OnDone() override { delete this; }

 private:
  Status TakeMessage(grpc::ByteBuffer& message, Request& request) try {
    // A message in one piece is only referenced; one in several is joined, so that every tensor is contiguous.
    if (!message.TrySingleSlice(&state_->message).ok()) {
      const grpc::Status joined = message.DumpToSingleSlice(&state_->message);
      if (!joined.ok()) return Internal("cannot read the request: {}", joined.error_message());
    }
    message.Clear();  // state_ holds the one reference that is needed
    return DecodeInferRequest(
        {reinterpret_cast<const std::byte*>(state_->message.begin()), state_->message.size()}, request);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory for the tensors of this request; send less at once");
  }

  void Answer(std::unique_ptr<Request> request, Response response) {
    request.reset();  // before the client can send the next one
    if (!response.status.ok()) return Finish(ToGrpc(response.status));
    Result<grpc::ByteBuffer> encoded = EncodeInferResponse(std::move(response), max_reply_bytes_);
    if (!encoded.ok()) return Finish(ToGrpc(encoded.status()));
    reply_->Swap(&encoded.value());
    Finish(grpc::Status::OK);
  }

  grpc::ByteBuffer* const reply_;
  const size_t max_reply_bytes_;
  // shared_ptr: see CallState.
  const std::shared_ptr<CallState> state_ = std::make_shared<CallState>();
};

}  // namespace

grpc::ServerUnaryReactor* StartInferCall(grpc::CallbackServerContext* call, grpc::ByteBuffer* message,
                                         grpc::ByteBuffer* reply, InferenceService& service, size_t max_reply_bytes) {
  auto* reactor = new InferCall(reply, max_reply_bytes);  // gRPC owns it until OnDone
  reactor->Start(*call, *message, service);
  return reactor;
}

}  // namespace tondar
