// Scaled dot-product attention.
#include <cmath>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"

namespace tondar {
namespace {

struct Operands {
  Value *q, *k, *v, *mask;
};

Operands OperandsOf(const Arguments& args) {
  return {args.Tensor("query"), args.Tensor("key"), args.Tensor("value"), args.Tensor("attn_mask")};
}

Shape Batch(const Value* x) { return Shape(x->shape.begin(), x->shape.end() - 2); }

// How many query heads share a key head: 1 unless grouped-query attention is on.
Result<int64_t> GroupSize(const Arguments& args, const Operands& operands) {
  if (!args.Bool("enable_gqa")) return 1;
  if (operands.q->shape.size() < 3) return InvalidArgument("grouped-query attention of rank {}", operands.q->shape.size());
  const Dim &heads = *(operands.q->shape.end() - 3), &kv_heads = *(operands.k->shape.end() - 3);
  if (!heads.IsConstant() || !kv_heads.IsConstant()) return Unimplemented("a dynamic number of heads");
  if (kv_heads.constant() < 1 || heads.constant() % kv_heads.constant() != 0) {
    return InvalidArgument("{} query heads for {} key heads", heads.constant(), kv_heads.constant());
  }
  return heads.constant() / kv_heads.constant();
}

Status InferAttention(Node& node) {
  const Arguments args(node);
  const Operands x = OperandsOf(args);
  for (const Value* operand : {x.q, x.k, x.v}) {
    if (operand->shape.size() < 2) return InvalidArgument("an operand of rank {}", operand->shape.size());
    if (operand->dtype != x.q->dtype) return InvalidArgument("dtypes {} and {} differ", Name(x.q->dtype), Name(operand->dtype));
  }
  if (!IsFloat(x.q->dtype)) return InvalidArgument("attention of {}", Name(x.q->dtype));
  if (args.Number("dropout_p") != 0) return Unimplemented("attention with dropout; export the model after eval()");
  if (x.mask != nullptr && x.mask->dtype != DType::kBool && x.mask->dtype != x.q->dtype) {
    return InvalidArgument("a mask of {} for queries of {}", Name(x.mask->dtype), Name(x.q->dtype));
  }
  if (x.mask != nullptr && args.Bool("is_causal")) return InvalidArgument("attn_mask and is_causal exclude each other");
  TONDAR_RETURN_IF_ERROR(GroupSize(args, x).status());
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, x.q->shape.back(), x.k->shape.back(), "width of query and key"));
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, *(x.k->shape.end() - 2), *(x.v->shape.end() - 2), "length of key and value"));
  Shape shape = Batch(x.q);
  if (!args.Bool("enable_gqa")) {
    TONDAR_ASSIGN_OR_RETURN(shape, BroadcastAll(node, {Batch(x.q), Batch(x.k), Batch(x.v)}));
  }
  shape.push_back(*(x.q->shape.end() - 2));
  shape.push_back(x.v->shape.back());
  SetOutput(node, 0, x.q->dtype, std::move(shape));
  return OkStatus();
}

// x [batch..., rows, columns] with its batch dims expanded.
Value* WithBatch(LoweringBuilder& builder, Value* x, Shape batch) {
  batch.insert(batch.end(), x->shape.end() - 2, x->shape.end());
  return builder.Expand(x, std::move(batch));
}

// [..., heads, rows, columns] as [..., heads / size, size, rows, columns]; a head extent of 1 stays 1.
Value* SplitHeads(LoweringBuilder& builder, Value* x, int64_t size) {
  Shape shape = x->shape;
  Dim& heads = shape[shape.size() - 3];
  const Dim inner = heads.Is(1) ? Dim(1) : Dim(size);
  heads = Dim::FloorDiv(heads, inner);
  shape.insert(shape.end() - 2, inner);
  return builder.Reshape(x, std::move(shape));
}

// Key and value heads repeat without a copy: the group becomes a batch dim of stride 0.
void GroupHeads(LoweringBuilder& builder, Operands& x, int64_t size) {
  x.q = SplitHeads(builder, x.q, size);
  x.k = builder.Unsqueeze(x.k, -3);
  x.v = builder.Unsqueeze(x.v, -3);
  if (x.mask != nullptr && x.mask->shape.size() >= 3) x.mask = SplitHeads(builder, x.mask, size);
}

Status LowerAttention(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  Operands x = OperandsOf(args);
  TONDAR_ASSIGN_OR_RETURN(const int64_t group, GroupSize(args, x));
  if (args.IsNone("scale") && !x.q->shape.back().IsConstant()) return Unimplemented("attention of dynamic width");
  const double scale = args.IsNone("scale") ? 1 / std::sqrt(static_cast<double>(x.q->shape.back().constant()))
                                            : args.Number("scale");
  if (group != 1) GroupHeads(builder, x, group);
  Shape batch = *BroadcastShapes(*BroadcastShapes(Batch(x.q), Batch(x.k)), Batch(x.v));
  Shape shape = batch;
  shape.push_back(*(x.q->shape.end() - 2));
  shape.push_back(x.v->shape.back());
  std::vector<Value*> inputs = {WithBatch(builder, x.q, batch), WithBatch(builder, x.k, batch),
                                WithBatch(builder, x.v, batch)};
  if (x.mask != nullptr) {
    Shape scores = batch;
    scores.push_back(*(x.q->shape.end() - 2));
    scores.push_back(*(x.k->shape.end() - 2));
    inputs.push_back(builder.Expand(x.mask, scores));
  }
  AttentionStep step{.scale = scale, .causal = args.Bool("is_causal"), .has_mask = x.mask != nullptr,
                     .zero_masked_rows = args.Bool("zero_masked_rows")};
  builder.Replace(0, builder.Reshape(builder.Step(step, inputs, shape, node.outputs[0]->dtype), node.outputs[0]->shape));
  return OkStatus();
}

}  // namespace

std::vector<OpSchema> AttentionOps() {
  OpSchema sdpa{
      .name = "attention",
      .sources = {{"aten.scaled_dot_product_attention.default",
                   "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool "
                   "is_causal=False, *, float? scale=None, bool enable_gqa=False)"},
                  {"aten._scaled_dot_product_flash_attention_for_cpu.default",
                   "(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *, Tensor? "
                   "attn_mask=None, float? scale=None)"},
                  {"aten._scaled_dot_product_flash_attention.default",
                   "(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, bool "
                   "return_debug_mask=False, *, float? scale=None)"},
                  {"aten._scaled_dot_product_efficient_attention.default",
                   "(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float "
                   "dropout_p=0.0, bool is_causal=False, *, float? scale=None)",
                   {{"attn_bias", "attn_mask"}}}},
      // Rows that see no key give zeros, as PyTorch's safe softmax has it; attention written out may not have the guard.
      .signature = "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool "
                   "is_causal=False, *, float? scale=None, bool enable_gqa=False, bool zero_masked_rows=True)"};
  sdpa.infer = InferAttention;
  sdpa.lower = LowerAttention;
  return {std::move(sdpa)};
}

}  // namespace tondar
