// The passes. Each is in a file of its own, which says what it does; pipeline.cc says when.
#ifndef TONDAR_ENGINE_PASSES_PASSES_H_
#define TONDAR_ENGINE_PASSES_PASSES_H_

#include "engine/passes/pass_context.h"

namespace tondar {

Status RemoveDeadCode(Graph& graph, const PassContext& context);
Status MergeEqual(Graph& graph, const PassContext& context);
Status SimplifyViews(Graph& graph, const PassContext& context);
Status FoldConstants(Graph& graph, const PassContext& context);
Status FoldBatchNorm(Graph& graph, const PassContext& context);
Status ShareBatchMatrix(Graph& graph, const PassContext& context);
Status RecoverAttention(Graph& graph, const PassContext& context);
Status RecoverGelu(Graph& graph, const PassContext& context);
Status RecoverLayerNorm(Graph& graph, const PassContext& context);
Status RecoverLinear(Graph& graph, const PassContext& context);
Status LiftReshapes(Graph& graph, const PassContext& context);
Status MergeMatMuls(Graph& graph, const PassContext& context);
Status SimplifyPrograms(Graph& graph, const PassContext& context);
Status FuseSteps(Graph& graph, const PassContext& context);

}  // namespace tondar

#endif  // TONDAR_ENGINE_PASSES_PASSES_H_
