// CpuGraph: a replay list of bound calls.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_CPU_GRAPH_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_CPU_GRAPH_H_

#include <vector>

#include "engine/accelerators/cpu/cpu_kernel.h"
#include "engine/accelerators/cpu/cpu_stream.h"
#include "engine/accelerators/device.h"

namespace tondar::cpu {

// A body is a stretch of the list that a jump at its beginning may pass over, and that a loop's jump at its end repeats.
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
  Status BeginBody(BodyKind kind, const std::byte* decision) override;
  Status EndBody() override;
  void Invalidate(const Status& status) override;
  void StreamGone() override;

  enum class State : uint8_t { kEmpty, kCapturing, kCaptured, kInstantiated };
  struct Entry {
    BoundCall call;
    const char* label;
    // Of a jump: to there, unless the bool at `decision` is `runs`; always if there is none.
    const std::byte* decision = nullptr;
    bool runs = false;
    size_t target = kNoJump;
  };
  static constexpr size_t kNoJump = SIZE_MAX;
  struct OpenBody {
    BodyKind kind;
    size_t begin;  // of its first jump
  };

  Status Refuse(const char* call) const;
  Status ReplayCalls(RunContext& context) const;
  Status ReplayWithJumps(RunContext& context) const;
  void Detach();
  void Clear();

  State state_ = State::kEmpty;
  CpuStream* stream_ = nullptr;  // while capturing
  CpuStream* replayed_on_ = nullptr;
  PoolId pool_;
  Status failure_;
  std::vector<Entry> entries_;
  std::vector<OpenBody> open_bodies_;  // while capturing
  bool has_jumps_ = false;
  size_t scratch_bytes_ = 0;
};

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_CPU_GRAPH_H_
