// Fusion: maps move into the programs of the steps that read them, and into the epilogue of the step whose result they
// read. What is left are few steps that touch memory once.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "engine/ir/view.h"
#include "engine/passes/passes.h"
#include "engine/passes/program_copier.h"

namespace tondar {
namespace {

// Larger programs spill registers and compile slowly; more operands run out of address registers.
constexpr size_t kMaxInstructions = 64;
constexpr size_t kMaxAccesses = 12;
// A map that costs at most this (an addition counts 1) may be computed again rather than stored.
constexpr int kCheapCost = 4;

// A value, and the views through which a reader sees it, the nearest to the reader first.
struct Sight {
  Value* root = nullptr;
  std::vector<const Node*> views;
};

Sight See(Value* value) {
  Sight sight{value, {}};
  while (const Node* view = ViewMaking(sight.root)) {
    sight.views.push_back(view);
    sight.root = view->inputs[0];
  }
  return sight;
}

// Positions in the seen value as positions in the root.
bool ThroughViews(const Sight& sight, std::vector<IndexExpression>& index) {
  for (const Node* view : sight.views) {
    if (!IndexThrough(*ViewOf(*view), view->inputs[0]->shape, view->outputs[0]->shape, index)) return false;
  }
  return true;
}

bool IsPlainProgram(const LoopProgram& program) {
  for (const Access& access : program.accesses) {
    for (const IndexExpression& index : access.index) {
      if (index.dynamic >= 0 || index.guarded) return false;
    }
  }
  return std::none_of(program.body.begin(), program.body.end(),
                      [](const LoopInstruction& i) { return i.op == LoopOp::kIndex || i.op == LoopOp::kSize; });
}

bool IsSmallEnough(const LoopProgram& program) {
  return program.body.size() <= kMaxInstructions && program.accesses.size() <= kMaxAccesses;
}

int CostOf(const LoopInstruction& instruction) {
  switch (instruction.op) {
    case LoopOp::kConstant: case LoopOp::kSize: case LoopOp::kIndex: case LoopOp::kAccumulator: case LoopOp::kLoad: return 0;
    case LoopOp::kCast: case LoopOp::kNeg: case LoopOp::kAbs: case LoopOp::kAdd: case LoopOp::kSub: case LoopOp::kMul:
    case LoopOp::kMax: case LoopOp::kMin: case LoopOp::kRelu: case LoopOp::kSelect: case LoopOp::kLogicalNot:
    case LoopOp::kBitNot: return 1;
    default: break;
  }
  return InfoOf(instruction.op).gives_bool || instruction.op >= LoopOp::kEq ? 1 : 10;
}

// Cheap enough to be computed by each reader.
bool IsCheap(const LoopProgram& program) {
  int cost = 0;
  for (const LoopInstruction& instruction : program.body) cost += CostOf(instruction);
  return cost <= kCheapCost && program.accesses.size() <= 1 && (program.accesses.empty() || IsPlainProgram(program));
}

// The operands of a step under construction.
class Operands {
 public:
  // The first `fixed` of `values` are never shared with a program's loads.
  Operands(std::vector<Value*> values, size_t fixed) : values_(std::move(values)), fixed_(fixed) {}
  static Operands FixedOf(const Node& node) {
    const size_t fixed = static_cast<size_t>(FixedInputs(*node.body));
    return {{node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(fixed)}, fixed};
  }

  int16_t Add(Value* value) {
    const auto known = std::find(values_.begin() + static_cast<std::ptrdiff_t>(fixed_), values_.end(), value);
    if (known != values_.end()) return static_cast<int16_t>(known - values_.begin());
    values_.push_back(value);
    return static_cast<int16_t>(values_.size() - 1);
  }
  std::vector<Value*> Take() { return std::move(values_); }

