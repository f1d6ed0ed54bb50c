#include "engine/importers/pt2/node_builder.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace tondar::pt2 {
namespace {

using Kind = Argument::Kind;

constexpr std::string_view kHigherOrder = "higher_order.";

// Arguments that only say where or how a tensor lies; ignored also where a signature does not have them.
constexpr std::string_view kPlacementNames[] = {"device", "layout", "memory_format", "pin_memory", "non_blocking"};

// Nodes that check or describe and compute nothing, whether or not the registry has a row for them.
constexpr std::string_view kChecks[] = {
    "aten._assert_scalar.default",
    "aten._assert_async.msg",
    "aten._assert_async.default",
    "aten._assert_tensor_metadata.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
    "aten.promote_types.default",
};

// The element of a tensor as a Python number.
constexpr std::string_view kItems[] = {"aten.item.default", "aten._local_scalar_dense.default"};

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Argument* FindArgument(const ProgramNode& node, std::string_view name) {
  for (const NamedArgument& input : node.inputs) {
    if (input.name == name) return &input.value;
  }
  return nullptr;
}

bool IsTensorFormal(const Formal& formal) { return formal.kind != Formal::Kind::kAttribute; }
bool IsListFormal(const Formal& formal) {
  return formal.kind == Formal::Kind::kTensorList || formal.kind == Formal::Kind::kOptionalTensorList;
}

// The length of "int[2]"; 1 for "int[]".
size_t ListLength(std::string_view type) {
  const size_t open = type.find('[');
  size_t length = 1;
  std::from_chars(type.data() + open + 1, type.data() + type.size(), length);
  return std::clamp<size_t>(length, 1, 16);
}
bool IsListType(std::string_view type) { return type.find('[') != type.npos; }

// Every name that the node gives a tensor, with its place among the results.
std::vector<std::string> ResultNames(const ProgramNode& node) {
  std::vector<std::string> names;
  for (const Argument& output : node.outputs) {
    if (output.kind == Kind::kTensor || output.kind == Kind::kTensors) {
      names.insert(names.end(), output.names.begin(), output.names.end());
    } else {
      names.emplace_back();
    }
  }
  return names;
}

}  // namespace

void NodeBuilder::AddNodes(Scope& scope) {
  for (const ProgramNode& node : scope.graph->nodes) AddNode(scope, node);
}

void NodeBuilder::AddNode(Scope& scope, const ProgramNode& node) {
  ++operators_[node.target];
  if (node.target.starts_with(kHigherOrder)) return AddHigherOrder(scope, node);
  const bool gives_number = std::any_of(node.outputs.begin(), node.outputs.end(), [](const Argument& output) {
    return output.kind == Kind::kNumber;
  });
  if (gives_number) return AddNumber(scope, node);
  if (Contains(kChecks, node.target)) return;
  AddOperator(scope, node);
}

Tensor* NodeBuilder::Find(Scope& scope, const std::string& name, std::string_view user) {
  const auto it = scope.tensors.find(name);
  if (it != scope.tensors.end()) return it->second;
  problems_.Broken("node '{}' uses the unknown tensor '{}'", user, name);
  return nullptr;
}

Value* NodeBuilder::ValueOf(Tensor* tensor, const ProgramNode& user) {
  if (tensor == nullptr) return nullptr;
  const Result<Value*> value = aliases_.Current(tensor);
  if (value.ok()) return *value;
  Unsupported(std::string(value.status().message()), user);
  return nullptr;
}

bool NodeBuilder::IsKnownAtRunTime(const Dim& dim) const {
  if (dim.IsConstant()) return true;
  std::vector<SymbolId> symbols;
  dim.CollectSymbols(symbols);
  return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId id) { return known_symbols_.contains(id); });
}

// ---- Symbolic numbers ----

