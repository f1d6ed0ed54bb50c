// resize: resampling of any dims with every way of coordinates, as ONNX Resize defines it.
//
// The dims are independent: each that changes is one map of one (nearest), two (linear) or four (cubic) loads.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;
constexpr DType kReal = DType::kFloat32;  // coordinates, as ONNX Runtime computes them

// One dim on its way from `in` to `out` elements.
struct ResizedDim {
  int dim = 0;
  Dim in, out;
  double scale = 0;            // out / in as the caller states it; 0: from the extents
  double roi_begin = 0, roi_end = 1;
};

struct Resize {
  std::string mode, coordinates, nearest;
  double cubic = -0.75, outside = 0;
  bool exclude_outside = false;
};

// Writes coordinates in f32, one dim at a time.
struct Coordinates {
  LoopBuilder& b;
  const ResizedDim& dim;

  Handle Number(double value) { return b.Constant(value, kReal); }
  Handle Real(const Dim& value) { return b.Cast(b.Size(value), kReal); }
  Handle Add(Handle x, Handle y) { return b.Binary(LoopOp::kAdd, x, y); }
  Handle Sub(Handle x, Handle y) { return b.Binary(LoopOp::kSub, x, y); }
  Handle Mul(Handle x, Handle y) { return b.Binary(LoopOp::kMul, x, y); }
  Handle Div(Handle x, Handle y) { return b.Binary(LoopOp::kDiv, x, y); }
  Handle Index() { return b.Cast(b.Index(dim.dim), kReal); }
  Handle Scale() { return dim.scale > 0 ? Number(static_cast<float>(dim.scale)) : Div(Real(dim.out), Real(dim.in)); }
  // 0 where there is one output only, whose extent may be symbolic.
  Handle UnlessSingle(Handle otherwise, Handle value) {
    if (dim.out.IsConstant()) return dim.out.Is(1) ? otherwise : value;
    return b.Select(b.Binary(LoopOp::kGt, Real(dim.out), Number(1)), value, otherwise);
  }
};

Handle HalfPixel(Coordinates c) { return c.Sub(c.Div(c.Add(c.Index(), c.Number(0.5)), c.Scale()), c.Number(0.5)); }
Handle Asymmetric(Coordinates c) { return c.Div(c.Index(), c.Scale()); }
Handle PytorchHalfPixel(Coordinates c) { return c.UnlessSingle(c.Number(0), HalfPixel(c)); }

Handle AlignCorners(Coordinates c) {
  const Handle last = c.Real(c.dim.out - Dim(1));
  return c.UnlessSingle(c.Number(0), c.Div(c.Mul(c.Index(), c.Real(c.dim.in - Dim(1))), last));
}

// The window is centred although rounding took some of it.
Handle HalfPixelSymmetric(Coordinates c) {
  const Handle in = c.Real(c.dim.in), adjustment = c.Div(c.Real(c.dim.out), c.Mul(c.Scale(), in));
  const Handle centre = c.Div(in, c.Number(2)), offset = c.Mul(centre, c.Sub(c.Number(1), adjustment));
  return c.Add(offset, HalfPixel(c));
}

Handle CropAndResize(Coordinates c) {
  const double begin = c.dim.roi_begin, end = c.dim.roi_end;
  const Handle last = c.Real(c.dim.in - Dim(1));
  const Handle step = c.Div(c.Mul(c.Number(static_cast<float>(end) - static_cast<float>(begin)), last), c.Real(c.dim.out - Dim(1)));
  const Handle inside = c.Add(c.Mul(c.Number(begin), last), c.Mul(c.Index(), step));
  return c.UnlessSingle(c.Mul(c.Number(0.5 * (begin + end)), last), inside);
}

