// Quantised operators. Integer products are exact; all else is computed in f32 on the numbers that the integers stand
// for and quantised again, as the ONNX specification writes the operators out.
#include <algorithm>

#include "engine/importers/onnx/op_table.h"

namespace tondar::onnx_format {
namespace {

constexpr DType kReal = DType::kFloat32;

struct IntegerRange {
  DType dtype;
  double min, max;
};
constexpr IntegerRange kRanges[] = {
    {DType::kUInt8, 0, 255},     {DType::kInt8, -128, 127},    {DType::kUInt16, 0, 65535},
    {DType::kInt16, -32768, 32767},
};

const IntegerRange* RangeOf(DType dtype) {
  for (const IntegerRange& range : kRanges) {
    if (range.dtype == dtype) return &range;
  }
  return nullptr;
}

Dim ToDim(size_t d) { return Dim(static_cast<int64_t>(d)); }

// A quantised tensor with its parameters, which broadcast to it. `zero` is null where it is absent: 0.
struct Quantised {
  Value *x = nullptr, *scale = nullptr, *zero = nullptr;
};

// x as int32 minus its zero point.
Value* Centred(OpCall& call, Value* x, Value* zero) {
  Value* wide = call.Cast(x, DType::kInt32);
  return zero == nullptr ? wide : call.Op("sub", {wide, call.Cast(zero, DType::kInt32)});
}

Value* Dequantise(OpCall& call, const Quantised& q) {
  const DType dtype = q.scale == nullptr ? kReal : q.scale->dtype;
  return call.Op("mul", {call.Cast(call.Cast(Centred(call, q.x, q.zero), kReal), dtype), q.scale});
}

// saturate(round(x) + zero).
Value* Saturate(OpCall& call, Value* rounded, Value* zero, DType dtype) {
  const IntegerRange* range = RangeOf(dtype);
  if (range == nullptr) {
    call.Fail(Unimplemented("quantising to {}", Name(dtype)));
    return nullptr;
  }
  if (zero != nullptr) rounded = call.Op("add", {rounded, call.Cast(zero, kReal)});
  return call.Cast(call.Op("clamp", {rounded, nullptr, nullptr}, {{"min", range->min}, {"max", range->max}}), dtype);
}

Value* Quantise(OpCall& call, Value* x, Value* scale, Value* zero, DType dtype) {
  Value* steps = call.Op("round", {call.Op("div", {call.Cast(x, kReal), call.Cast(scale, kReal)})});
  return Saturate(call, steps, zero, dtype);
}

// A parameter of one element, one per index along `axis`, or one per block along it, shaped to broadcast to x.
Value* Parameter(OpCall& call, Value* parameter, size_t axis, int64_t block) {
  const Shape shape = OpCall::Extents(parameter), x = call.ShapeOf(0);
  if (parameter == nullptr || ElementCount(shape).Is(1)) return parameter == nullptr ? nullptr : call.Reshape(parameter, {});
  if (shape.size() == 1 && block == 0) {
    Shape wide(x.size(), Dim(1));
    wide[axis] = shape[0];
    return call.Reshape(parameter, std::move(wide));
  }
  if (block < 1 || shape.size() != x.size()) {
    call.Fail(InvalidArgument("a scale or zero point {} for a tensor {}", ToString(shape), ToString(x)));
    return nullptr;
  }
  Shape split = shape, wide, joined = shape;
  split.insert(split.begin() + static_cast<ptrdiff_t>(axis) + 1, Dim(1));
  wide = split;
  wide[axis + 1] = Dim(block);
  joined[axis] = shape[axis] * Dim(block);
  return call.Slice(call.Reshape(call.Expand(call.Reshape(parameter, split), wide), joined), axis, Dim(0), x[axis]);
}

// The scale and zero point at inputs 1 and 2.
Quantised Parameters(OpCall& call) {
  const size_t rank = call.ShapeOf(0).size();
  const bool per_axis = ElementCount(call.ShapeOf(1)).Is(1) == false;
  const size_t axis = per_axis ? call.Axis(call.Int("axis", 1), rank) : 0;
  const int64_t block = call.Int("block_size", 0);
  Quantised q{.x = call.In(0)};
  q.scale = Parameter(call, call.In(1), axis, block);
  q.zero = Parameter(call, call.In(2), axis, block);
  return q;
}

void QuantizeLinear(OpCall& call, const OpRow&) {
  DType dtype = call.Has(2) ? call.TypeOf(2) : DType::kUInt8;
  if (const int64_t stated = call.Int("output_dtype", 0); stated != 0) {
    const Result<DType> named = DTypeOf(static_cast<int32_t>(stated));
    if (!named.ok() || stated >= 21) return call.Fail(Unimplemented("quantising to {}", DTypeName(static_cast<int32_t>(stated))));
    dtype = *named;
  }
  const Quantised q = Parameters(call);
  call.Give(Quantise(call, q.x, q.scale, q.zero, dtype));
}

void DequantizeLinear(OpCall& call, const OpRow&) {
  Value* y = Dequantise(call, Parameters(call));
  const int64_t stated = call.Int("output_dtype", 0);
  if (stated == 0) return call.Give(y);
  const Result<DType> dtype = DTypeOf(static_cast<int32_t>(stated));
  if (!dtype.ok()) return call.Fail(dtype.status());
  call.Give(call.Cast(y, *dtype));
}

// Scale and zero point, of uint8, for the range of x with zero in it.
void DynamicParameters(OpCall& call, Value* x, Value*& scale, Value*& zero) {
  auto number = [&](std::string_view op, Value* value, double other) { return call.Op(op, {value, nullptr}, {{"other", other}}); };
  Value* nothing = call.Scalar(0, kReal);
  Value* low = call.Op("minimum", {call.Op("amin", {x}), nothing});
  Value* high = call.Op("maximum", {call.Op("amax", {x}), nothing});
  Value* range = number("div", call.Op("sub", {high, low}), 255);
  scale = call.Op("where", {call.Op("eq", {range, nothing}), call.Scalar(1, kReal), range});
  zero = Saturate(call, call.Op("round", {call.Op("div", {call.Op("neg", {low}), scale})}), nullptr, DType::kUInt8);
}

void DynamicQuantizeLinear(OpCall& call, const OpRow&) {
  Value *scale = nullptr, *zero = nullptr;
  DynamicParameters(call, call.In(0), scale, zero);
  call.Give(Quantise(call, call.In(0), scale, zero, DType::kUInt8));
  call.Give(scale, 1);
  call.Give(zero, 2);
}

// --- Products -------------------------------------------------------------------------------------------------------

bool IsByte(const Value* x) { return x != nullptr && (x->dtype == DType::kInt8 || x->dtype == DType::kUInt8); }

// sum over `dim`, kept, in int32.
Value* SumOver(OpCall& call, Value* x, int64_t dim) {
  return call.Op("sum", {call.Cast(x, DType::kInt32)}, {{"dim", Shape{Dim(dim)}}, {"keepdim", true}, {"dtype", DType::kInt32}});
}

// A zero point per row of a, or per column of b, as it broadcasts to the product.
Value* ZeroOf(OpCall& call, Value* zero, bool per_row) {
  const Shape shape = OpCall::Extents(zero);
  if (zero == nullptr) return nullptr;
  Value* wide = call.Cast(zero, DType::kInt32);
  return per_row && shape.size() == 1 && !shape[0].Is(1) ? call.Reshape(wide, {shape[0], Dim(1)}) : wide;
}

// (a - za)(b - zb) in int32: a b - za sum(b) - zb sum(a) + K za zb, where a b is one product of bytes.
Value* ByteProduct(OpCall& call, Value* a, Value* za, Value* b, Value* zb) {
  Shape rows = OpCall::Extents(a), out = rows;
  const Dim width = OpCall::Extent(b, 0);
  out.back() = OpCall::Extent(b, 1);
  Value* flat = call.Reshape(a, {ElementCount(Shape(rows.begin(), rows.end() - 1)), width});
  Value* product = call.Reshape(call.Op("int_mm", {flat, b}), out);
  za = ZeroOf(call, za, true), zb = ZeroOf(call, zb, false);
  if (za != nullptr) product = call.Op("sub", {product, call.Op("mul", {SumOver(call, b, 0), za})});
  if (zb != nullptr) product = call.Op("sub", {product, call.Op("mul", {SumOver(call, a, -1), zb})});
  if (za != nullptr && zb != nullptr) {
    product = call.Op("add", {product, call.Op("mul", {call.Op("mul", {za, zb}), nullptr}, {{"other", width}})});
  }
  return product;
}

// Exact in f64, for every rank and dtype.
Value* WideProduct(OpCall& call, Value* a, Value* za, Value* b, Value* zb) {
  Value* left = call.Cast(Centred(call, a, ZeroOf(call, za, true)), DType::kFloat64);
  Value* right = call.Cast(Centred(call, b, ZeroOf(call, zb, false)), DType::kFloat64);
  return call.Cast(call.Op("matmul", {left, right}), DType::kInt32);
}

Value* IntegerProduct(OpCall& call, Value* a, Value* za, Value* b, Value* zb) {
  const bool bytes = IsByte(a) && IsByte(b) && OpCall::Rank(b) == 2 && OpCall::Rank(a) >= 2;
  return bytes ? ByteProduct(call, a, za, b, zb) : WideProduct(call, a, za, b, zb);
}

void MatMulInteger(OpCall& call, const OpRow&) {
  call.Give(IntegerProduct(call, call.In(0), call.In(2), call.In(1), call.In(3)));
}

// A scale per row of a is a column; others broadcast as they are.
Value* RowScale(OpCall& call, Value* scale) {
  const Shape shape = OpCall::Extents(scale);
  return shape.size() == 1 && !shape[0].Is(1) ? call.Reshape(scale, {shape[0], Dim(1)}) : scale;
}

// Inputs: a, its scale and zero point, b, its, and those of the result.
void QLinearMatMul(OpCall& call, const OpRow&) {
  Value* product = call.Cast(IntegerProduct(call, call.In(0), call.In(2), call.In(3), call.In(5)), kReal);
  Value* scale = call.Op("mul", {RowScale(call, call.Cast(call.In(1), kReal)), call.Cast(call.In(4), kReal)});
  Value* real = call.Op("mul", {product, scale});
  call.Give(Quantise(call, real, RowScale(call, call.In(6)), ZeroOf(call, call.In(7), true), call.TypeOf(7)));
}

// --- Convolutions: in f64 where the integer result is asked for, in f32 where it is quantised at once. ---------------

const OpRow* ConvRow() { return FindOp("", "Conv"); }

// The convolution of x and w, which replace the node's first two inputs, without bias.
Value* Convolve(OpCall& call, Value* x, Value* w) {
  if (!call.ok()) return nullptr;
  Tensor left{x, std::nullopt, std::nullopt}, right{w, std::nullopt, std::nullopt};
  OpCall conv(call.graph(), call.tensors(), call.node(), call.version(), {&left, &right});
  ConvRow()->add(conv, *ConvRow());
  if (!conv.ok()) call.Fail(conv.status());
  return conv.ok() ? conv.results()[0].value : nullptr;
}

// One value per output channel: along dim 0 of the weight, dim 1 of the result.
Value* PerChannel(OpCall& call, Value* value, size_t dim, size_t rank) {
  const Shape shape = OpCall::Extents(value);
  if (shape.size() != 1 || shape[0].Is(1)) return value == nullptr ? nullptr : call.Reshape(value, {});
  Shape wide(rank, Dim(1));
  wide[dim] = shape[0];
  return call.Reshape(value, std::move(wide));
}

void ConvInteger(OpCall& call, const OpRow&) {
  const size_t rank = call.ShapeOf(0).size();
  Value* x = call.Cast(Centred(call, call.In(0), PerChannel(call, call.In(2), 0, rank)), DType::kFloat64);
  Value* w = call.Cast(Centred(call, call.In(1), PerChannel(call, call.In(3), 0, rank)), DType::kFloat64);
  call.Give(call.Cast(Convolve(call, x, w), DType::kInt32));
}

// Inputs: x, scale, zero, w, scale, zero, the result's scale and zero, bias in int32 by x's and w's scale.
void QLinearConv(OpCall& call, const OpRow&) {
  const size_t rank = call.ShapeOf(0).size();
  auto channel = [&](size_t i, size_t dim) { return PerChannel(call, call.In(i), dim, rank); };
  Value* x = call.Cast(Centred(call, call.In(0), channel(2, 0)), kReal);
  Value* w = call.Cast(Centred(call, call.In(3), channel(5, 0)), kReal);
  Value* y = Convolve(call, x, w);
  if (call.Has(8)) y = call.Op("add", {y, call.Cast(channel(8, 1), kReal)});
  y = call.Op("mul", {y, call.Op("mul", {channel(1, 0), channel(4, 1)})});
  call.Give(Quantise(call, y, channel(6, 0), channel(7, 0), call.TypeOf(7)));
}

// --- com.microsoft --------------------------------------------------------------------------------------------------

Quantised At(OpCall& call, size_t i) { return {call.In(i), call.In(i + 1), call.In(i + 2)}; }

// Quantises to the scale and zero point at inputs i and i + 1.
void GiveQuantised(OpCall& call, Value* real, size_t i, DType dtype) {
  call.Give(Quantise(call, real, call.In(i), call.In(i + 1), call.Has(i + 1) ? call.TypeOf(i + 1) : dtype));
}

void QLinearBinary(OpCall& call, const OpRow& row) {
  GiveQuantised(call, call.Op(row.op, {Dequantise(call, At(call, 0)), Dequantise(call, At(call, 3))}), 6, call.TypeOf(0));
}

void QLinearUnary(OpCall& call, const OpRow& row) {
  Value* x = Dequantise(call, At(call, 0));
  const bool leaky = row.op == "leaky_relu";
  Value* y = call.Op(row.op, {x}, leaky ? Attributes{{"negative_slope", call.Float("alpha", 0.01)}} : Attributes());
  GiveQuantised(call, y, 3, call.TypeOf(0));
}

void QLinearSoftmax(OpCall& call, const OpRow&) {
  const size_t axis = call.Axis(call.Int("axis", -1), call.ShapeOf(0).size());
  if (call.Int("opset", 13) < 13 && axis + 1 != call.ShapeOf(0).size()) return call.Fail(Unimplemented("softmax over several dims"));
  Value* y = call.Op("softmax", {Dequantise(call, At(call, 0))}, {{"dim", ToDim(axis)}});
  GiveQuantised(call, y, 3, call.TypeOf(0));
}

void QLinearGlobalAveragePool(OpCall& call, const OpRow&) {
  const size_t rank = call.ShapeOf(0).size();
  const bool last = call.Int("channels_last", 0) != 0;
  Shape dims;
  for (size_t d = last ? 1 : 2; d < (last ? rank - 1 : rank); ++d) dims.push_back(ToDim(d));
  Value* y = call.Op("mean", {Dequantise(call, At(call, 0))}, {{"dim", dims}, {"keepdim", true}});
  GiveQuantised(call, y, 3, call.TypeOf(0));
}

// Inputs: the result's scale and zero point, then triples.
void QLinearConcat(OpCall& call, const OpRow&) {
  std::vector<Value*> parts;
  for (size_t i = 2; i + 2 < call.inputs(); i += 3) parts.push_back(Dequantise(call, At(call, i)));
  const size_t axis = call.Axis(call.Int("axis", 0), call.ShapeOf(2).size());
  GiveQuantised(call, call.Concat(std::move(parts), static_cast<int64_t>(axis)), 0, call.TypeOf(1));
}

// Inputs: a, scale, zero, b, scale, zero, bias in int32, then, where the result is quantised, its scale and zero point.
void QGemm(OpCall& call, const OpRow&) {
  auto turned = [&](Value* x, std::string_view flag) { return call.Int(flag, 0) != 0 ? call.Permute(x, {1, 0}) : x; };
  Value* product = IntegerProduct(call, turned(call.In(0), "transA"), call.In(2), turned(call.In(3), "transB"), call.In(5));
  if (call.Has(6)) product = call.Op("add", {product, call.In(6)});
  Value* scale = call.Op("mul", {call.In(1), call.In(4)});
  Value* real = call.Op("mul", {call.Cast(product, kReal), scale});
  if (const double alpha = call.Float("alpha", 1); alpha != 1) real = call.Op("mul", {real, nullptr}, {{"other", alpha}});
  if (!call.Has(7)) return call.Give(real);
  GiveQuantised(call, real, 7, call.TypeOf(0));
}

// Inputs: a, b, their scales, their zero points, a bias.
void MatMulIntegerToFloat(OpCall& call, const OpRow&) {
  Value* product = call.Cast(IntegerProduct(call, call.In(0), call.In(4), call.In(1), call.In(5)), kReal);
  Value* real = call.Op("mul", {product, call.Op("mul", {call.In(2), call.In(3)})});
  call.Give(call.Has(6) ? call.Op("add", {real, call.In(6)}) : real);
}

// a is quantised as it comes. Inputs: a, b, b's scale, b's zero point, a bias.
void DynamicQuantizeMatMul(OpCall& call, const OpRow&) {
  Value *scale = nullptr, *zero = nullptr;
  DynamicParameters(call, call.In(0), scale, zero);
  Value* a = Quantise(call, call.In(0), scale, zero, DType::kUInt8);
  Value* product = call.Cast(IntegerProduct(call, a, zero, call.In(1), call.In(3)), kReal);
  Value* real = call.Op("mul", {product, call.Op("mul", {scale, call.In(2)})});
  call.Give(call.Has(4) ? call.Op("add", {real, call.In(4)}) : real);
}

constexpr OpRow kRows[] = {
    {"ConvInteger", ConvInteger, "", 2, 4},
    {"DequantizeLinear", DequantizeLinear, "", 2, 3},
    {"DynamicQuantizeLinear", DynamicQuantizeLinear},
    {"MatMulInteger", MatMulInteger, "", 2, 4},
    {"QLinearConv", QLinearConv, "", 8, 9},
    {"QLinearMatMul", QLinearMatMul, "", 8, 8},
    {"QuantizeLinear", QuantizeLinear, "", 2, 3},
};

constexpr OpRow kMicrosoftRows[] = {
    {"DequantizeLinear", DequantizeLinear, "", 2, 3},
    {"DynamicQuantizeMatMul", DynamicQuantizeMatMul, "", 3, 5},
    {"MatMulIntegerToFloat", MatMulIntegerToFloat, "", 4, 7},
    {"QGemm", QGemm, "", 6, 9},
    {"QLinearAdd", QLinearBinary, "add", 7, 8},
    {"QLinearConcat", QLinearConcat, "", 5, kAnyInputs},
    {"QLinearGlobalAveragePool", QLinearGlobalAveragePool, "", 4, 5},
    {"QLinearLeakyRelu", QLinearUnary, "leaky_relu", 4, 5},
    {"QLinearMul", QLinearBinary, "mul", 7, 8},
    {"QLinearSigmoid", QLinearUnary, "sigmoid", 4, 5},
    {"QLinearSoftmax", QLinearSoftmax, "", 4, 5},
    {"QuantizeLinear", QuantizeLinear, "", 2, 3},
};

}  // namespace

std::span<const OpRow> QuantisedOps() { return kRows; }
std::span<const OpRow> MicrosoftQuantisedOps() { return kMicrosoftRows; }

}  // namespace tondar::onnx_format
