// The passes in the order they run, and what they may ask of the outside.
#ifndef TONDAR_ENGINE_PASSES_PIPELINE_H_
#define TONDAR_ENGINE_PASSES_PIPELINE_H_

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/ir/graph.h"

namespace tondar {

// Computes a graph without inputs: one constant per output. Injected by engine.cc, which runs it on the CPU, so that
// constant folding needs no kernels of its own. It optimises and lowers the graph it is given, so fold a copy.
using EvaluateFunction = std::function<Result<std::vector<Constant>>(Graph& graph)>;

struct PassContext {
  EvaluateFunction evaluate;  // may be empty: no folding
};

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
