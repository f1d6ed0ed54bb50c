// Losses and distances: a formula per element, then none, the mean or the sum of it.
#include <cmath>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/pointwise.h"
#include "engine/ops/power_norm.h"
#include "engine/ops/reduction.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;
using Handles = std::span<const Handle>;

enum class Averaging : int64_t { kNone = 0, kMean = 1, kSum = 2 };

Averaging AveragingOf(const Arguments& args) { return static_cast<Averaging>(args.Int("reduction")); }

Status CheckAveraging(const Arguments& args) {
  const int64_t value = args.Int("reduction");
  if (value >= 0 && value <= 2) return OkStatus();
  return InvalidArgument("reduction {}, expected 0 (none), 1 (mean) or 2 (sum)", value);
}

// The sum of x over all its elements, divided by their number for the mean; x itself for none. Rounds to `dtype`.
Value* Average(LoweringBuilder& builder, Value* x, Averaging averaging, DType dtype) {
  if (averaging == Averaging::kNone) return builder.Cast(x, dtype);
  Reduction sum{.op = ReduceOp::kSum, .dims = {}, .keepdim = false, .accumulator = x->dtype, .dtype = dtype, .body = nullptr, .finish = nullptr};
  for (size_t d = 0; d < x->shape.size(); ++d) sum.dims.push_back(d);
  const Dim count = ElementCount(x->shape);
  if (averaging == Averaging::kMean) {
    sum.finish = [count](LoopBuilder& b, Handle total) { return b.Binary(LoopOp::kDiv, total, b.Cast(b.Size(count), b.dtype(total))); };
  }
  return EmitReduction(builder, {x}, sum);
}

// --- Losses of two tensors, element by element ----------------------------------------------------------------------

std::vector<Value*> Given(const Node& node) {
  std::vector<Value*> given;
  for (Value* input : node.inputs) {
    if (input != nullptr) given.push_back(input);
  }
  return given;
}

Status InferLoss(Node& node) {
  const Arguments args(node);
  TONDAR_RETURN_IF_ERROR(CheckAveraging(args));
  std::vector<PromotionOperand> operands;
  std::vector<Shape> shapes;
  for (const Value* input : Given(node)) {
    operands.push_back({input, nullptr});
    shapes.push_back(input->shape);
  }
  TONDAR_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(node, shapes));
  const DType dtype = ResultType(operands);
  if (!IsFloat(dtype)) return InvalidArgument("a loss of {}", Name(dtype));
  SetOutput(node, 0, dtype, AveragingOf(args) == Averaging::kNone ? shape : Shape{});
  return OkStatus();
}

// Gets one handle per tensor of the signature, in the dtype that the loss is computed in; kAbsent for one not given.
using LossBody = Handle (*)(LoopBuilder& b, Handles x, const Arguments& args);

template <LossBody body>
Status LowerLoss(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const DType dtype = node.outputs[0]->dtype, compute = ComputeDType(dtype);
  Value* each = builder.Map(Given(node), [&](LoopBuilder& b, Handles loads) {
    std::vector<Handle> x;
    size_t next = 0;
    for (const Value* input : node.inputs) {
      x.push_back(input == nullptr ? kAbsent : b.Cast(b.Cast(loads[next], dtype), compute));
      next += input == nullptr ? 0 : 1;
    }
    return body(b, x, args);
  });
  builder.Replace(0, Average(builder, each, AveragingOf(args), dtype));
  return OkStatus();
}

