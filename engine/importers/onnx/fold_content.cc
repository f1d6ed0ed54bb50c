// What a model computes with shapes, done when it is read: Shape, Gather, Concat, arithmetic, Slice, Range ...
#include <algorithm>
#include <functional>

#include "engine/importers/onnx/op_table.h"
#include "onnx.pb.h"

namespace tondar::onnx_format {
namespace {

using Positions = std::vector<int64_t>;

// Calls f with every position of `shape` in row-major order, until it gives false.
bool ForEach(const Dims& shape, const std::function<bool(const Positions&)>& f) {
  Positions at(shape.size(), 0);
  const int64_t count = ElementCount(shape);
  for (int64_t i = 0; i < count; ++i) {
    if (!f(at)) return false;
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
  return true;
}

int64_t Linear(const Dims& shape, const Positions& at) {
  int64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + at[d];
  return index;
}

// The element of `content` that broadcasting shows at a position of a shape of higher or equal rank.
const Scalar& Broadcast(const Content& content, const Positions& at) {
  int64_t index = 0;
  const size_t offset = at.size() - content.shape.size();
  for (size_t d = 0; d < content.shape.size(); ++d) {
    index = index * content.shape[d] + (content.shape[d] == 1 ? 0 : at[offset + d]);
  }
  return content.elements[static_cast<size_t>(index)];
}

std::optional<Dims> BroadcastDims(const std::vector<const Content*>& contents) {
  Shape shape;
  for (const Content* content : contents) {
    Result<Shape> wider = BroadcastShapes(shape, ToShape(content->shape));
    if (!wider.ok() || wider->size() > static_cast<size_t>(kMaxRank)) return std::nullopt;
    shape = *std::move(wider);
  }
  Dims dims = Evaluate(shape, {});
  const std::optional<int64_t> count = CheckedElementCount(dims.span());
  return count && *count <= Content::kMaxElements ? std::optional(dims) : std::nullopt;
}

// The dtypes whose arithmetic the scalars do exactly as tensors would.
bool Foldable(DType dtype) {
  return dtype == DType::kBool || dtype == DType::kInt32 || dtype == DType::kInt64 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64 || dtype == DType::kFloat16;
}

std::vector<const Content*> AllKnown(OpCall& call) {
  std::vector<const Content*> contents;
  for (size_t i = 0; i < call.inputs(); ++i) contents.push_back(call.Known(i));
  return contents;
}

// --- Arithmetic -----------------------------------------------------------------------------------------------------

bool FoldArithmetic(OpCall& call, const ScalarOperator& op) {
  const std::vector<const Content*> operands = AllKnown(call);
  const size_t count = static_cast<size_t>(op.operands);
  if (operands.size() < count || (count == 1 && operands.size() > 1) || !Foldable(operands[0]->dtype)) return false;
  for (const Content* operand : operands) {
    if (operand->dtype != operands[0]->dtype) return false;
  }
  const std::optional<Dims> shape = BroadcastDims(operands);
  if (!shape) return false;
  const DType dtype = operands[0]->dtype;
  Content result{op.gives_bool ? DType::kBool : dtype, *shape, {}};
  const bool good = ForEach(*shape, [&](const Positions& at) {
    std::optional<Scalar> value = Broadcast(*operands[0], at);
    if (count == 1) value = op.function(*value, *value, dtype, call.graph());
    for (size_t i = 1; i < operands.size() && value; ++i) {  // Max and Min take any number
      value = op.function(*value, Broadcast(*operands[i], at), dtype, call.graph());
    }
    if (value) result.elements.push_back(*std::move(value));
    return value.has_value();
  });
  if (good) call.Give(std::move(result));
  return good;
}

bool FoldWhere(OpCall& call) {
  const std::vector<const Content*> operands = AllKnown(call);
  if (operands.size() != 3 || !operands[0]->IsConstant() || operands[1]->dtype != operands[2]->dtype) return false;
  const std::optional<Dims> shape = BroadcastDims(operands);
  if (!shape) return false;
  Content result{operands[1]->dtype, *shape, {}};
  ForEach(*shape, [&](const Positions& at) {
    result.elements.push_back(Broadcast(*operands[Broadcast(*operands[0], at).Number() != 0 ? 1 : 2], at));
    return true;
  });
  call.Give(std::move(result));
  return true;
}

bool FoldCast(OpCall& call) {
  const Content& x = *call.Known(0);
  const bool like = call.node().op_type() == "CastLike";
  const Result<DType> to = like ? Result<DType>(call.TypeOf(1)) : DTypeOf(static_cast<int32_t>(call.Int("to", 0)));
  if (!to.ok() || !Foldable(*to) || !Foldable(x.dtype)) return false;
  Content result{*to, x.shape, {}};
  for (const Scalar& element : x.elements) {
    const std::optional<Scalar> value = Convert(element, x.dtype, *to);
    if (!value) return false;
    result.elements.push_back(*value);
  }
  call.Give(std::move(result));
  return true;
}

// --- Moving elements ------------------------------------------------------------------------------------------------

bool Reshaped(OpCall& call, const Content& x, Dims shape) {
  if (CheckedElementCount(shape.span()).value_or(-1) != static_cast<int64_t>(x.elements.size())) return false;
  call.Give(Content{x.dtype, shape, x.elements});
  return true;
}

bool FoldIdentity(OpCall& call) { return Reshaped(call, *call.Known(0), call.Known(0)->shape); }

bool FoldReshape(OpCall& call) {
  const Content& x = *call.Known(0);
  const std::optional<std::vector<int64_t>> sizes = call.KnownInts(1);
  if (!sizes || sizes->size() > static_cast<size_t>(kMaxRank)) return false;
  int64_t known = 1, unknown = -1;
  Dims shape;
  for (size_t d = 0; d < sizes->size(); ++d) {
    int64_t size = (*sizes)[d];
    if (size == 0 && d < x.shape.size() && call.Int("allowzero", 0) == 0) size = x.shape[d];
    if (size == -1) unknown = static_cast<int64_t>(d);
    if (size > Content::kMaxElements) return false;
    shape.push_back(size);
    if (size != -1) known *= size;
    if (known > Content::kMaxElements) return false;
  }
  if (unknown >= 0) shape[static_cast<size_t>(unknown)] = known > 0 ? static_cast<int64_t>(x.elements.size()) / known : 0;
  return Reshaped(call, x, shape);
}

bool FoldUnsqueeze(OpCall& call) {
  const Content& x = *call.Known(0);
  const std::optional<std::vector<int64_t>> axes = call.IntsOrInput("axes", 1, 13);
  if (!axes || x.shape.size() + axes->size() > static_cast<size_t>(kMaxRank)) return false;
  const std::vector<size_t> places = call.Axes(*axes, x.shape.size() + axes->size());
  std::vector<int64_t> shape(x.shape.begin(), x.shape.end());
  for (const size_t place : places) shape.insert(shape.begin() + static_cast<ptrdiff_t>(std::min(place, shape.size())), 1);
  return call.ok() && Reshaped(call, x, Dims(shape));
}

bool FoldSqueeze(OpCall& call) {
  const Content& x = *call.Known(0);
  const std::optional<std::vector<int64_t>> axes = call.IntsOrInput("axes", 1, 13);
  const std::vector<size_t> places = call.Axes(axes.value_or(std::vector<int64_t>()), x.shape.size());
  Dims shape;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    const bool named = std::find(places.begin(), places.end(), d) != places.end();
    if (axes ? !named : x.shape[d] != 1) shape.push_back(x.shape[d]);
  }
  return call.ok() && Reshaped(call, x, shape);
}

// Gives the elements of x at the places that `source` says for each position of `shape`.
bool Picked(OpCall& call, const Content& x, const Dims& shape, const std::function<int64_t(const Positions&)>& source,
            size_t output = 0) {
  const std::optional<int64_t> count = CheckedElementCount(shape.span());
  if (!count || *count > Content::kMaxElements) return false;
  Content result{x.dtype, shape, {}};
  const bool good = ForEach(shape, [&](const Positions& at) {
    const int64_t from = source(at);
    if (from < 0 || from >= static_cast<int64_t>(x.elements.size())) return false;
    result.elements.push_back(x.elements[static_cast<size_t>(from)]);
    return true;
  });
  if (good) call.Give(std::move(result), output);
  return good;
}

bool FoldGather(OpCall& call) {
  const Content &x = *call.Known(0);
  const std::optional<std::vector<int64_t>> indices = call.KnownInts(1);
  if (!indices || x.shape.empty()) return false;
  const Dims index_shape = call.Known(1)->shape;
  const size_t axis = call.Axis(call.Int("axis", 0), x.shape.size());
  if (x.shape.size() + index_shape.size() - 1 > static_cast<size_t>(kMaxRank)) return false;
  Dims shape;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (d != axis) shape.push_back(x.shape[d]);
    for (size_t i = 0; d == axis && i < index_shape.size(); ++i) shape.push_back(index_shape[i]);
  }
  return Picked(call, x, shape, [&](const Positions& at) -> int64_t {
    const auto begin = at.begin() + static_cast<ptrdiff_t>(axis), end = begin + index_shape.rank();
    int64_t index = (*indices)[static_cast<size_t>(Linear(index_shape, Positions(begin, end)))];
    if (index < 0) index += x.shape[axis];
    if (index < 0 || index >= x.shape[axis]) return -1;
    Positions from(at.begin(), begin);
    from.push_back(index);
    from.insert(from.end(), end, at.end());
    return Linear(x.shape, from);
  });
}

bool FoldConcat(OpCall& call) {
  const std::vector<const Content*> parts = AllKnown(call);
  const size_t rank = parts[0]->shape.size(), axis = call.Axis(call.Int("axis", 0), rank);
  Dims shape = parts[0]->shape;
  if (rank == 0) return false;
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i]->shape.size() != rank || parts[i]->dtype != parts[0]->dtype) return false;
    for (size_t d = 0; d < rank; ++d) {
      if (d != axis && parts[i]->shape[d] != shape[d]) return false;
    }
    shape[axis] += parts[i]->shape[axis];
  }
  if (CheckedElementCount(shape.span()).value_or(Content::kMaxElements + 1) > Content::kMaxElements) return false;
  Content result{parts[0]->dtype, shape, {}};
  ForEach(shape, [&](const Positions& at) {
    Positions from = at;
    size_t part = 0;
    while (from[axis] >= parts[part]->shape[axis]) from[axis] -= parts[part++]->shape[axis];
    result.elements.push_back(parts[part]->elements[static_cast<size_t>(Linear(parts[part]->shape, from))]);
    return true;
  });
  call.Give(std::move(result));
  return true;
}

