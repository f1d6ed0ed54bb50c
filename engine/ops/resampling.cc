// Resampling at computed places: cubic and antialiased interpolation, sampling by a grid.
#include <cmath>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"
#include "engine/ops/resampling.h"

namespace tondar {

Status CollectScales(Node& node, const Attributes& arguments) {
  std::vector<double> factors;
  for (const char* name : {"scales_d", "scales_h", "scales_w", "scales"}) {
    const auto given = arguments.find(name);
    if (given == arguments.end()) continue;
    const double* factor = std::get_if<double>(&given->second);
    factors.push_back(factor == nullptr ? 0 : *factor);
  }
  node.attributes["scale_factors"] = factors;
  return OkStatus();
}

namespace {

using Handle = LoopBuilder::Handle;
constexpr DType kI64 = DType::kInt64;

int ToInt(size_t d) { return static_cast<int>(d); }

// Arithmetic of positions and weights, in the dtype that the values are computed in.
class Positions {
 public:
  Positions(LoopBuilder& b, DType values) : b_(b), dtype_(ComputeDType(values)) {}

  DType dtype() const { return dtype_; }
  Handle Number(double value) { return b_.Constant(value, dtype_); }
  Handle Extent(const Dim& extent) { return b_.Cast(b_.Size(extent), dtype_); }
  Handle Index(int loop_dim) { return b_.Cast(b_.Index(loop_dim), dtype_); }
  Handle Add(Handle x, Handle y) { return b_.Binary(LoopOp::kAdd, x, y); }
  Handle Sub(Handle x, Handle y) { return b_.Binary(LoopOp::kSub, x, y); }
  Handle Mul(Handle x, Handle y) { return b_.Binary(LoopOp::kMul, x, y); }
  Handle Div(Handle x, Handle y) { return b_.Binary(LoopOp::kDiv, x, y); }
  Handle Min(Handle x, Handle y) { return b_.Binary(LoopOp::kMin, x, y); }
  Handle Max(Handle x, Handle y) { return b_.Binary(LoopOp::kMax, x, y); }
  Handle Floor(Handle x) { return b_.Unary(LoopOp::kFloor, x); }
  Handle Abs(Handle x) { return b_.Unary(LoopOp::kAbs, x); }
  // An integer position, held within [0, extent).
  Handle Clamped(Handle x, const Dim& extent) {
    const Handle low = b_.Binary(LoopOp::kMax, b_.Cast(x, kI64), b_.ConstantInteger(0, kI64));
    return b_.Binary(LoopOp::kMin, low, b_.Size(extent - Dim(1)));
  }
  Handle IsInside(Handle x, const Dim& extent) {
    const Handle from = b_.Binary(LoopOp::kGe, x, Number(0));
    return b_.Binary(LoopOp::kLogicalAnd, from, b_.Binary(LoopOp::kLt, x, Extent(extent)));
  }
  LoopBuilder& builder() { return b_; }

