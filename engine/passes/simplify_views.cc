// Views of views become one view, views that do nothing go away, and views of constants become constants.
#include <algorithm>

#include "engine/ir/view.h"
#include "engine/passes/passes.h"

namespace tondar {
namespace {

bool IsIdentity(const View& view, const Value& input, const Value& output) {
  if (input.shape != output.shape) return false;
  switch (view.kind) {
    case ViewKind::kPermute: return std::is_sorted(view.dims.begin(), view.dims.end());
    case ViewKind::kSlice: return view.start.Is(0) && view.step == 1;
    default: return true;
  }
}

// A permute that only moves dims of extent 1 is a reshape, which merges with its neighbours better.
bool MovesOnlyUnits(const View& view, const Shape& input) {
  if (view.kind != ViewKind::kPermute) return false;
  size_t last = 0;
  for (size_t dim : view.dims) {
    if (input[dim].Is(1)) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

// The value that `outer` (a view of the result of `inner`) shows of inner's input; null if no single view says it.
Value* Combined(Graph& graph, Node& outer, const View& outer_view, const Node& inner, const View& inner_view) {
  Value* x = inner.inputs[0];
  const Shape& shape = outer.outputs[0]->shape;
  if (outer_view.kind == ViewKind::kReshape && inner_view.kind == ViewKind::kReshape) {
    return AddReshape(graph, x, shape, &outer);
  }
  if (outer_view.kind == ViewKind::kPermute && inner_view.kind == ViewKind::kPermute) {
    std::vector<size_t> dims;
    for (size_t dim : outer_view.dims) dims.push_back(inner_view.dims[dim]);
    return AddPermute(graph, x, dims, &outer);
  }
  if (outer_view.kind == ViewKind::kExpand && inner_view.kind == ViewKind::kExpand) {
    return AddExpand(graph, x, shape, &outer);
  }
  if (outer_view.kind == ViewKind::kSlice && inner_view.kind == ViewKind::kSlice && outer_view.dim == inner_view.dim) {
    const Dim start = inner_view.start + outer_view.start * Dim(inner_view.step);
    return AddSlice(graph, x, outer_view.dim, start, shape[outer_view.dim], inner_view.step * outer_view.step, &outer);
  }
  return nullptr;
}

// The constant that a view shows of another; null if its shape is symbolic or strides cannot express it.
Value* ViewedConstant(Graph& graph, const View& view, const Value& input, const Value& output) {
  if (!input.IsConstant() || !IsConstant(output.shape) || !view.start.IsConstant()) return nullptr;
  const TensorView& from = input.constant->view;
  const StridedWindow whole{input.shape, ToShape(from.strides), Dim(0)};
  const std::optional<StridedWindow> window = WindowThrough(view, whole, output.shape);
  if (!window) return nullptr;
  Constant constant = *input.constant;
  constant.view.shape = Evaluate(window->shape, {});
  constant.view.strides = Evaluate(window->strides, {});
  constant.view.data += window->offset.constant() * static_cast<int64_t>(SizeOf(from.dtype));
  return graph.AddConstant(std::move(constant));
}

// What the view's result may be replaced by; null if it must stay.
Value* Simpler(Graph& graph, Node& node) {
  const std::optional<View> view = ViewOf(node);
  if (!view) return nullptr;
  Value* input = node.inputs[0];
  Value* output = node.outputs[0];
  if (IsIdentity(*view, *input, *output)) return input;
  if (Value* constant = ViewedConstant(graph, *view, *input, *output)) return constant;
  if (MovesOnlyUnits(*view, input->shape)) return AddReshape(graph, input, output->shape, &node);
  const Node* inner = ViewMaking(input);
  return inner == nullptr ? nullptr : Combined(graph, node, *view, *inner, *ViewOf(*inner));
}

Value* OnlyPart(const Node& node) { return node.op == "concat" && node.inputs.size() == 1 ? node.inputs[0] : nullptr; }

// The simplest form of the node's result; a replacement may simplify in turn.
void Simplify(Graph& graph, Node* node) {
  while (node != nullptr) {
    Value* simpler = OnlyPart(*node);
    if (simpler == nullptr) simpler = Simpler(graph, *node);
    if (simpler == nullptr) return;
    graph.ReplaceAllUses(node->outputs[0], simpler);
    graph.Erase(node);
    node = simpler->producer;
  }
}

}  // namespace

Status SimplifyViews(Graph& graph, const PassContext& context) {
  for (Node* node : graph.NodeList()) {
    for (const auto& subgraph : node->subgraphs) TONDAR_RETURN_IF_ERROR(SimplifyViews(*subgraph, context));
  }
  // Producers first: a view's input is in its simplest form when the view is looked at.
  for (Node* node : graph.NodeList()) Simplify(graph, node);
  return OkStatus();
}

}  // namespace tondar
