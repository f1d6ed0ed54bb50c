#include "engine/runtime/step_runner.h"

namespace tondar {
namespace {

class StepRunner {
 public:
  StepRunner(const CompiledGraph& graph, const SegmentPlan& plan, Stream& stream,
             const std::function<Status(size_t step)>& launch)
      : graph_(graph), plan_(plan), stream_(stream), launch_(launch) {}

  Status Run(int begin, int end) {
    for (int i = begin; i < end;) {
      const Step& step = graph_.steps[static_cast<size_t>(i)];
      switch (step.control.kind) {
        case Control::Kind::kNone: TONDAR_RETURN_IF_ERROR(launch_(static_cast<size_t>(i))); break;
        case Control::Kind::kCond: TONDAR_RETURN_IF_ERROR(RunCond(i, step)); break;
        case Control::Kind::kWhile: TONDAR_RETURN_IF_ERROR(RunWhile(i, step)); break;
      }
      i += 1 + step.control.first + step.control.second;
    }
    return OkStatus();
  }

 private:
  Status RunCond(int i, const Step& step) {
    const int first = i + 1, second = first + step.control.first, end = second + step.control.second;
    if (stream_.IsCapturing()) {
      TONDAR_RETURN_IF_ERROR(Record(BodyKind::kIf, step, first, second));
      return Record(BodyKind::kIfNot, step, second, end);
    }
    TONDAR_ASSIGN_OR_RETURN(const bool decision, Decision(step));
    return decision ? RunBody(first, second) : RunBody(second, end);
  }

  Status RunWhile(int i, const Step& step) {
    const int first = i + 1, second = first + step.control.first, end = second + step.control.second;
    TONDAR_RETURN_IF_ERROR(Run(first, second));
    if (stream_.IsCapturing()) {
      TONDAR_RETURN_IF_ERROR(stream_.BeginBody(BodyKind::kWhile, plan_.Locate(step.inputs[0]).data));
      TONDAR_RETURN_IF_ERROR(Run(second, end));
      TONDAR_RETURN_IF_ERROR(Run(first, second));
      return stream_.EndBody();
    }
    for (;;) {
      TONDAR_ASSIGN_OR_RETURN(const bool decision, Decision(step));
      if (!decision) return OkStatus();
      if (++rounds_ > kMaxRounds) {
        return InvalidArgument("loop '{}' did not end after {} rounds", step.name, kMaxRounds);
      }
      TONDAR_RETURN_IF_ERROR(RunBody(second, end));
      TONDAR_RETURN_IF_ERROR(Run(first, second));
    }
  }

  Status RunBody(int begin, int end) {
    TONDAR_RETURN_IF_ERROR(plan_.CheckBody(begin));
    return Run(begin, end);
  }

  Status Record(BodyKind kind, const Step& step, int begin, int end) {
    if (begin == end) return OkStatus();
    TONDAR_RETURN_IF_ERROR(stream_.BeginBody(kind, plan_.Locate(step.inputs[0]).data));
    TONDAR_RETURN_IF_ERROR(Run(begin, end));
    return stream_.EndBody();
  }

  Result<bool> Decision(const Step& step) {
    std::byte decision{0};
    TONDAR_RETURN_IF_ERROR(stream_.CopyOut({&decision, 1}, plan_.Locate(step.inputs[0]).data));
    TONDAR_RETURN_IF_ERROR(stream_.Synchronize());
    return decision != std::byte{0};
  }

  const CompiledGraph& graph_;
  const SegmentPlan& plan_;
  Stream& stream_;
  const std::function<Status(size_t step)>& launch_;
  int64_t rounds_ = 0;
};

}  // namespace

Status RunSegment(const CompiledGraph& graph, const SegmentPlan& plan, Stream& stream,
                  const std::function<Status(size_t step)>& launch) {
  const Segment& segment = graph.segments[plan.segment()];
  return StepRunner(graph, plan, stream, launch).Run(segment.first_step, segment.end_step);
}

}  // namespace tondar
