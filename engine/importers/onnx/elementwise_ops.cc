// Arithmetic, comparisons, activations: one element at a time, with NumPy's broadcasting.
#include <cmath>

#include "engine/importers/onnx/op_table.h"

namespace tondar::onnx_format {
namespace {

// --- Operators that engine/ops has as they are ----------------------------------------------------------------------

void Unary(OpCall& call, const OpRow& row) { call.Give(call.Op(row.op, {call.In(0)})); }

void Binary(OpCall& call, const OpRow& row) {
  if (call.TypeOf(0) != call.TypeOf(1)) {
    return call.Fail(InvalidArgument("operands of {} and {}, expected one dtype", Name(call.TypeOf(0)), Name(call.TypeOf(1))));
  }
  call.Give(call.Op(row.op, {call.In(0), call.In(1)}));
}

// Any number of operands: Max, Min, Sum.
void Variadic(OpCall& call, const OpRow& row) {
  Value* value = call.In(0);
  for (size_t i = 1; i < call.inputs(); ++i) value = call.Op(row.op, {value, call.In(i)});
  call.Give(value);
}

void Mean(OpCall& call, const OpRow&) {
  Value* sum = call.In(0);
  for (size_t i = 1; i < call.inputs(); ++i) sum = call.Op("add", {sum, call.In(i)});
  call.Give(call.Op("div", {sum, nullptr}, {{"other", static_cast<double>(call.inputs())}}));
}

// x op number, in x's dtype.
Value* With(OpCall& call, std::string_view op, Value* x, double number) { return call.Op(op, {x, nullptr}, {{"other", number}}); }

void Division(OpCall& call, const OpRow&) {
  const bool whole = IsInteger(call.TypeOf(0));
  Binary(call, OpRow{.op_type = "Div", .add = nullptr, .op = whole ? "div_trunc" : "div"});
}

void Modulo(OpCall& call, const OpRow&) {
  const bool c_like = call.Int("fmod", 0) != 0;
  call.Give(call.Op(c_like ? "fmod" : "remainder", {call.In(0), call.In(1)}));
}

// The exponent may have another dtype; the result has the base's.
void Power(OpCall& call, const OpRow&) {
  const DType dtype = call.TypeOf(0);
  if (const std::optional<double> exponent = call.KnownNumber(1); exponent && IsFloat(dtype) && call.ShapeOf(1).empty()) {
    return call.Give(call.Op("pow", {call.In(0), nullptr}, {{"exponent", *exponent}}));
  }
  const bool widen = IsInteger(dtype) && IsFloat(call.TypeOf(1));
  Value* base = widen ? call.Cast(call.In(0), call.TypeOf(1)) : call.In(0);
  call.Give(call.Cast(call.Op("pow", {base, call.Cast(call.In(1), widen ? call.TypeOf(1) : dtype)}), dtype));
}

void Shift(OpCall& call, const OpRow&) {
  const std::string direction = call.String("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") return call.Fail(InvalidArgument("direction '{}', expected LEFT or RIGHT", direction));
  call.Give(call.Op(direction == "LEFT" ? "bitwise_left_shift" : "bitwise_right_shift", {call.In(0), call.In(1)}));
}

void Where(OpCall& call, const OpRow&) { call.Give(call.Op("where", {call.In(0), call.In(1), call.In(2)})); }

void IsInf(OpCall& call, const OpRow&) {
  const bool positive = call.Int("detect_positive", 1) != 0, negative = call.Int("detect_negative", 1) != 0;
  if (!positive && !negative) return call.Give(call.Expand(call.Scalar(0, DType::kBool), call.ShapeOf(0)));
  call.Give(call.Op(positive && negative ? "isinf" : positive ? "isposinf" : "isneginf", {call.In(0)}));
}

// --- Casts ----------------------------------------------------------------------------------------------------------

void CastTo(OpCall& call, DType dtype) {
  Value* x = call.In(0);
  call.Give(x != nullptr && x->dtype == dtype ? call.Op("alias", {x}) : call.Cast(x, dtype));
}

void Cast(OpCall& call, const OpRow&) {
  const Result<DType> dtype = DTypeOf(static_cast<int32_t>(call.Int("to", 0)));
  if (!dtype.ok()) return call.Fail(dtype.status());
  CastTo(call, *dtype);
}

void CastLike(OpCall& call, const OpRow&) { CastTo(call, call.TypeOf(1)); }

// --- Activations ----------------------------------------------------------------------------------------------------

void Clip(OpCall& call, const OpRow&) {
  if (call.version() >= 11) return call.Give(call.Op("clamp", {call.In(0), call.In(1), call.In(2)}));
  Attributes bounds;
  if (call.HasAttribute("min")) bounds["min"] = call.Float("min", 0);
  if (call.HasAttribute("max")) bounds["max"] = call.Float("max", 0);
  call.Give(call.Op("clamp", {call.In(0), nullptr, nullptr}, std::move(bounds)));
}

void LeakyRelu(OpCall& call, const OpRow&) {
  call.Give(call.Op("leaky_relu", {call.In(0)}, {{"negative_slope", call.Float("alpha", 0.01)}}));
}

void Elu(OpCall& call, const OpRow&) { call.Give(call.Op("elu", {call.In(0)}, {{"alpha", call.Float("alpha", 1)}})); }
void Celu(OpCall& call, const OpRow&) { call.Give(call.Op("celu", {call.In(0)}, {{"alpha", call.Float("alpha", 1)}})); }

void Selu(OpCall& call, const OpRow&) {
  const double alpha = call.Float("alpha", 1.67326319217681884765625), gamma = call.Float("gamma", 1.05070102214813232421875);
  call.Give(call.Op("elu", {call.In(0)}, {{"alpha", alpha}, {"scale", gamma}}));
}

void HardSigmoid(OpCall& call, const OpRow&) {
  const double alpha = call.Float("alpha", 0.2), beta = call.Float("beta", 0.5);
  if (static_cast<float>(alpha) == 1.0F / 6 && beta == 0.5) return call.Give(call.Op("hardsigmoid", {call.In(0)}));
  Value* line = With(call, "add", With(call, "mul", call.In(0), alpha), beta);
  call.Give(call.Op("clamp", {line, nullptr, nullptr}, {{"min", 0.0}, {"max", 1.0}}));
}

void Softsign(OpCall& call, const OpRow&) {
  Value* x = call.In(0);
  call.Give(call.Op("div", {x, With(call, "add", call.Op("abs", {x}), 1)}));
}

void Swish(OpCall& call, const OpRow&) {
  Value* x = call.In(0);
  const double alpha = call.Float("alpha", 1);
  if (alpha == 1) return call.Give(call.Op("silu", {x}));
  call.Give(call.Op("mul", {x, call.Op("sigmoid", {With(call, "mul", x, alpha)})}));
}

void Gelu(OpCall& call, const OpRow&) {
  call.Give(call.Op("gelu", {call.In(0)}, {{"approximate", call.String("approximate", "none")}}));
}

void ThresholdedRelu(OpCall& call, const OpRow&) {
  call.Give(call.Op("threshold", {call.In(0)}, {{"threshold", call.Float("alpha", 1)}, {"value", 0.0}}));
}

void Shrink(OpCall& call, const OpRow&) {
  Value* x = call.In(0);
  const double bias = call.Float("bias", 0), lambda = call.Float("lambd", 0.5);
  Value* zero = call.Scalar(0, call.TypeOf(0));
  Value* above = call.Op("where", {With(call, "gt", x, lambda), call.Cast(With(call, "sub", x, bias), call.TypeOf(0)), zero});
  call.Give(call.Op("where", {With(call, "lt", x, -lambda), call.Cast(With(call, "add", x, bias), call.TypeOf(0)), above}));
}

// The slope broadcasts to x, as anywhere.
void PRelu(OpCall& call, const OpRow&) {
  Value* x = call.In(0);
  call.Give(call.Op("where", {call.Op("lt", {x, call.Scalar(0, call.TypeOf(0))}), call.Op("mul", {x, call.In(1)}), x}));
}

constexpr OpRow kRows[] = {
    {"Abs", Unary, "abs"},
    {"Acos", Unary, "acos"},
    {"Acosh", Unary, "acosh"},
    {"Asin", Unary, "asin"},
    {"Asinh", Unary, "asinh"},
    {"Atan", Unary, "atan"},
    {"Atanh", Unary, "atanh"},
    {"BitwiseNot", Unary, "bitwise_not"},
    {"Ceil", Unary, "ceil"},
    {"Cos", Unary, "cos"},
    {"Cosh", Unary, "cosh"},
    {"Erf", Unary, "erf"},
    {"Exp", Unary, "exp"},
    {"Floor", Unary, "floor"},
    {"HardSwish", Unary, "hardswish"},
    {"IsNaN", Unary, "isnan"},
    {"Log", Unary, "log"},
    {"Mish", Unary, "mish"},
    {"Neg", Unary, "neg"},
    {"Not", Unary, "logical_not"},
    {"Reciprocal", Unary, "reciprocal"},
    {"Relu", Unary, "relu"},
    {"Round", Unary, "round"},
    {"Sigmoid", Unary, "sigmoid"},
    {"Sign", Unary, "sign"},
    {"Sin", Unary, "sin"},
    {"Sinh", Unary, "sinh"},
    {"Softplus", Unary, "softplus"},
    {"Sqrt", Unary, "sqrt"},
    {"Tan", Unary, "tan"},
    {"Tanh", Unary, "tanh"},

    {"Add", Binary, "add", 2, 2},
    {"And", Binary, "logical_and", 2, 2},
    {"BitwiseAnd", Binary, "bitwise_and", 2, 2},
    {"BitwiseOr", Binary, "bitwise_or", 2, 2},
    {"BitwiseXor", Binary, "bitwise_xor", 2, 2},
    {"Equal", Binary, "eq", 2, 2},
    {"Greater", Binary, "gt", 2, 2},
    {"GreaterOrEqual", Binary, "ge", 2, 2},
    {"Less", Binary, "lt", 2, 2},
    {"LessOrEqual", Binary, "le", 2, 2},
    {"Mul", Binary, "mul", 2, 2},
    {"Or", Binary, "logical_or", 2, 2},
    {"Sub", Binary, "sub", 2, 2},
    {"Xor", Binary, "logical_xor", 2, 2},
    {"Max", Variadic, "maximum", 1, kAnyInputs},
    {"Min", Variadic, "minimum", 1, kAnyInputs},
    {"Sum", Variadic, "add", 1, kAnyInputs},
    {"Mean", Mean, "", 1, kAnyInputs},

    {"BitShift", Shift, "", 2, 2},
    {"Cast", Cast},
    {"CastLike", CastLike, "", 2, 2},
    {"Celu", Celu},
    {"Clip", Clip, "", 1, 3},
    {"Div", Division, "", 2, 2},
    {"Elu", Elu},
    {"Gelu", Gelu},
    {"HardSigmoid", HardSigmoid},
    {"IsInf", IsInf},
    {"LeakyRelu", LeakyRelu},
    {"Mod", Modulo, "", 2, 2},
    {"PRelu", PRelu, "", 2, 2},
    {"Pow", Power, "", 2, 2},
    {"Selu", Selu},
    {"Shrink", Shrink},
    {"Softsign", Softsign},
    {"Swish", Swish},
    {"ThresholdedRelu", ThresholdedRelu},
    {"Where", Where, "", 3, 3},
};

}  // namespace

std::span<const OpRow> ElementwiseOps() { return kRows; }

}  // namespace tondar::onnx_format
