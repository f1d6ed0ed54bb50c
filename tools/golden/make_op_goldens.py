#!/usr/bin/env python3
"""Makes tests/golden/ops/*.json: small cases of every operator with the values that PyTorch gives.

Usage: make_op_goldens.py [OUTPUT_DIR]. The values depend on SEED and the torch version, both written into each file.

A case is {"op", "args", "inputs", "expected"} or, for refused arguments, "error" (a status code) in place of
"expected". `args` maps argument names of the ATen schema to numbers, strings, lists, or
  {"tensor": i}       inputs[i]
  {"tensors": [...]}  a list of them, null for None
  {"dtype": name}
Tensors are {"dtype", "shape", "data"}, data flat in row-major order; non-finite numbers are "nan", "inf", "-inf".
"""
import json
import math
import pathlib
import sys

import torch

SEED = 20260101
f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
i8, u8, i16, i32, i64, b8 = torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool
INVALID, UNIMPLEMENTED = "INVALID_ARGUMENT", "UNIMPLEMENTED"
INF, NAN = math.inf, math.nan
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, INF, -INF, NAN]
TOLERANCE = {f16: (2e-3, 2e-3), bf16: (2e-2, 2e-2), f32: (2e-6, 2e-5), f64: (1e-6, 1e-6)}

files = {}      # file name -> cases
generator = torch.Generator().manual_seed(SEED)


def T(dtype, *shape, lo=-3.0, hi=3.0):
    """A random tensor of values within [lo, hi)."""
    if dtype == b8:
        return torch.rand(shape, generator=generator) < 0.5
    if not dtype.is_floating_point:
        lo = max(lo, 0 if dtype == u8 else lo)
        return torch.randint(int(lo), max(int(hi), int(lo) + 1), shape, generator=generator).to(dtype)
    return (torch.rand(shape, generator=generator, dtype=f64) * (hi - lo) + lo).to(dtype)


def V(values, dtype=f32):
    return torch.tensor(values, dtype=dtype)


def overload(name):
    namespace, op, which = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), op), which)


def number(x):
    if isinstance(x, float) and not math.isfinite(x):
        return "nan" if math.isnan(x) else ("inf" if x > 0 else "-inf")
    return x


def tensor_json(t):
    t = t.detach()
    data = t.to(f64) if t.is_floating_point() else t
    flat = data.reshape(-1).tolist()
    if t.is_floating_point():
        flat = [number(float(f"{x:.9g}") if t.dtype != f64 else x) for x in flat]
    else:
        flat = [int(x) for x in flat]
    return {"dtype": str(t.dtype).removeprefix("torch."), "shape": list(t.shape), "data": flat}


class Writer:
    def __init__(self):
        self.inputs = []

    def tensor(self, t):
        self.inputs.append(tensor_json(t))
        return len(self.inputs) - 1

    def argument(self, value):
        if isinstance(value, torch.Tensor):
            return {"tensor": self.tensor(value)}
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
            return {"tensors": [None if v is None else self.tensor(v) for v in value]}
        if isinstance(value, (list, tuple)):
            return [number(v) for v in value]
        return number(value)


def case(file, name, *args, error=None, tol=None, outputs=None, free_signs=None, **kwargs):
    """Adds a case. `outputs`: how many of the results to compare; all by default. `free_signs`: of which only magnitudes."""
    op = overload(name)
    writer = Writer()
    named = {}
    for formal, value in zip(op._schema.arguments, args):
        named[formal.name] = writer.argument(value)
    for key, value in kwargs.items():
        named[key] = writer.argument(value)
    entry = {"op": name, "args": named, "inputs": writer.inputs}
    if error:
        entry["error"] = error
    else:
        clones = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
        result = op(*clones, **kwargs)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        results = results[:outputs]
        if free_signs:
            entry["free_signs"] = free_signs
        entry["expected"] = [tensor_json(r) for r in results]
        loosest = max((TOLERANCE.get(r.dtype, (0, 0)) for r in results), default=(0, 0))
        if any(isinstance(a, torch.Tensor) and a.dtype in (f16, bf16) for a in args):
            loosest = max(loosest, TOLERANCE[bf16 if any(isinstance(a, torch.Tensor) and a.dtype == bf16 for a in args) else f16])
        entry["atol"], entry["rtol"] = tol or loosest
    files.setdefault(file, []).append(entry)


def unary(file, name, lo=-3.0, hi=3.0, floats_only=False, **kwargs):
    case(file, name, T(f32, 2, 5, lo=lo, hi=hi), **kwargs)
    case(file, name, T(bf16, 7, lo=lo, hi=hi), **kwargs)
    case(file, name, T(f64, lo=lo, hi=hi), **kwargs)
    case(file, name, T(f32, 0, 3), **kwargs)
    if not floats_only:
        case(file, name, T(i32, 6, lo=max(lo, -5), hi=hi + 1), **kwargs)


def unary_cases():
    file = "unary"
    special = V(SPECIAL)
    for name in ["neg", "abs", "sign", "floor", "ceil", "trunc", "round", "square", "relu"]:
        unary(file, f"aten.{name}.default")
        case(file, f"aten.{name}.default", special)
    case(file, "aten.abs.default", T(u8, 4, lo=0, hi=255))
    case(file, "aten.neg_.default", T(f32, 3))
    unary(file, "aten.sgn.default")
    unary(file, "aten.frac.default", floats_only=True)
    case(file, "aten.round.decimals", V([1.2345, -7.891, 1234.5]), decimals=2)
    case(file, "aten.round.decimals", V([15.0, -25.0, 1234.5]), decimals=-1)
    case(file, "aten.round.decimals", T(f64, 4), decimals=0)
    for name in ["exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "erf", "erfc",
                 "sigmoid", "sinc", "rad2deg", "deg2rad"]:
        unary(file, f"aten.{name}.default")
        if name != "tan":
            case(file, f"aten.{name}.default", V([0.0, 1.0, -1.0, INF, -INF, NAN]) if name not in ("sin", "cos", "sinc")
                 else V([0.0, 1.0, -1.0]))
    for name in ["sqrt", "rsqrt", "log", "log2", "log10", "lgamma", "digamma"]:
        unary(file, f"aten.{name}.default", lo=0.1, hi=6)
        case(file, f"aten.{name}.default", V([1.0, 2.0, 0.25, INF]) if name != "digamma" else V([1.0, 2.5, -0.5]))
    unary(file, "aten.log1p.default", lo=-0.5)
    unary(file, "aten.reciprocal.default", lo=0.5)
    case(file, "aten.reciprocal.default", V([0.0, -2.0, INF]))
    unary(file, "aten.acosh.default", lo=1.1, hi=6)
    for name in ["asin", "acos", "atanh", "erfinv"]:
        unary(file, f"aten.{name}.default", lo=-0.9, hi=0.9, floats_only=True)
    case(file, "aten.erfinv.default", V([1.0, -1.0, 0.0, 2.0]))
    for name in ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"]:
        case(file, f"aten.{name}.default", special)
        case(file, f"aten.{name}.default", T(i64, 4))
        case(file, f"aten.{name}.default", T(bf16, 2, 2))
    for name in ["logical_not", "bitwise_not"]:
        case(file, f"aten.{name}.default", T(b8, 6))
        case(file, f"aten.{name}.default", T(i32, 6))
        case(file, f"aten.{name}.default", T(u8, 6, lo=0, hi=9))
    case(file, "aten.logical_not.default", special)
    case(file, "aten.logit.default", T(f32, 5, lo=0.05, hi=0.95))
    case(file, "aten.logit.default", V([0.0, 0.5, 1.0]), 0.1)
    case(file, "aten.logit.default", T(f64, 2, 2, lo=0.05, hi=0.95), 1e-6)
    case(file, "aten.nan_to_num.default", special)
    case(file, "aten.nan_to_num.default", special, 2.0, 3.0, -4.0)
    case(file, "aten.nan_to_num.default", T(i64, 3))
    case(file, "aten.nan_to_num.default", special.to(bf16))


def activation_cases():
    file = "activations"
    special = V([0.0, 0.3, -0.3, 2.0, -2.0, 25.0, -25.0, INF, NAN])
    for name, extra in [("relu", []), ("relu6", []), ("hardtanh", []), ("hardtanh", [0, 6]), ("hardtanh", [-0.5, 0.5]),
                        ("hardsigmoid", []), ("hardswish", []), ("silu", []), ("softplus", []), ("softplus", [2.0, 3.0]),
                        ("mish", []), ("elu", []), ("elu", [0.7, 1.5]), ("elu", [1.0, 1.0, 2.0]), ("celu", []),
                        ("celu", [0.5]), ("selu", []), ("leaky_relu", []), ("leaky_relu", [0.2]), ("hardshrink", []),
                        ("hardshrink", [1.0]), ("softshrink", []), ("softshrink", [1.0]), ("threshold", [0.5, 9.0]),
                        ("log_sigmoid", [])]:
        op = f"aten.{name}.default"
        case(file, op, T(f32, 3, 4), *extra)
        case(file, op, T(bf16, 5), *extra)
        if name not in ("silu", "mish", "hardswish", "softplus", "elu", "celu", "selu"):
            case(file, op, special, *extra)
        else:
            case(file, op, special[:7], *extra)
        case(file, op, T(f64), *extra)
        case(file, op, T(f32, 0), *extra)
    for approximate in ["none", "tanh"]:
        case(file, "aten.gelu.default", T(f32, 2, 5), approximate=approximate)
        case(file, "aten.gelu.default", T(bf16, 5), approximate=approximate)
        case(file, "aten.gelu.default", T(f64), approximate=approximate)
    case(file, "aten.relu_.default", T(f32, 3))
    case(file, "aten.hardswish_.default", T(f32, 3))
    case(file, "aten.relu.default", T(i32, 5))
    for op in ["aten.rrelu.default"]:
        case(file, op, T(f32, 5))
        case(file, op, T(f32, 5), 0.1, 0.2)
        case(file, op, T(f32, 5), 0.1, 0.2, True, error=UNIMPLEMENTED)
    case(file, "aten.glu.default", T(f32, 2, 6))
    case(file, "aten.glu.default", T(f32, 4, 3), 0)
    case(file, "aten.glu.default", T(f32, 2, 4, 3), -2)
    case(file, "aten.glu.default", T(f32, 2, 3), error=INVALID)
    case(file, "aten.prelu.default", T(f32, 2, 3, 2), T(f32, 3))
    case(file, "aten.prelu.default", T(f32, 2, 3), T(f32, 1))
    case(file, "aten.prelu.default", T(bf16, 4), T(bf16, 1))


def binary(file, name, dtypes=(f32, i64), lo=-4.0, hi=4.0, number_op=None, **kwargs):
    for dtype in dtypes:
        low = max(lo, 0) if dtype == u8 else lo
        case(file, name, T(dtype, 2, 3, lo=low, hi=hi), T(dtype, 2, 3, lo=low, hi=hi), **kwargs)
        case(file, name, T(dtype, 2, 1, 3, lo=low, hi=hi), T(dtype, 4, 1, lo=low, hi=hi), **kwargs)
    case(file, name, T(dtypes[0], 3, lo=lo, hi=hi), T(dtypes[0], lo=lo, hi=hi), **kwargs)
    case(file, name, T(dtypes[0], 0, 3), T(dtypes[0], 1, 3), **kwargs)
    case(file, name, T(dtypes[0], 2, 3), T(dtypes[0], 4), error=INVALID, **kwargs)
    if number_op:
        case(file, number_op, T(dtypes[0], 5, lo=lo, hi=hi), 2, **kwargs)
        case(file, number_op, T(dtypes[0], 5, lo=lo, hi=hi), 1.5, **kwargs)
        if len(dtypes) > 1:
            case(file, number_op, T(dtypes[1], 5, lo=lo, hi=hi), 3, **kwargs)


