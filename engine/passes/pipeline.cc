#include "engine/passes/pipeline.h"

#include "engine/ops/lowering.h"
#include "engine/passes/passes.h"

namespace tondar {
namespace {

Status Decompose(Graph& graph, const PassContext&) { return DecomposeGraph(graph); }
Status Lower(Graph& graph, const PassContext&) { return LowerGraph(graph); }

// Bodies go through all passes before their parent goes on; those that Decompose makes, too.
Status OptimiseBodies(Graph& graph, const PassContext& context) {
  for (const auto& node : graph.nodes()) {
    for (const auto& body : node->subgraphs) TONDAR_RETURN_IF_ERROR(Optimise(*body, context).Annotated(node->name));
  }
  return OkStatus();
}

constexpr Pass kPasses[] = {
    // On operators.
    {"decompose", Decompose},
    {"optimise_bodies", OptimiseBodies},
    {"dead_code", RemoveDeadCode},
    {"simplify_views", SimplifyViews},
    {"merge_equal", MergeEqual},
    {"fold_constants", FoldConstants},
    {"share_batch_matrix", ShareBatchMatrix},
    {"dead_code", RemoveDeadCode},
    {"fold_batch_norm", FoldBatchNorm},
    {"recover_attention", RecoverAttention},
    {"recover_layer_norm", RecoverLayerNorm},
    {"recover_linear", RecoverLinear},
    {"recover_gelu", RecoverGelu},
    {"dead_code", RemoveDeadCode},
    // From operators to steps and views.
    {"lower", Lower},
    {"simplify_views", SimplifyViews},
    {"dead_code", RemoveDeadCode},
    {"merge_equal", MergeEqual},
    {"fold_constants", FoldConstants},
    // On steps.
    {"lift_reshapes", LiftReshapes},
    {"merge_matmuls", MergeMatMuls},
    {"simplify_programs", SimplifyPrograms},
    {"fuse", FuseSteps},
    {"simplify_programs", SimplifyPrograms},
    // Look-ups whose positions are known by now fuse further.
    {"fuse", FuseSteps},
    {"simplify_programs", SimplifyPrograms},
    {"simplify_views", SimplifyViews},
    {"dead_code", RemoveDeadCode},
};

}  // namespace

std::span<const Pass> Pipeline() { return kPasses; }

Status Optimise(Graph& graph, const PassContext& context) {
  TONDAR_RETURN_IF_ERROR(VerifyGraph(graph).Annotated("before the passes"));
  for (const Pass& pass : kPasses) {
    TONDAR_RETURN_IF_ERROR(pass.run(graph, context).Annotated(fmt::format("pass {}", pass.name)));
    TONDAR_RETURN_IF_ERROR(VerifyGraph(graph).Annotated(fmt::format("after pass {}", pass.name)));
  }
  return OkStatus();
}

}  // namespace tondar