Number NodeBuilder::Resolve(Scope& scope, const NumberRef& ref, std::string_view user) {
  Number number = ref.literal;
  if (!ref.name.empty()) {
    const auto it = scope.numbers.find(ref.name);
    if (it == scope.numbers.end()) {
      problems_.Broken("node '{}' uses the unknown number '{}'", user, ref.name);
      return {};
    }
    number = it->second;
  }
  const Condition* condition = std::get_if<Condition>(&number);
  const Dim* dim = condition != nullptr ? &condition->holds : AsDim(number);
  if (dim != nullptr && !IsKnownAtRunTime(*dim)) return {};
  return number;
}

void NodeBuilder::AddNumber(Scope& scope, const ProgramNode& node) {
  std::optional<Number> number = NumberOf(scope, node);
  for (const Argument& output : node.outputs) {
    if (output.kind != Kind::kNumber || output.numbers[0].name.empty()) continue;
    const std::string& name = output.numbers[0].name;
    if (!number) {
      Unsupported(fmt::format("operator {}, which gives a number", node.target), node);
    } else if (!IsKnown(*number)) {
      // The exporter may know more; a symbol that no input has stays unknown all the same.
      const auto it = scope.graph->numbers.find(name);
      if (it != scope.graph->numbers.end()) number = it->second;
    }
    scope.numbers[name] = number.value_or(Number());
  }
}

// nullopt: no such operator.
std::optional<Number> NodeBuilder::NumberOf(Scope& scope, const ProgramNode& node) {
  if (node.target.starts_with("aten.sym_")) return SizeOfTensor(scope, node);
  if (Contains(kItems, node.target)) return ItemOfTensor(scope, node);
  std::vector<Number> arguments;
  for (const NamedArgument& input : node.inputs) {
    if (input.value.kind != Kind::kNumber) return std::nullopt;
    arguments.push_back(Resolve(scope, input.value.numbers[0], node.name));
  }
  if (!IsNumberFunction(node.target)) return std::nullopt;
  return ApplyFunction(node.target, arguments);
}

std::optional<Number> NodeBuilder::SizeOfTensor(Scope& scope, const ProgramNode& node) {
  const Argument* self = FindArgument(node, "self");
  if (self == nullptr || self->kind != Kind::kTensor) return std::nullopt;
  Tensor* tensor = Find(scope, self->names[0], node.name);
  if (tensor == nullptr || tensor->value == nullptr) return Number();
  const Shape& shape = tensor->value->shape;  // writes in place keep it
  if (node.target == "aten.sym_numel.default") return ElementCount(shape);
  if (node.target != "aten.sym_size.int") return std::nullopt;
  const Argument* dim = FindArgument(node, "dim");
  const Number number = dim && dim->kind == Kind::kNumber ? Resolve(scope, dim->numbers[0], node.name) : Number();
  const auto rank = static_cast<int64_t>(shape.size());
  const Dim* index = AsDim(number);
  if (index == nullptr || !index->IsConstant() || index->constant() < -rank || index->constant() >= rank) {
    problems_.Broken("node '{}' asks for a dimension that '{}' of rank {} lacks", node.name, self->names[0], rank);
    return Number();
  }
  return shape[static_cast<size_t>(index->constant() < 0 ? index->constant() + rank : index->constant())];
}

// ---- Operators ----

NodeBuilder::Operator NodeBuilder::FindOperator(const std::string& target) {
  const OpRegistry& registry = OpRegistry::Get();
  Operator found{.name = target, .source = registry.FindSource(target)};
  if (found.source.schema != nullptr) {
    found.writes = found.source.form->writes;
    return found;
  }
  const size_t overload = target.rfind('.');
  if (overload == target.npos || overload == 0) return found;
  const std::string stem = target.substr(0, overload);
  if (stem.find('.') != stem.npos) {  // "aten.linear" stands for every overload
    found.source = registry.FindSource(stem);
    if (found.source.schema != nullptr) found.name = stem;
  }
  // "aten.add_.Tensor" is "aten.add.Tensor" that overwrites its first tensor.
  if (found.source.schema == nullptr && stem.ends_with('_') && !stem.ends_with("__")) {
    found.name = stem.substr(0, stem.size() - 1) + target.substr(overload);
    found.source = registry.FindSource(found.name);
    found.writes = 0;
  }
  return found;
}

