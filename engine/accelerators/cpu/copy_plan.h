// CopyPlan: moves elements from one strided layout to another; the map steps that compute nothing.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_COPY_PLAN_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_COPY_PLAN_H_

#include "engine/accelerators/cpu/cpu_kernel.h"
#include "engine/accelerators/cpu/loop_nest.h"
#include "engine/accelerators/cpu/loop_table.h"

namespace tondar::cpu {

// Value type. Rows are copied whole where both sides are contiguous; transposed in blocks where each side is contiguous
// along another dim; else gathered.
class CopyPlan {
 public:
  // `nest` is ordered by the output's strides. The access is affine and of the output's element size.
  static CopyPlan Make(const Nest& nest, const BoundAccess& from, const BoundOutput& to, const LoopTable& table);
  void Run(RunContext& context) const;

 private:
  enum class Form : uint8_t { kRows, kTranspose, kGather };
  void RunMember(int member, int members) const;
  void RunAt(const int64_t* index, int64_t begin, int64_t end) const;

  Form form_ = Form::kRows;
  const LoopTable* table_ = nullptr;
  int size_log2_ = 0;
  Nest outer_;        // the dims that are looped over
  int64_t outer_count_ = 1;
  PerDim from_strides_{}, to_strides_{};  // of the outer dims, bytes
  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  int64_t columns_ = 1, from_column_ = 0, to_column_ = 0;  // the output's innermost dim: extent, strides in bytes
  int64_t rows_ = 1, to_row_ = 0;                          // kTranspose: the input's innermost dim
  bool parallel_ = false;
};

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_COPY_PLAN_H_