// As IntsOrInput; no failure where the input is not known.
std::optional<std::vector<int64_t>> KnownList(OpCall& call, std::string_view name, size_t i, int64_t since) {
  if (call.version() >= since) return call.KnownInts(i);
  return call.HasAttribute(name) ? std::optional(call.Ints(name)) : std::nullopt;
}

bool FoldSlice(OpCall& call) {
  const Content& x = *call.Known(0);
  const auto starts = KnownList(call, "starts", 1, 10), ends = KnownList(call, "ends", 2, 10);
  auto axes = KnownList(call, "axes", 3, 10), steps = KnownList(call, "steps", 4, 10);
  const bool unknown = (call.Has(3) && !axes) || (call.Has(4) && !steps);
  if (unknown || !starts || !ends || starts->size() != ends->size()) return false;
  if (!axes) {
    axes.emplace();
    for (size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<int64_t>(i));
  }
  if (!steps) steps = std::vector<int64_t>(starts->size(), 1);
  if (axes->size() != starts->size() || steps->size() != starts->size()) return false;
  Dims shape = x.shape;
  Positions begin(x.shape.size(), 0), step(x.shape.size(), 1);
  for (size_t i = 0; i < axes->size(); ++i) {
    const size_t d = call.Axis((*axes)[i], x.shape.size());
    if (!call.ok() || x.shape.empty() || (*steps)[i] == 0) return false;
    const int64_t extent = x.shape[d], by = (*steps)[i], low = by > 0 ? 0 : -1, high = by > 0 ? extent : extent - 1;
    const int64_t from = std::clamp((*starts)[i] < 0 ? (*starts)[i] + extent : (*starts)[i], std::max<int64_t>(low, 0), std::max<int64_t>(high, 0));
    const int64_t to = std::clamp((*ends)[i] < 0 ? (*ends)[i] + extent : (*ends)[i], low, high);
    begin[d] = from, step[d] = by;
    shape[d] = std::max<int64_t>(0, by > 0 ? (to - from + by - 1) / by : (from - to - by - 1) / -by);
  }
  return Picked(call, x, shape, [&](const Positions& at) {
    Positions from = at;
    for (size_t d = 0; d < from.size(); ++d) from[d] = begin[d] + from[d] * step[d];
    return Linear(x.shape, from);
  });
}

