// Linear algebra: factorisations are linalg steps; solutions, inverses, determinants and norms are made from them.
#include <cmath>
#include <limits>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"
#include "engine/ops/ordering.h"
#include "engine/ops/reduction.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;
using Handles = LoweringBuilder::Handles;

// --- Shapes ---------------------------------------------------------------------------------------------------------

Shape BatchOf(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }
Dim RowsOf(const Value* a) { return *(a->shape.end() - 2); }
Dim ColumnsOf(const Value* a) { return a->shape.back(); }
Dim ShorterOf(const Value* a) { return BoundedMin(*a->graph, RowsOf(a), ColumnsOf(a)); }

Shape Join(Shape batch, std::initializer_list<Dim> rest) {
  batch.insert(batch.end(), rest.begin(), rest.end());
  return batch;
}

Status CheckMatrix(const Value* a) {
  if (a->shape.size() < 2) return InvalidArgument("a tensor of rank {}, expected matrices", a->shape.size());
  if (a->dtype == DType::kFloat32 || a->dtype == DType::kFloat64) return OkStatus();
  return Unimplemented("linear algebra of {}", Name(a->dtype));
}

Status CheckSquare(Node& node, const Value* a) {
  TONDAR_RETURN_IF_ERROR(CheckMatrix(a));
  return AssumeEqual(node, RowsOf(a), ColumnsOf(a), "sides of a square matrix");
}

// --- Steps ----------------------------------------------------------------------------------------------------------

// The parts of a step's result, in the order in which they lie.
class Parts {
 public:
  Parts(LoweringBuilder& builder, LinalgStep step, const std::vector<Value*>& inputs, const Dim& elements)
      : builder_(builder), batch_(BatchOf(inputs[0]->shape)) {
    flat_ = builder.Step(step, inputs, Join(batch_, {elements}), inputs[0]->dtype);
  }
  Value* Take(std::initializer_list<Dim> shape) {
    const Dim length = ElementCount(Shape(shape));
    Value* part = builder_.Reshape(builder_.Slice(flat_, -1, at_, length), Join(batch_, shape));
    at_ = at_ + length;
    return part;
  }

 private:
  LoweringBuilder& builder_;
  Shape batch_;
  Value* flat_;
  Dim at_ = Dim(0);
};

Value* Transposed(LoweringBuilder& builder, Value* a) { return builder.Transpose(a, -2, -1); }

Value* WithBatch(LoweringBuilder& builder, Value* a, const Shape& batch) {
  return builder.Expand(a, Join(batch, {RowsOf(a), ColumnsOf(a)}));
}

// Brings two batches of matrices to one batch.
void ShareBatch(LoweringBuilder& builder, Value*& a, Value*& b) {
  const Shape batch = *BroadcastShapes(BatchOf(a->shape), BatchOf(b->shape));
  a = WithBatch(builder, a, batch);
  b = WithBatch(builder, b, batch);
}

// x with t x = b.
Value* SolveTriangle(LoweringBuilder& builder, Value* t, Value* b, bool upper, bool unit = false) {
  ShareBatch(builder, t, b);
  Parts parts(builder, {.kind = LinalgKind::kTriangularSolve, .upper = upper, .unit = unit}, {t, b}, RowsOf(b) * ColumnsOf(b));
  return parts.Take({RowsOf(b), ColumnsOf(b)});
}

struct Lu {
  Value* factors;
  Value* pivots;  // of the matrix's dtype, from 0
  Value* code;
};

Lu FactorLu(LoweringBuilder& builder, Value* a, bool check) {
  const Dim shorter = ShorterOf(a);
  Parts parts(builder, {.kind = LinalgKind::kLu, .check = check}, {a}, RowsOf(a) * ColumnsOf(a) + shorter + 1);
  Lu lu;
  lu.factors = parts.Take({RowsOf(a), ColumnsOf(a)});
  lu.pivots = parts.Take({shorter});
  lu.code = parts.Take({});
  return lu;
}

// Where the rows come from after the exchanges: int64 [..., m]. A matrix with more rows than columns has fewer pivots.
Value* RowOrder(LoweringBuilder& builder, Value* pivots, const Dim& rows) {
  const Dim exchanged = pivots->shape.back();
  if (!(exchanged == rows)) {
    Shape rest = pivots->shape;
    rest.back() = rows - exchanged;
    Value* stay = builder.Map(rest, {}, [&](LoopBuilder& b, Handles) {
      const Handle place = b.Index(static_cast<int>(rest.size()) - 1);
      return b.Cast(b.Binary(LoopOp::kAdd, place, b.Size(exchanged)), pivots->dtype);
    });
    pivots = builder.Concat({pivots, stay}, -1);
  }
  Parts parts(builder, {.kind = LinalgKind::kRowOrder}, {builder.Unsqueeze(pivots, -1)}, rows);
  return builder.Cast(parts.Take({rows}), DType::kInt64);
}

// b's rows in the given order, [..., m].
Value* TakeRows(LoweringBuilder& builder, Value* b, Value* order) {
  const size_t rank = b->shape.size();
  LoopBuilder body;
  Access row{.operand = 1, .index = {}}, element{.operand = 0, .index = {}};
  for (size_t d = 0; d + 1 < rank; ++d) row.index.push_back(IndexExpression::LoopDim(static_cast<int>(d)));
  const Handle from = body.Load(std::move(row), DType::kInt64);
  for (size_t d = 0; d < rank; ++d) {
    element.index.push_back(d + 2 == rank ? IndexExpression::Dynamic(from) : IndexExpression::LoopDim(static_cast<int>(d)));
  }
  body.Result(body.Load(std::move(element), b->dtype));
  return builder.Map(b->shape, {b, order}, std::move(body).Build());
}

// x with a x = b, from a's factors.
Value* SolveWith(LoweringBuilder& builder, const Lu& lu, Value* b) {
  Value *factors = lu.factors, *order = RowOrder(builder, lu.pivots, RowsOf(factors));
  ShareBatch(builder, factors, b);
  order = builder.Expand(order, Join(BatchOf(b->shape), {RowsOf(b)}));
  Value* below = SolveTriangle(builder, factors, TakeRows(builder, b, order), false, true);
  return SolveTriangle(builder, factors, below, true);
}

// x with a^T x = b.
Value* SolveTransposedWith(LoweringBuilder& builder, const Lu& lu, Value* b) {
  Value *factors = Transposed(builder, lu.factors), *order = RowOrder(builder, lu.pivots, RowsOf(factors));
  ShareBatch(builder, factors, b);
  Value* inverse = EmitSort(builder, order, order->shape.size() - 1, false, RowsOf(b));
  inverse = builder.Expand(inverse, Join(BatchOf(b->shape), {RowsOf(b)}));
  Value* above = SolveTriangle(builder, factors, b, false);
  return TakeRows(builder, SolveTriangle(builder, factors, above, true, true), inverse);
}

Value* Identity(LoweringBuilder& builder, const Value* like) {
  const Shape shape = {RowsOf(like), RowsOf(like)};
  return builder.Map(shape, {}, [&](LoopBuilder& b, Handles) {
    return b.Cast(b.Binary(LoopOp::kEq, b.Index(0), b.Index(1)), like->dtype);
  });
}

