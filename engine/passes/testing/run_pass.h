// Runs one pass on a graph in text form.
#ifndef TONDAR_ENGINE_PASSES_TESTING_RUN_PASS_H_
#define TONDAR_ENGINE_PASSES_TESTING_RUN_PASS_H_

#include <string>
#include <string_view>

#include "engine/passes/pipeline.h"

namespace tondar {

// The graph's text after the pass of that name (of the pipeline's list) has run, without what is dead by
// then; the error if that or verifying the result fails.
std::string RunPass(std::string_view pass, std::string_view text, const PassContext& context = {});

// The text's lines that make nodes, and the return.
std::string NodesOf(std::string_view text);

}  // namespace tondar

#endif  // TONDAR_ENGINE_PASSES_TESTING_RUN_PASS_H_