void NodeBuilder::AddOperator(Scope& scope, const ProgramNode& node) {
  const Operator op = FindOperator(node.target);
  if (op.source.schema == nullptr) {
    Unsupported(fmt::format("operator {}", node.target), node);
    return BindFailed(scope, node);
  }
  if (op.source.schema->drop && node.outputs.empty()) return;
  std::optional<SourceArguments> arguments = Convert(scope, node, op);
  if (!arguments) return BindFailed(scope, node);
  if (op.source.schema->drop) {
    for (const std::string& name : ResultNames(node)) {
      if (!name.empty() && !arguments->tensors.empty()) scope.tensors[name] = arguments->tensors[0];
    }
    return;
  }
  Status prepared = AddDataSizes(scope, node, op, *arguments);
  if (prepared.ok() && scope.autocast) prepared = Recast(*scope.autocast, node, *arguments);
  Result<Node*> made = !prepared.ok() ? Result<Node*>(prepared)
                                   : AddSourceOp(graph_, op.name, node.name, arguments->inputs, arguments->segments, arguments->attributes);
  if (!made.ok()) {
    const std::string why(made.status().message());
    if (made.status().code() == StatusCode::kInvalidArgument) {
      problems_.Broken("node '{}' ({}): {}", node.name, node.target, why);
    } else {
      Unsupported(why.starts_with(op.name) ? "operator " + why : fmt::format("operator {}: {}", node.target, why), node);
    }
    return BindFailed(scope, node);
  }
  BindResults(scope, node, op, *arguments, *made);
}

std::optional<NodeBuilder::SourceArguments> NodeBuilder::Convert(Scope& scope, const ProgramNode& node,
                                                                 const Operator& op) {
  SourceArguments to;
  bool good = true;
  for (const Formal& formal : *op.source.formals) {
    const Argument* argument = FindArgument(node, formal.name);
    if (IsTensorFormal(formal)) {
      good = ConvertTensor(scope, node, formal, argument, to) && good;
    } else if (argument != nullptr && argument->kind != Kind::kPlacement) {
      std::optional<Attribute> attribute = ConvertAttribute(scope, node, formal, *argument);
      good = attribute.has_value() && good;
      if (attribute) to.attributes.emplace(formal.name, std::move(*attribute));
    }
  }
  for (const NamedArgument& input : node.inputs) {
    const bool known = std::any_of(op.source.formals->begin(), op.source.formals->end(),
                                   [&](const Formal& formal) { return formal.name == input.name; });
    const bool harmless = input.value.kind == Kind::kPlacement || input.value.kind == Kind::kNone ||
                          Contains(kPlacementNames, input.name);
    if (known || harmless) continue;
    Unsupported(fmt::format("argument '{}' of operator {}", input.name, node.target), node);
    good = false;
  }
  if (!good) return std::nullopt;
  return to;
}

// False if the tensor has no value, which is reported.
bool NodeBuilder::ConvertTensor(Scope& scope, const ProgramNode& node, const Formal& formal,
                                const Argument* argument, SourceArguments& to) {
  const Kind kind = argument == nullptr ? Kind::kNone : argument->kind;
  auto add = [&](const std::string& name) {
    Tensor* tensor = name.empty() ? nullptr : Find(scope, name, node.name);
    Value* value = ValueOf(tensor, node);
    to.inputs.push_back(value);
    to.tensors.push_back(tensor);
    return name.empty() || value != nullptr;
  };
  const bool is_list = IsListFormal(formal);
  if (kind == Kind::kTensor || kind == Kind::kTensors) {
    bool good = true;
    for (const std::string& name : argument->names) good = add(name) && good;
    to.segments.push_back(static_cast<int>(argument->names.size()));
    if (!is_list && argument->names.size() != 1) {
      problems_.Broken("node '{}': argument '{}' is a list of {} tensors, expected one", node.name, formal.name,
                       argument->names.size());
      return false;
    }
    return good;
  }
  if (is_list) {  // absent, None or an empty list of whatever
    to.segments.push_back(0);
    if (kind == Kind::kNone || (kind == Kind::kNumbers && argument->numbers.empty())) return true;
  } else {
    to.segments.push_back(1);
    if (kind == Kind::kNumber) {
      const Number number = Resolve(scope, argument->numbers[0], node.name);
      if (const Fraction* fraction = std::get_if<Fraction>(&number)) {
        to.inputs.push_back(TensorOf(*fraction, node));
        to.tensors.push_back(nullptr);
        return to.inputs.back() != nullptr;
      }
    }
    add("");
    if (kind == Kind::kNone) return true;
    if (kind == Kind::kNumber) {  // "add(x, 2)" through an overload that wants a tensor
      std::optional<Attribute> number = ConvertAttribute(scope, node, formal, *argument);
      if (number) to.attributes.emplace(formal.name, std::move(*number));
      return number.has_value();
    }
  }
  Unsupported(fmt::format("argument '{}' of operator {}, which is no tensor", formal.name, node.target), node);
  return false;
}

