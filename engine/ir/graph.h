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
#include <unordered_map>
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
  std::vector<int> segments;       // how many of `inputs` each tensor formal of the schema took, in order; one each
                                   // unless the node's maker says otherwise
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
// bits(x, dtype): the bytes of x as elements of another dtype. A view of memory, opaque to what follows views.
inline constexpr std::string_view kBitsOp = "bits";
// cond(decision: bool [], values...): the results of the first subgraph if true, else of the second; both take the values.
inline constexpr std::string_view kCondOp = "cond";
// while(carried..., values...): as long as the first subgraph, of both, says true (bool []), the second's results become
// what is carried; the outputs are what is carried at the end.
inline constexpr std::string_view kWhileOp = "while";

// Owns values and nodes. Nodes stay in an order in which producers come first. Thread-compatible.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  std::string name;
  std::vector<SymbolInfo> symbols;
  std::vector<Value*> inputs;         // parallel to the signature's inputs, then the states as a run finds them
  std::vector<Value*> outputs;        // parallel to the signature's outputs, then the states as a run leaves them, then
                                      // the values of data_symbols
  std::vector<State> states;          // tensors that stay between runs
  std::vector<SymbolId> data_symbols; // symbols that a run finds out; each is a 0-d integer among the outputs
  std::vector<ShapeCheck> checks;     // equalities that shape inference assumed

  size_t user_inputs() const { return inputs.size() - states.size(); }
  size_t user_outputs() const { return outputs.size() - states.size() - data_symbols.size(); }

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
  // Moves a node in the order; its producers must stand before that place and its users after.
  void Move(Node* node, Node* before);
  // Removes constants that nothing uses.
  void EraseUnusedConstants();

  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  // The nodes in order as they are now; stays valid while the loop inserts and erases other nodes.
  std::vector<Node*> NodeList() const;
  std::vector<Value*> constants() const;

 private:
  Value* AddValue(std::string_view name, DType dtype, Shape shape);
  // `name`, or name_1, name_2 ... if it is taken. Values and nodes are named apart: a node and its result may share.
  std::string UniqueName(std::map<std::string, int, std::less<>>& taken, std::string_view name);

  std::list<std::unique_ptr<Node>> nodes_;
  std::unordered_map<const Node*, std::list<std::unique_ptr<Node>>::iterator> places_;
  std::list<std::unique_ptr<Value>> values_;
  std::unordered_map<const Value*, std::list<std::unique_ptr<Value>>::iterator> value_places_;
  std::map<std::string, int, std::less<>> node_names_, value_names_;  // and the last number appended to each
};

// Checks the graph's invariants: producers before users, use lists right, names unique, inputs of this graph, shapes
// and dtypes set. Internal: a bug of ours, names the node.
Status VerifyGraph(const Graph& graph);

// The text form, one line per node, for people and tests; ParseGraph reads it back. Constants of up to 64 elements, and
// those whose elements are all equal, keep their values; others come back as zeros. The syntax is in README.md.
std::string ToText(const Graph& graph);
// InvalidArgument: a syntax error or an unknown name, with its line.
Result<std::unique_ptr<Graph>> ParseGraph(std::string_view text);

}  // namespace tondar

#endif  // TONDAR_ENGINE_IR_GRAPH_H_
