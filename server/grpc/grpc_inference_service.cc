#include "server/grpc/grpc_inference_service.h"

#include "server/grpc/control_encoder.h"
#include "server/grpc/grpc_status.h"
#include "server/grpc/infer_call.h"

namespace tondar {
namespace {

using Call = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

Reactor* Answer(Call* call, const Status& status) {
  Reactor* reactor = call->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

// Answers with a result that has an Encode.
template <typename T, typename Reply>
Reactor* Answer(Call* call, const Result<T>& result, Reply& reply) {
  if (result.ok()) Encode(*result, reply);
  return Answer(call, result.ok() ? OkStatus() : result.status());
}

Status CheckRepository(const std::string& name) {
  if (name.empty()) return OkStatus();
  return Unimplemented("repository '{}': named repositories are not implemented, leave repository_name empty", name);
}

// A call that waits for a task on another thread. Deletes itself.
class WaitingCall final : public Reactor {
 public:
  // `task` runs on `executor` and its status ends the call.
  static Reactor* Start(Executor& executor, std::function<Status()> task) {
    auto* call = new WaitingCall;  // gRPC owns it until OnDone
    executor.Post([call, task = std::move(task)] { call->Finish(ToGrpc(task())); });
    return call;
  }
  void OnDone() override { delete this; }
};

// A stream that is refused before anything is read.
class RefusedStream final
    : public grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse> {
 public:
  explicit RefusedStream(const Status& why) { Finish(ToGrpc(why)); }
  void OnDone() override { delete this; }
};

Status NoSharedMemory() { return Unimplemented("shared memory is not implemented; send tensors in the request"); }

}  // namespace

GrpcInferenceService::GrpcInferenceService(InferenceService& inference, ControlService& control, Executor& may_wait,
                                           size_t max_message_bytes)
    : inference_(inference), control_(control), may_wait_(may_wait), max_message_bytes_(max_message_bytes) {}

#define TONDAR_RPC(Name)                                                                              \
  Reactor* GrpcInferenceService::Name([[maybe_unused]] Call* call,                                     \
                                      [[maybe_unused]] const inference::Name##Request* request,        \
                                      [[maybe_unused]] inference::Name##Response* reply)

TONDAR_RPC(ServerLive) {
  reply->set_live(control_.Live());
  return Answer(call, OkStatus());
}

TONDAR_RPC(ServerReady) {
  reply->set_ready(control_.Ready());
  return Answer(call, OkStatus());
}

TONDAR_RPC(ModelReady) {
  reply->set_ready(control_.ModelReady(request->name(), request->version()));
  return Answer(call, OkStatus());
}

TONDAR_RPC(ServerMetadata) { return Answer(call, Result<tondar::ServerMetadata>(control_.GetServerMetadata()), *reply); }

TONDAR_RPC(ModelMetadata) { return Answer(call, control_.GetModelMetadata(request->name(), request->version()), *reply); }

TONDAR_RPC(ModelConfig) {
  const Result<tondar::ModelConfig> config = control_.GetModelConfig(request->name(), request->version());
  if (!config.ok()) return Answer(call, config.status());
  *reply->mutable_config() = *config->proto;
  return Answer(call, OkStatus());
}

TONDAR_RPC(ModelStatistics) { return Answer(call, control_.GetStatistics(request->name(), request->version()), *reply); }

TONDAR_RPC(RepositoryIndex) {
  if (Status status = CheckRepository(request->repository_name()); !status.ok()) return Answer(call, status);
  Encode(control_.GetIndex(request->ready()), *reply);
  return Answer(call, OkStatus());
}

// `request` lives until the call is finished, so the waiting task may borrow from it.
TONDAR_RPC(RepositoryModelLoad) {
  return WaitingCall::Start(may_wait_, [this, request]() -> Status {
    TONDAR_RETURN_IF_ERROR(CheckRepository(request->repository_name()));
    TONDAR_ASSIGN_OR_RETURN(const Parameters parameters, DecodeRepositoryParameters(request->parameters()));
    return control_.LoadModel(request->model_name(), parameters);
  });
}

TONDAR_RPC(RepositoryModelUnload) {
  return WaitingCall::Start(may_wait_, [this, request]() -> Status {
    TONDAR_RETURN_IF_ERROR(CheckRepository(request->repository_name()));
    TONDAR_ASSIGN_OR_RETURN(const Parameters parameters, DecodeRepositoryParameters(request->parameters()));
    return control_.UnloadModel(request->model_name(), parameters);
  });
}

// There are no regions: asking for all of them and taking one away that is not there are fine, as with an empty server.
TONDAR_RPC(SystemSharedMemoryStatus) {
  if (request->name().empty()) return Answer(call, OkStatus());
  return Answer(call, NotFound("no shared memory region '{}'", request->name()));
}
TONDAR_RPC(SystemSharedMemoryRegister) { return Answer(call, NoSharedMemory()); }
TONDAR_RPC(SystemSharedMemoryUnregister) { return Answer(call, OkStatus()); }
TONDAR_RPC(CudaSharedMemoryStatus) {
  if (request->name().empty()) return Answer(call, OkStatus());
  return Answer(call, NotFound("no shared memory region '{}'", request->name()));
}
TONDAR_RPC(CudaSharedMemoryRegister) { return Answer(call, NoSharedMemory()); }
TONDAR_RPC(CudaSharedMemoryUnregister) { return Answer(call, OkStatus()); }

TONDAR_RPC(TraceSetting) { return Answer(call, Unimplemented("request tracing is not implemented")); }
TONDAR_RPC(LogSettings) {
  return Answer(call, Unimplemented("log settings cannot be changed while running; start with --log-verbose and the like"));
}
#undef TONDAR_RPC

Reactor* GrpcInferenceService::ModelInfer(Call* call, const grpc::ByteBuffer* message, grpc::ByteBuffer* reply) {
  // The message belongs to the call alone; const only says that gRPC expects nothing back.
  return StartInferCall(call, const_cast<grpc::ByteBuffer*>(message), reply, inference_, max_message_bytes_);
}

grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse>*
GrpcInferenceService::ModelStreamInfer(Call*) {
  return new RefusedStream(Unimplemented("ModelStreamInfer is not implemented; call ModelInfer"));  // deletes itself
}

}  // namespace tondar
