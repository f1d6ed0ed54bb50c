#include "engine/runtime/session.h"

#include <algorithm>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/runtime/step_runner.h"

namespace tondar {
namespace {

// Where a device does not say how much memory it has.
constexpr int64_t kArenaLimitBytes = int64_t{1} << 40;
// An arena above this size that so many calls in a row needed less than a quarter of is made smaller.
constexpr int64_t kKeptArenaBytes = int64_t{16} << 20;
constexpr uint32_t kCallsBeforeShrinking = 128;
// Sizes found by runs whose plans are kept, per plan before them.
constexpr size_t kMaxNextPlans = 8;

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
  session->arenas_.resize(session->segments());
  session->memory_.arenas.assign(session->segments(), nullptr);
  TONDAR_RETURN_IF_ERROR(session->AllocateStates());
  return std::unique_ptr<Session>(std::move(session));
}

// ---- State ----

Status DeviceSession::AllocateStates() {
  for (const State& state : prepared_->graph().states) {
    const size_t size = std::max<size_t>(state.initial.view.size_bytes(), 1);
    TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> buffer, prepared_->device().Allocate(size));
    memory_.states.push_back(buffer->address());
    states_.push_back(std::move(buffer));
  }
  return ResetState();
}

Status DeviceSession::ResetState() {
  const std::vector<State>& states = prepared_->graph().states;
  for (size_t i = 0; i < states.size(); ++i) TONDAR_RETURN_IF_ERROR(CopyStateIn(i, states[i].initial.view.bytes()));
  return OkStatus();
}

namespace {

Status CheckState(const std::vector<State>& states, size_t index, size_t size_bytes) {
  if (index >= states.size()) return InvalidArgument("state {}: the model has {}", index, states.size());
  const size_t expected = states[index].initial.view.size_bytes();
  if (size_bytes == expected) return OkStatus();
  return InvalidArgument("state '{}': {} bytes given, it has {}", states[index].name, size_bytes, expected);
}

}  // namespace

Status DeviceSession::CopyStateOut(size_t index, std::span<std::byte> to) {
  TONDAR_RETURN_IF_ERROR(CheckState(prepared_->graph().states, index, to.size()));
  TONDAR_RETURN_IF_ERROR(stream_->CopyOut(to, memory_.states[index]));
  return stream_->Synchronize();
}

Status DeviceSession::CopyStateIn(size_t index, std::span<const std::byte> from) {
  TONDAR_RETURN_IF_ERROR(CheckState(prepared_->graph().states, index, from.size()));
  TONDAR_RETURN_IF_ERROR(stream_->CopyIn(memory_.states[index], from));
  return stream_->Synchronize();
}

// ---- Plans ----

DeviceSession::ShapePlan* DeviceSession::FindPlan(std::span<const Dims> input_shapes) const {
  if (bound_ != nullptr && SameShapes(bound_->input_shapes, input_shapes)) return bound_;
  for (const std::unique_ptr<ShapePlan>& plan : plans_) {
    if (SameShapes(plan->input_shapes, input_shapes)) return plan.get();
  }
  return nullptr;
}

Result<DeviceSession::ShapePlan*> DeviceSession::AddPlan(std::span<const Dims> input_shapes) {
  TONDAR_ASSIGN_OR_RETURN(std::vector<int64_t> symbols, SolveSymbols(signature_, input_shapes));
  auto shape = std::make_unique<ShapePlan>();
  shape->input_shapes.assign(input_shapes.begin(), input_shapes.end());
  TONDAR_ASSIGN_OR_RETURN(shape->plan, SegmentPlan::Create(*prepared_, nullptr, std::move(symbols), ArenaLimit()));
  if (static_cast<int>(plans_.size()) >= std::max(options_.max_cached_plans, 1)) EvictOldest();
  plans_.push_back(std::move(shape));
  return plans_.back().get();
}

