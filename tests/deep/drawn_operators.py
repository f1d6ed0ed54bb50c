"""The operators that compare_with_torch.py draws, and how their arguments are drawn."""
import math

import torch

FLOATS = [torch.float32, torch.float32, torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
EXTREMES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, math.inf, -math.inf, math.nan, 1e-30, -3e4, 65504.0]


class Draw:
    """Draws arguments from one random.Random."""

    def __init__(self, random):
        self.random = random
        self.generator = torch.Generator().manual_seed(random.getrandbits(60))

    def chance(self, share):
        return self.random.random() < share

    def dtype(self, kinds="fib"):
        pool = {"f": FLOATS, "i": INTEGERS, "b": [torch.bool]}[self.random.choice([k for k in kinds for _ in range(4 if k == "f" else 2 if k == "i" else 1)])]
        return self.random.choice(pool)

    def extent(self):
        return self.random.choice([0, 1, 1, 2, 3, 4, 5, 7, 8, 17, 33])

    def shape(self, low=0, high=4, empty=True):
        while True:
            shape = [self.extent() for _ in range(self.random.randint(low, high))]
            if math.prod(shape) <= 4000 and (empty and self.chance(0.3) or 0 not in shape):
                return shape

    def broadcast(self, shape):
        """A shape that broadcasts with this one."""
        other = [1 if self.chance(0.3) else n for n in shape]
        return other[self.random.randint(0, len(other)):] if self.chance(0.3) else other

    def values(self, shape, dtype, extreme=True, low=-4.0, high=4.0):
        if dtype == torch.bool:
            return torch.rand(shape, generator=self.generator) < 0.5
        if not dtype.is_floating_point:
            low = 0 if dtype == torch.uint8 else int(low)
            x = torch.randint(low, max(int(high), low + 1) + 1, shape, generator=self.generator).to(dtype)
            if extreme and self.chance(0.2) and x.numel():
                ends = torch.tensor([torch.iinfo(dtype).min, torch.iinfo(dtype).max], dtype=dtype)
                at = torch.randint(0, x.numel(), (2,), generator=self.generator)
                x.view(-1)[at] = ends
            return x
        x = (torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low).to(dtype)
        if self.chance(0.3):
            x = x.round()
        if extreme and self.chance(0.3) and x.numel():
            some = min(x.numel(), 4)
            at = torch.randint(0, x.numel(), (some,), generator=self.generator)
            x.view(-1)[at] = torch.tensor([self.random.choice(EXTREMES) for _ in range(some)]).to(dtype)
        return x

    def tensor(self, low=0, high=4, kinds="fib", extreme=True, empty=True, dtype=None, shape=None, **bounds):
        shape = self.shape(low, high, empty) if shape is None else shape
        return self.values(shape, dtype or self.dtype(kinds), extreme, **bounds)

    def index(self, shape, below, dtype=None, negative=False):
        low = -below if negative and self.chance(0.3) else 0
        return torch.randint(low, max(below, low + 1), shape, generator=self.generator).to(dtype or torch.int64)

    def dim(self, x):
        rank = max(x.dim() if isinstance(x, torch.Tensor) else len(x), 1)
        return self.random.randint(-rank, rank - 1)

    def dims(self, x):
        rank = x.dim()
        dims = self.random.sample(range(rank), self.random.randint(0, rank))
        return [d - rank if self.chance(0.3) else d for d in dims]

    def number(self):
        return self.random.choice([0, 1, 2, -3, 0.5, -1.75, 2.0, 3])

    def flag(self):
        return self.chance(0.5)


ROWS = {}


def row(names, draw, loose=1.0, indices=(), results=None, views=True):
    """`draw(d)` gives (args, kwargs) or args. `loose`: factor on the tolerances. `indices`: results whose order among ties is free.
    `results`: how many of them count; all by default. `views`: whether operands may be permuted or strided ones."""
    for name in names.split():
        ROWS[name] = (draw, loose, indices, results, views)


