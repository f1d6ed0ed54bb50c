#include "engine/compiler/memory_order.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/ir/view.h"

namespace tondar {

MemoryOrder RowMajor(size_t rank) {
  MemoryOrder order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

MemoryOrder ChannelsLast(size_t rank) {
  MemoryOrder order = RowMajor(rank);
  if (rank > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

Shape StridesInOrder(const Shape& shape, const MemoryOrder& order) {
  Shape strides(shape.size(), Dim(1));
  Dim next(1);
  for (size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = next;
    next = next * shape[order[k]];
  }
  return strides;
}

namespace {

// How much a reader cares.
enum class Need : uint8_t { kTaste, kSpeed, kCopy };

struct Wish {
  MemoryOrder order;
  Need need = Need::kTaste;
};

// The input order that makes the reshape's output lie in `order` without a copy; nullopt if there is none.
std::optional<MemoryOrder> OrderBeforeReshape(const Shape& from, const Shape& to, const MemoryOrder& order) {
  MemoryOrder result;
  const std::vector<ReshapeGroup> groups = GroupReshape(from, to);
  for (size_t k = 0; k < order.size(); ++k) {
    if (to[order[k]].Is(1)) continue;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const ReshapeGroup& g) {
      return g.output <= order[k] && order[k] < g.output + g.outputs;
    });
    if (group == groups.end()) return std::nullopt;
    // The group's output dims must follow each other, ascending.
    for (size_t o = group->output; o < group->output + group->outputs; ++o) {
      if (to[o].Is(1)) continue;
      while (k < order.size() && to[order[k]].Is(1)) ++k;
      if (k == order.size() || order[k] != o) return std::nullopt;
      ++k;
    }
    --k;
    for (size_t i = group->input; i < group->input + group->inputs; ++i) {
      if (!from[i].Is(1)) result.push_back(i);
    }
  }
  // Where dims of extent 1 lie makes no difference.
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i].Is(1)) result.push_back(i);
  }
  return result.size() == from.size() ? std::optional(result) : std::nullopt;
}

bool Merges(const Shape& from, const Shape& to) {
  const std::vector<ReshapeGroup> groups = GroupReshape(from, to);
  return std::any_of(groups.begin(), groups.end(), [](const ReshapeGroup& g) { return g.inputs > 1; });
}

// The wish for a view's input that a wish for its output means.
std::optional<Wish> WishBefore(const Node& node, const View& view, const std::optional<Wish>& wish) {
  const Shape& from = node.inputs[0]->shape;
  const Shape& to = node.outputs[0]->shape;
  if (view.kind == ViewKind::kReshape) {
    const bool merges = Merges(from, to);
    if (!wish && !merges) return std::nullopt;
    const Need need = merges ? Need::kCopy : wish->need;
    if (wish) {
      if (auto order = OrderBeforeReshape(from, to, wish->order)) return Wish{std::move(*order), need};
    }
    return Wish{RowMajor(from.size()), merges ? Need::kCopy : Need::kTaste};
  }
  if (!wish) return std::nullopt;
  switch (view.kind) {
    case ViewKind::kPermute: {
      Wish before{{}, wish->need};
      for (size_t dim : wish->order) before.order.push_back(view.dims[dim]);
      return before;
    }
    case ViewKind::kExpand: {
      Wish before{{}, Need::kTaste};
      const size_t added = to.size() - from.size();
      for (size_t dim : wish->order) {
        if (dim >= added) before.order.push_back(dim - added);
      }
      return before;
    }
    // A slice of rows lies as its input does, but is a window: no copy is saved by order alone.
    case ViewKind::kSlice: return Wish{wish->order, std::min(wish->need, Need::kSpeed)};
    default: return wish;
  }
}