bool FoldTranspose(OpCall& call) {
  const Content& x = *call.Known(0);
  const size_t rank = x.shape.size();
  std::vector<int64_t> perm = call.Ints("perm");
  for (size_t d = rank; !call.HasAttribute("perm") && d-- > 0;) perm.push_back(static_cast<int64_t>(d));
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < rank; ++d) {
    if (sorted.size() != rank || sorted[d] != static_cast<int64_t>(d)) return false;
  }
  Dims shape;
  for (const int64_t d : perm) shape.push_back(x.shape[static_cast<size_t>(d)]);
  return Picked(call, x, shape, [&](const Positions& at) {
    Positions from(rank);
    for (size_t d = 0; d < rank; ++d) from[static_cast<size_t>(perm[d])] = at[d];
    return Linear(x.shape, from);
  });
}

bool FoldExpand(OpCall& call) {
  const std::optional<std::vector<int64_t>> sizes = call.KnownInts(1);
  if (!sizes || sizes->size() > static_cast<size_t>(kMaxRank)) return false;
  for (const int64_t size : *sizes) {
    if (size < 0 || size > Content::kMaxElements) return false;
  }
  const Content& x = *call.Known(0);
  const Content target{x.dtype, Dims(*sizes), {}};
  const std::optional<Dims> shape = BroadcastDims({&x, &target});
  if (!shape) return false;
  Content result{x.dtype, *shape, {}};
  ForEach(*shape, [&](const Positions& at) {
    result.elements.push_back(Broadcast(x, at));
    return true;
  });
  call.Give(std::move(result));
  return true;
}

