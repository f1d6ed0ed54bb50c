#include "engine/accelerators/cpu/norm_kernel.h"

namespace tondar::cpu {

constinit const NormTable kNormAvx2 = kNormFunctions;

}  // namespace tondar::cpu