 private:
  std::vector<Value*> values_;
  size_t fixed_;
};

// A load of `inputs`, as one of `operands`.
ProgramCopier::LoadFunction LoadFrom(LoopBuilder& builder, const std::vector<Value*>& inputs, Operands& operands) {
  return [&builder, &inputs, &operands](const Access& access, DType dtype) -> std::optional<LoopBuilder::Handle> {
    Access moved = access;
    moved.operand = operands.Add(inputs[static_cast<size_t>(access.operand)]);
    return builder.Load(std::move(moved), dtype);
  };
}

// The steps that read a value, through views. `escapes`: the caller or something else reads it too.
struct Readers {
  std::vector<Node*> steps;
  bool escapes = false;
};

void CollectReaders(const Graph& graph, const Value* value, Readers& readers) {
  if (graph.IsOutput(value)) readers.escapes = true;
  for (Node* user : value->users) {
    if (ViewOf(*user)) {
      CollectReaders(graph, user->outputs[0], readers);
    } else if (!user->IsStep()) {
      readers.escapes = true;
    } else if (std::find(readers.steps.begin(), readers.steps.end(), user) == readers.steps.end()) {
      readers.steps.push_back(user);
    }
  }
}

// True if no two points of a loop read the same element: each loop dim that repeats walks along a dim of its own.
bool ReadsEachOnce(const Shape& extents, const std::vector<IndexExpression>& seen, const std::vector<IndexExpression>& root) {
  std::vector<int> uses(extents.size(), 0);
  for (const IndexExpression& index : seen) {
    if (index.terms.size() > 1 || index.dynamic >= 0) return false;
    for (const IndexExpression::Term& term : index.terms) ++uses[static_cast<size_t>(term.loop_dim)];
  }
  std::vector<bool> covered(extents.size(), false);
  for (const IndexExpression& index : root) {
    for (const IndexExpression::Term& term : index.terms) covered[static_cast<size_t>(term.loop_dim)] = true;
  }
  for (size_t d = 0; d < extents.size(); ++d) {
    if (!extents[d].Is(1) && (uses[d] != 1 || !covered[d])) return false;
  }
  return true;
}

// What a step becomes.
struct NewStep {
  StepBody body;
  std::vector<Value*> inputs;
};

class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph) {}

  // One walk over the nodes; true if something changed.
  bool Sweep() {
    bool changed = false;
    gone_.clear();
    order_.clear();
    const std::vector<Node*> nodes = graph_.NodeList();
    for (size_t i = 0; i < nodes.size(); ++i) order_[nodes[i]] = i;
    for (Node* node : nodes) {
      if (gone_.contains(node) || !node->IsStep() || KindOf(*node->body) != StepKind::kMap) continue;
      if (node->outputs.size() != 1) continue;
      changed = AbsorbIntoProducer(node) || InlineIntoReaders(node) || changed;
    }
    return changed;
  }

 private:
  const LoopProgram& ProgramOfMap(const Node* map) const { return std::get<MapStep>(*map->body).program; }

  // --- A map into the programs of its readers -----------------------------------------------------------------------

  bool InlineIntoReaders(Node* map) {
    Readers readers;
    CollectReaders(graph_, map->outputs[0], readers);
    if (readers.escapes || readers.steps.empty()) return false;
    const bool cheap = IsCheap(ProgramOfMap(map));
    if (readers.steps.size() > 1 && !cheap) return false;
    std::vector<NewStep> steps;
    for (Node* reader : readers.steps) {
      std::optional<NewStep> step = Inlined(*map, *reader, cheap);
      if (!step) return false;
      steps.push_back(std::move(*step));
    }
    for (size_t i = 0; i < steps.size(); ++i) {
      const std::vector<Value*> inputs = readers.steps[i]->inputs;
      *readers.steps[i]->body = std::move(steps[i].body);
      graph_.SetInputs(readers.steps[i], std::move(steps[i].inputs));
      EraseUnreadMakers(inputs);
    }
    return true;
  }

  // `reader` with `map`'s program in the place of every load of its result; nullopt if that is not possible or not wise.
  std::optional<NewStep> Inlined(const Node& map, const Node& reader, bool cheap) {
    NewStep step{*reader.body, {}};
    for (int i = 0; i < FixedInputs(*reader.body); ++i) {
      if (See(reader.inputs[static_cast<size_t>(i)]).root == map.outputs[0]) return std::nullopt;
    }
    Operands operands = Operands::FixedOf(reader);
    const std::vector<ProgramOfStep> sites = ProgramsOf(step.body, reader.outputs[0]->shape);
    if (sites.empty()) return std::nullopt;
    for (const ProgramOfStep& site : sites) {
      if (site.program->empty()) continue;
      std::optional<LoopProgram> program = InlinedProgram(map, reader, site, operands, cheap);
      if (!program) return std::nullopt;
      *site.program = std::move(*program);
    }
    step.inputs = operands.Take();
    return step;
  }

