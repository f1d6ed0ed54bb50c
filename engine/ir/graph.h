// Graph: a program as a verified DAG of operator applications in static single assignment form.
#ifndef TONDAR_ENGINE_IR_GRAPH_H_
#define TONDAR_ENGINE_IR_GRAPH_H_

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/plan/compiled_graph.h"
#include "engine/plan/constant.h"
#include "engine/plan/step.h"
#include "engine/types/dtype.h"
#include "engine/types/shape.h"

namespace tondar {

class Graph;
struct Node;

// A tensor that a node, the graph's caller or the weights give. Owned by its graph; addresses are stable.
struct Value {
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape;
  Node* producer = nullptr;           // null for graph inputs and constants
  std::optional<Constant> constant;   // the value of a constant
  std::vector<Node*> users;           // one entry per use as a node input; kept by Graph
  Graph* graph = nullptr;

  bool IsConstant() const { return constant.has_value(); }
};

// A named argument of an operator that is not a tensor. Integers are Dims, so that sizes may be symbolic.
// monostate is None.
using Attribute = std::variant<std::monostate, bool, Dim, double, std::string, DType, Shape, std::vector<double>,
                               std::vector<bool>, std::vector<std::string>>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

std::string ToString(const Attribute& attribute, std::span<const SymbolInfo> symbols = {});

// One application of an operator. `op` names a row of the operator registry, or is kStepOp: then `body` says what the
// step does and `inputs` are the step's operands in order. Owned by its graph.
struct Node {
  std::string op;
  std::string name;                // unique in its graph; from the model file where there is one
  std::vector<Value*> inputs;      // tensor arguments in schema order; null for an absent optional one
  std::vector<int> segments;       // how many of `inputs` each tensor formal of the schema took, in order
  Attributes attributes;           // the others, by schema name; absent means the schema's default
  std::vector<Value*> outputs;
  std::vector<std::unique_ptr<Graph>> subgraphs;  // of cond, while and their like
  std::unique_ptr<StepBody> body;  // kStepOp only
  Graph* graph = nullptr;

  bool IsStep() const { return body != nullptr; }
  // The attribute, or null if absent.
  const Attribute* Find(std::string_view name) const;
};
inline constexpr std::string_view kStepOp = "step";

// Owns values and nodes. Nodes stay in an order in which producers come first. Thread-compatible.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  std::string name;
  std::vector<SymbolInfo> symbols;
  std::vector<Value*> inputs;         // parallel to the signature's inputs
  std::vector<Value*> outputs;        // parallel to the signature's outputs
  std::vector<ShapeCheck> checks;     // equalities that shape inference assumed

  Value* AddInput(std::string name, DType dtype, Shape shape);
  Value* AddConstant(Constant constant);
  // Appends a node, or inserts it before `before`; its outputs are made with AddOutput. Names are made unique.
  Node* AddNode(std::string_view op, std::string_view name, std::vector<Value*> inputs, Node* before = nullptr);
  Value* AddOutput(Node* node, std::string_view name, DType dtype, Shape shape);
  Node* AddStep(StepBody body, std::string_view name, std::vector<Value*> inputs, DType dtype, Shape shape,
                Node* before = nullptr);

  void SetInput(Node* node, size_t index, Value* value);
  void SetInputs(Node* node, std::vector<Value*> inputs);
  // Every use of `from`, graph outputs included, becomes a use of `to`.
  void ReplaceAllUses(Value* from, Value* to);
  // True if the value is a graph output or has users.
  bool IsUsed(const Value* value) const;
  bool IsOutput(const Value* value) const;
  // Removes a node whose outputs are unused.
  void Erase(Node* node);
  // Removes constants that nothing uses.
  void EraseUnusedConstants();

  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  // The nodes in order as they are now; stays valid while the loop inserts and erases other nodes.
  std::vector<Node*> NodeList() const;
  std::vector<Value*> constants() const;

 private:
  std::string Unique(std::string_view name);

  std::list<std::unique_ptr<Node>> nodes_;
  std::list<std::unique_ptr<Value>> values_;
  std::map<std::string, int, std::less<>> names_;  // how often each name was asked for
};

// Checks the graph's invariants: producers before users, use lists right, names unique, inputs of this graph, shapes
// and dtypes set. Internal: a bug of ours, names the node.
Status VerifyGraph(const Graph& graph);

// The text form, one line per node, for people and tests; ParseGraph reads it back (constants small enough to print
// keep their values, larger ones are given by `constants` in ParseGraph or filled with zeros).
std::string ToText(const Graph& graph);
Result<std::unique_ptr<Graph>> ParseGraph(std::string_view text);

}  // namespace tondar

#endif  // TONDAR_ENGINE_IR_GRAPH_H_
