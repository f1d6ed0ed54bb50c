#include "engine/accelerators/cpu/cpu_stream.h"

#include <cstdlib>
#include <cstring>

namespace tondar::cpu {
namespace {

// A page, so that members never write to the same line and rarely to the same page.
constexpr size_t kScratchAlignment = 4096;

struct Copy {
  std::byte* to;
  const std::byte* from;
  size_t size_bytes;
};

struct FillBytes {
  std::byte* to;
  std::byte value;
  size_t size_bytes;
};

BoundCall BindCopy(std::byte* to, const std::byte* from, size_t size_bytes) {
  const auto run = [](const void* arguments, RunContext&) {
    const Copy& copy = *static_cast<const Copy*>(arguments);
    if (copy.size_bytes > 0) std::memmove(copy.to, copy.from, copy.size_bytes);
  };
  return BoundCall(run, std::make_unique<Copy>(Copy{to, from, size_bytes}), 0);
}

}  // namespace

void CpuStream::FreeScratch::operator()(std::byte* p) const { std::free(p); }

CpuStream::CpuStream(int threads) : team_(threads), context_{&team_, &error_, nullptr, 0} {}

CpuStream::~CpuStream() {
  if (recording_ != nullptr) recording_->StreamGone();
}

Status CpuStream::ReserveScratch(size_t bytes_per_member) {
  if (bytes_per_member <= context_.scratch_stride) return OkStatus();
  const size_t stride = (bytes_per_member + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  const size_t total = stride * static_cast<size_t>(team_.members());
  auto* scratch = static_cast<std::byte*>(std::aligned_alloc(kScratchAlignment, total));
  if (scratch == nullptr) return ResourceExhausted("no memory for {} bytes of workspace; send smaller inputs", total);
  scratch_.reset(scratch);
  context_.scratch = scratch;
  context_.scratch_stride = stride;
  return OkStatus();
}

Status CpuStream::RunOrRecord(BoundCall call, const char* label) {
  if (recording_ != nullptr) {
    recording_->Append(std::move(call), label);
    return OkStatus();
  }
  TONDAR_RETURN_IF_ERROR(ReserveScratch(call.scratch_bytes()));
  call.Run(context_);
  if (error_.failed()) return error_.Take(label);
  return OkStatus();
}

Status CpuStream::CopyIn(std::byte* device, std::span<const std::byte> host) {
  return RunOrRecord(BindCopy(device, host.data(), host.size()), "copy in");
}

Status CpuStream::CopyOut(std::span<std::byte> host, const std::byte* device) {
  return RunOrRecord(BindCopy(host.data(), device, host.size()), "copy out");
}

Status CpuStream::CopyWithin(std::byte* to, const std::byte* from, size_t size_bytes) {
  return RunOrRecord(BindCopy(to, from, size_bytes), "copy");
}

Status CpuStream::Fill(std::byte* device, std::byte value, size_t size_bytes) {
  const auto run = [](const void* arguments, RunContext&) {
    const FillBytes& fill = *static_cast<const FillBytes*>(arguments);
    if (fill.size_bytes > 0) std::memset(fill.to, static_cast<int>(fill.value), fill.size_bytes);
  };
  return RunOrRecord(BoundCall(run, std::make_unique<FillBytes>(FillBytes{device, value, size_bytes}), 0), "fill");
}

Status CpuStream::Launch(const Kernel& kernel, const KernelArguments& arguments, const char* label) {
  const auto* cpu_kernel = dynamic_cast<const CpuKernel*>(&kernel);
  if (cpu_kernel == nullptr) return InvalidArgument("step '{}': the kernel is of another device, expected cpu", label);
  Result<BoundCall> call = cpu_kernel->Bind(arguments);
  if (!call.ok()) {
    const Status status = call.status().Annotated(fmt::format("step '{}'", label));
    if (recording_ != nullptr) recording_->Invalidate(status);
    return status;
  }
  return RunOrRecord(std::move(call).value(), label);
}

Status CpuStream::BeginBody(BodyKind kind, const std::byte* decision) {
  if (recording_ == nullptr) return FailedPrecondition("cpu: a body is part of a capture; begin one first");
  return recording_->BeginBody(kind, decision);
}

Status CpuStream::EndBody() {
  if (recording_ == nullptr) return FailedPrecondition("cpu: a body is part of a capture; begin one first");
  return recording_->EndBody();
}

// Work is over when its call returns and a stream's order is its thread's, so events have nothing to wait for.
Status CpuStream::Record(Event&) { return OkStatus(); }
Status CpuStream::Wait(Event&) { return OkStatus(); }

Status CpuStream::Synchronize() {
  if (recording_ == nullptr) return OkStatus();
  const Status status = FailedPrecondition("cpu: cannot synchronise a stream that is capturing; end the capture first");
  recording_->Invalidate(status);
  return status;
}

}  // namespace tondar::cpu
