// com.microsoft: the fused operators that ONNX Runtime's tools write.
#include <algorithm>

#include "engine/importers/onnx/attention_ops.h"
#include "engine/importers/onnx/op_table.h"

namespace tondar::onnx_format {
namespace {

Value* Number(OpCall& call, std::string_view op, Value* x, double number) { return call.Op(op, {x, nullptr}, {{"other", number}}); }
Value* Sum(OpCall& call, Value* x, Value* y) { return y == nullptr ? x : call.Op("add", {x, y}); }

// --- A plain operator and an activation -----------------------------------------------------------------------------

Value* Activated(OpCall& call, Value* x) {
  const std::string name = call.String("activation", "");
  const std::vector<double> p = call.Floats("activation_params");
  auto parameter = [&](size_t i, std::string_view attribute, double otherwise) {
    return i < p.size() ? p[i] : call.Float(attribute, otherwise);
  };
  if (name.empty()) return x;
  if (name == "Relu") return call.Op("relu", {x});
  if (name == "Sigmoid") return call.Op("sigmoid", {x});
  if (name == "Tanh") return call.Op("tanh", {x});
  if (name == "LeakyRelu") return call.Op("leaky_relu", {x}, {{"negative_slope", parameter(0, "activation_alpha", 0.01)}});
  if (name == "Clip" && p.size() == 2) return call.Op("clamp", {x, nullptr, nullptr}, {{"min", p[0]}, {"max", p[1]}});
  if (name == "HardSigmoid") {
    Value* line = Number(call, "add", Number(call, "mul", x, parameter(0, "activation_alpha", 0.2)), parameter(1, "activation_beta", 0.5));
    return call.Op("clamp", {line, nullptr, nullptr}, {{"min", 0.0}, {"max", 1.0}});
  }
  call.Fail(Unimplemented("activation {}", name));
  return nullptr;
}

// The node as the operator `type` of the standard domain, on its first `count` inputs.
Value* AsStandard(OpCall& call, std::string_view type, size_t count) {
  std::vector<Tensor> tensors(std::min(count, call.inputs()));
  std::vector<Tensor*> inputs;
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].value = call.In(i);
    inputs.push_back(tensors[i].value == nullptr ? nullptr : &tensors[i]);
  }
  if (!call.ok()) return nullptr;
  const OpRow* row = FindOp("", type);
  OpCall inner(call.graph(), call.tensors(), call.node(), 20, std::move(inputs));
  row->add(inner, *row);
  if (!inner.ok()) call.Fail(inner.status());
  return inner.ok() ? inner.results()[0].value : nullptr;
}

void FusedConv(OpCall& call, const OpRow&) {
  call.Give(Activated(call, Sum(call, AsStandard(call, "Conv", 3), call.In(3))));
}
void FusedGemm(OpCall& call, const OpRow&) { call.Give(Activated(call, AsStandard(call, "Gemm", 3))); }

void FusedMatMul(OpCall& call, const OpRow&) {
  if (call.Int("transBatchA", 0) != 0 || call.Int("transBatchB", 0) != 0) return call.Fail(Unimplemented("transposed batches"));
  auto operand = [&](size_t i, std::string_view flag) {
    const size_t rank = call.ShapeOf(i).size();
    if (call.Int(flag, 0) == 0 || rank < 2) return call.In(i);
    return call.Op("transpose", {call.In(i)}, {{"dim0", Dim(-2)}, {"dim1", Dim(-1)}});
  };
  Value* product = call.Op("matmul", {operand(0, "transA"), operand(1, "transB")});
  const double alpha = call.Float("alpha", 1);
  call.Give(alpha == 1 ? product : Number(call, "mul", product, alpha));
}

void Gelu(OpCall& call, const OpRow& row) {
  call.Give(call.Op("gelu", {Sum(call, call.In(0), call.In(1))}, {{"approximate", std::string(row.op)}}));
}

void QuickGelu(OpCall& call, const OpRow&) {
  Value* x = call.In(0);
  call.Give(call.Op("mul", {x, call.Op("sigmoid", {Number(call, "mul", x, call.Float("alpha", 1.702))})}));
}

// --- Normalisation --------------------------------------------------------------------------------------------------

Value* Normalised(OpCall& call, std::string_view op, Value* x, Value* gamma, Value* beta, double epsilon) {
  Attributes attributes{{"normalized_shape", OpCall::Extents(gamma)}, {"eps", epsilon}};
  if (op == "rms_norm") return Sum(call, call.Op(op, {x, gamma}, std::move(attributes)), beta);
  return call.Op(op, {x, gamma, beta}, std::move(attributes));
}

