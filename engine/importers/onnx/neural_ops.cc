// Products, convolutions, pooling and normalisation.
#include <algorithm>

#include "engine/importers/onnx/einsum.h"
#include "engine/importers/onnx/op_table.h"
#include "engine/ops/inference.h"
#include "onnx.pb.h"

namespace tondar::onnx_format {
namespace {

Dim ToDim(size_t d) { return Dim(static_cast<int64_t>(d)); }
Shape ToShape(const std::vector<int64_t>& values) { return Shape(values.begin(), values.end()); }
Value* With(OpCall& call, std::string_view op, Value* x, double number) { return call.Op(op, {x, nullptr}, {{"other", number}}); }

// --- Products -------------------------------------------------------------------------------------------------------

void MatMul(OpCall& call, const OpRow&) { call.Give(call.Op("matmul", {call.In(0), call.In(1)})); }

// alpha A B + beta C, A and B transposed at will.
void Gemm(OpCall& call, const OpRow&) {
  const bool trans_a = call.Int("transA", 0) != 0, trans_b = call.Int("transB", 0) != 0;
  const double alpha = call.Float("alpha", 1), beta = call.Float("beta", 1);
  if (call.ShapeOf(0).size() != 2 || call.ShapeOf(1).size() != 2) {
    return call.Fail(InvalidArgument("operands of rank {} and {}, expected 2", call.ShapeOf(0).size(), call.ShapeOf(1).size()));
  }
  Value* a = trans_a ? call.Permute(call.In(0), {1, 0}) : call.In(0);
  const Shape c = call.ShapeOf(2);
  const Dim columns = call.ShapeOf(1)[trans_b ? 0 : 1];
  const bool is_row = c.size() == 1 || (c.size() == 2 && c[0].Is(1));
  const bool is_bias = !call.Has(2) || (is_row && c.back() == columns);
  if (alpha == 1 && (beta == 1 || !call.Has(2)) && is_bias && IsFloat(call.TypeOf(0))) {
    Value* weight = trans_b ? call.In(1) : call.Permute(call.In(1), {1, 0});
    return call.Give(call.Op("linear", {a, weight, call.Has(2) ? call.Reshape(call.In(2), {columns}) : nullptr}));
  }
  Value* product = call.Op("matmul", {a, trans_b ? call.Permute(call.In(1), {1, 0}) : call.In(1)});
  if (alpha != 1) product = With(call, "mul", product, alpha);
  if (call.Has(2)) product = call.Op("add", {product, beta == 1 ? call.In(2) : With(call, "mul", call.In(2), beta)});
  call.Give(product);
}

// --- Windows --------------------------------------------------------------------------------------------------------

// The window of a convolution or pool, one value per spatial dim.
struct Window {
  std::vector<int64_t> kernel, stride, dilation, begin, end;

