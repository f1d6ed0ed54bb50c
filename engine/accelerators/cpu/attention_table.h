// AttentionTable: the row functions of attention beside its two products, one table per instruction set.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_ATTENTION_TABLE_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_ATTENTION_TABLE_H_

#include <cstdint>

namespace tondar::cpu {

// Turns one row of scores into e^(scale * score + mask - maximum), in place.
struct ScoreRow {
  float* scores;
  int64_t keys;         // visible ones
  int64_t padded_keys;  // scores behind the visible ones, up to here, become 0
  float scale;
  const float* mask;  // added, `keys` elements; null for none
};

struct AttentionTable {
  // Gives 1 / sum of the row; 0 with a row of zeros if no key is visible (all scores are -inf).
  float (*softmax)(const ScoreRow& row);
  // out[i] = in[i] * factor.
  void (*scale)(const float* in, float factor, int64_t count, float* out);
  // out[i] = visible[i] ? 0 : -inf.
  void (*bool_mask)(const uint8_t* visible, int64_t count, float* out);
};

extern const AttentionTable kAttentionBaseline, kAttentionAvx2, kAttentionAvx512;

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_ATTENTION_TABLE_H_
