#include "engine/importers/pt2/aliases.h"

#include <algorithm>

#include "engine/ops/op_schema.h"

namespace tondar::pt2 {
namespace {

// Gives the parent's new value from the view's.
using WriteBack = Result<Value*> (*)(Graph& graph, const ViewRecipe& recipe, Value* parent, Value* view);

Result<Value*> Emit(Graph& graph, std::string_view source, std::vector<Value*> inputs, Attributes attributes) {
  TONDAR_ASSIGN_OR_RETURN(Node * node, AddSourceOp(graph, source, "write_back", std::move(inputs), {},
                                                   std::move(attributes)));
  return node->outputs.at(0);
}

const Attribute* Find(const ViewRecipe& recipe, std::string_view name) {
  const auto it = recipe.attributes.find(name);
  return it == recipe.attributes.end() ? nullptr : &it->second;
}

Dim DimOr(const ViewRecipe& recipe, std::string_view name, Dim otherwise) {
  const Attribute* attribute = Find(recipe, name);
  const Dim* dim = attribute == nullptr ? nullptr : std::get_if<Dim>(attribute);
  return dim == nullptr ? otherwise : *dim;
}

Result<Value*> ByReshape(Graph& graph, const ViewRecipe&, Value* parent, Value* view) {
  return Emit(graph, "aten.view.default", {view}, {{"size", parent->shape}});
}

Result<Value*> ByItself(Graph&, const ViewRecipe&, Value*, Value* view) { return view; }

Result<Value*> ByPermutation(Graph& graph, const ViewRecipe& recipe, Value* parent, Value* view) {
  const Attribute* attribute = Find(recipe, "dims");
  const Shape* dims = attribute == nullptr ? nullptr : std::get_if<Shape>(attribute);
  const auto rank = static_cast<int64_t>(parent->shape.size());
  Shape inverse(parent->shape.size());
  for (int64_t i = 0; i < rank; ++i) {
    // numpy_T and t have no dims: they reverse.
    const int64_t from = dims == nullptr ? rank - 1 - i : (*dims)[static_cast<size_t>(i)].constant();
    inverse[static_cast<size_t>(from < 0 ? from + rank : from)] = i;
  }
  return Emit(graph, "aten.permute.default", {view}, {{"dims", inverse}});
}

Result<Value*> ByTransposition(Graph& graph, const ViewRecipe& recipe, Value*, Value* view) {
  const bool axes = Find(recipe, "axis0") != nullptr;
  return Emit(graph, "aten.transpose.int", {view},
              {{"dim0", DimOr(recipe, axes ? "axis0" : "dim0", 0)}, {"dim1", DimOr(recipe, axes ? "axis1" : "dim1", 1)}});
}

Result<Value*> BySelection(Graph& graph, const ViewRecipe& recipe, Value* parent, Value* view) {
  return Emit(graph, "aten.select_scatter.default", {parent, view},
              {{"dim", DimOr(recipe, "dim", 0)}, {"index", DimOr(recipe, "index", 0)}});
}

Result<Value*> ByUnbinding(Graph& graph, const ViewRecipe& recipe, Value* parent, Value* view) {
  return Emit(graph, "aten.select_scatter.default", {parent, view},
              {{"dim", DimOr(recipe, "dim", 0)}, {"index", Dim(static_cast<int64_t>(recipe.output))}});
}

Result<Value*> BySlice(Graph& graph, const ViewRecipe& recipe, Value* parent, Value* view) {
  Attributes attributes = recipe.attributes;
  return Emit(graph, "aten.slice_scatter.default", {parent, view}, std::move(attributes));
}

Result<Value*> ByRange(Graph& graph, Value* parent, Value* view, const Dim& dim, const Dim& start, const Dim& length) {
  return Emit(graph, "aten.slice_scatter.default", {parent, view},
              {{"dim", dim}, {"start", start}, {"end", start + length}});
}

Result<Value*> ByNarrowing(Graph& graph, const ViewRecipe& recipe, Value* parent, Value* view) {
  return ByRange(graph, parent, view, DimOr(recipe, "dim", 0), DimOr(recipe, "start", 0), DimOr(recipe, "length", 0));
}

// The pieces of a split follow each other; every one but the last has the same known extent, or they are listed.
Result<Value*> BySplit(Graph& graph, const ViewRecipe& recipe, Value* parent, Value* view) {
  const Dim dim = DimOr(recipe, "dim", 0);
  const auto rank = static_cast<int64_t>(parent->shape.size());
  const auto axis = static_cast<size_t>(dim.constant() < 0 ? dim.constant() + rank : dim.constant());
  const Attribute* attribute = Find(recipe, "split_sizes");
  if (attribute == nullptr) attribute = Find(recipe, "split_size");
  Dim start = 0;
  if (const Shape* sizes = attribute == nullptr ? nullptr : std::get_if<Shape>(attribute)) {
    for (size_t i = 0; i < recipe.output; ++i) start = start + (*sizes)[i];
  } else if (const Dim* size = attribute == nullptr ? nullptr : std::get_if<Dim>(attribute)) {
    start = *size * Dim(static_cast<int64_t>(recipe.output));
  } else {  // chunk: pieces of ceil(extent / chunks)
    const Dim chunks = DimOr(recipe, "chunks", 1);
    const Dim piece = Dim::FloorDiv(parent->shape.at(axis) + chunks - 1, chunks);
    start = piece * Dim(static_cast<int64_t>(recipe.output));
  }
  return ByRange(graph, parent, view, dim, start, view->shape.at(axis));
}

struct Row {
  std::string_view source;
  ViewKind kind;
  WriteBack write_back;  // null: no way back
};

constexpr Row kRows[] = {
    {"aten.alias.default", ViewKind::kView, ByItself},
    {"aten.detach.default", ViewKind::kView, ByItself},
    {"aten.detach_.default", ViewKind::kView, ByItself},
    {"aten.view.default", ViewKind::kView, ByReshape},
    {"aten.view_as.default", ViewKind::kView, ByReshape},
    {"aten.unflatten.int", ViewKind::kView, ByReshape},
    {"aten.unsqueeze.default", ViewKind::kView, ByReshape},
    {"aten.squeeze.default", ViewKind::kView, ByReshape},
    {"aten.squeeze.dim", ViewKind::kView, ByReshape},
    {"aten.squeeze.dims", ViewKind::kView, ByReshape},
    {"aten.permute.default", ViewKind::kView, ByPermutation},
    {"aten.t.default", ViewKind::kView, ByPermutation},
    {"aten.numpy_T.default", ViewKind::kView, ByPermutation},
    {"aten.transpose.int", ViewKind::kView, ByTransposition},
    {"aten.swapaxes.default", ViewKind::kView, ByTransposition},
    {"aten.swapdims.default", ViewKind::kView, ByTransposition},
    {"aten.select.int", ViewKind::kView, BySelection},
    {"aten.slice.Tensor", ViewKind::kView, BySlice},
    {"aten.narrow.default", ViewKind::kView, ByNarrowing},
    {"aten.split.Tensor", ViewKind::kView, BySplit},
    {"aten.split.sizes", ViewKind::kView, BySplit},
    {"aten.split_with_sizes.default", ViewKind::kView, BySplit},
    {"aten.chunk.default", ViewKind::kView, BySplit},
    {"aten.unbind.int", ViewKind::kView, ByUnbinding},
    {"aten.expand.default", ViewKind::kView, nullptr},
    {"aten.expand_as.default", ViewKind::kView, nullptr},
    {"aten.broadcast_to.default", ViewKind::kView, nullptr},
    {"aten.as_strided.default", ViewKind::kView, nullptr},
    {"aten.unfold.default", ViewKind::kView, nullptr},
    {"aten.diagonal.default", ViewKind::kView, nullptr},
    {"aten.movedim.int", ViewKind::kView, nullptr},
    {"aten.movedim.intlist", ViewKind::kView, nullptr},
    {"aten.view.dtype", ViewKind::kView, nullptr},
    {"aten.view_as_real.default", ViewKind::kView, nullptr},
    {"aten.view_as_complex.default", ViewKind::kView, nullptr},
    {"aten.real.default", ViewKind::kView, nullptr},
    {"aten.imag.default", ViewKind::kView, nullptr},
    {"aten.tensor_split.sections", ViewKind::kView, nullptr},
    {"aten.tensor_split.indices", ViewKind::kView, nullptr},
    {"aten.reshape.default", ViewKind::kPerhaps, nullptr},
    {"aten.reshape_as.default", ViewKind::kPerhaps, nullptr},
    {"aten.flatten.using_ints", ViewKind::kPerhaps, nullptr},
    {"aten.ravel.default", ViewKind::kPerhaps, nullptr},
    {"aten.contiguous.default", ViewKind::kPerhaps, nullptr},
    {"aten.to.dtype", ViewKind::kPerhaps, nullptr},
    {"aten.to.dtype_layout", ViewKind::kPerhaps, nullptr},
    {"aten.to.device", ViewKind::kPerhaps, nullptr},
    {"aten.to.other", ViewKind::kPerhaps, nullptr},
    {"aten.type_as.default", ViewKind::kPerhaps, nullptr},
    {"aten.dropout.default", ViewKind::kPerhaps, nullptr},
    {"aten.feature_dropout.default", ViewKind::kPerhaps, nullptr},
    {"aten.alpha_dropout.default", ViewKind::kPerhaps, nullptr},
};

const Row* FindRow(std::string_view source) {
  for (const Row& row : kRows) {
    if (row.source == source) return &row;
  }
  return nullptr;
}

}  // namespace

ViewKind ViewKindOf(std::string_view source) {
  const Row* row = FindRow(source);
  return row == nullptr ? ViewKind::kNone : row->kind;
}

Tensor* Aliases::AddRoot(Value* value) {
  tensors_.push_back({.value = value, .missing = {}, .parent = nullptr, .recipe = {}});
  return &tensors_.back();
}

Tensor* Aliases::AddMissing(std::string why) {
  Tensor* tensor = AddRoot(nullptr);
  tensor->missing = std::move(why);
  return tensor;
}

Tensor* Aliases::AddView(Tensor* parent, ViewRecipe recipe, Value* value, bool is_certain) {
  Tensor* tensor = AddRoot(value);
  tensor->parent = parent;
  tensor->recipe = std::move(recipe);
  tensor->is_certain = is_certain;
  tensor->parent_version = parent->version;
  return tensor;
}

Status Aliases::Remake(Tensor* tensor) {
  if (tensor->value == nullptr) return OkStatus();
  if (!tensor->is_certain) {
    return Unimplemented("reading a tensor made by {} after the tensor it may share memory with was overwritten",
                         tensor->recipe.source);
  }
  std::vector<Value*> inputs = tensor->recipe.inputs;
  inputs.at(0) = tensor->parent->value;
  Result<Node*> node = AddSourceOp(graph_, tensor->recipe.source, tensor->value->name, std::move(inputs),
                                   tensor->recipe.segments, tensor->recipe.attributes);
  if (!node.ok()) return node.status();
  if (tensor->recipe.output >= (*node)->outputs.size()) return Unimplemented("{} with other results", tensor->recipe.source);
  tensor->value = (*node)->outputs[tensor->recipe.output];
  tensor->parent_version = tensor->parent->version;
  ++tensor->version;
  return OkStatus();
}

Result<Value*> Aliases::Current(Tensor* tensor) {
  std::vector<Tensor*> chain;  // a loop, not recursion: files may nest views without end
  for (Tensor* link = tensor; link->parent != nullptr; link = link->parent) chain.push_back(link);
  std::reverse(chain.begin(), chain.end());
  for (Tensor* link : chain) {
    if (!link->missing.empty()) return Unimplemented("{}", link->missing);
    if (link->parent_version != link->parent->version) TONDAR_RETURN_IF_ERROR(Remake(link));
  }
  if (!tensor->missing.empty()) return Unimplemented("{}", tensor->missing);
  return tensor->value;
}

Status Aliases::Write(Tensor* tensor, Value* value, std::string_view where) {
  tensor->value = value;
  ++tensor->version;
  for (; tensor->parent != nullptr; tensor = tensor->parent) {
    Tensor* parent = tensor->parent;
    if (!tensor->is_certain) {
      // The parent, and all under it, may or may not have changed: only a use of them makes that a problem.
      for (Tensor* above = parent; above != nullptr; above = above->parent) {
        above->missing = fmt::format("reading a tensor that '{}' may have overwritten through {}", where,
                                     tensor->recipe.source);
      }
      return OkStatus();
    }
    const Row* row = FindRow(tensor->recipe.source);
    if (row == nullptr || row->write_back == nullptr) {
      return Unimplemented("writing in place through {}", tensor->recipe.source);
    }
    TONDAR_ASSIGN_OR_RETURN(Value * whole, Current(parent));
    Result<Value*> written = row->write_back(graph_, tensor->recipe, whole, tensor->value);
    if (!written.ok()) return Unimplemented("writing in place through {}: {}", tensor->recipe.source, written.status().message());
    parent->value = *written;
    ++parent->version;
    tensor->parent_version = parent->version;
  }
  return OkStatus();
}

}  // namespace tondar::pt2