 private:
  LoopBuilder& b_;
  DType dtype_;
};

// The weights of the four neighbours at floor - 1 ... floor + 2 for a fraction t: Keys' cubic convolution with this
// coefficient.
std::vector<Handle> CubicWeights(Positions& p, Handle t, double a) {
  const auto near = [&](Handle x) {  // |x| <= 1: ((a + 2) x - (a + 3)) x^2 + 1
    const Handle inner = p.Sub(p.Mul(p.Number(a + 2), x), p.Number(a + 3));
    return p.Add(p.Mul(p.Mul(inner, x), x), p.Number(1));
  };
  const auto far = [&](Handle x) {  // 1 < |x| < 2: ((a x - 5 a) x + 8 a) x - 4 a
    const Handle inner = p.Sub(p.Mul(p.Number(a), x), p.Number(5 * a));
    return p.Sub(p.Mul(p.Add(p.Mul(inner, x), p.Number(8 * a)), x), p.Number(4 * a));
  };
  const Handle rest = p.Sub(p.Number(1), t);
  return {far(p.Add(t, p.Number(1))), near(t), near(rest), far(p.Add(rest, p.Number(1)))};
}

// One place along a dim with its weight; `inside` is -1 where the place needs no test.
struct Tap {
  Handle at, weight, inside = -1;
};

// The weighted sum over the taps of every dim from d on; `access` holds the places along the earlier ones.
Handle SumTaps(Positions& p, const std::vector<std::vector<Tap>>& dims, size_t d, Access access, Handle inside, DType dtype) {
  LoopBuilder& b = p.builder();
  if (d == dims.size()) {
    const Handle value = b.Cast(b.Load(access, dtype), p.dtype());
    return inside < 0 ? value : b.Select(inside, value, p.Number(0));
  }
  Handle sum = -1;
  for (const Tap& tap : dims[d]) {
    access.index[2 + d] = IndexExpression::Dynamic(tap.at);
    const Handle both = tap.inside < 0 ? inside : inside < 0 ? tap.inside : b.Binary(LoopOp::kLogicalAnd, inside, tap.inside);
    const Handle value = SumTaps(p, dims, d + 1, access, both, dtype);
    const Handle term = tap.weight < 0 ? value : p.Mul(value, tap.weight);
    sum = sum < 0 ? term : p.Add(sum, term);
  }
  return sum;
}

// --- Upsampling -----------------------------------------------------------------------------------------------------

constexpr double kCubic = -0.75;  // PyTorch's coefficient; the antialiased kernel has -0.5, as PIL

double FactorOf(const Node& node, size_t s) {
  const std::vector<double>* factors = std::get_if<std::vector<double>>(&Arguments(node).Raw("scale_factors"));
  return factors == nullptr || factors->empty() ? 0 : (*factors)[s];
}

// Input extent per output extent.
Handle ScaleOf(Positions& p, const Node& node, size_t s) {
  const Dim &in = node.inputs[0]->shape[2 + s], &out = node.outputs[0]->shape[2 + s];
  if (Arguments(node).Bool("align_corners")) {
    if (out.Is(1)) return p.Number(0);
    return p.Div(p.Extent(in - Dim(1)), p.Extent(out - Dim(1)));
  }
  const double factor = FactorOf(node, s);
  return factor > 0 ? p.Number(1.0 / factor) : p.Div(p.Extent(in), p.Extent(out));
}

Status InferSized(Node& node) {
  Shape shape = node.inputs[0]->shape;
  if (shape.size() != 4) return InvalidArgument("input of rank {}, expected 4", shape.size());
  if (!IsFloat(node.inputs[0]->dtype)) return Unimplemented("{} of {}", node.op, Name(node.inputs[0]->dtype));
  const Shape sizes = Arguments(node).Sizes("output_size");
  for (size_t s = 0; s < 2; ++s) {
    const double factor = FactorOf(node, s);
    if (sizes.empty() && (factor <= 0 || !shape[2 + s].IsConstant())) return Unimplemented("a dynamic extent times {}", factor);
    const double scaled = std::floor(factor * static_cast<double>(sizes.empty() ? shape[2 + s].constant() : 0));
    shape[2 + s] = sizes.empty() ? Dim(static_cast<int64_t>(scaled)) : sizes[s];
  }
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

std::vector<Tap> CubicTaps(Positions& p, const Node& node, size_t s) {
  const Dim& in = node.inputs[0]->shape[2 + s];
  const Handle scale = ScaleOf(p, node, s), o = p.Index(ToInt(2 + s)), half = p.Number(0.5);
  const bool aligned = Arguments(node).Bool("align_corners");
  const Handle at = aligned ? p.Mul(o, scale) : p.Sub(p.Mul(p.Add(o, half), scale), half);
  const Handle floor = p.Floor(at);
  const std::vector<Handle> weights = CubicWeights(p, p.Sub(at, floor), kCubic);
  std::vector<Tap> taps;
  for (int i = 0; i < 4; ++i) taps.push_back({p.Clamped(p.Add(floor, p.Number(i - 1)), in), weights[static_cast<size_t>(i)]});
  return taps;
}

Access IdentityAccess(size_t rank) {
  Access access{.operand = 0, .index = {}};
  for (size_t d = 0; d < rank; ++d) access.index.push_back(IndexExpression::LoopDim(ToInt(d)));
  return access;
}

Status LowerCubic(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  LoopBuilder b;
  Positions p(b, x->dtype);
  const std::vector<std::vector<Tap>> dims = {CubicTaps(p, node, 0), CubicTaps(p, node, 1)};
  b.Result(b.Cast(SumTaps(p, dims, 0, IdentityAccess(4), -1, x->dtype), x->dtype));
  builder.Replace(0, builder.Map(node.outputs[0]->shape, {x}, std::move(b).Build()));
  return OkStatus();
}

// --- Antialiased: a matrix per dim ----------------------------------------------------------------------------------

// The kernel at a distance: a triangle, or a cubic of support 2.
Handle Kernel(Positions& p, Handle distance, bool cubic) {
  LoopBuilder& b = p.builder();
  const Handle x = p.Abs(distance), one = p.Number(1), two = p.Number(2), zero = p.Number(0);
  if (!cubic) return p.Max(p.Sub(one, x), zero);
  constexpr double a = -0.5;
  const Handle near = p.Add(p.Mul(p.Mul(p.Sub(p.Mul(p.Number(a + 2), x), p.Number(a + 3)), x), x), one);
  const Handle inner = p.Mul(p.Sub(p.Mul(p.Sub(x, p.Number(5)), x), p.Number(-8)), x);
  const Handle far = p.Mul(p.Sub(inner, p.Number(4)), p.Number(a));
  return b.Select(b.Binary(LoopOp::kLt, x, one), near, b.Select(b.Binary(LoopOp::kLt, x, two), far, zero));
}

// The unscaled weight of input j (loop dim 1) for output i (loop dim 0).
Handle AntialiasedWeight(Positions& p, const Node& node, size_t s, bool cubic) {
  LoopBuilder& b = p.builder();
  const Dim& in = node.inputs[0]->shape[2 + s];
  const Handle scale = ScaleOf(p, node, s), one = p.Number(1), half = p.Number(0.5), zero = p.Number(0);
  const Handle widened = p.Max(scale, one), support = p.Mul(p.Number(cubic ? 2 : 1), widened);
  const Handle center = p.Mul(scale, p.Add(p.Index(0), half)), j = p.Index(1);
  const auto whole = [&](Handle x) { return b.Unary(LoopOp::kTrunc, x); };
  const Handle first = p.Max(whole(p.Add(p.Sub(center, support), half)), zero);
  const Handle end = p.Min(whole(p.Add(p.Add(center, support), half)), p.Extent(in));
  const Handle distance = p.Div(p.Add(p.Sub(j, center), half), widened);
  const Handle reached = b.Binary(LoopOp::kLogicalAnd, b.Binary(LoopOp::kGe, j, first), b.Binary(LoopOp::kLt, j, end));
  return b.Select(reached, Kernel(p, distance, cubic), zero);
}

// [out, in], rows summing to 1.
Value* WeightMatrix(const Node& node, LoweringBuilder& builder, size_t s, bool cubic) {
  const Shape shape = {node.outputs[0]->shape[2 + s], node.inputs[0]->shape[2 + s]};
  const DType dtype = ComputeDType(node.inputs[0]->dtype);
  LoopBuilder weights, sums;
  Positions p(weights, dtype), q(sums, dtype);
  weights.Result(AntialiasedWeight(p, node, s, cubic));
  sums.Result(AntialiasedWeight(q, node, s, cubic));
  Value* matrix = builder.Map(shape, {}, std::move(weights).Build());
  ReduceStep sum{.extents = shape, .reduced = 1, .op = ReduceOp::kSum, .accumulator = dtype, .program = std::move(sums).Build(), .finish = {}};
  Value* total = builder.Reduce(std::move(sum), {}, {shape[0]}, dtype);
  return builder.Map({matrix, builder.Unsqueeze(total, 1)}, [](LoopBuilder& b, std::span<const Handle> x) { return b.Binary(LoopOp::kDiv, x[0], x[1]); });
}

template <bool cubic>
Status LowerAntialiased(const Node& node, LoweringBuilder& builder) {
  const DType dtype = ComputeDType(node.inputs[0]->dtype);
  Value* x = builder.Cast(node.inputs[0], dtype);
  Value *rows = WeightMatrix(node, builder, 0, cubic), *columns = WeightMatrix(node, builder, 1, cubic);
  Value* wide = builder.MatMul(x, builder.Transpose(columns, 0, 1), dtype);
  builder.Replace(0, builder.Cast(builder.MatMul(rows, wide, dtype), node.outputs[0]->dtype));
  return OkStatus();
}

// --- Sampling by a grid ---------------------------------------------------------------------------------------------

enum class Filling { kZeros, kBorder, kReflection };

struct GridPlan {
  size_t spatial;
  int64_t mode;  // 0: linear, 1: nearest, 2: cubic
  Filling filling;
  bool aligned;
};

GridPlan PlanGrid(const Node& node) {
  const Arguments args(node);
  return {node.inputs[0]->shape.size() - 2, args.Int("interpolation_mode"), static_cast<Filling>(args.Int("padding_mode")),
          args.Bool("align_corners")};
}

Status InferGridSample(Node& node) {
  const Shape &x = node.inputs[0]->shape, &grid = node.inputs[1]->shape;
  if (x.size() != grid.size() || x.size() < 4 || x.size() > 5) return InvalidArgument("input and grid of ranks {} and {}", x.size(), grid.size());
  if (node.inputs[0]->dtype != node.inputs[1]->dtype) return InvalidArgument("input of {}, grid of {}", Name(node.inputs[0]->dtype), Name(node.inputs[1]->dtype));
  const GridPlan plan = PlanGrid(node);
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, grid.back(), Dim(static_cast<int64_t>(plan.spatial)), "the coordinates of a grid"));
  if (plan.mode < 0 || plan.mode > 2 || (plan.mode == 2 && plan.spatial != 2)) return InvalidArgument("interpolation_mode {} of {} dims", plan.mode, plan.spatial);
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, x[0], grid[0], "the batches of input and grid"));
  Shape shape = {x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

// From [-1, 1] to positions: the centres of the corners, or their edges.
Handle Unnormalised(Positions& p, Handle x, const Dim& extent, bool aligned) {
  const Handle one = p.Number(1), half = p.Number(0.5);
  if (aligned) return p.Mul(p.Mul(p.Add(x, one), half), p.Extent(extent - Dim(1)));
  return p.Mul(p.Sub(p.Mul(p.Add(x, one), p.Extent(extent)), one), half);
}

// Mirrors at low / 2 and high / 2.
Handle Reflected(Positions& p, Handle x, const Dim& twice_low, const Dim& twice_high) {
  LoopBuilder& b = p.builder();
  if (twice_low == twice_high) return p.Number(0);
  const Handle low = p.Mul(p.Extent(twice_low), p.Number(0.5)), span = p.Mul(p.Extent(twice_high - twice_low), p.Number(0.5));
  const Handle distance = p.Abs(p.Sub(x, low));
  const Handle extra = b.Binary(LoopOp::kFmod, distance, span), flips = p.Floor(p.Div(distance, span));
  const Handle even = b.Binary(LoopOp::kEq, b.Binary(LoopOp::kFmod, flips, p.Number(2)), p.Number(0));
  return b.Select(even, p.Add(extra, low), p.Add(p.Sub(span, extra), low));
}

Handle Filled(Positions& p, Handle x, const Dim& extent, const GridPlan& plan) {
  if (plan.filling == Filling::kZeros) return x;
  if (plan.filling == Filling::kReflection) {
    x = plan.aligned ? Reflected(p, x, Dim(0), Dim(2) * (extent - Dim(1))) : Reflected(p, x, Dim(-1), Dim(2) * extent - Dim(1));
  }
  return p.Min(p.Max(x, p.Number(0)), p.Extent(extent - Dim(1)));
}

std::vector<Tap> GridTaps(Positions& p, Handle x, const Dim& extent, const GridPlan& plan) {
  const auto tap = [&](Handle at, Handle weight) {
    return Tap{p.Clamped(at, extent), weight, plan.filling == Filling::kZeros ? p.IsInside(at, extent) : Handle(-1)};
  };
  const Handle at = Unnormalised(p, x, extent, plan.aligned), one = p.Number(1);
  if (plan.mode == 1) return {tap(p.builder().Unary(LoopOp::kRound, Filled(p, at, extent, plan)), -1)};
  if (plan.mode == 0) {
    const Handle place = Filled(p, at, extent, plan), floor = p.Floor(place), weight = p.Sub(place, floor);
    return {tap(floor, p.Sub(one, weight)), tap(p.Add(floor, one), weight)};
  }
  const Handle floor = p.Floor(at);
  const std::vector<Handle> weights = CubicWeights(p, p.Sub(at, floor), kCubic);
  std::vector<Tap> taps;
  for (int i = 0; i < 4; ++i) taps.push_back(tap(Filled(p, p.Add(floor, p.Number(i - 1)), extent, plan), weights[static_cast<size_t>(i)]));
  return taps;
}

Status LowerGridSample(const Node& node, LoweringBuilder& builder) {
  Value *x = node.inputs[0], *grid = node.inputs[1];
  const GridPlan plan = PlanGrid(node);
  LoopBuilder b;
  Positions p(b, x->dtype);
  std::vector<std::vector<Tap>> dims;
  for (size_t s = 0; s < plan.spatial; ++s) {
    Access at{1, {IndexExpression::LoopDim(0)}, 0};
    for (size_t d = 0; d < plan.spatial; ++d) at.index.push_back(IndexExpression::LoopDim(ToInt(d) + 2));
    at.index.push_back(IndexExpression::At(Dim(static_cast<int64_t>(plan.spatial - 1 - s))));  // the grid lists the last dim first
    dims.push_back(GridTaps(p, b.Cast(b.Load(at, grid->dtype), p.dtype()), x->shape[2 + s], plan));
  }
  b.Result(b.Cast(SumTaps(p, dims, 0, IdentityAccess(2 + plan.spatial), -1, x->dtype), x->dtype));
  builder.Replace(0, builder.Map(node.outputs[0]->shape, {x, grid}, std::move(b).Build()));
  return OkStatus();
}

// affine_grid_generator: theta [N, D, D + 1] applied to every place of [-1, 1]^D.
Status InferAffineGrid(Node& node) {
  const Shape& theta = node.inputs[0]->shape;
  const Shape size = Arguments(node).Sizes("size");
  if (size.size() < 4 || size.size() > 5) return InvalidArgument("size {}, expected 4 or 5 dims", ToString(size));
  const int64_t spatial = static_cast<int64_t>(size.size()) - 2;
  if (theta.size() != 3) return InvalidArgument("theta of rank {}, expected 3", theta.size());
  for (size_t d = 0; d < 3; ++d) {
    const Dim expected = d == 0 ? size[0] : Dim(spatial + static_cast<int64_t>(d) - 1);
    TONDAR_RETURN_IF_ERROR(AssumeEqual(node, theta[d], expected, "theta"));
  }
  Shape shape = {size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(Dim(spatial));
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerAffineGrid(const Node& node, LoweringBuilder& builder) {
  Value* theta = node.inputs[0];
  const Shape& shape = node.outputs[0]->shape;
  const size_t spatial = shape.size() - 2;
  const bool aligned = Arguments(node).Bool("align_corners");
  LoopBuilder b;
  Positions p(b, theta->dtype);
  const auto coefficient = [&](size_t column) {
    const Access at{0, {IndexExpression::LoopDim(0), IndexExpression::LoopDim(ToInt(spatial) + 1), IndexExpression::At(Dim(static_cast<int64_t>(column)))}, 0};
    return b.Cast(b.Load(at, theta->dtype), p.dtype());
  };
  Handle sum = coefficient(spatial);
  for (size_t column = 0; column < spatial; ++column) {
    const size_t d = spatial - column;  // x, the first column, is the last dim
    const Dim& extent = shape[d];
    const Handle steps = aligned ? p.Extent(extent - Dim(1)) : p.Extent(extent);
    const Handle doubled = p.Mul(p.Index(ToInt(d)), p.Number(2));
    const Handle shifted = aligned ? doubled : p.Add(doubled, p.Number(1));
    const Handle at = aligned && extent.Is(1) ? p.Number(0) : p.Sub(p.Div(shifted, steps), p.Number(1));
    sum = p.Add(sum, p.Mul(at, coefficient(column)));
  }
  b.Result(b.Cast(sum, theta->dtype));
  builder.Replace(0, builder.Map(shape, {theta}, std::move(b).Build()));
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), std::string signature) {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.infer = infer;
  schema.lower = lower;
  return schema;
}

// aten.<name>.vec and aten.<name>.default.
std::vector<SourceForm> SizedSources(const std::string& name) {
  return {{"aten." + name + ".vec", "(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors)"},
          {"aten." + name + ".default",
           "(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None)",
           {{"self", "input"}}, CollectScales}};
}

}  // namespace

std::vector<OpSchema> ResamplingOps() {
  const std::string sized = "(Tensor input, SymInt[]? output_size=None, bool align_corners=False, float[]? scale_factors=None)";
  const std::string grid = "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)";
  return {
      Row("upsample_cubic", SizedSources("upsample_bicubic2d"), InferSized, LowerCubic, sized),
      Row("upsample_linear_aa", SizedSources("_upsample_bilinear2d_aa"), InferSized, LowerAntialiased<false>, sized),
      Row("upsample_cubic_aa", SizedSources("_upsample_bicubic2d_aa"), InferSized, LowerAntialiased<true>, sized),
      Row("grid_sampler", {{"aten.grid_sampler.default", grid}, {"aten.grid_sampler_2d.default", grid}, {"aten.grid_sampler_3d.default", grid}},
          InferGridSample, LowerGridSample, grid),
      Row("affine_grid", {{"aten.affine_grid_generator.default", "(Tensor theta, SymInt[] size, bool align_corners)"}},
          InferAffineGrid, LowerAffineGrid, "(Tensor theta, SymInt[] size, bool align_corners)"),
  };
}

}  // namespace tondar