// Inputs: x, what is added to it, gamma, beta (layer norm only), a bias. Result 3 is the sum.
void SkipNorm(OpCall& call, const OpRow& row) {
  const bool layer = row.op == "layer_norm";
  Value* sum = Sum(call, call.Op("add", {call.In(0), call.In(1)}), call.In(layer ? 4 : 3));
  call.Give(Normalised(call, row.op, sum, call.In(2), layer ? call.In(3) : nullptr, call.Float("epsilon", 1e-12)));
  call.Give(sum, 3);
}

// Words, positions and segments looked up, summed and normalised. Inputs: ids, segment ids, the three tables, gamma,
// beta, a mask, position ids. Result 1 is each row's number of words, result 2 the sum.
void EmbedLayerNormalization(OpCall& call, const OpRow&) {
  const Shape ids = call.ShapeOf(0);
  if (ids.size() != 2) return call.Fail(InvalidArgument("ids of rank {}, expected 2", ids.size()));
  Value* sum = call.Op("embedding", {call.In(2), call.In(0)});
  Value* positions = call.Has(8) ? call.Op("embedding", {call.In(3), call.In(8)}) : call.Slice(call.In(3), 0, Dim(0), ids[1]);
  sum = call.Op("add", {sum, positions});
  if (call.Has(1) && call.Has(4)) sum = call.Op("add", {sum, call.Op("embedding", {call.In(4), call.In(1)})});
  call.Give(Normalised(call, "layer_norm", sum, call.In(5), call.In(6), call.Float("epsilon", 1e-12)));
  if (call.Wants(1)) {
    Value* count = call.Has(7) ? call.Op("sum", {call.In(7)}, {{"dim", Shape{Dim(1)}}, {"dtype", DType::kInt32}})
                               : call.Expand(call.Scalar(0, DType::kInt32), {ids[0]});
    call.Give(count, 1);
  }
  call.Give(sum, 2);
}

// --- Attention ------------------------------------------------------------------------------------------------------

// The masks that these operators take: [batch, keys] or [batch, queries, keys] of 0 and 1, or [batch] lengths.
Value* KeyMask(OpCall& call, Value* mask, const Dim& keys) {
  const Shape shape = OpCall::Extents(mask);
  if (mask == nullptr) return nullptr;
  if (shape.size() == 1) {
    Value* at = call.Reshape(call.Op("arange", {}, {{"end", keys}, {"dtype", DType::kInt64}}), {Dim(1), Dim(1), Dim(1), keys});
    return call.Op("lt", {at, call.Cast(call.Reshape(mask, {shape[0], Dim(1), Dim(1), Dim(1)}), DType::kInt64)});
  }
  Value* visible = call.Cast(mask, DType::kBool);
  if (shape.size() == 2) return call.Reshape(visible, {shape[0], Dim(1), Dim(1), shape[1]});
  if (shape.size() == 3) return call.Reshape(visible, {shape[0], Dim(1), shape[1], shape[2]});
  if (shape.size() == 4) return visible;
  call.Fail(Unimplemented("a mask of rank {}", shape.size()));
  return nullptr;
}

// A key mask and a bias that is added to the scores, as one.
void SetMask(OpCall& call, AttentionSpec& spec, Value* mask, Value* bias) {
  const double hidden = call.Float("mask_filter_value", -10000);
  if (bias == nullptr) {
    spec.mask = mask;
    if (mask != nullptr) spec.hidden = hidden;
    return;
  }
  spec.mask = bias;
  if (mask == nullptr) return;
  const DType dtype = bias->dtype;
  spec.mask = call.Op("add", {bias, call.Op("where", {mask, call.Scalar(0, dtype), call.Scalar(hidden, dtype)})});
}

void SetScale(OpCall& call, AttentionSpec& spec) {
  if (const double scale = call.Float("scale", 0); scale != 0) spec.scale = scale;
}