void DeviceSession::EvictOldest() {
  const auto oldest = std::min_element(plans_.begin(), plans_.end(),
                                       [](const auto& a, const auto& b) { return a->last_used < b->last_used; });
  if (oldest->get() == bound_) bound_ = nullptr;
  plans_.erase(oldest);
  ++counters_.plans_evicted;
}

Status DeviceSession::EnsureArena(size_t segment, int64_t size_bytes) {
  std::unique_ptr<Buffer>& arena = arenas_[segment];
  if (arena != nullptr && static_cast<int64_t>(arena->size_bytes()) >= size_bytes) return OkStatus();
  // The old arena goes first, so that growing never holds both.
  for (const std::unique_ptr<ShapePlan>& shape : plans_) shape->plan->Displace(segment);
  if (segment == 0) bound_ = nullptr;
  arena.reset();
  memory_.arenas[segment] = nullptr;
  TONDAR_ASSIGN_OR_RETURN(arena, prepared_->device().Allocate(static_cast<size_t>(std::max<int64_t>(size_bytes, 1))));
  memory_.arenas[segment] = arena->address();
  return OkStatus();
}

// Gives each view memory of the host's, where the host cannot address the device's.
void DeviceSession::StageForHost(std::vector<TensorView>& views, std::vector<Constant>& staging) const {
  staging.clear();
  if (host_addressable()) return;
  for (TensorView& view : views) {
    staging.push_back(AllocateConstant("staging", view.dtype, view.shape));
    view = staging.back().view;
  }
}

Status DeviceSession::BindTo(ShapePlan& shape) {
  const CompiledGraph& graph = prepared_->graph();
  TONDAR_RETURN_IF_ERROR(EnsureArena(0, shape.plan->arena_bytes()));
  shape.plan->PlaceAt(memory_);
  inputs_.clear();
  for (const Operand& input : graph.inputs) inputs_.push_back(shape.plan->Locate(input));
  binding_.inputs = inputs_;
  StageForHost(binding_.inputs, staged_inputs_);
  if (segments() == 1) {
    BindOutputs(*shape.plan);
  } else {
    binding_.outputs.clear();
    for (const Operand& output : graph.outputs) binding_.outputs.push_back({nullptr, output.dtype, {}, {}});
  }
  bound_ = &shape;
  return OkStatus();
}

void DeviceSession::BindOutputs(const SegmentPlan& last) {
  outputs_.clear();
  for (const Operand& output : prepared_->graph().outputs) outputs_.push_back(last.Locate(output));
  binding_.outputs = outputs_;
  StageForHost(binding_.outputs, staged_outputs_);
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
  GiveBackUnused(*plan);
  if (plan != bound_) TONDAR_RETURN_IF_ERROR(BindTo(*plan));
  return &binding_;
}

// One large call must not hold its memory for ever.
void DeviceSession::GiveBackUnused(const ShapePlan& shape) {
  recent_bytes_ = std::max(recent_bytes_, shape.plan->arena_bytes());
  if (++recent_calls_ < kCallsBeforeShrinking) return;
  const int64_t held = arenas_[0] == nullptr ? 0 : static_cast<int64_t>(arenas_[0]->size_bytes());
  if (held > kKeptArenaBytes && recent_bytes_ < held / 4) {
    for (const std::unique_ptr<ShapePlan>& other : plans_) other->plan->Displace(0);
    bound_ = nullptr;
    for (size_t i = 0; i < arenas_.size(); ++i) {
      arenas_[i].reset();
      memory_.arenas[i] = nullptr;
    }
  }
  recent_bytes_ = 0;
  recent_calls_ = 0;
}

// What one call may use: all the memory there is.
int64_t DeviceSession::ArenaLimit() const {
  const size_t memory = prepared_->device().properties().memory_bytes;
  return memory == 0 ? kArenaLimitBytes : static_cast<int64_t>(memory);
}

// ---- Sizes that a run finds out ----

