// RunPlan: a compiled graph's meaning, its memory plan included.
#ifndef TONDAR_TESTS_GOLDEN_RUN_PLAN_H_
#define TONDAR_TESTS_GOLDEN_RUN_PLAN_H_

#include <span>
#include <vector>

#include "engine/plan/compiled_graph.h"

namespace tondar {

// Runs the steps in one arena laid out by PlanMemory, each step by the interpreter, through its operands' windows: what
// the compiler may get wrong (places, windows, lifetimes) shows as wrong results. `inputs` are parallel to plan.inputs.
Result<std::vector<Constant>> RunPlan(const CompiledGraph& plan, std::span<const Constant> inputs,
                                      std::span<const int64_t> symbols);

}  // namespace tondar

#endif  // TONDAR_TESTS_GOLDEN_RUN_PLAN_H_
