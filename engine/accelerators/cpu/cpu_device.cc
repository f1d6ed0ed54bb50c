#include "engine/accelerators/cpu/cpu_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "engine/accelerators/cpu/cpu_graph.h"
#include "engine/accelerators/cpu/cpu_stream.h"

namespace tondar::cpu {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr int kMaxThreads = 4096;

size_t PhysicalMemoryBytes() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t FreeMemoryBytes() {
  return static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

class CpuBuffer final : public Buffer {
 public:
  CpuBuffer(std::byte* data, size_t size_bytes) : data_(data), size_bytes_(size_bytes) {}
  ~CpuBuffer() override { std::free(data_); }
  std::byte* address() const override { return data_; }
  size_t size_bytes() const override { return size_bytes_; }
  std::byte* host_pointer() const override { return data_; }

 private:
  std::byte* data_;
  size_t size_bytes_;
};

}  // namespace

CpuDevice::CpuDevice(const CpuKernels& kernels) : kernels_(kernels) {
  properties_.name = fmt::format("{} ({})", DescribeCpu().name, Name(kernels.level));
  properties_.architecture = std::string(Name(kernels.level));
  properties_.memory_bytes = PhysicalMemoryBytes();
  properties_.alignment_bytes = kAlignment;
  properties_.capabilities.host_addressable = true;
  properties_.capabilities.graphs = true;
  properties_.capabilities.conditional_nodes = true;
}

// Large buffers start at a huge page and ask for such pages: fewer TLB misses, and faster first touch.
Result<std::unique_ptr<Buffer>> CpuDevice::Allocate(size_t size_bytes) {
  const size_t alignment = size_bytes >= 2 * kHugePage ? kHugePage : kAlignment;
  void* data = nullptr;
  if (size_bytes <= properties_.memory_bytes) {
    const size_t rounded = std::max(kAlignment, (size_bytes + alignment - 1) / alignment * alignment);
    data = std::aligned_alloc(alignment, rounded);
    if (data != nullptr && alignment == kHugePage) madvise(data, rounded, MADV_HUGEPAGE);
  }
  if (data == nullptr) {
    return ResourceExhausted("cpu: cannot allocate {} bytes; {} of {} are free", size_bytes, FreeMemoryBytes(),
                             properties_.memory_bytes);
  }
  return std::unique_ptr<Buffer>(std::make_unique<CpuBuffer>(static_cast<std::byte*>(data), size_bytes));
}

Result<std::unique_ptr<Stream>> CpuDevice::CreateStream(const StreamOptions& options) {
  if (options.threads < 1 || options.threads > kMaxThreads) {
    return InvalidArgument("cpu: a stream of {} threads, expected [1, {}]", options.threads, kMaxThreads);
  }
  return std::unique_ptr<Stream>(std::make_unique<CpuStream>(options.threads));
}

Result<std::unique_ptr<Event>> CpuDevice::CreateEvent() { return std::unique_ptr<Event>(std::make_unique<CpuEvent>()); }

Status CpuDevice::Supports(const Step& step) const {
  const StepRow* row = FindStepRow(KindOf(step.body));
  if (row == nullptr) return Unimplemented("cpu: steps of kind '{}' are not supported", Name(KindOf(step.body)));
  return row->supports(step).Annotated("cpu");
}

Result<std::unique_ptr<Kernel>> CpuDevice::PrepareKernel(const Step& step, std::span<const Constant* const> constants) {
  TONDAR_RETURN_IF_ERROR(Supports(step));
  TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<CpuKernel> kernel,
                          FindStepRow(KindOf(step.body))->make(step, constants, kernels_));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

Result<std::unique_ptr<CapturedGraph>> CpuDevice::CreateGraph() {
  return std::unique_ptr<CapturedGraph>(std::make_unique<CpuGraph>());
}

}  // namespace tondar::cpu