Handle Number(LoopBuilder& b, Handle like, double value) { return b.Constant(value, b.dtype(like)); }
Handle Add(LoopBuilder& b, Handle x, Handle y) { return b.Binary(LoopOp::kAdd, x, y); }
Handle Sub(LoopBuilder& b, Handle x, Handle y) { return b.Binary(LoopOp::kSub, x, y); }
Handle Mul(LoopBuilder& b, Handle x, Handle y) { return b.Binary(LoopOp::kMul, x, y); }
Handle Div(LoopBuilder& b, Handle x, Handle y) { return b.Binary(LoopOp::kDiv, x, y); }
Handle Neg(LoopBuilder& b, Handle x) { return b.Unary(LoopOp::kNeg, x); }
Handle Distance(LoopBuilder& b, Handles x) { return b.Unary(LoopOp::kAbs, Sub(b, x[0], x[1])); }
// max(x, 0).
Handle Positive(LoopBuilder& b, Handle x) { return b.Unary(LoopOp::kRelu, x); }
// x log(y), 0 where x is 0.
Handle XLogY(LoopBuilder& b, Handle x, Handle y) {
  const Handle zero = Number(b, x, 0);
  const Handle product = b.Select(b.Binary(LoopOp::kEq, x, zero), zero, Mul(b, x, b.Unary(LoopOp::kLog, y)));
  return b.Select(b.Unary(LoopOp::kIsNan, y), y, product);
}

Handle SquaredError(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle difference = Sub(b, x[0], x[1]);
  return Mul(b, difference, difference);
}
Handle AbsoluteError(LoopBuilder& b, Handles x, const Arguments&) { return Distance(b, x); }
Handle SmoothError(LoopBuilder& b, Handles x, const Arguments& args) {
  const Handle distance = Distance(b, x), beta = Number(b, distance, args.Number("beta"));
  if (args.Number("beta") == 0) return distance;
  const Handle half = Number(b, distance, 0.5);
  const Handle square = Div(b, Mul(b, Mul(b, half, distance), distance), beta);
  return b.Select(b.Binary(LoopOp::kLt, distance, beta), square, Sub(b, distance, Mul(b, half, beta)));
}
Handle HuberError(LoopBuilder& b, Handles x, const Arguments& args) {
  const Handle distance = Distance(b, x), delta = Number(b, distance, args.Number("delta")), half = Number(b, distance, 0.5);
  const Handle line = Mul(b, delta, Sub(b, distance, Mul(b, half, delta)));
  return b.Select(b.Binary(LoopOp::kLe, distance, delta), Mul(b, Mul(b, half, distance), distance), line);
}
Handle Weighted(LoopBuilder& b, Handle loss, Handle weight) { return weight == kAbsent ? loss : Mul(b, loss, weight); }
// Logarithms stop at -100, as PyTorch has it.
Handle CrossEntropyOfProbability(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle lowest = Number(b, x[0], -100), one = Number(b, x[0], 1);
  const Handle log = b.Binary(LoopOp::kMax, b.Unary(LoopOp::kLog, x[0]), lowest);
  const Handle log_other = b.Binary(LoopOp::kMax, b.Unary(LoopOp::kLog1p, Neg(b, x[0])), lowest);
  return Weighted(b, Sub(b, Mul(b, Sub(b, x[1], one), log_other), Mul(b, x[1], log)), x[2]);
}
// (1 - t) x + w (log(1 + exp(-|x|)) + max(-x, 0)), w = 1 + (pos_weight - 1) t.
Handle CrossEntropyOfLogit(LoopBuilder& b, Handles x, const Arguments&) {
  const Handle one = Number(b, x[0], 1);
  const Handle small = b.Unary(LoopOp::kLog1p, b.Unary(LoopOp::kExp, Neg(b, b.Unary(LoopOp::kAbs, x[0]))));
  Handle log_part = Add(b, small, Positive(b, Neg(b, x[0])));
  if (x[3] != kAbsent) log_part = Mul(b, log_part, Add(b, one, Mul(b, Sub(b, x[3], one), x[1])));
  return Weighted(b, Add(b, Mul(b, Sub(b, one, x[1]), x[0]), log_part), x[2]);
}
Handle Divergence(LoopBuilder& b, Handles x, const Arguments& args) {
  if (args.Bool("log_target")) return Mul(b, b.Unary(LoopOp::kExp, x[1]), Sub(b, x[1], x[0]));
  return Sub(b, XLogY(b, x[1], x[1]), Mul(b, x[1], x[0]));
}
Handle SoftMarginError(LoopBuilder& b, Handles x, const Arguments&) {
  return b.Unary(LoopOp::kLog1p, b.Unary(LoopOp::kExp, Neg(b, Mul(b, x[1], x[0]))));
}
Handle HingeError(LoopBuilder& b, Handles x, const Arguments& args) {
  const Handle one = Number(b, x[0], 1), zero = Number(b, x[0], 0);
  const Handle hinge = Positive(b, Sub(b, Number(b, x[0], args.Number("margin")), x[0]));
  const Handle far = b.Select(b.Binary(LoopOp::kNe, x[1], one), hinge, zero);
  return Add(b, far, b.Select(b.Binary(LoopOp::kNe, x[1], Number(b, x[0], -1)), x[0], zero));
}
Handle RankingError(LoopBuilder& b, Handles x, const Arguments& args) {
  return Positive(b, Add(b, Neg(b, Mul(b, x[2], Sub(b, x[0], x[1]))), Number(b, x[0], args.Number("margin"))));
}
Handle PoissonError(LoopBuilder& b, Handles x, const Arguments& args) {
  const Handle eps = Number(b, x[0], args.Number("eps"));
  Handle loss = args.Bool("log_input") ? Sub(b, b.Unary(LoopOp::kExp, x[0]), Mul(b, x[1], x[0]))
                                       : Sub(b, x[0], Mul(b, x[1], b.Unary(LoopOp::kLog, Add(b, x[0], eps))));
  if (!args.Bool("full")) return loss;
  const Handle turn = b.Unary(LoopOp::kLog, Mul(b, Number(b, x[0], 2 * M_PI), x[1]));
  const Handle stirling = Add(b, Sub(b, Mul(b, x[1], b.Unary(LoopOp::kLog, x[1])), x[1]), Mul(b, Number(b, x[0], 0.5), turn));
  return Add(b, loss, b.Select(b.Binary(LoopOp::kLe, x[1], Number(b, x[0], 1)), Number(b, x[0], 0), stirling));
}