def binary_cases():
    file = "binary"
    for name in ["add", "sub", "mul"]:
        binary(file, f"aten.{name}.Tensor", number_op=f"aten.{name}.Scalar")
        case(file, f"aten.{name}.Tensor", T(bf16, 4), T(bf16, 4))
        case(file, f"aten.{name}_.Tensor", T(f32, 2, 3), T(f32, 3))
        # Promotion between the categories: dims, 0-d, numbers.
        case(file, f"aten.{name}.Tensor", T(i32, 3), T(f32, 3))
        case(file, f"aten.{name}.Tensor", T(i64, 3), T(f64))
        case(file, f"aten.{name}.Tensor", T(bf16, 3), T(f32))
        case(file, f"aten.{name}.Tensor", T(f16, 3), T(bf16, 3))
        case(file, f"aten.{name}.Tensor", T(i8, 3), T(i64))
        case(file, f"aten.{name}.Tensor", T(i32), T(i64))
        case(file, f"aten.{name}.Tensor", T(u8, 3, lo=0, hi=9), T(i8, 3))
        case(file, f"aten.{name}.Tensor", T(i32, 3), 2.5)
        case(file, f"aten.{name}.Tensor", T(i32), 2)
        case(file, f"aten.{name}.Tensor", T(bf16, 3), 2.5)
    case(file, "aten.add.Tensor", T(b8, 6), T(b8, 6))
    case(file, "aten.mul.Tensor", T(b8, 6), T(b8, 6))
    case(file, "aten.add.Tensor", T(b8, 6), 3)
    case(file, "aten.add.Tensor", T(b8, 6), 0.5)
    case(file, "aten.add.Tensor", T(f32, 3), T(f32, 3), alpha=2)
    case(file, "aten.add.Tensor", T(i64, 3), T(i64, 3), alpha=-3)
    case(file, "aten.sub.Tensor", T(f32, 3), T(f32, 3), alpha=0.5)
    case(file, "aten.rsub.Scalar", T(f32, 3), 2)
    case(file, "aten.rsub.Scalar", T(i64, 3), 2, 3)
    case(file, "aten.rsub.Tensor", T(f32, 3), T(f32, 3), alpha=2)
    binary(file, "aten.div.Tensor", lo=1, hi=5, number_op="aten.div.Scalar")
    case(file, "aten.div.Tensor", V([1.0, -1.0, 0.0]), V([0.0, 0.0, 0.0]))
    case(file, "aten.div.Tensor", T(b8, 4), V([True] * 4, b8))
    for mode in ["floor", "trunc"]:
        case(file, "aten.div.Tensor_mode", T(f32, 6), T(f32, 6, lo=0.5, hi=2), rounding_mode=mode)
        case(file, "aten.div.Tensor_mode", V([7, -7, 7, -7], i64), V([2, 2, -2, -2], i64), rounding_mode=mode)
        case(file, "aten.div.Tensor_mode", V([7, -7], i64), 2.0, rounding_mode=mode)
        case(file, "aten.div.Scalar_mode", T(f32, 4), 0.7, rounding_mode=mode)
    case(file, "aten.div.Tensor_mode", T(i64, 4), V([2, 3, 4, 5], i64), rounding_mode=None)
    case(file, "aten.floor_divide.default", V([7, -7, 8], i64), V([2, 2, -3], i64))
    case(file, "aten.floor_divide.default", T(f32, 4), T(f32, 4, lo=0.5, hi=2))
    case(file, "aten.floor_divide.Scalar", T(f32, 4), 2)
    for name in ["remainder", "fmod"]:
        case(file, f"aten.{name}.Tensor", T(f32, 2, 3), T(f32, 3, lo=0.5, hi=2))
        case(file, f"aten.{name}.Tensor", V([7, -7, 7, -7], i64), V([3, 3, -3, -3], i64))
        case(file, f"aten.{name}.Scalar", T(f32, 5), -1.5)
        case(file, f"aten.{name}.Scalar", T(i32, 5), 2)
    for exponent in [0, 1, 2, 3, 0.5, -0.5, -1, -2, 1.7, 5]:
        case(file, "aten.pow.Tensor_Scalar", T(f32, 4, lo=0.3, hi=3), exponent)
    case(file, "aten.pow.Tensor_Scalar", T(i64, 4), 2)
    case(file, "aten.pow.Tensor_Scalar", T(i64, 4), 5)
    case(file, "aten.pow.Tensor_Scalar", T(i64, 4), 2.0)
    case(file, "aten.pow.Tensor_Scalar", T(bf16, 4), 2)
    case(file, "aten.pow.Tensor_Tensor", T(f32, 2, 3, lo=0.3, hi=3), T(f32, 3))
    case(file, "aten.pow.Tensor_Tensor", T(i64, 4), V([0, 1, 2, 3], i64))
    case(file, "aten.pow.Scalar", 2, T(f32, 4))
    case(file, "aten.pow.Scalar", 2.5, T(i64, 4, lo=0))
    for name in ["atan2", "maximum", "minimum", "fmax", "fmin", "hypot", "nextafter"]:
        binary(file, f"aten.{name}.default", dtypes=(f32,) if name in ("hypot", "nextafter") else (f32, i64))
    for name in ["maximum", "minimum", "fmax", "fmin"]:
        case(file, f"aten.{name}.default", V([1.0, NAN, 2.0, NAN]), V([NAN, 1.0, 3.0, NAN]))
        case(file, f"aten.{name}.default", T(b8, 6), T(b8, 6))
    case(file, "aten.copysign.Tensor", T(f32, 4), T(f32, 4))
    case(file, "aten.copysign.Tensor", T(i32, 4), T(i32, 4))
    case(file, "aten.copysign.Scalar", T(f32, 4), -1.0)
    for name in ["eq", "ne", "lt", "le", "gt", "ge"]:
        binary(file, f"aten.{name}.Tensor", number_op=f"aten.{name}.Scalar", lo=-2, hi=2)
        case(file, f"aten.{name}.Tensor", T(b8, 6), T(b8, 6))
        case(file, f"aten.{name}.Scalar", T(i64, 4), 0.5)
        case(file, f"aten.{name}.Scalar", V([-INF, 0.0, NAN]), -INF)
        case(file, f"aten.{name}.Tensor", T(i32, 4), T(f32, 4))
    for name in ["logical_and", "logical_or", "logical_xor"]:
        case(file, f"aten.{name}.default", T(b8, 8), T(b8, 8))
        case(file, f"aten.{name}.default", T(f32, 2, 1), T(i32, 3))
        case(file, f"aten.{name}.default", T(i64, 4), T(b8, 4))
    for name, dunder in [("bitwise_and", "__and__"), ("bitwise_or", "__or__"), ("bitwise_xor", "__xor__")]:
        case(file, f"aten.{name}.Tensor", T(i32, 6, lo=0, hi=99), T(i32, 6, lo=0, hi=99))
        case(file, f"aten.{name}.Tensor", T(b8, 6), T(b8, 6))
        case(file, f"aten.{name}.Scalar", T(u8, 6, lo=0, hi=99), 13)
        case(file, f"aten.{dunder}.Tensor", T(i64, 6), T(i64, 6))
        case(file, f"aten.{dunder}.Scalar", T(i64, 6), 5)
    for name in ["__lshift__", "__rshift__"]:
        case(file, f"aten.{name}.Scalar", T(i32, 6, lo=-9, hi=99), 2)
        case(file, f"aten.{name}.Scalar", T(u8, 6, lo=0, hi=200), 4)
        case(file, f"aten.{name}.Tensor", T(i64, 3), V([0, 1, 5], i64))
    case(file, "aten.xlogy.Tensor", V([0.0, 0.0, 2.0, 1.0]), V([0.0, NAN, 3.0, 0.5]))
    case(file, "aten.xlogy.Tensor", T(f32, 2, 3, lo=0), T(f32, 3, lo=0.1))
    case(file, "aten.xlogy.Tensor", T(i64, 3, lo=0), T(i64, 3, lo=1, hi=4))
    for name in ["logaddexp", "logaddexp2"]:
        case(file, f"aten.{name}.default", T(f32, 2, 3), T(f32, 3))
        case(file, f"aten.{name}.default", V([INF, -INF, 0.0]), V([INF, -INF, -INF]))
        case(file, f"aten.{name}.default", T(f64, 2), T(f64))
    case(file, "aten.heaviside.default", V([-1.0, 0.0, 2.0]), V([0.5, 0.5, 0.5]))
    case(file, "aten.heaviside.default", T(i64, 3), T(i64, 3))
    case(file, "aten.heaviside.default", T(f32, 2, 3), T(f32))
    case(file, "aten.ldexp.Tensor", T(f32, 3), V([1, 2, -3], i32))
    case(file, "aten.ldexp.Tensor", T(f32, 2, 3), T(f32, 3))
    case(file, "aten.ldexp.Tensor", T(i64, 3), V([1, 2, 3], i64))
    case(file, "aten.lerp.Scalar", T(f32, 3), T(f32, 3), 0.3)
    case(file, "aten.lerp.Scalar", T(f32, 2, 3), T(f32, 3), 0.8)
    case(file, "aten.lerp.Tensor", T(f32, 3), T(f32, 3), T(f32, 3, lo=0, hi=1))
    for name in ["addcmul", "addcdiv"]:
        case(file, f"aten.{name}.default", T(f32, 2, 3), T(f32, 3), T(f32, 1, lo=1), value=0.5)
        case(file, f"aten.{name}.default", T(f32, 3), T(f32, 3), T(f32, 3, lo=1))
        case(file, f"aten.{name}.default", T(bf16, 3), T(bf16, 3), T(bf16, 3, lo=1), value=2)
    case(file, "aten.clamp.default", T(f32, 2, 5), -1, 1)
    case(file, "aten.clamp.default", T(f32, 5), None, 0.5)
    case(file, "aten.clamp.default", T(f32, 5), -0.5)
    case(file, "aten.clamp.default", T(i64, 5), -1, 2)
    case(file, "aten.clamp.default", T(i64, 5), -0.5, 1.5)
    case(file, "aten.clamp.default", V([NAN, 5.0, -5.0]), 2, 1)
    case(file, "aten.clamp.Tensor", T(f32, 2, 3), T(f32, 3, lo=-1, hi=0), T(f32, 1, lo=0, hi=1))
    case(file, "aten.clamp.Tensor", T(f32, 3), None, T(f32, 3))
    case(file, "aten.clamp_min.default", T(f32, 4), 0)
    case(file, "aten.clamp_min.default", V([1e-12, 0.0, 2.0]), 1e-9)
    case(file, "aten.clamp_min.Tensor", T(f32, 4), T(f32, 4))
    case(file, "aten.clamp_max.default", T(f32, 4), 0)
    case(file, "aten.clamp_max.default", T(i32, 4), 1)
    case(file, "aten.clamp_max.Tensor", T(f32, 4), T(f32, 4))
    case(file, "aten.where.self", T(b8, 2, 3), T(f32, 3), T(f32, 2, 1))
    case(file, "aten.where.self", T(b8, 3), T(f32, 3), T(i64, 3))
    case(file, "aten.where.self", T(b8), T(f32, 3), T(f32))
    case(file, "aten.where.self", T(b8, 3), T(f32, 2), T(f32, 3), error=INVALID)
    case(file, "aten.where.ScalarOther", T(b8, 3), T(f32, 3), -INF)
    case(file, "aten.where.ScalarSelf", T(b8, 3), 1, T(f32, 3))
    case(file, "aten.where.Scalar", T(b8, 3), 1.0, 0.0)
    case(file, "aten.where.Scalar", T(b8, 3), 1, 0)
    case(file, "aten.masked_fill.Scalar", T(f32, 2, 3), T(b8, 3), -INF)
    case(file, "aten.masked_fill.Scalar", T(i64, 3), T(b8, 2, 3), 7)
    case(file, "aten.masked_fill.Tensor", T(f32, 2, 3), T(b8, 2, 1), T(f32))
    case(file, "aten.isclose.default", V([1.0, 2.0, INF, NAN]), V([1.0 + 1e-6, 2.1, INF, NAN]))
    case(file, "aten.isclose.default", V([1.0, NAN]), V([1.1, NAN]), 0.2, 0.0, True)
    case(file, "aten.isclose.default", T(i64, 3), T(i64, 3))


def cast_cases():
    file = "casts"
    dtypes = [f16, bf16, f32, f64, i32, i64, b8, u8, i8]
    for source in [f32, i64, b8, bf16]:
        for target in dtypes:
            low = 0 if target == u8 else -3
            case(file, "aten._to_copy.default", T(source, 4, lo=low), dtype=target)
    case(file, "aten._to_copy.default", T(f32, 2, 2))
    case(file, "aten.to.dtype", V([1.9, -1.9, 0.4, -0.4]), i32)
    case(file, "aten.to.dtype", T(f32, 3), f32)
    case(file, "aten.to.dtype", T(f32), f16)
    case(file, "aten.to.dtype_layout", T(i64, 3), dtype=f32)
    case(file, "aten.to.dtype_layout", T(i64, 3), dtype=i64)
    case(file, "aten.to.dtype_layout", T(i64, 0), dtype=b8)
    case(file, "aten.type_as.default", T(i64, 3), T(f32, 1))
    case(file, "aten.type_as.default", T(f32, 3), T(f32, 1))
    case(file, "aten.to.other", T(f32, 3), T(b8, 1))
    for name in ["alias", "clone", "detach", "lift_fresh_copy", "contiguous", "positive"]:
        case(file, f"aten.{name}.default", T(f32, 2, 3))
        case(file, f"aten.{name}.default", T(i64, 0))
        case(file, f"aten.{name}.default", T(f32))
    case(file, "aten.dropout.default", T(f32, 3), 0.5, False)
    case(file, "aten.dropout.default", T(f32, 3), 0.5, True, error=UNIMPLEMENTED)
    case(file, "aten.dropout_.default", T(f32, 3), 0.5, False)


def view_cases():
    file = "views"
    case(file, "aten.permute.default", T(f32, 2, 3, 4), [2, 0, 1])
    case(file, "aten.permute.default", T(f32, 2, 3), [-1, -2])
    case(file, "aten.permute.default", T(f32), [])
    case(file, "aten.permute.default", T(f32, 2, 3), [0, 0], error=INVALID)
    case(file, "aten.permute.default", T(f32, 2, 3), [0], error=INVALID)
    for name in ["reshape", "view"]:
        case(file, f"aten.{name}.default", T(f32, 2, 6), [3, 4])
        case(file, f"aten.{name}.default", T(f32, 2, 6), [-1, 2, 2])
        case(file, f"aten.{name}.default", T(f32, 0, 3), [3, 0])
        case(file, f"aten.{name}.default", T(f32), [1, 1])
        case(file, f"aten.{name}.default", T(f32, 1), [])
        case(file, f"aten.{name}.default", T(f32, 6), [4, -1], error=INVALID)
        case(file, f"aten.{name}.default", T(f32, 6), [-1, -1], error=INVALID)
        case(file, f"aten.{name}.default", T(f32, 6), [5], error=INVALID)
    case(file, "aten._unsafe_view.default", T(f32, 4), [2, 2])
    case(file, "aten._unsafe_view.default", T(f32, 4), [2, -1])
    case(file, "aten._unsafe_view.default", T(i64, 4), [4, 1])
    for name in ["expand", "broadcast_to"]:
        case(file, f"aten.{name}.default", T(f32, 1, 3), [2, 3])
        case(file, f"aten.{name}.default", T(f32, 3), [2, 2, 3])
        case(file, f"aten.{name}.default", T(f32, 2, 1), [-1, 4])
        case(file, f"aten.{name}.default", T(f32), [2, 2])
        case(file, f"aten.{name}.default", T(f32, 2), [3], error=INVALID)
    case(file, "aten.expand_as.default", T(f32, 2, 1), T(i64, 2, 3))
    case(file, "aten.expand_as.default", T(f32), T(i64, 3))
    case(file, "aten.expand_as.default", T(f32, 2), T(i64, 3), error=INVALID)
    case(file, "aten.broadcast_tensors.default", [T(f32, 2, 1), T(i64, 3)])
    case(file, "aten.broadcast_tensors.default", [T(f32), T(f32, 3), T(f32, 2, 1)])
    case(file, "aten.broadcast_tensors.default", [T(f32, 2), T(f32, 3)], error=INVALID)
    case(file, "aten.narrow.default", T(f32, 5, 2), 0, 1, 3)
    case(file, "aten.narrow.default", T(f32, 2, 5), -1, -3, 2)
    case(file, "aten.narrow.default", T(f32, 5), 0, 5, 0)
    case(file, "aten.narrow.default", T(f32, 5), 0, 3, 3, error=INVALID)
    for name in ["cat", "concat"]:
        case(file, f"aten.{name}.default", [T(f32, 2, 3), T(f32, 1, 3)])
        case(file, f"aten.{name}.default", [T(f32, 2, 1), T(f32, 2, 3), T(f32, 2, 2)], -1)
        case(file, f"aten.{name}.default", [T(f32, 2), T(i64, 3)])
    case(file, "aten.cat.default", [T(f32, 0), T(f32, 2, 3)], 1)
    case(file, "aten.cat.default", [T(f32, 0, 3), T(f32, 2, 3)])
    case(file, "aten.cat.default", [T(bf16, 2, 2)])
    case(file, "aten.cat.default", [T(f32, 2, 3), T(f32, 2, 2)], 0, error=INVALID)
    case(file, "aten.stack.default", [T(f32, 2, 3), T(f32, 2, 3)])
    case(file, "aten.stack.default", [T(f32, 2), T(f32, 2), T(f32, 2)], -1)
    case(file, "aten.stack.default", [T(f32), T(f32)])
    case(file, "aten.stack.default", [T(f32, 2), T(f32, 3)], error=INVALID)
    case(file, "aten.unsqueeze.default", T(f32, 2, 3), 1)
    case(file, "aten.unsqueeze.default", T(f32, 2, 3), -1)
    case(file, "aten.unsqueeze.default", T(f32), 0)
    case(file, "aten.unsqueeze.default", T(f32, 2), 3, error=INVALID)
    case(file, "aten.squeeze.dim", T(f32, 2, 1, 3), 1)
    case(file, "aten.squeeze.dim", T(f32, 2, 1, 3), 0)
    case(file, "aten.squeeze.dim", T(f32, 2, 1), -1)
    case(file, "aten.squeeze.dims", T(f32, 1, 2, 1), [0, 2])
    case(file, "aten.squeeze.dims", T(f32, 1, 2, 1), [-1, 1])
    case(file, "aten.squeeze.dims", T(f32, 1, 1), [0, 1])
    case(file, "aten.squeeze.default", T(f32, 1, 2, 1, 3))
    case(file, "aten.squeeze.default", T(f32, 2, 3))
    case(file, "aten.squeeze.default", T(f32, 1))
    case(file, "aten.flatten.using_ints", T(f32, 2, 3, 4))
    case(file, "aten.flatten.using_ints", T(f32, 2, 3, 4), 1)
    case(file, "aten.flatten.using_ints", T(f32, 2, 3, 4), 0, -2)
    case(file, "aten.flatten.using_ints", T(f32))
    case(file, "aten.flatten.using_ints", T(f32, 2, 3), 1, 0, error=INVALID)
    case(file, "aten.unflatten.int", T(f32, 2, 6), 1, [2, 3])
    case(file, "aten.unflatten.int", T(f32, 6, 2), 0, [-1, 2])
    case(file, "aten.unflatten.int", T(f32, 2, 6), -1, [3, -1])
    case(file, "aten.view_as.default", T(f32, 6), T(i64, 2, 3))
    case(file, "aten.reshape_as.default", T(f32, 6), T(i64, 3, 2))
    case(file, "aten.view_as.default", T(f32, 6), T(i64, 4), error=INVALID)
    case(file, "aten.transpose.int", T(f32, 2, 3, 4), 0, 2)
    case(file, "aten.transpose.int", T(f32, 2, 3, 4), -1, -2)
    case(file, "aten.transpose.int", T(f32), 0, -1)
    case(file, "aten.transpose.int", T(f32, 2, 3), 0, 2, error=INVALID)
    case(file, "aten.swapaxes.default", T(f32, 2, 3), 0, 1)
    case(file, "aten.swapdims.default", T(f32, 2, 3), 0, -1)
    for name in ["t", "numpy_T"]:
        case(file, f"aten.{name}.default", T(f32, 2, 3))
        case(file, f"aten.{name}.default", T(f32, 3))
        case(file, f"aten.{name}.default", T(f32, 0, 3))
    case(file, "aten.mT.default", T(f32, 2, 3, 4))
    case(file, "aten.mT.default", T(f32, 3, 4))
    case(file, "aten.mT.default", T(f32, 3), error=INVALID)
    case(file, "aten.movedim.int", T(f32, 2, 3, 4), 0, -1)
    case(file, "aten.movedim.int", T(f32, 2, 3, 4), 2, 0)
    case(file, "aten.movedim.intlist", T(f32, 2, 3, 4), [0, 1], [2, 0])
    case(file, "aten.movedim.intlist", T(f32, 2, 3, 4), [0, 1], [2], error=INVALID)
    case(file, "aten.select.int", T(f32, 2, 3), 0, 1)
    case(file, "aten.select.int", T(f32, 2, 3), -1, -1)
    case(file, "aten.select.int", T(f32, 3), 0, 0)
    case(file, "aten.select.int", T(f32, 2, 3), 0, 2, error=INVALID)
    case(file, "aten.slice.Tensor", T(f32, 5, 2), 0, 1, 4)
    case(file, "aten.slice.Tensor", T(f32, 5, 2), 0, 1, 9223372036854775807)
    case(file, "aten.slice.Tensor", T(f32, 2, 7), -1, None, None, 3)
    case(file, "aten.slice.Tensor", T(f32, 7), 0, -3, -1)
    case(file, "aten.slice.Tensor", T(f32, 7), 0, 5, 2)
    case(file, "aten.slice.Tensor", T(f32, 7), 0, -100, 100, 2)
    case(file, "aten.slice.Tensor", T(f32, 7))
    case(file, "aten.slice.Tensor", T(f32), 0, 0, 1, error=INVALID)
    case(file, "aten.unbind.int", T(f32, 3, 2))
    case(file, "aten.unbind.int", T(f32, 2, 3), -1)
    case(file, "aten.unbind.int", T(f32, 1))
    case(file, "aten.split.Tensor", T(f32, 7, 2), 3)
    case(file, "aten.split.Tensor", T(f32, 2, 6), 2, -1)
    case(file, "aten.split.Tensor", T(f32, 4), 10)
    case(file, "aten.split_with_sizes.default", T(f32, 6), [1, 2, 3])
    case(file, "aten.split_with_sizes.default", T(f32, 2, 3), [2, 1], 1)
    case(file, "aten.split_with_sizes.default", T(f32, 6), [1, 2], error=INVALID)
    case(file, "aten.chunk.default", T(f32, 7), 3)
    case(file, "aten.chunk.default", T(f32, 2, 6), 3, 1)
    case(file, "aten.chunk.default", T(f32, 5), 4)
    case(file, "aten.tensor_split.sections", T(f32, 7), 3)
    case(file, "aten.tensor_split.sections", T(f32, 2, 4), 2, 1)
    case(file, "aten.tensor_split.sections", T(f32, 2), 3)
    case(file, "aten.tensor_split.indices", T(f32, 7), [2, 5])
    case(file, "aten.tensor_split.indices", T(f32, 2, 7), [-3], 1)
    case(file, "aten.tensor_split.indices", T(f32, 4), [3, 1], error=UNIMPLEMENTED)
    case(file, "aten.repeat.default", T(f32, 2, 3), [2, 2])
    case(file, "aten.repeat.default", T(f32, 3), [2, 1, 2])
    case(file, "aten.repeat.default", T(f32), [3])
    case(file, "aten.repeat.default", T(f32, 2, 3), [2], error=INVALID)
    case(file, "aten.tile.default", T(f32, 2, 3), [2])
    case(file, "aten.tile.default", T(f32, 2), [2, 2])
    case(file, "aten.tile.default", T(f32, 2), [0])
    case(file, "aten.repeat_interleave.self_int", T(f32, 2, 3), 2)
    case(file, "aten.repeat_interleave.self_int", T(f32, 2, 3), 2, 1)
    case(file, "aten.repeat_interleave.self_int", T(f32, 2, 3), 3, -2)
    case(file, "aten.pixel_shuffle.default", T(f32, 1, 8, 2, 3), 2)
    case(file, "aten.pixel_shuffle.default", T(f32, 4, 2, 2), 2)
    case(file, "aten.pixel_shuffle.default", T(f32, 2, 1, 9, 1, 2), 3)
    case(file, "aten.pixel_unshuffle.default", T(f32, 1, 2, 4, 6), 2)
    case(file, "aten.pixel_unshuffle.default", T(f32, 2, 4, 4), 2)
    case(file, "aten.pixel_unshuffle.default", T(f32, 1, 3, 3), 3)
    case(file, "aten.channel_shuffle.default", T(f32, 1, 6, 2, 2), 2)
    case(file, "aten.channel_shuffle.default", T(f32, 2, 4, 3), 2)
    case(file, "aten.channel_shuffle.default", T(f32, 2, 6, 1), 3)


