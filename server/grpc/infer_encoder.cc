#include "server/grpc/infer_encoder.h"

#include <grpcpp/support/slice.h>

#include "server/grpc/wire_writer.h"

namespace tondar {
namespace {

// Up to this size copying a tensor beside the header is cheaper than a slice of its own (allocation, reference count,
// one more piece to write).
constexpr size_t kInlineBytes = 4096;

bool IsInline(const OutputTensor& output) { return output.bytes.size() <= kInlineBytes; }

template <typename Out>
struct PutParameterValue {
  Out& out;
  void operator()(bool value) const { PutTag(out, 1, WireType::kVarint), out.Varint(value ? 1 : 0); }
  void operator()(int64_t value) const { PutTag(out, 2, WireType::kVarint), out.Varint(static_cast<uint64_t>(value)); }
  void operator()(const std::string& value) const { PutBytes(out, 3, value); }
  void operator()(double value) const { PutTag(out, 4, WireType::kFixed64), out.Raw(&value, sizeof(value)); }
  void operator()(uint64_t value) const { PutTag(out, 5, WireType::kVarint), out.Varint(value); }
};

template <typename Out>
void PutParameter(Out& out, const Parameters::value_type& parameter) {
  PutMessage(out, 4, [&](auto& entry) {
    PutBytes(entry, 1, parameter.first);
    PutMessage(entry, 2, [&](auto& value) {
      std::visit(PutParameterValue<std::remove_reference_t<decltype(value)>>{value}, parameter.second);
    });
  });
}

template <typename Out>
void PutOutput(Out& out, const OutputTensor& output) {
  PutMessage(out, 5, [&](auto& message) {
    PutText(message, 1, output.name);
    PutText(message, 2, WireName(output.dtype));
    if (output.shape.empty()) return;
    size_t packed = 0;
    for (int64_t extent : output.shape) packed += VarintSize(static_cast<uint64_t>(extent));
    PutTag(message, 3, WireType::kBytes);
    message.Varint(packed);
    for (int64_t extent : output.shape) message.Varint(static_cast<uint64_t>(extent));
  });
}

// Everything before the tensor data.
template <typename Out>
void PutHeader(Out& out, const Response& response) {
  PutText(out, 1, response.model_name);
  PutText(out, 2, response.model_version);
  PutText(out, 3, response.id);
  for (const auto& parameter : response.parameters) PutParameter(out, parameter);
  for (const OutputTensor& output : response.outputs) PutOutput(out, output);
}

// What stands before a tensor's bytes, and the bytes themselves if they are inline.
template <typename Out>
void PutRawOutput(Out& out, const OutputTensor& output) {
  PutTag(out, 6, WireType::kBytes);
  out.Varint(output.bytes.size());
  if (IsInline(output)) out.Raw(output.bytes.data(), output.bytes.size());
}

grpc::Slice TakeBytes(OutputTensor& output) {
  const size_t size = output.bytes.size();
  std::byte* data = output.bytes.Release();
  return grpc::Slice(data, size, [](void* bytes) { ByteBuffer::Free(bytes); }, data);
}

}  // namespace

Result<grpc::ByteBuffer> EncodeInferResponse(Response response, size_t max_bytes) {
  WireCounter counter;
  PutHeader(counter, response);
  size_t borrowed_bytes = 0, borrowed_outputs = 0;
  for (const OutputTensor& output : response.outputs) {
    PutRawOutput(counter, output);
    if (IsInline(output)) continue;
    borrowed_bytes += output.bytes.size();
    ++borrowed_outputs;
  }
  if (counter.size() + borrowed_bytes > max_bytes) {
    return InvalidArgument("the response has {} bytes, but a message may have {}; ask for fewer outputs or a smaller batch",
                           counter.size() + borrowed_bytes, max_bytes);
  }
  grpc::Slice written(counter.size());
  WireSink sink(const_cast<uint8_t*>(written.begin()));  // the slice is new, nobody else sees it yet
  PutHeader(sink, response);
  if (borrowed_outputs == 0) {
    for (const OutputTensor& output : response.outputs) PutRawOutput(sink, output);
    return grpc::ByteBuffer(&written, 1);
  }
  // Pieces of what is written alternate with the tensors that are lent.
  std::vector<grpc::Slice> slices;
  slices.reserve(2 * borrowed_outputs + 1);
  size_t begun = 0;
  const auto position = [&] { return static_cast<size_t>(sink.next() - written.begin()); };
  for (OutputTensor& output : response.outputs) {
    PutRawOutput(sink, output);
    if (IsInline(output)) continue;
    slices.push_back(written.sub(begun, position()));
    slices.push_back(TakeBytes(output));
    begun = position();
  }
  if (begun < counter.size()) slices.push_back(written.sub(begun, counter.size()));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace tondar
