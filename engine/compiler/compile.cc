#include "engine/compiler/compile.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "engine/compiler/memory_order.h"
#include "engine/compiler/merge_rows.h"
#include "engine/compiler/schedule.h"
#include "engine/ir/view.h"
#include "engine/plan/loop_builder.h"

namespace tondar {
namespace {

constexpr std::string_view kConcat = "concat";

StridedWindow WindowOf(const Operand& operand) { return {operand.shape, operand.strides, operand.offset}; }

Operand WithWindow(const Operand& operand, StridedWindow window) {
  Operand result = operand;
  result.shape = std::move(window.shape);
  result.strides = std::move(window.strides);
  result.offset = std::move(window.offset);
  return result;
}

bool IsContiguousOperand(const Operand& operand) {
  const Shape dense = ContiguousStrides(operand.shape);
  for (size_t d = 0; d < dense.size(); ++d) {
    if (!operand.shape[d].Is(1) && operand.strides[d] != dense[d]) return false;
  }
  return true;
}

// The step that copies elements one by one.
MapStep CopyStep(const Shape& shape, DType dtype) {
  LoopBuilder builder;
  builder.Result(builder.Load(BroadcastAccess(0, shape, static_cast<int>(shape.size())), dtype));
  return {shape, std::move(builder).Build()};
}

// Places every value, node by node.
class Compiler {
 public:
  Compiler(const Graph& graph, const Schedule& schedule, const CompileOptions& options)
      : graph_(graph), schedule_(schedule), options_(options), orders_(ChooseMemoryOrders(graph, options)) {}

  Result<CompiledGraph> Run() {
    plan_.symbols = graph_.symbols;
    PlaceInputs();
    DirectAll(graph_);
    for (size_t i = 0; i < schedule_.segments(); ++i) TONDAR_RETURN_IF_ERROR(EmitSegment(i));
    for (size_t i = 0; i < graph_.user_outputs(); ++i) PlaceOutput(*graph_.outputs[i]);
    StoreStates();
    plan_.segments.back().end_step = static_cast<int>(plan_.steps.size());
    AddChecks(graph_, -1);
    ComputeLifetimes(plan_);
    MarkBodySlots();
    return std::move(plan_);
  }

 private:
  // Where a value's elements belong: part `input` of a concat.
  struct Destination {
    const Node* concat;
    size_t input;
  };

  void PlaceInputs() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Value& input = *graph_.inputs[i];
      const bool is_state = i >= graph_.user_inputs();
      const SlotId slot = AddSlot(is_state ? SlotRole::kState : SlotRole::kInput, input);
      places_[&input] = Dense(input, slot, RowMajor(input.shape.size()));
      if (is_state) {
        plan_.slots[static_cast<size_t>(slot)].state = static_cast<int>(plan_.states.size());
        plan_.states.push_back(graph_.states[plan_.states.size()]);
      } else {
        plan_.inputs.push_back(places_[&input]);
      }
    }
  }

  Status EmitSegment(size_t index) {
    Segment segment;
    segment.first_step = static_cast<int>(plan_.steps.size());
    const size_t first_size = graph_.outputs.size() - graph_.data_symbols.size();
    for (size_t i = 0; i < graph_.data_symbols.size(); ++i) {
      const SymbolId symbol = graph_.data_symbols[i];
      if (schedule_.SegmentOf(symbol) != static_cast<int>(index)) continue;
      segment.symbols.push_back({symbol, Place(*graph_.outputs[first_size + i])});
    }
    for (const Node* node : schedule_.nodes(index)) TONDAR_RETURN_IF_ERROR(Emit(*node));
    segment.end_step = static_cast<int>(plan_.steps.size());
    plan_.segments.push_back(std::move(segment));
    return OkStatus();
  }

  // `body`: the step at which the graph's steps begin, if a control step decides about them.
  void AddChecks(const Graph& graph, int body) {
    for (const ShapeCheck& check : graph.checks) {
      if (check.left == check.right) continue;
      plan_.checks.push_back(check);
      plan_.checks.back().segment = std::max(schedule_.SegmentOf(check.left), schedule_.SegmentOf(check.right));
      plan_.checks.back().body = body;
    }
  }

