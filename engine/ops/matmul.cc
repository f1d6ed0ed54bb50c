// Products of matrices and vectors. Bias and scale go into the matmul's epilogue.
#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;

// What is added to a product: scale * product + bias_scale * bias, the bias broadcasting to the product.
struct Addend {
  Value* bias = nullptr;
  double bias_scale = 1, scale = 1;
};

Handle Times(LoopBuilder& b, Handle x, double factor) {
  return factor == 1 ? x : b.Binary(LoopOp::kMul, x, b.Constant(factor, b.dtype(x)));
}

// scale * value + bias_scale * bias in the value's dtype, then converted. `bias_operand` is the bias's place among the
// step's inputs.
void Finish(LoopBuilder& b, Handle value, const Addend& addend, int bias_operand, int rank, DType dtype) {
  value = Times(b, value, addend.scale);
  if (addend.bias != nullptr) {
    const Handle bias = b.Load(BroadcastAccess(bias_operand, addend.bias->shape, rank), addend.bias->dtype);
    value = b.Binary(LoopOp::kAdd, value, Times(b, b.Cast(bias, b.dtype(value)), addend.bias_scale));
  }
  b.Result(b.Cast(value, dtype));
}

DType AccumulatorOf(DType dtype) {
  if (dtype == DType::kInt8 || dtype == DType::kUInt8) return DType::kInt32;
  return ComputeDType(dtype);
}

bool HasMatMulStep(DType a, DType result) {
  return IsFloat(a) || ((a == DType::kInt8 || a == DType::kUInt8) && result == DType::kInt32);
}

// Integer products have no matmul step: they sum over a loop. a: [batch..., M, K], b: [batch..., K, N].
Value* ReduceProduct(LoweringBuilder& builder, Value* a, Value* b, const Shape& shape, DType dtype, const Addend& addend) {
  const int rank = static_cast<int>(shape.size());
  const int m = rank - 2, n = rank - 1, k = rank;
  auto access = [&](int operand, const Value* x, int row, int column) {
    Access access = BroadcastAccess(operand, x->shape, rank);
    access.index[access.index.size() - 2] = IndexExpression::LoopDim(row);
    access.index[access.index.size() - 1] = IndexExpression::LoopDim(column);
    return access;
  };
  ReduceStep step{.extents = shape, .reduced = 1, .op = ReduceOp::kSum, .accumulator = dtype, .program = {}, .finish = {}};
  step.extents.push_back(a->shape.back());
  LoopBuilder body;
  const Handle x = body.Cast(body.Load(access(0, a, m, k), a->dtype), dtype);
  const Handle y = body.Cast(body.Load(access(1, b, k, n), b->dtype), dtype);
  body.Result(body.Binary(LoopOp::kMul, x, y));
  step.program = std::move(body).Build();
  std::vector<Value*> inputs = {a, b};
  if (addend.bias != nullptr) inputs.push_back(addend.bias);
  LoopBuilder finish;
  Finish(finish, finish.Accumulator(0, dtype), addend, 2, rank, dtype);
  step.finish = std::move(finish).Build();
  return builder.Reduce(std::move(step), inputs, shape, dtype);
}

// a: [batch..., M, K], b: [batch..., K, N]; batch dims broadcast.
Value* Product(LoweringBuilder& builder, Value* a, Value* b, DType dtype, const Addend& addend = {}) {
  Shape shape = *BroadcastShapes(Shape(a->shape.begin(), a->shape.end() - 2), Shape(b->shape.begin(), b->shape.end() - 2));
  auto expand = [&](Value* x) {
    Shape wide = shape;
    wide.insert(wide.end(), x->shape.end() - 2, x->shape.end());
    return builder.Expand(x, std::move(wide));
  };
  a = expand(a);
  b = expand(b);
  shape.push_back(*(a->shape.end() - 2));
  shape.push_back(b->shape.back());
  if (!HasMatMulStep(a->dtype, dtype)) return ReduceProduct(builder, a, b, shape, dtype, addend);
  std::vector<Value*> inputs = {a, b};
  LoopProgram epilogue;
  const DType accumulator = AccumulatorOf(a->dtype);
  if (addend.bias != nullptr) inputs.push_back(addend.bias);
  if (addend.bias != nullptr || addend.scale != 1 || accumulator != dtype) {
    LoopBuilder finish;
    Finish(finish, finish.Accumulator(0, accumulator), addend, 2, static_cast<int>(shape.size()), dtype);
    epilogue = std::move(finish).Build();
  }
  return builder.Step(MatMulStep{std::move(epilogue)}, inputs, shape, dtype);
}

// x [..., K] as [rows, K].
Value* AsRows(LoweringBuilder& builder, Value* x) {
  if (x->shape.size() == 2) return x;
  const Shape outer(x->shape.begin(), x->shape.end() - 1);
  return builder.Reshape(x, {ElementCount(outer), x->shape.back()});
}

// --- matmul ---------------------------------------------------------------------------------------------------------

