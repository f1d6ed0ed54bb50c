// Interpret: a lowered graph's meaning, written for reading. The oracle that kernels and passes are tested against.
#ifndef TONDAR_ENGINE_OPS_TESTING_INTERPRETER_H_
#define TONDAR_ENGINE_OPS_TESTING_INTERPRETER_H_

#include <span>
#include <vector>

#include "engine/ir/graph.h"

namespace tondar {

// Runs a graph of steps and views on host tensors, element by element. `inputs` are parallel to graph.inputs, the
// result to graph.outputs; all contiguous. InvalidArgument: a dynamic index is out of range. Internal: not lowered.
Result<std::vector<Constant>> Interpret(const Graph& graph, std::span<const Constant> inputs,
                                        std::span<const int64_t> symbols = {});

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_TESTING_INTERPRETER_H_