Value* Inverse(LoweringBuilder& builder, Value* a, bool check) {
  return SolveWith(builder, FactorLu(builder, a, check), Identity(builder, a));
}

Value* PivotsFromOne(LoweringBuilder& builder, Value* pivots) {
  return builder.Map({pivots}, [](LoopBuilder& b, Handles x) {
    return b.Cast(b.Binary(LoopOp::kAdd, x[0], b.Constant(1, b.dtype(x[0]))), DType::kInt32);
  });
}

Value* PivotsFromZero(LoweringBuilder& builder, Value* pivots, DType dtype) {
  return builder.Map({pivots}, [&](LoopBuilder& b, Handles x) {
    const Handle place = b.Cast(x[0], dtype);
    return b.Binary(LoopOp::kSub, place, b.Constant(1, dtype));
  });
}

struct Svd {
  Value *u = nullptr, *values, *vh = nullptr;
};

Svd FactorSvd(LoweringBuilder& builder, Value* a, bool vectors, bool full = false) {
  const Dim m = RowsOf(a), n = ColumnsOf(a), k = ShorterOf(a), u = full ? m : k, v = full ? n : k;
  const Dim elements = vectors ? m * u + k + v * n : k;
  Parts parts(builder, {.kind = LinalgKind::kSvd, .full = full, .vectors = vectors, .check = true}, {a}, elements);
  Svd svd;
  if (vectors) svd.u = parts.Take({m, u});
  svd.values = parts.Take({k});
  if (vectors) svd.vh = parts.Take({v, n});
  return svd;
}

// --- Cholesky -------------------------------------------------------------------------------------------------------

Status InferCholesky(Node& node) {
  const Value* a = node.inputs[0];
  TONDAR_RETURN_IF_ERROR(CheckSquare(node, a));
  SetOutput(node, 0, a->dtype, a->shape);
  SetOutput(node, 1, DType::kInt32, BatchOf(a->shape));
  return OkStatus();
}

Status LowerCholesky(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const bool upper = args.Bool("upper");
  Value* a = upper ? Transposed(builder, node.inputs[0]) : node.inputs[0];
  const Dim n = RowsOf(a);
  Parts parts(builder, {.kind = LinalgKind::kCholesky, .check = args.Bool("check_errors")}, {a}, n * n + 1);
  Value* l = parts.Take({n, n});
  builder.Replace(0, upper ? Transposed(builder, l) : l);
  builder.Replace(1, builder.Cast(parts.Take({}), DType::kInt32));
  return OkStatus();
}

Status InferCholeskySolve(Node& node) {
  const Value *b = node.inputs[0], *l = node.inputs[1];
  TONDAR_RETURN_IF_ERROR(CheckMatrix(b));
  TONDAR_RETURN_IF_ERROR(CheckSquare(node, l));
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, RowsOf(b), RowsOf(l), "rows of the factor and the right-hand side"));
  TONDAR_ASSIGN_OR_RETURN(const Shape batch, BroadcastAll(node, {BatchOf(b->shape), BatchOf(l->shape)}));
  SetOutput(node, 0, b->dtype, Join(batch, {RowsOf(b), ColumnsOf(b)}));
  return OkStatus();
}

Value* SolveCholesky(LoweringBuilder& builder, Value* factor, Value* b, bool upper) {
  Value *l = upper ? Transposed(builder, factor) : factor, *u = upper ? factor : Transposed(builder, factor);
  return SolveTriangle(builder, u, SolveTriangle(builder, l, b, false), true);
}

Status LowerCholeskySolve(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, SolveCholesky(builder, node.inputs[1], node.inputs[0], Arguments(node).Bool("upper")));
  return OkStatus();
}

Status InferSameSquare(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckSquare(node, node.inputs[0]));
  SetOutput(node, 0, node.inputs[0]->dtype, node.inputs[0]->shape);
  return OkStatus();
}

Status LowerCholeskyInverse(const Node& node, LoweringBuilder& builder) {
  Value* factor = node.inputs[0];
  builder.Replace(0, SolveCholesky(builder, factor, Identity(builder, factor), Arguments(node).Bool("upper")));
  return OkStatus();
}

// --- LU -------------------------------------------------------------------------------------------------------------

Status CheckPivots(const Node& node) {
  return Arguments(node).Bool("pivot") ? OkStatus() : Unimplemented("a factorisation without pivoting");
}

Status InferLuFactor(Node& node) {
  const Value* a = node.inputs[0];
  TONDAR_RETURN_IF_ERROR(CheckMatrix(a));
  TONDAR_RETURN_IF_ERROR(CheckPivots(node));
  SetOutput(node, 0, a->dtype, a->shape);
  SetOutput(node, 1, DType::kInt32, Join(BatchOf(a->shape), {ShorterOf(a)}));
  SetOutput(node, 2, DType::kInt32, BatchOf(a->shape));
  return OkStatus();
}

Status LowerLuFactor(const Node& node, LoweringBuilder& builder) {
  const Lu lu = FactorLu(builder, node.inputs[0], Arguments(node).Bool("check_errors"));
  builder.Replace(0, lu.factors);
  builder.Replace(1, PivotsFromOne(builder, lu.pivots));
  builder.Replace(2, builder.Cast(lu.code, DType::kInt32));
  return OkStatus();
}

// P, L and U of an [m, n] matrix.
void SetPlu(Node& node, const Value* a) {
  const Shape batch = BatchOf(a->shape);
  const Dim shorter = ShorterOf(a);
  SetOutput(node, 0, a->dtype, Join(batch, {RowsOf(a), RowsOf(a)}));
  SetOutput(node, 1, a->dtype, Join(batch, {RowsOf(a), shorter}));
  SetOutput(node, 2, a->dtype, Join(batch, {shorter, ColumnsOf(a)}));
}

Status ReplacePlu(const Node& node, LoweringBuilder& builder, Value* factors, Value* order) {
  const Dim shorter = ShorterOf(factors);
  const int rank = static_cast<int>(factors->shape.size());
  const auto triangle = [&](bool upper) {
    Value* part = builder.Slice(factors, upper ? -2 : -1, Dim(0), shorter);
    return builder.Map(part->shape, {part}, [&](LoopBuilder& b, Handles x) {
      const Handle row = b.Index(rank - 2), column = b.Index(rank - 1), zero = b.Constant(0, b.dtype(x[0]));
      if (upper) return b.Select(b.Binary(LoopOp::kLe, row, column), x[0], zero);
      const Handle diagonal = b.Select(b.Binary(LoopOp::kEq, row, column), b.Constant(1, b.dtype(x[0])), zero);
      return b.Select(b.Binary(LoopOp::kGt, row, column), x[0], diagonal);
    });
  };
  // A = P L U: row order[i] of A is row i of L U.
  Value* columns = builder.Unsqueeze(order, -2);
  builder.Replace(0, builder.Map(node.outputs[0]->shape, {columns}, [&](LoopBuilder& b, Handles x) {
    return b.Cast(b.Binary(LoopOp::kEq, b.Index(rank - 2), x[0]), factors->dtype);
  }));
  builder.Replace(1, triangle(false));
  builder.Replace(2, triangle(true));
  return OkStatus();
}

