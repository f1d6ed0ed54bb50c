// The loop functions for the avx2 instruction set.
#if defined(__AVX2__)  // empty on other architectures
#include "engine/accelerators/cpu/loop_kernel.h"

namespace tondar::cpu {

constinit const LoopTable kLoopAvx2 = MakeLoopTable();

}  // namespace tondar::cpu
#endif
