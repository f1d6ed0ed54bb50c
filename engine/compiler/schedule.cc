#include "engine/compiler/schedule.h"

#include <algorithm>

#include "engine/ir/step_text.h"

namespace tondar {
namespace {

constexpr int kUnknown = INT32_MAX;

void CollectFrom(const Shape& shape, std::vector<SymbolId>& symbols) {
  for (const Dim& dim : shape) dim.CollectSymbols(symbols);
}

void CollectFrom(const Attributes& attributes, std::vector<SymbolId>& symbols) {
  for (const auto& [name, attribute] : attributes) {
    if (const Dim* dim = std::get_if<Dim>(&attribute)) dim->CollectSymbols(symbols);
    if (const Shape* shape = std::get_if<Shape>(&attribute)) CollectFrom(*shape, symbols);
  }
}

void CollectFrom(const LoopProgram& program, std::vector<SymbolId>& symbols) {
  for (const Dim& size : program.sizes) size.CollectSymbols(symbols);
  for (const Access& access : program.accesses) {
    for (const IndexExpression& index : access.index) index.offset.CollectSymbols(symbols);
  }
}

}  // namespace

void CollectSymbols(const Node& node, std::vector<SymbolId>& symbols) {
  for (const auto& body : node.subgraphs) {
    for (const auto& inner : body->nodes()) CollectSymbols(*inner, symbols);
  }
  for (const Value* output : node.outputs) CollectFrom(output->shape, symbols);
  CollectFrom(node.attributes, symbols);
  if (!node.IsStep()) return;
  const StepText step = TakeApart(*node.body);
  CollectFrom(step.parameters, symbols);
  for (const auto& [name, program] : step.programs) CollectFrom(*program, symbols);
}

Schedule::Schedule(const Graph& graph) : symbol_segments_(graph.symbols.size(), 0) {
  for (SymbolId symbol : graph.data_symbols) symbol_segments_[static_cast<size_t>(symbol)] = kUnknown;
}

int Schedule::SegmentOf(SymbolId symbol) const { return symbol_segments_[static_cast<size_t>(symbol)]; }

int Schedule::Latest(const std::vector<SymbolId>& symbols) const {
  int latest = 0;
  for (SymbolId symbol : symbols) latest = std::max(latest, SegmentOf(symbol));
  return latest;
}

int Schedule::SegmentOf(const Dim& dim) const {
  if (dim.IsConstant()) return 0;
  std::vector<SymbolId> symbols;
  dim.CollectSymbols(symbols);
  return Latest(symbols);
}

int Schedule::SegmentOf(const Shape& shape) const {
  int latest = 0;
  for (const Dim& dim : shape) latest = std::max(latest, SegmentOf(dim));
  return latest;
}

int Schedule::SegmentFor(const Node& node) const {
  std::vector<SymbolId> symbols;
  CollectSymbols(node, symbols);
  int segment = Latest(symbols);
  for (const Value* input : node.inputs) {
    if (input != nullptr && input->producer != nullptr) segment = std::max(segment, node_segments_.at(input->producer));
  }
  return segment;
}

// A node with all that its bodies hold.
void Schedule::Put(const Node& node, int segment) {
  node_segments_[&node] = segment;
  for (const auto& body : node.subgraphs) {
    for (const auto& inner : body->nodes()) Put(*inner, segment);
  }
}

// One round: nodes by what is known of symbols, then symbols by the nodes that compute them. True if a symbol became
// known.
bool Schedule::Settle(const Graph& graph) {
  for (const auto& node : graph.nodes()) Put(*node, SegmentFor(*node));
  bool progress = false;
  const size_t first = graph.outputs.size() - graph.data_symbols.size();
  for (size_t i = 0; i < graph.data_symbols.size(); ++i) {
    int& segment = symbol_segments_[static_cast<size_t>(graph.data_symbols[i])];
    const Node* producer = graph.outputs[first + i]->producer;
    const int computed = producer == nullptr ? 0 : node_segments_.at(producer);
    if (segment != kUnknown || computed == kUnknown) continue;
    segment = computed + 1;
    progress = true;
  }
  return progress;
}

Result<Schedule> Schedule::Make(const Graph& graph) {
  Schedule schedule(graph);
  while (schedule.Settle(graph)) {}
  int last = 0;
  for (size_t i = 0; i < graph.symbols.size(); ++i) {
    const int segment = schedule.symbol_segments_[i];
    if (segment == kUnknown) return Internal("the size {} is needed to compute itself", graph.symbols[i].name);
    last = std::max(last, segment);
  }
  schedule.segments_.resize(static_cast<size_t>(last) + 1);
  for (const auto& node : graph.nodes()) {
    schedule.segments_[static_cast<size_t>(schedule.SegmentOf(*node))].push_back(node.get());
  }
  return schedule;
}

}  // namespace tondar
