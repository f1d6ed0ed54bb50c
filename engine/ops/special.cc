// Special functions that are series or short formulas.
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/ops/families.h"
#include "engine/ops/pointwise.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;
using Handles = std::span<const Handle>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Handle Number(LoopBuilder& b, Handle like, double value) { return b.Constant(value, b.dtype(like)); }
Handle Add(LoopBuilder& b, Handle x, Handle y) { return b.Binary(LoopOp::kAdd, x, y); }
Handle Sub(LoopBuilder& b, Handle x, Handle y) { return b.Binary(LoopOp::kSub, x, y); }
Handle Mul(LoopBuilder& b, Handle x, Handle y) { return b.Binary(LoopOp::kMul, x, y); }
Handle Div(LoopBuilder& b, Handle x, Handle y) { return b.Binary(LoopOp::kDiv, x, y); }
Handle Neg(LoopBuilder& b, Handle x) { return b.Unary(LoopOp::kNeg, x); }
Handle Less(LoopBuilder& b, Handle x, double bound) { return b.Binary(LoopOp::kLt, x, Number(b, x, bound)); }

// --- Modified Bessel functions of the first kind --------------------------------------------------------------------

// Below this the power series (DLMF 10.25.2) converges within its terms, all of one sign; above it the asymptotic one
// (DLMF 10.40.1) reaches f64's precision before it diverges.
constexpr double kBesselSplit = 20;
constexpr int kPowerTerms = 48, kAsymptoticTerms = 24;

// sum (x^2/4)^k / (k! (k + order)!), from its last term on.
Handle PowerSeries(LoopBuilder& b, Handle x, int order) {
  const Handle square = Mul(b, Mul(b, x, x), Number(b, x, 0.25)), one = Number(b, x, 1);
  Handle sum = one;
  for (int k = kPowerTerms; k > 0; --k) sum = Add(b, one, Mul(b, sum, Mul(b, square, Number(b, x, 1.0 / (k * (k + order))))));
  return sum;
}

// sqrt(2 pi x) exp(-x) I(x) = sum (-1)^k a_k / x^k, a_k / a_(k-1) = (4 order^2 - (2k - 1)^2) / (8 k).
Handle AsymptoticSeries(LoopBuilder& b, Handle x, int order) {
  const Handle inverse = Div(b, Number(b, x, 1), x), one = Number(b, x, 1);
  Handle sum = one;
  for (int k = kAsymptoticTerms; k > 0; --k) {
    const double ratio = -(4.0 * order * order - (2.0 * k - 1) * (2.0 * k - 1)) / (8.0 * k);
    sum = Add(b, one, Mul(b, sum, Mul(b, inverse, Number(b, x, ratio))));
  }
  return sum;
}

// I of order 0 or 1, times exp(-|x|) if `scaled`; in f64, since the series cancel nothing but round often. At infinity
// unscaled ones are NaN, as PyTorch's are.
template <int order, bool scaled>
Handle BesselI(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle wide = b.Cast(x[0], DType::kFloat64), magnitude = b.Unary(LoopOp::kAbs, wide);
  const Handle near = b.Binary(LoopOp::kMin, magnitude, Number(b, wide, kBesselSplit));
  Handle small = PowerSeries(b, near, order);
  if (order == 1) small = Mul(b, small, Mul(b, near, Number(b, wide, 0.5)));
  const Handle far = b.Binary(LoopOp::kMax, magnitude, Number(b, wide, kBesselSplit));
  Handle large = Div(b, AsymptoticSeries(b, far, order), b.Unary(LoopOp::kSqrt, Mul(b, far, Number(b, wide, 2 * std::numbers::pi))));
  if (scaled) {
    small = Mul(b, small, b.Unary(LoopOp::kExp, Neg(b, near)));
  } else {
    large = Mul(b, large, b.Unary(LoopOp::kExp, far));
  }
  Handle value = b.Select(Less(b, magnitude, kBesselSplit), small, large);
  if (order == 1) value = b.Select(Less(b, wide, 0), Neg(b, value), value);
  return b.Cast(value, b.dtype(x[0]));
}