// --- Distances ------------------------------------------------------------------------------------------------------

// ||x - y + eps||_p over `dims` of their broadcast shape.
Value* NormOfDifference(LoweringBuilder& builder, Value* x, Value* y, double eps, const PowerNorm& norm,
                        const std::vector<size_t>& dims, bool keepdim, DType dtype) {
  const DType compute = ComputeDType(dtype);
  Reduction plan{.op = norm.op(), .dims = dims, .keepdim = keepdim, .accumulator = compute, .dtype = dtype, .body = nullptr, .finish = nullptr};
  plan.body = [&, compute](LoopBuilder& b, Handles loads) {
    Handle difference = Sub(b, b.Cast(loads[0], compute), b.Cast(loads[1], compute));
    if (eps != 0) difference = Add(b, difference, Number(b, difference, eps));
    return norm.Term(b, difference);
  };
  plan.finish = [&](LoopBuilder& b, Handle total) { return norm.Root(b, total); };
  return EmitReduction(builder, {x, y}, plan);
}

// Both with the broadcast shape.
std::pair<Value*, Value*> Broadcast(LoweringBuilder& builder, Value* x, Value* y) {
  const Shape shape = *BroadcastShapes(x->shape, y->shape);
  return {builder.Expand(x, shape), builder.Expand(y, shape)};
}

Status CheckFloats(const Node& node, DType dtype) {
  if (IsFloat(dtype)) return OkStatus();
  return InvalidArgument("{} of {}", node.op, Name(dtype));
}

DType PairDType(const Node& node) { return ResultType({{node.inputs[0], nullptr}, {node.inputs[1], nullptr}}); }

Status InferDist(Node& node) {
  TONDAR_RETURN_IF_ERROR(BroadcastAll(node, {node.inputs[0]->shape, node.inputs[1]->shape}).status());
  TONDAR_RETURN_IF_ERROR(CheckFloats(node, PairDType(node)));
  SetOutput(node, 0, PairDType(node), {});
  return OkStatus();
}

Status LowerDist(const Node& node, LoweringBuilder& builder) {
  const auto [x, y] = Broadcast(builder, node.inputs[0], node.inputs[1]);
  std::vector<size_t> dims;
  for (size_t d = 0; d < x->shape.size(); ++d) dims.push_back(d);
  const PowerNorm norm(Arguments(node).Number("p"));
  builder.Replace(0, NormOfDifference(builder, x, y, 0, norm, dims, false, node.outputs[0]->dtype));
  return OkStatus();
}