  std::optional<LoopProgram> InlinedProgram(const Node& map, const Node& reader, const ProgramOfStep& site, Operands& operands,
                                            bool cheap) {
    LoopBuilder builder;
    const auto load_other = LoadFrom(builder, reader.inputs, operands);
    const auto load = [&](const Access& access, DType dtype) -> std::optional<LoopBuilder::Handle> {
      const Sight sight = See(reader.inputs[static_cast<size_t>(access.operand)]);
      if (sight.root != map.outputs[0]) return load_other(access, dtype);
      std::vector<IndexExpression> at = access.index;
      if (!ThroughViews(sight, at)) return std::nullopt;
      if (!cheap && !ReadsEachOnce(site.extents, access.index, at)) return std::nullopt;
      if (!MayReadAt(map, at)) return std::nullopt;
      ProgramCopier copier(builder, LoadFrom(builder, map.inputs, operands));
      copier.SubstituteLoopDims(at);
      const auto results = copier.Copy(ProgramOfMap(&map));
      return results ? std::optional(results->front()) : std::nullopt;
    };
    ProgramCopier copier(builder, load);
    const auto results = copier.Copy(*site.program);
    if (!results) return std::nullopt;
    for (LoopBuilder::Handle result : *results) builder.Result(result);
    LoopProgram program = std::move(builder).Build();
    if (!IsSmallEnough(program) || (site.is_epilogue && !IsPlainProgram(program))) return std::nullopt;
    return program;
  }

  // Guarded positions would compute what the guard must not read; a dynamic position may only take the place of a loop
  // dim where it walks the whole of an operand's dim, so that its range check and counting from the end stay as they are.
  bool MayReadAt(const Node& map, const std::vector<IndexExpression>& at) const {
    const MapStep& step = std::get<MapStep>(*map.body);
    for (size_t d = 0; d < at.size(); ++d) {
      if (at[d].guarded) return false;
      if (at[d].dynamic < 0) continue;
      for (const Access& access : step.program.accesses) {
        const Shape& shape = map.inputs[static_cast<size_t>(access.operand)]->shape;
        for (size_t k = 0; k < access.index.size(); ++k) {
          for (const IndexExpression::Term& term : access.index[k].terms) {
            if (static_cast<size_t>(term.loop_dim) == d && shape[k] != step.extents[d]) return false;
          }
        }
      }
    }
    return true;
  }

  // --- A map into the epilogue of the step whose result it reads ----------------------------------------------------

  bool AbsorbIntoProducer(Node* map) {
    // Of several producers the last: the others' results are older.
    std::vector<Node*> producers;
    for (Value* input : map->inputs) {
      Node* producer = See(input).root->producer;
      if (producer == nullptr || !producer->IsStep() || producer->outputs.size() != 1) continue;
      if (KindOf(*producer->body) == StepKind::kMap) continue;
      producers.push_back(producer);
    }
    std::sort(producers.begin(), producers.end(), [&](Node* a, Node* b) { return OrderOf(a) > OrderOf(b); });
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    return std::any_of(producers.begin(), producers.end(), [&](Node* producer) { return Absorb(map, producer); });
  }

  size_t OrderOf(const Node* node) const {
    const auto known = order_.find(node);
    return known == order_.end() ? 0 : known->second;
  }

  bool Absorb(Node* map, Node* producer) {
    Value* product = producer->outputs[0];
    const Shape& extents = std::get<MapStep>(*map->body).extents;
    Readers readers;
    CollectReaders(graph_, product, readers);
    if (readers.escapes || readers.steps.size() != 1 || !IsPlainProgram(ProgramOfMap(map))) return false;
    const auto loop_dims = LoopDimsOfProduct(*map, *product);
    if (!loop_dims) return false;
    std::optional<NewStep> step = Absorbed(*map, *producer, *loop_dims);
    if (!step) return false;

    // The producer goes to the map's place, where all operands of both exist.
    *producer->body = std::move(step->body);
    graph_.SetInputs(producer, std::move(step->inputs));
    graph_.Move(producer, map);
    order_[producer] = OrderOf(map);
    product->dtype = map->outputs[0]->dtype;
    graph_.ReplaceAllUses(map->outputs[0], AsMapResult(product, *loop_dims, extents, map));
    EraseUnread(map);
    return true;
  }

