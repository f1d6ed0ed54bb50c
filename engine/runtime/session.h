// DeviceSession: the Session over any device: plans per shape, capture and replay.
#ifndef TONDAR_ENGINE_RUNTIME_SESSION_H_
#define TONDAR_ENGINE_RUNTIME_SESSION_H_

#include <memory>
#include <vector>

#include "engine/api/engine.h"
#include "engine/api/session.h"
#include "engine/runtime/prepared_graph.h"
#include "engine/runtime/segment_plan.h"

namespace tondar {

// All plans of a session share its memory, since only one runs at a time: memory is that of the largest shape seen.
class DeviceSession final : public Session {
 public:
  // `owner` keeps alive what `signature` and `prepared` belong to. shared_ptr: a model outlives its last session.
  static Result<std::unique_ptr<Session>> Create(std::shared_ptr<const void> owner, const Signature& signature,
                                                 std::shared_ptr<const PreparedGraph> prepared,
                                                 const SessionOptions& options);

  const Signature& signature() const override { return signature_; }
  Result<const Binding*> Bind(std::span<const Dims> input_shapes) override;
  Status Run() override;
  Status RunProfiled(std::vector<StepTime>& steps) override;
  Status ResetState() override;
  Status CopyStateOut(size_t index, std::span<std::byte> to) override;
  Status CopyStateIn(size_t index, std::span<const std::byte> from) override;
  MemoryReport memory() const override;
  SessionCounters counters() const override { return counters_; }

 private:
  DeviceSession(std::shared_ptr<const void> owner, const Signature& signature,
                std::shared_ptr<const PreparedGraph> prepared, const SessionOptions& options)
      : owner_(std::move(owner)), signature_(signature), prepared_(std::move(prepared)), options_(options) {}

  // The plan of the first segment for one set of input shapes.
  struct ShapePlan {
    std::vector<Dims> input_shapes;
    std::unique_ptr<SegmentPlan> plan;
    uint64_t last_used = 0;  // tick of the session, for eviction
  };
  // Runs all segments, each by `run`.
  template <typename Function>
  Status RunSegments(Function run);

  void GiveBackUnused(const ShapePlan& shape);
  int64_t ArenaLimit() const;
  ShapePlan* FindPlan(std::span<const Dims> input_shapes) const;
  Result<ShapePlan*> AddPlan(std::span<const Dims> input_shapes);
  void EvictOldest();
  Status EnsureArena(size_t segment, int64_t size_bytes);
  Status AllocateStates();
  Status BindTo(ShapePlan& shape);
  void BindOutputs(const SegmentPlan& last);
  void StageForHost(std::vector<TensorView>& views, std::vector<Constant>& staging) const;
  Result<SegmentPlan*> Advance(SegmentPlan& plan);
  Result<std::vector<int64_t>> ReadSymbols(const SegmentPlan& plan);
  Status CheckSymbol(SymbolId symbol, int64_t value) const;
  Status RunSteps(const SegmentPlan& plan);
  Status ProfileSteps(const SegmentPlan& plan, std::vector<StepTime>& steps);
  Status ProfileStep(const SegmentPlan& plan, size_t step, std::vector<StepTime>& steps);
  Status CaptureIfDue(SegmentPlan& plan);
  Status Execute(SegmentPlan& plan);
  Status CopyInputs();
  Status CopyOutputs();
  bool host_addressable() const { return prepared_->device().properties().capabilities.host_addressable; }
  size_t segments() const { return prepared_->graph().segments.size(); }

  const std::shared_ptr<const void> owner_;
  const Signature& signature_;
  const std::shared_ptr<const PreparedGraph> prepared_;
  const SessionOptions options_;
  std::vector<std::unique_ptr<Buffer>> arenas_;  // one per segment; null before its first plan
  std::vector<std::unique_ptr<Buffer>> states_;
  SessionMemory memory_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<ShapePlan>> plans_;
  ShapePlan* bound_ = nullptr;
  std::vector<DeviceTensor> inputs_, outputs_;  // of the bound plan, on the device
  Binding binding_;                             // what the host reads and writes: the same, or staging
  std::vector<Constant> staged_inputs_, staged_outputs_;  // for devices that the host cannot address
  SessionCounters counters_;
  uint64_t tick_ = 0;
  // What the last calls needed of the arena, to give back what none of them did.
  int64_t recent_bytes_ = 0;
  uint32_t recent_calls_ = 0;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_RUNTIME_SESSION_H_
