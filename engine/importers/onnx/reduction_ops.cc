// Reductions, positions of extrema, running sums.
#include <algorithm>
#include <limits>

#include "engine/importers/onnx/op_table.h"

namespace tondar::onnx_format {
namespace {

// The dims to reduce: an attribute, or an input in newer forms. Absent or empty means all, or none if the node says so.
struct ReducedDims {
  Shape dims;
  bool keep = true;
  bool none = false;
};

ReducedDims ReadDims(OpCall& call) {
  const std::string_view type = call.node_type();
  const std::optional<std::vector<int64_t>> axes = call.IntsOrInput("axes", 1, type == "ReduceSum" ? 13 : 18);
  ReducedDims reduced{.dims = {}, .keep = call.Int("keepdims", 1) != 0};
  reduced.none = (!axes || axes->empty()) && call.Int("noop_with_empty_axes", 0) != 0;
  const size_t rank = call.ShapeOf(0).size();
  if (!axes || axes->empty()) {
    for (size_t d = 0; d < rank; ++d) reduced.dims.push_back(static_cast<int64_t>(d));
  } else {
    for (const size_t d : call.Axes(*axes, rank)) reduced.dims.push_back(static_cast<int64_t>(d));
  }
  return reduced;
}

Value* Reduced(OpCall& call, std::string_view op, Value* x, const ReducedDims& reduced, Attributes more = {}) {
  if (reduced.none || reduced.dims.empty()) return x;
  more["dim"] = reduced.dims;
  more["keepdim"] = reduced.keep;
  return call.Op(op, {x}, std::move(more));
}

// sum and prod keep the input's dtype, where PyTorch widens integers.
void SumOrProduct(OpCall& call, const OpRow& row) {
  call.Give(Reduced(call, row.op, call.In(0), ReadDims(call), {{"dtype", call.TypeOf(0)}}));
}

// Of no elements at all: the lowest or highest number there is, which later forms give.
void Extremum(OpCall& call, const OpRow& row) {
  const ReducedDims reduced = ReadDims(call);
  Shape shape;
  bool empty = false;
  for (size_t d = 0; d < call.ShapeOf(0).size(); ++d) {
    const bool gone = std::find(reduced.dims.begin(), reduced.dims.end(), Dim(static_cast<int64_t>(d))) != reduced.dims.end();
    empty = empty || (gone && call.ShapeOf(0)[d].Is(0));
    if (!gone) shape.push_back(call.ShapeOf(0)[d]);
    if (gone && reduced.keep) shape.push_back(Dim(1));
  }
  const bool has_infinity = IsFloat(call.TypeOf(0)), is_bool = call.TypeOf(0) == DType::kBool;
  if (!empty || (!has_infinity && !is_bool)) return call.Give(Reduced(call, row.op, call.In(0), reduced));
  const double infinity = std::numeric_limits<double>::infinity();
  const double neutral = row.op == "amax" ? (is_bool ? 0 : -infinity) : (is_bool ? 1 : infinity);
  call.Give(call.Expand(call.Scalar(neutral, call.TypeOf(0)), shape));
}

void ReduceMean(OpCall& call, const OpRow&) {
  const ReducedDims reduced = ReadDims(call);
  if (IsFloat(call.TypeOf(0))) return call.Give(Reduced(call, "mean", call.In(0), reduced));
  Dim count(1);
  for (const Dim& dim : reduced.dims) count = count * call.ShapeOf(0)[static_cast<size_t>(dim.constant())];
  Value* sum = Reduced(call, "sum", call.In(0), reduced, {{"dtype", call.TypeOf(0)}});
  call.Give(call.Op("div_trunc", {sum, nullptr}, {{"other", reduced.none ? Dim(1) : count}}));
}

Value* SumOf(OpCall& call, Value* x, const ReducedDims& reduced) { return Reduced(call, "sum", x, reduced, {{"dtype", call.TypeOf(0)}}); }
Value* Square(OpCall& call) { return call.Op("mul", {call.In(0), call.In(0)}); }

void ReduceL1(OpCall& call, const OpRow&) { call.Give(SumOf(call, call.Op("abs", {call.In(0)}), ReadDims(call))); }
void ReduceSumSquare(OpCall& call, const OpRow&) { call.Give(SumOf(call, Square(call), ReadDims(call))); }
void ReduceL2(OpCall& call, const OpRow&) {
  call.Give(call.Cast(call.Op("sqrt", {SumOf(call, Square(call), ReadDims(call))}), call.TypeOf(0)));
}
void ReduceLogSum(OpCall& call, const OpRow&) { call.Give(call.Op("log", {SumOf(call, call.In(0), ReadDims(call))})); }
void ReduceLogSumExp(OpCall& call, const OpRow&) {
  const ReducedDims reduced = ReadDims(call);
  if (reduced.none) return call.Give(call.In(0));
  if (reduced.dims.empty()) return call.Give(call.In(0));
  call.Give(Reduced(call, "logsumexp", call.In(0), reduced));
}

// The last of equal extrema is the first of the flipped dim.
void ArgExtremum(OpCall& call, const OpRow& row) {
  const Shape shape = call.ShapeOf(0);
  const size_t axis = call.Axis(call.Int("axis", 0), shape.size());
  const Dim dim(static_cast<int64_t>(axis));
  const bool keep = call.Int("keepdims", 1) != 0, last = call.Int("select_last_index", 0) != 0 && !shape.empty();
  Value* x = last ? call.Op("flip", {call.In(0)}, {{"dims", Shape{dim}}}) : call.In(0);
  Value* position = call.Op(row.op, {x}, {{"dim", Shape{dim}}, {"keepdim", keep}});
  if (last) position = call.Op("rsub", {position, nullptr}, {{"other", shape[axis] - Dim(1)}});
  call.Give(position);
}

// The sum before an element is the running sum moved by one, a zero in front.
void CumulativeSum(OpCall& call, const OpRow& row) {
  const Shape shape = call.ShapeOf(0);
  const size_t axis = call.Axis(static_cast<int64_t>(call.RequireNumber(1, "axis")), shape.size());
  if (!call.ok() || shape.empty()) return call.Fail(InvalidArgument("a 0-d tensor"));
  const Dim dim(static_cast<int64_t>(axis));
  const bool reverse = call.Int("reverse", 0) != 0;
  auto turned = [&](Value* x) { return reverse ? call.Op("flip", {x}, {{"dims", Shape{dim}}}) : x; };
  Value* y = call.Op(row.op, {turned(call.In(0))}, {{"dim", dim}, {"dtype", call.TypeOf(0)}});
  if (call.Int("exclusive", 0) != 0) {
    Shape pad(2 * (shape.size() - axis), Dim(0));
    pad[pad.size() - 2] = Dim(1);
    const double neutral = row.op == "cumprod" ? 1 : 0;
    y = call.Slice(call.Op("constant_pad", {y}, {{"pad", pad}, {"value", neutral}}), axis, Dim(0), shape[axis]);
  }
  call.Give(turned(y));
}

// How many is a known number: an attribute before release 10, the only element of an input since.
void TopK(OpCall& call, const OpRow&) {
  const size_t axis = call.Axis(call.Int("axis", -1), call.ShapeOf(0).size());
  Dim count(call.Int("k", 0));
  if (call.version() >= 10) {
    const Shape known = call.RequireDims(1, "k");
    if (known.size() != 1) return call.Fail(InvalidArgument("k of {} elements", known.size()));
    count = known[0];
  }
  const std::vector<Value*> results = call.Ops(2, "topk", {call.In(0)},
                                               {{"k", count}, {"dim", Dim(static_cast<int64_t>(axis))},
                                                {"largest", call.Int("largest", 1) != 0}, {"sorted", true}});
  call.Give(results[0]);
  if (call.Wants(1)) call.Give(results[1], 1);
}

constexpr OpRow kRows[] = {
    {"ArgMax", ArgExtremum, "argmax"},
    {"ArgMin", ArgExtremum, "argmin"},
    {"CumProd", CumulativeSum, "cumprod", 2, 2},
    {"CumSum", CumulativeSum, "cumsum", 2, 2},
    {"ReduceL1", ReduceL1, "", 1, 2},
    {"ReduceL2", ReduceL2, "", 1, 2},
    {"ReduceLogSum", ReduceLogSum, "", 1, 2},
    {"ReduceLogSumExp", ReduceLogSumExp, "", 1, 2},
    {"ReduceMax", Extremum, "amax", 1, 2},
    {"ReduceMean", ReduceMean, "", 1, 2},
    {"ReduceMin", Extremum, "amin", 1, 2},
    {"ReduceProd", SumOrProduct, "prod", 1, 2},
    {"ReduceSum", SumOrProduct, "sum", 1, 2},
    {"ReduceSumSquare", ReduceSumSquare, "", 1, 2},
    {"TopK", TopK, "", 1, 2},
};

}  // namespace

std::span<const OpRow> ReductionOps() { return kRows; }

}  // namespace tondar::onnx_format