// --- Others ---------------------------------------------------------------------------------------------------------

// -x log(x); 0 at 0, -inf below.
Handle Entropy(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle zero = Number(b, x[0], 0), value = Neg(b, Mul(b, x[0], b.Unary(LoopOp::kLog, x[0])));
  const Handle at_zero = b.Select(b.Binary(LoopOp::kEq, x[0], zero), zero, value);
  return b.Select(Less(b, x[0], 0), Number(b, x[0], -kInfinity), at_zero);
}

// The normal distribution: erfc(-x / sqrt 2) / 2.
Handle NormalShare(LoopBuilder& b, Handle x) {
  return Mul(b, b.Unary(LoopOp::kErfc, Mul(b, x, Number(b, x, -1 / std::numbers::sqrt2))), Number(b, x, 0.5));
}
Handle Ndtr(LoopBuilder& b, Handles x, const Arguments&) { return NormalShare(b, x[0]); }
Handle Ndtri(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle centred = Sub(b, Mul(b, x[0], Number(b, x[0], 2)), Number(b, x[0], 1));
  return Mul(b, b.Unary(LoopOp::kErfinv, centred), Number(b, x[0], std::numbers::sqrt2));
}

// x log1p(y); 0 where x is 0, NaN where y is.
Handle XLog1pY(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle zero = Number(b, x[0], 0), product = Mul(b, x[0], b.Unary(LoopOp::kLog1p, x[1]));
  const Handle value = b.Select(b.Binary(LoopOp::kEq, x[0], zero), zero, product);
  return b.Select(b.Unary(LoopOp::kIsNan, x[1]), x[1], value);
}

// p (p - 1) / 4 log(pi) + sum lgamma(x - j / 2).
Handle MultivariateLgamma(LoopBuilder& b, Handles x, const Arguments& args) {
  const int64_t p = args.Int("p");
  Handle sum = Number(b, x[0], 0.25 * static_cast<double>(p * (p - 1)) * std::log(std::numbers::pi));
  for (int64_t j = 0; j < p; ++j) sum = Add(b, sum, b.Unary(LoopOp::kLgamma, Sub(b, x[0], Number(b, x[0], 0.5 * static_cast<double>(j)))));
  return sum;
}

std::vector<SourceForm> Spellings(const std::vector<std::string>& names) {
  std::vector<SourceForm> forms;
  for (const std::string& name : names) forms.push_back({fmt::format("aten.{}.default", name), "(Tensor self)"});
  return forms;
}

template <PointwiseBody body>
OpSchema Function(const std::string& name, const std::vector<std::string>& names) {
  return Pointwise<body, Promotion::kFloat>(name, Spellings(names));
}

}  // namespace

std::vector<OpSchema> SpecialOps() {
  const std::string gamma = "(Tensor self, int p)", pair = "(Tensor self, Tensor other)";
  return {
      Function<BesselI<0, false>>("i0", {"i0", "special_i0"}),
      Function<BesselI<0, true>>("i0e", {"special_i0e"}),
      Function<BesselI<1, false>>("i1", {"special_i1"}),
      Function<BesselI<1, true>>("i1e", {"special_i1e"}),
      Function<Entropy>("entr", {"special_entr"}),
      Function<Ndtr>("ndtr", {"special_ndtr"}),
      Function<Ndtri>("ndtri", {"special_ndtri"}),
      Pointwise<XLog1pY, Promotion::kFloat>("xlog1py", {{"aten.special_xlog1py.default", pair},
                                                        {"aten.special_xlog1py.other_scalar", "(Tensor self, Scalar other)"},
                                                        {"aten.special_xlog1py.self_scalar", "(Scalar self, Tensor other)"}}, pair),
      Pointwise<MultivariateLgamma, Promotion::kFloat>("mvlgamma", {{"aten.mvlgamma.default", gamma}, {"aten.special_multigammaln.default", gamma}}, gamma),
  };
}

}  // namespace tondar
