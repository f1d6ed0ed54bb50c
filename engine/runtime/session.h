// DeviceSession: the Session over any device: plans per shape, capture and replay.
#ifndef TONDAR_ENGINE_RUNTIME_SESSION_H_
#define TONDAR_ENGINE_RUNTIME_SESSION_H_

#include <memory>
#include <vector>

#include "engine/api/engine.h"
#include "engine/api/session.h"
#include "engine/runtime/prepared_graph.h"
#include "engine/runtime/shape_plan.h"

namespace tondar {

// All plans of a session share one arena, since only one runs at a time: memory is that of the largest shape seen.
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
  MemoryReport memory() const override;
  SessionCounters counters() const override { return counters_; }

 private:
  DeviceSession(std::shared_ptr<const void> owner, const Signature& signature,
                std::shared_ptr<const PreparedGraph> prepared, const SessionOptions& options)
      : owner_(std::move(owner)), signature_(signature), prepared_(std::move(prepared)), options_(options) {}

  ShapePlan* FindPlan(std::span<const Dims> input_shapes) const;
  Result<ShapePlan*> AddPlan(std::span<const Dims> input_shapes);
  void EvictOldest();
  Status EnsureArena(int64_t size_bytes);
  Status BindTo(ShapePlan& plan);
  Status RunSteps();
  Status CaptureIfDue();
  Status Execute();
  Status CopyInputs();
  Status CopyOutputs();

  const std::shared_ptr<const void> owner_;
  const Signature& signature_;
  const std::shared_ptr<const PreparedGraph> prepared_;
  const SessionOptions options_;
  std::unique_ptr<Buffer> arena_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<ShapePlan>> plans_;
  ShapePlan* bound_ = nullptr;
  Binding binding_;
  std::vector<Constant> staging_;  // host copies of inputs and outputs, for devices that the host cannot address
  SessionCounters counters_;
  uint64_t tick_ = 0;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_RUNTIME_SESSION_H_
