#include "engine/importers/pt2/graph_builder.h"

#include <cstring>
#include <utility>

#include "engine/importers/pt2/guards.h"
#include "engine/importers/pt2/node_builder.h"
#include "engine/importers/pt2/tree_names.h"

namespace tondar::pt2 {
namespace {

using Kind = Argument::Kind;

class ModelBuilder {
 public:
  ModelBuilder(const Program& program, Weights& weights, Problems& problems)
      : program_(program), weights_(weights), problems_(problems), aliases_(*model_.graph),
        nodes_(*model_.graph, aliases_, problems, model_.source_operators) {
    scope_.graph = &program.graph;
  }

  ImportedModel Build() {
    graph().symbols = program_.symbols.symbols();
    model_.platform = "pt2";
    model_.producer = fmt::format("torch {}", program_.torch_version);
    AddInputs();
    nodes_.AddNodes(scope_);
    AddOutputs();
    AddGuards();
    model_.signature.symbols = graph().symbols;
    DeriveBatching(model_.signature);
    if (problems_.empty()) graph().EraseUnusedConstants();
    return std::move(model_);
  }

 private:
  static ImportedModel Empty() {
    ImportedModel model;
    model.graph = std::make_unique<Graph>();
    return model;
  }
  Graph& graph() { return *model_.graph; }

  // ---- Inputs ----

  void AddInputs() {
    if (program_.inputs.size() != program_.graph.inputs.size()) {
      problems_.Broken("the graph has {} inputs, its signature {}", program_.graph.inputs.size(),
                       program_.inputs.size());
      return;
    }
    const std::set<std::string> used = UsedTensors(program_.graph);
    for (size_t i = 0; i < program_.inputs.size(); ++i) AddInput(program_.inputs[i], program_.graph.inputs[i], used);
    std::set<SymbolId> known;
    for (const Value* input : graph().inputs) {
      std::vector<SymbolId> symbols;
      for (const Dim& dim : input->shape) dim.CollectSymbols(symbols);
      known.insert(symbols.begin(), symbols.end());
    }
    nodes_.SetKnownSymbols(std::move(known));
  }

  // What nodes, their graphs or the outputs mention.
  static std::set<std::string> UsedTensors(const ProgramGraph& graph) {
    std::set<std::string> used;
    auto add = [&](const Argument& argument) {
      if (argument.kind == Kind::kTensor || argument.kind == Kind::kTensors) {
        used.insert(argument.names.begin(), argument.names.end());
      }
    };
    for (const ProgramNode& node : graph.nodes) {
      for (const NamedArgument& input : node.inputs) add(input.value);
    }
    for (const Argument& output : graph.outputs) add(output);
    return used;
  }

  void AddInput(const InputSpec& spec, const Argument& input, const std::set<std::string>& used) {
    switch (spec.kind) {
      case InputSpec::Kind::kUser: return AddUserInput(input);
      case InputSpec::Kind::kConstant: return AddConstantInput(spec);
      case InputSpec::Kind::kToken:  // orders effects, carries nothing
        if (input.kind == Kind::kTensor) Bind(input.names[0], aliases_.AddRoot(nullptr));
        return;
      default: return AddWeight(spec, input, used);
    }
  }

  void Bind(const std::string& name, Tensor* tensor) {
    if (!scope_.tensors.emplace(name, tensor).second) problems_.Broken("two inputs are called '{}'", name);
  }