Status InferLu(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckMatrix(node.inputs[0]));
  TONDAR_RETURN_IF_ERROR(CheckPivots(node));
  SetPlu(node, node.inputs[0]);
  return OkStatus();
}

Status LowerLu(const Node& node, LoweringBuilder& builder) {
  const Lu lu = FactorLu(builder, node.inputs[0], false);
  return ReplacePlu(node, builder, lu.factors, RowOrder(builder, lu.pivots, RowsOf(lu.factors)));
}

Status InferLuUnpack(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckMatrix(node.inputs[0]));
  const Arguments args(node);
  if (!args.Bool("unpack_data") || !args.Bool("unpack_pivots")) return Unimplemented("unpacking a part");
  SetPlu(node, node.inputs[0]);
  return OkStatus();
}

Status LowerLuUnpack(const Node& node, LoweringBuilder& builder) {
  Value* factors = node.inputs[0];
  Value* pivots = PivotsFromZero(builder, node.inputs[1], factors->dtype);
  return ReplacePlu(node, builder, factors, RowOrder(builder, pivots, RowsOf(factors)));
}

// --- Solutions ------------------------------------------------------------------------------------------------------

// The right-hand side of a solve is a batch of vectors if it is 1-d or has the matrices' shape without the last dim.
bool IsVector(const Value* a, const Value* b) {
  return b->shape.size() == 1 || (b->shape.size() + 1 == a->shape.size() && b->shape == Shape(a->shape.begin(), a->shape.end() - 1));
}

// `b`'s extent that the matrices' side must have; the result's shape.
Result<Shape> SolutionShape(Node& node, const Value* a, const Value* b, bool left) {
  TONDAR_RETURN_IF_ERROR(CheckSquare(node, a));
  if (a->dtype != b->dtype) return InvalidArgument("dtypes {} and {} differ", Name(a->dtype), Name(b->dtype));
  if (IsVector(a, b)) {
    if (!left) return InvalidArgument("a vector on the left");
    TONDAR_RETURN_IF_ERROR(AssumeEqual(node, RowsOf(a), b->shape.back(), "rows of the matrix and the right-hand side"));
    TONDAR_ASSIGN_OR_RETURN(Shape batch, BroadcastAll(node, {BatchOf(a->shape), Shape(b->shape.begin(), b->shape.end() - 1)}));
    return Join(batch, {b->shape.back()});
  }
  TONDAR_RETURN_IF_ERROR(CheckMatrix(b));
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, RowsOf(a), left ? RowsOf(b) : ColumnsOf(b), "sides of the matrix and the right-hand side"));
  TONDAR_ASSIGN_OR_RETURN(Shape batch, BroadcastAll(node, {BatchOf(a->shape), BatchOf(b->shape)}));
  return Join(batch, {RowsOf(b), ColumnsOf(b)});
}

Status InferSolve(Node& node) {
  const Value *a = node.inputs[0], *b = node.inputs[1];
  TONDAR_ASSIGN_OR_RETURN(Shape shape, SolutionShape(node, a, b, Arguments(node).Bool("left")));
  SetOutput(node, 0, a->dtype, std::move(shape));
  SetOutput(node, 1, a->dtype, a->shape);
  SetOutput(node, 2, DType::kInt32, Join(BatchOf(a->shape), {RowsOf(a)}));
  SetOutput(node, 3, DType::kInt32, BatchOf(a->shape));
  return OkStatus();
}

Status LowerSolve(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const bool left = args.Bool("left"), vector = IsVector(node.inputs[0], node.inputs[1]);
  Value* b = vector ? builder.Unsqueeze(node.inputs[1], -1) : node.inputs[1];
  const Lu lu = FactorLu(builder, node.inputs[0], args.Bool("check_errors"));
  // x a = b is a^T x^T = b^T.
  Value* x = left ? SolveWith(builder, lu, b) : Transposed(builder, SolveTransposedWith(builder, lu, Transposed(builder, b)));
  builder.Replace(0, builder.Reshape(x, node.outputs[0]->shape));
  builder.Replace(1, lu.factors);
  builder.Replace(2, PivotsFromOne(builder, lu.pivots));
  builder.Replace(3, builder.Cast(lu.code, DType::kInt32));
  return OkStatus();
}

// linalg_solve_ex gives the code second.
Status InferSolveEx(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(Shape shape, SolutionShape(node, node.inputs[0], node.inputs[1], Arguments(node).Bool("left")));
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  SetOutput(node, 1, DType::kInt32, BatchOf(node.inputs[0]->shape));
  return OkStatus();
}

Status LowerSolveEx(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  TONDAR_ASSIGN_OR_RETURN(Value * x, builder.Op("linalg_solve", {node.inputs[0], node.inputs[1]},
                                                {{"left", args.Bool("left")}, {"check_errors", args.Bool("check_errors")}}));
  builder.Replace(0, x);
  builder.Replace(1, x->producer->outputs[3]);
  return OkStatus();
}

