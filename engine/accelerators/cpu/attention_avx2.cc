#include "engine/accelerators/cpu/attention_kernel.h"

namespace tondar::cpu {

constinit const AttentionTable kAttentionAvx2 = kAttentionFunctions;

}  // namespace tondar::cpu
