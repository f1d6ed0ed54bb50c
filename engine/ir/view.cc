#include "engine/ir/view.h"

#include <algorithm>

namespace tondar {
namespace {

struct ViewName {
  std::string_view op;
  ViewKind kind;
};
constexpr ViewName kViews[] = {{"permute", ViewKind::kPermute},
                               {"reshape", ViewKind::kReshape},
                               {"expand", ViewKind::kExpand},
                               {"slice", ViewKind::kSlice},
                               {"alias", ViewKind::kAlias}};

int64_t IntegerOf(const Node& node, std::string_view name, int64_t absent) {
  const Attribute* attribute = node.Find(name);
  const Dim* dim = attribute == nullptr ? nullptr : std::get_if<Dim>(attribute);
  return dim != nullptr && dim->IsConstant() ? dim->constant() : absent;
}

size_t Wrap(int64_t dim, size_t rank) { return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim); }

Value* AddView(Graph& graph, std::string_view op, Value* x, Attributes attributes, Shape shape, Node* before) {
  Node* node = graph.AddNode(op, fmt::format("{}_{}", x->name, op), {x}, before);
  node->attributes = std::move(attributes);
  return graph.AddOutput(node, "", x->dtype, std::move(shape));
}

}  // namespace

std::optional<View> ViewOf(const Node& node) {
  const auto named = std::find_if(std::begin(kViews), std::end(kViews), [&](const ViewName& v) { return v.op == node.op; });
  if (named == std::end(kViews) || node.inputs.size() != 1 || node.outputs.size() != 1) return std::nullopt;
  View view;
  view.kind = named->kind;
  const size_t rank = node.inputs[0]->shape.size();
  if (view.kind == ViewKind::kPermute) {
    const Attribute* dims = node.Find("dims");
    const Shape* list = dims == nullptr ? nullptr : std::get_if<Shape>(dims);
    if (list == nullptr || list->size() != rank || !IsConstant(*list)) return std::nullopt;
    for (const Dim& dim : *list) view.dims.push_back(Wrap(dim.constant(), rank));
  }
  if (view.kind == ViewKind::kSlice) {
    view.dim = Wrap(IntegerOf(node, "dim", 0), rank);
    view.step = IntegerOf(node, "step", 1);
    const Attribute* start = node.Find("start");
    const Dim* value = start == nullptr ? nullptr : std::get_if<Dim>(start);
    // A bound that Python would clamp or count from the end is no primitive's.
    if (value == nullptr || node.Find("length") == nullptr || view.step < 1) return std::nullopt;
    view.start = *value;
  }
  return view;
}

Node* ViewMaking(const Value* value) {
  return value->producer != nullptr && ViewOf(*value->producer) ? value->producer : nullptr;
}

Value* AddPermute(Graph& graph, Value* x, const std::vector<size_t>& dims, Node* before) {
  Shape list, shape;
  bool identity = true;
  for (size_t i = 0; i < dims.size(); ++i) {
    identity = identity && dims[i] == i;
    list.push_back(static_cast<int64_t>(dims[i]));
    shape.push_back(x->shape[dims[i]]);
  }
  return identity ? x : AddView(graph, "permute", x, {{"dims", list}}, std::move(shape), before);
}

Value* AddReshape(Graph& graph, Value* x, const Shape& shape, Node* before) {
  return shape == x->shape ? x : AddView(graph, "reshape", x, {{"shape", shape}}, shape, before);
}

Value* AddExpand(Graph& graph, Value* x, const Shape& shape, Node* before) {
  return shape == x->shape ? x : AddView(graph, "expand", x, {{"shape", shape}}, shape, before);
}

Value* AddSlice(Graph& graph, Value* x, size_t dim, const Dim& start, const Dim& length, int64_t step, Node* before) {
  if (start.Is(0) && step == 1 && length == x->shape[dim]) return x;
  Shape shape = x->shape;
  shape[dim] = length;
  Attributes attributes = {
      {"dim", Dim(static_cast<int64_t>(dim))}, {"start", start}, {"length", length}, {"step", Dim(step)}};
  return AddView(graph, "slice", x, std::move(attributes), std::move(shape), before);
}