Status CheckSameDType(const Value* a, const Value* b) {
  return a->dtype == b->dtype ? OkStatus() : InvalidArgument("dtypes {} and {} differ", Name(a->dtype), Name(b->dtype));
}

Result<Shape> MatMulShape(Node& node, const Value* a, const Value* b) {
  if (a->shape.empty() || b->shape.empty()) return InvalidArgument("a 0-d operand");
  const bool vector_a = a->shape.size() == 1, vector_b = b->shape.size() == 1;
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, a->shape.back(), vector_b ? b->shape[0] : *(b->shape.end() - 2),
                                     fmt::format("inner extents of {} and {}", ToString(a->shape), ToString(b->shape))));
  auto batch = [](const Shape& shape) { return shape.size() > 2 ? Shape(shape.begin(), shape.end() - 2) : Shape(); };
  TONDAR_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(node, {batch(a->shape), batch(b->shape)}));
  if (!vector_a) shape.push_back(*(a->shape.end() - 2));
  if (!vector_b) shape.push_back(b->shape.back());
  return shape;
}

Status InferMatMul(Node& node) {
  const Value *a = node.inputs[0], *b = node.inputs[1];
  TONDAR_RETURN_IF_ERROR(CheckSameDType(a, b));
  TONDAR_ASSIGN_OR_RETURN(Shape shape, MatMulShape(node, a, b));
  SetOutput(node, 0, a->dtype, std::move(shape));
  return OkStatus();
}

template <size_t rank_a, size_t rank_b>
Status InferRanked(Node& node) {
  const Value *a = node.inputs[0], *b = node.inputs[1];
  if (a->shape.size() != rank_a || b->shape.size() != rank_b) {
    return InvalidArgument("ranks {} and {}, expected {} and {}", a->shape.size(), b->shape.size(), rank_a, rank_b);
  }
  return InferMatMul(node);
}

Status LowerMatMul(const Node& node, LoweringBuilder& builder) {
  Value *a = node.inputs[0], *b = node.inputs[1];
  if (a->shape.size() == 1) a = builder.Unsqueeze(a, 0);
  if (b->shape.size() == 1) b = builder.Unsqueeze(b, 1);
  if (b->shape.size() == 2) a = AsRows(builder, a);  // one matrix for all: the batch is more rows
  Value* product = Product(builder, a, b, node.outputs[0]->dtype);
  builder.Replace(0, builder.Reshape(product, node.outputs[0]->shape));
  return OkStatus();
}

// 8-bit operands, signed and unsigned in any mixture.
Status InferIntMatMul(Node& node) {
  const Value *a = node.inputs[0], *b = node.inputs[1];
  for (const Value* x : {a, b}) {
    if (x->dtype != DType::kInt8 && x->dtype != DType::kUInt8) return InvalidArgument("an operand of {}", Name(x->dtype));
    if (x->shape.size() != 2) return InvalidArgument("an operand of rank {}, expected 2", x->shape.size());
  }
  TONDAR_ASSIGN_OR_RETURN(Shape shape, MatMulShape(node, a, b));
  SetOutput(node, 0, DType::kInt32, std::move(shape));
  return OkStatus();
}

// --- linear ---------------------------------------------------------------------------------------------------------

Status InferLinear(Node& node) {
  const Arguments args(node);
  const Value *x = args.Tensor("input"), *weight = args.Tensor("weight"), *bias = args.Tensor("bias");
  if (x->shape.empty() || weight->shape.empty() || weight->shape.size() > 2) {
    return InvalidArgument("input {} and weight {}", ToString(x->shape), ToString(weight->shape));
  }
  if (x->dtype != weight->dtype || (bias != nullptr && bias->dtype != x->dtype)) {
    return InvalidArgument("dtypes of input ({}), weight ({}) and bias differ", Name(x->dtype), Name(weight->dtype));
  }
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, x->shape.back(), weight->shape.back(), "input features"));
  Shape shape(x->shape.begin(), x->shape.end() - 1);
  if (weight->shape.size() == 2) shape.push_back(weight->shape[0]);
  SetOutput(node, 0, x->dtype, std::move(shape));
  return OkStatus();
}

Status LowerLinear(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value* weight = args.Tensor("weight");
  if (weight->shape.size() == 1) weight = builder.Unsqueeze(weight, 0);
  Value* product = Product(builder, AsRows(builder, args.Tensor("input")), builder.Transpose(weight, 0, 1),
                           node.outputs[0]->dtype, {.bias = args.Tensor("bias")});
  builder.Replace(0, builder.Reshape(product, node.outputs[0]->shape));
  return OkStatus();
}

// --- Products with an addend ----------------------------------------------------------------------------------------