bool FoldTile(OpCall& call) {
  const Content& x = *call.Known(0);
  const std::optional<std::vector<int64_t>> repeats = call.KnownInts(1);
  if (!repeats || repeats->size() != x.shape.size()) return false;
  Dims shape;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if ((*repeats)[d] < 0 || (*repeats)[d] > Content::kMaxElements) return false;
    shape.push_back(x.shape[d] * (*repeats)[d]);
  }
  return Picked(call, x, shape, [&](const Positions& at) {
    Positions from = at;
    for (size_t d = 0; d < from.size(); ++d) from[d] %= x.shape[d];
    return Linear(x.shape, from);
  });
}

bool FoldSplit(OpCall& call) {
  const Content& x = *call.Known(0);
  const size_t count = static_cast<size_t>(call.node().output_size());
  if (x.shape.size() != 1) return false;
  std::optional<std::vector<int64_t>> sizes = KnownList(call, "split", 1, 13);
  if (call.Has(1) && !sizes) return false;
  const int64_t extent = x.shape[0], each = (extent + static_cast<int64_t>(count) - 1) / static_cast<int64_t>(count);
  if (!sizes) {
    sizes.emplace(count, each);
    sizes->back() = extent - each * static_cast<int64_t>(count - 1);
  }
  if (sizes->size() != count) return false;
  int64_t begin = 0;
  for (size_t i = 0; i < count; begin += (*sizes)[i++]) {
    if ((*sizes)[i] < 0 || begin + (*sizes)[i] > extent) return false;
    if (!Picked(call, x, {(*sizes)[i]}, [begin](const Positions& at) { return begin + at[0]; }, i)) return false;
  }
  return true;
}