Status InferLuSolve(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(Shape shape, SolutionShape(node, node.inputs[0], node.inputs[2], Arguments(node).Bool("left")));
  if (shape.size() < 2) return InvalidArgument("a right-hand side of rank {}, expected a matrix", shape.size());
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerLuSolve(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const bool left = args.Bool("left");
  Value *factors = node.inputs[0], *b = left ? node.inputs[2] : Transposed(builder, node.inputs[2]);
  const Lu lu{factors, PivotsFromZero(builder, node.inputs[1], factors->dtype), nullptr};
  const bool transposed = args.Bool("adjoint") == left;
  Value* x = transposed ? SolveTransposedWith(builder, lu, b) : SolveWith(builder, lu, b);
  builder.Replace(0, builder.Reshape(left ? x : Transposed(builder, x), node.outputs[0]->shape));
  return OkStatus();
}

Status InferTriangularSolve(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(Shape shape, SolutionShape(node, node.inputs[0], node.inputs[1], Arguments(node).Bool("left")));
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerTriangularSolve(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const bool upper = args.Bool("upper"), unit = args.Bool("unitriangular");
  Value *t = node.inputs[0], *b = node.inputs[1];
  Value* x = args.Bool("left") ? SolveTriangle(builder, t, b, upper, unit)
                               : Transposed(builder, SolveTriangle(builder, Transposed(builder, t), Transposed(builder, b), !upper, unit));
  builder.Replace(0, builder.Reshape(x, node.outputs[0]->shape));
  return OkStatus();
}

// The older spelling: the right-hand side first, and the matrix given back.
Status InferOldTriangularSolve(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(Shape shape, SolutionShape(node, node.inputs[1], node.inputs[0], true));
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  SetOutput(node, 1, node.inputs[1]->dtype, node.inputs[1]->shape);
  return OkStatus();
}

Status LowerOldTriangularSolve(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const bool transpose = args.Bool("transpose"), upper = args.Bool("upper") != transpose;
  Value* t = transpose ? Transposed(builder, node.inputs[1]) : node.inputs[1];
  builder.Replace(0, builder.Reshape(SolveTriangle(builder, t, node.inputs[0], upper, args.Bool("unitriangular")), node.outputs[0]->shape));
  builder.Replace(1, node.inputs[1]);
  return OkStatus();
}

Status InferInverse(Node& node) {
  TONDAR_RETURN_IF_ERROR(InferSameSquare(node));
  SetOutput(node, 1, DType::kInt32, BatchOf(node.inputs[0]->shape));
  return OkStatus();
}

Status LowerInverse(const Node& node, LoweringBuilder& builder) {
  Value* a = node.inputs[0];
  const Lu lu = FactorLu(builder, a, Arguments(node).Bool("check_errors"));
  builder.Replace(0, builder.Reshape(SolveWith(builder, lu, Identity(builder, a)), node.outputs[0]->shape));
  builder.Replace(1, builder.Cast(lu.code, DType::kInt32));
  return OkStatus();
}

// --- Determinants ---------------------------------------------------------------------------------------------------

enum class Determinant : uint8_t { kValue, kSign, kLogarithm };

// Folds U's diagonal, whose elements change sign where rows were exchanged.
Value* FoldDiagonal(LoweringBuilder& builder, const Lu& lu, Determinant what) {
  const size_t outer = lu.factors->shape.size() - 2;
  const DType dtype = lu.factors->dtype;
  const ReduceOp op = what == Determinant::kLogarithm ? ReduceOp::kSum : ReduceOp::kProduct;
  ReduceStep step{.extents = lu.pivots->shape, .reduced = 1, .op = op, .accumulator = dtype, .program = {}, .finish = {}};
  Access place{.operand = 1, .index = {}};
  for (size_t d = 0; d <= outer; ++d) place.index.push_back(IndexExpression::LoopDim(static_cast<int>(d)));
  Access diagonal{.operand = 0, .index = place.index};
  diagonal.index.push_back(place.index.back());
  LoopBuilder b;
  const Handle u = b.Load(std::move(diagonal), dtype);
  if (what == Determinant::kLogarithm) {
    b.Result(b.Unary(LoopOp::kLog, b.Unary(LoopOp::kAbs, u)));
  } else {
    const Handle stays = b.Binary(LoopOp::kEq, b.Load(std::move(place), dtype), b.Cast(b.Index(static_cast<int>(outer)), dtype));
    const Handle value = what == Determinant::kSign ? b.Unary(LoopOp::kSign, u) : u;
    b.Result(b.Select(stays, value, b.Unary(LoopOp::kNeg, value)));
  }
  step.program = std::move(b).Build();
  return builder.Reduce(std::move(step), {lu.factors, lu.pivots}, BatchOf(lu.factors->shape), dtype);
}

// The determinant's forms, then the factors.
template <int results>
Status InferDeterminant(Node& node) {
  const Value* a = node.inputs[0];
  TONDAR_RETURN_IF_ERROR(CheckSquare(node, a));
  for (size_t i = 0; i < results; ++i) SetOutput(node, i, a->dtype, BatchOf(a->shape));
  SetOutput(node, results, a->dtype, a->shape);
  SetOutput(node, results + 1, DType::kInt32, Join(BatchOf(a->shape), {RowsOf(a)}));
  return OkStatus();
}

void ReplaceFactors(LoweringBuilder& builder, const Lu& lu, size_t first) {
  builder.Replace(first, lu.factors);
  builder.Replace(first + 1, PivotsFromOne(builder, lu.pivots));
}

Status LowerDet(const Node& node, LoweringBuilder& builder) {
  const Lu lu = FactorLu(builder, node.inputs[0], false);
  builder.Replace(0, FoldDiagonal(builder, lu, Determinant::kValue));
  ReplaceFactors(builder, lu, 1);
  return OkStatus();
}

Status LowerSlogdet(const Node& node, LoweringBuilder& builder) {
  const Lu lu = FactorLu(builder, node.inputs[0], false);
  builder.Replace(0, FoldDiagonal(builder, lu, Determinant::kSign));
  builder.Replace(1, FoldDiagonal(builder, lu, Determinant::kLogarithm));
  ReplaceFactors(builder, lu, 2);
  return OkStatus();
}

Status InferLogdet(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckSquare(node, node.inputs[0]));
  SetOutput(node, 0, node.inputs[0]->dtype, BatchOf(node.inputs[0]->shape));
  return OkStatus();
}

// NaN where the determinant is negative.
Status LowerLogdet(const Node& node, LoweringBuilder& builder) {
  const Lu lu = FactorLu(builder, node.inputs[0], false);
  Value *sign = FoldDiagonal(builder, lu, Determinant::kSign), *logarithm = FoldDiagonal(builder, lu, Determinant::kLogarithm);
  builder.Replace(0, builder.Map({sign, logarithm}, [](LoopBuilder& b, Handles x) {
    const Handle negative = b.Binary(LoopOp::kLt, x[0], b.Constant(0, b.dtype(x[0])));
    return b.Select(negative, b.Constant(std::numeric_limits<double>::quiet_NaN(), b.dtype(x[0])), x[1]);
  }));
  return OkStatus();
}

// --- QR, eigenvalues, singular values -------------------------------------------------------------------------------

Status InferQr(Node& node) {
  const Value* a = node.inputs[0];
  TONDAR_RETURN_IF_ERROR(CheckMatrix(a));
  const std::string mode = Arguments(node).String("mode");
  if (mode != "reduced" && mode != "complete" && mode != "r") return InvalidArgument("mode '{}', expected reduced, complete or r", mode);
  const Shape batch = BatchOf(a->shape);
  const Dim q = mode == "complete" ? RowsOf(a) : ShorterOf(a);
  SetOutput(node, 0, a->dtype, mode == "r" ? Shape{Dim(0)} : Join(batch, {RowsOf(a), q}));
  SetOutput(node, 1, a->dtype, Join(batch, {q, ColumnsOf(a)}));
  return OkStatus();
}

Status LowerQr(const Node& node, LoweringBuilder& builder) {
  Value* a = node.inputs[0];
  const std::string mode = Arguments(node).String("mode");
  const Dim m = RowsOf(a), n = ColumnsOf(a), q = mode == "complete" ? m : ShorterOf(a);
  Parts parts(builder, {.kind = LinalgKind::kQr, .full = mode == "complete"}, {a}, q * (m + n));
  Value* vectors = parts.Take({m, q});
  builder.Replace(0, mode == "r" ? builder.Full(0, a->dtype, {Dim(0)}) : vectors);
  builder.Replace(1, parts.Take({q, n}));
  return OkStatus();
}

Result<bool> UsesUpper(const Node& node) {
  const std::string triangle = Arguments(node).String("UPLO");
  if (triangle == "L" || triangle == "l") return false;
  if (triangle == "U" || triangle == "u") return true;
  return InvalidArgument("UPLO '{}', expected L or U", triangle);
}

Status InferEigh(Node& node) {
  const Value* a = node.inputs[0];
  TONDAR_RETURN_IF_ERROR(CheckSquare(node, a));
  TONDAR_RETURN_IF_ERROR(UsesUpper(node).status());
  SetOutput(node, 0, a->dtype, Join(BatchOf(a->shape), {RowsOf(a)}));
  SetOutput(node, 1, a->dtype, Arguments(node).Bool("compute_v") ? a->shape : Shape{Dim(0)});
  return OkStatus();
}

Status LowerEigh(const Node& node, LoweringBuilder& builder) {
  Value* a = node.inputs[0];
  const Dim n = RowsOf(a);
  const bool vectors = Arguments(node).Bool("compute_v");
  const LinalgStep step{.kind = LinalgKind::kEigh, .upper = *UsesUpper(node), .vectors = vectors, .check = true};
  Parts parts(builder, step, {a}, vectors ? n + n * n : n);
  builder.Replace(0, parts.Take({n}));
  builder.Replace(1, vectors ? parts.Take({n, n}) : builder.Full(0, a->dtype, {Dim(0)}));
  return OkStatus();
}

Status NoVectors(Node& node, const Attributes&) {
  node.attributes["compute_v"] = false;
  return OkStatus();
}

Status InferSvd(Node& node) {
  const Arguments args(node);
  const Value* a = node.inputs[0];
  TONDAR_RETURN_IF_ERROR(CheckMatrix(a));
  const Shape batch = BatchOf(a->shape);
  const Dim k = ShorterOf(a);
  const bool full = args.Bool("full_matrices"), vectors = args.Bool("compute_uv");
  SetOutput(node, 0, a->dtype, vectors ? Join(batch, {RowsOf(a), full ? RowsOf(a) : k}) : Shape{Dim(0)});
  SetOutput(node, 1, a->dtype, Join(batch, {k}));
  SetOutput(node, 2, a->dtype, vectors ? Join(batch, {full ? ColumnsOf(a) : k, ColumnsOf(a)}) : Shape{Dim(0)});
  return OkStatus();
}

Status LowerSvd(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const Svd svd = FactorSvd(builder, node.inputs[0], args.Bool("compute_uv"), args.Bool("full_matrices"));
  const auto or_nothing = [&](Value* part) { return part != nullptr ? part : builder.Full(0, node.inputs[0]->dtype, {Dim(0)}); };
  builder.Replace(0, or_nothing(svd.u));
  builder.Replace(1, svd.values);
  builder.Replace(2, or_nothing(svd.vh));
  return OkStatus();
}

Status InferSingularValues(Node& node) {
  const Value* a = node.inputs[0];
  TONDAR_RETURN_IF_ERROR(CheckMatrix(a));
  SetOutput(node, 0, a->dtype, Join(BatchOf(a->shape), {ShorterOf(a)}));
  return OkStatus();
}

Status LowerSingularValues(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, FactorSvd(builder, node.inputs[0], false).values);
  return OkStatus();
}

