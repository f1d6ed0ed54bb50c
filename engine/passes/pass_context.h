// What passes may ask of the outside.
#ifndef TONDAR_ENGINE_PASSES_PASS_CONTEXT_H_
#define TONDAR_ENGINE_PASSES_PASS_CONTEXT_H_

#include <functional>
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

}  // namespace tondar

#endif  // TONDAR_ENGINE_PASSES_PASS_CONTEXT_H_
