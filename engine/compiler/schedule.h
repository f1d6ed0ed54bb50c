// Schedule: which nodes run when, where sizes are found out by running.
#ifndef TONDAR_ENGINE_COMPILER_SCHEDULE_H_
#define TONDAR_ENGINE_COMPILER_SCHEDULE_H_

#include <unordered_map>
#include <vector>

#include "engine/base/status.h"
#include "engine/ir/graph.h"

namespace tondar {

// A graph's nodes in segments: what a node mentions of sizes is known when its segment begins. One segment where all
// sizes follow from the inputs' shapes.
class Schedule {
 public:
  // `graph` outlives the schedule. Internal: a size is needed to compute itself.
  static Result<Schedule> Make(const Graph& graph);

  size_t segments() const { return segments_.size(); }
  const std::vector<const Node*>& nodes(size_t segment) const { return segments_[segment]; }

  // The first segment that knows every symbol of it.
  int SegmentOf(const Dim& dim) const;
  int SegmentOf(const Shape& shape) const;
  int SegmentOf(const Node& node) const { return node_segments_.at(&node); }
  // That begins with knowing the symbol.
  int SegmentOf(SymbolId symbol) const;

 private:
  explicit Schedule(const Graph& graph);

  bool Settle(const Graph& graph);
  void Put(const Node& node, int segment);
  int Latest(const std::vector<SymbolId>& symbols) const;
  int SegmentFor(const Node& node) const;

  std::vector<int> symbol_segments_;  // kUnknown while not settled
  std::unordered_map<const Node*, int> node_segments_;
  std::vector<std::vector<const Node*>> segments_;
};

// Adds every symbol that what the node does depends on, beyond its inputs: its results' shapes, its arguments, its
// programs.
void CollectSymbols(const Node& node, std::vector<SymbolId>& symbols);

}  // namespace tondar

#endif  // TONDAR_ENGINE_COMPILER_SCHEDULE_H_