// The older spelling gives V, not its transpose, and vectors only for `some` by default.
Status InferOldSvd(Node& node) {
  const Arguments args(node);
  if (!args.Bool("compute_uv")) return Unimplemented("compute_uv=False; torch.linalg.svdvals gives the values alone");
  const Value* a = node.inputs[0];
  TONDAR_RETURN_IF_ERROR(CheckMatrix(a));
  const Shape batch = BatchOf(a->shape);
  const Dim k = ShorterOf(a);
  const bool some = args.Bool("some");
  SetOutput(node, 0, a->dtype, Join(batch, {RowsOf(a), some ? k : RowsOf(a)}));
  SetOutput(node, 1, a->dtype, Join(batch, {k}));
  SetOutput(node, 2, a->dtype, Join(batch, {ColumnsOf(a), some ? k : ColumnsOf(a)}));
  return OkStatus();
}

Status LowerOldSvd(const Node& node, LoweringBuilder& builder) {
  const Svd svd = FactorSvd(builder, node.inputs[0], true, !Arguments(node).Bool("some"));
  builder.Replace(0, svd.u);
  builder.Replace(1, svd.values);
  builder.Replace(2, Transposed(builder, svd.vh));
  return OkStatus();
}

// --- What singular values tell --------------------------------------------------------------------------------------

// An optional tensor argument that may be a number.
Value* Tolerance(const Node& node, LoweringBuilder& builder, std::string_view name, DType dtype) {
  const Arguments args(node);
  if (Value* given = args.Tensor(name)) return builder.Cast(given, dtype);
  return args.IsNone(name) ? nullptr : builder.Scalar(args.Number(name), dtype);
}

// Values [..., k] that are at most max(atol, rtol * largest) count as zero. rtol is max(m, n) epsilon if nothing is given.
Value* Cutoff(const Node& node, LoweringBuilder& builder, Value* a, Value* values) {
  const DType dtype = a->dtype;
  Value *atol = Tolerance(node, builder, "atol", dtype), *rtol = Tolerance(node, builder, "rtol", dtype);
  const double epsilon = dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  const Dim longer = BoundedMax(builder.graph(), RowsOf(a), ColumnsOf(a));
  Value* largest = builder.Slice(values, -1, Dim(0), Dim(1));
  std::vector<Value*> inputs = {largest};
  for (Value* tolerance : {rtol, atol}) {
    if (tolerance != nullptr) inputs.push_back(tolerance->shape.empty() ? tolerance : builder.Unsqueeze(tolerance, -1));
  }
  return builder.Map(inputs, [&](LoopBuilder& b, Handles x) {
    size_t next = 1;
    Handle relative = b.Constant(0, dtype);
    if (rtol != nullptr) relative = x[next++];
    if (rtol == nullptr && atol == nullptr) relative = b.Binary(LoopOp::kMul, b.Cast(b.Size(longer), dtype), b.Constant(epsilon, dtype));
    relative = b.Binary(LoopOp::kMul, relative, x[0]);
    return atol == nullptr ? relative : b.Binary(LoopOp::kMax, relative, x[next]);
  });
}

Status CheckNotHermitian(const Node& node) {
  return Arguments(node).Bool("hermitian") ? Unimplemented("hermitian=True") : OkStatus();
}

Status InferPinv(Node& node) {
  const Value* a = node.inputs[0];
  TONDAR_RETURN_IF_ERROR(CheckMatrix(a));
  TONDAR_RETURN_IF_ERROR(CheckNotHermitian(node));
  SetOutput(node, 0, a->dtype, Join(BatchOf(a->shape), {ColumnsOf(a), RowsOf(a)}));
  return OkStatus();
}

Status LowerPinv(const Node& node, LoweringBuilder& builder) {
  Value* a = node.inputs[0];
  const Svd svd = FactorSvd(builder, a, true);
  Value* inverse = builder.Map({svd.values, Cutoff(node, builder, a, svd.values)}, [](LoopBuilder& b, Handles x) {
    const Handle zero = b.Constant(0, b.dtype(x[0]));
    return b.Select(b.Binary(LoopOp::kGt, x[0], x[1]), b.Unary(LoopOp::kReciprocal, x[0]), zero);
  });
  Value* v = Transposed(builder, svd.vh);
  Value* scaled = builder.Map({v, builder.Unsqueeze(inverse, -2)}, [](LoopBuilder& b, Handles x) { return b.Binary(LoopOp::kMul, x[0], x[1]); });
  builder.Replace(0, builder.MatMul(scaled, Transposed(builder, svd.u), a->dtype));
  return OkStatus();
}

Status InferRank(Node& node) {
  TONDAR_RETURN_IF_ERROR(CheckMatrix(node.inputs[0]));
  TONDAR_RETURN_IF_ERROR(CheckNotHermitian(node));
  SetOutput(node, 0, DType::kInt64, BatchOf(node.inputs[0]->shape));
  return OkStatus();
}

