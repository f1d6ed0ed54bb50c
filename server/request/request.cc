#include "server/request/request.h"

#include <new>

namespace tondar {

constexpr std::align_val_t kAlignment{64};

std::string_view Name(Protocol protocol) {
  static constexpr std::string_view kNames[] = {"inprocess", "http", "grpc"};
  return kNames[static_cast<size_t>(protocol)];
}

Result<uint64_t> NonNegative(std::string_view name, const ParameterValue& value) {
  if (const auto* number = std::get_if<uint64_t>(&value)) return *number;
  if (const auto* number = std::get_if<int64_t>(&value); number != nullptr && *number >= 0) {
    return static_cast<uint64_t>(*number);
  }
  return InvalidArgument("parameter '{}' must be a non-negative integer", name);
}

ByteBuffer::ByteBuffer(size_t size)
    : data_(size == 0 ? nullptr : static_cast<std::byte*>(::operator new(size, kAlignment))), size_(size) {}

ByteBuffer::~ByteBuffer() { Free(data_); }

std::byte* ByteBuffer::Release() {
  size_ = 0;
  return std::exchange(data_, nullptr);
}

void ByteBuffer::Free(void* data) { ::operator delete(data, kAlignment); }

void Complete(std::unique_ptr<Request> request, Response response) {
  if (response.model_name.empty()) response.model_name = request->model_name;
  if (response.model_version.empty()) response.model_version = request->model_version;
  if (response.id.empty()) response.id = request->id;
  // The completion owns the request, so it must outlive the call by being moved out first.
  auto on_complete = std::move(request->on_complete);
  on_complete(std::move(request), std::move(response));
}

void CompleteWithError(std::unique_ptr<Request> request, Status status) {
  Response response;
  response.status = std::move(status);
  Complete(std::move(request), std::move(response));
}

}  // namespace tondar
