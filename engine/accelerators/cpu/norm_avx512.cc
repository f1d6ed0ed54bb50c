#include "engine/accelerators/cpu/norm_kernel.h"

namespace tondar::cpu {

constinit const NormTable kNormAvx512 = kNormFunctions;

}  // namespace tondar::cpu