# --- Element by element ---------------------------------------------------------------------------------------------
row("neg abs sign relu square floor ceil trunc round frac logical_not bitwise_not isnan isinf isfinite signbit isposinf isneginf sgn "
    "positive nan_to_num", lambda d: (d.tensor(),))
row("hardtanh relu6", lambda d: (d.tensor(kinds="f"),))
row("exp exp2 expm1 sin cos tanh atan sinh cosh asinh erf erfc sigmoid silu gelu hardsigmoid hardswish softplus log_sigmoid mish selu celu elu "
    "leaky_relu tan", lambda d: (d.tensor(),), loose=4)
row("sqrt rsqrt log log2 log10 log1p reciprocal", lambda d: (d.tensor(low=0, high=3) if d.flag() else d.tensor(low=0, high=3, extreme=False),), loose=2)
row("asin acos atanh erfinv acosh lgamma digamma i0 special_i0e special_i1 special_i1e special_ndtr special_entr sinc rad2deg deg2rad",
    lambda d: (d.tensor(extreme=False),), loose=20)
row("add.Tensor sub.Tensor rsub.Tensor", lambda d: _pair(d) + (({"alpha": d.number()},) if d.chance(0.3) else ()))
row("mul.Tensor div.Tensor eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor maximum minimum fmax fmin logical_and logical_or logical_xor "
    "copysign.Tensor", lambda d: _pair(d))
row("atan2 hypot logaddexp logaddexp2 xlogy.Tensor pow.Tensor_Tensor", lambda d: _pair(d), loose=8)
row("remainder.Tensor fmod.Tensor floor_divide bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor gcd heaviside nextafter", lambda d: _pair(d))
row("bitwise_left_shift.Tensor bitwise_right_shift.Tensor", lambda d: _shift(d))
row("div.Tensor_mode", lambda d: _pair(d) + ({"rounding_mode": d.random.choice([None, "trunc", "floor"])},))
row("add.Scalar sub.Scalar rsub.Scalar mul.Scalar div.Scalar eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar remainder.Scalar fmod.Scalar "
    "bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar", lambda d: (d.tensor(), d.number()))
row("pow.Tensor_Scalar", lambda d: (d.tensor(), d.random.choice([0, 1, 2, 3, -1, 0.5, -0.5, 2.5])), loose=8)
row("pow.Scalar", lambda d: (d.random.choice([0, 1, 2, -2, 0.5]), d.tensor(extreme=False)), loose=8)
row("clamp", lambda d: (d.tensor(), d.random.choice([None, -1, 0.5]), d.random.choice([1, 2.5])))
row("clamp.Tensor", lambda d: (lambda p: (p[0], p[1], p[1]))(_pair(d)))
row("where.self", lambda d: (lambda p: (d.tensor(shape=d.broadcast(p[0].shape), dtype=torch.bool),) + p)(_pair(d)))
row("lerp.Scalar", lambda d: _same(d, 2) + (d.random.choice([0.0, 0.3, 0.7, 1.0]),), loose=2)
row("lerp.Tensor addcmul addcdiv", lambda d: _same(d, 3), loose=4)
row("masked_fill.Scalar", lambda d: (lambda x: (x, d.tensor(shape=d.broadcast(x.shape), dtype=torch.bool), d.number()))(d.tensor()))
row("prelu", lambda d: (lambda x: (x, d.tensor(shape=[1], dtype=x.dtype, extreme=False)))(d.tensor(low=1, kinds="f")))
row("threshold", lambda d: (d.tensor(), d.number(), d.number()))
row("logit", lambda d: (d.tensor(kinds="f", extreme=False, low=0), d.random.choice([None, 0.1])), loose=4)
row("mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss", lambda d: _same(d, 2, extreme=False) + (d.random.randint(0, 2),), loose=4)
row("kl_div binary_cross_entropy_with_logits", lambda d: _same(d, 2, extreme=False) + ({"reduction": d.random.randint(0, 2)},), loose=8)


