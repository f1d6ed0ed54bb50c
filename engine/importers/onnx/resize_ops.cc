// Resize and Upsample, down to the release that brought each attribute.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/importers/onnx/op_table.h"

namespace tondar::onnx_format {
namespace {

// What a node asks for, one entry per dim of the input.
struct Target {
  Shape sizes;
  std::vector<double> scales;  // empty: from the sizes
  std::vector<double> roi;     // begins, then ends; empty: the whole
};

// floor(extent * scale).
std::optional<Dim> ScaledExtent(const Dim& extent, double scale) {
  if (extent.IsConstant()) return Dim(static_cast<int64_t>(std::floor(static_cast<double>(extent.constant()) * scale)));
  const Scalar factor = Scalar::Real(scale);
  if (factor.real) return std::nullopt;
  return Dim::FloorDiv(extent * factor.top, Dim(factor.below));
}

std::vector<double> KnownNumbers(OpCall& call, size_t i, std::string_view what) {
  std::vector<double> numbers;
  const Content* content = call.Known(i);
  if (content == nullptr || !content->IsConstant()) {
    call.Fail(Unimplemented("{} that depend on data or on symbolic sizes", what));
    return numbers;
  }
  for (const Scalar& element : content->elements) numbers.push_back(element.Number());
  return numbers;
}

// Scales that are given for some axes, spread over all.
void ApplyScales(OpCall& call, const std::vector<size_t>& axes, const std::vector<double>& scales, Target& target) {
  if (scales.size() != axes.size()) return call.Fail(InvalidArgument("{} scales for {} axes", scales.size(), axes.size()));
  target.scales.assign(target.sizes.size(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!(scales[i] > 0) || scales[i] > 1e6) return call.Fail(InvalidArgument("scale {}", scales[i]));
    const std::optional<Dim> size = ScaledExtent(target.sizes[axes[i]], scales[i]);
    if (!size) return call.Fail(Unimplemented("a symbolic extent times {}", scales[i]));
    target.sizes[axes[i]] = *size;
    target.scales[axes[i]] = scales[i];
  }
}

// Sizes that fit into, or cover, the given ones at one scale for all axes.
void KeepAspect(OpCall& call, const std::string& policy, const std::vector<size_t>& axes, Target& target) {
  if (policy == "stretch") return;
  const Shape from = call.ShapeOf(0);
  std::optional<double> scale;
  for (const size_t d : axes) {
    if (!from[d].IsConstant() || !target.sizes[d].IsConstant()) return call.Fail(Unimplemented("{} of symbolic sizes", policy));
    const double each = static_cast<double>(target.sizes[d].constant()) / static_cast<double>(from[d].constant());
    scale = !scale ? each : policy == "not_larger" ? std::min(*scale, each) : std::max(*scale, each);
  }
  target.scales.assign(from.size(), 1);
  for (const size_t d : axes) {
    target.sizes[d] = Dim(static_cast<int64_t>(std::floor(*scale * static_cast<double>(from[d].constant()) + 0.5)));
    target.scales[d] = *scale;
  }
}

std::vector<size_t> AxesOf(OpCall& call) {
  if (call.HasAttribute("axes")) {  // in the order given
    std::vector<size_t> axes;
    for (const int64_t axis : call.Ints("axes")) axes.push_back(call.Axis(axis, call.ShapeOf(0).size()));
    return axes;
  }
  std::vector<size_t> all(call.ShapeOf(0).size());
  for (size_t d = 0; d < all.size(); ++d) all[d] = d;
  return all;
}

// Empty tensors stand for absent ones.
bool Given(OpCall& call, size_t i) { return call.Has(i) && !ElementCount(call.ShapeOf(i)).Is(0); }

Target ReadTarget(OpCall& call) {
  Target target{.sizes = call.ShapeOf(0), .scales = {}, .roi = {}};
  const std::vector<size_t> axes = AxesOf(call);
  const size_t rank = target.sizes.size();
  if (Given(call, 2)) {
    ApplyScales(call, axes, KnownNumbers(call, 2, "scales"), target);
  } else if (Given(call, 3)) {
    const Shape sizes = call.RequireDims(3, "sizes");
    if (call.ok() && sizes.size() != axes.size()) call.Fail(InvalidArgument("{} sizes for {} axes", sizes.size(), axes.size()));
    for (size_t i = 0; i < axes.size() && call.ok(); ++i) target.sizes[axes[i]] = sizes[i];
    if (call.ok()) KeepAspect(call, call.String("keep_aspect_ratio_policy", "stretch"), axes, target);
  } else {
    call.Fail(InvalidArgument("neither scales nor sizes"));
  }
  if (!call.ok() || !Given(call, 1) || call.String("coordinate_transformation_mode", "") != "tf_crop_and_resize") return target;
  const std::vector<double> roi = KnownNumbers(call, 1, "a region of interest");
  if (call.ok() && roi.size() != 2 * axes.size()) call.Fail(InvalidArgument("a region of {} values", roi.size()));
  if (!call.ok()) return target;
  target.roi.assign(2 * rank, 0);
  std::fill(target.roi.begin() + static_cast<ptrdiff_t>(rank), target.roi.end(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    target.roi[axes[i]] = roi[i];
    target.roi[rank + axes[i]] = roi[axes.size() + i];
  }
  return target;
}

// --- Smoothing before sampling less: each output is a weighted mean of all inputs that its stretched filter covers. ---

double Filter(const std::string& mode, double a, double t) {
  t = std::abs(t);
  if (mode == "linear") return std::max(0.0, 1 - t);
  if (t < 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((t - 5) * a * t + 8 * a) * t - 4 * a : 0;
}

// [in, out] weights along one dim.
tondar::Constant SmoothingMatrix(OpCall& call, int64_t in, int64_t out, double scale, const std::string& coordinates) {
  const std::string mode = call.String("mode", "nearest");
  const double a = call.Float("cubic_coeff_a", -0.75), stretch = std::max(1.0, 1 / scale);
  const bool exclude = call.Int("exclude_outside", 0) != 0;
  tondar::Constant matrix = AllocateConstant("smoothing", DType::kFloat32, {in, out});
  auto* weights = matrix.view.as<float>();
  std::memset(matrix.view.data, 0, matrix.view.size_bytes());
  for (int64_t o = 0; o < out; ++o) {
    double at = (static_cast<double>(o) + 0.5) / scale - 0.5;
    if (coordinates == "align_corners") at = out > 1 ? static_cast<double>(o * (in - 1)) / static_cast<double>(out - 1) : 0;
    if (coordinates == "asymmetric") at = static_cast<double>(o) / scale;
    const double reach = (mode == "linear" ? 1 : 2) * stretch;
    double total = 0;
    std::vector<std::pair<int64_t, double>> taps;
    for (auto i = static_cast<int64_t>(std::floor(at - reach)); i <= static_cast<int64_t>(std::ceil(at + reach)); ++i) {
      const double weight = Filter(mode, a, (static_cast<double>(i) - at) / stretch);
      if (weight == 0 || (exclude && (i < 0 || i >= in))) continue;
      taps.emplace_back(std::clamp<int64_t>(i, 0, in - 1), weight);
      total += weight;
    }
    for (const auto& [i, weight] : taps) weights[i * out + o] += static_cast<float>(weight / total);
  }
  return matrix;
}

void Smooth(OpCall& call, const Target& target) {
  const Shape from = call.ShapeOf(0);
  const std::string coordinates = call.String("coordinate_transformation_mode", "half_pixel");
  Value* x = call.Cast(call.In(0), DType::kFloat32);
  for (size_t d = 0; d < from.size() && call.ok(); ++d) {
    if (from[d] == target.sizes[d]) continue;
    if (!from[d].IsConstant() || !target.sizes[d].IsConstant()) return call.Fail(Unimplemented("antialias of symbolic sizes"));
    const int64_t in = from[d].constant(), out = target.sizes[d].constant();
    const double scale = target.scales.empty() ? static_cast<double>(out) / static_cast<double>(in) : target.scales[d];
    std::vector<int64_t> swap;
    for (size_t i = 0; i < from.size(); ++i) swap.push_back(static_cast<int64_t>(i == d ? from.size() - 1 : i + 1 == from.size() ? d : i));
    Value* matrix = call.Constant(SmoothingMatrix(call, in, out, scale, coordinates));
    x = call.Permute(call.Op("matmul", {call.Permute(x, swap), matrix}), swap);
  }
  call.Give(call.Cast(x, call.TypeOf(0)));
}

// --- The operators --------------------------------------------------------------------------------------------------

void Emit(OpCall& call, const Target& target, const std::string& coordinates, const std::string& nearest) {
  if (!call.ok()) return;
  Attributes attributes{{"sizes", target.sizes}, {"mode", call.String("mode", "nearest")}, {"coordinates", coordinates},
                        {"nearest", nearest}, {"cubic_coeff", call.Float("cubic_coeff_a", -0.75)},
                        {"exclude_outside", call.Int("exclude_outside", 0) != 0},
                        {"outside", call.Float("extrapolation_value", 0)}};
  if (!target.scales.empty()) attributes["scales"] = target.scales;
  if (!target.roi.empty()) attributes["roi"] = target.roi;
  call.Give(call.Op("resize", {call.In(0)}, std::move(attributes)));
}

// Up to operator set 10 places count from the edge and round down.
void FromEdge(OpCall& call, const std::vector<double>& scales) {
  Target target{.sizes = call.ShapeOf(0), .scales = {}, .roi = {}};
  ApplyScales(call, AxesOf(call), scales, target);
  Emit(call, target, "asymmetric", "floor");
}

void Upsample(OpCall& call, const OpRow&) {
  FromEdge(call, call.version() < 9 ? call.Floats("scales") : KnownNumbers(call, 1, "scales"));
}

void Resize(OpCall& call, const OpRow&) {
  if (call.version() < 11) return FromEdge(call, KnownNumbers(call, 1, "scales"));
  const Target target = ReadTarget(call);
  const bool smooth = call.Int("antialias", 0) != 0 && call.String("mode", "nearest") != "nearest";
  if (call.ok() && smooth) return Smooth(call, target);
  Emit(call, target, call.String("coordinate_transformation_mode", "half_pixel"), call.String("nearest_mode", "round_prefer_floor"));
}

// Names of modes changed with release 20; the engine numbers them.
void GridSample(OpCall& call, const OpRow&) {
  static constexpr std::pair<std::string_view, int64_t> kModes[] = {
      {"linear", 0}, {"bilinear", 0}, {"nearest", 1}, {"cubic", 2}, {"bicubic", 2}};
  static constexpr std::pair<std::string_view, int64_t> kPaddings[] = {{"zeros", 0}, {"border", 1}, {"reflection", 2}};
  auto number_of = [&](const auto& table, const std::string& name) {
    for (const auto& [known, number] : table) {
      if (known == name) return Dim(number);
    }
    call.Fail(InvalidArgument("mode '{}'", name));
    return Dim(0);
  };
  call.Give(call.Op("grid_sampler", {call.In(0), call.In(1)},
                    {{"interpolation_mode", number_of(kModes, call.String("mode", "linear"))},
                     {"padding_mode", number_of(kPaddings, call.String("padding_mode", "zeros"))},
                     {"align_corners", call.Int("align_corners", 0) != 0}}));
}

constexpr OpRow kRows[] = {
    {"GridSample", GridSample, "", 2, 2},
    {"Resize", Resize, "", 1, 4},
    {"Upsample", Upsample, "", 1, 2},
};

}  // namespace

std::span<const OpRow> ResizeOps() { return kRows; }

}  // namespace tondar::onnx_format
