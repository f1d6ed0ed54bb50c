#include "engine/runtime/prepared_graph.h"

#include <algorithm>

namespace tondar {
namespace {

// The constant that an operand names, or null.
const Constant* ConstantOf(const CompiledGraph& graph, const Operand& operand) {
  const Slot& slot = graph.slots[static_cast<size_t>(operand.slot)];
  return slot.role == SlotRole::kConstant ? &graph.constants[static_cast<size_t>(slot.constant)] : nullptr;
}

// The constant as the operand sees it: its window, with concrete extents.
Constant WindowOf(const Constant& constant, const Operand& operand) {
  Constant window = constant;
  window.view.dtype = operand.dtype;
  window.view.shape = Evaluate(operand.shape, {});
  window.view.strides = Evaluate(operand.strides, {});
  window.view.data += operand.offset.constant() * static_cast<int64_t>(SizeOf(operand.dtype));
  return window;
}

// How many inputs of steps name each constant.
std::vector<int> CountReaders(const CompiledGraph& graph) {
  std::vector<int> readers(graph.constants.size(), 0);
  for (const Step& step : graph.steps) {
    for (const Operand& input : step.inputs) {
      const Slot& slot = graph.slots[static_cast<size_t>(input.slot)];
      if (slot.role == SlotRole::kConstant) ++readers[static_cast<size_t>(slot.constant)];
    }
  }
  return readers;
}

void Release(Constant& constant) {
  constant.view.data = nullptr;
  constant.owner.reset();
}

bool IsConcrete(const Operand& operand) {
  return IsConstant(operand.shape) && IsConstant(operand.strides) && operand.offset.IsConstant();
}

// Every step the device refuses, in one message.
Status CheckSupport(const CompiledGraph& graph, const Device& device) {
  std::string refused;
  for (const Step& step : graph.steps) {
    if (step.IsControl()) continue;  // the session's own work
    const Status status = device.Supports(step);
    if (!status.ok()) refused += fmt::format("\n  {} '{}': {}", Name(KindOf(step.body)), step.name, status.message());
  }
  if (refused.empty()) return OkStatus();
  return Unimplemented("{} cannot run these steps:{}", device.properties().name, refused);
}

}  // namespace

Result<std::shared_ptr<const PreparedGraph>> PreparedGraph::Create(CompiledGraph graph, Device& device) {
  TONDAR_RETURN_IF_ERROR(CheckSupport(graph, device));
  std::shared_ptr<PreparedGraph> prepared(new PreparedGraph(std::move(graph), device));
  TONDAR_RETURN_IF_ERROR(prepared->PrepareKernels());
  TONDAR_RETURN_IF_ERROR(prepared->PlaceConstants());
  return std::shared_ptr<const PreparedGraph>(std::move(prepared));
}

// Marks the constants among operands that something other than a kernel reads.
void PreparedGraph::Keep(std::span<const Operand> operands, std::vector<bool>& read) const {
  for (const Operand& operand : operands) {
    const Slot& slot = graph_.slots[static_cast<size_t>(operand.slot)];
    if (slot.role == SlotRole::kConstant) read[static_cast<size_t>(slot.constant)] = true;
  }
}

Status PreparedGraph::PrepareKernels() {
  constant_addresses_.assign(graph_.constants.size(), nullptr);
  std::vector<bool> read(graph_.constants.size(), false);
  Keep(graph_.outputs, read);  // an output may be a constant itself, and so may a size
  for (const Segment& segment : graph_.segments) {
    for (const DataSymbol& symbol : segment.symbols) Keep({&symbol.value, 1}, read);
  }
  std::vector<int> readers = CountReaders(graph_);
  for (const Step& step : graph_.steps) {
    if (step.IsControl()) {
      kernels_.push_back(nullptr);
      Keep(step.inputs, read);  // what it decides by
      continue;
    }
    std::vector<Constant> windows(step.inputs.size());
    std::vector<const Constant*> constants(step.inputs.size(), nullptr);
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const Constant* constant = ConstantOf(graph_, step.inputs[i]);
      if (constant == nullptr || !IsConcrete(step.inputs[i])) continue;
      windows[i] = WindowOf(*constant, step.inputs[i]);
      constants[i] = &windows[i];
    }
    Result<std::unique_ptr<Kernel>> kernel = device_.PrepareKernel(step, constants);
    if (!kernel.ok()) return kernel.status().Annotated(fmt::format("step '{}'", step.name));
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const Slot& slot = graph_.slots[static_cast<size_t>(step.inputs[i].slot)];
      if (slot.role != SlotRole::kConstant) continue;
      const auto index = static_cast<size_t>(slot.constant);
      if (!(*kernel)->ReplacesInput(i)) read[index] = true;
      windows[i].owner.reset();
      // What kernels packed is not kept twice, and of all weights only one at a time.
      if (--readers[index] == 0 && !read[index]) Release(graph_.constants[index]);
    }
    packed_bytes_ += (*kernel)->packed_bytes();
    kernels_.push_back(std::move(*kernel));
  }
  for (size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) Release(graph_.constants[i]);
    constant_addresses_[i] = graph_.constants[i].view.data;
  }
  return OkStatus();
}

Status PreparedGraph::PlaceConstants() {
  const bool host = device_.properties().capabilities.host_addressable;
  std::unique_ptr<Stream> stream;
  if (!host) {
    TONDAR_ASSIGN_OR_RETURN(stream, device_.CreateStream({}));
  }
  for (size_t i = 0; i < graph_.constants.size(); ++i) {
    if (constant_addresses_[i] == nullptr) continue;
    weight_bytes_ += graph_.constants[i].view.size_bytes();
    if (!host) TONDAR_RETURN_IF_ERROR(Upload(*stream, i));
  }
  return host ? OkStatus() : stream->Synchronize();
}

// Copies the span of memory that the constant's strides cover, so that the same strides address it on the device.
Status PreparedGraph::Upload(Stream& stream, size_t index) {
  const TensorView& view = graph_.constants[index].view;
  int64_t low = 0, high = 0;
  for (size_t d = 0; d < view.shape.size(); ++d) {
    const int64_t reach = view.strides[d] * std::max<int64_t>(view.shape[d] - 1, 0);
    (reach < 0 ? low : high) += reach;
  }
  const int64_t item = static_cast<int64_t>(SizeOf(view.dtype));
  const size_t size = static_cast<size_t>((high - low + 1) * item);
  TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> buffer, device_.Allocate(size));
  TONDAR_RETURN_IF_ERROR(stream.CopyIn(buffer->address(), {view.data + low * item, size}));
  constant_addresses_[index] = buffer->address() - low * item;
  constant_buffers_.push_back(std::move(buffer));
  return OkStatus();
}

}  // namespace tondar