def _pair(d):
    """Two tensors that broadcast, of one dtype or of two."""
    x = d.tensor()
    dtype = x.dtype if d.chance(0.6) else d.dtype()
    y = d.tensor(shape=d.broadcast(x.shape), dtype=dtype)
    return (x, y) if d.flag() else (y, x)


def _same(d, count, **options):
    x = d.tensor(kinds="f", **options)
    return (x,) + tuple(d.tensor(shape=list(x.shape), dtype=x.dtype, **options) for _ in range(count - 1))


def _shift(d):
    x = d.tensor(kinds="i")
    return x, d.index(d.broadcast(x.shape), 7, x.dtype)


# --- Reductions and scans -------------------------------------------------------------------------------------------
row("sum.dim_IntList mean.dim amax amin logsumexp any.dims all.dims nansum std.dim var.dim",
    lambda d: (lambda x: (x, d.dims(x), d.flag()) if True else None)(d.tensor(extreme=False)), loose=20)
row("sum prod mean max min any all", lambda d: (d.tensor(extreme=d.chance(0.3)),), loose=20)
row("median nanmedian", lambda d: (d.tensor(extreme=d.chance(0.3), empty=False),))
row("prod.dim_int argmax argmin max.dim min.dim any.dim all.dim count_nonzero", lambda d: (lambda x: (x, d.dim(x)))(d.tensor()), loose=8)
row("var.correction std.correction var_mean.correction", lambda d: (lambda x: (x, d.dims(x), {"correction": d.random.choice([None, 0, 1, 2]), "keepdim": d.flag()}))(d.tensor(kinds="f", extreme=False)), loose=30)
row("linalg_vector_norm", lambda d: (lambda x: (x, d.random.choice([0, 1, 2, 3, math.inf, -math.inf, 0.5]), d.dims(x), d.flag()))(d.tensor(kinds="f", extreme=False)), loose=30)
row("cumsum cumprod logcumsumexp", lambda d: (lambda x: (x, d.dim(x)))(d.tensor(extreme=False, low=-1.5, high=1.5) if False else d.values(d.shape(), d.dtype(), False, -1.5, 1.5)), loose=30)
row("cummax cummin", lambda d: (lambda x: (x, d.dim(x)))(d.tensor()))
row("_softmax _log_softmax", lambda d: (lambda x: (x, d.dim(x), False))(d.tensor(kinds="f", extreme=False)), loose=8)
row("histc", lambda d: (d.tensor(kinds="f", extreme=False), d.random.randint(1, 9), d.random.choice([0, -2]), d.random.choice([0, 2])))
row("diff", lambda d: (lambda x: (x, d.random.randint(0, 3), d.dim(x)))(d.tensor(low=1, extreme=False)), loose=4)
row("nanmean", lambda d: (lambda x: (x, d.dims(x), d.flag()))(d.tensor(kinds="f", extreme=False)), loose=20)

# --- Order ----------------------------------------------------------------------------------------------------------
row("sort.stable", lambda d: (lambda x: (x, {"stable": True, "dim": d.dim(x), "descending": d.flag()}))(d.tensor()))
row("topk", lambda d: (lambda x, k: (x, k, d.dim(x), d.flag()))(d.tensor(), d.random.randint(0, 3)), indices=(1,))
row("kthvalue median.dim nanmedian.dim", lambda d: _pick(d), indices=(1,))
row("mode", lambda d: (lambda x: (x, d.dim(x), d.flag()))(d.tensor(empty=False)), indices=(1,))
row("msort", lambda d: (d.tensor(),))
row("quantile.scalar nanquantile.scalar", lambda d: (lambda x: (x, d.random.random(), d.dim(x), d.flag(), {"interpolation": d.random.choice(["linear", "lower", "higher", "nearest", "midpoint"])}))(d.tensor(kinds="f", extreme=False, empty=False)), loose=4)
row("bucketize.Tensor", lambda d: _search(d))
row("searchsorted.Tensor", lambda d: (lambda x, e, o: (e, x, o))(*_search(d)))
row("isin.Tensor_Tensor", lambda d: (lambda x: (x, d.tensor(high=2, dtype=x.dtype), {"invert": d.flag()}))(d.tensor(kinds="fi", extreme=False)))


