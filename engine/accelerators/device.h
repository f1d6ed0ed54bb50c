// The contract that every accelerator backend implements: devices, memory, streams, kernels, captured graphs.
//
// Order of work for a new backend, which is the order of the conformance suite: open, copy, fill, events, one
// elementwise step, the operator goldens, dynamic shapes, capture, errors.
#ifndef TONDAR_ENGINE_ACCELERATORS_DEVICE_H_
#define TONDAR_ENGINE_ACCELERATORS_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/constant.h"
#include "engine/plan/step.h"
#include "engine/types/tensor_view.h"

namespace tondar {

class Stream;

// What a device can do beyond the required part. Optional entries of an interface answer Unimplemented unless the
// capability is set.
struct Capabilities {
  bool host_addressable = false;   // buffers have a host pointer that kernels and the host share
  bool graphs = false;             // CapturedGraph works
  bool native_graphs = false;      // ... and replays on the device without the host walking a list
  bool conditional_nodes = false;  // cond and while inside a captured graph
  bool pinned_host_memory = false;
  bool profiling = false;
};

struct DeviceProperties {
  std::string name;          // "AMD EPYC 9B45 (avx512_bf16)"
  std::string architecture;  // what compiled code is for: "avx512_bf16", "sm_90"
  size_t memory_bytes = 0;
  size_t alignment_bytes = 64;  // of every buffer
  Capabilities capabilities;
};

// Device memory with one owner. Freed by its destructor, after which no queued work may use it.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::byte* address() const = 0;  // device address; as host pointer only if host_addressable
  virtual size_t size_bytes() const = 0;
  virtual std::byte* host_pointer() const { return nullptr; }
};

// A place in a device's memory with the shape that a launch gives it. `view.data` is a device address.
using DeviceTensor = TensorView;

// The operands of one launch, parallel to the step's; `symbols` holds the value of every symbol of the graph.
struct KernelArguments {
  std::span<const DeviceTensor> inputs;
  std::span<const DeviceTensor> outputs;
  std::span<const int64_t> symbols;
};

// Device code for one step, for all shapes; holds what was prepared of its constants (packed weights).
// Immutable; may be launched on several streams of its device at once.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Memory that preparing took beside the constants themselves.
  virtual size_t packed_bytes() const { return 0; }
  // True if launches no longer read the constant given for this input (its packed form is used instead).
  virtual bool ReplacesInput(size_t /*input*/) const { return false; }
};

// A point in a stream's work.
class Event {
 public:
  virtual ~Event() = default;
  // Blocks until the point is reached; at once if it was never recorded.
  virtual Status Synchronize() = 0;
  virtual Result<bool> Query() = 0;
};

// Which calls are refused while a capture is under way; the meaning of torch.accelerator's GraphCaptureMode.
enum class CaptureMode : uint8_t { kDefault, kGlobal, kThreadLocal, kRelaxed };

// Names a memory pool that several graphs may share; {0, 0} asks for a new one.
struct PoolId {
  uint64_t device = 0, user = 0;
  friend bool operator==(const PoolId&, const PoolId&) = default;
};

// Recorded work of one stream, after torch.accelerator.Graph. States: empty, capturing, captured, instantiated.
// A call in the wrong state answers FailedPrecondition. One thread at a time.
class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;
  // From here to CaptureEnd the stream's launches and copies are recorded, not run.
  virtual Status CaptureBegin(Stream& stream, PoolId pool, CaptureMode mode) = 0;
  // Ends recording; an error that recording met (a host synchronisation, a failed launch) is answered here too, and
  // the graph is empty again.
  virtual Status CaptureEnd() = 0;
  virtual Status Instantiate() = 0;
  // Runs the work on any stream of the device; on a host device it is done when this returns.
  // InvalidArgument: the data made a step fail (an index out of range), names the step.
  virtual Status Replay(Stream& stream) = 0;
  virtual Status Reset() = 0;
  virtual PoolId pool() const = 0;
  // Steps recorded.
  virtual size_t size() const = 0;
};

// How a body recorded into a captured graph runs, depending on a bool in the device's memory at the time.
enum class BodyKind : uint8_t { kIf, kIfNot, kWhile /* again and again, as long as the body leaves it true */ };

// An in-order queue of work on one device. One thread at a time. Required: all entries without a default.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual Status CopyIn(std::byte* device, std::span<const std::byte> host) = 0;
  virtual Status CopyOut(std::span<std::byte> host, const std::byte* device) = 0;
  virtual Status CopyWithin(std::byte* to, const std::byte* from, size_t size_bytes) = 0;
  virtual Status Fill(std::byte* device, std::byte value, size_t size_bytes) = 0;
  // Enqueues the kernel. The arguments are read before Launch returns; the memory they name must live until the work
  // is done. `label` is for profiles and error messages and must outlive the stream's work and captures.
  // InvalidArgument: on a host device, the data made the step fail.
  virtual Status Launch(const Kernel& kernel, const KernelArguments& arguments, const char* label) = 0;
  virtual Status Record(Event& event) = 0;
  virtual Status Wait(Event& event) = 0;
  virtual Status Synchronize() = 0;
  virtual bool IsCapturing() const { return false; }
  // Between these, what is recorded becomes a body of the captured graph, which a replay runs or not. They nest. Only
  // while capturing, on devices with conditional_nodes.
  virtual Status BeginBody(BodyKind /*kind*/, const std::byte* /*decision*/) {
    return Unimplemented("this stream has no bodies");
  }
  virtual Status EndBody() { return Unimplemented("this stream has no bodies"); }
};

// Rounds that all loops of one run may take together: more is a loop that does not end.
inline constexpr int64_t kMaxRounds = int64_t{1} << 24;

struct StreamOptions {
  int threads = 1;  // host devices: of one launch
};

// One device of an accelerator. Thread-safe, except where said.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceProperties& properties() const = 0;
  // ResourceExhausted: not enough memory, says how much was asked and how much is free.
  virtual Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) = 0;
  virtual Result<std::unique_ptr<Stream>> CreateStream(const StreamOptions& options) = 0;
  virtual Result<std::unique_ptr<Event>> CreateEvent() = 0;
  // OK if PrepareKernel can make this step; Unimplemented with the reason if not.
  virtual Status Supports(const Step& step) const = 0;
  // Makes the step's code. constants[i] is the value of input i if it is a constant, else null; the kernel may pack
  // it. The constants' memory outlives the kernel.
  virtual Result<std::unique_ptr<Kernel>> PrepareKernel(const Step& step, std::span<const Constant* const> constants) = 0;
  virtual Result<std::unique_ptr<CapturedGraph>> CreateGraph() {
    return Unimplemented("{}: captured graphs are not supported", properties().name);
  }
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_ACCELERATORS_DEVICE_H_
