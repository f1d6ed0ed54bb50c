#include "engine/runtime/session.h"

#include <algorithm>

#include "engine/base/clock.h"
#include "engine/base/log.h"

namespace tondar {
namespace {

// Activations of one session beyond this are a mistake of the request, not a need: 1 TiB.
constexpr int64_t kArenaLimitBytes = int64_t{1} << 40;

bool SameShapes(std::span<const Dims> a, std::span<const Dims> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

Result<std::unique_ptr<Session>> DeviceSession::Create(std::shared_ptr<const void> owner, const Signature& signature,
                                                       std::shared_ptr<const PreparedGraph> prepared,
                                                       const SessionOptions& options) {
  std::unique_ptr<DeviceSession> session(
      new DeviceSession(std::move(owner), signature, std::move(prepared), options));
  TONDAR_ASSIGN_OR_RETURN(session->stream_, session->prepared_->device().CreateStream({.threads = options.threads}));
  return std::unique_ptr<Session>(std::move(session));
}

ShapePlan* DeviceSession::FindPlan(std::span<const Dims> input_shapes) const {
  if (bound_ != nullptr && SameShapes(bound_->input_shapes(), input_shapes)) return bound_;
  for (const std::unique_ptr<ShapePlan>& plan : plans_) {
    if (SameShapes(plan->input_shapes(), input_shapes)) return plan.get();
  }
  return nullptr;
}

Result<ShapePlan*> DeviceSession::AddPlan(std::span<const Dims> input_shapes) {
  TONDAR_ASSIGN_OR_RETURN(std::vector<int64_t> symbols, SolveSymbols(signature_, input_shapes));
  TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<ShapePlan> plan,
                          ShapePlan::Create(*prepared_, {input_shapes.begin(), input_shapes.end()}, std::move(symbols),
                                            kArenaLimitBytes));
  if (static_cast<int>(plans_.size()) >= std::max(options_.max_cached_plans, 1)) EvictOldest();
  plans_.push_back(std::move(plan));
  return plans_.back().get();
}

void DeviceSession::EvictOldest() {
  const auto oldest = std::min_element(plans_.begin(), plans_.end(),
                                       [](const auto& a, const auto& b) { return a->last_used < b->last_used; });
  if (oldest->get() == bound_) bound_ = nullptr;
  plans_.erase(oldest);
  ++counters_.plans_evicted;
}

Status DeviceSession::EnsureArena(int64_t size_bytes) {
  if (arena_ != nullptr && static_cast<int64_t>(arena_->size_bytes()) >= size_bytes) return OkStatus();
  // The old arena goes first, so that growing never holds both; plans notice by their place.
  for (const std::unique_ptr<ShapePlan>& plan : plans_) plan->PlaceAt(nullptr);
  bound_ = nullptr;
  arena_.reset();
  TONDAR_ASSIGN_OR_RETURN(arena_, prepared_->device().Allocate(static_cast<size_t>(std::max<int64_t>(size_bytes, 1))));
  return OkStatus();
}

Status DeviceSession::BindTo(ShapePlan& plan) {
  TONDAR_RETURN_IF_ERROR(EnsureArena(plan.arena_bytes()));
  plan.PlaceAt(arena_->address());
  binding_.inputs = plan.inputs();
  binding_.outputs = plan.outputs();
  if (!prepared_->device().properties().capabilities.host_addressable) {
    staging_.clear();
    for (std::vector<TensorView>* views : {&binding_.inputs, &binding_.outputs}) {
      for (TensorView& view : *views) {
        staging_.push_back(AllocateConstant("staging", view.dtype, view.shape));
        view = staging_.back().view;
      }
    }
  }
  bound_ = &plan;
  return OkStatus();
}

Result<const Binding*> DeviceSession::Bind(std::span<const Dims> input_shapes) {
  if (input_shapes.size() != signature_.inputs.size()) {
    return InvalidArgument("{} input shapes given, the model has {} inputs", input_shapes.size(), signature_.inputs.size());
  }
  ShapePlan* plan = FindPlan(input_shapes);
  if (plan == nullptr) {
    TONDAR_ASSIGN_OR_RETURN(plan, AddPlan(input_shapes));
  }
  plan->last_used = ++tick_;
  if (plan != bound_) TONDAR_RETURN_IF_ERROR(BindTo(*plan));
  return &binding_;
}

Status DeviceSession::RunSteps() {
  const CompiledGraph& graph = prepared_->graph();
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    TONDAR_RETURN_IF_ERROR(stream_->Launch(prepared_->kernel(i), bound_->arguments(i), graph.steps[i].name.c_str()));
  }
  return OkStatus();
}

// Policy: a device that replays on its own is warmed up by one eager run, so that lazily made library handles and
// workspaces exist before capture (ExecuTorch runs three, torch one or more); a replay list on the host needs none.
Status DeviceSession::CaptureIfDue() {
  const Capabilities& can = prepared_->device().properties().capabilities;
  if (!options_.capture || !can.graphs || bound_->capture_refused || bound_->captured != nullptr) return OkStatus();
  if (bound_->eager_runs < (can.native_graphs ? 1u : 0u)) return OkStatus();
  TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<CapturedGraph> graph, prepared_->device().CreateGraph());
  TONDAR_RETURN_IF_ERROR(graph->CaptureBegin(*stream_, PoolId{}, CaptureMode::kDefault));
  const Status recorded = RunSteps();
  Status status = graph->CaptureEnd();
  if (status.ok()) status = recorded;
  if (status.ok()) status = graph->Instantiate();
  if (!status.ok()) {
    bound_->capture_refused = true;
    LogWarning("{}: running without capture: {}", prepared_->device().properties().name, status.message());
    return OkStatus();
  }
  bound_->captured = std::move(graph);
  ++counters_.captures;
  return OkStatus();
}