// A 0-d tensor has a number's place in type promotion, as far as floats go.
Value* NodeBuilder::TensorOf(const Fraction& fraction, const ProgramNode& node) {
  Result<Node*> made = AddSourceOp(graph_, "aten.full.default", node.name, {}, {},
                                   {{"size", Shape()}, {"fill_value", fraction.numerator}, {"dtype", DType::kFloat32}});
  if (made.ok() && fraction.denominator != 1) {
    made = AddSourceOp(graph_, "aten.div.Scalar", node.name, {(*made)->outputs.at(0)}, {},
                       {{"other", static_cast<double>(fraction.denominator)}});
  }
  if (made.ok()) return (*made)->outputs.at(0);
  Unsupported(fmt::format("a fraction of sizes: {}", made.status().message()), node);
  return nullptr;
}

std::optional<Attribute> NodeBuilder::ConvertAttribute(Scope& scope, const ProgramNode& node, const Formal& formal,
                                                       const Argument& argument) {
  switch (argument.kind) {
    case Kind::kNone: return Attribute(std::monostate());
    case Kind::kNumber: return ConvertNumber(node, formal, Resolve(scope, argument.numbers[0], node.name));
    case Kind::kNumbers: return ConvertNumbers(scope, node, formal, argument);
    case Kind::kString: return Attribute(argument.names[0]);
    case Kind::kStrings: return Attribute(argument.names);
    case Kind::kScalarType:
      if (argument.dtype != DType::kInvalid) return Attribute(argument.dtype);
      Unsupported(fmt::format("dtype {}", argument.names[0]), node);
      return std::nullopt;
    case Kind::kTensors:
      if (argument.names.empty()) return Attribute(Shape());
      [[fallthrough]];
    case Kind::kTensor:
      Unsupported(fmt::format("argument '{}' of operator {} as a tensor", formal.name, node.target), node);
      return std::nullopt;
    case Kind::kUnsupported: Unsupported(argument.names[0], node); return std::nullopt;
    default:
      Unsupported(fmt::format("argument '{}' of operator {}", formal.name, node.target), node);
      return std::nullopt;
  }
}

std::optional<Attribute> NodeBuilder::ConvertNumber(const ProgramNode& node, const Formal& formal,
                                                    const Number& number) {
  const bool wants_float = formal.type.starts_with("float");
  if (const double* real = std::get_if<double>(&number)) {
    if (IsListType(formal.type)) return Attribute(std::vector<double>(ListLength(formal.type), *real));
    return Attribute(*real);
  }
  if (const bool* truth = std::get_if<bool>(&number)) {
    if (wants_float) return Attribute(*truth ? 1.0 : 0.0);
    return Attribute(*truth);
  }
  if (const Dim* dim = AsDim(number)) {
    if (wants_float && dim->IsConstant()) {
      const auto real = static_cast<double>(dim->constant());
      if (IsListType(formal.type)) return Attribute(std::vector<double>(ListLength(formal.type), real));
      return Attribute(real);
    }
    if (!wants_float && IsListType(formal.type)) return Attribute(Shape(ListLength(formal.type), *dim));
    if (!wants_float) return Attribute(*dim);
  }
  Unsupported(IsKnown(number)
                  ? fmt::format("argument '{}' of operator {}, a fraction of sizes", formal.name, node.target)
                  : fmt::format("argument '{}' of operator {}, a number that depends on data", formal.name,
                                node.target),
              node);
  return std::nullopt;
}