  void AddUserInput(const Argument& input) {
    if (input.kind == Kind::kNumber && !input.numbers[0].name.empty()) {
      const std::string& name = input.numbers[0].name;
      problems_.Unsupported(fmt::format("input '{}', a Python number that the program computes with", name), "");
      scope_.numbers[name] = Number();
      user_inputs_.push_back(nullptr);
      return;
    }
    if (input.kind != Kind::kTensor) {
      if (input.kind == Kind::kUnsupported) problems_.Unsupported(input.names[0] + " as an input", "");
      user_inputs_.push_back(nullptr);
      return;
    }
    const std::string& name = input.names[0];
    user_inputs_.push_back(nullptr);
    Bind(name, aliases_.AddRoot(nullptr));
    const auto meta = program_.graph.tensors.find(name);
    if (meta == program_.graph.tensors.end()) {
      problems_.Broken("input '{}' has no entry in tensor_values", name);
      return;
    }
    if (meta->second.dtype == DType::kInvalid || !meta->second.strided || meta->second.sizes.size() > kMaxRank) {
      problems_.Unsupported(fmt::format("input '{}' of dtype {}, rank {}{}", name, meta->second.dtype_name,
                                        meta->second.sizes.size(), meta->second.strided ? "" : ", not strided"),
                            "");
      return;
    }
    Shape shape;
    for (const Number& size : meta->second.sizes) {
      const Dim* dim = AsDim(size);
      if (dim == nullptr || (dim->IsConstant() && dim->constant() < 0)) {
        problems_.Broken("input '{}' has a size that is no integer expression", name);
        return;
      }
      shape.push_back(*dim);
    }
    Value* value = graph().AddInput(name, meta->second.dtype, shape);
    model_.signature.inputs.push_back({name, meta->second.dtype, std::move(shape)});
    scope_.tensors[name]->value = value;
    user_inputs_.back() = value;
  }

  // Callers may leave it out; None is nothing to compare with.
  void AddConstantInput(const InputSpec& spec) {
    user_inputs_.push_back(nullptr);
    ConstantSpec constant{.name = spec.target, .value = {}};
    if (spec.argument.kind == Kind::kNone) return;
    if (spec.argument.kind == Kind::kString) {
      constant.value = spec.argument.names[0];
    } else if (spec.argument.kind == Kind::kNumber) {
      const Number& number = spec.argument.numbers[0].literal;
      if (const bool* truth = std::get_if<bool>(&number)) constant.value = *truth;
      if (const double* real = std::get_if<double>(&number)) constant.value = *real;
      if (const Dim* dim = AsDim(number)) constant.value = dim->IsConstant() ? dim->constant() : 0;
    } else {
      problems_.Unsupported(fmt::format("constant input '{}' of a kind other than number, bool or string", spec.target),
                            "");
      return;
    }
    model_.signature.constants.push_back(std::move(constant));
  }

  void AddWeight(const InputSpec& spec, const Argument& input, const std::set<std::string>& used) {
    if (input.kind != Kind::kTensor) {
      if (input.kind == Kind::kUnsupported) problems_.Unsupported(input.names[0], "");
      return;
    }
    const std::string& name = input.names[0];
    const bool good = weights_.Check(spec.kind, spec.target);
    Tensor* tensor = aliases_.AddRoot(nullptr, fmt::format("{} '{}'", WordFor(spec.kind), spec.target));
    Bind(name, tensor);
    if (!good || !used.contains(name)) return;  // quantised models keep the weights they replaced
    std::optional<Constant> constant = weights_.Get(spec.kind, spec.target, "");
    if (!constant) return;
    CheckWeight(name, *constant);
    tensor->value = graph().AddConstant(std::move(*constant));
  }

  static std::string_view WordFor(InputSpec::Kind kind) {
    return kind == InputSpec::Kind::kParameter ? "parameter" : kind == InputSpec::Kind::kBuffer ? "buffer" : "constant";
  }

  // The program was made for tensors of this shape; others would end in results of other sizes.
  void CheckWeight(const std::string& name, const Constant& constant) {
    const auto meta = program_.graph.tensors.find(name);
    if (meta == program_.graph.tensors.end()) return;
    bool fits = meta->second.dtype == constant.view.dtype && meta->second.sizes.size() == constant.view.shape.size();
    for (size_t i = 0; fits && i < constant.view.shape.size(); ++i) {
      const Dim* size = AsDim(meta->second.sizes[i]);
      fits = size != nullptr && size->Is(constant.view.shape[i]);
    }
    if (fits) return;
    problems_.Broken("tensor '{}' is {} {}, but the program was made for another one", constant.name,
                     Name(constant.view.dtype), ToString(constant.view.shape));
  }

  // ---- Outputs ----

