// Steps over rows that a reshape merged run over the unmerged dims: step(reshape [B, S, K] -> [B*S, K]) becomes
// reshape(step over [B, S, K]). The reshapes so move down until they meet the one that undoes them, and a product and
// its epilogue have the dims that the rest of the model has. (The compiler merges rows again where strides allow it.)
#include <algorithm>

#include "engine/ir/view.h"
#include "engine/passes/passes.h"
#include "engine/passes/program_copier.h"

namespace tondar {
namespace {

// Leading dims that became one.
struct Merge {
  Shape leading;  // the dims before merging
  Dim rows;       // their product
};

// The merge that makes `value`: a reshape whose first dim holds several leading dims of its input, whatever it does to
// the dims after them.
std::optional<Merge> MergeMaking(const Value* value) {
  const Node* node = ViewMaking(value);
  if (node == nullptr || ViewOf(*node)->kind != ViewKind::kReshape) return std::nullopt;
  const Shape& from = node->inputs[0]->shape;
  const Shape& to = node->outputs[0]->shape;
  const std::vector<ReshapeGroup> groups = GroupReshape(from, to);
  if (to.size() < 2 || groups.empty()) return std::nullopt;
  const ReshapeGroup& first = groups.front();
  if (first.input != 0 || first.output != 0 || first.inputs < 2 || first.outputs != 1) return std::nullopt;
  return Merge{Shape(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(first.inputs)), to[0]};
}

Shape Unmerged(const Merge& merge, const Shape& shape) {
  Shape result = merge.leading;
  result.insert(result.end(), shape.begin() + 1, shape.end());
  return result;
}

class Lifter {
 public:
  Lifter(Graph& graph, Node& node) : graph_(graph), node_(node) {}

  bool Run() {
    if (node_.outputs.size() != 1 || node_.outputs[0]->shape.empty()) return false;
    const std::optional<Merge> merge = FindMerge();
    if (!merge || merge->rows != node_.outputs[0]->shape[0]) return false;
    merge_ = *merge;
    extra_ = static_cast<int>(merge_.leading.size()) - 1;
    if (node_.outputs[0]->shape.size() + merge_.leading.size() - 1 > static_cast<size_t>(kMaxRank)) return false;
    body_ = *node_.body;
    inputs_ = node_.inputs;
    if (!LiftBody()) return false;
    Replace();
    return true;
  }

 private:
  // Of the operands the first that a merge makes; for products only the left one.
  std::optional<Merge> FindMerge() const {
    const StepKind kind = KindOf(*node_.body);
    if (kind == StepKind::kMatMul || kind == StepKind::kNorm) return MergeMaking(node_.inputs[0]);
    if (kind != StepKind::kMap) return std::nullopt;
    for (const Value* input : node_.inputs) {
      if (auto merge = MergeMaking(input)) return merge;
    }
    return std::nullopt;
  }

  bool LiftBody() {
    if (auto* map = std::get_if<MapStep>(&body_)) {
      map->extents = Unmerged(merge_, map->extents);
      return LiftProgram(map->program, 0);
    }
    LoopProgram& epilogue = *EpilogueOf(body_);
    if (auto* norm = std::get_if<NormStep>(&body_)) {
      if (static_cast<size_t>(norm->axes) >= node_.outputs[0]->shape.size()) return false;
      LiftOperand(0);
      return LiftProgram(epilogue, static_cast<size_t>(FixedInputs(body_)));
    }
    // [M, K] x [K, N] becomes [L..., m, K] x [L..., K, N], the second repeated.
    if (node_.outputs[0]->shape.size() != 2) return false;
    LiftOperand(0);
    Shape wide(merge_.leading.begin(), merge_.leading.end() - 1);
    wide.insert(wide.end(), inputs_[1]->shape.begin(), inputs_[1]->shape.end());
    inputs_[1] = AddExpand(graph_, inputs_[1], wide, &node_);
    return LiftProgram(epilogue, 2);
  }

  void LiftOperand(size_t i) { inputs_[i] = AddReshape(graph_, inputs_[i], Unmerged(merge_, inputs_[i]->shape), &node_); }

  // Operands that walk along the rows are unmerged; the others see their loop dims renumbered.
  bool LiftProgram(LoopProgram& program, size_t first_operand) {
    if (program.empty()) return true;
    std::vector<bool> lifted(inputs_.size(), false);
    for (const Access& access : program.accesses) {
      const size_t i = static_cast<size_t>(access.operand);
      if (i < first_operand) return false;
      for (size_t d = 0; d < access.index.size(); ++d) {
        if (!UsesRows(access.index[d])) continue;
        const bool whole = d == 0 && access.index[d] == IndexExpression::LoopDim(0) && inputs_[i]->shape[0] == merge_.rows;
        if (!whole) return false;
        lifted[i] = true;
      }
    }
    for (const LoopInstruction& instruction : program.body) {
      if (instruction.op == LoopOp::kIndex && instruction.source == 0) return false;
    }
    // One operand is read along the rows or not, by all its accesses.
    for (const Access& access : program.accesses) {
      if (lifted[static_cast<size_t>(access.operand)] && !UsesRows(access.index[0])) return false;
    }
    for (Access& access : program.accesses) LiftAccess(access, lifted[static_cast<size_t>(access.operand)]);
    for (LoopInstruction& instruction : program.body) {
      if (instruction.op == LoopOp::kIndex) instruction.source = static_cast<int16_t>(instruction.source + extra_);
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (lifted[i]) LiftOperand(i);
    }
    return true;
  }

  static bool UsesRows(const IndexExpression& index) {
    return std::any_of(index.terms.begin(), index.terms.end(), [](const auto& term) { return term.loop_dim == 0; });
  }

  void LiftAccess(Access& access, bool lifted) const {
    for (IndexExpression& index : access.index) {
      for (IndexExpression::Term& term : index.terms) term.loop_dim = static_cast<int8_t>(term.loop_dim + extra_);
    }
    if (!lifted) return;
    std::vector<IndexExpression> index;
    for (int d = 0; d <= extra_; ++d) index.push_back(IndexExpression::LoopDim(d));
    index.insert(index.end(), access.index.begin() + 1, access.index.end());
    access.index = std::move(index);
  }

  void Replace() {
    Value* old = node_.outputs[0];
    Node* lifted = graph_.AddStep(std::move(body_), node_.name, std::move(inputs_), old->dtype,
                                  Unmerged(merge_, old->shape), &node_);
    graph_.ReplaceAllUses(old, AddReshape(graph_, lifted->outputs[0], old->shape, &node_));
    graph_.Erase(&node_);
  }

  Graph& graph_;
  Node& node_;
  Merge merge_;
  int extra_ = 0;
  StepBody body_;
  std::vector<Value*> inputs_;
};

}  // namespace

Status LiftReshapes(Graph& graph, const PassContext& context) {
  for (Node* node : graph.NodeList()) {
    for (const auto& subgraph : node->subgraphs) TONDAR_RETURN_IF_ERROR(LiftReshapes(*subgraph, context));
    // A step is lifted as often as merges nest; each time a reshape moves below it.
    if (node->IsStep()) Lifter(graph, *node).Run();
  }
  return SimplifyViews(graph, context);
}

}  // namespace tondar
