// The loop functions for the baseline instruction set.
#include "engine/accelerators/cpu/loop_kernel.h"

namespace tondar::cpu {

constinit const LoopTable kLoopBaseline = MakeLoopTable();

}  // namespace tondar::cpu
