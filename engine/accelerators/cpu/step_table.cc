// Which step kinds this backend runs, and what makes their kernels.
#include "engine/accelerators/cpu/cpu_kernel.h"
#include "engine/accelerators/cpu/index_kernels.h"
#include "engine/accelerators/cpu/library_kernels.h"
#include "engine/accelerators/cpu/loop_support.h"

namespace tondar::cpu {
namespace {

constexpr StepRow kRows[] = {
    {StepKind::kMap, SupportsLoopStep, MakeMapKernel},
    {StepKind::kReduce, SupportsLoopStep, MakeReduceKernel},
    {StepKind::kScan, SupportsLoopStep, MakeScanKernel},
    {StepKind::kMatMul, SupportsMatMul, MakeMatMulKernel},
    {StepKind::kConv, SupportsConv, MakeConvKernel},
    {StepKind::kAttention, SupportsAttention, MakeAttentionKernel},
    {StepKind::kNorm, SupportsNorm, MakeNormKernel},
    {StepKind::kScatter, SupportsScatter, MakeScatterKernel},
    {StepKind::kSort, SupportsSort, MakeSortKernel},
    {StepKind::kLinalg, SupportsLinalg, MakeLinalgKernel},
};

}  // namespace

const StepRow* FindStepRow(StepKind kind) {
  for (const StepRow& row : kRows) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

}  // namespace tondar::cpu