// --- Reductions of a whole vector -----------------------------------------------------------------------------------

bool FoldReduce(OpCall& call) {
  static constexpr std::pair<std::string_view, std::string_view> kCombine[] = {
      {"ReduceProd", "Mul"}, {"ReduceSum", "Add"}, {"ReduceMax", "Max"}, {"ReduceMin", "Min"}};
  const Content& x = *call.Known(0);
  const std::string& type = call.node().op_type();
  const int64_t since = type == "ReduceSum" ? 13 : 18;
  const std::optional<std::vector<int64_t>> axes = call.IntsOrInput("axes", 1, since);
  const bool whole = !axes || (axes->empty() && call.Int("noop_with_empty_axes", 0) == 0) || axes->size() == x.shape.size();
  if (!whole || x.elements.empty() || !Foldable(x.dtype) || IsFloat(x.dtype)) return false;
  const ScalarOperator* op = nullptr;
  for (const auto& [reduce, combine] : kCombine) {
    if (reduce == type) op = FindScalarOperator(combine);
  }
  std::optional<Scalar> value = x.elements[0];
  for (size_t i = 1; i < x.elements.size() && value; ++i) value = op->function(*value, x.elements[i], x.dtype, call.graph());
  if (!value) return false;
  const bool keep = call.Int("keepdims", 1) != 0;
  call.Give(Content{x.dtype, keep ? Dims::Filled(x.shape.rank(), 1) : Dims(), {*value}});
  return true;
}

// --- Making elements ------------------------------------------------------------------------------------------------

bool FoldRange(OpCall& call) {
  const std::optional<std::vector<int64_t>> start = call.KnownInts(0), end = call.KnownInts(1), step = call.KnownInts(2);
  if (!start || !end || !step || start->size() != 1 || end->size() != 1 || step->size() != 1) return false;
  if (!IsInteger(call.TypeOf(0)) || (*step)[0] == 0) return false;
  Content result{call.TypeOf(0), {0}, {}};
  for (int64_t at = (*start)[0]; (*step)[0] > 0 ? at < (*end)[0] : at > (*end)[0]; at += (*step)[0]) {
    if (result.elements.size() >= static_cast<size_t>(Content::kMaxElements)) return false;
    result.elements.emplace_back(Dim(at));
  }
  result.shape[0] = static_cast<int64_t>(result.elements.size());
  call.Give(std::move(result));
  return true;
}

struct Fold {
  std::string_view op_type;
  bool (*fold)(OpCall&);
};
constexpr Fold kFolds[] = {
    {"Cast", FoldCast},           {"CastLike", FoldCast},       {"Concat", FoldConcat},     {"Expand", FoldExpand},
    {"Gather", FoldGather},       {"Identity", FoldIdentity},   {"Range", FoldRange},       {"ReduceMax", FoldReduce},
    {"ReduceMin", FoldReduce},    {"ReduceProd", FoldReduce},   {"ReduceSum", FoldReduce},  {"Reshape", FoldReshape},
    {"Slice", FoldSlice},         {"Split", FoldSplit},         {"Squeeze", FoldSqueeze},   {"Tile", FoldTile},
    {"Transpose", FoldTranspose}, {"Unsqueeze", FoldUnsqueeze}, {"Where", FoldWhere},
};

}  // namespace

bool FoldContent(OpCall& call) {
  const std::string& type = call.node().op_type();
  const ScalarOperator* op = FindScalarOperator(type);
  const auto* fold = std::find_if(std::begin(kFolds), std::end(kFolds), [&](const Fold& row) { return row.op_type == type; });
  if (op == nullptr && fold == std::end(kFolds)) return false;
  if (call.inputs() == 0 || !call.node().domain().empty()) return false;
  for (size_t i = 0; i < call.inputs(); ++i) {
    if (call.Has(i) ? call.Known(i) == nullptr : i == 0) return false;
  }
  for (size_t i = 0; op != nullptr && i < call.inputs(); ++i) {
    if (!call.Has(i)) return false;
  }
  return op != nullptr ? FoldArithmetic(call, *op) : fold->fold(call);
}

}  // namespace tondar::onnx_format