std::optional<Attribute> NodeBuilder::ConvertNumbers(Scope& scope, const ProgramNode& node, const Formal& formal,
                                                     const Argument& argument) {
  const bool wants_float = argument.is_float || formal.type.starts_with("float");
  const bool wants_bool = argument.is_bool || formal.type.starts_with("bool");
  std::vector<double> reals;
  std::vector<bool> truths;
  Shape dims;
  for (const NumberRef& ref : argument.numbers) {
    const Number number = Resolve(scope, ref, node.name);
    if (const double* real = std::get_if<double>(&number)) {
      reals.push_back(*real);
    } else if (const bool* truth = std::get_if<bool>(&number)) {
      truths.push_back(*truth);
    } else if (const Dim* dim = AsDim(number)) {
      dims.push_back(*dim);
      if (dim->IsConstant()) reals.push_back(static_cast<double>(dim->constant()));
    }
  }
  const size_t count = argument.numbers.size();
  if (wants_float && reals.size() == count) return Attribute(std::move(reals));
  if (wants_bool && truths.size() == count) return Attribute(std::move(truths));
  if (!wants_float && !wants_bool && dims.size() == count) return Attribute(std::move(dims));
  Unsupported(fmt::format("argument '{}' of operator {}, with a number that depends on data", formal.name,
                          node.target),
              node);
  return std::nullopt;
}

// ---- Results ----

void NodeBuilder::BindFailed(Scope& scope, const ProgramNode& node) {
  for (const std::string& name : ResultNames(node)) {
    if (!name.empty()) scope.tensors[name] = aliases_.AddRoot(nullptr);
  }
}

void NodeBuilder::BindResults(Scope& scope, const ProgramNode& node, const Operator& op,
                              const SourceArguments& arguments, Node* made) {
  if (op.writes >= 0) {
    size_t input = 0;
    for (int i = 0; i < op.writes && static_cast<size_t>(i) < arguments.segments.size(); ++i) {
      input += static_cast<size_t>(arguments.segments[static_cast<size_t>(i)]);
    }
    if (input >= arguments.tensors.size() || arguments.tensors[input] == nullptr) {
      problems_.Broken("node '{}' ({}) has no tensor to write to", node.name, node.target);
      return BindFailed(scope, node);
    }
    return BindWritten(scope, node, arguments.tensors[input], made);
  }
  const ViewKind view = ViewKindOf(op.name);
  const std::vector<std::string> names = ResultNames(node);
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    if (i >= made->outputs.size()) {
      scope.tensors[names[i]] = aliases_.AddMissing(fmt::format("result {} of operator {}", i, node.target));
      continue;
    }
    Value* value = made->outputs[i];
    Reconcile(scope, node, names[i], value);
    if (view == ViewKind::kNone || arguments.tensors.empty() || arguments.tensors[0] == nullptr) {
      scope.tensors[names[i]] = aliases_.AddRoot(value);
    } else {
      ViewRecipe recipe{.source = op.name,
                        .output = i,
                        .inputs = arguments.inputs,
                        .segments = arguments.segments,
                        .attributes = arguments.attributes};
      scope.tensors[names[i]] =
          aliases_.AddView(arguments.tensors[0], std::move(recipe), value, view == ViewKind::kView);
    }
  }
}

