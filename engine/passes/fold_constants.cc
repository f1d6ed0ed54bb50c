// Computes what depends on constants alone, all of it in one call of the injected evaluation.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "engine/ir/step_text.h"
#include "engine/ir/view.h"
#include "engine/ops/op_schema.h"
#include "engine/passes/passes.h"

namespace tondar {
namespace {

// Results may be this much bigger than all constants that they are made from, or this big whatever they are made from:
// a mask expanded to its full size is better computed at each run.
constexpr int64_t kMaxGrowth = 2;
constexpr int64_t kSmallBytes = 64 << 10;

bool IsPure(const Node& node) {
  if (!node.subgraphs.empty()) return false;
  if (node.IsStep()) return true;
  const OpSchema* schema = OpRegistry::Get().Find(node.op);
  return schema != nullptr && schema->pure;
}

bool AreConstant(const Attributes& attributes) {
  return std::all_of(attributes.begin(), attributes.end(), [](const auto& entry) {
    if (const Dim* dim = std::get_if<Dim>(&entry.second)) return dim->IsConstant();
    if (const Shape* shape = std::get_if<Shape>(&entry.second)) return IsConstant(*shape);
    return true;
  });
}

bool IsConstantProgram(const LoopProgram& program) {
  const auto is_constant = [](const Access& access) {
    return std::all_of(access.index.begin(), access.index.end(), [](const auto& e) { return e.offset.IsConstant(); });
  };
  return IsConstant(program.sizes) && std::all_of(program.accesses.begin(), program.accesses.end(), is_constant);
}

// True if the node says nothing in terms of symbols, which have no values when a model is loaded.
bool IsFreeOfSymbols(const Node& node) {
  if (!node.IsStep()) return AreConstant(node.attributes);
  const StepText step = TakeApart(*node.body);
  return AreConstant(step.parameters) && std::all_of(step.programs.begin(), step.programs.end(), [](const auto& named) {
           return IsConstantProgram(*named.second);
         });
}

int64_t BytesOf(const Value& value) {
  return ElementCount(value.shape).constant() * static_cast<int64_t>(SizeOf(value.dtype));
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph) {}

  Status Run(const EvaluateFunction& evaluate) {
    for (Node* node : graph_.NodeList()) {
      if (IsFoldable(*node)) known_.insert(node);
    }
    // What is read by anything else is worth having.
    for (Node* node : graph_.NodeList()) {
      if (!known_.contains(node)) continue;
      for (Value* output : node->outputs) {
        if (IsWanted(*output)) wanted_.push_back(output);
      }
    }
    if (wanted_.empty()) return OkStatus();
    Graph copy;
    for (Value* value : wanted_) copy.outputs.push_back(Copied(value, copy));
    TONDAR_ASSIGN_OR_RETURN(std::vector<Constant> results, evaluate(copy));
    if (results.size() != wanted_.size()) {
      return Internal("evaluation gave {} of {} constants", results.size(), wanted_.size());
    }
    for (size_t i = 0; i < wanted_.size(); ++i) {
      results[i].name = wanted_[i]->name;
      graph_.ReplaceAllUses(wanted_[i], graph_.AddConstant(std::move(results[i])));
    }
    return OkStatus();
  }

 private:
  bool IsKnown(const Value* value) const {
    return value == nullptr || value->IsConstant() || (value->producer != nullptr && known_.contains(value->producer));
  }

  bool IsFoldable(const Node& node) const {
    if (!IsPure(node) || !IsFreeOfSymbols(node)) return false;
    int64_t from = 0;
    for (const Value* input : node.inputs) {
      if (!IsKnown(input)) return false;
      if (input != nullptr) from += BytesOf(*input);
    }
    for (const Value* output : node.outputs) {
      if (!IsConstant(output->shape)) return false;
      const int64_t bytes = BytesOf(*output);
      if (bytes > kSmallBytes && bytes > kMaxGrowth * from) return false;
    }
    return !node.outputs.empty();
  }

  // Views are not folded for their own sake: they cost nothing.
  bool IsWanted(const Value& value) const {
    if (ViewMaking(&value) != nullptr && OnlyViewsAbove(&value)) return false;
    if (graph_.IsOutput(&value)) return true;
    return std::any_of(value.users.begin(), value.users.end(), [&](const Node* user) { return !known_.contains(user); });
  }

  static bool OnlyViewsAbove(const Value* value) {
    while (const Node* view = ViewMaking(value)) value = view->inputs[0];
    return value->IsConstant();
  }

  // The same computation in another graph.
  Value* Copied(const Value* value, Graph& copy) {
    if (value == nullptr) return nullptr;
    const auto known = copies_.find(value);
    if (known != copies_.end()) return known->second;
    if (value->IsConstant()) return copies_[value] = copy.AddConstant(*value->constant);
    const Node& node = *value->producer;
    std::vector<Value*> inputs;
    for (const Value* input : node.inputs) inputs.push_back(Copied(input, copy));
    Node* twin = copy.AddNode(node.op, node.name, std::move(inputs));
    twin->segments = node.segments;
    twin->attributes = node.attributes;
    if (node.IsStep()) twin->body = std::make_unique<StepBody>(*node.body);
    for (const Value* output : node.outputs) {
      copies_[output] = copy.AddOutput(twin, output->name, output->dtype, output->shape);
    }
    return copies_.at(value);
  }

  Graph& graph_;
  std::unordered_set<const Node*> known_;
  std::vector<Value*> wanted_;
  std::unordered_map<const Value*, Value*> copies_;
};

}  // namespace

Status FoldConstants(Graph& graph, const PassContext& context) {
  if (!context.evaluate) return OkStatus();
  for (Node* node : graph.NodeList()) {
    for (const auto& subgraph : node->subgraphs) TONDAR_RETURN_IF_ERROR(FoldConstants(*subgraph, context));
  }
  TONDAR_RETURN_IF_ERROR(Folder(graph).Run(context.evaluate));
  return RemoveDeadCode(graph, context);
}

}  // namespace tondar
