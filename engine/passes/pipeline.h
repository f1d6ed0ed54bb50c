// The passes in the order they run.
#ifndef TONDAR_ENGINE_PASSES_PIPELINE_H_
#define TONDAR_ENGINE_PASSES_PIPELINE_H_

#include <span>
#include <string_view>

#include "engine/base/status.h"
#include "engine/ir/graph.h"
#include "engine/passes/pass_context.h"

namespace tondar {

struct Pass {
  std::string_view name;
  Status (*run)(Graph& graph, const PassContext& context);
};

// In order. The last ones leave only primitives: steps and views.
std::span<const Pass> Pipeline();

// Runs the pipeline, verifying the graph after each pass. Errors carry the pass's name.
Status Optimise(Graph& graph, const PassContext& context);

}  // namespace tondar

#endif  // TONDAR_ENGINE_PASSES_PIPELINE_H_
