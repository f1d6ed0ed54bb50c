#include "engine/accelerators/cpu/cpu_graph.h"

#include <algorithm>
#include <atomic>

namespace tondar::cpu {
namespace {

// A replay list owns no memory, so a pool is only its name; torch numbers device pools in the first half.
PoolId NewPool() {
  static std::atomic<uint64_t> next{1};
  return {next.fetch_add(1), 0};
}

constexpr const char* kStateNames[] = {"empty", "capturing", "captured", "instantiated"};

}  // namespace

CpuGraph::~CpuGraph() { Detach(); }

void CpuGraph::Detach() {
  if (stream_ != nullptr) stream_->set_recording(nullptr);
  stream_ = nullptr;
}

void CpuGraph::Clear() {
  entries_.clear();
  open_bodies_.clear();
  has_jumps_ = false;
  scratch_bytes_ = 0;
  failure_ = OkStatus();
  state_ = State::kEmpty;
}

Status CpuGraph::Refuse(const char* call) const {
  return FailedPrecondition("cpu graph: {} is refused in state '{}'", call, kStateNames[static_cast<int>(state_)]);
}

Status CpuGraph::CaptureBegin(Stream& stream, PoolId pool, CaptureMode) {
  if (state_ != State::kEmpty) return Refuse("CaptureBegin");
  if (stream.IsCapturing()) return FailedPrecondition("cpu graph: the stream is being captured by another graph");
  stream_ = dynamic_cast<CpuStream*>(&stream);
  if (stream_ == nullptr) return InvalidArgument("cpu graph: the stream is of another device, expected cpu");
  stream_->set_recording(this);
  pool_ = pool == PoolId{} ? NewPool() : pool;
  state_ = State::kCapturing;
  return OkStatus();
}

void CpuGraph::Append(BoundCall call, const char* label) {
  scratch_bytes_ = std::max(scratch_bytes_, call.scratch_bytes());
  entries_.push_back({std::move(call), label});
}

Status CpuGraph::BeginBody(BodyKind kind, const std::byte* decision) {
  open_bodies_.push_back({kind, entries_.size()});
  entries_.push_back({BoundCall(), "", decision, kind != BodyKind::kIfNot, kNoJump});
  has_jumps_ = true;
  return OkStatus();
}

Status CpuGraph::EndBody() {
  if (open_bodies_.empty()) return FailedPrecondition("cpu graph: EndBody without BeginBody");
  const OpenBody body = open_bodies_.back();
  open_bodies_.pop_back();
  if (body.kind == BodyKind::kWhile) entries_.push_back({BoundCall(), "while", nullptr, false, body.begin});
  entries_[body.begin].target = entries_.size();
  return OkStatus();
}

void CpuGraph::Invalidate(const Status& status) {
  if (failure_.ok()) failure_ = status;
}

void CpuGraph::StreamGone() {
  stream_ = nullptr;
  Invalidate(FailedPrecondition("cpu graph: the stream was destroyed while it was being captured"));
}

Status CpuGraph::CaptureEnd() {
  if (state_ != State::kCapturing) return Refuse("CaptureEnd");
  Detach();
  if (!open_bodies_.empty()) Invalidate(FailedPrecondition("cpu graph: CaptureEnd within a body"));
  if (!failure_.ok()) {
    const Status failure = failure_;
    Clear();
    return failure;
  }
  state_ = State::kCaptured;
  return OkStatus();
}

Status CpuGraph::Instantiate() {
  if (state_ != State::kCaptured) return Refuse("Instantiate");
  entries_.shrink_to_fit();
  state_ = State::kInstantiated;
  return OkStatus();
}

Status CpuGraph::Replay(Stream& stream) {
  if (state_ != State::kInstantiated) return Refuse("Replay");
  if (stream.IsCapturing()) return FailedPrecondition("cpu graph: Replay on a stream that is being captured");
  if (&stream != replayed_on_) {  // once per stream: casting costs more than a small step
    replayed_on_ = dynamic_cast<CpuStream*>(&stream);
    if (replayed_on_ == nullptr) return InvalidArgument("cpu graph: the stream is of another device, expected cpu");
  }
  CpuStream& cpu_stream = *replayed_on_;
  TONDAR_RETURN_IF_ERROR(cpu_stream.ReserveScratch(scratch_bytes_));
  return has_jumps_ ? ReplayWithJumps(cpu_stream.context()) : ReplayCalls(cpu_stream.context());
}

Status CpuGraph::ReplayCalls(RunContext& context) const {
  for (const Entry& entry : entries_) {
    entry.call.Run(context);
    if (context.error->failed()) [[unlikely]] return context.error->Take(entry.label);
  }
  return OkStatus();
}

Status CpuGraph::ReplayWithJumps(RunContext& context) const {
  int64_t rounds = 0;
  for (size_t i = 0; i < entries_.size();) {
    const Entry& entry = entries_[i++];
    if (entry.target == kNoJump) {
      entry.call.Run(context);
      if (context.error->failed()) return context.error->Take(entry.label);
    } else if (entry.decision == nullptr) {
      if (++rounds > kMaxRounds) return InvalidArgument("a loop did not end after {} rounds", kMaxRounds);
      i = entry.target;
    } else if ((*entry.decision != std::byte{0}) != entry.runs) {
      i = entry.target;
    }
  }
  return OkStatus();
}

Status CpuGraph::Reset() {
  Detach();
  Clear();
  return OkStatus();
}

}  // namespace tondar::cpu
