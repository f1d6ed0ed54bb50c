// Sums, means and maxima of bags of embeddings, whose bounds are data.
#include <cmath>
#include <limits>

#include "engine/ops/families.h"
#include "engine/ops/index_plan.h"
#include "engine/ops/inference.h"
#include "engine/ops/scatter.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;

enum class BagMode { kSum, kMean, kMax };

Access At(int operand, int loop_dim) { return {static_cast<int16_t>(operand), {IndexExpression::LoopDim(loop_dim)}, 0}; }

Status InferEmbeddingBag(Node& node) {
  const Arguments args(node);
  const Value *weight = args.Tensor("weight"), *indices = args.Tensor("indices"), *offsets = args.Tensor("offsets");
  const Value* scales = args.Tensor("per_sample_weights");
  TONDAR_RETURN_IF_ERROR(CheckIndex(indices));
  TONDAR_RETURN_IF_ERROR(CheckIndex(offsets));
  if (weight->shape.size() != 2 || indices->shape.size() != 1 || offsets->shape.size() != 1) {
    return InvalidArgument("weight, indices and offsets of ranks {}, {} and {}, expected 2, 1 and 1", weight->shape.size(),
                           indices->shape.size(), offsets->shape.size());
  }
  const int64_t mode = args.Int("mode");
  if (mode < 0 || mode > 2) return InvalidArgument("mode {}, expected 0 (sum), 1 (mean) or 2 (max)", mode);
  if (scales != nullptr && mode != 0) return InvalidArgument("per_sample_weights need mode 0 (sum), found {}", mode);
  if (scales != nullptr) {
    if (scales->shape.size() != 1) return InvalidArgument("per_sample_weights of rank {}, expected 1", scales->shape.size());
    TONDAR_RETURN_IF_ERROR(AssumeEqual(node, scales->shape[0], indices->shape[0], "per_sample_weights and indices"));
  }
  const Dim bags = offsets->shape[0] - Dim(args.Bool("include_last_offset") ? 1 : 0);
  SetOutput(node, 0, weight->dtype, {bags, weight->shape[1]});
  return OkStatus();
}

// One more than the number of each index's bag: how many offsets lie at or before it. int64 [indices].
Value* BagNumbers(LoweringBuilder& builder, Value* offsets, const Dim& indices) {
  Value* begins = EmitCounts(builder, {indices + Dim(1)}, {offsets}, offsets->shape, [&](LoopBuilder& b) {
    return ScatterPoint{-1, {b.Load(At(1, 0), offsets->dtype)}};
  });
  begins = builder.Slice(begins, 0, Dim(0), indices);
  LoopBuilder b;
  b.Result(b.Load(At(0, 0), DType::kInt64));
  ScanStep scan{.extents = {indices}, .op = ReduceOp::kSum, .accumulator = DType::kInt64, .program = std::move(b).Build()};
  return builder.Step(std::move(scan), {begins}, {indices}, DType::kInt64);
}

class BagLowering {
 public:
  BagLowering(const Node& node, LoweringBuilder& builder)
      : builder_(builder), args_(node), mode_(static_cast<BagMode>(args_.Int("mode"))),
        padding_(args_.IsNone("padding_idx") ? -1 : args_.Int("padding_idx")), weight_(args_.Tensor("weight")),
        indices_(args_.Tensor("indices")), bags_(node.outputs[0]->shape[0]) {}

  // Row 0 takes what lies before the first offset; with include_last_offset the last row takes what lies behind.
  Value* Run() {
    Value* offsets = args_.Tensor("offsets");
    numbers_ = BagNumbers(builder_, offsets, indices_->shape[0]);
    rows_ = offsets->shape[0] + Dim(1);
    Value* bags = Reduce();
    return builder_.Cast(mode_ == BagMode::kSum ? bags : Finish(bags, Sizes()), weight_->dtype);
  }

 private:
  DType compute() const { return ComputeDType(weight_->dtype); }