def factory_cases():
    file = "factories"
    case(file, "aten.full.default", [2, 3], 1.5)
    case(file, "aten.full.default", [2], 7)
    case(file, "aten.full.default", [], True)
    case(file, "aten.full.default", [3], -INF, dtype=bf16)
    case(file, "aten.full.default", [2], 9007199254740993)
    for name in ["zeros", "ones"]:
        case(file, f"aten.{name}.default", [2, 2])
        case(file, f"aten.{name}.default", [3], dtype=i64)
        case(file, f"aten.{name}.default", [0], dtype=b8)
        case(file, f"aten.{name}_like.default", T(i32, 2))
        case(file, f"aten.{name}_like.default", T(f32, 2, 0))
        case(file, f"aten.{name}_like.default", T(f32, 2), dtype=b8)
        case(file, f"aten.new_{name}.default", T(f32, 2), [3])
        case(file, f"aten.new_{name}.default", T(i64, 2), [2, 2])
        case(file, f"aten.new_{name}.default", T(i64, 2), [1], dtype=f32)
    case(file, "aten.full_like.default", T(f32, 2, 3), 2)
    case(file, "aten.full_like.default", T(i64, 2), 3)
    case(file, "aten.full_like.default", T(f32), 1, dtype=b8)
    case(file, "aten.new_full.default", T(f32, 2), [2, 2], 2.5)
    case(file, "aten.new_full.default", T(i64, 2), [3], 2)
    case(file, "aten.new_full.default", T(i64, 2), [], 2.5, dtype=f64)
    case(file, "aten.fill.Scalar", T(f32, 2, 3), 2)
    case(file, "aten.fill.Scalar", T(i64, 3), -2)
    case(file, "aten.fill_.Scalar", T(f32, 3), 0.5)
    case(file, "aten.fill.Tensor", T(f32, 2, 3), T(f32))
    case(file, "aten.fill.Tensor", T(i64, 3), T(f32))
    case(file, "aten.fill.Tensor", T(f32), T(f32))
    case(file, "aten.scalar_tensor.default", 1.5)
    case(file, "aten.scalar_tensor.default", 2, dtype=i64)
    case(file, "aten.scalar_tensor.default", -INF, dtype=f16)
    case(file, "aten.scalar_tensor.default", 3)
    case(file, "aten.arange.default", 5)
    case(file, "aten.arange.default", 2.5)
    case(file, "aten.arange.default", 5, dtype=f32)
    case(file, "aten.arange.start", 2, 7)
    case(file, "aten.arange.start", 3, 3)
    case(file, "aten.arange.start", 0.5, 4)
    case(file, "aten.arange.start_step", 1, 10, 3)
    case(file, "aten.arange.start_step", 5, 0, -2)
    case(file, "aten.arange.start_step", 0, 1, 0.3)
    case(file, "aten.arange.start_step", 0, 6, 2, dtype=i32)
    case(file, "aten.arange.start_step", 0, 1, 0, error=INVALID)
    case(file, "aten.linspace.default", 0, 1, 5)
    case(file, "aten.linspace.default", -2.0, 3.5, 8, dtype=f64)
    case(file, "aten.linspace.default", 3, 7, 1)
    case(file, "aten.eye.default", 3)
    case(file, "aten.eye.m", 2, 3, dtype=i64)
    case(file, "aten.eye.m", 3, 2)
    for name in ["tril", "triu"]:
        case(file, f"aten.{name}.default", T(f32, 3, 4))
        case(file, f"aten.{name}.default", T(f32, 2, 3, 3), 1)
        case(file, f"aten.{name}.default", T(i64, 4, 3), -1)
        case(file, f"aten.{name}.default", T(f32, 3), error=INVALID)


def matmul_cases():
    file = "matmul"
    case(file, "aten.mm.default", T(f32, 3, 4), T(f32, 4, 2))
    case(file, "aten.mm.default", T(bf16, 3, 4), T(bf16, 4, 2))
    case(file, "aten.mm.default", T(i64, 3, 4), T(i64, 4, 2))
    case(file, "aten.mm.default", T(f32, 2, 0), T(f32, 0, 3))
    case(file, "aten.mm.default", T(f32, 3, 4), T(f32, 3, 2), error=INVALID)
    case(file, "aten.mm.default", T(f32, 3), T(f32, 3, 2), error=INVALID)
    case(file, "aten.bmm.default", T(f32, 2, 3, 4), T(f32, 2, 4, 2))
    case(file, "aten.bmm.default", T(f64, 1, 1, 4), T(f64, 1, 4, 3))
    case(file, "aten.bmm.default", T(f16, 2, 2, 3), T(f16, 2, 3, 2))
    for a, b in [((3, 4), (4, 2)), ((4,), (4,)), ((4,), (4, 2)), ((3, 4), (4,)), ((2, 3, 4), (4, 2)), ((2, 3, 4), (4,)),
                 ((4,), (2, 4, 3)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 4), (2, 4, 2)), ((0, 4), (4, 2))]:
        case(file, "aten.matmul.default", T(f32, *a), T(f32, *b))
    case(file, "aten.matmul.default", T(f32, 2, 3), T(f32, 2, 3), error=INVALID)
    case(file, "aten.matmul.default", T(f32), T(f32, 2), error=INVALID)
    case(file, "aten.mv.default", T(f32, 3, 4), T(f32, 4))
    case(file, "aten.mv.default", T(f32, 1, 4), T(f32, 4))
    case(file, "aten.mv.default", T(f32, 3, 4), T(f32, 3), error=INVALID)
    case(file, "aten.dot.default", T(f32, 4), T(f32, 4))
    case(file, "aten.dot.default", T(f32, 0), T(f32, 0))
    case(file, "aten.dot.default", T(i64, 4), T(i64, 4))
    case(file, "aten._int_mm.default", T(i8, 17, 8), T(i8, 8, 8))
    case(file, "aten._int_mm.default", T(i8, 18, 16), T(i8, 16, 8))
    case(file, "aten._int_mm.default", T(i8, 17, 8), T(i8, 7, 8), error=INVALID)
    case(file, "aten._int_mm.default", T(f32, 17, 8), T(f32, 8, 8), error=INVALID)
    case(file, "aten.linear.default", T(f32, 3, 4), T(f32, 2, 4), T(f32, 2))
    case(file, "aten.linear.default", T(f32, 2, 3, 4), T(f32, 5, 4))
    case(file, "aten.linear.default", T(f32, 4), T(f32, 2, 4), T(f32, 2))
    case(file, "aten.linear.default", T(bf16, 2, 3, 4), T(bf16, 2, 4), T(bf16, 2))
    case(file, "aten.linear.default", T(f32, 0, 4), T(f32, 2, 4), T(f32, 2))
    case(file, "aten.linear.default", T(f32, 3, 4), T(f32, 2, 5), error=INVALID)
    case(file, "aten.addmm.default", T(f32, 2), T(f32, 3, 4), T(f32, 4, 2))
    case(file, "aten.addmm.default", T(f32, 3, 1), T(f32, 3, 4), T(f32, 4, 2), beta=0.5, alpha=2)
    case(file, "aten.addmm.default", T(f32), T(f32, 3, 4), T(f32, 4, 2), beta=0)
    case(file, "aten.addmm.default", T(bf16, 2), T(bf16, 3, 4), T(bf16, 4, 2))
    case(file, "aten.addmm.default", T(f32, 5), T(f32, 3, 4), T(f32, 4, 2), error=INVALID)
    case(file, "aten.baddbmm.default", T(f32, 2, 3, 2), T(f32, 2, 3, 4), T(f32, 2, 4, 2))
    case(file, "aten.baddbmm.default", T(f32, 1, 2), T(f32, 2, 3, 4), T(f32, 2, 4, 2), beta=2, alpha=0.5)
    case(file, "aten.baddbmm.default", T(f32, 1), T(f32, 1, 1, 1), T(f32, 1, 1, 1))
    case(file, "aten.addmv.default", T(f32, 3), T(f32, 3, 4), T(f32, 4))
    case(file, "aten.addmv.default", T(f32), T(f32, 3, 4), T(f32, 4), beta=2)
    case(file, "aten.addmv.default", T(f32, 1), T(f32, 3, 4), T(f32, 4), alpha=3)
    case(file, "aten.outer.default", T(f32, 3), T(f32, 2))
    case(file, "aten.outer.default", T(i64, 3), T(f32, 2))
    case(file, "aten.outer.default", T(f32, 0), T(f32, 2))
    case(file, "aten.inner.default", T(f32, 2, 3), T(f32, 4, 3))
    case(file, "aten.inner.default", T(f32, 3), T(f32, 3))
    case(file, "aten.inner.default", T(f32, 2, 2, 3), T(f32, 3))