def _pick(d):
    x = d.tensor(empty=False)
    return x, d.random.randint(1, 2) if d.flag() else d.dim(x), d.random.choice([-1, 0])


def _search(d):
    dtype = d.dtype("fi")
    edges = torch.sort(d.values([d.random.choice([0, 1, 3, 16, 17, 40])], dtype, False)).values
    return d.tensor(dtype=dtype), edges, {"right": d.flag(), "out_int32": d.flag()}


# --- Reading and writing by index -----------------------------------------------------------------------------------
row("index_select", lambda d: (lambda x, dim: (x, dim, d.index([d.extent()], _extent(x, dim))))(*_with_dim(d)))
row("gather", lambda d: (lambda x, dim: (x, dim, d.index(_within(d, x, dim), _extent(x, dim))))(*_with_dim(d)))
row("take", lambda d: (lambda x: (x, d.index(d.shape(), x.numel(), negative=True)))(d.tensor(empty=False)))
row("take_along_dim", lambda d: (lambda x, dim: (x, d.index(_within(d, x, dim), _extent(x, dim)), dim))(*_with_dim(d)))
row("index.Tensor", lambda d: (lambda x: (x, _indices(d, x)))(d.tensor(low=1, empty=False)))
row("index_put", lambda d: _put(d), loose=4)
row("scatter.src scatter_add", lambda d: (lambda x, dim: (lambda at: (x, dim, at, d.tensor(shape=list(at.shape), dtype=x.dtype, extreme=False)))(_place(d, x, dim)))(*_with_dim(d)), loose=4)
row("scatter.value", lambda d: (lambda x, dim: (x, dim, _place(d, x, dim), d.number()))(*_with_dim(d)))
row("scatter_reduce.two", lambda d: (lambda x, dim: (lambda at: (x, dim, at, d.tensor(shape=list(at.shape), dtype=x.dtype, extreme=False), d.random.choice(["sum", "prod", "mean", "amax", "amin"]), {"include_self": d.flag()}))(_place(d, x, dim)))(*_with_dim(d)), loose=8)
row("index_add index_copy", lambda d: _along(d), loose=4)
row("index_reduce", lambda d: _along(d) + (d.random.choice(["prod", "mean", "amax", "amin"]), {"include_self": d.flag()}), loose=8)
row("index_fill.int_Scalar", lambda d: (lambda x, dim: (x, dim, d.index([d.extent()], _extent(x, dim)), d.number()))(*_with_dim(d)))
row("masked_scatter", lambda d: (lambda x: (x, d.tensor(shape=d.broadcast(x.shape), dtype=torch.bool), d.tensor(shape=[max(x.numel(), 1)], dtype=x.dtype)))(d.tensor()))
row("put", lambda d: (lambda x, at: (x, at, d.tensor(shape=list(at.shape), dtype=x.dtype, extreme=False), d.flag()))(*(lambda x: (x, torch.randperm(x.numel(), generator=d.generator)[:d.random.randint(1, 9)]))(d.tensor(empty=False, extreme=False))), loose=4)
row("nonzero_static", lambda d: (d.tensor(), {"size": d.random.randint(0, 9), "fill_value": -1}))
row("embedding", lambda d: (d.tensor(shape=[d.random.randint(1, 9), d.random.randint(1, 5)], kinds="f"), d.index(d.shape(0, 3), 1)))
# Of strided indices PyTorch itself sums the wrong rows.
row("_embedding_bag", lambda d: _bag(d), loose=4, results=1, views=False)
row("select_scatter", lambda d: (lambda x, dim: (x, d.tensor(shape=list(x.select(dim, 0).shape), dtype=x.dtype), dim, d.random.randint(-1, 0)))(*_with_dim(d, low=1)))
row("slice_scatter", lambda d: (lambda x, dim, a, b, s: (x, d.tensor(shape=list(torch.ops.aten.slice(x, dim, a, b, s).shape), dtype=x.dtype), dim, a, b, s))(*_with_dim(d, low=1), d.random.choice([None, 0, 1, -2]), d.random.choice([None, 2, 9]), d.random.choice([1, 1, 2, 3])))
row("diagonal_scatter", lambda d: (lambda x, o: (x, d.tensor(shape=list(torch.diagonal(x, o, 0, 1).shape), dtype=x.dtype), o))(d.tensor(low=2), d.random.randint(-2, 2)))


