// CpuGraph: a replay list of bound calls.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_CPU_GRAPH_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_CPU_GRAPH_H_

#include <vector>

#include "engine/accelerators/cpu/cpu_kernel.h"
#include "engine/accelerators/cpu/cpu_stream.h"
#include "engine/accelerators/device.h"

namespace tondar::cpu {

// One thread at a time. The kernels and memory that it recorded must outlive its replays.
class CpuGraph final : public CapturedGraph, private Recording {
 public:
  CpuGraph() = default;
  ~CpuGraph() override;

  Status CaptureBegin(Stream& stream, PoolId pool, CaptureMode mode) override;
  Status CaptureEnd() override;
  Status Instantiate() override;
  Status Replay(Stream& stream) override;
  Status Reset() override;
  PoolId pool() const override { return pool_; }
  size_t size() const override { return entries_.size(); }

 private:
  void Append(BoundCall call, const char* label) override;
  void Invalidate(const Status& status) override;
  void StreamGone() override;

  enum class State : uint8_t { kEmpty, kCapturing, kCaptured, kInstantiated };
  struct Entry {
    BoundCall call;
    const char* label;
  };

  Status Refuse(const char* call) const;
  void Detach();
  void Clear();

  State state_ = State::kEmpty;
  CpuStream* stream_ = nullptr;  // while capturing
  CpuStream* replayed_on_ = nullptr;
  PoolId pool_;
  Status failure_;
  std::vector<Entry> entries_;
  size_t scratch_bytes_ = 0;
};

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_CPU_GRAPH_H_
