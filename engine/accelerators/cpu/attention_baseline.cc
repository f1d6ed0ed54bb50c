#include "engine/accelerators/cpu/attention_kernel.h"

namespace tondar::cpu {

constinit const AttentionTable kAttentionBaseline = kAttentionFunctions;

}  // namespace tondar::cpu