Status LowerRank(const Node& node, LoweringBuilder& builder) {
  Value* a = node.inputs[0];
  Value* values = FactorSvd(builder, a, false).values;
  Reduction count{.op = ReduceOp::kSum, .dims = {values->shape.size() - 1}, .accumulator = DType::kInt64, .dtype = DType::kInt64, .body = {}, .finish = {}};
  count.body = [](LoopBuilder& b, Handles x) { return b.Cast(b.Binary(LoopOp::kGt, x[0], x[1]), DType::kInt64); };
  builder.Replace(0, EmitReduction(builder, {values, Cutoff(node, builder, a, values)}, count));
  return OkStatus();
}

// --- Norms ----------------------------------------------------------------------------------------------------------

struct MatrixDims {
  size_t row, column;
};

Result<MatrixDims> DimsOf(const Node& node) {
  const std::vector<int64_t> dims = Arguments(node).Ints("dim");
  const size_t rank = node.inputs[0]->shape.size();
  if (dims.size() != 2) return InvalidArgument("{} dims, expected 2", dims.size());
  TONDAR_ASSIGN_OR_RETURN(const size_t row, NormaliseDim(dims[0], rank));
  TONDAR_ASSIGN_OR_RETURN(const size_t column, NormaliseDim(dims[1], rank));
  if (row == column) return InvalidArgument("dim {} twice", dims[0]);
  return MatrixDims{row, column};
}

// "2.0" and "2" are one order.
struct NormOrder {
  enum class Kind : uint8_t { kFrobenius, kNuclear, kColumns, kRows, kSpectral } kind;
  bool largest = true;
};

Result<NormOrder> OrderOf(const Node& node) {
  using Kind = NormOrder::Kind;
  const std::string text = Arguments(node).String("ord");
  struct Row {
    std::string_view name;
    NormOrder order;
  };
  static constexpr Row kOrders[] = {
      {"fro", {Kind::kFrobenius}},     {"nuc", {Kind::kNuclear}},      {"1", {Kind::kColumns}},   {"-1", {Kind::kColumns, false}},
      {"inf", {Kind::kRows}},          {"-inf", {Kind::kRows, false}}, {"2", {Kind::kSpectral}},  {"-2", {Kind::kSpectral, false}},
  };
  for (const Row& row : kOrders) {
    if (row.name == text) return row.order;
  }
  return InvalidArgument("ord '{}', expected fro, nuc, 1, -1, 2, -2, inf or -inf", text);
}

DType NormDType(const Node& node) {
  const DType given = Arguments(node).Type("dtype");
  return given == DType::kInvalid ? node.inputs[0]->dtype : given;
}

Status InferMatrixNorm(Node& node) {
  const Value* a = node.inputs[0];
  TONDAR_ASSIGN_OR_RETURN(const MatrixDims dims, DimsOf(node));
  TONDAR_RETURN_IF_ERROR(OrderOf(node).status());
  if (!IsFloat(NormDType(node))) return InvalidArgument("a norm of {}", Name(NormDType(node)));
  std::vector<size_t> sorted = {std::min(dims.row, dims.column), std::max(dims.row, dims.column)};
  SetOutput(node, 0, NormDType(node), ReducedShape(a->shape, sorted, Arguments(node).Bool("keepdim")));
  return OkStatus();
}

// x with one dim reduced to extent 1.
Value* Fold(LoweringBuilder& builder, Value* x, size_t dim, ReduceOp op, bool absolute) {
  Reduction fold{.op = op, .dims = {dim}, .keepdim = true, .accumulator = ComputeDType(x->dtype), .dtype = x->dtype, .body = {}, .finish = {}};
  if (absolute) fold.body = [](LoopBuilder& b, Handles v) { return b.Unary(LoopOp::kAbs, v[0]); };
  return EmitReduction(builder, {x}, fold);
}

Value* SingularNorm(LoweringBuilder& builder, Value* a, const MatrixDims& dims, ReduceOp op) {
  std::vector<int64_t> order;
  for (size_t d = 0; d < a->shape.size(); ++d) {
    if (d != dims.row && d != dims.column) order.push_back(static_cast<int64_t>(d));
  }
  order.push_back(static_cast<int64_t>(dims.row));
  order.push_back(static_cast<int64_t>(dims.column));
  Value* values = FactorSvd(builder, builder.Permute(a, order), false).values;
  return Fold(builder, values, values->shape.size() - 1, op, false);
}

Status LowerMatrixNorm(const Node& node, LoweringBuilder& builder) {
  using Kind = NormOrder::Kind;
  TONDAR_ASSIGN_OR_RETURN(const MatrixDims dims, DimsOf(node));
  TONDAR_ASSIGN_OR_RETURN(const NormOrder order, OrderOf(node));
  Value* a = builder.Cast(node.inputs[0], NormDType(node));
  const ReduceOp extremum = order.largest ? ReduceOp::kMax : ReduceOp::kMin;
  Value* norm = nullptr;
  if (order.kind == Kind::kFrobenius) {
    const Shape both = {Dim(static_cast<int64_t>(dims.row)), Dim(static_cast<int64_t>(dims.column))};
    TONDAR_ASSIGN_OR_RETURN(norm, builder.Op("vector_norm", {a}, {{"dim", both}}));
  } else if (order.kind == Kind::kColumns || order.kind == Kind::kRows) {
    const size_t summed = order.kind == Kind::kColumns ? dims.row : dims.column, compared = summed == dims.row ? dims.column : dims.row;
    norm = Fold(builder, Fold(builder, a, summed, ReduceOp::kSum, true), compared, extremum, false);
  } else {
    norm = SingularNorm(builder, a, dims, order.kind == Kind::kNuclear ? ReduceOp::kSum : extremum);
  }
  builder.Replace(0, builder.Reshape(norm, node.outputs[0]->shape));
  return OkStatus();
}

// A number as the order's name.
std::string OrderText(const Attribute& order) {
  if (const Dim* whole = std::get_if<Dim>(&order); whole != nullptr && whole->IsConstant()) return std::to_string(whole->constant());
  if (const double* real = std::get_if<double>(&order)) {
    if (std::isinf(*real)) return *real > 0 ? "inf" : "-inf";
    if (*real == std::floor(*real)) return std::to_string(static_cast<int64_t>(*real));
    return std::to_string(*real);
  }
  const std::string* text = std::get_if<std::string>(&order);
  return text == nullptr ? "fro" : *text;
}

Status NameOrder(Node& node, const Attributes& arguments) {
  node.attributes["ord"] = OrderText(arguments.at("ord"));
  return OkStatus();
}