// The operands' names differ between addmm, baddbmm and addmv; their order does not.
Status InferAddMatMul(Node& node) {
  const Value *bias = node.inputs[0], *a = node.inputs[1], *b = node.inputs[2];
  TONDAR_RETURN_IF_ERROR(CheckSameDType(a, b));
  TONDAR_RETURN_IF_ERROR(CheckSameDType(bias, a));
  TONDAR_ASSIGN_OR_RETURN(Shape shape, MatMulShape(node, a, b));
  TONDAR_ASSIGN_OR_RETURN(const Shape wide, BroadcastAll(node, {shape, bias->shape}));
  if (wide.size() != shape.size()) return InvalidArgument("{} does not expand to {}", ToString(bias->shape), ToString(shape));
  SetOutput(node, 0, a->dtype, std::move(shape));
  return OkStatus();
}

Status LowerAddMatMul(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Value *bias = node.inputs[0], *a = node.inputs[1], *b = node.inputs[2];
  if (b->shape.size() == 1) {  // addmv
    b = builder.Unsqueeze(b, 1);
    if (!bias->shape.empty()) bias = builder.Unsqueeze(bias, 1);
  }
  const double beta = args.Number("beta");
  const Addend addend{.bias = beta == 0 ? nullptr : bias, .bias_scale = beta, .scale = args.Number("alpha")};
  Value* product = Product(builder, a, b, node.outputs[0]->dtype, addend);
  builder.Replace(0, builder.Reshape(product, node.outputs[0]->shape));
  return OkStatus();
}

// --- Vectors --------------------------------------------------------------------------------------------------------

Status InferOuter(Node& node) {
  const Value *a = node.inputs[0], *b = node.inputs[1];
  if (a->shape.size() != 1 || b->shape.size() != 1) return InvalidArgument("outer product of ranks {} and {}", a->shape.size(), b->shape.size());
  SetOutput(node, 0, ResultType({{a, nullptr}, {b, nullptr}}), {a->shape[0], b->shape[0]});
  return OkStatus();
}

Status LowerOuter(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(Value * product, builder.Op("mul", {builder.Unsqueeze(node.inputs[0], 1), node.inputs[1]}));
  builder.Replace(0, product);
  return OkStatus();
}

Status InferInner(Node& node) {
  const Value *a = node.inputs[0], *b = node.inputs[1];
  if (a->shape.empty() || b->shape.empty()) return InvalidArgument("a 0-d operand");
  TONDAR_RETURN_IF_ERROR(CheckSameDType(a, b));
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, a->shape.back(), b->shape.back(), "last extents"));
  Shape shape(a->shape.begin(), a->shape.end() - 1);
  shape.insert(shape.end(), b->shape.begin(), b->shape.end() - 1);
  SetOutput(node, 0, a->dtype, std::move(shape));
  return OkStatus();
}

Status LowerInner(const Node& node, LoweringBuilder& builder) {
  Value *a = AsRows(builder, node.inputs[0]), *b = AsRows(builder, node.inputs[1]);
  Value* product = Product(builder, a, builder.Transpose(b, 0, 1), node.outputs[0]->dtype);
  builder.Replace(0, builder.Reshape(product, node.outputs[0]->shape));
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&)) {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources)};
  schema.infer = infer;
  schema.lower = lower;
  return schema;
}

}  // namespace

std::vector<OpSchema> MatMulOps() {
  return {
      Row("matmul", {{"aten.matmul.default", "(Tensor self, Tensor other)"}}, InferMatMul, LowerMatMul),
      Row("mm", {{"aten.mm.default", "(Tensor self, Tensor mat2)"}}, InferRanked<2, 2>, LowerMatMul),
      Row("bmm", {{"aten.bmm.default", "(Tensor self, Tensor mat2)"}}, InferRanked<3, 3>, LowerMatMul),
      Row("mv", {{"aten.mv.default", "(Tensor self, Tensor vec)"}}, InferRanked<2, 1>, LowerMatMul),
      Row("dot", {{"aten.dot.default", "(Tensor self, Tensor tensor)"}, {"aten.vdot.default", "(Tensor self, Tensor other)", {{"other", "tensor"}}}},
          InferRanked<1, 1>, LowerMatMul),
      Row("int_mm", {{"aten._int_mm.default", "(Tensor self, Tensor mat2)"}}, InferIntMatMul, LowerMatMul),
      Row("linear", {{"aten.linear.default", "(Tensor input, Tensor weight, Tensor? bias=None)"}}, InferLinear,
          LowerLinear),
      Row("addmm", {{"aten.addmm.default", "(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)"}},
          InferAddMatMul, LowerAddMatMul),
      Row("baddbmm",
          {{"aten.baddbmm.default", "(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)"}},
          InferAddMatMul, LowerAddMatMul),
      Row("addmv", {{"aten.addmv.default", "(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)"}},
          InferAddMatMul, LowerAddMatMul),
      Row("outer", {{"aten.outer.default", "(Tensor self, Tensor vec2)"},
                    {"aten.ger.default", "(Tensor self, Tensor vec2)"}},
          InferOuter, LowerOuter),
      Row("inner", {{"aten.inner.default", "(Tensor self, Tensor other)"}}, InferInner, LowerInner),
  };
}

}  // namespace tondar
