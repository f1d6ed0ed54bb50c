// Makers of the kernels that write or order by index: scatter and sort. Rows of step_table.cc.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_INDEX_KERNELS_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_INDEX_KERNELS_H_

#include "engine/accelerators/cpu/cpu_kernel.h"

namespace tondar::cpu {

Status SupportsScatter(const Step& step);
Status SupportsSort(const Step& step);

Result<std::unique_ptr<CpuKernel>> MakeScatterKernel(const Step&, std::span<const Constant* const>, const CpuKernels&);
Result<std::unique_ptr<CpuKernel>> MakeSortKernel(const Step&, std::span<const Constant* const>, const CpuKernels&);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_INDEX_KERNELS_H_