struct CoordinateRow {
  std::string_view name;
  Handle (*position)(Coordinates);
};
constexpr CoordinateRow kCoordinates[] = {
    {"half_pixel", HalfPixel},        {"asymmetric", Asymmetric},
    {"pytorch_half_pixel", PytorchHalfPixel}, {"align_corners", AlignCorners},
    {"half_pixel_symmetric", HalfPixelSymmetric}, {"tf_crop_and_resize", CropAndResize},
};

const CoordinateRow* FindCoordinates(std::string_view name) {
  for (const CoordinateRow& row : kCoordinates) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// How a coordinate rounds to a place.
struct RoundingRow {
  std::string_view name;
  double shift;
  LoopOp op;
};
constexpr RoundingRow kRoundings[] = {
    {"round_prefer_floor", -0.5, LoopOp::kCeil}, {"round_prefer_ceil", 0.5, LoopOp::kFloor},
    {"floor", 0, LoopOp::kFloor},                {"ceil", 0, LoopOp::kCeil},
};

const RoundingRow* FindRounding(std::string_view name) {
  for (const RoundingRow& row : kRoundings) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::vector<double> Numbers(const Arguments& args, std::string_view name) {
  const auto* values = std::get_if<std::vector<double>>(&args.Raw(name));
  return values == nullptr ? std::vector<double>() : *values;
}

Result<Resize> ReadResize(const Node& node) {
  const Arguments args(node);
  Resize resize{args.String("mode"), args.String("coordinates"), args.String("nearest"), args.Number("cubic_coeff"),
                args.Number("outside"), args.Bool("exclude_outside")};
  if (resize.mode != "nearest" && resize.mode != "linear" && resize.mode != "cubic") return InvalidArgument("mode '{}' is unknown", resize.mode);
  if (FindCoordinates(resize.coordinates) == nullptr) return InvalidArgument("coordinates '{}' are unknown", resize.coordinates);
  if (FindRounding(resize.nearest) == nullptr) return InvalidArgument("rounding '{}' is unknown", resize.nearest);
  return resize;
}

Status InferResize(Node& node) {
  const Arguments args(node);
  TONDAR_RETURN_IF_ERROR(ReadResize(node).status());
  const Value* x = node.inputs[0];
  const size_t rank = x->shape.size(), scales = Numbers(args, "scales").size(), roi = Numbers(args, "roi").size();
  Shape sizes = args.Sizes("sizes");
  if (sizes.size() != rank || (scales != 0 && scales != rank) || (roi != 0 && roi != 2 * rank)) {
    return InvalidArgument("{} sizes, {} scales and {} bounds for a tensor of rank {}", sizes.size(), scales, roi, rank);
  }
  if (!IsFloat(x->dtype) && !IsInteger(x->dtype)) return Unimplemented("resize of {}", Name(x->dtype));
  SetOutput(node, 0, x->dtype, std::move(sizes));
  return OkStatus();
}

// Dims that change; of a crop, all that are cropped.
std::vector<ResizedDim> DimsOf(const Node& node, const Resize& resize) {
  const Arguments args(node);
  const Shape &in = node.inputs[0]->shape, &out = node.outputs[0]->shape;
  const std::vector<double> scales = Numbers(args, "scales"), roi = Numbers(args, "roi");
  const bool crop = resize.coordinates == "tf_crop_and_resize";
  std::vector<ResizedDim> dims;
  for (size_t d = 0; d < in.size(); ++d) {
    ResizedDim dim{static_cast<int>(d), in[d], out[d], scales.empty() ? 0 : scales[d]};
    if (!roi.empty()) dim.roi_begin = roi[d], dim.roi_end = roi[in.size() + d];
    const bool cropped = crop && (dim.roi_begin != 0 || dim.roi_end != 1);
    if (!(in[d] == out[d]) || (dim.scale != 0 && dim.scale != 1) || cropped) dims.push_back(std::move(dim));
  }
  return dims;
}

// The whole number of times that nearest sampling shows each element, one after the other; 0 if there is none.
Dim Repeats(const ResizedDim& dim, const Resize& resize) {
  const Dim ratio = Dim::FloorDiv(dim.out, dim.in);
  const bool whole = ratio.IsConstant() && ratio.constant() > 0 && ratio * dim.in == dim.out &&
                     (dim.scale == 0 || dim.scale == static_cast<double>(ratio.constant()));
  const bool from_edge = resize.coordinates == "asymmetric" && resize.nearest == "floor";
  const bool centred = resize.coordinates == "half_pixel" && resize.nearest.starts_with("round");
  return resize.mode == "nearest" && whole && (from_edge || centred) ? ratio : Dim(0);
}

Value* Repeat(LoweringBuilder& builder, Value* x, const ResizedDim& dim, const Dim& times) {
  const size_t d = static_cast<size_t>(dim.dim);
  if (x->shape.size() == static_cast<size_t>(kMaxRank)) return nullptr;
  Shape split = x->shape, wide, joined = x->shape;
  split.insert(split.begin() + static_cast<ptrdiff_t>(d) + 1, Dim(1));
  wide = split;
  wide[d + 1] = times;
  joined[d] = dim.out;
  return builder.Reshape(builder.Expand(builder.Reshape(x, split), wide), joined);
}

// One element that contributes to the result, and by how much.
struct Tap {
  Handle at, weight;
};

// max(0, min(at, last)) as a place.
Handle Clamped(Coordinates c, Handle at) {
  const Handle last = c.b.Size(c.dim.in - Dim(1)), zero = c.b.ConstantInteger(0, DType::kInt64);
  return c.b.Binary(LoopOp::kMax, zero, c.b.Binary(LoopOp::kMin, at, last));
}

std::vector<Tap> NearestTaps(Coordinates c, const Resize& resize, Handle x) {
  const RoundingRow& rounding = *FindRounding(resize.nearest);
  const Handle shifted = rounding.shift == 0 ? x : c.Add(x, c.Number(rounding.shift));
  return {{Clamped(c, c.b.Cast(c.b.Unary(rounding.op, shifted), DType::kInt64)), -1}};
}

std::vector<Tap> LinearTaps(Coordinates c, Handle x) {
  const Handle inside = c.b.Binary(LoopOp::kMax, c.Number(0), c.b.Binary(LoopOp::kMin, x, c.Real(c.dim.in - Dim(1))));
  const Handle first = c.b.Cast(c.b.Unary(LoopOp::kFloor, inside), DType::kInt64);
  const Handle second = c.b.Binary(LoopOp::kAdd, first, c.b.ConstantInteger(1, DType::kInt64));
  const Handle weight = c.Sub(inside, c.b.Cast(first, kReal));
  return {{Clamped(c, first), c.Sub(c.Number(1), weight)}, {Clamped(c, second), weight}};
}

// Keys' kernel with parameter a at distance t, on [0, 1] or [1, 2].
Handle CubicNear(Coordinates c, double a, Handle t) {
  const Handle inner = c.Sub(c.Mul(c.Number(a + 2), t), c.Number(a + 3));
  return c.Add(c.Mul(c.Mul(inner, t), t), c.Number(1));
}
Handle CubicFar(Coordinates c, double a, Handle t) {
  const Handle inner = c.Add(c.Mul(c.Sub(c.Mul(c.Number(a), t), c.Number(5 * a)), t), c.Number(8 * a));
  return c.Sub(c.Mul(inner, t), c.Number(4 * a));
}

std::vector<Tap> CubicTaps(Coordinates c, const Resize& resize, Handle x) {
  const Handle base = c.b.Unary(LoopOp::kFloor, x), t = c.Sub(x, base), place = c.b.Cast(base, DType::kInt64);
  const Handle one = c.Number(1), rest = c.Sub(one, t);
  const double a = resize.cubic;
  const std::array<Handle, 4> weights = {CubicFar(c, a, c.Add(t, one)), CubicNear(c, a, t), CubicNear(c, a, rest), CubicFar(c, a, c.Add(rest, one))};
  std::vector<Tap> taps;
  Handle total = c.Number(0);
  for (int64_t i = 0; i < 4; ++i) {
    const Handle at = c.b.Binary(LoopOp::kAdd, place, c.b.ConstantInteger(i - 1, DType::kInt64));
    Handle weight = weights[static_cast<size_t>(i)];
    if (resize.exclude_outside) {
      const Handle inside = c.b.Binary(LoopOp::kEq, at, Clamped(c, at));
      weight = c.b.Select(inside, weight, c.Number(0));
      total = c.Add(total, weight);
    }
    taps.push_back({Clamped(c, at), weight});
  }
  for (Tap& tap : taps) {
    if (resize.exclude_outside) tap.weight = c.Div(tap.weight, total);
  }
  return taps;
}

std::vector<Tap> TapsOf(Coordinates c, const Resize& resize, Handle x) {
  if (resize.mode == "nearest") return NearestTaps(c, resize, x);
  return resize.mode == "linear" ? LinearTaps(c, x) : CubicTaps(c, resize, x);
}

Value* ResizeDim(LoweringBuilder& builder, Value* x, const ResizedDim& dim, const Resize& resize) {
  if (const Dim times = Repeats(dim, resize); !times.Is(0)) {
    if (Value* repeated = Repeat(builder, x, dim, times)) return repeated;
  }
  LoopBuilder b;
  const Coordinates c{b, dim};
  const Handle position = FindCoordinates(resize.coordinates)->position(c);
  Access access{.operand = 0, .index = {}};
  for (size_t d = 0; d < x->shape.size(); ++d) access.index.push_back(IndexExpression::LoopDim(static_cast<int>(d)));
  const bool nearest = resize.mode == "nearest";
  const DType compute = nearest ? x->dtype : IsFloat(x->dtype) ? ComputeDType(x->dtype) : kReal;
  Handle value = -1;
  for (const Tap& tap : TapsOf(c, resize, position)) {
    access.index[static_cast<size_t>(dim.dim)] = IndexExpression::Dynamic(tap.at);
    Handle part = b.Cast(b.Load(access, x->dtype), compute);
    if (tap.weight >= 0) part = b.Binary(LoopOp::kMul, part, b.Cast(tap.weight, compute));
    value = value < 0 ? part : b.Binary(LoopOp::kAdd, value, part);
  }
  if (resize.coordinates == "tf_crop_and_resize") {
    const Handle below = b.Binary(LoopOp::kLt, position, b.Constant(0, kReal));
    const Handle above = b.Binary(LoopOp::kGt, position, b.Cast(b.Size(dim.in - Dim(1)), kReal));
    value = b.Select(b.Binary(LoopOp::kLogicalOr, below, above), b.Constant(resize.outside, compute), value);
  }
  b.Result(value);
  Shape extents = x->shape;
  extents[static_cast<size_t>(dim.dim)] = dim.out;
  return builder.Map(std::move(extents), {x}, std::move(b).Build());
}

Status LowerResize(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Resize resize, ReadResize(node));
  Value* x = node.inputs[0];
  for (const ResizedDim& dim : DimsOf(node, resize)) x = ResizeDim(builder, x, dim, resize);
  const DType dtype = node.outputs[0]->dtype;
  builder.Replace(0, builder.Reshape(builder.Cast(x, dtype), node.outputs[0]->shape));
  return OkStatus();
}

}  // namespace

std::vector<OpSchema> ResizeOps() {
  OpSchema resize{.name = "resize",
                  .sources = {},
                  .signature = "(Tensor input, SymInt[] sizes, float[]? scales=None, str mode='nearest', str "
                               "coordinates='half_pixel', str nearest='round_prefer_floor', float cubic_coeff=-0.75, bool "
                               "exclude_outside=False, float outside=0.0, float[]? roi=None)"};
  resize.infer = InferResize;
  resize.lower = LowerResize;
  return {std::move(resize)};
}

}  // namespace tondar
