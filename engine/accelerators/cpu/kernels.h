// CpuKernels: the dispatch table, filled once from the chosen instruction set; kernels reach vector code only by it.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_KERNELS_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_KERNELS_H_

#include "engine/accelerators/cpu/isa.h"

namespace tondar::cpu {

struct LoopTable;
struct GemmTable;
struct DepthwiseTile;
struct AttentionTable;
struct NormTable;

// Tables of plain function pointers, each with static storage. One row per family: a new family adds its table here
// and its choice in KernelsFor.
struct CpuKernels {
  IsaLevel level = IsaLevel::kBaseline;
  MicroArchitecture micro_architecture = MicroArchitecture::kOther;
  const LoopTable* loop = nullptr;  // loop_table.h
  const GemmTable* gemm = nullptr;  // gemm.h
  void (*depthwise)(const DepthwiseTile& tile) = nullptr;  // depthwise.h
  const AttentionTable* attention = nullptr;               // attention_table.h
  const NormTable* norm = nullptr;                         // norm_table.h
};

// The table for a level that the machine supports.
CpuKernels KernelsFor(IsaLevel level, MicroArchitecture micro_architecture);

// KernelsFor's part for the library kernels; library_kernels.cc.
void AddLibraryTables(CpuKernels& kernels);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_KERNELS_H_
