// Request and Response: one inference call, free of any protocol.
#ifndef TONDAR_SERVER_REQUEST_REQUEST_H_
#define TONDAR_SERVER_REQUEST_REQUEST_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/status.h"
#include "engine/types/dtype.h"
#include "engine/types/shape.h"

namespace tondar {

using ParameterValue = std::variant<bool, int64_t, uint64_t, double, std::string>;
using Parameters = std::map<std::string, ParameterValue, std::less<>>;

// The value of a parameter that counts something. InvalidArgument: negative, or not an integer; names the parameter.
Result<uint64_t> NonNegative(std::string_view name, const ParameterValue& value);

// Which door a request came through; a metric label.
enum class Protocol : uint8_t { kInProcess = 0, kHttp = 1, kGrpc = 2 };
std::string_view Name(Protocol protocol);  // "inprocess", "http", "grpc"

// One input as it came. `bytes` is borrowed from Request::storage: little-endian, row-major, exactly
// elements x size; for kString every element is a 4-byte little-endian length followed by that many bytes.
// Codecs fill it as found: sizes and shapes are judged by service/validate_request, in one place for all protocols,
// which also puts the inputs into the signature's order and drops those that the export made constants.
struct InputTensor {
  std::string name;
  DType dtype = DType::kInvalid;
  Dims shape;
  std::span<const std::byte> bytes;
  Parameters parameters;
};

struct RequestedOutput {
  std::string name;
  Parameters parameters;   // without what the codec consumed itself (binary_data)
  bool binary = false;     // HTTP only: answer in the binary part
  int position = -1;       // in the signature's outputs; set by validation
};

// Owned, uninitialised-at-birth bytes; 64-byte aligned. Move-only.
class ByteBuffer {
 public:
  ByteBuffer() = default;
  explicit ByteBuffer(size_t size);
  ByteBuffer(ByteBuffer&& other) noexcept { *this = std::move(other); }
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~ByteBuffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<std::byte> span() { return {data_, size_}; }
  std::span<const std::byte> span() const { return {data_, size_}; }
  // Gives the bytes up; free them with ByteBuffer::Free.
  std::byte* Release();
  static void Free(void* data);

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// One output, framed as InputTensor::bytes is.
struct OutputTensor {
  std::string name;
  DType dtype = DType::kInvalid;
  Dims shape;
  ByteBuffer bytes;
};

// The outcome of a request. If status is not OK, outputs are empty.
struct Response {
  Status status;
  std::string model_name;
  std::string model_version;
  std::string id;
  std::vector<OutputTensor> outputs;  // in the order requested, else in the signature's order
  Parameters parameters;
};

// Moments in a request's life, for statistics. Unset ones are at the epoch.
struct Timestamps {
  TimePoint received;       // first byte decoded
  TimePoint queued;         // handed to the scheduler
  TimePoint compute_start;  // taken out of the queue: gather begins
  TimePoint infer_start;    // inputs gathered
  TimePoint infer_end;      // device done
  TimePoint compute_end;    // outputs scattered
};

// One call on its way from a listener to its completion. Moves by unique_ptr; whoever holds it owns it.
struct Request {
  std::string model_name;
  std::string model_version;  // "" means the highest ready version
  std::string id;
  Parameters parameters;
  std::vector<InputTensor> inputs;
  std::vector<RequestedOutput> outputs;  // empty means all

  Protocol protocol = Protocol::kInProcess;
  TimePoint deadline = TimePoint::max();  // answered as DEADLINE_EXCEEDED after it, never as success
  uint32_t priority = 0;                  // 0 = default, 1 = highest
  std::optional<std::chrono::microseconds> timeout;  // the "timeout" parameter: longest wait in the queue
  // Set by the listener when the client has gone; looked at before compute is spent. shared_ptr: the listener's call
  // object and the request end at different times.
  std::shared_ptr<std::atomic<bool>> cancelled;

  // Calls' worth of work in it: the batch extent where the model batches, else 1. Set by validation.
  int64_t rows = 1;

  Timestamps times;

  // Keeps alive what InputTensor::bytes points to. shared_ptr: type-erased owner of a codec's buffers.
  std::shared_ptr<void> storage;
  // Buffers that validation made (decoded typed contents and the like); spans may point into them.
  std::vector<ByteBuffer> owned;

  // Called exactly once, on whatever thread finished the request, with the request itself; must not block.
  std::function<void(std::unique_ptr<Request>, Response)> on_complete;
};

// Ends a request: calls its completion with `response`. The names and the id are copied from the request where the
// response has none.
void Complete(std::unique_ptr<Request> request, Response response);
void CompleteWithError(std::unique_ptr<Request> request, Status status);

}  // namespace tondar

#endif  // TONDAR_SERVER_REQUEST_REQUEST_H_
