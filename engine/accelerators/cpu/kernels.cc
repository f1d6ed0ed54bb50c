#include "engine/accelerators/cpu/kernels.h"

#include "engine/accelerators/cpu/loop_table.h"

namespace tondar::cpu {
namespace {

const LoopTable* LoopTableFor(IsaLevel level) {
#if defined(__x86_64__)
  if (level >= IsaLevel::kAvx512) return &kLoopAvx512;
  if (level >= IsaLevel::kAvx2) return &kLoopAvx2;
#endif
  (void)level;
  return &kLoopBaseline;
}

}  // namespace

CpuKernels KernelsFor(IsaLevel level, MicroArchitecture micro_architecture) {
  CpuKernels kernels;
  kernels.level = level;
  kernels.micro_architecture = micro_architecture;
  kernels.loop = LoopTableFor(level);
  AddLibraryTables(kernels);
  return kernels;
}

}  // namespace tondar::cpu