Status DeviceSession::CheckSymbol(SymbolId symbol, int64_t value) const {
  const CompiledGraph& graph = prepared_->graph();
  const SymbolInfo& known = graph.symbols[static_cast<size_t>(symbol)];
  if (value >= known.min && value <= known.max) return OkStatus();
  const std::string expected = known.max == INT64_MAX ? fmt::format("at least {}", known.min)
                                                      : fmt::format("{} to {}", known.min, known.max);
  for (const TensorSpec& input : signature_.inputs) {
    if (input.shape.empty() && input.number == symbol) {
      return InvalidArgument("input '{}' is {}, expected {}", input.name, value, expected);
    }
  }
  return InvalidArgument("the data make {} = {}, the model was exported for {}", known.name, value, expected);
}

Result<std::vector<int64_t>> DeviceSession::ReadSymbols(const SegmentPlan& plan) {
  std::vector<int64_t> symbols(plan.symbols().begin(), plan.symbols().end());
  for (const DataSymbol& symbol : prepared_->graph().segments[plan.segment() + 1].symbols) {
    int64_t value = 0;
    const std::span<int64_t> place(&value, 1);
    TONDAR_RETURN_IF_ERROR(stream_->CopyOut(std::as_writable_bytes(place), plan.Locate(symbol.value).data));
    TONDAR_RETURN_IF_ERROR(stream_->Synchronize());
    TONDAR_RETURN_IF_ERROR(CheckSymbol(symbol.symbol, value));
    symbols[static_cast<size_t>(symbol.symbol)] = value;
  }
  return symbols;
}

// The plan of the segment after `plan`, which has run, for the sizes that it found.
Result<SegmentPlan*> DeviceSession::Advance(SegmentPlan& plan) {
  TONDAR_ASSIGN_OR_RETURN(std::vector<int64_t> symbols, ReadSymbols(plan));
  SegmentPlan* next = plan.FindNext(symbols);
  if (next == nullptr) {
    TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<SegmentPlan> made,
                            SegmentPlan::Create(*prepared_, &plan, std::move(symbols), ArenaLimit()));
    next = plan.AddNext(std::move(made), kMaxNextPlans);
  }
  TONDAR_RETURN_IF_ERROR(EnsureArena(next->segment(), next->arena_bytes()));
  next->PlaceAt(memory_);
  return next;
}

// ---- Running ----

Status DeviceSession::RunSteps(const SegmentPlan& plan) {
  const CompiledGraph& graph = prepared_->graph();
  return RunSegment(graph, plan, *stream_, [&](size_t i) {
    return stream_->Launch(prepared_->kernel(i), plan.arguments(i), graph.steps[i].name.c_str());
  });
}

// Policy: a device that replays on its own is warmed up by one eager run, so that lazily made library handles and
// workspaces exist before capture (ExecuTorch runs three, torch one or more); a replay list on the host needs none.
// Sizes that depend on data may never come back, so their segments are captured when they do.
Status DeviceSession::CaptureIfDue(SegmentPlan& plan) {
  const Capabilities& can = prepared_->device().properties().capabilities;
  if (!options_.capture || !can.graphs || plan.capture_refused || plan.captured != nullptr) return OkStatus();
  // Bodies that these sizes exclude cannot be recorded, and are few: the host decides.
  if (plan.excludes_bodies()) return OkStatus();
  if (plan.eager_runs < (can.native_graphs || plan.segment() > 0 ? 1u : 0u)) return OkStatus();
  TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<CapturedGraph> graph, prepared_->device().CreateGraph());
  TONDAR_RETURN_IF_ERROR(graph->CaptureBegin(*stream_, PoolId{}, CaptureMode::kDefault));
  const Status recorded = RunSteps(plan);
  Status status = graph->CaptureEnd();
  if (status.ok()) status = recorded;
  if (status.ok()) status = graph->Instantiate();
  if (!status.ok()) {
    plan.capture_refused = true;
    LogWarning("{}: running without capture: {}", prepared_->device().properties().name, status.message());
    return OkStatus();
  }
  plan.captured = std::move(graph);
  ++counters_.captures;
  return OkStatus();
}