def _with_dim(d, low=0):
    x = d.tensor(low=low, empty=False, extreme=False)
    return x, d.dim(x)


def _extent(x, dim):
    return x.shape[dim] if x.dim() else 1


def _within(d, x, dim):
    shape = [d.random.randint(1, n) for n in x.shape]
    if shape:
        shape[dim] = d.extent()
    return shape


def _place(d, x, dim):
    return d.index(_within(d, x, dim), _extent(x, dim))


def _along(d):
    x, dim = _with_dim(d)
    shape = list(x.shape)
    count = d.random.randint(1, _extent(x, dim))
    if shape:
        shape[dim] = count
    at = torch.randperm(_extent(x, dim), generator=d.generator)[:count] if d.flag() else d.index([count], _extent(x, dim))
    return x, dim, at, d.tensor(shape=shape, dtype=x.dtype, extreme=False)


def _indices(d, x):
    shape = d.shape(0, 2)
    indices = [None if d.chance(0.3) else d.index(d.broadcast(shape), n, negative=True) for n in x.shape[:d.random.randint(1, x.dim())]]
    return indices if any(i is not None for i in indices) else [d.index(shape, x.shape[0])]


def _put(d):
    x = d.tensor(low=1, empty=False, extreme=False)
    accumulate = d.flag()
    if d.chance(0.3):
        mask = d.tensor(shape=list(x.shape[:d.random.randint(1, x.dim())]), dtype=torch.bool)
        target = x[mask]
        return x, [mask], d.tensor(shape=list(target.shape) if d.flag() else [], dtype=x.dtype, extreme=False), accumulate
    indices = _indices(d, x)
    target = torch.ops.aten.index.Tensor(x, indices)
    if not accumulate and not x.dtype == torch.bool:  # one value for all, lest duplicates depend on the order
        return x, indices, d.tensor(shape=[], dtype=x.dtype), accumulate
    return x, indices, d.tensor(shape=d.broadcast(target.shape), dtype=x.dtype, extreme=False), accumulate


def _bag(d):
    rows, count, bags = d.random.randint(1, 9), d.random.randint(0, 12), d.random.randint(1, 5)
    offsets = torch.sort(d.index([bags], count + 1)).values
    offsets[0] = 0
    mode = d.random.randint(0, 2)
    weights = d.values([count], torch.float32, False) if mode == 0 and d.flag() else None
    return (d.values([rows, 3], torch.float32, False), d.index([count], rows), offsets, False, mode, False, weights, False, d.random.randint(-1, rows - 1))


