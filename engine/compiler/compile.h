// Compile: an optimised graph becomes flat steps over planned slots.
#ifndef TONDAR_ENGINE_COMPILER_COMPILE_H_
#define TONDAR_ENGINE_COMPILER_COMPILE_H_

#include "engine/base/status.h"
#include "engine/compiler/compile_options.h"
#include "engine/ir/graph.h"
#include "engine/plan/compiled_graph.h"

namespace tondar {

// `graph` holds primitives only (see passes/pipeline.h). Views become strides; reshapes that strides cannot express
// become copies; each value's memory order is chosen here. Internal: something else is left in the graph.
Result<CompiledGraph> Compile(const Graph& graph, const CompileOptions& options);

}  // namespace tondar

#endif  // TONDAR_ENGINE_COMPILER_COMPILE_H_