Status InferPairwiseDistance(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const Shape shape, BroadcastAll(node, {node.inputs[0]->shape, node.inputs[1]->shape}));
  if (shape.empty()) return InvalidArgument("0-d tensors");
  TONDAR_RETURN_IF_ERROR(CheckFloats(node, PairDType(node)));
  SetOutput(node, 0, PairDType(node), ReducedShape(shape, {shape.size() - 1}, Arguments(node).Bool("keepdim")));
  return OkStatus();
}

Status LowerPairwiseDistance(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const auto [x, y] = Broadcast(builder, args.Tensor("x1"), args.Tensor("x2"));
  const PowerNorm norm(args.Number("p"));
  builder.Replace(0, NormOfDifference(builder, x, y, args.Number("eps"), norm, {x->shape.size() - 1}, args.Bool("keepdim"),
                                      node.outputs[0]->dtype));
  return OkStatus();
}

// cdist: every row of x1 against every row of x2.
Status InferCdist(Node& node) {
  const Shape &a = node.inputs[0]->shape, &b = node.inputs[1]->shape;
  if (a.size() < 2 || b.size() < 2) return InvalidArgument("ranks {} and {}, expected at least 2", a.size(), b.size());
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, a.back(), b.back(), "the columns of x1 and x2"));
  TONDAR_RETURN_IF_ERROR(CheckFloats(node, PairDType(node)));
  TONDAR_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(node, {{a.begin(), a.end() - 2}, {b.begin(), b.end() - 2}}));
  shape.insert(shape.end(), {a[a.size() - 2], b[b.size() - 2]});
  SetOutput(node, 0, PairDType(node), std::move(shape));
  return OkStatus();
}

Status LowerCdist(const Node& node, LoweringBuilder& builder) {
  Value *a = node.inputs[0], *b = node.inputs[1];
  if (node.outputs[0]->shape.size() + 1 > static_cast<size_t>(kMaxRank)) return Unimplemented("cdist of rank {}", node.outputs[0]->shape.size());
  const auto [x, y] = Broadcast(builder, builder.Unsqueeze(a, -2), builder.Unsqueeze(b, -3));
  const PowerNorm norm(Arguments(node).Number("p"));
  builder.Replace(0, NormOfDifference(builder, x, y, 0, norm, {x->shape.size() - 1}, false, node.outputs[0]->dtype));
  return OkStatus();
}

// pdist: the rows above the diagonal of cdist(x, x), one after the other.
Status InferPdist(Node& node) {
  const Shape& x = node.inputs[0]->shape;
  if (x.size() != 2) return InvalidArgument("rank {}, expected 2", x.size());
  TONDAR_RETURN_IF_ERROR(CheckFloats(node, node.inputs[0]->dtype));
  if (!x[0].IsConstant()) return Unimplemented("pdist of a dynamic number of rows");
  SetOutput(node, 0, node.inputs[0]->dtype, {x[0].constant() * (x[0].constant() - 1) / 2});
  return OkStatus();
}

Status LowerPdist(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  const int64_t rows = x->shape[0].constant();
  const PowerNorm norm(Arguments(node).Number("p"));
  std::vector<Value*> parts;
  for (int64_t i = 0; i + 1 < rows; ++i) {
    Value* rest = builder.Slice(x, 0, Dim(i + 1), Dim(rows - i - 1));
    Value* row = builder.Expand(builder.Slice(x, 0, Dim(i), Dim(1)), rest->shape);
    parts.push_back(NormOfDifference(builder, row, rest, 0, norm, {1}, false, x->dtype));
  }
  builder.Replace(0, parts.empty() ? builder.Full(0, x->dtype, node.outputs[0]->shape) : builder.Concat(parts, 0));
  return OkStatus();
}

Status InferCosineSimilarity(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const Shape shape, BroadcastAll(node, {node.inputs[0]->shape, node.inputs[1]->shape}));
  TONDAR_RETURN_IF_ERROR(CheckFloats(node, PairDType(node)));
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(Arguments(node).Int("dim"), shape.size()));
  SetOutput(node, 0, PairDType(node), shape.empty() ? shape : ReducedShape(shape, {d}, false));
  return OkStatus();
}