// The name of the result and the name of what was overwritten are one tensor from here on.
void NodeBuilder::BindWritten(Scope& scope, const ProgramNode& node, Tensor* target, Node* made) {
  Value* value = made->outputs.at(0);
  const Value* old = target->value;
  if (value->dtype != old->dtype) {
    Result<Node*> cast = AddSourceOp(graph_, "aten._to_copy.default", node.name, {value}, {}, {{"dtype", old->dtype}});
    if (!cast.ok()) {
      Unsupported(fmt::format("operator {}: {}", node.target, cast.status().message()), node);
      return BindFailed(scope, node);
    }
    value = (*cast)->outputs.at(0);
  }
  const bool same_rank = value->shape.size() == old->shape.size();
  for (size_t i = 0; same_rank && i < old->shape.size(); ++i) {
    if (value->shape[i] == old->shape[i]) continue;
    graph_.checks.push_back({value->shape[i], old->shape[i], fmt::format("{}: writes in place", node.name)});
  }
  if (!same_rank) {
    problems_.Broken("node '{}' ({}) writes a tensor of shape {} over one of shape {}", node.name, node.target,
                     ToString(value->shape, graph_.symbols), ToString(old->shape, graph_.symbols));
    return BindFailed(scope, node);
  }
  const Status status = aliases_.Write(target, value, node.name);
  if (!status.ok()) Unsupported(fmt::format("{} (operator {})", status.message(), node.target), node);
  for (const std::string& name : ResultNames(node)) {
    if (!name.empty()) scope.tensors[name] = target;
  }
}

// The file says what the exporter saw. Another dtype, rank or number is a mistake of either side. Where sizes are
// only spelled otherwise, the exporter's is kept, for later ones build on it, and the run time checks they agree.
void NodeBuilder::Reconcile(Scope& scope, const ProgramNode& node, const std::string& name, Value* value) {
  for (const Dim& dim : value->shape) {
    if (!IsKnownAtRunTime(dim)) return Unsupported(fmt::format("operator {} with sizes that depend on data", node.target), node);
  }
  const auto it = scope.graph->tensors.find(name);
  if (it == scope.graph->tensors.end()) return;
  const TensorMeta& meta = it->second;
  bool fits = meta.sizes.size() == value->shape.size() && meta.dtype == value->dtype;
  std::string expected;
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    const Dim* size = AsDim(meta.sizes[i]);
    expected += fmt::format("{}{}", i == 0 ? "" : ", ", size ? size->ToString(graph_.symbols) : "?");
    if (!fits || size == nullptr || *size == value->shape[i]) continue;
    const Dim difference = *size - value->shape[i];
    fits = !difference.IsConstant();
    if (!fits) continue;
    if (!IsKnownAtRunTime(*size)) {
      return Unsupported(fmt::format("operator {} with sizes that depend on data", node.target), node);
    }
    // A number where sizes decide: the tracer saw enough rows (x[:2]). Fewer are right, too, until something needs them.
    if (size->IsConstant()) continue;
    graph_.checks.push_back({value->shape[i], *size, fmt::format("{}: extent {} as exported", node.name, i)});
    value->shape[i] = *size;
  }
  if (fits) return;
  problems_.Broken("node '{}' ({}) makes {} {}, but the file says {} [{}]", node.name, node.target,
                   Name(value->dtype), ToString(value->shape, graph_.symbols), meta.dtype_name, expected);
}

// ---- Higher-order operators ----

void NodeBuilder::AddHigherOrder(Scope& scope, const ProgramNode& node) {
  const std::string name = node.target.substr(kHigherOrder.size());
  auto kind_of = [&](size_t i) { return i < node.inputs.size() ? node.inputs[i].value.kind : Kind::kNone; };
  if (name == "wrap_with_set_grad_enabled" && kind_of(1) == Kind::kGraph) return Inline(scope, node, 1, scope.autocast);
  if (name == "wrap_with_autocast" && kind_of(4) == Kind::kGraph) return InlineAutocast(scope, node);
  // Tokens order effects; a check of a decomposition's status is one that has no result.
  if (name == "with_effects" && kind_of(1) == Kind::kOperator &&
      node.inputs[1].value.names[0].find("_linalg_check_errors") != std::string::npos) {
    return BindFailed(scope, node);
  }
  if (AddControl(scope, node, name)) return;
  Unsupported(fmt::format("higher-order operator {}", name), node);
  for (const NamedArgument& input : node.inputs) {
    if (input.value.graph) LookUpOperators(*input.value.graph);
  }
  BindFailed(scope, node);
}