# --- Shapes ---------------------------------------------------------------------------------------------------------
row("flip", lambda d: (lambda x: (x, d.dims(x)))(d.tensor()))
row("roll", lambda d: (lambda x: (x, [d.random.randint(-9, 9)], [d.dim(x)]))(d.tensor(low=1)))
row("constant_pad_nd", lambda d: (lambda x: (x, [d.random.randint(-1, 3) for _ in range(2 * d.random.randint(0, x.dim()))], d.number()))(d.tensor(low=1)))
row("diagonal", lambda d: (d.tensor(low=2), d.random.randint(-3, 3)))
row("diag_embed", lambda d: (d.tensor(low=1, high=3), d.random.randint(-3, 3)))
row("tril triu", lambda d: (d.tensor(low=2), d.random.randint(-3, 3)))
row("repeat", lambda d: (lambda x: (x, [d.random.randint(0, 3) for _ in range(x.dim() + d.random.randint(0, 1))]))(d.tensor(high=3)))
row("repeat_interleave.self_int", lambda d: (lambda x: (x, d.random.randint(0, 3), d.random.choice([None, d.dim(x)])))(d.tensor()))
row("unfold", lambda d: (lambda x: (x, d.dim(x), d.random.randint(0, 3), d.random.randint(1, 3)))(d.tensor(low=1, empty=False)))
row("rot90", lambda d: (d.tensor(low=2), d.random.randint(-4, 4), [0, 1]))
row("slice.Tensor", lambda d: (lambda x: (x, d.dim(x), d.random.choice([None, 0, 1, -3, 9]), d.random.choice([None, 2, -1, 9]), d.random.randint(1, 3)))(d.tensor(low=1)))
row("cat", lambda d: (lambda x, dim: ([x, d.tensor(shape=list(x.shape), dtype=x.dtype), d.tensor(shape=list(x.shape))], dim))(*(lambda x: (x, d.dim(x)))(d.tensor(low=1))))
row("stack", lambda d: (lambda x: ([x, d.tensor(shape=list(x.shape), dtype=x.dtype)], d.dim(x)))(d.tensor()))
row("im2col", lambda d: (d.tensor(shape=[2, d.random.randint(1, 3), 6, 5], kinds="f"), [d.random.randint(1, 3), 2], [d.random.randint(1, 2), 1], [d.random.randint(0, 2), 1], [1, d.random.randint(1, 2)]))

# --- Products and windows -------------------------------------------------------------------------------------------
row("mm", lambda d: (lambda m, k, n, t: (d.values([m, k], t, False), d.values([k, n], t, False)))(d.extent(), d.extent(), d.extent(), d.dtype("fi")), loose=20)
row("matmul", lambda d: (lambda b, m, k, n, t: (d.values(b + [m, k], t, False), d.values(d.broadcast(b) + [k, n], t, False)))(d.shape(0, 2), d.extent(), d.extent(), d.extent(), d.dtype("fi")), loose=20)
row("addmm", lambda d: (lambda m, k, n, t: (d.values(d.broadcast([m, n]), t, False), d.values([m, k], t, False), d.values([k, n], t, False)))(d.extent(), d.extent(), d.extent(), d.dtype("f")), loose=20)
row("cdist", lambda d: (lambda m, n, k: (d.values([m, k], torch.float32, False), d.values([n, k], torch.float32, False), d.random.choice([0.0, 1.0, 2.0, 3.0, math.inf])))(d.extent(), d.extent(), d.extent()), loose=100)
row("dist", lambda d: _same(d, 2, extreme=False) + (d.random.choice([0, 1, 2, 3, math.inf]),), loose=20)
row("avg_pool2d max_pool2d", lambda d: (d.tensor(shape=[1, 2, 7, 6], kinds="f"), [d.random.randint(1, 3)] * 2, [d.random.randint(1, 3)] * 2, [d.random.randint(0, 1)] * 2), loose=4)
row("convolution", lambda d: (d.values([2, 4, 7, 6], torch.float32, False), d.values([6, 4, 3, 2], torch.float32, False), None, [d.random.randint(1, 2)] * 2, [d.random.randint(0, 2)] * 2, [d.random.randint(1, 2)] * 2, False, [0, 0], 1), loose=20)
row("upsample_bicubic2d.vec", lambda d: (d.values([1, 2, d.random.randint(1, 6), d.random.randint(1, 6)], torch.float32, False), [d.random.randint(1, 9), d.random.randint(1, 9)], d.flag(), None), loose=20)
row("grid_sampler_2d", lambda d: (d.values([2, 2, d.random.randint(1, 5), d.random.randint(1, 5)], torch.float32, False), d.values([2, 3, 2, 2], torch.float32, False, -1.5, 1.5), d.random.randint(0, 2), d.random.randint(0, 2), d.flag()), loose=50)

# --- Linear algebra: matrices far from singular ----------------------------------------------------------------------
row("linalg_det linalg_slogdet linalg_inv linalg_eigvalsh linalg_svdvals linalg_matrix_exp linalg_lu_factor linalg_lu logdet linalg_cond linalg_pinv.atol_rtol_tensor",
    lambda d: (_matrix(d),), loose=3000)
