// Which instructions the machine has, and which of them the kernels may use.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_ISA_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_ISA_H_

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace tondar::cpu {

// Each level holds all lower ones. The names are those of `--cpu-isa` and of the kernel files.
enum class IsaLevel : int {
  kBaseline,    // x86-64-v2, or armv8-a
  kAvx2,        // x86-64-v3: AVX2, FMA, F16C
  kAvx512,      // x86-64-v4: F, BW, CD, DQ, VL
  kAvx512Vnni,  // ... and VNNI
  kAvx512Bf16,  // ... and BF16
};
inline constexpr int kIsaLevelCount = 5;

std::string_view Name(IsaLevel level);

// Hint for the choice of tiles, never of instructions.
enum class MicroArchitecture : int { kOther, kIceLake, kSapphireRapids, kZen5 };

struct CpuDescription {
  std::string name;  // "AMD EPYC 9B45"
  IsaLevel highest = IsaLevel::kBaseline;
  MicroArchitecture micro_architecture = MicroArchitecture::kOther;
};

// Asks CPUID, and XGETBV whether the operating system saves the wide registers. Fixed for the life of the process.
const CpuDescription& DescribeCpu();

// The level for an option's text: "auto" is the machine's highest. InvalidArgument: unknown name, lists the known.
// Unavailable: the machine lacks it.
Result<IsaLevel> ChooseIsa(std::string_view option);

// Every level that this machine can run, lowest first. Tests loop over it.
std::vector<IsaLevel> SupportedIsaLevels();

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_ISA_H_
