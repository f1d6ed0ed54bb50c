// The part of NodeBuilder that deals with sizes which only the data tell.
#include <algorithm>

#include "engine/importers/pt2/node_builder.h"

namespace tondar::pt2 {
namespace {

using Kind = Argument::Kind;

bool IsMask(const Value* index) {
  return index != nullptr && (index->dtype == DType::kBool || index->dtype == DType::kUInt8);
}

}  // namespace

void NodeBuilder::DefineSize(SymbolId symbol, Value* value) {
  if (!known_symbols_.insert(symbol).second) return;
  sizes_.emplace_back(symbol, value);
}

Value* NodeBuilder::TensorArgument(Scope& scope, const ProgramNode& node, std::string_view name) {
  for (const NamedArgument& input : node.inputs) {
    if (input.name == name && input.value.kind == Kind::kTensor) return ValueOf(Find(scope, input.value.names[0], node.name), node);
  }
  problems_.Broken("node '{}' ({}) has no tensor '{}'", node.name, node.target, name);
  return nullptr;
}

// The value of a tensor of one element is a symbol from here on; a float stays unknown.
std::optional<Number> NodeBuilder::ItemOfTensor(Scope& scope, const ProgramNode& node) {
  const Value* self = TensorArgument(scope, node, "self");
  if (self == nullptr || node.outputs.size() != 1) return Number();
  const auto known = scope.graph->numbers.find(node.outputs[0].numbers[0].name);
  const Dim* dim = known == scope.graph->numbers.end() ? nullptr : AsDim(known->second);
  const std::optional<SymbolId> symbol = dim == nullptr ? std::nullopt : dim->AsSymbol();
  if (!symbol || (!IsInteger(self->dtype) && self->dtype != DType::kBool)) return Number();
  Result<Node*> scalar = AddSourceOp(graph_, "aten.reshape.default", node.name, {const_cast<Value*>(self)}, {}, {{"shape", Shape()}});
  if (scalar.ok()) {
    scalar = AddSourceOp(graph_, "aten._to_copy.default", node.name, {(*scalar)->outputs.at(0)}, {}, {{"dtype", DType::kInt64}});
  }
  if (!scalar.ok()) {
    Unsupported(fmt::format("operator {}: {}", node.target, scalar.status().message()), node);
    return Number();
  }
  DefineSize(*symbol, (*scalar)->outputs.at(0));
  return *dim;
}

// The symbol among the extents of the node's results that nothing has given a value yet; nullopt if there is none.
std::optional<SymbolId> NodeBuilder::UnknownSymbolOf(Scope& scope, const ProgramNode& node) const {
  for (const Argument& output : node.outputs) {
    for (const std::string& name : output.names) {
      const auto meta = scope.graph->tensors.find(name);
      if (meta == scope.graph->tensors.end()) continue;
      for (const Number& size : meta->second.sizes) {
        const Dim* dim = AsDim(size);
        const std::optional<SymbolId> symbol = dim == nullptr ? std::nullopt : dim->AsSymbol();
        if (symbol && !known_symbols_.contains(*symbol)) return symbol;
      }
    }
  }
  return std::nullopt;
}

// An extent of the node's first result as the exporter has it, if it is a symbol that is known or a number: an exporter gives
// equal arguments the symbol that they had, and knows constants.
std::optional<Dim> NodeBuilder::KnownExtentOf(Scope& scope, const ProgramNode& node, size_t place) const {
  if (node.outputs.empty() || node.outputs[0].names.empty()) return std::nullopt;
  const auto meta = scope.graph->tensors.find(node.outputs[0].names[0]);
  if (meta == scope.graph->tensors.end() || meta->second.sizes.size() <= place) return std::nullopt;
  const Dim* extent = AsDim(meta->second.sizes[place]);
  return extent != nullptr && IsKnownAtRunTime(*extent) ? std::optional(*extent) : std::nullopt;
}

// The arguments of the node with the size that its data tell, which a node of its own computes.
Status NodeBuilder::AddSize(Scope& scope, const ProgramNode& node, const Operator& op, SourceArguments& arguments) {
  const std::vector<Formal>& formals = *op.source.formals;
  const auto formal_of = [&](std::string_view name) {
    return std::find_if(formals.begin(), formals.end(), [&](const Formal& formal) { return formal.name == name; });
  };
  const std::optional<SymbolId> symbol = UnknownSymbolOf(scope, node);
  if (!symbol) {
    if (formal_of("count")->has_default) return OkStatus();
    const std::optional<Dim> extent = KnownExtentOf(scope, node, 0);
    if (!extent) return Unimplemented("a result whose size the file does not state");
    arguments.attributes["count"] = *extent;
    return OkStatus();
  }
  const OpRegistry& registry = OpRegistry::Get();
  Attributes attributes;
  for (const Formal& wanted : registry.FormalsOf(*registry.Find(op.source.schema->size_op))) {
    const auto given = arguments.attributes.find(wanted.name);
    const auto formal = formal_of(wanted.name);
    if (given != arguments.attributes.end()) {
      attributes.insert(*given);
    } else if (formal != formals.end() && formal->has_default) {
      attributes.emplace(wanted.name, formal->default_value);
    }
  }
  TONDAR_ASSIGN_OR_RETURN(Node * size, AddOp(graph_, op.source.schema->size_op, node.name + "_size", arguments.inputs, arguments.segments, attributes));
  DefineSize(*symbol, size->outputs.at(0));
  arguments.attributes["count"] = Dim::Symbol(*symbol);
  return OkStatus();
}

// How many elements the masks of x[..., mask] pick.
std::optional<Dim> NodeBuilder::PickedCount(Scope& scope, const ProgramNode& node, const SourceArguments& arguments) const {
  if (const std::optional<SymbolId> symbol = UnknownSymbolOf(scope, node)) return Dim::Symbol(*symbol);
  const auto first = arguments.inputs.begin() + 1;
  const auto mask = std::find_if(first, arguments.inputs.end(), IsMask);
  if (std::count(first, arguments.inputs.end(), nullptr) + 1 != arguments.inputs.end() - first) return std::nullopt;
  return KnownExtentOf(scope, node, static_cast<size_t>(mask - first));
}

// x[mask]: a mask becomes the positions of its true elements, one index for each of its dims.
Status NodeBuilder::ReplaceMasks(Scope& scope, const ProgramNode& node, SourceArguments& arguments) {
  if (std::none_of(arguments.inputs.begin() + 1, arguments.inputs.end(), IsMask)) return OkStatus();
  const std::optional<Dim> count = PickedCount(scope, node, arguments);
  if (!count) return OkStatus();  // refused by the operator
  std::vector<Value*> inputs = {arguments.inputs[0]};
  for (auto index = arguments.inputs.begin() + 1; index != arguments.inputs.end(); ++index) {
    if (!IsMask(*index)) {
      inputs.push_back(*index);
      continue;
    }
    if (const std::optional<SymbolId> symbol = UnknownSymbolOf(scope, node)) {
      TONDAR_ASSIGN_OR_RETURN(Node * size, AddOp(graph_, "nonzero_size", node.name + "_size", {*index}, {}, {}));
      DefineSize(*symbol, size->outputs.at(0));
    }
    TONDAR_ASSIGN_OR_RETURN(Node * positions, AddOp(graph_, "nonzero", node.name, {*index}, {}, {{"count", *count}}));
    for (size_t d = 0; d < (*index)->shape.size(); ++d) {
      TONDAR_ASSIGN_OR_RETURN(Node * column, AddSourceOp(graph_, "aten.select.int", node.name, {positions->outputs.at(0)}, {},
                                                         {{"dim", Dim(1)}, {"index", Dim(static_cast<int64_t>(d))}}));
      inputs.push_back(column->outputs.at(0));
    }
  }
  arguments.inputs = std::move(inputs);
  arguments.segments = {1, static_cast<int>(arguments.inputs.size()) - 1};
  return OkStatus();
}

// What the node's arguments lack as the file has them, because only data tell it.
Status NodeBuilder::AddDataSizes(Scope& scope, const ProgramNode& node, const Operator& op, SourceArguments& arguments) {
  if (!op.source.schema->size_op.empty()) return AddSize(scope, node, op, arguments);
  return op.source.schema->name == "index" ? ReplaceMasks(scope, node, arguments) : OkStatus();
}

}  // namespace tondar::pt2