std::optional<Shape> ReshapeStrides(const Shape& shape, const Shape& strides, const Shape& to) {
  // A dense tensor takes any shape, also where sizes are only known to be equal at run time, and so does an empty one.
  const bool empty = std::any_of(shape.begin(), shape.end(), [](const Dim& extent) { return extent.Is(0); });
  if (empty || strides == ContiguousStrides(shape)) return ContiguousStrides(to);
  Shape result(to.size(), Dim(0));
  size_t next = to.size();  // output dims from here on have strides
  Dim run(1), run_stride(1);  // elements and innermost stride of the run of input dims that lie as one
  bool in_run = false;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d].Is(1)) continue;
    if (!in_run) run_stride = strides[d];
    in_run = true;
    run = run * shape[d];
    size_t outer = d;
    while (outer > 0 && shape[outer - 1].Is(1)) --outer;
    const bool merges = outer > 0 && strides[outer - 1] == shape[d] * strides[d];
    if (merges) continue;
    // Lay output dims over the run.
    Dim laid(1);
    while (laid != run) {
      if (next == 0) return std::nullopt;
      --next;
      result[next] = laid * run_stride;
      laid = laid * to[next];
    }
    run = Dim(1);
    in_run = false;
  }
  while (next > 0) {
    if (!to[--next].Is(1)) return std::nullopt;
    result[next] = Dim(1);
  }
  return result;
}

namespace {

// Extents that only look different are held equal by a check.
bool Repeats(const Dim& from, const Dim& to) { return from.Is(1) && !to.Is(1); }

StridedWindow Expanded(const StridedWindow& input, const Shape& shape) {
  StridedWindow window{shape, Shape(shape.size(), Dim(0)), input.offset};
  const size_t added = shape.size() - input.shape.size();
  for (size_t d = 0; d < input.shape.size(); ++d) {
    if (!Repeats(input.shape[d], shape[d + added])) window.strides[d + added] = input.strides[d];
  }
  return window;
}

}  // namespace

std::optional<StridedWindow> WindowThrough(const View& view, const StridedWindow& input, const Shape& output_shape) {
  StridedWindow window = input;
  window.shape = output_shape;
  switch (view.kind) {
    case ViewKind::kAlias: return window;
    case ViewKind::kPermute:
      for (size_t d = 0; d < view.dims.size(); ++d) window.strides[d] = input.strides[view.dims[d]];
      return window;
    case ViewKind::kExpand: return Expanded(input, output_shape);
    case ViewKind::kSlice:
      window.offset = input.offset + view.start * input.strides[view.dim];
      window.strides[view.dim] = input.strides[view.dim] * view.step;
      return window;
    case ViewKind::kReshape: break;
  }
  std::optional<Shape> strides = ReshapeStrides(input.shape, input.strides, output_shape);
  if (!strides) return std::nullopt;
  window.strides = std::move(*strides);
  return window;
}

std::optional<StridedWindow> WindowBefore(const View& view, const StridedWindow& output, const Shape& input_shape) {
  StridedWindow window = output;
  window.shape = input_shape;
  switch (view.kind) {
    case ViewKind::kAlias: return window;
    case ViewKind::kPermute:
      for (size_t d = 0; d < view.dims.size(); ++d) window.strides[view.dims[d]] = output.strides[d];
      return window;
    case ViewKind::kReshape: {
      std::optional<Shape> strides = ReshapeStrides(output.shape, output.strides, input_shape);
      if (!strides) return std::nullopt;
      window.strides = std::move(*strides);
      return window;
    }
    default: return std::nullopt;
  }
}