def convolution_cases():
    file = "convolution"
    two, none = [1, 1], [0, 0]
    case(file, "aten.conv1d.default", T(f32, 2, 3, 8), T(f32, 4, 3, 3), T(f32, 4))
    case(file, "aten.conv1d.default", T(f32, 1, 4, 9), T(f32, 6, 2, 3), None, [2], [1], [2], 2)
    case(file, "aten.conv1d.default", T(f32, 3, 8), T(f32, 4, 3, 3))
    case(file, "aten.conv2d.default", T(f32, 1, 2, 5, 6), T(f32, 3, 2, 3, 3), T(f32, 3))
    case(file, "aten.conv2d.default", T(f32, 2, 2, 5, 6), T(f32, 3, 2, 3, 2), None, [2, 1], [1, 0])
    case(file, "aten.conv2d.default", T(f32, 1, 4, 6, 6), T(f32, 4, 1, 3, 3), T(f32, 4), [1, 1], [1, 1], [2, 2], 4)
    case(file, "aten.conv2d.default", T(bf16, 1, 2, 4, 4), T(bf16, 2, 2, 3, 3), T(bf16, 2), tol=(0.06, 0.02))
    case(file, "aten.conv2d.default", T(f32, 2, 4, 4), T(f32, 3, 2, 1, 1))
    case(file, "aten.conv2d.default", T(f32, 1, 3, 4, 4), T(f32, 3, 2, 1, 1), error=INVALID)
    case(file, "aten.conv2d.default", T(f32, 1, 2, 2, 2), T(f32, 3, 2, 3, 3), error=INVALID)
    case(file, "aten.conv3d.default", T(f32, 1, 1, 3, 4, 4), T(f32, 2, 1, 2, 2, 2), T(f32, 2))
    case(file, "aten.conv3d.default", T(f32, 1, 2, 4, 4, 4), T(f32, 2, 1, 3, 3, 3), None, [2, 1, 1], [1, 1, 1], [1, 1, 1], 2)
    case(file, "aten.conv3d.default", T(f32, 1, 1, 2, 2, 2), T(f32, 1, 1, 1, 1, 1))
    case(file, "aten.conv1d.padding", T(f32, 1, 2, 7), T(f32, 3, 2, 3), T(f32, 3), [1], "same")
    case(file, "aten.conv1d.padding", T(f32, 1, 2, 7), T(f32, 3, 2, 4), None, [1], "same")
    case(file, "aten.conv1d.padding", T(f32, 1, 2, 7), T(f32, 3, 2, 4), None, [2], "valid")
    case(file, "aten.conv2d.padding", T(f32, 1, 1, 5, 5), T(f32, 2, 1, 3, 2), None, [1, 1], "same")
    case(file, "aten.conv2d.padding", T(f32, 1, 1, 5, 5), T(f32, 2, 1, 3, 2), None, [1, 1], "same", [2, 2])
    case(file, "aten.conv2d.padding", T(f32, 1, 1, 5, 5), T(f32, 2, 1, 3, 2), T(f32, 2), [2, 2], "valid")
    case(file, "aten.conv_transpose1d.default", T(f32, 1, 3, 5), T(f32, 3, 2, 3), T(f32, 2), [2], [1])
    case(file, "aten.conv_transpose1d.default", T(f32, 1, 4, 5), T(f32, 4, 2, 3), None, [2], [1], [1], 2)
    case(file, "aten.conv_transpose1d.default", T(f32, 2, 5), T(f32, 2, 1, 2))
    case(file, "aten.conv_transpose2d.input", T(f32, 1, 2, 3, 3), T(f32, 2, 3, 2, 2), T(f32, 3), [2, 2])
    case(file, "aten.conv_transpose2d.input", T(f32, 1, 4, 3, 3), T(f32, 4, 1, 3, 3), None, [2, 2], [1, 1], [1, 1], 2, [1, 1])
    case(file, "aten.conv_transpose2d.input", T(f32, 2, 2, 3, 4), T(f32, 2, 1, 2, 3), None, two, none, none, 1, [2, 2])
    case(file, "aten.conv_transpose3d.input", T(f32, 1, 2, 2, 2, 2), T(f32, 2, 1, 2, 2, 2), None, [2, 2, 2])
    case(file, "aten.conv_transpose3d.input", T(f32, 1, 1, 2, 2, 2), T(f32, 1, 2, 2, 1, 2), T(f32, 2))
    case(file, "aten.conv_transpose3d.input", T(f32, 1, 1, 1, 1, 1), T(f32, 1, 1, 2, 2, 2))
    case(file, "aten.convolution.default", T(f32, 1, 2, 4, 4), T(f32, 3, 2, 2, 2), T(f32, 3), [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    case(file, "aten.convolution.default", T(f32, 1, 2, 4, 4), T(f32, 2, 3, 2, 2), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1)
    case(file, "aten.convolution.default", T(f32, 1, 2, 6), T(f32, 2, 1, 2), None, [2], [1], [1], False, [0], 2)


def pooling_cases():
    file = "pooling"
    for dims in (1, 2, 3):
        spatial = [7, 6, 5][:dims]
        op = f"aten.max_pool{dims}d.default"
        case(file, op, T(f32, 1, 2, *spatial), [2] * dims)
        case(file, op, T(f32, 2, *spatial), [3] * dims, [2] * dims, [1] * dims)
        case(file, op, T(f32, 1, 1, *spatial), [2] * dims, [2] * dims, [0] * dims, [2] * dims)
        case(file, op, T(f32, 1, 1, *spatial), [3] * dims, [2] * dims, [1] * dims, [1] * dims, True)
        op = f"aten.avg_pool{dims}d.default"
        case(file, op, T(f32, 1, 2, *spatial), [2] * dims)
        case(file, op, T(f32, 2, *spatial), [3] * dims, [2] * dims, [1] * dims)
        case(file, op, T(f32, 1, 1, *spatial), [3] * dims, [2] * dims, [1] * dims, False, False)
        case(file, op, T(f32, 1, 1, *spatial), [3] * dims, [2] * dims, [1] * dims, True)
        case(file, op, T(f32, 1, 1, *spatial), [2] * dims, [3] * dims, [0] * dims, True, False)
        op = f"aten.adaptive_avg_pool{dims}d.default"
        case(file, op, T(f32, 1, 2, *spatial), [1] * dims)
        case(file, op, T(f32, 1, 2, *spatial), [3] * dims)
        case(file, op, T(f32, 2, *[6, 4, 8][:dims]), [2] * dims)
    case(file, "aten.max_pool2d.default", V([[[[NAN, 1.0], [2.0, -INF]]]]), [2, 2])
    case(file, "aten.max_pool2d.default", T(bf16, 1, 1, 4, 4), [2, 2])
    case(file, "aten.max_pool2d.default", T(i64, 1, 1, 4, 4), [3, 3], [1, 1], [1, 1])
    case(file, "aten.max_pool2d.default", T(f32, 1, 1, 2, 2), [3, 3], error=INVALID)
    case(file, "aten.max_pool2d.default", T(f32, 4, 4), [2, 2], error=INVALID)
    case(file, "aten.max_pool2d_with_indices.default", T(f32, 1, 2, 5, 6), [2, 2])
    case(file, "aten.max_pool2d_with_indices.default", T(f32, 2, 5, 6), [3, 3], [2, 2], [1, 1])
    case(file, "aten.max_pool2d_with_indices.default", T(f32, 1, 1, 6, 6), [2, 3], [1, 2], [0, 1], [2, 1])
    case(file, "aten.max_pool3d_with_indices.default", T(f32, 1, 1, 4, 4, 4), [2, 2, 2])
    case(file, "aten.max_pool3d_with_indices.default", T(f32, 1, 1, 4, 4, 4), [3, 3, 3], [2, 2, 2], [1, 1, 1])
    case(file, "aten.max_pool3d_with_indices.default", T(f32, 1, 4, 2, 2), [2, 1, 1])
    case(file, "aten.avg_pool2d.default", T(f32, 1, 1, 4, 4), [2, 2], [2, 2], [0, 0], False, True, 3)
    case(file, "aten.avg_pool2d.default", T(bf16, 1, 1, 4, 4), [2, 2])
    case(file, "aten._adaptive_avg_pool2d.default", T(f32, 1, 2, 4, 6), [2, 3])
    case(file, "aten._adaptive_avg_pool2d.default", T(f32, 1, 2, 5, 7), [2, 3])
    case(file, "aten._adaptive_avg_pool2d.default", T(f32, 1, 2, 2, 3), [4, 4])
    case(file, "aten.adaptive_max_pool2d.default", T(f32, 1, 2, 4, 6), [2, 3], outputs=1)
    case(file, "aten.adaptive_max_pool2d.default", T(f32, 1, 2, 5, 7), [2, 3], outputs=1)
    case(file, "aten.adaptive_max_pool2d.default", T(f32, 2, 3, 3), [1, 1], outputs=1)


def reduction_cases():
    file = "reductions"
    ops = [("sum", "dim_IntList", [f32, i64, bf16, b8]), ("mean", "dim", [f32, bf16]), ("amax", "default", [f32, i64]),
           ("amin", "default", [f32, i64])]
    for name, which, dtypes in ops:
        op = f"aten.{name}.{which}"
        for dtype in dtypes:
            case(file, op, T(dtype, 2, 3, 4), [1])
            case(file, op, T(dtype, 2, 3, 4), [0, -1], True)
        case(file, op, T(f32, 2, 3), [])
        case(file, op, T(f32), [0])
        case(file, op, T(f32, 2, 3), [2], error=INVALID)
        case(file, op, T(f32, 2, 3), [0, 0], error=INVALID)
    case(file, "aten.sum.default", T(f32, 2, 3))
    case(file, "aten.sum.default", T(b8, 5))
    case(file, "aten.sum.default", T(f32, 0))
    case(file, "aten.sum.dim_IntList", T(i32, 2, 3), [0], dtype=f32)
    case(file, "aten.sum.dim_IntList", T(f32, 2, 3), None, True)
    case(file, "aten.sum.dim_IntList", T(f32, 0, 3), [0])
    case(file, "aten.mean.default", T(f32, 2, 3))
    case(file, "aten.mean.dim", T(i64, 2, 3), [0], dtype=f32)
    case(file, "aten.mean.dim", T(i64, 2, 3), [0], error=INVALID)
    case(file, "aten.mean.dim", T(f32, 2, 3), None)
    case(file, "aten.nansum.default", V([[1.0, NAN], [2.0, 3.0]]), [0])
    case(file, "aten.nansum.default", V([1.0, NAN]))
    case(file, "aten.nansum.default", T(f64, 2, 2), [1], True)
    case(file, "aten.prod.default", T(f32, 2, 3))
    case(file, "aten.prod.dim_int", T(i64, 2, 3), 1)
    case(file, "aten.prod.dim_int", T(f32, 2, 3), -2, True)
    case(file, "aten.count_nonzero.default", T(i64, 2, 5), 1)
    case(file, "aten.count_nonzero.default", T(b8, 7))
    case(file, "aten.count_nonzero.dim_IntList", T(f32, 2, 3), [0, 1])
    for name in ["max", "min"]:
        case(file, f"aten.{name}.default", T(f32, 2, 3))
        case(file, f"aten.{name}.default", V([1.0, NAN, 3.0]))
        case(file, f"aten.{name}.default", T(b8, 5))
        case(file, f"aten.{name}.default", T(f32, 0), error=INVALID)
        case(file, f"aten.{name}.dim", T(f32, 2, 5), 1)
        case(file, f"aten.{name}.dim", T(i64, 5, 2), 0, True)
        case(file, f"aten.{name}.dim", V([[1.0, NAN, 3.0, NAN]]), -1)
        case(file, f"aten.arg{name}.default", T(f32, 2, 5))
        case(file, f"aten.arg{name}.default", T(f32, 2, 5), 1)
        case(file, f"aten.arg{name}.default", V([3, 1, 3, 1], i64), 0, True)
        case(file, f"aten.arg{name}.default", T(bf16, 5, 2), -2)
    case(file, "aten.aminmax.default", T(f32, 2, 5), dim=1)
    case(file, "aten.aminmax.default", T(f32, 2, 5))
    case(file, "aten.aminmax.default", T(i64, 2, 5), dim=0, keepdim=True)
    for name in ["any", "all"]:
        case(file, f"aten.{name}.default", T(b8, 2, 3))
        case(file, f"aten.{name}.default", T(f32, 0))
        case(file, f"aten.{name}.dim", T(b8, 3, 2), 1)
        case(file, f"aten.{name}.dim", T(i64, 3, 2), 0, True)
        case(file, f"aten.{name}.dims", T(b8, 2, 3, 2), [0, 2])
        case(file, f"aten.{name}.default", T(u8, 3, lo=0, hi=2))
    for name in ["var", "std", "var_mean", "std_mean"]:
        case(file, f"aten.{name}.correction", T(f32, 2, 5), [1], correction=1)
        case(file, f"aten.{name}.correction", T(f32, 2, 5), [0, 1], correction=0, keepdim=True)
        case(file, f"aten.{name}.correction", T(f64, 5), correction=0.5)
        case(file, f"aten.{name}.dim", T(f32, 3, 4), [0], False)
        case(file, f"aten.{name}.default", T(f32, 3, 4), True)
        case(file, f"aten.{name}.correction", T(bf16, 2, 5), [1])
    case(file, "aten.logsumexp.default", T(f32, 2, 5), [1])
    case(file, "aten.logsumexp.default", V([[-INF, -INF], [1.0, INF]]), [1], True)
    case(file, "aten.logsumexp.default", T(f64, 2, 3), [0, 1])
    for order in [2, 1, 0, INF, -INF, 3]:
        case(file, "aten.linalg_vector_norm.default", T(f32, 2, 5), order, [1])
    case(file, "aten.linalg_vector_norm.default", T(f32, 2, 5))
    case(file, "aten.linalg_vector_norm.default", T(f32, 2, 5), 2, [-1], True)
    case(file, "aten.linalg_vector_norm.default", T(bf16, 2, 5), 2, [-1], dtype=f32)
    case(file, "aten.norm.ScalarOpt_dim", T(f32, 2, 5), 2, [1], True)
    case(file, "aten.norm.ScalarOpt_dim", T(f32, 2, 5), None, [0])
    case(file, "aten.norm.Scalar", T(f32, 2, 5), 1)
    for name in ["cumsum", "cumprod"]:
        case(file, f"aten.{name}.default", T(f32, 2, 5), 1)
        case(file, f"aten.{name}.default", T(i32, 5, 2), 0)
        case(file, f"aten.{name}.default", T(f32, 2, 3, 2), -2)
        case(file, f"aten.{name}.default", T(f32), 0)
        case(file, f"aten.{name}.default", T(i64, 4), 0, dtype=f32)
        case(file, f"aten.{name}.default", T(f32, 2), 1, error=INVALID)


def normalisation_cases():
    file = "normalisation"
    for name in ["softmax", "log_softmax"]:
        case(file, f"aten.{name}.int", T(f32, 2, 5), 1)
        case(file, f"aten.{name}.int", T(f32, 2, 3, 4), 0)
        case(file, f"aten.{name}.int", T(f32), 0)
        case(file, f"aten.{name}.int", T(i64, 2, 3), -1, f32)
        case(file, f"aten.{name}.int", T(bf16, 2, 3), -1)
        case(file, f"aten.{name}.int", T(f32, 0, 3), -1)
        case(file, f"aten.{name}.int", T(f32, 2), 1, error=INVALID)
        case(file, f"aten._{name}.default", T(f32, 2, 3, 4), -2, False)
        case(file, f"aten._{name}.default", T(f32, 2, 3), 1, False)
        case(file, f"aten._{name}.default", V([[-INF, 0.0], [100.0, -100.0]]), -1, False)
    case(file, "aten.layer_norm.default", T(f32, 2, 3, 4), [4], T(f32, 4), T(f32, 4))
    case(file, "aten.layer_norm.default", T(f32, 2, 3, 4), [3, 4], T(f32, 3, 4))
    case(file, "aten.layer_norm.default", T(f32, 2, 4), [4], None, None, 0.1)
    case(file, "aten.layer_norm.default", T(bf16, 2, 8), [8], T(bf16, 8), T(bf16, 8), tol=(0.05, 0.02))
    case(file, "aten.layer_norm.default", T(f32, 2, 4), [3], error=INVALID)
    case(file, "aten.native_layer_norm.default", T(f32, 2, 3, 4), [4], T(f32, 4), T(f32, 4), 1e-5, outputs=1)
    case(file, "aten.native_layer_norm.default", T(f32, 2, 4), [4], None, None, 1e-6, outputs=1)
    case(file, "aten.native_layer_norm.default", T(f32, 3, 2, 2), [2, 2], T(f32, 2, 2), T(f32, 2, 2), 1e-5, outputs=1)
    case(file, "aten.rms_norm.default", T(f32, 2, 4), [4], T(f32, 4), 1e-6)
    case(file, "aten.rms_norm.default", T(f32, 2, 4), [4])
    case(file, "aten.rms_norm.default", T(f32, 2, 3, 4), [3, 4], T(f32, 3, 4))
    def statistics(c, dtype=f32):
        return T(dtype, c), T(dtype, c), T(dtype, c), T(dtype, c, lo=0.5, hi=2)
    case(file, "aten.batch_norm.default", T(f32, 2, 3, 4), *statistics(3), False, 0.1, 1e-5, True)
    case(file, "aten.batch_norm.default", T(f32, 2, 3), None, None, *statistics(3)[2:], False, 0.1, 1e-3, True)
    case(file, "aten.batch_norm.default", T(f32, 1, 2, 3, 3), *statistics(2), True, 0.1, 1e-5, True, error=UNIMPLEMENTED)
    case(file, "aten._native_batch_norm_legit_no_training.default", T(f32, 2, 3, 2, 2), *statistics(3), 0.1, 1e-5, outputs=1)
    case(file, "aten._native_batch_norm_legit_no_training.default", T(f32, 2, 3), *statistics(3), 0.1, 1e-3, outputs=1)
    case(file, "aten._native_batch_norm_legit_no_training.default", T(f32, 1, 2, 2, 2, 2), *statistics(2), 0.1, 1e-5, outputs=1)
    case(file, "aten._native_batch_norm_legit.no_stats", T(f32, 2, 3, 4), T(f32, 3), T(f32, 3), True, 0.0, 1e-5, outputs=1)
    case(file, "aten._native_batch_norm_legit.no_stats", T(f32, 1, 6, 4), None, None, True, 0.0, 1e-5, outputs=1)
    case(file, "aten._native_batch_norm_legit.no_stats", T(f32, 4, 2), T(f32, 2), None, True, 0.0, 1e-5, outputs=1)
    case(file, "aten.group_norm.default", T(f32, 2, 6, 3), 3, T(f32, 6), T(f32, 6))
    case(file, "aten.group_norm.default", T(f32, 2, 4, 2, 2), 2)
    case(file, "aten.group_norm.default", T(f32, 2, 4), 1, T(f32, 4))
    case(file, "aten.group_norm.default", T(f32, 2, 5, 2), 2, error=INVALID)
    case(file, "aten.native_group_norm.default", T(f32, 2, 6, 3), T(f32, 6), T(f32, 6), 2, 6, 3, 3, 1e-5, outputs=1)
    case(file, "aten.native_group_norm.default", T(f32, 1, 4, 2, 2), None, None, 1, 4, 4, 2, 1e-5, outputs=1)
    case(file, "aten.native_group_norm.default", T(f32, 1, 4, 2, 2), T(f32, 4), None, 1, 4, 4, 4, 1e-3, outputs=1)
    case(file, "aten.instance_norm.default", T(f32, 2, 3, 4), T(f32, 3), T(f32, 3), None, None, True, 0.1, 1e-5, True)
    case(file, "aten.instance_norm.default", T(f32, 1, 2, 3, 3), None, None, None, None, True, 0.1, 1e-5, True)
    case(file, "aten.instance_norm.default", T(f32, 1, 2, 3, 3), None, None, T(f32, 2), T(f32, 2), False, 0.1, 1e-5, True, error=UNIMPLEMENTED)


def attention_cases():
    file = "attention"
    op = "aten.scaled_dot_product_attention.default"
    loose = (2e-5, 2e-5)
    def qkv(dtype=f32, batch=(2, 2), s=3, t=4, d=4, e=4):
        return T(dtype, *batch, s, d), T(dtype, *batch, t, d), T(dtype, *batch, t, e)
    case(file, op, *qkv(), tol=loose)
    case(file, op, *qkv(s=4), is_causal=True, tol=loose)
    case(file, op, *qkv(s=3, t=5), is_causal=True, tol=loose)
    case(file, op, *qkv(), attn_mask=T(b8, 3, 4), tol=loose)
    case(file, op, *qkv(), attn_mask=V([[True] * 4, [False] * 4, [True, False, True, False]], b8), tol=loose)
    case(file, op, *qkv(), attn_mask=T(f32, 2, 1, 3, 4), scale=0.3, tol=loose)
    case(file, op, *qkv(), attn_mask=V([[0.0, -INF, 0.0, 1.0]]), tol=loose)
    case(file, op, *qkv(batch=(2,), e=3), tol=loose)
    case(file, op, *qkv(bf16), tol=(0.05, 0.02))
    case(file, op, T(f32, 1, 4, 3, 4), T(f32, 1, 2, 5, 4), T(f32, 1, 2, 5, 4), enable_gqa=True, tol=loose)
    case(file, op, T(f32, 1, 4, 3, 4), T(f32, 1, 1, 5, 4), T(f32, 1, 1, 5, 4), attn_mask=T(b8, 3, 5), enable_gqa=True, tol=loose)
    case(file, op, T(f32, 1, 2, 3, 4), T(f32, 1, 2, 5, 3), T(f32, 1, 2, 5, 4), error=INVALID)
    case(file, op, *qkv(), dropout_p=0.1, error=UNIMPLEMENTED)


def indexing_cases():
    file = "indexing"
    def index(*shape, below):
        return T(i64, *shape, lo=0, hi=below)
    case(file, "aten.embedding.default", T(f32, 5, 3), index(2, 4, below=5))
    case(file, "aten.embedding.default", T(f32, 5, 3), index(4, below=5).to(i32), 0)
    case(file, "aten.embedding.default", T(bf16, 5, 3), index(below=5))
    case(file, "aten.embedding.default", T(f32, 5, 3), V([0, 5], i64), error=INVALID)
    case(file, "aten.embedding.default", T(f32, 5, 3), T(f32, 2), error=INVALID)
    case(file, "aten.index_select.default", T(f32, 4, 3), 0, index(6, below=4))
    case(file, "aten.index_select.default", T(i64, 2, 5), -1, index(3, below=5))
    case(file, "aten.index_select.default", T(f32, 4, 3), 0, index(0, below=4))
    case(file, "aten.gather.default", T(f32, 3, 4), 1, index(3, 2, below=4))
    case(file, "aten.gather.default", T(f32, 3, 4), 0, index(2, 4, below=3))
    case(file, "aten.gather.default", T(f32, 2, 3, 4), -1, index(2, 2, 5, below=4))
    case(file, "aten.gather.default", T(f32, 3, 4), 1, index(3, below=4), error=INVALID)
    case(file, "aten.take.default", T(f32, 2, 3), index(2, 2, below=6))
    case(file, "aten.take.default", T(f32, 2, 3), V([-1, -6], i64))
    case(file, "aten.take.default", T(f32, 2, 3), index(below=6))
    case(file, "aten.index.Tensor", T(f32, 4, 3), [index(2, below=4)])
    case(file, "aten.index.Tensor", T(f32, 4, 3), [V([-1, 0, -4], i64)])
    case(file, "aten.index.Tensor", T(f32, 4, 3), [None, index(2, 2, below=3)])
    case(file, "aten.index.Tensor", T(f32, 4, 3), [index(5, below=4), index(5, below=3)])
    case(file, "aten.index.Tensor", T(f32, 4, 3, 2), [index(2, 1, below=4), None, index(3, below=2)])
    case(file, "aten.index.Tensor", T(f32, 2, 4, 3), [None, index(2, 1, below=4), index(3, below=3)])
    case(file, "aten.index.Tensor", T(f32, 4, 3), [V([9], i64)], error=INVALID)
    case(file, "aten.index.Tensor", T(f32, 4), [T(b8, 4)], error=UNIMPLEMENTED)
    case(file, "aten.flip.default", T(f32, 2, 3), [0])
    case(file, "aten.flip.default", T(f32, 2, 3, 2), [-1, 0])
    case(file, "aten.flip.default", T(f32, 0, 3), [0])
    case(file, "aten.roll.default", T(f32, 2, 5), [2], [1])
    case(file, "aten.roll.default", T(f32, 2, 5), [-1, 1], [1, 0])
    case(file, "aten.roll.default", T(f32, 2, 3), [4])
    case(file, "aten.diagonal.default", T(f32, 3, 4))
    case(file, "aten.diagonal.default", T(f32, 2, 3, 4), 1, 1, 2)
    case(file, "aten.diagonal.default", T(f32, 2, 3, 4), -1, -1, 0)
    case(file, "aten.diagonal.default", T(f32, 3, 4), 9)
    case(file, "aten.unfold.default", T(f32, 2, 7), 1, 3, 2)
    case(file, "aten.unfold.default", T(f32, 7, 2), 0, 2, 1)
    case(file, "aten.unfold.default", T(f32, 3), 0, 4, 1, error=INVALID)
    case(file, "aten.constant_pad_nd.default", T(f32, 2, 3), [1, 2])
    case(file, "aten.constant_pad_nd.default", T(f32, 2, 3), [0, 1, 2, 0], 1.5)
    case(file, "aten.constant_pad_nd.default", T(i64, 2, 4), [-1, 2, 0, -1], 7)
    case(file, "aten.constant_pad_nd.default", T(f32, 2), [-2, -2], error=INVALID)
    case(file, "aten.pad.default", T(f32, 2, 3), [1, 1], "constant", -INF)
    case(file, "aten.pad.default", T(f32, 1, 2, 5), [2, 3], "reflect")
    case(file, "aten.pad.default", T(f32, 1, 2, 5), [2, 3], "replicate")
    case(file, "aten.pad.default", T(f32, 1, 2, 5), [2, 3], "circular")
    case(file, "aten.pad.default", T(f32, 1, 1, 3, 4), [1, 2, 2, 1], "reflect")
    case(file, "aten.reflection_pad1d.default", T(f32, 2, 5), [2, 1])
    case(file, "aten.reflection_pad2d.default", T(f32, 1, 3, 4), [1, 2, 2, 1])
    case(file, "aten.reflection_pad3d.default", T(f32, 1, 1, 3, 3, 3), [1, 1, 1, 0, 2, 1])
    case(file, "aten.replication_pad1d.default", T(f32, 1, 2, 3), [4, 1])
    case(file, "aten.replication_pad2d.default", T(f32, 1, 3, 4), [1, 2, 2, 1])
    case(file, "aten.replication_pad3d.default", T(f32, 1, 1, 2, 2, 2), [1, 1, 1, 0, 2, 1])
    case(file, "aten.upsample_nearest1d.vec", T(f32, 1, 2, 3), None, [2.0])
    case(file, "aten.upsample_nearest1d.vec", T(f32, 1, 2, 5), [3], None)
    case(file, "aten.upsample_nearest2d.vec", T(f32, 1, 2, 2, 3), None, [2.0, 2.0])
    case(file, "aten.upsample_nearest2d.vec", T(f32, 1, 1, 3, 4), [5, 3], None)
    case(file, "aten.upsample_nearest2d.vec", T(f32, 1, 1, 3, 4), None, [1.5, 0.7])
    case(file, "aten.upsample_nearest3d.vec", T(f32, 1, 1, 2, 2, 2), None, [2.0, 1.0, 3.0])
    case(file, "aten.upsample_nearest3d.vec", T(f32, 1, 1, 2, 3, 2), [3, 2, 4], None)
    case(file, "aten._upsample_nearest_exact1d.vec", T(f32, 1, 2, 5), [3], None)
    case(file, "aten._upsample_nearest_exact2d.vec", T(f32, 1, 1, 3, 4), [5, 3], None)
    case(file, "aten._upsample_nearest_exact2d.vec", T(f32, 1, 1, 2, 2), None, [2.0, 2.0])
    for align in (False, True):
        case(file, "aten.upsample_linear1d.vec", T(f32, 1, 2, 4), [7], align, None)
        case(file, "aten.upsample_bilinear2d.vec", T(f32, 1, 2, 3, 4), [5, 6], align, None)
        case(file, "aten.upsample_bilinear2d.vec", T(f32, 1, 1, 3, 4), None, align, [2.0, 1.5])
        case(file, "aten.upsample_bilinear2d.vec", T(f32, 1, 1, 5, 4), [2, 1], align, None)
        case(file, "aten.upsample_trilinear3d.vec", T(f32, 1, 1, 2, 2, 3), [3, 4, 2], align, None)
    case(file, "aten.select_scatter.default", T(f32, 3, 4), T(f32, 4), 0, 1)
    case(file, "aten.select_scatter.default", T(f32, 3, 4), T(f32, 3), 1, -1)
    case(file, "aten.select_scatter.default", T(f32, 3), T(f32), 0, 0)
    case(file, "aten.slice_scatter.default", T(f32, 4, 2), T(f32, 2, 2), 0, 1, 3)
    case(file, "aten.slice_scatter.default", T(f32, 2, 4), T(f32, 2, 2), 1, 2, 9223372036854775807)
    case(file, "aten.slice_scatter.default", T(f32, 4), T(f32, 4))
    case(file, "aten.copy.default", T(f32, 2, 3), T(f32, 3))
    case(file, "aten.copy.default", T(f32, 2, 3), T(i64, 2, 1))
    case(file, "aten.copy_.default", T(i64, 3), T(f32))
    case(file, "aten.one_hot.default", index(4, below=3), 3)
    case(file, "aten.one_hot.default", index(2, 2, below=3), 5)
    case(file, "aten.one_hot.default", index(2, below=3), error=UNIMPLEMENTED)


def masks(*shape):
    return T(b8, *shape)


def logic_cases():
    generator.manual_seed(SEED)
    for name in ("any", "all"):
        case("logic", f"aten.{name}.dims", T(i8, 3, 2, lo=0, hi=2), [], False)
        case("logic", f"aten.{name}.dims", T(u8, 3, 2, lo=0, hi=2), [], True)
        case("logic", f"aten.{name}.dims", T(i8, 3, 2, lo=0, hi=2), None, True)


def scatter_cases():
    generator.manual_seed(SEED)
    file = "scatter"

    def index(*shape, below, above=0):
        return torch.randint(above, below, shape, generator=generator)

    put = "aten.index_put.default"
    case(file, put, T(f32, 5, 3), [V([0, 2, 4], i64)], T(f32, 3, 3))
    case(file, put, T(f32, 5, 3), [V([0, 2, 0, -1], i64)], T(f32, 4, 3))
    case(file, put, T(f32, 5, 3), [V([0, 2, 0, -1], i64)], T(f32, 4, 3), True)
    case(file, put, T(f32, 5, 3), [V([1, 1, 1], i64)], T(f32), True)
    case(file, put, T(i64, 5, 3), [V([1, 1, 3], i64), V([0, 0, 2], i32)], T(i64, 3), True)
    case(file, put, T(bf16, 4), [V([1, 1, 3], i64)], T(bf16, 3), True, tol=(5e-2, 5e-2))
    case(file, put, T(f16, 4), [V([1, 2, 3], i64)], T(f16, 1))
    case(file, put, T(b8, 4), [V([1, 1, 3], i64)], T(b8, 3), True)
    case(file, put, T(f64, 2, 4, 3), [None, V([3, 0], i64)], T(f64, 2, 2, 3))
    case(file, put, T(f32, 2, 4, 3), [V([[0], [1]], i64), None, V([2, 1], i64)], T(f32, 2, 2, 4))
    case(file, put, T(f32, 2, 4, 3), [V([1], i64), V([2, 3], i64)], T(f32, 3))
    case(file, put, T(f32, 4), [V([], i64)], T(f32, 0))
    case(file, put, T(f32, 4), [V([7], i64)], T(f32, 1), error=INVALID)
    case(file, put, T(f32, 4), [V([0], i64)], T(f64, 1), error=INVALID)
    case(file, put, T(f32, 4), [V([0, 1], i64)], T(f32, 3), error=INVALID)
    case(file, "aten.index_put_.default", T(f32, 4), [V([2], i64)], T(f32, 1))
    case(file, "aten._unsafe_index_put.default", T(f32, 4), [V([2, 2], i64)], T(f32, 2), True)
    for accumulate in (False, True):
        mask = masks(3, 4)
        case(file, put, T(f32, 3, 4), [mask], T(f32), accumulate)
        case(file, put, T(f32, 3, 4), [mask], T(f32, int(mask.sum())), accumulate)
        case(file, put, T(f32, 3, 4, 2), [mask], T(f32, int(mask.sum()), 2), accumulate)
        case(file, put, T(f32, 3, 4, 2), [mask], T(f32, 2), accumulate)
        case(file, put, T(f32, 2, 3, 4), [None, mask], T(f32, 2, int(mask.sum())), accumulate)
    case(file, put, T(f32, 3), [V([False, False, False], b8)], T(f32, 0))
    case(file, put, T(f32, 3), [V([True, True, True], b8)], T(f32, 2), error=INVALID)
    case(file, "aten.masked_scatter.default", T(f32, 3, 4), masks(3, 4), T(f32, 12))
    case(file, "aten.masked_scatter.default", T(i64, 3, 4), masks(4), T(i64, 5, 3))
    case(file, "aten.masked_scatter.default", T(f32, 3), masks(2, 3), T(f32, 6))
    case(file, "aten.masked_scatter_.default", T(f32, 0), masks(0), T(f32, 0))

    for dim, shape in ((0, (3, 4)), (1, (5, 2)), (-1, (2, 6))):
        below = 5 if dim == 0 else 4
        at = index(*shape, below=below)
        case(file, "aten.scatter.src", T(f32, 5, 4) if dim != -1 else T(f32, 5, 4), dim, at, T(f32, 6, 6))
        case(file, "aten.scatter.value", T(f32, 5, 4), dim, at, 2.5)
        case(file, "aten.scatter_add.default", T(f32, 5, 4), dim, at, T(f32, *shape))
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            for include in (True, False):
                case(file, "aten.scatter_reduce.two", T(f32, 5, 4), dim, at, T(f32, *shape), reduce, include_self=include)
    for dtype in (i64, i32, u8, f64, bf16):
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            for include in (True, False):
                case(file, "aten.scatter_reduce.two", T(dtype, 4, lo=-4, hi=5), 0, index(7, below=4), T(dtype, 7, lo=-4, hi=5), reduce,
                     include_self=include, tol=(5e-2, 5e-2) if dtype == bf16 else None)
    case(file, "aten.scatter_reduce.two", V([1.0, NAN, 3.0]), 0, V([0, 1, 2, 2], i64), V([NAN, 2.0, NAN, 5.0]), "amax")
    case(file, "aten.scatter_reduce.two", V([1.0, NAN, 3.0]), 0, V([0, 1, 2, 2], i64), V([NAN, 2.0, 4.0, -INF]), "amin", include_self=False)
    case(file, "aten.scatter_reduce.two", T(f32, 3), 0, V([0], i64), T(f32, 1), "median", error=INVALID)
    case(file, "aten.scatter.reduce", T(f32, 5), 0, index(4, below=5), T(f32, 4), reduce="add")
    case(file, "aten.scatter.reduce", T(f32, 5), 0, index(4, below=5), T(f32, 4), reduce="multiply")
    case(file, "aten.scatter.value_reduce", T(i64, 5), 0, index(4, below=5), 3, reduce="multiply")
    case(file, "aten.scatter_.src", T(bf16, 5), 0, V([0, 3, 3], i64), T(bf16, 3))
    case(file, "aten.scatter.src", T(f32), 0, V(0, i64), T(f32))
    case(file, "aten.scatter.src", T(f32, 3), 0, V([], i64), T(f32, 0))
    case(file, "aten.scatter.src", T(f32, 3), 0, V([1, 3], i64), T(f32, 2), error=INVALID)
    case(file, "aten.scatter.src", T(f32, 3), 1, V([1], i64), T(f32, 1), error=INVALID)

    for dim in (0, 1, -2):
        n = 4
        source = (n, 5) if dim != 1 else (3, n)
        base, at = (T(f32, 3, 5), index(n, below=3)) if dim != 1 else (T(f32, 3, 6), index(n, below=6))
        case(file, "aten.index_add.default", base, dim, at, T(f32, *source))
        case(file, "aten.index_add.default", base, dim, at.to(i32), T(f32, *source), alpha=-0.5)
        case(file, "aten.index_copy.default", base, dim, torch.arange(base.shape[dim])[:n], T(f32, *[min(s, base.shape[i]) for i, s in enumerate(source)]))
        case(file, "aten.index_fill.int_Scalar", base, dim, at, 7)
        case(file, "aten.index_fill.int_Tensor", base, dim, at, T(f32))
        for reduce in ("prod", "mean", "amax", "amin"):
            for include in (True, False):
                case(file, "aten.index_reduce.default", base, dim, at, T(f32, *source), reduce, include_self=include)
    case(file, "aten.index_add.default", T(i64, 3), 0, V([1, 1], i64), T(i64, 2), alpha=3)
    case(file, "aten.index_add.default", T(bf16, 3), 0, V([1, 1], i64), T(bf16, 2), tol=(5e-2, 5e-2))
    case(file, "aten.index_add.default", T(f32), 0, V([0], i64), T(f32))
    case(file, "aten.index_copy_.default", T(f32, 3, 2), 0, V([2], i64), T(f32, 1, 2))
    case(file, "aten.index_add.default", T(f32, 3), 0, V([1, 1], i64), T(f32, 3), error=INVALID)
    case(file, "aten.index_fill.int_Scalar", T(f32, 3), 0, V([3], i64), 1, error=INVALID)

    case(file, "aten.put.default", T(f32, 2, 3), V([0, 5, -2], i64), T(f32, 3))
    case(file, "aten.put.default", T(f32, 2, 3), V([[0, 5], [5, 1]], i64), T(f32, 2, 2), True)
    case(file, "aten.put_.default", T(i64, 3), V([0], i64), T(i64, 1))
    pooled, where = torch.nn.functional.max_pool2d(T(f32, 2, 3, 6, 4), 2, return_indices=True)
    case(file, "aten.max_unpool2d.default", pooled, where, [6, 4])
    case(file, "aten.max_unpool2d.default", pooled[0], where[0], [7, 4])
    pooled, where = torch.nn.functional.max_pool3d(T(f32, 1, 2, 4, 4, 2), 2, return_indices=True)
    case(file, "aten.max_unpool3d.default", pooled, where, [4, 4, 2], [2, 2, 2], [0, 0, 0])
    case(file, "aten.diagonal_scatter.default", T(f32, 3, 4), T(f32, 3))
    case(file, "aten.diagonal_scatter.default", T(f32, 3, 4), T(f32, 2), -1)
    case(file, "aten.diagonal_scatter.default", T(f32, 2, 3, 4), T(f32, 3, 1), 1, 2, 0)
    case(file, "aten.slice_scatter.default", T(f32, 6, 2), T(f32, 3, 2), 0, 0, 6, 2)
    case(file, "aten.slice_scatter.default", T(f32, 2, 7), T(f32, 2, 2), 1, 1, 6, 3)
    case(file, "aten.nonzero_static.default", V([[0.0, 1.0], [2.0, 0.0], [3.0, 4.0]]), size=3)
    case(file, "aten.nonzero_static.default", V([0, 5, 0, 7], i64), size=6, fill_value=-7)
    case(file, "aten.nonzero_static.default", masks(2, 3, 4), size=0)


def ordering_cases():
    generator.manual_seed(SEED)
    file = "ordering"
    ties = V([3.0, 1.0, NAN, 1.0, -0.0, 0.0, -INF, NAN, INF, 3.0])
    for dtype in (f32, f64, bf16, f16, i64, i32, i8, u8, b8):
        for descending in (False, True):
            case(file, "aten.sort.stable", T(dtype, 3, 7), stable=True, dim=-1, descending=descending)
    for descending in (False, True):
        case(file, "aten.sort.default", ties, -1, descending)
        case(file, "aten.sort.default", T(f32, 4, 3, 2), 0, descending)
        case(file, "aten.argsort.default", T(f32, 4, 3), 0, descending)
    case(file, "aten.argsort.stable", T(i64, 2, 9), stable=True, dim=1)
    case(file, "aten.sort.default", V([2**63 - 1, 0, -2**63, -1], i64))
    case(file, "aten.sort.default", T(f32))
    case(file, "aten.sort.default", T(f32, 0))
    case(file, "aten.sort.default", T(f32, 3, 0))
    case(file, "aten.sort.default", T(f32, 3), 1, error=INVALID)
    case(file, "aten.msort.default", T(f32, 5, 2))
    for k, dim, largest in ((2, -1, True), (3, 0, True), (1, 1, False), (5, 1, False), (0, 0, True)):
        case(file, "aten.topk.default", T(f32, 4, 5), k, dim, largest)
    case(file, "aten.topk.default", T(bf16, 40), 3, outputs=1)
    case(file, "aten.topk.default", V([1.0, NAN, 3.0, INF]), 3)
    case(file, "aten.topk.default", V([1.0, NAN, 3.0, INF]), 3, -1, False)
    case(file, "aten.topk.default", T(f32), 1)
    case(file, "aten.topk.default", T(f32, 3), 4, error=INVALID)
    for keepdim in (False, True):
        case(file, "aten.kthvalue.default", T(f32, 3, 6), 2, -1, keepdim)
        case(file, "aten.kthvalue.default", T(f64, 4, 2), 4, 0, keepdim)
        case(file, "aten.median.dim", T(f32, 3, 5), 1, keepdim)
        case(file, "aten.median.dim", T(f32, 4, 3), 0, keepdim)
        case(file, "aten.nanmedian.dim", T(f32, 4, 3), 0, keepdim)
        case(file, "aten.mode.default", T(i64, 3, 9, lo=0, hi=3), -1, keepdim)
    case(file, "aten.kthvalue.default", T(f32), 1)
    case(file, "aten.kthvalue.default", T(f32, 3), 0, error=INVALID)
    rows = V([[1.0, NAN, 3.0, NAN], [4.0, 2.0, 3.0, 1.0], [NAN, NAN, NAN, NAN], [1.0, 2.0, NAN, 0.0]])
    case(file, "aten.median.dim", rows, 1)
    case(file, "aten.nanmedian.dim", rows, 1, outputs=1)
    case(file, "aten.median.default", rows)
    case(file, "aten.nanmedian.default", rows)
    for x in (T(f32, 3, 4), T(i64, 7), T(f32), T(f32, 0), T(bf16, 9)):
        case(file, "aten.median.default", x, error=INVALID if x.dtype == i64 and x.numel() == 0 else None)
    case(file, "aten.mode.default", T(f32, 4).round(), 0)
    case(file, "aten.mode.default", V([[1, 1, 2, 2, 3], [5, 4, 5, 4, 9], [1, 2, 3, 4, 5]], i64), 1)
    case(file, "aten.mode.default", T(f32))
    for mode in ("linear", "lower", "higher", "nearest", "midpoint"):
        case(file, "aten.quantile.scalar", T(f32, 3, 6), 0.3, 1, interpolation=mode)
        case(file, "aten.quantile.default", T(f64, 3, 6), V([0.0, 0.25, 0.8, 1.0], f64), 0, True, interpolation=mode)
        case(file, "aten.nanquantile.default", rows, V([0.1, 0.9]), 1, interpolation=mode)
    case(file, "aten.quantile.scalar", rows, 0.5, 1)
    case(file, "aten.quantile.scalar", T(f32, 3, 4), 0.7)
    case(file, "aten.quantile.default", T(f32, 3, 4), V(0.4), None, True)
    case(file, "aten.quantile.scalar", T(i64, 4), 0.7, error=INVALID)

    edges = V([-1.0, 0.0, 0.0, 2.5, 7.0])
    values = V([[-3.0, -1.0, 0.0], [2.0, 7.0, 9.0], [NAN, INF, -INF]])
    long_edges = torch.sort(T(f32, 100)).values
    for right in (False, True):
        case(file, "aten.bucketize.Tensor", values, edges, right=right)
        case(file, "aten.bucketize.Tensor", values, long_edges, right=right, out_int32=True)
        case(file, "aten.bucketize.Tensor", long_edges, long_edges, right=right)
        case(file, "aten.bucketize.Tensor", V([0, 3, 9], i64), V([1, 3, 5], i64), right=right)
        case(file, "aten.bucketize.Scalar", 2.5, edges, right=right)
        case(file, "aten.searchsorted.Tensor", torch.sort(T(f32, 3, 6)).values, T(f32, 3, 4), right=right)
        case(file, "aten.searchsorted.Tensor", torch.sort(T(f32, 2, 40)).values, T(f32, 2, 9), right=right)
        case(file, "aten.searchsorted.Scalar", edges, 0.0, right=right)
    case(file, "aten.searchsorted.Tensor", edges, values, side="right")
    shuffled = V([5.0, 1.0, 3.0])
    case(file, "aten.searchsorted.Tensor", shuffled, V([2.0, 4.0]), sorter=V([1, 2, 0], i64))
    case(file, "aten.searchsorted.Tensor", T(f32, 0), T(f32, 3))
    case(file, "aten.searchsorted.Tensor", edges, T(f32, 0))
    case(file, "aten.searchsorted.Tensor", edges, values, right=True, side="left", error=INVALID)

    for name in ("cummax", "cummin"):
        case(file, f"aten.{name}.default", T(f32, 3, 8), 1)
        case(file, f"aten.{name}.default", T(i64, 5, 3, lo=0, hi=3), 0)
        case(file, f"aten.{name}.default", T(bf16, 9), 0)
        case(file, f"aten.{name}.default", T(b8, 9), 0)
        case(file, f"aten.{name}.default", V([1.0, NAN, 3.0, NAN, 7.0]), 0)
        case(file, f"aten.{name}.default", V([2.0, 2.0, INF, -INF, INF]), 0)
        case(file, f"aten.{name}.default", T(f32), 0)
        case(file, f"aten.{name}.default", T(f32, 0), 0)
    case(file, "aten.logcumsumexp.default", T(f32, 3, 8), 1)
    case(file, "aten.logcumsumexp.default", T(f64, 8, 2), 0)
    case(file, "aten.logcumsumexp.default", V([-INF, -INF, 1.0, 500.0, INF, 2.0]), 0)
    case(file, "aten.logcumsumexp.default", V([1.0, NAN, 2.0]), 0)
    case(file, "aten.logcumsumexp.default", T(f32), 0)


def embedding_bag_cases():
    generator.manual_seed(SEED)
    file = "embedding_bag"

    def bag(*args, **kwargs):
        case(file, "aten.embedding_bag.padding_idx", *args, outputs=1, **kwargs)

    indices = torch.randint(0, 9, (10,), generator=generator)
    for mode in (0, 1, 2):
        bag(T(f32, 9, 4), indices, V([0, 3, 3, 7], i64), False, mode, False, None, False, None)
        bag(T(f32, 9, 4), indices, V([0, 3, 3, 7], i64), False, mode, False, None, False, 2)
        bag(T(f32, 9, 4), indices, V([0, 3, 3, 7], i64), False, mode, False, None, False, -1)
        bag(T(f32, 9, 4), indices, V([0, 4, 10, 10], i64), False, mode, False, None, True, None)
        bag(T(f32, 9, 4), indices.to(i32), V([0, 10], i32), False, mode, False, None, False, None)
        bag(T(bf16, 9, 4), indices, V([0, 2, 8], i64), False, mode, False, None, False, None)
        bag(T(f32, 9, 4), V([], i64), V([0, 0], i64), False, mode, False, None, False, None)
        case(file, "aten._embedding_bag.default", T(f32, 9, 4), indices, V([0, 5], i64), False, mode, outputs=1)
    bag(T(f32, 9, 4), indices, V([0, 3, 3, 7], i64), False, 0, False, T(f32, 10), False, None)
    bag(T(f32, 9, 4), indices, V([0, 3, 3, 7], i64), False, 0, False, T(f32, 10), False, 5)
    bag(T(f64, 9, 4), indices, V([0, 3], i64), False, 0, False, T(f64, 10), False, None)
    case(file, "aten.embedding_bag.default", T(f32, 9, 4), indices, V([0, 3], i64), outputs=1)
    case(file, "aten._embedding_bag_forward_only.default", T(f32, 9, 4), indices, V([0, 3], i64), False, 1, False, None, False, 3, outputs=1)
    bag(T(f32, 9, 4), indices, V([0, 3], i64), False, 1, False, T(f32, 10), False, None, error=INVALID)
    bag(T(f32, 9, 4), V([3, 9], i64), V([0], i64), False, 0, False, None, False, None, error=INVALID)
    bag(T(f32, 9, 4), indices, V([0, 11], i64), False, 0, False, None, False, None, error=INVALID)


def loss_cases():
    generator.manual_seed(SEED)
    file = "losses"
    for reduction in (0, 1, 2):
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "hinge_embedding_loss"):
            case(file, f"aten.{name}.default", T(f32, 3, 4), T(f32, 3, 4), reduction=reduction)
        probability, label = T(f32, 3, 4, lo=0.01, hi=0.99), T(f32, 3, 4, lo=0, hi=1)
        case(file, "aten.binary_cross_entropy.default", probability, label, None, reduction)
        case(file, "aten.binary_cross_entropy.default", probability, label, T(f32, 4), reduction)
        case(file, "aten.binary_cross_entropy_with_logits.default", T(f32, 3, 4), label, None, None, reduction)
        case(file, "aten.binary_cross_entropy_with_logits.default", T(f32, 3, 4), label, T(f32, 4), T(f32, 4, lo=0.5), reduction)
        case(file, "aten.kl_div.default", T(f32, 3, 4), label, reduction)
        case(file, "aten.kl_div.default", T(f32, 3, 4), T(f32, 3, 4), reduction, log_target=True)
        case(file, "aten.margin_ranking_loss.default", T(f32, 5), T(f32, 5), torch.sign(T(f32, 5)), 0.3, reduction)
        case(file, "aten.poisson_nll_loss.default", T(f32, 5), T(f32, 5, lo=0, hi=4), True, True, 1e-8, reduction)
        case(file, "aten.poisson_nll_loss.default", T(f32, 5, lo=0), T(f32, 5, lo=0, hi=4), False, False, 1e-8, reduction)
        case(file, "aten.triplet_margin_loss.default", T(f32, 3, 4), T(f32, 3, 4), T(f32, 3, 4), reduction=reduction)
        case(file, "aten.triplet_margin_loss.default", T(f32, 3, 4), T(f32, 3, 4), T(f32, 3, 4), 0.5, 1.0, 1e-6, True, reduction)
        logits, labels = T(f32, 4, 5), V([0, 4, -100, 2], i64)
        volume, volume_labels = T(f32, 2, 3, 2, 2), torch.randint(0, 3, (2, 2, 2), generator=generator)
        for name in ("nll_loss", "nll_loss_nd", "cross_entropy_loss"):
            case(file, f"aten.{name}.default", logits, labels, None, reduction)
            case(file, f"aten.{name}.default", logits, labels, T(f32, 5, lo=0.1), reduction)
            case(file, f"aten.{name}.default", logits, labels.abs() % 5, None, reduction, 4)
        case(file, "aten.nll_loss_forward.default", logits, labels, T(f32, 5, lo=0.1), reduction, -100)
        case(file, "aten.nll_loss2d.default", volume, volume_labels, None, reduction)
        case(file, "aten.cross_entropy_loss.default", volume, volume_labels, T(f32, 3, lo=0.1), reduction)
        case(file, "aten.cross_entropy_loss.default", T(f32, 5), V(3, i64), None, reduction)
        for weight in (None, T(f32, 5, lo=0.1)):
            case(file, "aten.cross_entropy_loss.default", logits, labels, weight, reduction, -100, 0.2)
            case(file, "aten.cross_entropy_loss.default", logits, torch.softmax(T(f32, 4, 5), 1), weight, reduction)
            case(file, "aten.cross_entropy_loss.default", logits, torch.softmax(T(f32, 4, 5), 1), weight, reduction, -100, 0.1)
    case(file, "aten.mse_loss.default", T(bf16, 5), T(bf16, 5))
    case(file, "aten.mse_loss.default", T(f64, 5), T(f32, 5))
    case(file, "aten.mse_loss.default", T(f32, 0), T(f32, 0))
    case(file, "aten.smooth_l1_loss.default", T(f32, 3), T(f32, 3), 0, 0.25)
    case(file, "aten.smooth_l1_loss.default", T(f32, 3), T(f32, 3), 0, 0.0)
    case(file, "aten.huber_loss.default", T(f32, 3), T(f32, 3), 0, 0.25)
    case(file, "aten.mse_loss.default", T(f32, 3), T(f32, 3), 7, error=INVALID)
    case(file, "aten.nll_loss.default", T(f32, 2, 3), V([0, 3], i64), error=INVALID)
    for p in (0.0, 1.0, 2.0, 3.0, INF):
        case(file, "aten.dist.default", T(f32, 3, 4), T(f32, 4), p)
        case(file, "aten.pairwise_distance.default", T(f32, 3, 4), T(f32, 3, 4), p)
        case(file, "aten.cdist.default", T(f32, 2, 3, 4), T(f32, 2, 5, 4), p)
        case(file, "aten.cdist.default", T(f32, 3, 4), T(f32, 2, 5, 4), p)
        case(file, "aten._cdist_forward.default", T(f32, 3, 4), T(f32, 5, 4), p, None)
        case(file, "aten.pdist.default", T(f32, 4, 3), p)
    case(file, "aten.pairwise_distance.default", T(f32, 3, 4), T(f32, 4), 2.0, 1e-3, True)
    case(file, "aten.cdist.default", T(f32, 0, 4), T(f32, 5, 4))
    case(file, "aten.cdist.default", T(f32, 3, 4), T(f32, 5, 3), error=INVALID)
    for dim in (0, 1, -1):
        case(file, "aten.cosine_similarity.default", T(f32, 3, 4), T(f32, 3, 4), dim)
    case(file, "aten.cosine_similarity.default", torch.zeros(2, 3), T(f32, 2, 3))
    case(file, "aten.cosine_similarity.default", T(f32, 3, 1, 4), T(f32, 2, 4), 2, 0.5)


def resampling_cases():
    generator.manual_seed(SEED)
    file = "resampling"
    for align in (False, True):
        for name in ("upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):
            case(file, f"aten.{name}.vec", T(f32, 1, 2, 5, 4), [7, 9], align, None)
            case(file, f"aten.{name}.vec", T(f32, 1, 2, 9, 7), [4, 3], align, None)
            case(file, f"aten.{name}.default", T(f32, 1, 1, 5, 6), [3, 2], align)  # torch itself errs for a width of 1
            case(file, f"aten.{name}.vec", T(f64, 1, 1, 5, 4), None, align, [1.5, 0.5])
        case(file, "aten.upsample_bicubic2d.vec", T(bf16, 1, 2, 3, 3), [4, 5], align, None)
        case(file, "aten.upsample_bilinear2d.default", T(f32, 1, 2, 3, 4), [5, 6], align)
        case(file, "aten.upsample_linear1d.default", T(f32, 1, 2, 4), [7], align, 1.75)
        case(file, "aten.upsample_trilinear3d.default", T(f32, 1, 1, 2, 2, 3), [3, 4, 2], align)
        for mode in (0, 1, 2):
            for padding in (0, 1, 2):
                case(file, "aten.grid_sampler_2d.default", T(f32, 2, 3, 4, 5), T(f32, 2, 3, 2, 2, lo=-1.6, hi=1.6), mode, padding, align,
                     tol=(1e-5, 1e-5))
                if mode != 2:
                    case(file, "aten.grid_sampler_3d.default", T(f32, 1, 2, 3, 4, 2), T(f32, 1, 2, 2, 3, 3, lo=-1.6, hi=1.6), mode,
                         padding, align, tol=(1e-5, 1e-5))
        case(file, "aten.grid_sampler.default", T(f64, 1, 2, 3, 4), T(f64, 1, 2, 2, 2, lo=-1.2, hi=1.2), 0, 0, align)
        case(file, "aten.affine_grid_generator.default", T(f32, 2, 2, 3), [2, 3, 4, 5], align)
        case(file, "aten.affine_grid_generator.default", T(f32, 1, 3, 4), [1, 2, 3, 1, 2], align)
    case(file, "aten.upsample_nearest2d.default", T(f32, 1, 1, 3, 4), [5, 3])
    case(file, "aten.upsample_nearest2d.default", T(f32, 1, 1, 3, 4), [4, 2], 1.5, 0.7)
    case(file, "aten.upsample_nearest1d.default", T(f32, 1, 2, 5), [3])
    case(file, "aten._upsample_nearest_exact2d.default", T(f32, 1, 1, 3, 4), [5, 3])
    case(file, "aten.grid_sampler_2d.default", T(f32, 1, 1, 2, 2), T(f32, 1, 2, 2, 3), 0, 0, False, error=INVALID)


def contraction_cases():
    generator.manual_seed(SEED)
    file = "contractions"

    def einsum(equation, *tensors, **kwargs):
        case(file, "aten.einsum.default", equation, list(tensors), **kwargs)

    einsum("ij,jk->ik", T(f32, 2, 3), T(f32, 3, 4))
    einsum("ij,jk", T(f32, 2, 3), T(f32, 3, 4))
    einsum("bij,bjk->bik", T(f32, 2, 3, 4), T(f32, 2, 4, 5))
    einsum("bhid,bhjd->bhij", T(f32, 2, 2, 3, 4), T(f32, 2, 2, 5, 4))
    einsum("i,i->", T(f32, 4), T(f32, 4))
    einsum("i,j->ij", T(f32, 3), T(f32, 4))
    einsum("ij->ji", T(f32, 3, 4))
    einsum("ij->j", T(f32, 3, 4))
    einsum("ii->i", T(f32, 3, 3))
    einsum("ii", T(f32, 3, 3))
    einsum("bii->b", T(f32, 2, 3, 3))
    einsum("...ij,...jk->...ik", T(f32, 2, 1, 3, 4), T(f32, 5, 4, 2))
    einsum("i...,i...->...", T(f32, 3, 2), T(f32, 3, 2))
    einsum("ij,j,k->ik", T(f32, 2, 3), T(f32, 3), T(f32, 4))
    einsum(" a b , b c , c d -> d a ", T(f32, 2, 3), T(f32, 3, 4), T(f32, 4, 2))
    einsum("ijk,il->jl", T(f32, 2, 3, 4), T(f32, 2, 3))
    einsum("ij,ij->i", T(f64, 2, 3), T(f64, 2, 3))
    einsum("bn,anm,bm->ba", T(f32, 2, 5), T(f32, 3, 5, 4), T(f32, 2, 4))
    einsum("ij,jk->ik", T(i64, 2, 3), T(i64, 3, 4))
    einsum("ij,jk->ik", T(f32, 0, 3), T(f32, 3, 4))
    einsum("ij,jk->ik", T(f32, 2, 3), T(f32, 4, 4), error=INVALID)
    einsum("ij->ik", T(f32, 2, 3), error=INVALID)
    einsum("ijk->i", T(f32, 2, 3), error=INVALID)
    dot = "aten.tensordot.default"
    case(file, dot, T(f32, 2, 3, 4), T(f32, 3, 4, 5), [1, 2], [0, 1])
    case(file, dot, T(f32, 2, 3), T(f32, 4, 3), [-1], [1])
    case(file, dot, T(f32, 2, 3), T(f32, 4), [], [])
    case(file, dot, T(f64, 2, 3), T(f64, 3, 2), [0, 1], [1, 0])
    case(file, dot, T(f32, 2, 3), T(f32, 4, 3), [0], [0], error=INVALID)
    case(file, "aten.kron.default", T(f32, 2, 3), T(f32, 3, 2))
    case(file, "aten.kron.default", T(i64, 2), T(f32, 3, 2))
    case(file, "aten.kron.default", T(f32), T(f32, 3))
    case(file, "aten.linalg_cross.default", T(f32, 4, 3), T(f32, 4, 3))
    case(file, "aten.linalg_cross.default", T(f32, 3, 4), T(f32, 3, 1), dim=0)
    case(file, "aten.cross.default", T(i64, 2, 3), T(i64, 2, 3))
    case(file, "aten.linalg_cross.default", T(f32, 4, 2), T(f32, 4, 2), error=INVALID)


def special_cases():
    generator.manual_seed(SEED)
    file = "special"
    for name in ("i0", "special_i0", "special_i0e", "special_i1", "special_i1e"):
        case(file, f"aten.{name}.default", T(f32, 3, 4, lo=-10, hi=10), tol=(1e-6, 1e-5))
        case(file, f"aten.{name}.default", T(f64, 12, lo=-60, hi=60))
        case(file, f"aten.{name}.default", V([0.0, 20.0, -20.0, 8.0, INF, -INF, NAN, 85.0]))
        case(file, f"aten.{name}.default", T(i64, 4))
        case(file, f"aten.{name}.default", T(bf16, 4))
    case(file, "aten.special_entr.default", V([0.0, 0.5, 1.0, 2.0, -1.0, NAN, INF]))
    case(file, "aten.special_ndtr.default", T(f32, 6))
    case(file, "aten.special_ndtri.default", T(f32, 6, lo=0.05, hi=0.95))
    case(file, "aten.special_ndtri.default", V([0.0, 1.0, 0.5, -1.0]))
    case(file, "aten.special_xlog1py.default", T(f32, 3, 4), T(f32, 4, lo=-0.9))
    case(file, "aten.special_xlog1py.default", V([0.0, 0.0, 1.0]), V([-1.0, NAN, INF]))
    case(file, "aten.special_xlog1py.other_scalar", T(f32, 3), 2)
    case(file, "aten.special_xlog1py.self_scalar", 2, T(f32, 3, lo=0))
    case(file, "aten.mvlgamma.default", T(f32, 4, lo=2, hi=6), 3)


def arrangement_cases():
    generator.manual_seed(SEED)
    file = "arrangements"
    case(file, "aten.im2col.default", T(f32, 2, 3, 5, 6), [2, 3], [1, 1], [0, 0], [1, 1])
    case(file, "aten.im2col.default", T(f32, 3, 5, 6), [3, 2], [2, 1], [1, 2], [2, 1])
    case(file, "aten.col2im.default", T(f32, 2, 12, 12), [5, 4], [2, 2], [1, 1], [0, 0], [1, 1])
    case(file, "aten.col2im.default", T(f32, 12, 9), [5, 4], [3, 2], [1, 1], [1, 1], [2, 2])
    case(file, "aten.col2im.default", T(f32, 12, 5), [5, 4], [3, 2], [1, 1], [1, 1], [2, 2], error=INVALID)
    case(file, "aten.as_strided.default", T(f32, 3, 4), [2, 2], [1, 4], 1)
    case(file, "aten.as_strided.default", T(f32, 10), [4, 3], [2, 1])
    case(file, "aten.as_strided.default", T(f32, 4), [3, 4], [0, 1])
    case(file, "aten.diag_embed.default", T(f32, 2, 3))
    case(file, "aten.diag_embed.default", T(f32, 2, 3), 1)
    case(file, "aten.diag_embed.default", T(i64, 2, 3), -2, 0, 2)
    case(file, "aten.diag.default", T(f32, 3), 1)
    case(file, "aten.diag.default", T(f32, 3, 4), -1)
    for name in ("tril_indices", "triu_indices"):
        case(file, f"aten.{name}.default", 4, 3)
        case(file, f"aten.{name}.default", 3, 4, 1, dtype=i32)
        case(file, f"aten.{name}.default", 3, 4, -2)
        case(file, f"aten.{name}.default", 0, 4)
    case(file, "aten.fliplr.default", T(f32, 3, 4))
    case(file, "aten.flipud.default", T(f32, 3, 4))
    for k in (-1, 0, 1, 2, 3):
        case(file, "aten.rot90.default", T(f32, 2, 3, 4), k, [1, 2])
    case(file, "aten.rot90.default", T(f32, 2, 3))
    case(file, "aten.rot90.default", T(f32, 2, 3), 1, [1, 1], error=INVALID)
    case(file, "aten.meshgrid.indexing", [T(f32, 2), T(f32, 3), T(f32)], indexing="ij")
    case(file, "aten.meshgrid.indexing", [T(f32, 2), T(f32, 3), T(f32, 4)], indexing="xy")
    case(file, "aten.meshgrid.default", [T(i64, 2)])
    case(file, "aten.cartesian_prod.default", [T(f32, 2), T(f32, 3)])
    case(file, "aten.cartesian_prod.default", [T(i64, 2), T(i64, 1), T(i64, 3)])
    case(file, "aten.cartesian_prod.default", [T(i64, 2)])
    case(file, "aten.block_diag.default", [T(f32, 2, 3), T(f32), T(f32, 2), T(i64, 1, 2)])
    case(file, "aten.diff.default", T(f32, 2, 5))
    case(file, "aten.diff.default", T(i64, 5, 2), 2, 0)
    case(file, "aten.diff.default", T(f32, 2, 5), 1, 1, T(f32, 2, 1), T(f32, 2, 2))
    case(file, "aten.diff.default", T(b8, 6))
    case(file, "aten.diff.default", T(f32, 2), 3)
    case(file, "aten.diff.default", T(f32, 2), 0)
    case(file, "aten.trapezoid.dx", T(f32, 2, 5))
    case(file, "aten.trapezoid.dx", T(f32, 5, 2), dx=0.5, dim=0)
    case(file, "aten.trapezoid.x", T(f32, 2, 5), T(f32, 5))
    case(file, "aten.trapezoid.x", T(f32, 2, 5), T(f32, 2, 5))
    case(file, "aten.trapezoid.dx", T(f32, 2, 1))
    for dtype in (f32, i64, u8):
        case(file, "aten.isin.Tensor_Tensor", T(dtype, 3, 4).round() if dtype == f32 else T(dtype, 3, 4), V([1, 2, -1 if dtype != u8 else 0], dtype))
    case(file, "aten.isin.Tensor_Tensor", T(i64, 5), V([[1, 2]], i32), invert=True)
    case(file, "aten.isin.Tensor_Tensor", T(i64, 5), V([], i64))
    case(file, "aten.isin.Tensor_Scalar", T(i64, 5), 2)
    case(file, "aten.isin.Scalar_Tensor", 1.0, T(f32, 5).round())
    case(file, "aten.histc.default", T(f32, 30), 5)
    case(file, "aten.histc.default", T(f32, 30), 4, -1, 1)
    case(file, "aten.histc.default", T(f64, 5, 6), 7, 0, 2)
    case(file, "aten.histc.default", V([2.0, 2.0, 2.0]), 3)
    case(file, "aten.histc.default", T(f32, 3), 0, error=INVALID)
    at = torch.randint(0, 3, (3, 4), generator=generator)
    case(file, "aten.take_along_dim.default", T(f32, 3, 4), at, 0)
    case(file, "aten.take_along_dim.default", T(f32, 3, 4), at[:1], 1)
    case(file, "aten.take_along_dim.default", T(f32, 3, 4), at)
    for p in (1, 2, INF):
        case(file, "aten.renorm.default", T(f32, 3, 4), p, 0, 1.5)
        case(file, "aten.renorm.default", T(f32, 2, 3, 2), p, 1, 2)
    holes = V([[1.0, NAN, 3.0], [NAN, NAN, NAN]])
    case(file, "aten.nanmean.default", holes, [1])
    case(file, "aten.nanmean.default", holes, None)
    case(file, "aten.nanmean.default", holes, [0], True)
    case(file, "aten.nanmean.default", T(f32, 3), None, dtype=f64)
    case(file, "aten.nanmean.default", T(i64, 3), None, dtype=f32, error=INVALID)


def quantisation_cases():
    import torch.ao.quantization.fx._decomposed  # noqa: F401, registers quantized_decomposed
    file, q = "quantisation", "quantized_decomposed"
    case(file, f"{q}.quantize_per_tensor.default", T(f32, 2, 5), 0.05, 3, -128, 127, i8)
    case(file, f"{q}.quantize_per_tensor.default", T(f32, 7), 0.01, 128, 0, 255, u8)
    case(file, f"{q}.quantize_per_tensor.default", V([0.5, 1.5, 2.5, 1000.0, -1000.0]), 1.0, 0, -128, 127, i8)
    case(file, f"{q}.quantize_per_tensor.tensor", T(f32, 2, 3), V([0.03], f64), V([5], i64), 0, 255, u8)
    case(file, f"{q}.quantize_per_tensor.tensor", T(f32, 2, 3), V(0.03), V(5, i32), 0, 255, u8)
    case(file, f"{q}.quantize_per_tensor.tensor", T(f32, 0), V(0.03), V(5, i64), 0, 255, u8)
    case(file, f"{q}.dequantize_per_tensor.default", T(i8, 2, 5, lo=-100, hi=100), 0.05, 3, -128, 127, i8)
    case(file, f"{q}.dequantize_per_tensor.default", T(u8, 7, lo=0, hi=255), 0.01, 128, 0, 255, u8)
    case(file, f"{q}.dequantize_per_tensor.default", T(u8, 7, lo=0, hi=255), 0.01, 0, 0, 255, u8, out_dtype=bf16)
    case(file, f"{q}.dequantize_per_tensor.tensor", T(u8, 7, lo=0, hi=255), V([0.03], f64), V([5], i64), 0, 255, u8)
    case(file, f"{q}.dequantize_per_tensor.tensor", T(i8, 2, 2), V(0.03), V(5, i32), -128, 127, i8)
    case(file, f"{q}.dequantize_per_tensor.tensor", T(i8, 0, 2), V(0.03), V(5, i32), -128, 127, i8)
    for axis in (0, 1, -1):
        c = [2, 3, 4][axis]
        case(file, f"{q}.dequantize_per_channel.default", T(i8, 2, 3, 4, lo=-100, hi=100), T(f32, c, lo=0.01, hi=0.1),
             T(i64, c), axis, -128, 127, i8)
        case(file, f"{q}.quantize_per_channel.default", T(f32, 2, 3, 4), T(f32, c, lo=0.01, hi=0.1), T(i64, c), axis, -128, 127, i8)
    case(file, f"{q}.dequantize_per_channel.default", T(i8, 2, 3), T(f32, 2, lo=0.01, hi=0.1), None, 0, -128, 127, i8)
    for shape in ([2, 5], [1], [3, 2, 2]):
        case(file, f"{q}.choose_qparams.tensor", T(f32, *shape), 0, 255, 2.0 ** -12, u8)
    case(file, f"{q}.choose_qparams.tensor", T(f32, 4, lo=0.5, hi=3), -128, 127, 1e-5, i8)
    case(file, f"{q}.choose_qparams.tensor", V([0.0, 0.0]), -128, 127, 1e-5, i8)


def linalg_cases():
    generator.manual_seed(SEED)
    file, tol = "linalg", (2e-5, 2e-4)

    def spd(dtype, *batch, n):
        a = T(dtype, *batch, n, n)
        return a @ a.transpose(-1, -2) + torch.eye(n, dtype=dtype)

    for dtype in (f32, f64):
        for shape in ((3, 3), (2, 4, 4), (1, 1), (2, 0, 0), (0, 3, 3)):
            a = T(dtype, *shape) + 4 * torch.eye(shape[-1], dtype=dtype)
            s = spd(dtype, *shape[:-2], n=shape[-1])
            for name in ("linalg_det", "linalg_slogdet", "linalg_inv", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_lu"):
                case(file, f"aten.{name}.default", a, tol=tol)
            case(file, "aten._linalg_det.default", a, outputs=1, tol=tol)  # the factors are an implementation's own
            case(file, "aten._linalg_slogdet.default", a, outputs=2, tol=tol)
            for upper in (False, True):
                case(file, "aten.linalg_cholesky.default", s, upper=upper, tol=tol)
                case(file, "aten.linalg_cholesky_ex.default", s, upper=upper, tol=tol)
            case(file, "aten.linalg_eigvalsh.default", s, tol=tol)
            case(file, "aten.linalg_eigh.default", s, "U", tol=(1e-3, 1e-3), free_signs=[1])
            case(file, "aten.linalg_matrix_exp.default", 0.3 * a, tol=tol)
            case(file, "aten._linalg_eigh.default", s, "L", False, outputs=1, tol=tol)
        for m, n in ((4, 3), (3, 4), (3, 3)):
            a = T(dtype, 2, m, n)
            case(file, "aten.linalg_svdvals.default", a, tol=tol)
            for full in (False, True):
                kept = {"outputs": 2} if full and m != n else {}
                last = [0] if kept else [0, 2]
                if not (full and m > n):
                    case(file, "aten.linalg_svd.default", a, full, tol=(1e-3, 1e-3), free_signs=last, **kept)
            for mode in ("reduced", "r"):
                case(file, "aten.linalg_qr.default", a, mode, tol=tol)
            case(file, "aten.linalg_qr.default", T(dtype, m, n), "complete", tol=tol)
            case(file, "aten.linalg_pinv.atol_rtol_tensor", a, tol=(1e-4, 1e-3))
            case(file, "aten.linalg_lu_factor.default", a, tol=tol)
            case(file, "aten.linalg_lu.default", a, tol=tol)
            case(file, "aten.linalg_matrix_rank.atol_rtol_tensor", a)
    low = T(f32, 4, 2) @ T(f32, 2, 4)
    case(file, "aten.linalg_matrix_rank.atol_rtol_tensor", low)
    case(file, "aten.linalg_matrix_rank.default", low, 1e-3)
    case(file, "aten.linalg_pinv.default", low, 1e-4, tol=(1e-3, 1e-3))
    case(file, "aten.linalg_pinv.atol_rtol_float", low, atol=1e-3, rtol=1e-3, tol=(1e-3, 1e-3))
    a, b = T(f32, 2, 3, 3) + 4 * torch.eye(3), T(f32, 2, 3, 2)
    for left in (True, False):
        rhs = b if left else b.transpose(1, 2).contiguous()
        case(file, "aten.linalg_solve.default", a, rhs, left=left, tol=tol)
        case(file, "aten._linalg_solve_ex.default", a, rhs, left=left, tol=tol)
        case(file, "aten.linalg_solve_ex.default", a, rhs, left=left, tol=tol)
        for upper in (True, False):
            case(file, "aten.linalg_solve_triangular.default", a, rhs, upper=upper, left=left, tol=tol)
            case(file, "aten.linalg_solve_triangular.default", a, rhs, upper=upper, left=left, unitriangular=True, tol=(1e-3, 1e-3))
        lu, pivots = torch.linalg.lu_factor(T(f32, 2, 3, 3))
        for adjoint in (False, True):
            case(file, "aten.linalg_lu_solve.default", lu, pivots, rhs, left=left, adjoint=adjoint, tol=(1e-3, 1e-3))
    case(file, "aten.linalg_solve.default", a[0], T(f32, 3), tol=tol)
    case(file, "aten.linalg_solve.default", a[0], T(f32, 5, 3, 1), tol=tol)
    case(file, "aten.linalg_solve.default", V([[1.0, 2.0], [2.0, 4.0]]), T(f32, 2, 1), error=INVALID)
    case(file, "aten.linalg_cholesky.default", V([[1.0, 2.0], [2.0, 1.0]]), error=INVALID)
    case(file, "aten.linalg_det.default", T(f32, 2, 3), error=INVALID)
    case(file, "aten.linalg_det.default", V([[1.0, 2.0], [2.0, 4.0]]), outputs=1)
    case(file, "aten.logdet.default", a, tol=tol)
    case(file, "aten.logdet.default", V([[0.0, 1.0], [1.0, 0.0]]))
    lu, pivots = torch.linalg.lu_factor(T(f32, 4, 4))
    case(file, "aten.lu_unpack.default", lu, pivots)
    l = torch.linalg.cholesky(spd(f32, 2, n=3))
    for upper in (False, True):
        factor = l.transpose(-1, -2).contiguous() if upper else l
        case(file, "aten.cholesky_solve.default", b, factor, upper, tol=tol)
        case(file, "aten.cholesky_inverse.default", factor, upper, tol=tol)
    case(file, "aten.triangular_solve.default", b, a, tol=tol)
    case(file, "aten.triangular_solve.default", b, a, False, True, tol=tol)
    case(file, "aten.svd.default", T(f32, 4, 3), tol=(1e-3, 1e-3), free_signs=[0, 2])
    for n in (-2, -1, 0, 1, 2, 5):
        case(file, "aten.linalg_matrix_power.default", a, n, tol=(1e-3, 1e-3))
    for order in ("fro", "nuc"):
        case(file, "aten.linalg_matrix_norm.str_ord", T(f32, 2, 3, 4), order, tol=tol)
        case(file, "aten.linalg_matrix_norm.str_ord", T(f32, 2, 3, 4), order, [0, 2], True, tol=tol)
    for order in (1, -1, 2, -2, INF, -INF):
        case(file, "aten.linalg_matrix_norm.default", T(f32, 2, 3, 4), order, tol=tol)
        case(file, "aten.linalg_norm.default", T(f32, 3, 4), order, tol=tol)
        case(file, "aten.linalg_norm.default", T(f32, 2, 3, 4), order, [2, 0], True, tol=tol)
    for order in (None, 3, INF, 0):
        case(file, "aten.linalg_norm.default", T(f32, 5), order, tol=tol)
        case(file, "aten.linalg_norm.default", T(f32, 3, 4), order, [1], tol=tol)
    case(file, "aten.linalg_norm.default", T(f32, 3, 4), tol=tol)
    case(file, "aten.linalg_norm.default", T(f32, 2, 3, 4), None, [0, 1], tol=tol)
    case(file, "aten.linalg_norm.ord_str", T(f32, 3, 4), "nuc", tol=tol)
    case(file, "aten.linalg_multi_dot.default", [T(f32, 3, 4), T(f32, 4, 2), T(f32, 2, 5)], tol=tol)
    case(file, "aten.linalg_multi_dot.default", [T(f32, 4), T(f32, 4, 2), T(f32, 2)], tol=tol)
    case(file, "aten.trace.default", T(f32, 3, 4))
    case(file, "aten.trace.default", T(i32, 3, 3))
    case(file, "aten.trace.default", T(f32, 0, 3))
    case(file, "aten.addr.default", T(f32, 3, 4), T(f32, 3), T(f32, 4), beta=0.5, alpha=2)
    case(file, "aten.addr.default", T(f32, 4), T(f32, 3), T(f32, 4), beta=0)


def composition_cases():
    generator.manual_seed(SEED)
    file, tol = "compositions", (1e-5, 1e-4)
    for name in ("hstack", "vstack", "dstack", "column_stack", "row_stack"):
        case(file, f"aten.{name}.default", [T(f32, 2, 3), T(f32, 2, 3)])
        case(file, f"aten.{name}.default", [T(f32, 3), T(f32, 3)])
        case(file, f"aten.{name}.default", [T(i32), T(i32)])
    for rank in (1, 2, 3):
        for shape in ((), (3,), (2, 3), (2, 3, 1, 2)):
            case(file, f"aten.atleast_{rank}d.default", T(f32, *shape))
        case(file, f"aten.atleast_{rank}d.Sequence", [T(f32), T(i64, 2)])
    case(file, "aten.pad_sequence.default", [T(f32, 3, 2), T(f32, 5, 2)], True, -1.0)
    case(file, "aten.pad_sequence.default", [T(f32, 3), T(f32, 1)])
    for name, shape in (("hsplit", (2, 4)), ("hsplit", (4,)), ("vsplit", (4, 2)), ("dsplit", (1, 2, 4))):
        case(file, f"aten.{name}.int", T(f32, *shape), 2)
        case(file, f"aten.{name}.array", T(f32, *shape), [1, 3])
    case(file, "aten.linalg_vecdot.default", T(f32, 2, 3), T(f32, 3), tol=tol)
    case(file, "aten.addbmm.default", T(f32, 3, 2), T(f32, 4, 3, 2), T(f32, 4, 2, 2), beta=0.5, alpha=2.0, tol=tol)
    case(file, "aten.addbmm.default", T(f32, 3, 2), T(f32, 4, 3, 2), T(f32, 4, 2, 2), beta=0, tol=tol)
    case(file, "aten.bilinear.default", T(f32, 2, 3), T(f32, 2, 4), T(f32, 5, 3, 4), T(f32, 5), tol=tol)
    case(file, "aten.bilinear.default", T(f32, 3), T(f32, 4), T(f32, 5, 3, 4), tol=tol)
    case(file, "aten._trilinear.default", T(f32, 2, 3), T(f32, 5, 3, 4), T(f32, 2, 4), [1, 3], [0], [1, 2], [2, 3], tol=tol)
    case(file, "aten.sum_to_size.default", T(f32, 2, 3, 4), [3, 1], tol=tol)
    case(file, "aten.sum_to_size.default", T(f32, 2, 3), [2, 3])
    case(file, "aten.cumulative_trapezoid.dx", T(f32, 2, 5), dx=0.5, tol=tol)
    case(file, "aten.cumulative_trapezoid.dx", T(f64, 3, 2), dim=0, tol=tol)
    case(file, "aten.float_power.Tensor_Tensor", T(f32, 4, lo=0.1), T(i32, 4))
    case(file, "aten.float_power.Tensor_Scalar", T(i64, 4, lo=1), 2)
    case(file, "aten.float_power.Scalar", 2.5, T(f32, 4))
    for name in ("vander", "linalg_vander"):
        case(file, f"aten.{name}.default", T(f32, 3), tol=tol)
        case(file, f"aten.{name}.default", T(f32, 3), N=5, tol=tol)
    case(file, "aten._weight_norm.default", T(f32, 3, 4), T(f32, 3, 1), tol=tol)
    case(file, "aten._weight_norm_interface.default", T(f32, 3, 4), T(f32, 3, 1), tol=tol)
    case(file, "aten._weight_norm_interface.default", T(f32, 2, 3, 4), T(f32, 1, 1, 4), 2, tol=tol)
    def cell(gates):
        return T(f32, gates * 3, 4), T(f32, gates * 3, 3), T(f32, gates * 3), T(f32, gates * 3)
    case(file, "aten.lstm_cell.default", T(f32, 2, 4), [T(f32, 2, 3), T(f32, 2, 3)], *cell(4), tol=tol)
    case(file, "aten.lstm_cell.default", T(f32, 2, 4), [T(f32, 2, 3), T(f32, 2, 3)], *cell(4)[:2], tol=tol)
    case(file, "aten.gru_cell.default", T(f32, 2, 4), T(f32, 2, 3), *cell(3), tol=tol)
    case(file, "aten.rnn_tanh_cell.default", T(f32, 2, 4), T(f32, 2, 3), *cell(1), tol=tol)
    case(file, "aten.rnn_relu_cell.default", T(f32, 2, 4), T(f32, 2, 3), *cell(1), tol=tol)
    case(file, "aten.linalg_tensorinv.default", T(f32, 2, 2, 4), 2, tol=(1e-3, 1e-3))
    case(file, "aten.linalg_tensorsolve.default", T(f32, 2, 2, 4), T(f32, 2, 2), tol=(1e-3, 1e-3))
    for p in (None, 1, 2, -2, INF):
        case(file, "aten.linalg_cond.default", T(f32, 2, 3, 3), p, tol=(1e-2, 1e-3))
    case(file, "aten.linalg_cond.p_str", T(f32, 3, 3), "fro", tol=(1e-2, 1e-3))
    case(file, "aten.isreal.default", T(f32, 3))
    case(file, "aten.diagflat.default", T(f32, 2, 2), 1)
    case(file, "aten.ravel.default", T(f32, 2, 3))
    case(file, "aten.linalg_diagonal.default", T(f32, 2, 3, 4), offset=1)
    for name in ("greater", "greater_equal", "less", "less_equal", "not_equal"):
        case(file, f"aten.{name}.Tensor", T(i32, 5), T(i32, 5))
        case(file, f"aten.{name}.Scalar", T(i32, 5), 1)
    for name in ("absolute", "negative", "arctan", "arcsinh", "special_expit"):
        case(file, f"aten.{name}.default", T(f32, 4))
    for name in ("arccos", "arcsin", "arctanh"):
        case(file, f"aten.{name}.default", T(f32, 4, lo=-0.9, hi=0.9))
    case(file, "aten.arccosh.default", T(f32, 4, lo=1.1))
    case(file, "aten.arctan2.default", T(f32, 4), T(f32, 4))
    case(file, "aten.multiply.Tensor", T(f32, 4), T(f32, 4))
    case(file, "aten.subtract.Tensor", T(f32, 4), T(f32, 4), alpha=2)
    case(file, "aten.divide.Tensor_mode", T(f32, 4), T(f32, 4, lo=1), rounding_mode="floor")
    case(file, "aten.max.other", T(f32, 4), V([NAN, 0.0, 1.0, 2.0]))
    case(file, "aten.min.other", T(i32, 2, 4), T(i64, 4))
    case(file, "aten.unsafe_chunk.default", T(f32, 2, 5), 2, 1)
    case(file, "aten.unsafe_split.Tensor", T(f32, 2, 5), 2, 1)
    case(file, "aten.linalg_matmul.default", T(f32, 2, 3), T(f32, 3), tol=tol)
    case(file, "aten.logspace.default", 0, 2, 5, tol=tol)


def main():
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "tests/golden/ops")
    directory.mkdir(parents=True, exist_ok=True)
    for make in [unary_cases, activation_cases, binary_cases, cast_cases, view_cases, factory_cases, matmul_cases,
                 convolution_cases, pooling_cases, reduction_cases, normalisation_cases, attention_cases, indexing_cases,
                 quantisation_cases, scatter_cases, ordering_cases, embedding_bag_cases, loss_cases, resampling_cases,
                 contraction_cases, special_cases, arrangement_cases, logic_cases, linalg_cases, composition_cases]:
        make()
    for name, cases in sorted(files.items()):
        lines = ",\n".join("  " + json.dumps(entry, separators=(", ", ": ")) for entry in cases)
        text = f'{{"torch": "{torch.__version__.split("+")[0]}", "seed": {SEED}, "cases": [\n{lines}\n]}}\n'
        (directory / f"{name}.json").write_text(text)
        print(f"{name}: {len(cases)} cases")


if __name__ == "__main__":
    main()