// x1 . x2 / (max(|x1|, eps) max(|x2|, eps)).
Value* CosineSimilarity(LoweringBuilder& builder, Value* x1, Value* x2, size_t d, double eps, DType dtype) {
  const auto [x, y] = Broadcast(builder, x1, x2);
  const DType compute = ComputeDType(dtype);
  const auto dot = [&](Value* p, Value* q) {
    Reduction sum{.op = ReduceOp::kSum, .dims = {d}, .keepdim = false, .accumulator = compute, .dtype = compute, .body = nullptr, .finish = nullptr};
    sum.body = [compute](LoopBuilder& b, Handles l) { return Mul(b, b.Cast(l[0], compute), b.Cast(l[1], compute)); };
    return EmitReduction(builder, {p, q}, sum);
  };
  return builder.Map({dot(x, y), dot(x, x), dot(y, y)}, [&](LoopBuilder& b, Handles l) {
    const auto length = [&](Handle square) { return b.Binary(LoopOp::kMax, b.Unary(LoopOp::kSqrt, square), Number(b, square, eps)); };
    return b.Cast(Div(b, l[0], Mul(b, length(l[1]), length(l[2]))), dtype);
  });
}

Status LowerCosineSimilarity(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const size_t rank = std::max(node.inputs[0]->shape.size(), node.inputs[1]->shape.size());
  const size_t d = *NormaliseDim(args.Int("dim"), rank);
  Value *x = node.inputs[0], *y = node.inputs[1];
  if (rank == 0) {
    x = builder.Reshape(x, {Dim(1)});
    y = builder.Reshape(y, {Dim(1)});
  }
  builder.Replace(0, CosineSimilarity(builder, x, y, d, args.Number("eps"), node.outputs[0]->dtype));
  return OkStatus();
}

