// The RPCs of GRPCInferenceService over our two services.
#ifndef TONDAR_SERVER_GRPC_GRPC_INFERENCE_SERVICE_H_
#define TONDAR_SERVER_GRPC_GRPC_INFERENCE_SERVICE_H_

#include "engine/base/executor.h"
#include "grpc_service.grpc.pb.h"
#include "server/service/control_service.h"
#include "server/service/inference_service.h"

namespace tondar {

// ModelInfer takes raw bytes and is decoded by our own walk; everything else is rare and uses the generated messages.
using GrpcInferenceServiceBase =
    inference::GRPCInferenceService::WithRawCallbackMethod_ModelInfer<inference::GRPCInferenceService::CallbackService>;

// Every RPC answers on gRPC's own threads, but Load and Unload, which wait, on `may_wait`. All references outlive it.
class GrpcInferenceService final : public GrpcInferenceServiceBase {
 public:
  GrpcInferenceService(InferenceService& inference, ControlService& control, Executor& may_wait,
                       size_t max_message_bytes);

  using Call = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
#define TONDAR_RPC(Name) \
  Reactor* Name(Call* call, const inference::Name##Request* request, inference::Name##Response* reply) override
  TONDAR_RPC(ServerLive);
  TONDAR_RPC(ServerReady);
  TONDAR_RPC(ModelReady);
  TONDAR_RPC(ServerMetadata);
  TONDAR_RPC(ModelMetadata);
  TONDAR_RPC(ModelConfig);
  TONDAR_RPC(ModelStatistics);
  TONDAR_RPC(RepositoryIndex);
  TONDAR_RPC(RepositoryModelLoad);
  TONDAR_RPC(RepositoryModelUnload);
  TONDAR_RPC(SystemSharedMemoryStatus);
  TONDAR_RPC(SystemSharedMemoryRegister);
  TONDAR_RPC(SystemSharedMemoryUnregister);
  TONDAR_RPC(CudaSharedMemoryStatus);
  TONDAR_RPC(CudaSharedMemoryRegister);
  TONDAR_RPC(CudaSharedMemoryUnregister);
  TONDAR_RPC(TraceSetting);
  TONDAR_RPC(LogSettings);
#undef TONDAR_RPC
  Reactor* ModelInfer(Call* call, const grpc::ByteBuffer* message, grpc::ByteBuffer* reply) override;
  grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse>* ModelStreamInfer(
      Call* call) override;

 private:
  using GrpcInferenceServiceBase::ModelInfer;

  InferenceService& inference_;
  ControlService& control_;
  Executor& may_wait_;
  const size_t max_message_bytes_;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_GRPC_GRPC_INFERENCE_SERVICE_H_
