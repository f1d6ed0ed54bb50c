// The loop functions for the avx512 instruction set.
#if defined(__AVX512F__)  // empty on other architectures
#include "engine/accelerators/cpu/loop_kernel.h"

namespace tondar::cpu {

constinit const LoopTable kLoopAvx512 = MakeLoopTable();

}  // namespace tondar::cpu
#endif