// max(d(anchor, positive) - d(anchor, negative) + margin, 0); with `swap` the nearer of anchor and positive counts.
Status InferTriplet(Node& node) {
  TONDAR_RETURN_IF_ERROR(InferLoss(node));
  if (AveragingOf(Arguments(node)) != Averaging::kNone) return OkStatus();
  Shape shape = node.outputs[0]->shape;
  if (shape.empty()) return InvalidArgument("0-d tensors");
  shape.pop_back();
  SetOutput(node, 0, node.outputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerTriplet(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const DType dtype = node.outputs[0]->dtype;
  const PowerNorm norm(args.Number("p"));
  const auto distance = [&](const char* one, const char* other) {
    const auto [x, y] = Broadcast(builder, args.Tensor(one), args.Tensor(other));
    return NormOfDifference(builder, x, y, args.Number("eps"), norm, {x->shape.size() - 1}, false, ComputeDType(dtype));
  };
  Value *near = distance("anchor", "positive"), *far = distance("anchor", "negative");
  if (args.Bool("swap")) {
    far = builder.Map({far, distance("positive", "negative")}, [](LoopBuilder& b, Handles x) { return b.Binary(LoopOp::kMin, x[0], x[1]); });
  }
  Value* each = builder.Map({near, far}, [&](LoopBuilder& b, Handles x) {
    return Positive(b, Add(b, Sub(b, x[0], x[1]), Number(b, x[0], args.Number("margin"))));
  });
  builder.Replace(0, Average(builder, each, AveragingOf(args), dtype));
  return OkStatus();
}

// --- Negative log likelihood ----------------------------------------------------------------------------------------

// x [classes] with a 0-d target, or [batch, classes, rest...] with target [batch, rest...].
struct Classes {
  size_t dim;     // of the classes
  Shape targets;  // x's shape without it
};

Classes ClassesOf(const Value* x) {
  const size_t dim = x->shape.size() < 2 ? 0 : 1;
  return {dim, ReducedShape(x->shape, {dim}, false)};
}

Status InferClassLoss(Node& node) {
  const Arguments args(node);
  const Value *x = args.Tensor("self"), *target = args.Tensor("target");
  TONDAR_RETURN_IF_ERROR(CheckAveraging(args));
  if (x->shape.empty()) return InvalidArgument("a 0-d tensor has no classes");
  TONDAR_RETURN_IF_ERROR(CheckFloats(node, x->dtype));
  const Classes classes = ClassesOf(x);
  const Shape& expected = IsFloat(target->dtype) ? x->shape : classes.targets;
  if (target->shape.size() != expected.size()) return InvalidArgument("a target of rank {}, expected {}", target->shape.size(), expected.size());
  for (size_t d = 0; d < expected.size(); ++d) TONDAR_RETURN_IF_ERROR(AssumeEqual(node, target->shape[d], expected[d], "a target"));
  SetOutput(node, 0, x->dtype, AveragingOf(args) == Averaging::kNone ? classes.targets : Shape{});
  return OkStatus();
}

Status InferNll(Node& node) {
  const DType target = Arguments(node).Tensor("target")->dtype;
  if (target != DType::kInt64 && target != DType::kInt32) return InvalidArgument("a target of {}, expected int64", Name(target));
  return InferClassLoss(node);
}

// aten.nll_loss_forward gives the sum of the weights as well.
Status InferNllForward(Node& node) {
  TONDAR_RETURN_IF_ERROR(InferNll(node));
  SetOutput(node, 1, node.inputs[0]->dtype, {});
  return OkStatus();
}

// The weight of each target's class, 0 where it is ignored; and minus that times x at the class.
struct Likelihood {
  Value *weights, *losses;
};

Likelihood EmitLikelihood(const Arguments& args, LoweringBuilder& builder, Value* x) {
  Value *target = args.Tensor("target"), *weight = args.Tensor("weight");
  const Classes classes = ClassesOf(x);
  const DType compute = ComputeDType(x->dtype);
  const int rank = static_cast<int>(classes.targets.size());
  const auto emit = [&](bool loss) {
    std::vector<Value*> inputs = {target};
    LoopBuilder b;
    Access at_target{0, {}, 0};
    for (int d = 0; d < rank; ++d) at_target.index.push_back(IndexExpression::LoopDim(d));
    const Handle label = b.Cast(b.Load(at_target, target->dtype), DType::kInt64);
    const Handle ignored = b.Binary(LoopOp::kEq, label, b.ConstantInteger(args.Int("ignore_index"), DType::kInt64));
    const Handle at = b.NotFromEnd(b.Select(ignored, b.ConstantInteger(0, DType::kInt64), label));
    Handle value = b.Constant(1, compute);
    const auto load = [&](Value* from, std::vector<IndexExpression> index) {
      inputs.push_back(from);
      return b.Cast(b.Load({static_cast<int16_t>(inputs.size() - 1), std::move(index), 0}, from->dtype), compute);
    };
    if (weight != nullptr) value = load(weight, {IndexExpression::Dynamic(at)});
    if (loss) {
      std::vector<IndexExpression> index = at_target.index;
      index.insert(index.begin() + static_cast<ptrdiff_t>(classes.dim), IndexExpression::Dynamic(at));
      value = Neg(b, Mul(b, value, load(x, std::move(index))));
    }
    b.Result(b.Select(ignored, b.Constant(0, compute), value));
    return builder.Map(classes.targets, inputs, std::move(b).Build());
  };
  return {emit(false), emit(true)};
}

Value* SumOfAll(LoweringBuilder& builder, Value* x) { return Average(builder, x, Averaging::kSum, x->dtype); }

Value* WeightedMean(LoweringBuilder& builder, Value* losses, Value* weights) {
  return builder.Map({SumOfAll(builder, losses), SumOfAll(builder, weights)},
                     [](LoopBuilder& b, Handles x) { return Div(b, x[0], x[1]); });
}

Value* AverageLikelihood(LoweringBuilder& builder, const Likelihood& likelihood, Averaging averaging) {
  if (averaging == Averaging::kMean) return WeightedMean(builder, likelihood.losses, likelihood.weights);
  return Average(builder, likelihood.losses, averaging, likelihood.losses->dtype);
}

Status LowerNll(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const Likelihood likelihood = EmitLikelihood(args, builder, args.Tensor("self"));
  const DType dtype = node.outputs[0]->dtype;
  builder.Replace(0, builder.Cast(AverageLikelihood(builder, likelihood, AveragingOf(args)), dtype));
  if (node.outputs.size() < 2) return OkStatus();
  const bool weighted = AveragingOf(args) != Averaging::kNone;
  builder.Replace(1, weighted ? builder.Cast(SumOfAll(builder, likelihood.weights), dtype) : builder.Scalar(0, dtype));
  return OkStatus();
}

// --- Cross entropy of logits ----------------------------------------------------------------------------------------

// -sum over classes of t w log p, at the targets' shape, t being the target's probabilities or 1 for smoothing.
Value* SumOverClasses(LoweringBuilder& builder, Value* log_p, Value* weight, Value* target, double smoothing) {
  const Classes classes = ClassesOf(log_p);
  const DType compute = log_p->dtype;
  std::vector<Value*> inputs = {log_p};
  if (weight != nullptr) {
    Shape along(log_p->shape.size(), Dim(1));
    along[classes.dim] = weight->shape[0];
    inputs.push_back(builder.Reshape(weight, along));
  }
  if (target != nullptr) inputs.push_back(target);
  const Dim count = log_p->shape[classes.dim];
  Reduction sum{.op = ReduceOp::kSum, .dims = {classes.dim}, .keepdim = false, .accumulator = compute, .dtype = compute, .body = nullptr, .finish = nullptr};
  sum.body = [&](LoopBuilder& b, Handles x) {
    Handle term = weight == nullptr ? x[0] : Mul(b, x[0], b.Cast(x[1], compute));
    if (target == nullptr) return term;
    const Handle probability = b.Cast(x.back(), compute), n = b.Cast(b.Size(count), compute);
    const Handle smooth = Add(b, Mul(b, probability, b.Constant(1 - smoothing, compute)), Div(b, b.Constant(smoothing, compute), n));
    return Mul(b, term, smoothing == 0 ? probability : smooth);
  };
  sum.finish = [](LoopBuilder& b, Handle total) { return Neg(b, total); };
  return EmitReduction(builder, inputs, sum);
}

Value* AverageProbabilities(LoweringBuilder& builder, Value* losses, Averaging averaging) {
  return Average(builder, losses, averaging, losses->dtype);
}

// (1 - e) of the likelihood's loss and e / C of that of all classes.
Value* AverageSmoothed(const Arguments& args, LoweringBuilder& builder, Value* log_p, const Likelihood& likelihood) {
  const double e = args.Number("label_smoothing");
  const Dim count = log_p->shape[ClassesOf(log_p).dim];
  Value* target = args.Tensor("target");
  Value* all = builder.Map({SumOverClasses(builder, log_p, args.Tensor("weight"), nullptr, 0), target}, [&](LoopBuilder& b, Handles x) {
    const Handle ignored = b.Binary(LoopOp::kEq, x[1], b.ConstantInteger(args.Int("ignore_index"), target->dtype));
    return b.Select(ignored, Number(b, x[0], 0), x[0]);
  });
  Value* each = builder.Map({likelihood.losses, all}, [&](LoopBuilder& b, Handles x) {
    const Handle share = Div(b, Number(b, x[0], e), b.Cast(b.Size(count), b.dtype(x[0])));
    return Add(b, Mul(b, x[0], Number(b, x[0], 1 - e)), Mul(b, x[1], share));
  });
  return AverageLikelihood(builder, {likelihood.weights, each}, AveragingOf(args));
}

Status LowerCrossEntropy(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *x = args.Tensor("self"), *target = args.Tensor("target");
  const DType dtype = node.outputs[0]->dtype;
  const Classes classes = ClassesOf(x);
  TONDAR_ASSIGN_OR_RETURN(Value * log_p, builder.Op("log_softmax", {builder.Cast(x, ComputeDType(dtype))},
                                                     {{"dim", Dim(static_cast<int64_t>(classes.dim))}}));
  const Averaging averaging = AveragingOf(args);
  Value* loss = nullptr;
  if (IsFloat(target->dtype)) {
    Value* each = SumOverClasses(builder, log_p, args.Tensor("weight"), target, args.Number("label_smoothing"));
    loss = AverageProbabilities(builder, each, averaging);
  } else {
    const Likelihood likelihood = EmitLikelihood(args, builder, log_p);
    loss = args.Number("label_smoothing") == 0 ? AverageLikelihood(builder, likelihood, averaging)
                                               : AverageSmoothed(args, builder, log_p, likelihood);
  }
  builder.Replace(0, builder.Cast(loss, dtype));
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), std::string signature, int results = 1) {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.infer = infer;
  schema.lower = lower;
  schema.results = results;
  return schema;
}

template <LossBody body>
OpSchema Loss(const std::string& name, const std::string& signature) {
  return Row(name, {{fmt::format("aten.{}.default", name), signature}}, InferLoss, LowerLoss<body>, signature);
}

constexpr char kNll[] = "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100)";
constexpr char kNllForward[] = "(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index)";
constexpr char kOwnNll[] = "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100)";

}  // namespace

