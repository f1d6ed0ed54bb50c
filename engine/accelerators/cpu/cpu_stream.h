// CpuStream: runs work at once on the calling thread and its team, or records it into a graph.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_CPU_STREAM_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_CPU_STREAM_H_

#include <memory>

#include "engine/accelerators/cpu/cpu_kernel.h"
#include "engine/accelerators/cpu/recording.h"
#include "engine/accelerators/device.h"

namespace tondar::cpu {

class CpuEvent final : public Event {
 public:
  // Work is done when its call returns, so a recorded point is always reached.
  Status Synchronize() override { return OkStatus(); }
  Result<bool> Query() override { return true; }
};

// One thread at a time.
class CpuStream final : public Stream {
 public:
  explicit CpuStream(int threads);
  ~CpuStream() override;

  Status CopyIn(std::byte* device, std::span<const std::byte> host) override;
  Status CopyOut(std::span<std::byte> host, const std::byte* device) override;
  Status CopyWithin(std::byte* to, const std::byte* from, size_t size_bytes) override;
  Status Fill(std::byte* device, std::byte value, size_t size_bytes) override;
  Status Launch(const Kernel& kernel, const KernelArguments& arguments, const char* label) override;
  Status Record(Event& event) override;
  Status Wait(Event& event) override;
  Status Synchronize() override;
  bool IsCapturing() const override { return recording_ != nullptr; }
  Status BeginBody(BodyKind kind, const std::byte* decision) override;
  Status EndBody() override;

  // For CpuGraph. Grows the scratch of every member to at least this; the only allocation a replay may cause, and only
  // on a stream that has not seen the graph's needs yet. ResourceExhausted: no memory.
  Status ReserveScratch(size_t bytes_per_member);
  RunContext& context() { return context_; }
  void set_recording(Recording* recording) { recording_ = recording; }

 private:
  Status RunOrRecord(BoundCall call, const char* label);

  struct FreeScratch {
    void operator()(std::byte* p) const;
  };
  ThreadTeam team_;
  StepError error_;
  std::unique_ptr<std::byte, FreeScratch> scratch_;
  RunContext context_;
  Recording* recording_ = nullptr;
};

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_CPU_STREAM_H_