std::vector<ReshapeGroup> GroupReshape(const Shape& from, const Shape& to) {
  std::vector<ReshapeGroup> groups;
  const auto skip_units = [](const Shape& shape, size_t& d) {
    while (d < shape.size() && shape[d].Is(1)) ++d;
  };
  // Adds dims of `shape` until their product is `target`; gives how many, or 0.
  const auto cover = [](const Shape& shape, size_t begin, const Dim& target) -> size_t {
    Dim product(1);
    for (size_t d = begin; d < shape.size(); ++d) {
      product = product * shape[d];
      if (product == target) return d - begin + 1;
    }
    return 0;
  };
  size_t i = 0, o = 0;
  for (;;) {
    skip_units(from, i);
    skip_units(to, o);
    if (i == from.size() || o == to.size()) break;
    ReshapeGroup group{i, 1, o, 1};
    if (from[i] != to[o]) {
      // The shortest run of one side that one more dim of the other completes; else all that is left.
      bool found = false;
      for (size_t n = 1; i + n <= from.size() && !found; ++n) {
        Dim product(1);
        for (size_t d = i; d < i + n; ++d) product = product * from[d];
        const size_t m = cover(to, o, product);
        if (m > 0) group = {i, n, o, m}, found = true;
      }
      if (!found) group = {i, from.size() - i, o, to.size() - o};
    }
    groups.push_back(group);
    i += group.inputs;
    o += group.outputs;
  }
  return groups;
}

namespace {

bool IsPlain(const IndexExpression& index) { return index.dynamic < 0 && !index.guarded; }

void AddScaled(const IndexExpression& part, int64_t scale, IndexExpression& sum) {
  for (const IndexExpression::Term& term : part.terms) {
    const auto at = std::lower_bound(sum.terms.begin(), sum.terms.end(), term.loop_dim,
                                     [](const auto& t, int8_t dim) { return t.loop_dim < dim; });
    if (at != sum.terms.end() && at->loop_dim == term.loop_dim) {
      at->coefficient += term.coefficient * scale;
    } else {
      sum.terms.insert(at, {term.loop_dim, term.coefficient * scale});
    }
  }
  sum.offset = sum.offset + part.offset * Dim(scale);
}

bool IndexThroughReshape(const Shape& from, const Shape& to, std::vector<IndexExpression>& index) {
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d].Is(1) && !IsPlain(index[d])) return false;
  }
  std::vector<IndexExpression> result(from.size(), IndexExpression::At(0));
  for (const ReshapeGroup& group : GroupReshape(from, to)) {
    if (group.inputs != 1) return false;
    IndexExpression& target = result[group.input];
    if (group.outputs == 1) {
      target = index[group.output];
      continue;
    }
    int64_t scale = 1;
    for (size_t o = group.output + group.outputs; o-- > group.output;) {
      if (!IsPlain(index[o])) return false;
      AddScaled(index[o], scale, target);
      if (o == group.output) break;
      if (!to[o].IsConstant()) return false;
      scale *= to[o].constant();
    }
  }
  index = std::move(result);
  return true;
}

}  // namespace

bool IndexThrough(const View& view, const Shape& input_shape, const Shape& output_shape,
                  std::vector<IndexExpression>& index) {
  switch (view.kind) {
    case ViewKind::kAlias: return true;
    case ViewKind::kPermute: {
      std::vector<IndexExpression> result(index.size());
      for (size_t d = 0; d < index.size(); ++d) result[view.dims[d]] = index[d];
      index = std::move(result);
      return true;
    }
    case ViewKind::kExpand: {
      const size_t added = output_shape.size() - input_shape.size();
      for (size_t d = 0; d < output_shape.size(); ++d) {
        const bool repeats = d < added || Repeats(input_shape[d - added], output_shape[d]);
        if (!repeats) continue;
        if (!IsPlain(index[d])) return false;
        index[d] = IndexExpression::At(0);
      }
      index.erase(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(added));
      return true;
    }
    case ViewKind::kSlice: {
      IndexExpression& at = index[view.dim];
      const bool whole = view.start.Is(0) && view.step == 1 && input_shape[view.dim] == output_shape[view.dim];
      if (whole) return true;
      if (!IsPlain(at)) return false;
      IndexExpression moved = IndexExpression::At(view.start);
      AddScaled(at, view.step, moved);
      at = std::move(moved);
      return true;
    }
    case ViewKind::kReshape: return IndexThroughReshape(input_shape, output_shape, index);
  }
  return false;
}

}  // namespace tondar