  // The loop dim of the map that each dim of the product walks along; -1 for dims of extent 1. nullopt unless every
  // load of the product reads each element at its own point.
  std::optional<std::vector<int>> LoopDimsOfProduct(const Node& map, const Value& product) const {
    const MapStep& step = std::get<MapStep>(*map.body);
    std::optional<std::vector<int>> dims;
    for (const Access& access : step.program.accesses) {
      const Sight sight = See(map.inputs[static_cast<size_t>(access.operand)]);
      if (sight.root != &product) continue;
      std::vector<IndexExpression> at = access.index;
      if (!ThroughViews(sight, at)) return std::nullopt;
      const auto found = PointwiseDims(at, product.shape, step.extents);
      if (!found || (dims && *dims != *found)) return std::nullopt;
      dims = found;
    }
    return dims;
  }

  static std::optional<std::vector<int>> PointwiseDims(const std::vector<IndexExpression>& at, const Shape& shape,
                                                       const Shape& extents) {
    std::vector<int> dims(shape.size(), -1);
    std::vector<bool> covered(extents.size(), false);
    for (size_t d = 0; d < shape.size(); ++d) {
      const IndexExpression& index = at[d];
      if (index.dynamic >= 0 || index.guarded || !index.offset.Is(0) || index.terms.size() > 1) return std::nullopt;
      if (index.terms.empty()) {
        if (!shape[d].Is(1)) return std::nullopt;
        continue;
      }
      const size_t loop = static_cast<size_t>(index.terms[0].loop_dim);
      if (index.terms[0].coefficient != 1 || covered[loop] || extents[loop] != shape[d]) return std::nullopt;
      covered[loop] = true;
      dims[d] = static_cast<int>(loop);
    }
    for (size_t loop = 0; loop < extents.size(); ++loop) {
      if (!covered[loop] && !extents[loop].Is(1)) return std::nullopt;
    }
    return dims;
  }

  // The dtype of the accumulator that an empty epilogue stores; nullopt if it is not the result's for certain.
  static std::optional<DType> AccumulatorOf(const Node& producer) {
    const DType dtype = producer.outputs[0]->dtype;
    if (const auto* reduce = std::get_if<ReduceStep>(producer.body.get())) {
      if (reduce->op == ReduceOp::kArgMax || reduce->op == ReduceOp::kArgMin) return std::nullopt;
      return reduce->accumulator;
    }
    if (dtype == DType::kFloat32 || dtype == DType::kFloat64) return dtype;
    return std::nullopt;
  }

  std::optional<NewStep> Absorbed(const Node& map, const Node& producer, const std::vector<int>& loop_dims) {
    NewStep step{*producer.body, {}};
    const std::vector<ProgramOfStep> sites = ProgramsOf(step.body, producer.outputs[0]->shape);
    if (sites.empty() || !sites.back().is_epilogue) return std::nullopt;
    LoopProgram& epilogue = *sites.back().program;
    // A reduction's operands all come with its programs; the others' first ones are fixed.
    const bool reduces = std::holds_alternative<ReduceStep>(step.body);
    Operands operands = reduces ? Operands(producer.inputs, 0) : Operands::FixedOf(producer);
    LoopBuilder builder;
    std::optional<LoopBuilder::Handle> product;
    if (epilogue.empty()) {
      const auto accumulator = AccumulatorOf(producer);
      if (!accumulator) return std::nullopt;
      product = builder.Cast(builder.Accumulator(0, *accumulator), producer.outputs[0]->dtype);
    } else {
      ProgramCopier copier(builder, EpilogueLoad(builder, producer, operands));
      product = copier.Copy(epilogue)->front();
    }
    const auto load_other = LoadFrom(builder, map.inputs, operands);
    ProgramCopier copier(builder, [&](const Access& access, DType dtype) -> std::optional<LoopBuilder::Handle> {
      const bool is_product = See(map.inputs[static_cast<size_t>(access.operand)]).root == producer.outputs[0];
      return is_product ? product : load_other(access, dtype);
    });
    const std::vector<IndexExpression> dims = ProductDims(loop_dims, std::get<MapStep>(*map.body).extents.size());
    copier.SubstituteLoopDims(dims);
    const auto results = copier.Copy(ProgramOfMap(&map));
    if (!results) return std::nullopt;
    builder.Result(results->front());
    epilogue = std::move(builder).Build();
    if (!IsSmallEnough(epilogue)) return std::nullopt;
    step.inputs = operands.Take();
    return step;
  }

