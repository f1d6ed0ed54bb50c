#include "engine/importers/pt2/graph_builder.h"

#include <algorithm>
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
    AddStates();
    AddSizes();
    AddGuards();
    model_.signature.symbols = graph().symbols;
    model_.signature.has_data_sizes = !graph().data_symbols.empty();
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
    std::set<std::string> used = UsedTensors(program_.graph);
    for (const OutputSpec& output : program_.outputs) {
      if (output.kind != OutputSpec::Kind::kBufferMutation) continue;
      for (size_t i = 0; i < program_.inputs.size(); ++i) {
        if (program_.inputs[i].target == output.target) AddNames(program_.graph.inputs[i], used);
      }
    }
    for (size_t i = 0; i < program_.inputs.size(); ++i) AddInput(program_.inputs[i], program_.graph.inputs[i], used);
    std::set<SymbolId> known;
    for (const Value* input : graph().inputs) {
      std::vector<SymbolId> symbols;
      for (const Dim& dim : input->shape) dim.CollectSymbols(symbols);
      known.insert(symbols.begin(), symbols.end());
    }
    nodes_.AddKnownSymbols(known);
  }

  // What nodes, their graphs or the outputs mention.
  static std::set<std::string> UsedTensors(const ProgramGraph& graph) {
    std::set<std::string> used;
    for (const ProgramNode& node : graph.nodes) {
      for (const NamedArgument& input : node.inputs) AddNames(input.value, used);
    }
    for (const Argument& output : graph.outputs) AddNames(output, used);
    return used;
  }

  static void AddNames(const Argument& argument, std::set<std::string>& used) {
    if (argument.kind != Kind::kTensor && argument.kind != Kind::kTensors) return;
    used.insert(argument.names.begin(), argument.names.end());
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
    if (input.kind == Kind::kNumber && !input.numbers[0].name.empty()) return AddNumberInput(input.numbers[0].name);
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

  // An int that the program computes with: a 0-d tensor whose value is a symbol.
  void AddNumberInput(const std::string& name) {
    user_inputs_.push_back(nullptr);  // for now
    const auto known = program_.graph.numbers.find(name);
    const Dim* dim = known == program_.graph.numbers.end() ? nullptr : AsDim(known->second);
    const std::optional<SymbolId> symbol = dim == nullptr ? std::nullopt : dim->AsSymbol();
    if (!symbol) {
      problems_.Unsupported(fmt::format("input '{}', a Python number other than a free int", name), "");
      scope_.numbers[name] = Number();
      return;
    }
    Value* value = graph().AddInput(name, DType::kInt64, {});
    model_.signature.inputs.push_back({name, DType::kInt64, {}, *symbol});
    scope_.numbers[name] = *dim;
    nodes_.DefineSize(*symbol, value);
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
    Tensor* tensor = aliases_.AddRoot(nullptr);
    Bind(name, tensor);
    if (!good || !used.contains(name)) return;  // quantised models keep the weights they replaced
    std::optional<Constant> constant = weights_.Get(spec.kind, spec.target, "");
    if (!constant) return;
    CheckWeight(name, *constant);
    tensor->value = graph().AddConstant(std::move(*constant));
    weight_roots_.push_back({spec.target, tensor, tensor->value});
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
        case OutputSpec::Kind::kBufferMutation: MutateBuffer(spec, program_.graph.outputs[i]); break;
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

  // ---- State ----

  // A weight of the program as a tensor, and what it is in the file.
  struct WeightRoot {
    std::string target;
    Tensor* tensor;
    Value* initial;
  };

  // The decomposed dialect says what a buffer is after the run; the other one has written to it in place.
  void MutateBuffer(const OutputSpec& spec, const Argument& output) {
    const auto root = std::find_if(weight_roots_.begin(), weight_roots_.end(),
                                   [&](const WeightRoot& weight) { return weight.target == spec.target; });
    if (root == weight_roots_.end() || output.kind != Kind::kTensor) {
      problems_.Broken("writes to buffer '{}', which the program does not have", spec.target);
      return;
    }
    const ProgramNode user{.target = "", .name = fmt::format("buffer '{}'", spec.target), .inputs = {}, .outputs = {}, .source = ""};
    Value* after = nodes_.ValueOf(nodes_.Find(scope_, output.names[0], user.name), user);
    if (after != nullptr) written_.emplace_back(*root, after);
  }

  // Weights that the program writes stay between runs. Their first values are in the file.
  void AddStates() {
    for (const WeightRoot& weight : weight_roots_) {
      if (weight.tensor->value == weight.initial) continue;
      const ProgramNode user{.target = "", .name = fmt::format("buffer '{}'", weight.target), .inputs = {}, .outputs = {}, .source = ""};
      if (Value* after = nodes_.ValueOf(weight.tensor, user)) written_.emplace_back(weight, after);
    }
    if (!problems_.empty()) return;
    std::vector<Value*> befores;
    for (const auto& [weight, after] : written_) {
      CheckOwnMemory(weight);
      if (!FitsState(*weight.initial, *after, weight.target)) {
        problems_.Unsupported(fmt::format("buffer '{}' of {} {}, overwritten by {} {}", weight.target,
                                          Name(weight.initial->dtype), ToString(weight.initial->shape),
                                          Name(after->dtype), ToString(after->shape, graph().symbols)), "");
        return;
      }
      graph().outputs.push_back(after);
    }
    for (const auto& [weight, after] : written_) {
      graph().states.push_back({weight.target, CopyToConstant(weight.target, weight.initial->constant->view)});
      model_.signature.states.push_back({weight.target, weight.initial->dtype, weight.initial->shape});
      Value* before = graph().AddInput(weight.initial->name, weight.initial->dtype, weight.initial->shape);
      graph().ReplaceAllUses(weight.initial, before);
    }
  }

  // True if the tensor can be what the buffer is from then on; extents that are spelled in another way are checked.
  bool FitsState(const Value& before, const Value& after, const std::string& name) {
    if (after.dtype != before.dtype || after.shape.size() != before.shape.size()) return false;
    for (size_t d = 0; d < before.shape.size(); ++d) {
      if (after.shape[d] == before.shape[d]) continue;
      if (after.shape[d].IsConstant()) return false;
      graph().checks.push_back({.left = after.shape[d], .right = before.shape[d], .where = fmt::format("buffer '{}'", name)});
    }
    return true;
  }

  // Two tensors over one storage would both have to change.
  void CheckOwnMemory(const WeightRoot& written) {
    for (const WeightRoot& other : weight_roots_) {
      if (other.tensor == written.tensor || other.initial->constant->owner == nullptr ||
          other.initial->constant->owner != written.initial->constant->owner) {
        continue;
      }
      problems_.Unsupported(fmt::format("writing to buffer '{}', which shares memory with '{}'", written.target, other.target), "");
    }
  }

  void AddSizes() {
    for (const auto& [symbol, value] : nodes_.sizes()) {
      graph().data_symbols.push_back(symbol);
      graph().outputs.push_back(value);
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
    InputPlaces places;
    for (size_t i = 0; i < paths.size() && i < user_inputs_.size(); ++i) places[paths[i]] = i;
    auto input_at = [&](std::string_view path) -> const Value* {
      const auto it = places.find(path);
      return it == places.end() ? nullptr : user_inputs_[it->second];
    };
    auto symbol_of = [&](const Value* input) -> std::optional<SymbolId> {
      for (const auto& [symbol, value] : nodes_.sizes()) {
        if (value == input) return symbol;
      }
      return std::nullopt;
    };
    GuardTerms terms;
    terms.shape_of = [&](std::string_view path) -> const Shape* {
      const Value* input = input_at(path);
      return input == nullptr ? nullptr : &input->shape;
    };
    terms.number_of = [&](std::string_view path) -> std::optional<Dim> {
      const Value* input = input_at(path);
      const std::optional<SymbolId> symbol = input == nullptr ? std::nullopt : symbol_of(input);
      return symbol ? std::optional(Dim::Symbol(*symbol)) : std::nullopt;
    };
    for (const std::string& text : program_.guards) {
      for (std::string_view part : SplitGuard(text)) AddGuard(part, terms, places);
    }
  }

  using InputPlaces = std::map<std::string, size_t, std::less<>>;  // by path

  void AddGuard(std::string_view text, const GuardTerms& terms, const InputPlaces& places) {
    Guard guard = ReadGuard(text, terms);
    guard.check.condition = InUserTerms(std::string(text), places);
    if (guard.kind == GuardKind::kCheck) graph().checks.push_back(std::move(guard.check));
    if (guard.kind == GuardKind::kUnknown) model_.unchecked_guards.emplace_back(text);
  }

  // "L['x'].size()[1] % 2 == 0" as "x.shape[1] % 2 == 0". Of paths that begin alike the longer comes later in the map.
  std::string InUserTerms(std::string text, const InputPlaces& places) const {
    auto replace_all = [&text](const std::string& from, const std::string& to) {
      for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
    };
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      if (const Value* input = user_inputs_[place->second]) replace_all(place->first, input->name);
    }
    replace_all(".size()[", ".shape[");
    return text;
  }

  const Program& program_;
  Weights& weights_;
  Problems& problems_;
  ImportedModel model_ = Empty();
  Aliases aliases_;
  NodeBuilder nodes_;
  Scope scope_;
  std::vector<WeightRoot> weight_roots_;                        // of weights that something uses
  std::vector<std::pair<WeightRoot, Value*>> written_;          // weights, and what they are after a run
  std::vector<const Value*> user_inputs_;  // in flat order; null where there is none
};

}  // namespace

ImportedModel BuildModel(const Program& program, Weights& weights, Problems& problems) {
  return ModelBuilder(program, weights, problems).Build();
}

}  // namespace tondar::pt2