Status DeviceSession::Execute(SegmentPlan& plan) {
  TONDAR_RETURN_IF_ERROR(CaptureIfDue(plan));
  if (plan.captured != nullptr) {
    ++counters_.replays;
    return plan.captured->Replay(*stream_);
  }
  ++counters_.eager_runs;
  ++plan.eager_runs;
  return RunSteps(plan);
}

template <typename Function>
Status DeviceSession::RunSegments(Function run) {
  TONDAR_RETURN_IF_ERROR(CopyInputs());
  SegmentPlan* plan = bound_->plan.get();
  TONDAR_RETURN_IF_ERROR(run(*plan));
  if (segments() > 1) {
    for (size_t i = 1; i < segments(); ++i) {
      TONDAR_ASSIGN_OR_RETURN(plan, Advance(*plan));
      TONDAR_RETURN_IF_ERROR(run(*plan));
    }
    BindOutputs(*plan);
  }
  TONDAR_RETURN_IF_ERROR(CopyOutputs());
  return stream_->Synchronize();
}

Status DeviceSession::CopyInputs() {
  for (size_t i = 0; i < staged_inputs_.size(); ++i) {
    TONDAR_RETURN_IF_ERROR(stream_->CopyIn(inputs_[i].data, binding_.inputs[i].bytes()));
  }
  return OkStatus();
}

Status DeviceSession::CopyOutputs() {
  for (size_t i = 0; i < staged_outputs_.size(); ++i) {
    TONDAR_RETURN_IF_ERROR(stream_->CopyOut(binding_.outputs[i].bytes(), outputs_[i].data));
  }
  return OkStatus();
}

Status DeviceSession::Run() {
  if (bound_ == nullptr) return FailedPrecondition("Run without Bind");
  return RunSegments([this](SegmentPlan& plan) { return Execute(plan); });
}

Status DeviceSession::RunProfiled(std::vector<StepTime>& steps) {
  if (bound_ == nullptr) return FailedPrecondition("RunProfiled without Bind");
  steps.clear();
  return RunSegments([&](const SegmentPlan& plan) { return ProfileSteps(plan, steps); });
}

Status DeviceSession::ProfileSteps(const SegmentPlan& plan, std::vector<StepTime>& steps) {
  return RunSegment(prepared_->graph(), plan, *stream_, [&](size_t i) { return ProfileStep(plan, i, steps); });
}

// One captured graph per step: what is timed is the work, not the preparation of a launch.
Status DeviceSession::ProfileStep(const SegmentPlan& plan, size_t i, std::vector<StepTime>& steps) {
  const Step& step = prepared_->graph().steps[i];
  TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<CapturedGraph> one, prepared_->device().CreateGraph());
  TONDAR_RETURN_IF_ERROR(one->CaptureBegin(*stream_, PoolId{}, CaptureMode::kDefault));
  const Status launched = stream_->Launch(prepared_->kernel(i), plan.arguments(i), step.name.c_str());
  TONDAR_RETURN_IF_ERROR(one->CaptureEnd());
  TONDAR_RETURN_IF_ERROR(launched);
  TONDAR_RETURN_IF_ERROR(one->Instantiate());
  const TimePoint begin = Clock::Real().Now();
  TONDAR_RETURN_IF_ERROR(one->Replay(*stream_));
  TONDAR_RETURN_IF_ERROR(stream_->Synchronize());
  const Duration elapsed = Clock::Real().Now() - begin;
  steps.push_back({step.name, std::string(KindName(step)), elapsed.count()});
  return OkStatus();
}

MemoryReport DeviceSession::memory() const {
  MemoryReport report;
  report.weight_bytes = prepared_->weight_bytes();
  report.packed_bytes = prepared_->packed_bytes();
  for (const auto& arena : arenas_) report.arena_bytes += arena == nullptr ? 0 : arena->size_bytes();
  for (const auto& state : states_) report.state_bytes += state->size_bytes();
  return report;
}

}  // namespace tondar
