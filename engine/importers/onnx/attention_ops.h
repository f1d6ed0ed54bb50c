// Attention as several domains spell it.
#ifndef TONDAR_ENGINE_IMPORTERS_ONNX_ATTENTION_OPS_H_
#define TONDAR_ENGINE_IMPORTERS_ONNX_ATTENTION_OPS_H_

#include <optional>

#include "engine/importers/onnx/op_call.h"

namespace tondar::onnx_format {

// What softmax(scale q k^T + bias) v needs, in any domain's spelling.
struct AttentionSpec {
  Value *q = nullptr, *k = nullptr, *v = nullptr;  // [batch, heads, length, width]; k and v may have fewer heads
  Value* mask = nullptr;       // bool (true: attend) or float (added); broadcasts to [batch, heads, q length, k length]
  bool causal = false;         // key j is visible to query i iff j <= i + offset
  Dim offset;                  // keys before the first query
  std::optional<double> scale; // 1 / sqrt(width) if absent
  double softcap = 0;          // above 0: scores are softcap tanh(scores / softcap)
  int64_t left_window = -1, right_window = -1;  // how far from itself a query sees; -1: to the end
  double hidden = 0;           // 0: a masked score is -inf; else this finite number
};

// The scores at the stages that models may ask for; null where the fused form was taken.
struct AttentionResult {
  Value* y = nullptr;  // [batch, heads, q length, v width]
  Value *raw = nullptr, *masked = nullptr, *capped = nullptr, *probabilities = nullptr;
};

// `keep_scores`: write the formula out, so that the stages are there.
AttentionResult EmitAttention(OpCall& call, AttentionSpec spec, bool keep_scores = false);

// [batch, length, heads * width] as [batch, heads, length, width], and back.
Value* SplitHeads(OpCall& call, Value* x, int64_t heads);
Value* JoinHeads(OpCall& call, Value* x);

// x [batch, heads, length, width] rotated by position, its first `rotated` columns (0: all). cos and sin:
// [batch or 1, length, rotated / 2]. Pairs are neighbours if `interleaved`, else a column of each half.
Value* EmitRotation(OpCall& call, Value* x, Value* cos, Value* sin, const Dim& rotated, bool interleaved);

}  // namespace tondar::onnx_format

#endif  // TONDAR_ENGINE_IMPORTERS_ONNX_ATTENTION_OPS_H_
