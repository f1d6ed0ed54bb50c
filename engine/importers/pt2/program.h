// Program: what models/<name>.json of a PT2 archive says, as plain data.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_PROGRAM_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_PROGRAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/importers/pt2/number.h"
#include "engine/types/dtype.h"
#include "engine/types/shape.h"

namespace tondar::pt2 {

struct ProgramGraph;

// A number of an argument: written out, or the name of a symbolic one.
struct NumberRef {
  std::string name;  // empty: `literal` counts
  Number literal;
};

// One argument of a node, output or specification.
struct Argument {
  enum class Kind : uint8_t {
    kNone,
    kTensor,       // names[0]
    kTensors,      // names; an empty one is None
    kNumber,       // numbers[0]: int, float, bool or symbolic
    kNumbers,      // numbers
    kString,       // names[0]
    kStrings,      // names
    kScalarType,   // dtype; kInvalid if the engine has none, then names[0] says which
    kPlacement,    // device, memory format, strided layout: nothing the engine needs
    kGraph,        // graph
    kOperator,     // names[0]
    kUnsupported,  // names[0] says what
  };
  Kind kind = Kind::kNone;
  std::vector<std::string> names = {};
  std::vector<NumberRef> numbers = {};
  bool is_float = false;  // of kNumbers: as_floats, also when empty
  bool is_bool = false;   // of kNumbers: as_bools
  DType dtype = DType::kInvalid;
  std::shared_ptr<const ProgramGraph> graph = nullptr;  // shared: arguments are copied
};

struct NamedArgument {
  std::string name;  // empty for operands of higher-order operators
  Argument value;
};

struct ProgramNode {
  std::string target;  // "aten.linear.default", "_operator.mul": without "torch.ops."
  std::string name;    // unique within the graph
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  std::string source;  // the user's line or module, for messages; may be empty
};

// dtype and sizes of a tensor as the exporter saw them.
struct TensorMeta {
  DType dtype = DType::kInvalid;
  std::string dtype_name;  // for messages, where dtype is kInvalid
  std::vector<Number> sizes;
  std::vector<Number> strides;
  Number storage_offset;
  bool strided = true;
};

struct ProgramGraph {
  std::vector<Argument> inputs, outputs;
  std::vector<ProgramNode> nodes;
  std::map<std::string, TensorMeta> tensors;
  std::map<std::string, Number> numbers;  // what the exporter knew of symbolic ones
};

struct InputSpec {
  enum class Kind : uint8_t { kUser, kParameter, kBuffer, kTensorConstant, kConstant, kToken, kCustomObject };
  Kind kind = Kind::kUser;
  Argument argument;   // kUser: the graph input; kConstant: the value; the others: kTensor
  std::string target;  // of weights their key in the payload configuration, of kConstant its name
};

struct OutputSpec {
  enum class Kind : uint8_t { kUser, kBufferMutation, kInputMutation, kToken, kOther };
  Kind kind = Kind::kUser;
  Argument argument;
  std::string target;  // of mutations the buffer or input; of kOther its name in the file
};

// How Python nests inputs or outputs. Leaves have no children and an empty type.
struct TreeSpec {
  std::string type;                // "builtins.dict"
  std::vector<std::string> keys;   // of dicts and dataclasses: one per child; else empty
  bool attributes = false;         // the keys are attributes of a class
  std::vector<TreeSpec> children;

  bool IsLeaf() const { return type.empty(); }
};

struct Program {
  ProgramGraph graph;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  TreeSpec input_tree, output_tree;
  std::vector<std::string> argument_names;  // of forward(), without self
  SymbolTable symbols;
  std::vector<std::string> guards;
  std::string torch_version;
};

// An entry of a payload configuration.
struct Payload {
  std::string record;  // beside the configuration: "weight_0"
  bool pickled = false;
  std::optional<TensorMeta> meta;  // none for custom objects
};
using Payloads = std::map<std::string, Payload>;

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_PROGRAM_H_