  Value* Reduce() {
    const bool max = mode_ == BagMode::kMax;
    const double neutral = max ? -std::numeric_limits<double>::infinity() : 0;
    std::vector<Value*> operands = {numbers_, indices_, weight_};
    if (Value* scales = args_.Tensor("per_sample_weights")) operands.push_back(scales);
    const Shape extents = {indices_->shape[0], weight_->shape[1]};
    Value* base = builder_.Full(neutral, compute(), {rows_, weight_->shape[1]});
    return Kept(EmitScatter(builder_, base, operands, extents, max ? ScatterOp::kMax : ScatterOp::kAdd, [&](LoopBuilder& b) {
      const Handle index = b.NotFromEnd(b.Load(At(2, 0), indices_->dtype));
      const Access row{3, {IndexExpression::Dynamic(index), IndexExpression::LoopDim(1)}, 0};
      Handle value = b.Cast(b.Load(row, weight_->dtype), compute());
      if (operands.size() > 3) value = b.Binary(LoopOp::kMul, value, b.Cast(b.Load(At(4, 0), operands[3]->dtype), compute()));
      if (padding_ >= 0) value = b.Select(IsPadding(b, index), b.Constant(neutral, compute()), value);
      return ScatterPoint{value, {b.Load(At(1, 0), DType::kInt64), b.Index(1)}};
    }));
  }

  Handle IsPadding(LoopBuilder& b, Handle index) const {
    return b.Binary(LoopOp::kEq, index, b.ConstantInteger(padding_, b.dtype(index)));
  }

  // How many indices each bag has, padding left out.
  Value* Sizes() {
    Value* base = builder_.Full(0, DType::kInt64, {rows_});
    return Kept(EmitScatter(builder_, base, {numbers_, indices_}, indices_->shape, ScatterOp::kAdd, [&](LoopBuilder& b) {
      const Handle one = b.ConstantInteger(1, DType::kInt64), zero = b.ConstantInteger(0, DType::kInt64);
      const Handle counted = padding_ < 0 ? one : b.Select(IsPadding(b, b.Load(At(2, 0), indices_->dtype)), zero, one);
      return ScatterPoint{counted, {b.Load(At(1, 0), DType::kInt64)}};
    }));
  }

  Value* Kept(Value* rows) { return builder_.Slice(rows, 0, Dim(1), bags_); }

  // Empty bags are zeros.
  Value* Finish(Value* bags, Value* sizes) {
    const bool max = mode_ == BagMode::kMax;
    return builder_.Map({bags, builder_.Unsqueeze(sizes, 1)}, [&](LoopBuilder& b, std::span<const Handle> x) {
      const Handle zero = b.ConstantInteger(0, DType::kInt64), one = b.ConstantInteger(1, DType::kInt64);
      if (max) return b.Select(b.Binary(LoopOp::kGt, x[1], zero), x[0], b.Constant(0, compute()));
      return b.Binary(LoopOp::kDiv, x[0], b.Cast(b.Binary(LoopOp::kMax, x[1], one), compute()));
    });
  }

  LoweringBuilder& builder_;
  const Arguments args_;
  const BagMode mode_;
  const int64_t padding_;  // -1: none
  Value *weight_, *indices_, *numbers_ = nullptr;
  const Dim bags_;
  Dim rows_;
};

Status LowerEmbeddingBag(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, BagLowering(node, builder).Run());
  return OkStatus();
}

// Here a padding index below zero counts from the end, where the inner operator has -1 for none.
Status WrapPadding(Node& node, const Attributes& arguments) {
  const auto padding = arguments.find("padding_idx");
  const Dim* given = padding == arguments.end() ? nullptr : std::get_if<Dim>(&padding->second);
  if (given == nullptr || !given->IsConstant() || given->constant() >= 0) return OkStatus();
  const Dim wrapped = *given + node.inputs[0]->shape[0];
  if (!wrapped.IsConstant()) return Unimplemented("padding_idx {} of a dynamic number of embeddings", given->constant());
  node.attributes["padding_idx"] = wrapped;
  return OkStatus();
}

}  // namespace

std::vector<OpSchema> EmbeddingBagOps() {
  const std::string common =
      "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
      "Tensor? per_sample_weights=None, bool include_last_offset=False";
  OpSchema bag{.name = "embedding_bag", .sources = {}, .signature = ""};
  bag.signature = "(Tensor weight, Tensor indices, Tensor offsets, int mode=0, Tensor? per_sample_weights=None, "
                  "bool include_last_offset=False, int? padding_idx=None)";
  bag.sources = {{"aten.embedding_bag.default", common + ")"},
                 {"aten.embedding_bag.padding_idx",
                  "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, "
                  "Tensor? per_sample_weights, bool include_last_offset, int? padding_idx)", {}, WrapPadding},
                 {"aten._embedding_bag.default", common + ", int padding_idx=-1)"},
                 {"aten._embedding_bag_forward_only.default", common + ", int padding_idx=-1)"}};
  bag.infer = InferEmbeddingBag;
  bag.lower = LowerEmbeddingBag;
  return {bag};
}

}  // namespace tondar