row("linalg_cholesky", lambda d: (_definite(d),), loose=1000)
row("linalg_qr", lambda d: (_uneven(d, d.shape(0, 1) + [d.random.randint(1, 9), d.random.randint(1, 9)]), d.random.choice(["reduced", "complete", "r"])), loose=1000)
row("linalg_solve", lambda d: (lambda a: (a, d.values(list(a.shape[:-1]) + [d.random.randint(1, 4)], a.dtype, False)))(_matrix(d)), loose=3000)
row("linalg_solve_triangular", lambda d: (lambda a: (a, d.values(list(a.shape[:-1]) + [2], a.dtype, False), {"upper": d.flag(), "unitriangular": d.flag()}))(0.2 * _definite(d)), loose=30000)
row("linalg_matrix_power", lambda d: (_matrix(d), d.random.randint(-2, 4)), loose=30000)
row("linalg_matrix_norm", lambda d: (d.values(d.shape(0, 1) + [d.random.randint(1, 7), d.random.randint(1, 7)], _real(d), False), d.random.choice([1, -1, 2, -2, math.inf, -math.inf])), loose=1000)
row("linalg_matrix_norm.str_ord", lambda d: (d.values([d.random.randint(1, 7), d.random.randint(1, 7)], _real(d), False), d.random.choice(["fro", "nuc"])), loose=1000)
row("linalg_multi_dot", lambda d: ([d.values([3, 4], torch.float32, False), d.values([4, 2], torch.float32, False), d.values([2, 5], torch.float32, False)],), loose=50)
row("trace", lambda d: (d.tensor(low=2, high=2, extreme=False),), loose=50)


def _real(d):
    return d.random.choice([torch.float32, torch.float64])


def _uneven(d, shape):
    """Nothing that cancels to zero, whose sign would be rounding's."""
    dtype = _real(d)
    return torch.randn(shape, generator=d.generator, dtype=torch.float64).to(dtype)


def _matrix(d):
    n = d.random.choice([1, 2, 3, 4, 6, 9, 17])
    dtype = _real(d)
    return d.values(d.shape(0, 2) + [n, n], dtype, False, -1.0, 1.0) + (1 + n / 2) * torch.eye(n, dtype=dtype)


def _definite(d):
    a = _matrix(d)
    return a @ a.mT


# --- What spells other operators ------------------------------------------------------------------------------------
row("hstack vstack dstack column_stack", lambda d: (lambda x: ([x, d.tensor(shape=list(x.shape), dtype=x.dtype)],))(d.tensor()))
row("atleast_1d atleast_2d atleast_3d ravel", lambda d: (d.tensor(),))
row("linalg_vecdot", lambda d: _same(d, 2, low=1, extreme=False), loose=50)
row("bilinear", lambda d: (d.values([3, 4], torch.float32, False), d.values([3, 5], torch.float32, False), d.values([2, 4, 5], torch.float32, False), None), loose=100)
row("float_power.Tensor_Scalar", lambda d: (d.tensor(kinds="fi", extreme=False), d.random.choice([0, 1, 2, 3])))
row("greater.Tensor less_equal.Tensor not_equal.Tensor max.other min.other multiply.Tensor", lambda d: _pair(d))
row("absolute negative", lambda d: (d.tensor(kinds="fi"),))
row("lstm_cell", lambda d: (d.values([2, 4], torch.float32, False), [d.values([2, 3], torch.float32, False), d.values([2, 3], torch.float32, False)], d.values([12, 4], torch.float32, False), d.values([12, 3], torch.float32, False), None, None), loose=100)
row("gru_cell", lambda d: (d.values([2, 4], torch.float32, False), d.values([2, 3], torch.float32, False), d.values([9, 4], torch.float32, False), d.values([9, 3], torch.float32, False), d.values([9], torch.float32, False), d.values([9], torch.float32, False)), loose=100)