// The operators of a graph that is not built are still looked up, so that all that is missing is said at once.
void NodeBuilder::LookUpOperators(const ProgramGraph& graph) {
  for (const ProgramNode& node : graph.nodes) {
    ++operators_[node.target];
    for (const NamedArgument& input : node.inputs) {
      if (input.value.graph) LookUpOperators(*input.value.graph);
    }
    const bool known = IsNumberFunction(node.target) || node.target.starts_with("aten.sym_") ||
                       Contains(kChecks, node.target) || FindOperator(node.target).source.schema != nullptr;
    if (node.target.starts_with(kHigherOrder)) {
      Unsupported(fmt::format("higher-order operator {}", node.target.substr(kHigherOrder.size())), node);
    } else if (!known) {
      Unsupported(fmt::format("operator {}", node.target), node);
    }
  }
}

// Arguments: device, dtype or None, whether it is on, whether it caches, the graph.
void NodeBuilder::InlineAutocast(Scope& scope, const ProgramNode& node) {
  const Argument &device = node.inputs[0].value, &dtype = node.inputs[1].value, &enabled = node.inputs[2].value;
  const bool* on = enabled.kind == Kind::kNumber ? std::get_if<bool>(&enabled.numbers[0].literal) : nullptr;
  if (on == nullptr || !*on) return Inline(scope, node, 4, std::nullopt);
  Autocast region;
  if (device.kind == Kind::kString) region.device = device.names[0];
  if (dtype.kind == Kind::kScalarType) region.dtype = dtype.dtype;
  if (dtype.kind == Kind::kNone && region.device == "cuda") region.dtype = DType::kFloat16;
  Inline(scope, node, 4, region);
}

// Converts the tensors that autocast converts.
Status NodeBuilder::Recast(const Autocast& region, const ProgramNode& node, SourceArguments& arguments) {
  const DType dtype = AutocastDType(region, node.target, arguments.inputs);
  if (dtype == DType::kInvalid) return OkStatus();
  for (Value*& input : arguments.inputs) {
    if (input == nullptr || !IsAutocast(input->dtype, dtype)) continue;
    TONDAR_ASSIGN_OR_RETURN(Node * cast, AddSourceOp(graph_, "aten._to_copy.default", node.name, {input}, {}, {{"dtype", dtype}}));
    input = cast->outputs.at(0);
  }
  return OkStatus();
}

// Operands follow the graph, by position.
void NodeBuilder::Inline(Scope& scope, const ProgramNode& node, size_t graph_argument, const std::optional<Autocast>& autocast) {
  const ProgramGraph& graph = *node.inputs[graph_argument].value.graph;
  Scope inner{.graph = &graph, .autocast = autocast};
  const size_t first = graph_argument + 1;
  if (node.inputs.size() != first + graph.inputs.size()) {
    problems_.Broken("node '{}' gives {} operands to a graph of {} inputs", node.name, node.inputs.size() - first,
                     graph.inputs.size());
    return BindFailed(scope, node);
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Argument &formal = graph.inputs[i], &actual = node.inputs[first + i].value;
    if (formal.kind == Kind::kTensor && actual.kind == Kind::kTensor) {
      if (Tensor* tensor = Find(scope, actual.names[0], node.name)) inner.tensors[formal.names[0]] = tensor;
    } else if (formal.kind == Kind::kNumber && actual.kind == Kind::kNumber) {
      inner.numbers[formal.numbers[0].name] = Resolve(scope, actual.numbers[0], node.name);
    }
  }
  AddNodes(inner);
  std::vector<std::string> results;
  for (const Argument& output : graph.outputs) {
    const bool tensors = output.kind == Kind::kTensor || output.kind == Kind::kTensors;
    results.insert(results.end(), output.names.begin(), output.names.end());
    if (!tensors) results.emplace_back();
  }
  const std::vector<std::string> names = ResultNames(node);
  if (results.size() != names.size()) {
    problems_.Broken("node '{}' has {} results, its graph {}", node.name, names.size(), results.size());
    return BindFailed(scope, node);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || results[i].empty()) continue;
    if (Tensor* tensor = Find(inner, results[i], node.name)) scope.tensors[names[i]] = tensor;
  }
}

}  // namespace tondar::pt2