  size_t rank() const { return kernel.size(); }
  int64_t reach(size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  bool even() const { return begin == end; }
  Shape padding() const {  // begins, then ends, as engine/ops takes them
    Shape both = ToShape(begin);
    both.insert(both.end(), end.begin(), end.end());
    return both;
  }
};

std::vector<int64_t> PerDim(OpCall& call, std::string_view name, size_t count, int64_t otherwise) {
  std::vector<int64_t> values = call.Ints(name);
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count) call.Fail(InvalidArgument("{} has {} values, expected {}", name, values.size(), count));
  values.resize(count, otherwise);
  return values;
}

// SAME: ceil(extent / stride) windows; the odd one of the zeros goes to the end (UPPER) or the begin (LOWER).
void PadSame(OpCall& call, Window& window, bool upper) {
  for (size_t d = 0; d < window.rank(); ++d) {
    const Dim extent = call.ShapeOf(0)[2 + d];
    int64_t total = window.reach(d) - window.stride[d];
    if (window.stride[d] != 1) {
      if (!extent.IsConstant()) return call.Fail(Unimplemented("auto_pad of a dynamic extent by strides"));
      const int64_t count = (extent.constant() + window.stride[d] - 1) / window.stride[d];
      total = (count - 1) * window.stride[d] + window.reach(d) - extent.constant();
    }
    total = std::max<int64_t>(total, 0);
    window.begin[d] = upper ? total / 2 : total - total / 2;
    window.end[d] = total - window.begin[d];
  }
}

std::optional<Window> ReadWindow(OpCall& call, std::vector<int64_t> kernel) {
  const size_t rank = kernel.size();
  if (rank < 1 || call.ShapeOf(0).size() != rank + 2) {
    call.Fail(InvalidArgument("a kernel of {} dims for a tensor of rank {}", rank, call.ShapeOf(0).size()));
    return std::nullopt;
  }
  Window window{std::move(kernel), PerDim(call, "strides", rank, 1), PerDim(call, "dilations", rank, 1), {}, {}};
  const std::vector<int64_t> pads = PerDim(call, "pads", 2 * rank, 0);
  window.begin.assign(pads.begin(), pads.begin() + static_cast<ptrdiff_t>(rank));
  window.end.assign(pads.begin() + static_cast<ptrdiff_t>(rank), pads.end());
  for (size_t d = 0; d < rank; ++d) {
    const bool sane = window.kernel[d] > 0 && window.stride[d] > 0 && window.dilation[d] > 0 && window.begin[d] >= 0 && window.end[d] >= 0;
    const bool small = std::max({window.kernel[d], window.stride[d], window.dilation[d], window.begin[d], window.end[d]}) < INT32_MAX;
    if (!sane || !small) call.Fail(InvalidArgument("kernel, stride, dilation or pad out of range in spatial dim {}", d));
  }
  if (!call.ok()) return std::nullopt;
  const std::string mode = call.String("auto_pad", "NOTSET");
  if (mode == "VALID") std::fill(window.begin.begin(), window.begin.end(), 0), window.end = window.begin;
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") PadSame(call, window, mode == "SAME_UPPER");
  return call.ok() ? std::optional(window) : std::nullopt;
}

std::optional<std::vector<int64_t>> KernelOf(OpCall& call) {
  std::vector<int64_t> kernel;
  const Shape weight = call.ShapeOf(1);
  for (size_t d = 2; d < weight.size(); ++d) {
    if (!weight[d].IsConstant()) {
      call.Fail(Unimplemented("a kernel of dynamic size"));
      return std::nullopt;
    }
    kernel.push_back(weight[d].constant());
  }
  const std::vector<int64_t> stated = call.Ints("kernel_shape");
  if (!stated.empty() && stated != kernel) {
    call.Fail(InvalidArgument("kernel_shape does not match the weight {}", ToString(weight)));
    return std::nullopt;
  }
  return kernel;
}

void Conv(OpCall& call, const OpRow&) {
  const std::optional<std::vector<int64_t>> kernel = KernelOf(call);
  const std::optional<Window> window = kernel ? ReadWindow(call, *kernel) : std::nullopt;
  if (!window) return;
  call.Give(call.Op("convolution", {call.In(0), call.In(1), call.In(2)},
                    {{"stride", ToShape(window->stride)}, {"padding", window->padding()},
                     {"dilation", ToShape(window->dilation)}, {"groups", Dim(call.Int("group", 1))}}));
}

// What output_shape or auto_pad leave to padding: total = stride (extent - 1) + output_padding + reach - output.
// What padding cannot do, for it is not negative, output_padding does.
void PadForOutput(OpCall& call, Window& window, std::vector<int64_t>& output_padding) {
  const std::string mode = call.String("auto_pad", "NOTSET");
  const std::vector<int64_t> wanted = call.Ints("output_shape");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (wanted.empty() && !same) return;
  if (!wanted.empty() && wanted.size() != window.rank()) return call.Fail(InvalidArgument("output_shape has {} values", wanted.size()));
  for (size_t d = 0; d < window.rank(); ++d) {
    const Dim extent = call.ShapeOf(0)[2 + d];
    const Dim output = wanted.empty() ? extent * Dim(window.stride[d]) : Dim(wanted[d]);
    const Dim total = (extent - Dim(1)) * Dim(window.stride[d]) + Dim(output_padding[d] + window.reach(d)) - output;
    if (!total.IsConstant()) return call.Fail(Unimplemented("output_shape of a dynamic extent"));
    const int64_t zeros = std::max<int64_t>(total.constant(), 0);
    output_padding[d] += zeros - total.constant();
    window.begin[d] = mode == "SAME_UPPER" ? zeros / 2 : zeros - zeros / 2;
    window.end[d] = zeros - window.begin[d];
  }
}

void ConvTranspose(OpCall& call, const OpRow&) {
  const std::optional<std::vector<int64_t>> kernel = KernelOf(call);
  // Its auto_pad is another one; it is read below.
  const std::optional<Window> read = kernel ? ReadWindow(call, *kernel) : std::nullopt;
  if (!read) return;
  Window window = *read;
  std::vector<int64_t> output_padding = PerDim(call, "output_padding", window.rank(), 0);
  PadForOutput(call, window, output_padding);
  if (!call.ok()) return;
  std::vector<int64_t> shared;
  for (size_t d = 0; d < window.rank(); ++d) shared.push_back(std::min(window.begin[d], window.end[d]));
  Value* y = call.Op("convolution", {call.In(0), call.In(1), call.In(2)},
                     {{"stride", ToShape(window.stride)}, {"padding", ToShape(shared)}, {"dilation", ToShape(window.dilation)},
                      {"groups", Dim(call.Int("group", 1))}, {"transposed", true}, {"output_padding", ToShape(output_padding)}});
  for (size_t d = 0; d < window.rank(); ++d) {  // where the two sides differ
    const int64_t front = window.begin[d] - shared[d], back = window.end[d] - shared[d];
    y = call.Slice(y, 2 + d, Dim(front), OpCall::Extent(y, 2 + d) - Dim(front + back));
  }
  call.Give(y);
}

std::string Pool(std::string_view name, size_t rank) { return fmt::format("{}{}d", name, rank); }

std::optional<Window> PoolWindow(OpCall& call) {
  const std::vector<int64_t> kernel = call.Ints("kernel_shape");
  std::optional<Window> window = ReadWindow(call, kernel);
  if (window && window->rank() > 3) {
    call.Fail(Unimplemented("pooling over {} dims", window->rank()));
    return std::nullopt;
  }
  return window;
}

// Positions within a plane become positions within the tensor.
Value* GlobalPositions(OpCall& call, Value* local) {
  const Shape x = call.ShapeOf(0);
  const Dim plane = ElementCount(Shape(x.begin() + 2, x.end()));
  Shape planes(x.size(), Dim(1));
  planes[0] = x[0], planes[1] = x[1];
  Value* number = call.Reshape(call.Op("arange", {}, {{"end", x[0] * x[1]}, {"dtype", DType::kInt64}}), planes);
  return call.Op("add", {local, call.Op("mul", {number, nullptr}, {{"other", plane}})});
}

void MaxPool(OpCall& call, const OpRow&) {
  const std::optional<Window> window = PoolWindow(call);
  if (!window) return;
  const Attributes attributes = {{"kernel_size", ToShape(window->kernel)}, {"stride", ToShape(window->stride)},
                                 {"padding", window->padding()}, {"dilation", ToShape(window->dilation)},
                                 {"ceil_mode", call.Int("ceil_mode", 0) != 0}};
  if (!call.Wants(1)) return call.Give(call.Op(Pool("max_pool", window->rank()), {call.In(0)}, attributes));
  if (call.Int("storage_order", 0) != 0) return call.Fail(Unimplemented("indices in column-major order"));
  const auto results = call.Ops(2, Pool("max_pool", window->rank()) + "_with_indices", {call.In(0)}, attributes);
  call.Give(results[0]);
  call.Give(GlobalPositions(call, results[1]), 1);
}

void AveragePool(OpCall& call, const OpRow&) {
  const std::optional<Window> window = PoolWindow(call);
  if (!window) return;
  call.Give(call.Op(Pool("avg_pool", window->rank()), {call.In(0)},
                    {{"kernel_size", ToShape(window->kernel)}, {"stride", ToShape(window->stride)},
                     {"padding", window->padding()}, {"dilation", ToShape(window->dilation)},
                     {"ceil_mode", call.Int("ceil_mode", 0) != 0},
                     {"count_include_pad", call.Int("count_include_pad", 0) != 0}}));
}

// x^p, element by element, of |x|.
Value* PowerOf(OpCall& call, Value* x, double p) {
  Value* size = call.Op("abs", {x});
  if (p == 1) return size;
  return call.Op("pow", {size, nullptr}, {{"exponent", p}});
}

// The p-norm of each window: its mean of powers times its size.
void LpPool(OpCall& call, const OpRow&) {
  const std::optional<Window> window = PoolWindow(call);
  if (!window) return;
  const double p = static_cast<double>(call.Int("p", 2));
  double size = 1;
  for (const int64_t k : window->kernel) size *= static_cast<double>(k);
  Value* mean = call.Op(Pool("avg_pool", window->rank()), {PowerOf(call, call.In(0), p)},
                        {{"kernel_size", ToShape(window->kernel)}, {"stride", ToShape(window->stride)},
                         {"padding", window->padding()}, {"dilation", ToShape(window->dilation)},
                         {"ceil_mode", call.Int("ceil_mode", 0) != 0}, {"divisor_override", Dim(1)}});
  call.Give(PowerOf(call, mean, 1 / p));
}

Attributes AllSpatial(OpCall& call) {
  Shape dims;
  for (size_t d = 2; d < call.ShapeOf(0).size(); ++d) dims.push_back(ToDim(d));
  return {{"dim", dims}, {"keepdim", true}};
}

void GlobalPool(OpCall& call, const OpRow& row) { call.Give(call.Op(row.op, {call.In(0)}, AllSpatial(call))); }

void GlobalLpPool(OpCall& call, const OpRow&) {
  const double p = static_cast<double>(call.Int("p", 2));
  call.Give(PowerOf(call, call.Op("sum", {PowerOf(call, call.In(0), p)}, AllSpatial(call)), 1 / p));
}

// --- Normalisation --------------------------------------------------------------------------------------------------

// Before operator set 13 over all dims from the axis on, taken as one.
void Softmax(OpCall& call, const OpRow& row) {
  const Shape shape = call.ShapeOf(0);
  const bool flat = call.version() < 13;
  const size_t axis = call.Axis(call.Int("axis", flat ? 1 : -1), shape.size());
  if (!call.ok()) return;
  if (!flat || axis + 1 == shape.size()) return call.Give(call.Op(row.op, {call.In(0)}, {{"dim", ToDim(axis)}}));
  Shape rows(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(axis));
  rows.push_back(ElementCount(Shape(shape.begin() + static_cast<ptrdiff_t>(axis), shape.end())));
  call.Give(call.Reshape(call.Op(row.op, {call.Reshape(call.In(0), rows)}, {{"dim", ToDim(axis)}}), shape));
}

void BatchNormalization(OpCall& call, const OpRow&) {
  if (call.Int("training_mode", 0) != 0) return call.Fail(Unimplemented("training mode"));
  call.Give(call.Op("batch_norm", {call.In(0), call.In(1), call.In(2), call.In(3), call.In(4)}, {{"eps", call.Float("epsilon", 1e-5)}}));
}

void InstanceNormalization(OpCall& call, const OpRow&) {
  call.Give(call.Op("instance_norm", {call.In(0), call.In(1), call.In(2)}, {{"eps", call.Float("epsilon", 1e-5)}}));
}

// Before operator set 21 scale and bias are per group.
void GroupNormalization(OpCall& call, const OpRow&) {
  const int64_t groups = call.Int("num_groups", 0);
  const Shape shape = call.ShapeOf(0);
  if (groups < 1 || shape.size() < 2) return call.Fail(InvalidArgument("{} groups, rank {}", groups, shape.size()));
  auto per_channel = [&](Value* x) {
    if (call.version() >= 21) return x;
    const Dim each = Dim::FloorDiv(shape[1], Dim(groups));
    return call.Reshape(call.Expand(call.Reshape(x, {Dim(groups), Dim(1)}), {Dim(groups), each}), {shape[1]});
  };
  call.Give(call.Op("group_norm", {call.In(0), per_channel(call.In(1)), per_channel(call.In(2))},
                    {{"num_groups", Dim(groups)}, {"eps", call.Float("epsilon", 1e-5)}}));
}

// Results 1 and 2: the mean and 1 / sqrt(variance + epsilon), over the dims from the axis on; result 1 of rms_norm is
// the latter.
void GiveStatistics(OpCall& call, size_t axis, bool centred) {
  Shape dims;
  for (size_t d = axis; d < call.ShapeOf(0).size(); ++d) dims.push_back(ToDim(d));
  const Attributes over = {{"dim", dims}, {"keepdim", true}};
  Value* x = call.Cast(call.In(0), DType::kFloat32);
  Value* mean = call.Op("mean", {x}, over);
  Value* distance = centred ? call.Op("sub", {x, mean}) : x;
  Value* variance = call.Op("mean", {call.Op("mul", {distance, distance})}, over);
  Value* inverse = call.Op("rsqrt", {With(call, "add", variance, call.Float("epsilon", 1e-5))});
  if (centred) call.Give(mean, 1);
  call.Give(inverse, centred ? 2 : 1);
}

// Over the dims from the axis on. Scale and bias go into the step where they have just those dims' shape.
void TrailingNorm(OpCall& call, const OpRow& row) {
  const Shape shape = call.ShapeOf(0);
  const size_t axis = call.Axis(call.Int("axis", -1), shape.size());
  if (!call.ok()) return;
  const Shape normalised(shape.begin() + static_cast<ptrdiff_t>(axis), shape.end());
  Attributes attributes{{"normalized_shape", normalised}, {"eps", call.Float("epsilon", 1e-5)}};
  const bool inside = call.ShapeOf(1) == normalised && (!call.Has(2) || call.ShapeOf(2) == normalised) &&
                      call.TypeOf(1) == call.TypeOf(0);
  std::vector<Value*> inputs = {call.In(0), inside ? call.In(1) : nullptr};
  const bool biased = row.op == "layer_norm";
  if (biased) inputs.push_back(inside ? call.In(2) : nullptr);
  Value* y = call.Op(row.op, std::move(inputs), std::move(attributes));
  if (!inside) y = call.Op("mul", {y, call.In(1)});
  if (!inside && call.Has(2)) y = call.Op("add", {y, call.In(2)});
  call.Give(inside ? y : call.Cast(y, call.TypeOf(1)));
  if (call.Wants(1) || call.Wants(2)) GiveStatistics(call, axis, biased);
}

// x / |x|_p, zeros where the norm is zero.
void LpNormalization(OpCall& call, const OpRow&) {
  const Shape dims{Dim(call.Int("axis", -1))};
  Value* norm = call.Op("vector_norm", {call.In(0)}, {{"ord", Dim(call.Int("p", 2))}, {"dim", dims}, {"keepdim", true}});
  Value* one = call.Scalar(1, call.TypeOf(0));
  call.Give(call.Op("div", {call.In(0), call.Op("where", {call.Op("eq", {norm, nullptr}, {{"other", 0.0}}), one, norm})}));
}

void MeanVarianceNormalization(OpCall& call, const OpRow&) {
  std::vector<int64_t> axes = call.Ints("axes");
  if (!call.HasAttribute("axes")) axes = {0, 2, 3};
  const Attributes over = {{"dim", ToShape(axes)}, {"keepdim", true}};
  Value* x = call.In(0);
  Value* centred = call.Op("sub", {x, call.Op("mean", {x}, over)});
  Value* variance = call.Op("mean", {call.Op("mul", {centred, centred})}, over);
  call.Give(call.Op("div", {centred, With(call, "add", call.Op("sqrt", {variance}), 1e-9)}));
}

// x / (bias + alpha mean of squares over `size` channels)^beta; channels beyond the ends count as zeros.
void Lrn(OpCall& call, const OpRow&) {
  const Shape shape = call.ShapeOf(0);
  const int64_t size = call.Int("size", 0);
  if (shape.size() < 3 || size < 1) return call.Fail(InvalidArgument("rank {}, size {}", shape.size(), size));
  Value* x = call.In(0);
  const Dim plane = ElementCount(Shape(shape.begin() + 2, shape.end()));
  Value* squares = call.Reshape(call.Op("mul", {x, x}), {shape[0], Dim(1), shape[1], plane});
  const Shape pad = {Dim(0), Dim(0), Dim((size - 1) / 2), Dim(size - 1 - (size - 1) / 2)};
  Value* padded = call.Op("constant_pad", {squares}, {{"pad", pad}, {"value", 0.0}});
  Value* mean = call.Op("avg_pool2d", {padded}, {{"kernel_size", Shape{Dim(size), Dim(1)}}, {"stride", Shape{Dim(1), Dim(1)}}});
  Value* base = With(call, "add", With(call, "mul", call.Reshape(mean, shape), call.Float("alpha", 1e-4)), call.Float("bias", 1));
  call.Give(call.Op("div", {x, call.Op("pow", {base, nullptr}, {{"exponent", call.Float("beta", 0.75)}})}));
}

constexpr OpRow kRows[] = {
    {"AveragePool", AveragePool},
    {"BatchNormalization", BatchNormalization, "", 5, 5},
    {"Conv", Conv, "", 2, 3},
    {"ConvTranspose", ConvTranspose, "", 2, 3},
    {"Gemm", Gemm, "", 2, 3},
    {"Einsum", Einsum, "", 1, kAnyInputs},
    {"GlobalAveragePool", GlobalPool, "mean"},
    {"GlobalLpPool", GlobalLpPool},
    {"GlobalMaxPool", GlobalPool, "amax"},
    {"GroupNormalization", GroupNormalization, "", 3, 3},
    {"InstanceNormalization", InstanceNormalization, "", 3, 3},
    {"LRN", Lrn},
    {"LayerNormalization", TrailingNorm, "layer_norm", 2, 3},
    {"LogSoftmax", Softmax, "log_softmax"},
    {"LpNormalization", LpNormalization},
    {"LpPool", LpPool},
    {"MatMul", MatMul, "", 2, 2},
    {"MaxPool", MaxPool},
    {"MeanVarianceNormalization", MeanVarianceNormalization},
    {"SimplifiedLayerNormalization", TrailingNorm, "rms_norm", 2, 2},  // ONNX Runtime's name, in this domain
    {"RMSNormalization", TrailingNorm, "rms_norm", 2, 2},
    {"Softmax", Softmax, "softmax"},
};

}  // namespace

std::span<const OpRow> NeuralOps() { return kRows; }

}  // namespace tondar::onnx_format