// linalg.norm: of vectors if one dim is named or the tensor has one; without an order, of all elements of those dims.
Status ChooseNorm(Node& node, const Attributes& arguments) {
  const Attribute order = arguments.at("ord");
  const bool ordered = !std::holds_alternative<std::monostate>(order);
  const Shape* dims = std::get_if<Shape>(&arguments.at("dim"));
  const size_t rank = node.inputs[0]->shape.size();
  const size_t count = dims != nullptr ? dims->size() : rank;
  if (ordered && count == 2) {
    node.op = "matrix_norm";
    node.attributes["ord"] = OrderText(order);
    if (dims == nullptr) node.attributes["dim"] = Shape{Dim(-2), Dim(-1)};
    return OkStatus();
  }
  if (ordered && count != 1) return InvalidArgument("ord {} of {} dims, expected 1 or 2", ToString(order), count);
  node.op = "vector_norm";
  if (!ordered) node.attributes["ord"] = 2.0;
  if (ordered && std::holds_alternative<std::string>(order)) return InvalidArgument("ord {} of vectors", ToString(order));
  return OkStatus();
}

// --- Products -------------------------------------------------------------------------------------------------------

Result<Value*> Power(LoweringBuilder& builder, Value* a, int64_t n) {
  if (n == 0) return builder.Expand(Identity(builder, a), a->shape);
  if (n < 0) return Power(builder, Inverse(builder, a, true), -n);
  if (n == 1) return a;
  TONDAR_ASSIGN_OR_RETURN(Value * half, Power(builder, a, n / 2));
  Value* square = builder.MatMul(half, half, a->dtype);
  return n % 2 == 0 ? square : builder.MatMul(square, a, a->dtype);
}

Status InferPower(Node& node) {
  const Value* a = node.inputs[0];
  if (a->shape.size() < 2 || !IsFloat(a->dtype)) return InferSameSquare(node);
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, RowsOf(a), ColumnsOf(a), "sides of a square matrix"));
  SetOutput(node, 0, a->dtype, a->shape);
  return OkStatus();
}

Status LowerPower(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(Value * power, Power(builder, node.inputs[0], Arguments(node).Int("n")));
  builder.Replace(0, builder.Reshape(power, node.outputs[0]->shape));
  return OkStatus();
}

Status LowerExponential(const Node& node, LoweringBuilder& builder) {
  Value* a = node.inputs[0];
  const Dim n = RowsOf(a);
  Parts parts(builder, {.kind = LinalgKind::kExponential}, {a}, n * n);
  builder.Replace(0, parts.Take({n, n}));
  return OkStatus();
}

Status InferMultiDot(Node& node) {
  const std::vector<Value*> xs = node.inputs;
  if (xs.size() < 2) return InvalidArgument("{} matrices, expected two or more", xs.size());
  Shape shape;
  for (size_t i = 0; i < xs.size(); ++i) {
    const bool is_end = i == 0 || i + 1 == xs.size();
    if (xs[i]->shape.size() != 2 && !(is_end && xs[i]->shape.size() == 1)) return InvalidArgument("matrix {} has rank {}", i, xs[i]->shape.size());
    if (xs[i]->dtype != xs[0]->dtype) return InvalidArgument("dtypes {} and {} differ", Name(xs[i]->dtype), Name(xs[0]->dtype));
    if (i > 0) TONDAR_RETURN_IF_ERROR(AssumeEqual(node, xs[i - 1]->shape.back(), xs[i]->shape[0], "inner extents"));
  }
  if (xs.front()->shape.size() == 2) shape.push_back(xs.front()->shape[0]);
  if (xs.back()->shape.size() == 2) shape.push_back(xs.back()->shape[1]);
  SetOutput(node, 0, xs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerMultiDot(const Node& node, LoweringBuilder& builder) {
  Value* product = node.inputs[0];
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    TONDAR_ASSIGN_OR_RETURN(product, builder.Op("matmul", {product, node.inputs[i]}));
  }
  builder.Replace(0, product);
  return OkStatus();
}

Status InferTrace(Node& node) {
  const Value* a = node.inputs[0];
  if (a->shape.size() != 2) return InvalidArgument("a tensor of rank {}, expected 2", a->shape.size());
  SetOutput(node, 0, IsInteger(a->dtype) || a->dtype == DType::kBool ? DType::kInt64 : a->dtype, {});
  return OkStatus();
}

Status LowerTrace(const Node& node, LoweringBuilder& builder) {
  Value* a = node.inputs[0];
  const DType dtype = node.outputs[0]->dtype, accumulator = ComputeDType(dtype);
  ReduceStep step{.extents = {ShorterOf(a)}, .reduced = 1, .op = ReduceOp::kSum, .accumulator = accumulator, .program = {}, .finish = {}};
  LoopBuilder b;
  b.Result(b.Cast(b.Load({.operand = 0, .index = {IndexExpression::LoopDim(0), IndexExpression::LoopDim(0)}}, a->dtype), accumulator));
  step.program = std::move(b).Build();
  if (accumulator != dtype) step.finish = StoreEpilogue(accumulator, dtype);
  builder.Replace(0, builder.Reduce(std::move(step), {a}, {}, dtype));
  return OkStatus();
}

// beta self + alpha vec1 vec2^T
Status InferAddr(Node& node) {
  const Value *self = node.inputs[0], *x = node.inputs[1], *y = node.inputs[2];
  if (x->shape.size() != 1 || y->shape.size() != 1) return InvalidArgument("vectors of ranks {} and {}", x->shape.size(), y->shape.size());
  SetOutput(node, 0, ResultType({{self, nullptr}, {x, nullptr}, {y, nullptr}}), {x->shape[0], y->shape[0]});
  return OkStatus();
}

Status LowerAddr(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const DType dtype = node.outputs[0]->dtype, compute = ComputeDType(dtype);
  const double beta = args.Number("beta"), alpha = args.Number("alpha");
  const std::vector<Value*> inputs = {node.inputs[0], builder.Unsqueeze(node.inputs[1], 1), node.inputs[2]};
  builder.Replace(0, builder.Map(node.outputs[0]->shape, inputs, [&](LoopBuilder& b, Handles x) {
    const auto times = [&](double factor, Handle v) { return b.Binary(LoopOp::kMul, b.Constant(factor, compute), v); };
    const Handle outer = times(alpha, b.Binary(LoopOp::kMul, b.Cast(x[1], compute), b.Cast(x[2], compute)));
    return b.Cast(beta == 0 ? outer : b.Binary(LoopOp::kAdd, times(beta, b.Cast(x[0], compute)), outer), dtype);
  }));
  return OkStatus();
}

// --- Rows -----------------------------------------------------------------------------------------------------------

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), int results = 1, std::string signature = "") {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature), .results = results};
  schema.infer = infer;
  schema.lower = lower;
  return schema;
}

// For forms that say by an exception what the *_ex forms say by a code.
Status CheckErrors(Node& node, const Attributes&) {
  node.attributes["check_errors"] = true;
  return OkStatus();
}

}  // namespace

