#include "engine/importers/onnx/attention_ops.h"

#include <cmath>
#include <limits>

#include "engine/importers/onnx/op_table.h"

namespace tondar::onnx_format {
namespace {

Value* Number(OpCall& call, std::string_view op, Value* x, double number) { return call.Op(op, {x, nullptr}, {{"other", number}}); }

// [q length, k length]: i - j + offset, the distance back from query i to key j.
Value* Distance(OpCall& call, const AttentionSpec& spec) {
  const Dim rows = OpCall::Extent(spec.q, 2), columns = OpCall::Extent(spec.k, 2);
  auto range = [&](const Dim& from, const Dim& extent, Shape shape) {
    return call.Reshape(call.Op("arange", {}, {{"start", from}, {"end", from + extent}, {"dtype", DType::kInt64}}), std::move(shape));
  };
  return call.Op("sub", {range(spec.offset, rows, {rows, Dim(1)}), range(Dim(0), columns, {Dim(1), columns})});
}

// Which keys a query sees by place alone; null: all.
Value* Visible(OpCall& call, const AttentionSpec& spec) {
  const bool anywhere = !spec.causal && spec.left_window < 0 && spec.right_window < 0;
  if (anywhere || !call.ok()) return nullptr;
  Value* distance = Distance(call, spec);
  Value* visible = nullptr;
  auto require = [&](std::string_view op, int64_t bound) {
    Value* inside = call.Op(op, {distance, nullptr}, {{"other", Dim(bound)}});
    visible = visible == nullptr ? inside : call.Op("logical_and", {visible, inside});
  };
  if (spec.causal) require("ge", 0);
  if (spec.left_window >= 0) require("le", spec.left_window);
  if (spec.right_window >= 0) require("ge", -spec.right_window);
  return visible;
}

// A bool mask as what is added to scores.
Value* Bias(OpCall& call, Value* mask, DType dtype, double hidden) {
  if (mask == nullptr || mask->dtype != DType::kBool) return call.Cast(mask, dtype);
  const double low = hidden != 0 ? hidden : -std::numeric_limits<double>::infinity();
  return call.Op("where", {mask, call.Scalar(0, dtype), call.Scalar(low, dtype)});
}

// Both conditions in one mask: bool where both are, else added.
Value* Combined(OpCall& call, Value* mask, Value* visible, DType dtype, double hidden) {
  if (mask == nullptr) return visible == nullptr || hidden == 0 ? visible : Bias(call, visible, dtype, hidden);
  if (visible == nullptr) return mask->dtype == DType::kBool && hidden == 0 ? mask : Bias(call, mask, dtype, hidden);
  if (mask->dtype == DType::kBool && hidden == 0) return call.Op("logical_and", {mask, visible});
  return call.Op("add", {Bias(call, mask, dtype, hidden), Bias(call, visible, dtype, hidden)});
}

// Each key head repeated for its group of query heads.
Value* Repeated(OpCall& call, Value* x, const Dim& heads) {
  const Shape shape = OpCall::Extents(x);
  if (x == nullptr || shape[1] == heads) return x;
  const Dim group = Dim::FloorDiv(heads, shape[1]);
  Value* split = call.Reshape(x, {shape[0], shape[1], Dim(1), shape[2], shape[3]});
  return call.Reshape(call.Expand(split, {shape[0], shape[1], group, shape[2], shape[3]}), {shape[0], heads, shape[2], shape[3]});
}

// The formula, stage by stage.
AttentionResult WriteOut(OpCall& call, const AttentionSpec& spec, Value* mask) {
  AttentionResult result;
  const DType dtype = spec.q == nullptr ? DType::kFloat32 : spec.q->dtype;
  const Dim heads = OpCall::Extent(spec.q, 1);
  Value *k = Repeated(call, spec.k, heads), *v = Repeated(call, spec.v, heads);
  Value* scores = Number(call, "mul", call.Op("matmul", {spec.q, call.Permute(k, {0, 1, 3, 2})}), *spec.scale);
  result.raw = scores;
  if (spec.softcap > 0) scores = Number(call, "mul", call.Op("tanh", {Number(call, "div", scores, spec.softcap)}), spec.softcap);
  result.capped = scores;
  if (mask != nullptr) scores = call.Op("add", {scores, Bias(call, mask, dtype, spec.hidden)});
  result.masked = scores;
  Value* p = call.Op("softmax", {scores}, {{"dim", Dim(-1)}});
  if (mask != nullptr && spec.hidden == 0) p = call.Op("where", {call.Op("isnan", {p}), call.Scalar(0, dtype), p});
  result.probabilities = p;
  result.y = call.Op("matmul", {p, v});
  return result;
}

}  // namespace

AttentionResult EmitAttention(OpCall& call, AttentionSpec spec, bool keep_scores) {
  if (OpCall::Rank(spec.q) != 4 || OpCall::Rank(spec.k) != 4 || OpCall::Rank(spec.v) != 4) {
    call.Fail(InvalidArgument("operands of rank {}, {}, {}, expected 4", OpCall::Rank(spec.q), OpCall::Rank(spec.k), OpCall::Rank(spec.v)));
    return {};
  }
  const Dim width = spec.q->shape[3];
  if (!spec.scale && !width.IsConstant()) {
    call.Fail(Unimplemented("attention of dynamic width"));
    return {};
  }
  if (!spec.scale) spec.scale = 1 / std::sqrt(static_cast<double>(width.constant()));
  const bool plain = !keep_scores && spec.softcap <= 0;
  // The step's own causal form has no offset.
  const bool own_causal = plain && spec.causal && spec.mask == nullptr && spec.offset.Is(0) && spec.left_window < 0 && spec.right_window < 0;
  Value* mask = own_causal ? nullptr : Combined(call, spec.mask, Visible(call, spec), spec.q->dtype, spec.hidden);
  if (!plain) return WriteOut(call, spec, mask);
  const bool grouped = !(spec.q->shape[1] == spec.k->shape[1]);
  return {.y = call.Op("attention", {spec.q, spec.k, spec.v, mask},
                       {{"is_causal", own_causal}, {"scale", *spec.scale}, {"enable_gqa", grouped}, {"zero_masked_rows", true}})};
}

Value* SplitHeads(OpCall& call, Value* x, int64_t heads) {
  const Shape shape = OpCall::Extents(x);
  if (shape.size() != 3 || heads < 1) {
    call.Fail(InvalidArgument("a tensor of rank {} for {} heads", shape.size(), heads));
    return nullptr;
  }
  const Shape split = {shape[0], shape[1], Dim(heads), Dim::FloorDiv(shape[2], Dim(heads))};
  return call.Permute(call.Reshape(x, split), {0, 2, 1, 3});
}

Value* JoinHeads(OpCall& call, Value* x) {
  if (x == nullptr) return nullptr;
  const Shape s = x->shape;
  return call.Reshape(call.Permute(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

Value* EmitRotation(OpCall& call, Value* x, Value* cos, Value* sin, const Dim& rotated, bool interleaved) {
  if (OpCall::Rank(x) != 4) return nullptr;
  const Shape s = x->shape;
  const Dim width = rotated.Is(0) ? s[3] : rotated, half = Dim::FloorDiv(width, Dim(2));
  Value* part = call.Slice(x, 3, Dim(0), width);
  Value *a = nullptr, *b = nullptr;
  if (interleaved) {
    Value* pairs = call.Reshape(part, {s[0], s[1], s[2], half, Dim(2)});
    a = call.Reshape(call.Slice(pairs, 4, Dim(0), Dim(1)), {s[0], s[1], s[2], half});
    b = call.Reshape(call.Slice(pairs, 4, Dim(1), Dim(1)), {s[0], s[1], s[2], half});
  } else {
    a = call.Slice(part, 3, Dim(0), half);
    b = call.Slice(part, 3, half, half);
  }
  auto wide = [&](Value* cache) {
    const Shape c = OpCall::Extents(cache);
    return c.size() == 3 ? call.Reshape(cache, {c[0], Dim(1), c[1], c[2]}) : cache;
  };
  cos = wide(cos), sin = wide(sin);
  Value* real = call.Op("sub", {call.Op("mul", {cos, a}), call.Op("mul", {sin, b})});
  Value* imaginary = call.Op("add", {call.Op("mul", {sin, a}), call.Op("mul", {cos, b})});
  Value* turned = nullptr;
  if (interleaved) {
    const Shape column = {s[0], s[1], s[2], half, Dim(1)};
    turned = call.Reshape(call.Concat({call.Reshape(real, column), call.Reshape(imaginary, column)}, 4), {s[0], s[1], s[2], width});
  } else {
    turned = call.Concat({real, imaginary}, 3);
  }
  if (width == s[3]) return turned;
  return call.Concat({turned, call.Slice(x, 3, width, s[3] - width)}, 3);
}

namespace {

// A mask that covers fewer keys than there are hides the rest.
Value* WholeMask(OpCall& call, Value* mask, const Dim& keys) {
  const size_t rank = OpCall::Rank(mask);
  if (rank == 0 || mask->shape.back() == keys || mask->shape.back().Is(1)) return mask;
  const Dim missing = keys - mask->shape.back();
  if (missing.RangeOver(call.graph().symbols).min <= 0 && !missing.IsConstant()) return mask;  // taken as equal
  const double hidden = mask->dtype == DType::kBool ? 0 : -std::numeric_limits<double>::infinity();
  return call.Op("constant_pad", {mask}, {{"pad", Shape{Dim(0), missing}}, {"value", hidden}});
}

// Keys from nonpad_kv_seqlen[b] on are padding.
Value* WithoutPadding(OpCall& call, Value* mask, Value* lengths, const Value* k) {
  const Dim keys = OpCall::Extent(k, 2);
  Value* at = call.Reshape(call.Op("arange", {}, {{"end", keys}, {"dtype", DType::kInt64}}), {Dim(1), Dim(1), Dim(1), keys});
  Value* real = call.Op("lt", {at, call.Reshape(lengths, {OpCall::Extent(lengths, 0), Dim(1), Dim(1), Dim(1)})});
  if (mask == nullptr) return real;
  if (mask->dtype == DType::kBool) return call.Op("logical_and", {mask, real});
  return call.Op("add", {mask, Bias(call, real, mask->dtype, 0)});
}

// Inputs: q, k, v, mask, past key and value, lengths without padding.
void Attention(OpCall& call, const OpRow&) {
  const bool flat = call.ShapeOf(0).size() == 3;
  auto heads = [&](size_t i, std::string_view count) { return flat ? SplitHeads(call, call.In(i), call.Int(count, 0)) : call.In(i); };
  AttentionSpec spec;
  spec.q = heads(0, "q_num_heads");
  spec.k = heads(1, "kv_num_heads");
  spec.v = heads(2, "kv_num_heads");
  if (call.Has(4)) {
    spec.offset = OpCall::Extent(call.In(4), 2);
    spec.k = call.Concat({call.In(4), spec.k}, 2);
    spec.v = call.Concat({call.In(5), spec.v}, 2);
  }
  if (call.HasAttribute("scale")) spec.scale = call.Float("scale", 1);
  spec.causal = call.Int("is_causal", 0) != 0;
  spec.softcap = call.Float("softcap", 0);
  spec.left_window = call.Int("left_window_size", -1);
  spec.right_window = call.Int("right_window_size", -1);
  spec.mask = WholeMask(call, call.In(3), OpCall::Extent(spec.k, 2));
  if (call.Has(6) && (spec.causal || spec.left_window >= 0 || spec.right_window >= 0)) {
    return call.Fail(Unimplemented("a causal mask or a window with nonpad_kv_seqlen"));
  }
  if (call.Has(6)) spec.mask = WithoutPadding(call, spec.mask, call.In(6), spec.k);
  if (!call.ok()) return;
  const int64_t stage = call.Int("qk_matmul_output_mode", 0);
  const AttentionResult result = EmitAttention(call, spec, call.Wants(3));
  call.Give(flat ? JoinHeads(call, result.y) : result.y);
  call.Give(spec.k, 1);
  call.Give(spec.v, 2);
  Value* const stages[] = {result.raw, result.capped, result.masked, result.probabilities};
  if (stage >= 0 && stage < 4) call.Give(stages[stage], 3);
}

// Inputs: x, the caches of cosines and sines, positions.
void RotaryEmbedding(OpCall& call, const OpRow&) {
  const bool flat = call.ShapeOf(0).size() == 3;
  Value* x = flat ? SplitHeads(call, call.In(0), call.Int("num_heads", 0)) : call.In(0);
  auto cache = [&](size_t i) { return call.Has(3) ? call.Op("embedding", {call.In(i), call.In(3)}) : call.In(i); };
  Value* y = EmitRotation(call, x, cache(1), cache(2), Dim(call.Int("rotary_embedding_dim", 0)), call.Int("interleaved", 0) != 0);
  call.Give(flat ? JoinHeads(call, y) : y);
}

constexpr OpRow kRows[] = {
    {"Attention", Attention, "", 3, 7},
    {"RotaryEmbedding", RotaryEmbedding, "", 3, 4},
};

}  // namespace

std::span<const OpRow> AttentionOps() { return kRows; }

}  // namespace tondar::onnx_format