Status DeviceSession::Execute() {
  TONDAR_RETURN_IF_ERROR(CaptureIfDue());
  if (bound_->captured != nullptr) {
    ++counters_.replays;
    return bound_->captured->Replay(*stream_);
  }
  ++counters_.eager_runs;
  ++bound_->eager_runs;
  return RunSteps();
}

Status DeviceSession::CopyInputs() {
  if (staging_.empty()) return OkStatus();
  for (size_t i = 0; i < binding_.inputs.size(); ++i) {
    TONDAR_RETURN_IF_ERROR(stream_->CopyIn(bound_->inputs()[i].data, binding_.inputs[i].bytes()));
  }
  return OkStatus();
}

Status DeviceSession::CopyOutputs() {
  if (staging_.empty()) return OkStatus();
  for (size_t i = 0; i < binding_.outputs.size(); ++i) {
    TONDAR_RETURN_IF_ERROR(stream_->CopyOut(binding_.outputs[i].bytes(), bound_->outputs()[i].data));
  }
  return OkStatus();
}

Status DeviceSession::Run() {
  if (bound_ == nullptr) return FailedPrecondition("Run without Bind");
  TONDAR_RETURN_IF_ERROR(CopyInputs());
  TONDAR_RETURN_IF_ERROR(Execute());
  TONDAR_RETURN_IF_ERROR(CopyOutputs());
  return stream_->Synchronize();
}

Status DeviceSession::RunProfiled(std::vector<StepTime>& steps) {
  if (bound_ == nullptr) return FailedPrecondition("RunProfiled without Bind");
  steps.clear();
  TONDAR_RETURN_IF_ERROR(CopyInputs());
  const CompiledGraph& graph = prepared_->graph();
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    // One captured graph per step: what is timed is the work, not the preparation of a launch.
    TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<CapturedGraph> one, prepared_->device().CreateGraph());
    TONDAR_RETURN_IF_ERROR(one->CaptureBegin(*stream_, PoolId{}, CaptureMode::kDefault));
    const Status launched = stream_->Launch(prepared_->kernel(i), bound_->arguments(i), graph.steps[i].name.c_str());
    TONDAR_RETURN_IF_ERROR(one->CaptureEnd());
    TONDAR_RETURN_IF_ERROR(launched);
    TONDAR_RETURN_IF_ERROR(one->Instantiate());
    const TimePoint begin = Clock::Real().Now();
    TONDAR_RETURN_IF_ERROR(one->Replay(*stream_));
    TONDAR_RETURN_IF_ERROR(stream_->Synchronize());
    const Duration elapsed = Clock::Real().Now() - begin;
    steps.push_back({graph.steps[i].name, std::string(Name(KindOf(graph.steps[i].body))), elapsed.count()});
  }
  return CopyOutputs();
}

MemoryReport DeviceSession::memory() const {
  MemoryReport report;
  report.weight_bytes = prepared_->weight_bytes();
  report.packed_bytes = prepared_->packed_bytes();
  report.arena_bytes = arena_ == nullptr ? 0 : arena_->size_bytes();
  return report;
}

}  // namespace tondar