// The loop dim that each dim of an operand walks along, if the program loads it once and each walks along its own.
std::optional<std::vector<int>> LoopDimsOf(const LoopProgram& program, size_t operand, size_t outer_rank) {
  std::optional<std::vector<int>> dims;
  for (const Access& access : program.accesses) {
    if (static_cast<size_t>(access.operand) != operand) continue;
    std::vector<int> found;
    for (const IndexExpression& index : access.index) {
      if (index.dynamic >= 0) return std::nullopt;
      int dim = -1;
      for (const IndexExpression::Term& term : index.terms) {
        if (static_cast<size_t>(term.loop_dim) < outer_rank && dim < 0) dim = term.loop_dim;
      }
      found.push_back(dim);
    }
    if (dims && *dims != found) return std::nullopt;
    dims = std::move(found);
  }
  return dims;
}

// The order of an operand whose dims walk along `loop_dims` when the loop dims lie in `order`; dims that walk along
// none come last, in their own order.
MemoryOrder OperandOrder(const std::vector<int>& loop_dims, const MemoryOrder& order) {
  MemoryOrder result;
  for (size_t loop : order) {
    for (size_t d = 0; d < loop_dims.size(); ++d) {
      if (loop_dims[d] == static_cast<int>(loop)) result.push_back(d);
    }
  }
  for (size_t d = 0; d < loop_dims.size(); ++d) {
    if (loop_dims[d] < 0) result.push_back(d);
  }
  return result;
}

// The reverse: loop dims in the order in which the operand's dims lie. nullopt if the operand does not cover them.
std::optional<MemoryOrder> LoopOrder(const std::vector<int>& loop_dims, const MemoryOrder& operand, size_t rank) {
  MemoryOrder result;
  for (size_t d : operand) {
    if (loop_dims[d] >= 0) result.push_back(static_cast<size_t>(loop_dims[d]));
  }
  if (result.size() != rank) return std::nullopt;
  return result;
}

const LoopProgram* MainProgram(const StepBody& body) {
  if (const auto* map = std::get_if<MapStep>(&body)) return &map->program;
  if (const auto* reduce = std::get_if<ReduceStep>(&body)) return &reduce->program;
  if (const auto* scan = std::get_if<ScanStep>(&body)) return &scan->program;
  return EpilogueOf(body);
}

class Chooser {
 public:
  Chooser(const Graph& graph, const CompileOptions& options) : graph_(graph), options_(options) {}

