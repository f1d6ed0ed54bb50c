// Memory order: which dim of each step's result lies outermost, next, ... innermost.
#ifndef TONDAR_ENGINE_COMPILER_MEMORY_ORDER_H_
#define TONDAR_ENGINE_COMPILER_MEMORY_ORDER_H_

#include <unordered_map>
#include <vector>

#include "engine/compiler/compile_options.h"
#include "engine/ir/graph.h"

namespace tondar {

// order[k] is the logical dim that is k-th from the outside; row-major is 0, 1, 2 ...
using MemoryOrder = std::vector<size_t>;

MemoryOrder RowMajor(size_t rank);
MemoryOrder ChannelsLast(size_t rank);  // [N, C, spatial...] as N, spatial..., C
// Strides of densely packed elements in that order.
Shape StridesInOrder(const Shape& shape, const MemoryOrder& order);

// The order of every value that a step or concat makes, chosen so that its readers need no copies first, then so that
// they find the order they run fastest on. Views are looked through.
std::unordered_map<const Value*, MemoryOrder> ChooseMemoryOrders(const Graph& graph, const CompileOptions& options);

}  // namespace tondar

#endif  // TONDAR_ENGINE_COMPILER_MEMORY_ORDER_H_