  void AddOutputs() {
    if (program_.outputs.size() != program_.graph.outputs.size()) {
      problems_.Broken("the graph has {} outputs, its signature {}", program_.graph.outputs.size(),
                       program_.outputs.size());
      return;
    }
    const std::vector<std::string> names = OutputNames(program_.output_tree);
    size_t leaf = 0;
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const OutputSpec& spec = program_.outputs[i];
      switch (spec.kind) {
        case OutputSpec::Kind::kUser:
          if (leaf < names.size()) AddOutput(names[leaf], program_.graph.outputs[i]);
          ++leaf;
          break;
        case OutputSpec::Kind::kBufferMutation:
          problems_.Unsupported(fmt::format("writing to buffer '{}'", spec.target), "");
          break;
        case OutputSpec::Kind::kOther:
          problems_.Unsupported(fmt::format("an output that is a {}", spec.target), "");
          break;
        default: break;  // nobody sees a caller's tensor change, or a token
      }
    }
    if (leaf != names.size()) {
      problems_.Broken("the signature has {} outputs, its tree specification {}", leaf, names.size());
    }
  }

  void AddOutput(const std::string& name, const Argument& output) {
    Value* value = nullptr;
    const ProgramNode user{.target = "", .name = fmt::format("output '{}'", name), .inputs = {}, .outputs = {}, .source = ""};
    switch (output.kind) {
      case Kind::kNone: return;
      case Kind::kTensor: value = nodes_.ValueOf(nodes_.Find(scope_, output.names[0], user.name), user); break;
      case Kind::kNumber: value = NumberOutput(name, output.numbers[0]); break;
      default: problems_.Unsupported("an output that is no tensor and no number", name); return;
    }
    if (value == nullptr) return;
    graph().outputs.push_back(value);
    model_.signature.outputs.push_back({name, value->dtype, value->shape});
  }

  template <typename T>
  Value* Scalar(const std::string& name, DType dtype, T number) {
    Constant constant = AllocateConstant(name, dtype, {});
    std::memcpy(constant.view.data, &number, sizeof(number));
    return graph().AddConstant(std::move(constant));
  }

  Value* NumberOutput(const std::string& name, const NumberRef& ref) {
    const Number number = nodes_.Resolve(scope_, ref, fmt::format("output '{}'", name));
    if (const bool* truth = std::get_if<bool>(&number)) return Scalar(name, DType::kBool, *truth);
    if (const double* real = std::get_if<double>(&number)) return Scalar(name, DType::kFloat64, *real);
    const Dim* dim = AsDim(number);
    if (dim != nullptr && dim->IsConstant()) return Scalar(name, DType::kInt64, dim->constant());
    if (dim != nullptr) {
      Result<Node*> node = AddSourceOp(graph(), "aten.full.default", name, {}, {},
                                       {{"size", Shape()}, {"fill_value", *dim}, {"dtype", DType::kInt64}});
      if (node.ok()) return (*node)->outputs.at(0);
    }
    problems_.Unsupported("an output that is a number known only when the model runs", name);
    return nullptr;
  }

  // ---- Guards ----

  void AddGuards() {
    const std::vector<std::string> paths = InputPaths(program_.input_tree, program_.argument_names);
    std::map<std::string, const Shape*, std::less<>> shapes;
    for (size_t i = 0; i < paths.size() && i < user_inputs_.size(); ++i) {
      if (user_inputs_[i] != nullptr) shapes[paths[i]] = &user_inputs_[i]->shape;
    }
    auto shape_of = [&](std::string_view path) -> const Shape* {
      const auto it = shapes.find(path);
      return it == shapes.end() ? nullptr : it->second;
    };
    for (const std::string& text : program_.guards) {
      Guard guard = ReadGuard(text, shape_of);
      if (guard.kind == GuardKind::kCheck) graph().checks.push_back(std::move(guard.check));
      if (guard.kind == GuardKind::kUnknown) model_.unchecked_guards.push_back(text);
    }
  }

  const Program& program_;
  Weights& weights_;
  Problems& problems_;
  ImportedModel model_ = Empty();
  Aliases aliases_;
  NodeBuilder nodes_;
  Scope scope_;
  std::vector<const Value*> user_inputs_;  // in flat order; null where there is no tensor
};

}  // namespace

ImportedModel BuildModel(const Program& program, Weights& weights, Problems& problems) {
  return ModelBuilder(program, weights, problems).Build();
}

}  // namespace tondar::pt2