  std::unordered_map<const Value*, MemoryOrder> Run() {
    for (const Value* output : graph_.outputs) Want(output, {RowMajor(output->shape.size()), Need::kCopy});
    const std::vector<Node*> nodes = graph_.NodeList();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) PassWishesBack(**node);
    for (const Value* input : graph_.inputs) orders_[input] = RowMajor(input->shape.size());
    for (const Node* node : nodes) Settle(*node);
    return std::move(orders_);
  }

 private:
  void Want(const Value* value, Wish wish) {
    auto [entry, is_new] = wishes_.try_emplace(value, wish);
    if (!is_new && wish.need > entry->second.need) entry->second = std::move(wish);
  }

  std::optional<Wish> WishFor(const Value* value) const {
    const auto found = wishes_.find(value);
    return found == wishes_.end() ? std::nullopt : std::optional(found->second);
  }

  void PassWishesBack(const Node& node) {
    if (const auto view = ViewOf(node)) {
      if (auto wish = WishBefore(node, *view, WishFor(node.outputs[0]))) Want(node.inputs[0], std::move(*wish));
      return;
    }
    if (!node.subgraphs.empty()) return;  // what goes in and out of bodies lies row-major
    if (node.op == kBitsOp && SizeOf(node.inputs[0]->dtype) != SizeOf(node.outputs[0]->dtype)) {
      return Want(node.inputs[0], {RowMajor(node.inputs[0]->shape.size()), Need::kCopy});
    }
    const std::optional<Wish> wish = WishFor(node.outputs[0]);
    if (!node.IsStep()) {
      if (!wish) return;
      for (const Value* input : node.inputs) Want(input, *wish);
      return;
    }
    if (KindOf(*node.body) == StepKind::kConv && options_.channels_last_convolutions) {
      Want(node.inputs[0], {ChannelsLast(node.inputs[0]->shape.size()), Need::kSpeed});
    }
    if (KindOf(*node.body) == StepKind::kNorm || KindOf(*node.body) == StepKind::kMatMul) {
      Want(node.inputs[0], {RowMajor(node.inputs[0]->shape.size()), Need::kTaste});
    }
    if (wish) PassThroughProgram(node, *wish);
  }

  // What lies beside the result in a loop should lie as the result does.
  void PassThroughProgram(const Node& node, const Wish& wish) {
    const LoopProgram* program = MainProgram(*node.body);
    if (program == nullptr) return;
    // A reduction reads its operand in other ways too.
    const Need most = KindOf(*node.body) == StepKind::kReduce ? Need::kTaste : Need::kSpeed;
    for (size_t i = static_cast<size_t>(FixedInputs(*node.body)); i < node.inputs.size(); ++i) {
      const auto dims = LoopDimsOf(*program, i, node.outputs[0]->shape.size());
      if (dims) Want(node.inputs[i], {OperandOrder(*dims, wish.order), std::min(wish.need, most)});
    }
  }

  // Producers come first, so the orders of the inputs are known.
  void Settle(const Node& node) {
    if (const auto view = ViewOf(node)) {
      // The order that a view shows matters to maps that follow it.
      if (view->kind == ViewKind::kPermute) {
        const auto input = orders_.find(node.inputs[0]);
        if (input != orders_.end()) orders_[node.outputs[0]] = Shown(view->dims, input->second);
      }
      return;
    }
    for (const Value* output : node.outputs) {
      if (!node.subgraphs.empty()) {
        orders_[output] = RowMajor(output->shape.size());
        continue;
      }
      const std::optional<Wish> wish = WishFor(output);
      const bool decided = wish && wish->need > Need::kTaste;
      orders_[output] = Plain(output->shape, decided ? wish->order : NaturalOrder(node, *output, wish));
    }
  }

  // Row-major where only dims of extent 1 lie elsewhere.
  static MemoryOrder Plain(const Shape& shape, MemoryOrder order) {
    MemoryOrder without_units = order;
    std::erase_if(without_units, [&](size_t dim) { return shape[dim].Is(1); });
    return std::is_sorted(without_units.begin(), without_units.end()) ? RowMajor(shape.size()) : order;
  }

  static MemoryOrder Shown(const std::vector<size_t>& dims, const MemoryOrder& input) {
    MemoryOrder order;
    for (size_t dim : input) {
      order.push_back(static_cast<size_t>(std::find(dims.begin(), dims.end(), dim) - dims.begin()));
    }
    return order;
  }

  MemoryOrder NaturalOrder(const Node& node, const Value& output, const std::optional<Wish>& wish) const {
    const size_t rank = output.shape.size();
    const MemoryOrder fallback = wish ? wish->order : RowMajor(rank);
    if (!node.IsStep()) return OrderOf(node.inputs[0]).value_or(fallback);
    const StepKind kind = KindOf(*node.body);
    if (kind == StepKind::kConv) return options_.channels_last_convolutions ? ChannelsLast(rank) : RowMajor(rank);
    if (kind == StepKind::kNorm) return OrderOf(node.inputs[0]).value_or(fallback);
    if (kind != StepKind::kMap && kind != StepKind::kReduce) return fallback;
    // As the operand that covers the whole result, the first with an order other than row-major.
    const LoopProgram& program = *MainProgram(*node.body);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto dims = LoopDimsOf(program, i, rank);
      const auto order = OrderOf(node.inputs[i]);
      if (!dims || !order) continue;
      const auto loops = LoopOrder(*dims, *order, rank);
      if (loops && *loops != RowMajor(rank)) return *loops;
    }
    return fallback;
  }

  std::optional<MemoryOrder> OrderOf(const Value* value) const {
    const auto found = orders_.find(value);
    return found == orders_.end() ? std::nullopt : std::optional(found->second);
  }

  const Graph& graph_;
  const CompileOptions& options_;
  std::unordered_map<const Value*, Wish> wishes_;
  std::unordered_map<const Value*, MemoryOrder> orders_;
};

}  // namespace

std::unordered_map<const Value*, MemoryOrder> ChooseMemoryOrders(const Graph& graph, const CompileOptions& options) {
  return Chooser(graph, options).Run();
}

}  // namespace tondar