std::vector<OpSchema> LossOps() {
  const std::string pair = "(Tensor self, Tensor target, int reduction=1";
  const std::string cosine = "(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)";
  const std::string triplet = "(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, "
                              "bool swap=False, int reduction=1)";
  return {
      Loss<SquaredError>("mse_loss", pair + ")"),
      Loss<AbsoluteError>("l1_loss", pair + ")"),
      Loss<SmoothError>("smooth_l1_loss", pair + ", float beta=1.0)"),
      Loss<HuberError>("huber_loss", pair + ", float delta=1.0)"),
      Loss<CrossEntropyOfProbability>("binary_cross_entropy", "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)"),
      Loss<CrossEntropyOfLogit>("binary_cross_entropy_with_logits",
                                "(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1)"),
      Loss<Divergence>("kl_div", pair + ", *, bool log_target=False)"),
      Loss<SoftMarginError>("soft_margin_loss", pair + ")"),
      Loss<HingeError>("hinge_embedding_loss", "(Tensor self, Tensor target, float margin=1.0, int reduction=1)"),
      Loss<RankingError>("margin_ranking_loss", "(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1)"),
      Loss<PoissonError>("poisson_nll_loss", "(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction)"),
      Row("dist", {{"aten.dist.default", "(Tensor self, Tensor other, Scalar p=2)"}}, InferDist, LowerDist,
          "(Tensor self, Tensor other, Scalar p=2)"),
      Row("pairwise_distance",
          {{"aten.pairwise_distance.default", "(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False)"}},
          InferPairwiseDistance, LowerPairwiseDistance, "(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False)"),
      Row("cdist",
          {{"aten.cdist.default", "(Tensor x1, Tensor x2, float p=2, int? compute_mode=None)"},
           {"aten._cdist_forward.default", "(Tensor x1, Tensor x2, float p, int? compute_mode)"},
           {"aten._euclidean_dist.default", "(Tensor x1, Tensor x2)"}},
          InferCdist, LowerCdist, "(Tensor x1, Tensor x2, float p=2)"),
      Row("pdist", {{"aten.pdist.default", "(Tensor self, float p=2)"}, {"aten._pdist_forward.default", "(Tensor self, float p=2)"}},
          InferPdist, LowerPdist, "(Tensor self, float p=2)"),
      Row("cosine_similarity", {{"aten.cosine_similarity.default", cosine}}, InferCosineSimilarity, LowerCosineSimilarity, cosine),
      Row("triplet_margin_loss", {{"aten.triplet_margin_loss.default", triplet}}, InferTriplet, LowerTriplet, triplet),
      Row("nll_loss",
          {{"aten.nll_loss.default", kNll}, {"aten.nll_loss_nd.default", kNll}, {"aten.nll_loss2d.default", kNll}},
          InferNll, LowerNll, kOwnNll),
      Row("nll_loss_forward", {{"aten.nll_loss_forward.default", kNllForward}, {"aten.nll_loss2d_forward.default", kNllForward}},
          InferNllForward, LowerNll, kOwnNll, 2),
      Row("cross_entropy_loss",
          {{"aten.cross_entropy_loss.default",
            "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.0)"}},
          InferClassLoss, LowerCrossEntropy,
          "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, float label_smoothing=0.0)"),
  };
}

}  // namespace tondar