  void MarkBodySlots() {
    for (const auto& [begin, end] : bodies_) {
      for (Slot& slot : plan_.slots) slot.in_body = slot.in_body || (slot.first_step >= begin && slot.last_step < end);
    }
  }

  SlotId AddSlot(SlotRole role, const Value& value) {
    Slot slot;
    slot.role = role;
    slot.segment = schedule_.SegmentOf(value.shape);
    slot.size_bytes = ElementCount(value.shape) * Dim(static_cast<int64_t>(SizeOf(value.dtype)));
    plan_.slots.push_back(std::move(slot));
    return static_cast<SlotId>(plan_.slots.size() - 1);
  }

  static Operand Dense(const Value& value, SlotId slot, const MemoryOrder& order) {
    return {slot, value.dtype, value.shape, StridesInOrder(value.shape, order), Dim(0)};
  }

  void DirectAll(const Graph& graph) {
    const std::vector<Node*> nodes = graph.NodeList();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) Direct(**node);
  }

  // Decides, from the last node to the first, which steps write straight into a concat's result.
  void Direct(const Node& node) {
    if (node.op != kConcat) return;
    for (size_t i = 0; i < node.inputs.size(); ++i) DirectInput(node, i);
  }

  void DirectInput(const Node& concat, size_t input) {
    const Value* value = concat.inputs[input];
    while (const Node* view = ViewMaking(value)) value = view->inputs[0];
    // What the caller gives or takes has a place already, as has what another concat holds.
    if (value->producer == nullptr || value->graph->IsOutput(value) || destinations_.contains(value)) return;
    // ... and when it runs, the whole must have one, too.
    if (schedule_.SegmentOf(concat.outputs[0]->shape) > schedule_.SegmentOf(*value->producer)) return;
    destinations_[value] = {&concat, input};
    if (!PlannedWindow(*value)) destinations_.erase(value);  // a copy does what the views' strides cannot
  }

  Status Emit(const Node& node) {
    if (node.IsStep()) {
      EmitStep(node);
      return OkStatus();
    }
    if (node.op == kConcat) {
      EmitConcat(node);
      return OkStatus();
    }
    if (node.op == kBitsOp) {
      EmitBits(node);
      return OkStatus();
    }
    if (node.op == kCondOp) return EmitCond(node);
    if (node.op == kWhileOp) return EmitWhile(node);
    const std::optional<View> view = ViewOf(node);
    if (!view) return Internal("node '{}' ({}) is neither a step nor a view", node.name, node.op);
    EmitView(node, *view);
    return OkStatus();
  }

  // ---- Bodies ----

  Operand NewPlace(const Value& value) {
    return Dense(value, AddSlot(SlotRole::kTemporary, value), RowMajor(value.shape.size()));
  }

  size_t AddControl(const Node& node, Control::Kind kind, Operand decision) {
    Step step{node.name, {}, {std::move(decision)}, {}};
    step.control.kind = kind;
    plan_.steps.push_back(std::move(step));
    return plan_.steps.size() - 1;
  }

  // Emits the nodes of a body whose inputs lie at `inputs`, then copies of its results to `results`, at once as it were.
  Status EmitBody(const Graph& body, std::span<const Operand> inputs, std::span<const Operand> results) {
    const int begin = static_cast<int>(plan_.steps.size());
    for (size_t i = 0; i < inputs.size(); ++i) places_[body.inputs[i]] = inputs[i];
    orders_.merge(ChooseMemoryOrders(body, options_));
    DirectAll(body);
    for (const auto& node : body.nodes()) TONDAR_RETURN_IF_ERROR(Emit(*node));
    std::vector<std::pair<Operand, Operand>> stores;
    for (size_t i = 0; i < results.size(); ++i) Store(*body.outputs[i], results[i], results, stores);
    for (const auto& [from, to] : stores) AddCopy(body.name, from, to);
    AddChecks(body, begin);
    bodies_.emplace_back(begin, static_cast<int>(plan_.steps.size()));
    return OkStatus();
  }

  // Notes the copy that brings `value` to `to`, by way of another place if it lies where one of `all` will be written.
  void Store(const Value& value, const Operand& to, std::span<const Operand> all,
             std::vector<std::pair<Operand, Operand>>& stores) {
    Operand place = Place(value);
    if (place.slot == to.slot && WindowOf(place) == WindowOf(to)) return;
    if (std::any_of(all.begin(), all.end(), [&](const Operand& other) { return other.slot == place.slot; })) {
      const Operand aside = NewPlace(value);
      AddCopy(value.name, place, aside);
      place = aside;
    }
    stores.emplace_back(place, to);
  }

  // inputs: the decision, then what both bodies take.
  Status EmitCond(const Node& node) {
    std::vector<Operand> inputs, results;
    for (size_t i = 1; i < node.inputs.size(); ++i) inputs.push_back(Place(*node.inputs[i]));
    for (const Value* output : node.outputs) results.push_back(places_[output] = NewPlace(*output));
    const size_t control = AddControl(node, Control::Kind::kCond, Place(*node.inputs[0]));
    TONDAR_RETURN_IF_ERROR(EmitBody(*node.subgraphs[0], inputs, results));
    const size_t between = plan_.steps.size();
    TONDAR_RETURN_IF_ERROR(EmitBody(*node.subgraphs[1], inputs, results));
    plan_.steps[control].control.first = static_cast<int>(between - control - 1);
    plan_.steps[control].control.second = static_cast<int>(plan_.steps.size() - between);
    return OkStatus();
  }

  // inputs: what is carried from round to round, as many as outputs, then what all rounds take.
  Status EmitWhile(const Node& node) {
    std::vector<Operand> carried, inputs;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      carried.push_back(places_[node.outputs[i]] = NewPlace(*node.outputs[i]));
      AddCopy(node.name, Place(*node.inputs[i]), carried.back());
    }
    inputs = carried;
    for (size_t i = carried.size(); i < node.inputs.size(); ++i) inputs.push_back(Place(*node.inputs[i]));
    const Operand decision = NewPlace(*node.subgraphs[0]->outputs[0]);
    const size_t control = AddControl(node, Control::Kind::kWhile, decision);
    TONDAR_RETURN_IF_ERROR(EmitBody(*node.subgraphs[0], inputs, std::span(&decision, 1)));
    const size_t between = plan_.steps.size();
    for (size_t i = 0; i < carried.size(); ++i) carried_.insert(node.subgraphs[1]->inputs[i]);
    TONDAR_RETURN_IF_ERROR(EmitBody(*node.subgraphs[1], inputs, carried));
    plan_.steps[control].control.first = static_cast<int>(between - control - 1);
    plan_.steps[control].control.second = static_cast<int>(plan_.steps.size() - between);
    return OkStatus();
  }

  void EmitStep(const Node& node) {
    Step step{node.name, *node.body, {}, {}};
    for (const Value* input : node.inputs) step.inputs.push_back(Place(*input));
    if (const Operand* place = PlaceToOverwrite(node, step)) {
      places_[node.outputs[0]] = *place;
      step.outputs.push_back(*place);
      plan_.steps.push_back(std::move(step));
      return;
    }
    for (const Value* output : node.outputs) step.outputs.push_back(PlaceResult(*output));
    MergeRows(step);
    plan_.steps.push_back(std::move(step));
  }

  // Where a scatter may write in place: over a base that a loop carries and that nobody else reads. So a loop that fills
  // a tensor row by row does not copy it in every round.
  const Operand* PlaceToOverwrite(const Node& node, const Step& step) const {
    if (KindOf(*node.body) != StepKind::kScatter) return nullptr;
    const Value& base = *node.inputs[0];
    const bool carried = base.producer == nullptr && !base.IsConstant() && base.graph != &graph_;
    if (!carried || base.users.size() != 1 || base.graph->IsOutput(&base)) return nullptr;
    if (RoleOf(step.inputs[0]) != SlotRole::kTemporary || !IsContiguousOperand(step.inputs[0])) return nullptr;
    return IsCarried(base) ? &step.inputs[0] : nullptr;
  }

  // True for an input of a loop's body that the loop carries, whose place is the loop's own.
  bool IsCarried(const Value& input) const { return carried_.contains(&input); }

  void EmitView(const Node& node, const View& view) {
    const Value& output = *node.outputs[0];
    Operand input = Place(*node.inputs[0]);
    std::optional<StridedWindow> window = WindowThrough(view, WindowOf(input), output.shape);
    if (!window) {
      const Value& source = *node.inputs[0];
      const Operand copy = Dense(source, AddSlot(SlotRole::kTemporary, source), RowMajor(source.shape.size()));
      AddCopy(node.name, input, copy);
      input = copy;
      window = WindowThrough(view, WindowOf(input), output.shape);
      TONDAR_CHECK(window.has_value(), "'{}': a dense tensor {} has no shape {}", node.name, ToString(source.shape),
                   ToString(output.shape));
    }
    places_[&output] = WithWindow(input, std::move(*window));
  }

  // The same memory, counted in elements of another size. Where they differ in size, the last dim must be dense and what
  // lies around it a whole number of the new elements apart: else a dense copy is.
  void EmitBits(const Node& node) {
    const Value &from = *node.inputs[0], &to = *node.outputs[0];
    Operand place = Place(from);
    const Dim old_size(static_cast<int64_t>(SizeOf(from.dtype))), new_size(static_cast<int64_t>(SizeOf(to.dtype)));
    if (old_size != new_size && !(IsContiguousOperand(place) && place.offset.Is(0))) {
      const Operand copy = NewPlace(from);
      AddCopy(node.name, place, copy);
      place = copy;
    }
    if (old_size != new_size) place.strides = ContiguousStrides(to.shape);
    place.dtype = to.dtype;
    place.shape = to.shape;
    places_[&to] = std::move(place);
  }

  // The parts that their makers have not written there are copied in.
  void EmitConcat(const Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Operand target = ConcatPart(node, i);
      const Operand source = Place(*node.inputs[i]);
      const bool lies_there = source.slot == target.slot && source.offset == target.offset;
      if (!lies_there) AddCopy(node.name, source, target);
    }
  }

  // The window of part `input`; the whole gets its place with its first part.
  Operand ConcatPart(const Node& concat, size_t input) {
    const Value& whole = *concat.outputs[0];
    const auto known = places_.find(&whole);
    const Operand place = known == places_.end() ? PlaceResult(whole) : known->second;
    return WithWindow(place, PartWindow(concat, input, WindowOf(place)));
  }

  static StridedWindow PartWindow(const Node& concat, size_t input, StridedWindow whole) {
    const size_t dim = ConcatDim(concat);
    whole.shape = concat.inputs[input]->shape;
    for (size_t i = 0; i < input; ++i) whole.offset = whole.offset + concat.inputs[i]->shape[dim] * whole.strides[dim];
    return whole;
  }

  static size_t ConcatDim(const Node& concat) {
    const Attribute* dim = concat.Find("dim");
    const Dim* value = dim == nullptr ? nullptr : std::get_if<Dim>(dim);
    TONDAR_CHECK(value != nullptr && value->IsConstant() && value->constant() >= 0, "concat '{}' has no dim", concat.name);
    return static_cast<size_t>(value->constant());
  }

  // Where a value that is made lies.
  const Operand& Place(const Value& value) {
    const auto known = places_.find(&value);
    if (known != places_.end()) return known->second;
    TONDAR_CHECK(value.IsConstant(), "value '{}' has no place yet", value.name);
    return places_[&value] = PlaceConstant(value);
  }

  Operand PlaceConstant(const Value& value) {
    const SlotId slot = AddSlot(SlotRole::kConstant, value);
    plan_.slots[static_cast<size_t>(slot)].constant = static_cast<int>(plan_.constants.size());
    plan_.constants.push_back(*value.constant);
    return {slot, value.dtype, value.shape, ToShape(value.constant->view.strides), Dim(0)};
  }

  // How the result of a step or concat will lie in its slot: densely, or where its concat has it. nullopt if the views
  // between it and the concat cannot be undone.
  std::optional<StridedWindow> PlannedWindow(const Value& value) const {
    const auto found = destinations_.find(&value);
    if (found == destinations_.end()) {
      return StridedWindow{value.shape, StridesInOrder(value.shape, orders_.at(&value)), Dim(0)};
    }
    const Destination& destination = found->second;
    std::optional<StridedWindow> whole = PlannedWindow(*destination.concat->outputs[0]);
    if (!whole) return std::nullopt;
    StridedWindow window = PartWindow(*destination.concat, destination.input, std::move(*whole));
    const Value* at = destination.concat->inputs[destination.input];
    for (; at != &value; at = at->producer->inputs[0]) {
      std::optional<StridedWindow> before = WindowBefore(*ViewOf(*at->producer), window, at->producer->inputs[0]->shape);
      if (!before) return std::nullopt;
      window = std::move(*before);
    }
    return window;
  }

  Operand PlaceResult(const Value& value) {
    const auto destination = destinations_.find(&value);
    const SlotId slot = destination == destinations_.end()
                            ? AddSlot(SlotRole::kTemporary, value)
                            : ConcatPart(*destination->second.concat, destination->second.input).slot;
    const Operand place = WithWindow({slot, value.dtype, {}, {}, {}}, *PlannedWindow(value));
    return places_[&value] = place;
  }

  SlotRole RoleOf(const Operand& operand) const { return plan_.slots[static_cast<size_t>(operand.slot)].role; }

  // What the caller gets is dense, and not memory that the next run changes.
  void PlaceOutput(const Value& value) {
    Operand place = Place(value);
    if (!IsContiguousOperand(place) || RoleOf(place) == SlotRole::kState) {
      const Operand copy = Dense(value, AddSlot(SlotRole::kOutput, value), RowMajor(value.shape.size()));
      AddCopy(value.name, place, copy);
      if (RoleOf(place) != SlotRole::kState) places_[&value] = copy;
      place = copy;
    }
    Slot& slot = plan_.slots[static_cast<size_t>(place.slot)];
    if (slot.role == SlotRole::kTemporary) slot.role = SlotRole::kOutput;
    plan_.outputs.push_back(std::move(place));
  }

  // The last steps of a run: only now does anything change that the run has read. What lies in a state's own memory
  // (two states that trade places) is put aside first.
  void StoreStates() {
    std::vector<std::pair<Operand, Operand>> stores;
    for (size_t i = 0; i < graph_.states.size(); ++i) {
      const Value& after = *graph_.outputs[graph_.user_outputs() + i];
      const Operand& state = places_.at(graph_.inputs[graph_.user_inputs() + i]);
      Operand place = Place(after);
      if (place.slot == state.slot && WindowOf(place) == WindowOf(state)) continue;
      if (RoleOf(place) == SlotRole::kState) {
        const Operand aside = Dense(after, AddSlot(SlotRole::kTemporary, after), RowMajor(after.shape.size()));
        AddCopy(after.name, place, aside);
        place = aside;
      }
      stores.emplace_back(place, state);
    }
    for (const auto& [from, to] : stores) AddCopy(plan_.states[StateOf(to)].name, from, to);
  }

  size_t StateOf(const Operand& operand) const {
    return static_cast<size_t>(plan_.slots[static_cast<size_t>(operand.slot)].state);
  }

  void AddCopy(std::string_view name, const Operand& from, const Operand& to) {
    plan_.steps.push_back({fmt::format("{} (copy)", name), CopyStep(from.shape, from.dtype), {from}, {to}});
  }

  const Graph& graph_;
  const Schedule& schedule_;
  const CompileOptions& options_;
  std::unordered_map<const Value*, MemoryOrder> orders_;
  std::vector<std::pair<int, int>> bodies_;          // the steps of each body
  std::unordered_set<const Value*> carried_;         // inputs of loops' bodies
  std::unordered_map<const Value*, Destination> destinations_;
  std::unordered_map<const Value*, Operand> places_;
  CompiledGraph plan_;
};

}  // namespace

Result<CompiledGraph> Compile(const Graph& graph, const CompileOptions& options) {
  TONDAR_RETURN_IF_ERROR(VerifyGraph(graph));
  TONDAR_ASSIGN_OR_RETURN(const Schedule schedule, Schedule::Make(graph));
  return Compiler(graph, schedule, options).Run();
}

}  // namespace tondar
