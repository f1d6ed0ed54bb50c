// WhyRowsMix: whether calls may be answered together.
#ifndef TONDAR_ENGINE_PASSES_ROW_INDEPENDENCE_H_
#define TONDAR_ENGINE_PASSES_ROW_INDEPENDENCE_H_

#include <string>

#include "engine/ir/graph.h"

namespace tondar {

// Proves, for a graph of steps and views whose inputs and outputs have the symbol `batch` as their first extent, that row
// i of every output depends on row i of the inputs and on nothing else: not on other rows, their number or their order.
// Empty if it does; else where the proof ends, for people: "step 'mean' sums over the batch". The proof is over what the
// steps read, so it may fail for a graph whose arithmetic happens to keep rows apart. Pure.
std::string WhyRowsMix(const Graph& graph, SymbolId batch);

}  // namespace tondar

#endif  // TONDAR_ENGINE_PASSES_ROW_INDEPENDENCE_H_
