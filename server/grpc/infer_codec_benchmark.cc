// What the codec adds to a call. Beside each: protobuf's own parser and serialiser on the same message.
#include <benchmark/benchmark.h>
#include <grpcpp/support/slice.h>

#include <cstring>

#include "grpc_service.pb.h"
#include "server/grpc/infer_decoder.h"
#include "server/grpc/infer_encoder.h"

namespace tondar {
namespace {

std::string Message(size_t bytes) {
  inference::ModelInferRequest message;
  message.set_model_name("identity_fp32");
  auto& input = *message.add_inputs();
  input.set_name("INPUT0");
  input.set_datatype("FP32");
  input.add_shape(static_cast<int64_t>(bytes / 4));
  message.add_raw_input_contents(std::string(bytes, 'x'));
  return message.SerializeAsString();
}

void BM_Decode(benchmark::State& state) {
  const std::string message = Message(static_cast<size_t>(state.range(0)));
  const WireBytes bytes = std::as_bytes(std::span(message.data(), message.size()));
  for (auto _ : state) {
    Request request;
    benchmark::DoNotOptimize(DecodeInferRequest(bytes, request).ok());
  }
}

void BM_DecodeByProtobuf(benchmark::State& state) {
  const std::string message = Message(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    inference::ModelInferRequest proto;
    benchmark::DoNotOptimize(proto.ParseFromString(message));
  }
}

// gRPC delivers large messages in pieces of about 8 KiB, which are joined before decoding.
void BM_Join(benchmark::State& state) {
  const std::string message = Message(static_cast<size_t>(state.range(0)));
  std::vector<grpc::Slice> pieces;
  for (size_t at = 0; at < message.size(); at += 8192) {
    pieces.emplace_back(message.data() + at, std::min<size_t>(8192, message.size() - at));
  }
  const grpc::ByteBuffer buffer(pieces.data(), pieces.size());
  for (auto _ : state) {
    grpc::Slice joined;
    benchmark::DoNotOptimize(buffer.DumpToSingleSlice(&joined).ok());
  }
}

Response MakeResponse(size_t bytes) {
  Response response;
  response.model_name = "identity_fp32";
  response.model_version = "1";
  OutputTensor& output = response.outputs.emplace_back();
  output.name = "OUTPUT0";
  output.dtype = DType::kFloat32;
  output.shape = {static_cast<int64_t>(bytes / 4)};
  output.bytes = ByteBuffer(bytes);
  std::memset(output.bytes.data(), 1, bytes);
  return response;
}

void BM_Encode(benchmark::State& state) {  // with making the response, which is most of it when tensors are large
  for (auto _ : state) {
    auto encoded = EncodeInferResponse(MakeResponse(static_cast<size_t>(state.range(0))), INT32_MAX);
    benchmark::DoNotOptimize(encoded.ok());
  }
}

void BM_MakeResponse(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(MakeResponse(static_cast<size_t>(state.range(0))));
}

BENCHMARK(BM_Decode)->Arg(4)->Arg(65536)->Arg(1 << 20);
BENCHMARK(BM_DecodeByProtobuf)->Arg(4)->Arg(65536)->Arg(1 << 20);
BENCHMARK(BM_Join)->Arg(65536)->Arg(1 << 20);
BENCHMARK(BM_Encode)->Arg(4)->Arg(65536)->Arg(1 << 20);
BENCHMARK(BM_MakeResponse)->Arg(4)->Arg(65536)->Arg(1 << 20);

}  // namespace
}  // namespace tondar
