// Session: one model bound to one device, ready to run.
#ifndef TONDAR_ENGINE_API_SESSION_H_
#define TONDAR_ENGINE_API_SESSION_H_

#include <span>
#include <string>
#include <vector>

#include "engine/api/signature.h"
#include "engine/types/tensor_view.h"

namespace tondar {

// What Bind lends: contiguous host memory to write inputs to before Run and to read outputs from after it.
// Parallel to the signature's inputs and outputs. An output may share memory with an input that passes through.
// Where sizes depend on the data (Signature::has_data_sizes), outputs have their shapes and memory only after Run.
struct Binding {
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
};

// Bytes held, known at load and returned at unload.
struct MemoryReport {
  size_t weight_bytes = 0;   // as the file holds them, and still needed
  size_t packed_bytes = 0;   // weights in a device's own layout
  size_t arena_bytes = 0;    // activations of all bound shapes of this session
  size_t state_bytes = 0;    // buffers that the model writes, of this session
  size_t scratch_bytes = 0;  // kernels' workspaces
};

// How often each way of running was taken, for metrics and tests.
struct SessionCounters {
  uint64_t eager_runs = 0;
  uint64_t captures = 0;
  uint64_t replays = 0;
  uint64_t plans_evicted = 0;
};

// Time of one step in the last profiled run.
struct StepTime {
  std::string name;  // "matmul linear_3"
  std::string kind;
  int64_t nanoseconds = 0;
};

// Runs one call at a time; not shared between threads, but may move from one to another between calls.
// Bind + Run with an already seen shape allocates nothing, takes no lock and looks up no string.
class Session {
 public:
  virtual ~Session() = default;

  virtual const Signature& signature() const = 0;

  // Chooses the plan for these input shapes (parallel to signature().inputs), making it on first sight. The result
  // stays valid until the next Bind. InvalidArgument: the shapes break the signature; names the input.
  // ResourceExhausted: the activations do not fit.
  virtual Result<const Binding*> Bind(std::span<const Dims> input_shapes) = 0;

  // Runs the bound plan once: inputs are read from and outputs written to the Binding. Blocks until done.
  // FailedPrecondition: no Bind before. InvalidArgument: a value is out of range (an index, say); names the step.
  // State changes at the end of a run, so one that fails leaves it as it was.
  virtual Status Run() = 0;

  // As Run, recording the time of every step (slower; not for serving).
  virtual Status RunProfiled(std::vector<StepTime>& steps) = 0;

  // The state of this session: one tensor per signature().states, contiguous in the order of its shape. Saving all,
  // and later writing them to this or another session of the model, goes on where the saved one was.
  // InvalidArgument: no such state, or a wrong size.
  virtual Status ResetState() = 0;  // as the file has it
  virtual Status CopyStateOut(size_t index, std::span<std::byte> to) = 0;
  virtual Status CopyStateIn(size_t index, std::span<const std::byte> from) = 0;

  virtual MemoryReport memory() const = 0;
  virtual SessionCounters counters() const = 0;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_API_SESSION_H_
