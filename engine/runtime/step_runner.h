// RunSegment: the steps of a segment in order, taking the branches and rounds that control steps decide.
#ifndef TONDAR_ENGINE_RUNTIME_STEP_RUNNER_H_
#define TONDAR_ENGINE_RUNTIME_STEP_RUNNER_H_

#include <functional>

#include "engine/runtime/segment_plan.h"

namespace tondar {

// Calls `launch` for every step that runs. On a stream that is capturing, every body is launched once, between
// Stream::BeginBody and EndBody, and the device decides at each replay; else decisions are read from memory, which waits
// for the stream. InvalidArgument: a body that the plan's sizes exclude was decided for, or a loop does not end.
Status RunSegment(const CompiledGraph& graph, const SegmentPlan& plan, Stream& stream,
                  const std::function<Status(size_t step)>& launch);

}  // namespace tondar

#endif  // TONDAR_ENGINE_RUNTIME_STEP_RUNNER_H_