std::vector<OpSchema> LinalgOps() {
  const char* const kNormDims = "Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)";
  return {
      Row("linalg_cholesky",
          {{"aten.linalg_cholesky.default", "(Tensor self, *, bool upper=False)", {}, CheckErrors},
           {"aten.linalg_cholesky_ex.default", "(Tensor self, *, bool upper=False, bool check_errors=False)"},
           {"aten.cholesky.default", "(Tensor self, bool upper=False)", {}, CheckErrors}},
          InferCholesky, LowerCholesky, 2, "(Tensor self, *, bool upper=False, bool check_errors=False)"),
      Row("cholesky_solve", {{"aten.cholesky_solve.default", "(Tensor self, Tensor input2, bool upper=False)"}}, InferCholeskySolve,
          LowerCholeskySolve),
      Row("cholesky_inverse", {{"aten.cholesky_inverse.default", "(Tensor self, bool upper=False)"}}, InferSameSquare, LowerCholeskyInverse),
      Row("linalg_lu_factor",
          {{"aten.linalg_lu_factor.default", "(Tensor A, *, bool pivot=True)", {}, CheckErrors},
           {"aten.linalg_lu_factor_ex.default", "(Tensor A, *, bool pivot=True, bool check_errors=False)"}},
          InferLuFactor, LowerLuFactor, 3, "(Tensor A, *, bool pivot=True, bool check_errors=False)"),
      Row("linalg_lu", {{"aten.linalg_lu.default", "(Tensor A, *, bool pivot=True)"}}, InferLu, LowerLu, 3),
      Row("lu_unpack",
          {{"aten.lu_unpack.default", "(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True)"}}, InferLuUnpack,
          LowerLuUnpack, 3),
      Row("linalg_solve",
          {{"aten.linalg_solve.default", "(Tensor A, Tensor B, *, bool left=True)", {}, CheckErrors},
           {"aten._linalg_solve_ex.default", "(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)"}},
          InferSolve, LowerSolve, 4, "(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)"),
      Row("linalg_solve_ex",
          {{"aten.linalg_solve_ex.default", "(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)"}}, InferSolveEx,
          LowerSolveEx, 2),
      Row("linalg_lu_solve",
          {{"aten.linalg_lu_solve.default", "(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False)"}}, InferLuSolve,
          LowerLuSolve),
      Row("linalg_solve_triangular",
          {{"aten.linalg_solve_triangular.default", "(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)"}},
          InferTriangularSolve, LowerTriangularSolve),
      Row("triangular_solve",
          {{"aten.triangular_solve.default", "(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False)"}},
          InferOldTriangularSolve, LowerOldTriangularSolve, 2),
      Row("linalg_inv",
          {{"aten.linalg_inv.default", "(Tensor A)", {}, CheckErrors},
           {"aten.inverse.default", "(Tensor self)", {{"self", "A"}}, CheckErrors},
           {"aten.linalg_inv_ex.default", "(Tensor A, *, bool check_errors=False)"}},
          InferInverse, LowerInverse, 2, "(Tensor A, *, bool check_errors=False)"),
      Row("linalg_det",
          {{"aten.linalg_det.default", "(Tensor A)"}, {"aten.det.default", "(Tensor self)", {{"self", "A"}}}, {"aten._linalg_det.default", "(Tensor A)"}},
          InferDeterminant<1>, LowerDet, 3),
      Row("linalg_slogdet",
          {{"aten.linalg_slogdet.default", "(Tensor A)"}, {"aten.slogdet.default", "(Tensor self)", {{"self", "A"}}},
           {"aten._linalg_slogdet.default", "(Tensor A)"}},
          InferDeterminant<2>, LowerSlogdet, 4),
      Row("logdet", {{"aten.logdet.default", "(Tensor self)"}}, InferLogdet, LowerLogdet),
      Row("linalg_qr", {{"aten.linalg_qr.default", "(Tensor A, str mode='reduced')"}}, InferQr, LowerQr, 2),
      Row("linalg_eigh",
          {{"aten.linalg_eigh.default", "(Tensor self, str UPLO='L')", {{"self", "A"}}},
           {"aten._linalg_eigh.default", "(Tensor A, str UPLO='L', bool compute_v=True)"},
           {"aten.linalg_eigvalsh.default", "(Tensor self, str UPLO='L')", {{"self", "A"}}, NoVectors}},
          InferEigh, LowerEigh, 2, "(Tensor A, str UPLO='L', bool compute_v=True)"),
      Row("linalg_svd",
          {{"aten.linalg_svd.default", "(Tensor A, bool full_matrices=True, *, str? driver=None)"},
           {"aten._linalg_svd.default", "(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None)"}},
          InferSvd, LowerSvd, 3, "(Tensor A, bool full_matrices=True, bool compute_uv=True, *, str? driver=None)"),
      Row("linalg_svdvals", {{"aten.linalg_svdvals.default", "(Tensor A, *, str? driver=None)"}}, InferSingularValues, LowerSingularValues),
      Row("svd", {{"aten.svd.default", "(Tensor self, bool some=True, bool compute_uv=True)"}}, InferOldSvd, LowerOldSvd, 3),
      Row("linalg_pinv",
          {{"aten.linalg_pinv.atol_rtol_tensor", "(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False)"},
           {"aten.linalg_pinv.atol_rtol_float", "(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False)"},
           {"aten.linalg_pinv.default", "(Tensor self, Tensor rcond, bool hermitian=False)", {{"rcond", "rtol"}}},
           {"aten.linalg_pinv.rcond_tensor", "(Tensor self, Tensor rcond, bool hermitian=False)", {{"rcond", "rtol"}}},
           {"aten.pinverse.default", "(Tensor self, Tensor rcond=1e-15)", {{"rcond", "rtol"}}}},
          InferPinv, LowerPinv),
      Row("linalg_matrix_rank",
          {{"aten.linalg_matrix_rank.atol_rtol_tensor", "(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False)"},
           {"aten.linalg_matrix_rank.atol_rtol_float", "(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False)", {{"self", "input"}}},
           {"aten.linalg_matrix_rank.default", "(Tensor self, Tensor tol, bool hermitian=False)", {{"self", "input"}, {"tol", "atol"}}},
           {"aten.linalg_matrix_rank.tol_tensor", "(Tensor input, Tensor tol, bool hermitian=False)", {{"tol", "atol"}}}},
          InferRank, LowerRank),
      Row("matrix_norm",
          {{"aten.linalg_matrix_norm.str_ord", "(Tensor self, str ord='fro', int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None)"},
           {"aten.linalg_matrix_norm.default", "(Tensor self, Scalar ord, int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None)", {}, NameOrder},
           {"aten.linalg_norm.default", fmt::format("(Tensor self, {}", kNormDims), {}, ChooseNorm},
           {"aten.linalg_norm.ord_str", "(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", {}, ChooseNorm}},
          InferMatrixNorm, LowerMatrixNorm),
      Row("linalg_matrix_power",
          {{"aten.linalg_matrix_power.default", "(Tensor self, int n)"}, {"aten.matrix_power.default", "(Tensor self, int n)"}}, InferPower, LowerPower),
      Row("linalg_matrix_exp", {{"aten.linalg_matrix_exp.default", "(Tensor self)"}, {"aten.matrix_exp.default", "(Tensor self)"}},
          InferSameSquare, LowerExponential),
      Row("linalg_multi_dot",
          {{"aten.linalg_multi_dot.default", "(Tensor[] tensors)"}, {"aten.chain_matmul.default", "(Tensor[] matrices)", {{"matrices", "tensors"}}}},
          InferMultiDot, LowerMultiDot),
      Row("trace", {{"aten.trace.default", "(Tensor self)"}}, InferTrace, LowerTrace),
      Row("addr", {{"aten.addr.default", "(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1)"}}, InferAddr, LowerAddr),
  };
}

}  // namespace tondar
