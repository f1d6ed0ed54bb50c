// PreparedGraph: a compiled graph with its kernels and constants on one device.
#ifndef TONDAR_ENGINE_RUNTIME_PREPARED_GRAPH_H_
#define TONDAR_ENGINE_RUNTIME_PREPARED_GRAPH_H_

#include <memory>
#include <vector>

#include "engine/accelerators/device.h"
#include "engine/plan/compiled_graph.h"

namespace tondar {

// Immutable after Create, shared by the sessions of a model. Thread-safe.
class PreparedGraph {
 public:
  // Makes every step's kernel and brings the constants that launches still read to the device. The device outlives
  // the result. Unimplemented: the device cannot run some steps; lists all of them.
  static Result<std::shared_ptr<const PreparedGraph>> Create(CompiledGraph graph, Device& device);

  const CompiledGraph& graph() const { return graph_; }
  Device& device() const { return device_; }
  const Kernel& kernel(size_t step) const { return *kernels_[step]; }  // of a step that is no control step
  // Device address of element 0 of constants[index]; null if no launch reads it.
  std::byte* constant_address(size_t index) const { return constant_addresses_[index]; }

  size_t weight_bytes() const { return weight_bytes_; }  // constants that launches read
  size_t packed_bytes() const { return packed_bytes_; }  // what kernels made of the others

 private:
  PreparedGraph(CompiledGraph graph, Device& device) : graph_(std::move(graph)), device_(device) {}

  Status PrepareKernels();
  void Keep(std::span<const Operand> operands, std::vector<bool>& read) const;
  Status PlaceConstants();
  Status Upload(Stream& stream, size_t index);

  CompiledGraph graph_;
  Device& device_;
  std::vector<std::unique_ptr<Kernel>> kernels_;        // one per step, null for control steps
  std::vector<std::byte*> constant_addresses_;          // one per constant
  std::vector<std::unique_ptr<Buffer>> constant_buffers_;  // of devices that cannot read host memory
  size_t weight_bytes_ = 0, packed_bytes_ = 0;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_RUNTIME_PREPARED_GRAPH_H_
