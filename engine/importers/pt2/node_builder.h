// NodeBuilder: adds the nodes of a program's graphs to the engine's graph.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_NODE_BUILDER_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_NODE_BUILDER_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/importers/pt2/aliases.h"
#include "engine/importers/pt2/autocast.h"
#include "engine/importers/pt2/number.h"
#include "engine/importers/problems.h"
#include "engine/importers/pt2/program.h"
#include "engine/ir/graph.h"
#include "engine/ops/op_schema.h"

namespace tondar::pt2 {

// What the names of one graph of a program stand for.
struct Scope {
  const ProgramGraph* graph = nullptr;
  std::map<std::string, Tensor*> tensors = {};
  std::map<std::string, Number> numbers = {};
  std::optional<Autocast> autocast = {};
};

// Symbolic numbers are computed here and never become nodes; writes in place become new values; graphs that only set
// a mode are inlined. What fails is reported once: results of a node that failed are tensors without a value, and
// nodes that need one are passed over, though their operator is still looked up. One thread.
class NodeBuilder {
 public:
  // All outlive this. `operators` counts what the file names.
  NodeBuilder(Graph& graph, Aliases& aliases, Problems& problems, std::map<std::string, int>& operators)
      : graph_(graph), aliases_(aliases), problems_(problems), operators_(operators) {}

  // Symbols that the inputs' shapes give a value.
  void AddKnownSymbols(const std::set<SymbolId>& symbols) { known_symbols_.insert(symbols.begin(), symbols.end()); }
  // A symbol whose value a run finds in `value`, an integer of one element. Nothing to do if it is known already.
  void DefineSize(SymbolId symbol, Value* value);
  // All that were defined, and the 0-d int64 values.
  const std::vector<std::pair<SymbolId, Value*>>& sizes() const { return sizes_; }

  void AddNodes(Scope& scope);

  // The tensor of that name; null with a problem added if there is none. `user` is the node that asks.
  Tensor* Find(Scope& scope, const std::string& name, std::string_view user);
  // Its value as of now; null if there is none, which is reported.
  Value* ValueOf(Tensor* tensor, const ProgramNode& user);
  // What is known of the number.
  Number Resolve(Scope& scope, const NumberRef& ref, std::string_view user);
  bool IsKnownAtRunTime(const Dim& dim) const;

 private:
  // The arguments of a node by the formals of its source operator.
  struct SourceArguments {
    std::vector<Value*> inputs;
    std::vector<int> segments;
    Attributes attributes;
    std::vector<Tensor*> tensors;  // of each input, null for none
  };
  // A source operator as found, and whether its first tensor is overwritten.
  struct Operator {
    std::string name;
    OpRegistry::Source source;
    int writes = -1;
  };

  void AddNode(Scope& scope, const ProgramNode& node);
  void AddNumber(Scope& scope, const ProgramNode& node);
  std::optional<Number> NumberOf(Scope& scope, const ProgramNode& node);
  std::optional<Number> SizeOfTensor(Scope& scope, const ProgramNode& node);
  std::optional<Number> ItemOfTensor(Scope& scope, const ProgramNode& node);
  std::optional<SymbolId> UnknownSymbolOf(Scope& scope, const ProgramNode& node) const;
  Status AddDataSizes(Scope& scope, const ProgramNode& node, const Operator& op, SourceArguments& arguments);
  Status AddSize(Scope& scope, const ProgramNode& node, const Operator& op, SourceArguments& arguments);
  std::optional<Dim> KnownExtentOf(Scope& scope, const ProgramNode& node, size_t place) const;
  std::optional<Dim> PickedCount(Scope& scope, const ProgramNode& node, const SourceArguments& arguments) const;
  Status ReplaceMasks(Scope& scope, const ProgramNode& node, SourceArguments& arguments);
  Value* TensorArgument(Scope& scope, const ProgramNode& node, std::string_view name);
  void AddOperator(Scope& scope, const ProgramNode& node);
  void AddHigherOrder(Scope& scope, const ProgramNode& node);

  static Operator FindOperator(const std::string& target);
  std::optional<SourceArguments> Convert(Scope& scope, const ProgramNode& node, const Operator& op);
  bool ConvertTensor(Scope& scope, const ProgramNode& node, const Formal& formal, const Argument* argument,
                     SourceArguments& to);
  Value* TensorOf(const Fraction& fraction, const ProgramNode& node);
  std::optional<Attribute> ConvertAttribute(Scope& scope, const ProgramNode& node, const Formal& formal,
                                            const Argument& argument);
  std::optional<Attribute> ConvertNumber(const ProgramNode& node, const Formal& formal, const Number& number);
  std::optional<Attribute> ConvertNumbers(Scope& scope, const ProgramNode& node, const Formal& formal,
                                          const Argument& argument);

  void BindResults(Scope& scope, const ProgramNode& node, const Operator& op, const SourceArguments& arguments,
                   Node* made);
  void BindWritten(Scope& scope, const ProgramNode& node, Tensor* target, Node* made);
  void BindFailed(Scope& scope, const ProgramNode& node);
  void Reconcile(Scope& scope, const ProgramNode& node, const std::string& name, Value* value);

  void Inline(Scope& scope, const ProgramNode& node, size_t graph_argument, const std::optional<Autocast>& autocast);
  void InlineAutocast(Scope& scope, const ProgramNode& node);
  Status Recast(const Autocast& region, const ProgramNode& node, SourceArguments& arguments);

  // cond, while_loop, scan and map, in control_flow.cc.
  struct Body {
    std::unique_ptr<Graph> graph;
    std::vector<Value*> results;
  };
  bool AddControl(Scope& scope, const ProgramNode& node, std::string_view name);
  Status AddCond(Scope& scope, const ProgramNode& node);
  Status AddWhileLoop(Scope& scope, const ProgramNode& node);
  Status AddScan(Scope& scope, const ProgramNode& node, bool carries);
  Result<Value*> DecisionOf(Scope& scope, const ProgramNode& node, const Argument& argument);
  Result<std::vector<Value*>> OperandsOf(Scope& scope, const ProgramNode& node, size_t argument);
  Result<const ProgramGraph*> GraphArgument(const ProgramNode& node, size_t argument) const;
  std::unique_ptr<Graph> NewBody(std::string_view name) const;
  // Adds the nodes of `source` to `body`, its inputs being `operands`.
  Result<std::vector<Value*>> FillBody(Graph& body, const ProgramGraph& source, std::vector<Value*> operands);
  Status GiveResults(Scope& scope, const ProgramNode& node, const std::vector<Value*>& values);
  void LookUpOperators(const ProgramGraph& graph);
  void Unsupported(std::string what, const ProgramNode& node) {
    problems_.Unsupported(std::move(what), node.name, node.source);
  }

  Graph& graph_;
  Aliases& aliases_;
  Problems& problems_;
  std::map<std::string, int>& operators_;
  std::set<SymbolId> known_symbols_;
  std::vector<std::pair<SymbolId, Value*>> sizes_;
};

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_NODE_BUILDER_H_
