// OpSchema: all a compiler needs to know about an operator, one row per operator, one file per family.
#ifndef TONDAR_ENGINE_OPS_OP_SCHEMA_H_
#define TONDAR_ENGINE_OPS_OP_SCHEMA_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/ir/graph.h"

namespace tondar {

class LoweringBuilder;

// One formal argument of a signature.
struct Formal {
  enum class Kind : uint8_t { kTensor, kOptionalTensor, kTensorList, kOptionalTensorList, kAttribute } kind;
  std::string type;        // as written: "Tensor", "Scalar", "int[]", "float?", "ScalarType?"
  std::string name;
  bool has_default = false;
  Attribute default_value;
};

// How one source format spells the operator. The signature is the fact sheet of the format: for ATen, the schema's
// argument list "(Tensor self, Tensor other, *, Scalar alpha=1)". It gives argument names, order, kinds and defaults,
// which archives omit.
//
// A number where a signature says Tensor ("add(x, 2)") is no tensor: the node's input is null and the number is the
// attribute of that name. So it keeps its place in PyTorch's type promotion, and may be a symbolic integer.
struct SourceForm {
  std::string name;       // "aten.add.Tensor"
  std::string signature;
  // This form's argument names that the operator's own form calls otherwise: {{"size", "shape"}}.
  std::vector<std::pair<std::string, std::string>> renames = {};
  // What renaming cannot say: edits the node, whose arguments already have the own form's names. `arguments` holds
  // every attribute as the source form gives it, defaults included, by the own form's names. May be null.
  Status (*adapt)(Node& node, const Attributes& arguments) = nullptr;
  // Position of the tensor formal that the source operator overwrites ("aten.add_.Tensor": 0); -1: none. The node
  // itself is functional; the importer renames.
  int writes = -1;
};

struct OpSchema {
  std::string name;                 // "add"
  std::vector<SourceForm> sources;
  std::string signature = "";       // of the operator's own form; "" means the first source's
  // -1: as many as `infer` makes. A source operator may have more results than this (the mean and rstd of
  // aten.native_layer_norm): a file that uses those is unsupported.
  int results = 1;
  // Of an operator with a result whose extent only data tell: the operator that computes it, as a 0-d integer, from those of
  // this one's arguments that its own signature names. Importers make the value a symbol and give that as `count`.
  std::string size_op = "";
  // Sets dtype and shape of every output with SetOutput; may bring attributes into a canonical form.
  // InvalidArgument: the arguments do not fit.
  Status (*infer)(Node& node) = nullptr;
  // Rewrites the node by primitives and other operators. Null for primitives and for ops that a pass removes.
  Status (*lower)(const Node& node, LoweringBuilder& builder) = nullptr;
  // A primitive that moves no data or is laid out by the compiler: permute, reshape, expand, slice, alias, concat.
  bool is_view = false;
  // Runs its subgraphs; a primitive, too.
  bool is_control = false;
  // Lowered by DecomposeGraph, before any other pass: what only spells other operators (flatten, select, split, to).
  bool early = false;
  // False for operators with effects or randomness, which folding, CSE and dead-code removal must leave alone.
  bool pure = true;
  // True for assertions and the like: the importer drops the node.
  bool drop = false;
};

// The table of all operators. Immutable after construction; thread-safe.
class OpRegistry {
 public:
  // Every family's rows. Built once, on first use; lives as long as the process.
  static const OpRegistry& Get();

  const OpSchema* Find(std::string_view op) const;  // null if unknown
  // The row and form for a source operator ("aten.add.Tensor"); null row if unknown.
  struct Source {
    const OpSchema* schema = nullptr;
    const SourceForm* form = nullptr;
    const std::vector<Formal>* formals = nullptr;
  };
  Source FindSource(std::string_view source_name) const;
  const std::vector<Formal>& FormalsOf(const OpSchema& schema) const;
  const std::vector<OpSchema>& all() const { return schemas_; }

 private:
  OpRegistry();
  void Register(std::vector<OpSchema> family);
  void AddSignature(const std::string& signature);

  std::vector<OpSchema> schemas_;
  std::map<std::string, std::vector<Formal>, std::less<>> formals_;  // by signature text
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<std::string, std::pair<size_t, size_t>, std::less<>> by_source_;
};

// Parses "(Tensor self, int[] dim=[], *, bool keepdim=False)".
Result<std::vector<Formal>> ParseSignature(std::string_view signature);

// Reading a node's arguments by the names of its schema. An absent attribute gives the schema's default; asking for
// a name or type that the schema does not have is a bug and ends the process.
class Arguments {
 public:
  explicit Arguments(const Node& node);  // the node and its graph outlive this

  Value* Tensor(std::string_view name) const;                    // null if optional and absent
  std::vector<Value*> Tensors(std::string_view name) const;      // a list formal
  bool IsNone(std::string_view name) const;       // an attribute that is None
  bool Bool(std::string_view name) const;
  int64_t Int(std::string_view name) const;       // a constant integer
  Dim Size(std::string_view name) const;          // a possibly symbolic integer
  double Number(std::string_view name) const;     // int, float or bool attribute as double
  Shape Sizes(std::string_view name) const;       // int[] or SymInt[]
  std::vector<int64_t> Ints(std::string_view name) const;
  std::string String(std::string_view name) const;
  DType Type(std::string_view name) const;        // ScalarType; kInvalid for None
  const Attribute& Raw(std::string_view name) const;

 private:
  const Node& node_;
  const std::vector<Formal>& formals_;
};

// Runs schema inference for one node in place; makes missing outputs.
Status InferNode(Node& node);

// For infer functions: sets output number `index`, which exists or is the next to make.
void SetOutput(Node& node, size_t index, DType dtype, Shape shape);

// Adds a node of operator `op` before `before` (or at the end), infers its outputs and returns it. The graph's own
// door for importers and passes.
Result<Node*> AddOp(Graph& graph, std::string_view op, std::string_view name, std::vector<Value*> inputs,
                    std::vector<int> segments, Attributes attributes, Node* before = nullptr);

// The same for an operator of a source format, with arguments as `source_name`'s signature has them: adapts them to the
// operator's own form. An absent optional tensor, or a number in a tensor's place, is a null input of segment 1 (see
// SourceForm). NotFound: unknown operator. Unimplemented, InvalidArgument: the arguments, by name.
// The door for importers. Rows that are marked `drop` have no node: look before calling.
Result<Node*> AddSourceOp(Graph& graph, std::string_view source_name, std::string_view name,
                          std::vector<Value*> inputs, std::vector<int> segments, Attributes attributes,
                          Node* before = nullptr);

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_OP_SCHEMA_H_