  // Reductions keep the places of their operands, which their main program names.
  static ProgramCopier::LoadFunction EpilogueLoad(LoopBuilder& builder, const Node& producer, Operands& operands) {
    if (!std::holds_alternative<ReduceStep>(*producer.body)) return LoadFrom(builder, producer.inputs, operands);
    return [&builder](const Access& access, DType dtype) { return std::optional(builder.Load(access, dtype)); };
  }

  // For each loop dim of the map, where it is in the product's dims.
  static std::vector<IndexExpression> ProductDims(const std::vector<int>& loop_dims, size_t loop_rank) {
    std::vector<IndexExpression> dims(loop_rank, IndexExpression::At(0));
    for (size_t d = 0; d < loop_dims.size(); ++d) {
      if (loop_dims[d] >= 0) dims[static_cast<size_t>(loop_dims[d])] = IndexExpression::LoopDim(static_cast<int>(d));
    }
    return dims;
  }

  // The result of the fused step, which has the product's dims, as the map's result.
  Value* AsMapResult(Value* fused, const std::vector<int>& loop_dims, const Shape& extents, Node* before) {
    std::vector<size_t> dims;
    for (size_t loop = 0; loop < extents.size(); ++loop) {
      const auto at = std::find(loop_dims.begin(), loop_dims.end(), static_cast<int>(loop));
      if (at != loop_dims.end()) dims.push_back(static_cast<size_t>(at - loop_dims.begin()));
    }
    for (size_t d = 0; d < loop_dims.size(); ++d) {
      if (loop_dims[d] < 0) dims.push_back(d);
    }
    return AddReshape(graph_, AddPermute(graph_, fused, dims, before), extents, before);
  }

  // Removes `node` if nothing reads it, and what then is unread above it: dead readers would hinder fusion.
  void EraseUnread(Node* node) {
    std::vector<Node*> candidates = {node};
    std::unordered_set<const Node*> erased;
    while (!candidates.empty()) {
      Node* candidate = candidates.back();
      candidates.pop_back();
      if (erased.contains(candidate) || IsRead(*candidate)) continue;
      for (const Value* input : candidate->inputs) {
        if (input->producer != nullptr) candidates.push_back(input->producer);
      }
      gone_.insert(candidate);
      erased.insert(candidate);
      graph_.Erase(candidate);
    }
  }

  void EraseUnreadMakers(const std::vector<Value*>& values) {
    std::vector<Node*> makers;
    for (const Value* value : values) {
      if (value->producer != nullptr) makers.push_back(value->producer);
    }
    for (Node* maker : makers) {
      if (!gone_.contains(maker)) EraseUnread(maker);
    }
  }

  bool IsRead(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](const Value* v) { return graph_.IsUsed(v); });
  }

  Graph& graph_;
  std::unordered_set<const Node*> gone_;  // nodes of this sweep that are erased
  std::unordered_map<const Node*, size_t> order_;
};

}  // namespace

Status FuseSteps(Graph& graph, const PassContext& context) {
  TONDAR_RETURN_IF_ERROR(RemoveDeadCode(graph, context));
  for (Node* node : graph.NodeList()) {
    for (const auto& subgraph : node->subgraphs) TONDAR_RETURN_IF_ERROR(FuseSteps(*subgraph, context));
  }
  Fuser fuser(graph);
  while (fuser.Sweep()) {
  }
  return OkStatus();
}

}  // namespace tondar
