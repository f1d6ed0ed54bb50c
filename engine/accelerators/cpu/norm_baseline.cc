#include "engine/accelerators/cpu/norm_kernel.h"

namespace tondar::cpu {

constinit const NormTable kNormBaseline = kNormFunctions;

}  // namespace tondar::cpu
