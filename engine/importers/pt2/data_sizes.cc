// The part of NodeBuilder that deals with sizes which only the data tell.
#include <algorithm>

#include "engine/importers/pt2/node_builder.h"

namespace tondar::pt2 {
namespace {

using Kind = Argument::Kind;

// Operators whose first result's extent 0 is how many elements some tensor has that are not zero.
struct DataSizedRow {
  std::string_view source;
  std::string_view op;        // of the engine; takes the size as its attribute "count"
  std::string_view count_op;  // counts, over the same tensors
  std::vector<std::string_view> tensors;
};

const std::vector<DataSizedRow>& Rows() {
  static const std::vector<DataSizedRow> rows = {
      {"aten.nonzero.default", "nonzero", "nonzero_size", {"self"}},
      {"aten.masked_select.default", "masked_select", "masked_select_size", {"self", "mask"}},
  };
  return rows;
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

std::optional<SymbolId> NodeBuilder::SymbolOfResult(Scope& scope, const ProgramNode& node, size_t extent) {
  if (node.outputs.empty() || node.outputs[0].kind != Kind::kTensor) return std::nullopt;
  const auto meta = scope.graph->tensors.find(node.outputs[0].names[0]);
  if (meta == scope.graph->tensors.end() || meta->second.sizes.size() <= extent) return std::nullopt;
  const Dim* dim = AsDim(meta->second.sizes[extent]);
  return dim == nullptr ? std::nullopt : dim->AsSymbol();
}

Result<Value*> NodeBuilder::MakeDataSized(Scope& scope, const ProgramNode& node) {
  const auto row = std::find_if(Rows().begin(), Rows().end(), [&](const auto& r) { return r.source == node.target; });
  const std::optional<SymbolId> symbol = SymbolOfResult(scope, node, 0);
  if (!symbol) return Unimplemented("operator {} with a result whose extent 0 is no symbol", node.target);
  std::vector<Value*> tensors;
  for (std::string_view name : row->tensors) {
    tensors.push_back(TensorArgument(scope, node, name));
    if (tensors.back() == nullptr) return nullptr;
  }
  TONDAR_ASSIGN_OR_RETURN(Node * count, AddOp(graph_, row->count_op, node.name + "_size", tensors, {}, {}));
  DefineSize(*symbol, count->outputs.at(0));
  TONDAR_ASSIGN_OR_RETURN(Node * made, AddOp(graph_, row->op, node.name, tensors, {}, {{"count", Dim::Symbol(*symbol)}}));
  return made->outputs.at(0);
}

// False if the node is no such operator.
bool NodeBuilder::AddDataSized(Scope& scope, const ProgramNode& node) {
  const bool is_row = std::any_of(Rows().begin(), Rows().end(), [&](const auto& row) { return row.source == node.target; });
  if (!is_row) return false;
  const Result<Value*> made = MakeDataSized(scope, node);
  if (!made.ok()) Unsupported(std::string(made.status().message()), node);
  if (!made.ok() || *made == nullptr) {
    BindFailed(scope, node);
    return true;
  }
  Reconcile(scope, node, node.outputs[0].names[0], *made);
  scope.tensors[node.outputs[0].names[0]] = aliases_.AddRoot(*made);
  return true;
}

}  // namespace tondar::pt2