// Inputs: x, the weights of q, k and v side by side, their biases, a mask, past [2, ...], a bias of the scores.
void Attention(OpCall& call, const OpRow&) {
  if (call.Int("do_rotary", 0) != 0) return call.Fail(Unimplemented("do_rotary"));
  const int64_t heads = call.Int("num_heads", 0);
  Value* all = Sum(call, call.Op("matmul", {call.In(0), call.In(1)}), call.In(2));
  const Dim total = OpCall::Extent(all, 2);
  std::vector<int64_t> sizes = call.Ints("qkv_hidden_sizes");
  if (sizes.empty() && total.IsConstant()) sizes.assign(3, total.constant() / 3);
  if (sizes.size() != 3 || OpCall::Rank(all) != 3) return call.Fail(InvalidArgument("weights {}", ToString(call.ShapeOf(1))));
  auto part = [&](int64_t begin, int64_t size) { return SplitHeads(call, call.Slice(all, 2, Dim(begin), Dim(size)), heads); };
  AttentionSpec spec;
  spec.q = part(0, sizes[0]);
  spec.k = part(sizes[0], sizes[1]);
  spec.v = part(sizes[0] + sizes[1], sizes[2]);
  if (call.Has(4)) {
    const Shape past = call.ShapeOf(4);
    auto half = [&](int64_t i) { return call.Reshape(call.Slice(call.In(4), 0, Dim(i), Dim(1)), Shape(past.begin() + 1, past.end())); };
    if (past.size() != 5) return call.Fail(InvalidArgument("past of rank {}", past.size()));
    spec.offset = past[3];
    spec.k = call.Concat({half(0), spec.k}, 2);
    spec.v = call.Concat({half(1), spec.v}, 2);
  }
  spec.causal = call.Int("unidirectional", 0) != 0;
  SetScale(call, spec);
  SetMask(call, spec, KeyMask(call, call.In(3), OpCall::Extent(spec.k, 2)), call.In(5));
  if (call.ok()) call.Give(JoinHeads(call, EmitAttention(call, spec).y));
  if (!call.Wants(1) || !call.ok()) return;
  auto stacked = [&](Value* x) {
    Shape shape = OpCall::Extents(x);
    shape.insert(shape.begin(), Dim(1));
    return call.Reshape(x, shape);
  };
  call.Give(call.Concat({stacked(spec.k), stacked(spec.v)}, 0), 1);
}

// Inputs: query, key, value, their biases side by side, a mask, a bias of the scores, past key and value.
void MultiHeadAttention(OpCall& call, const OpRow&) {
  const int64_t heads = call.Int("num_heads", 0);
  if (!call.Has(1) || !call.Has(2)) return call.Fail(Unimplemented("packed query, key and value"));
  Dim begin(0);
  auto operand = [&](size_t i) {  // 3-d ones have a bias and heads to split, 4-d ones neither
    if (call.ShapeOf(i).size() == 4) return call.In(i);
    const Dim width = call.ShapeOf(i).back();
    Value* x = call.Has(3) ? call.Op("add", {call.In(i), call.Slice(call.In(3), 0, begin, width)}) : call.In(i);
    begin = begin + width;
    return SplitHeads(call, x, heads);
  };
  AttentionSpec spec;
  spec.q = operand(0);
  spec.k = operand(1);
  spec.v = operand(2);
  if (call.Has(6) && call.Has(7)) {
    spec.offset = OpCall::Extent(call.In(6), 2);
    spec.k = call.Concat({call.In(6), spec.k}, 2);
    spec.v = call.Concat({call.In(7), spec.v}, 2);
  }
  spec.causal = call.Int("unidirectional", 0) != 0;
  SetScale(call, spec);
  SetMask(call, spec, KeyMask(call, call.In(4), OpCall::Extent(spec.k, 2)), call.In(5));
  if (!call.ok()) return;
  call.Give(JoinHeads(call, EmitAttention(call, spec).y));
  call.Give(spec.k, 1);
  call.Give(spec.v, 2);
}

// Inputs: x, positions ([batch, length], or [1]: of the first), the caches.
void RotaryEmbedding(OpCall& call, const OpRow&) {
  const Shape shape = call.ShapeOf(0);
  const bool flat = shape.size() == 3;
  if (call.Int("is_packed_batching", 0) != 0) return call.Fail(Unimplemented("packed batches"));
  int64_t heads = call.Int("num_heads", 0);
  const Dim width = call.ShapeOf(2).size() == 2 ? call.ShapeOf(2)[1] * Dim(2) : Dim(0);
  if (flat && heads == 0 && shape[2].IsConstant() && width.IsConstant() && !width.Is(0)) heads = shape[2].constant() / width.constant();
  Value* x = flat ? SplitHeads(call, call.In(0), heads) : call.In(0);
  Value* positions = call.In(1);
  if (call.ShapeOf(1).size() == 1) {
    const Dim length = OpCall::Extent(x, 2);
    Value* along = call.Reshape(call.Op("arange", {}, {{"end", length}, {"dtype", DType::kInt64}}), {Dim(1), length});
    positions = call.Op("add", {along, positions});
  }
  auto cache = [&](size_t i) { return call.Op("embedding", {call.In(i), positions}); };
  Value* y = EmitRotation(call, x, cache(2), cache(3), Dim(call.Int("rotary_embedding_dim", 0)), call.Int("interleaved", 0) != 0);
  call.Give(flat ? JoinHeads(call, y) : y);
}

// --- Weights of few bits --------------------------------------------------------------------------------------------

// Packed constants, the first element in the low bits, as one byte each: [..., n] becomes [..., n * 8 / bits].
Value* Unpacked(OpCall& call, Value* packed, int64_t bits) {
  if (packed == nullptr || !packed->IsConstant() || packed->dtype != DType::kUInt8 || packed->shape.empty()) {
    call.Fail(Unimplemented("packed weights that are no uint8 constant"));
    return nullptr;
  }
  const TensorView& from = packed->constant->view;
  Dims shape = from.shape;
  const int64_t per_byte = 8 / bits, mask = (1 << bits) - 1;
  shape[shape.size() - 1] *= per_byte;
  tondar::Constant to = AllocateConstant(packed->name, DType::kUInt8, shape);
  for (int64_t i = 0; i < from.elements(); ++i) {
    const auto byte = static_cast<int64_t>(from.data[i]);  // constants of a file are contiguous
    for (int64_t j = 0; j < per_byte; ++j) to.view.data[i * per_byte + j] = static_cast<std::byte>(byte >> (j * bits) & mask);
  }
  return call.Constant(std::move(to));
}

// x W^T + bias with W [N, K] in blocks along K. Inputs: x, W [N, blocks, bytes], scales, zero points, group indices, bias.
void MatMulNBits(OpCall& call, const OpRow&) {
  const int64_t bits = call.Int("bits", 4), block = call.Int("block_size", 0), n = call.Int("N", 0), k = call.Int("K", 0);
  if ((bits != 2 && bits != 4 && bits != 8) || block < 1 || n < 1 || k < 1) return call.Fail(Unimplemented("{} bits in blocks of {}", bits, block));
  if (call.Has(4)) return call.Fail(Unimplemented("group indices"));
  const int64_t blocks = (k + block - 1) / block;
  const Dim rows(n), groups(blocks);
  Value* w = call.Cast(call.Reshape(Unpacked(call, call.In(1), bits), {rows, groups, Dim(block)}), DType::kFloat32);
  if (call.Has(3)) {
    Value* zeros = call.In(3);
    if (call.TypeOf(3) == DType::kUInt8) {  // packed row by row
      const int64_t each = (blocks * bits + 7) / 8 * 8 / bits;
      zeros = call.Slice(call.Reshape(Unpacked(call, zeros, bits), {rows, Dim(each)}), 1, Dim(0), groups);
    }
    w = call.Op("sub", {w, call.Cast(call.Reshape(zeros, {rows, groups, Dim(1)}), DType::kFloat32)});
  } else {
    w = Number(call, "sub", w, static_cast<double>(1 << (bits - 1)));
  }
  w = call.Op("mul", {w, call.Cast(call.Reshape(call.In(2), {rows, groups, Dim(1)}), DType::kFloat32)});
  w = call.Slice(call.Reshape(w, {rows, Dim(blocks * block)}), 1, Dim(0), Dim(k));
  call.Give(call.Op("linear", {call.In(0), call.Cast(w, call.TypeOf(0)), call.In(5)}));
}

constexpr OpRow kRows[] = {
    {"Attention", Attention, "", 2, 6},
    {"BiasGelu", Gelu, "none", 2, 2},
    {"EmbedLayerNormalization", EmbedLayerNormalization, "", 7, 9},
    {"FastGelu", Gelu, "tanh", 1, 2},
    {"FusedConv", FusedConv, "", 2, 4},
    {"FusedGemm", FusedGemm, "", 2, 3},
    {"FusedMatMul", FusedMatMul, "", 2, 2},
    {"Gelu", Gelu, "none"},
    {"MatMulNBits", MatMulNBits, "", 3, 6},
    {"MultiHeadAttention", MultiHeadAttention, "", 1, 8},
    {"QuickGelu", QuickGelu},
    {"RotaryEmbedding", RotaryEmbedding, "", 4, 4},
    {"SkipLayerNormalization", SkipNorm, "layer_norm", 3, 5},
    {"SkipSimplifiedLayerNormalization", SkipNorm, "rms_norm", 3, 4},
    {"TransposeMatMul", FusedMatMul, "", 2, 2},
};

}  // namespace

std::span<const OpRow> MicrosoftOps() { return kRows; }

}  // namespace tondar::onnx_format
