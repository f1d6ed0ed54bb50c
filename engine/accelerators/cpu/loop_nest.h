// The concrete iteration space of one launch: accesses as byte strides, and loop dims ordered and merged.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_LOOP_NEST_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_LOOP_NEST_H_

#include <array>
#include <optional>
#include <vector>

#include "engine/accelerators/cpu/loop_table.h"
#include "engine/accelerators/device.h"
#include "engine/plan/loop_program.h"

namespace tondar::cpu {

// One value per loop dim.
using PerDim = std::array<int64_t, kMaxRank + 2>;  // two more for dims of extent 1 that a nest may need

// What a tile of this dtype holds; nullopt if loop steps do not handle it.
std::optional<Lane> LaneOf(DType dtype);
size_t LaneBytes(Lane lane);

// A position along one operand dim that depends on the loop dims alone.
struct AffinePosition {
  PerDim coefficients{};
  int64_t offset = 0;
  int64_t extent = 0;  // of the operand's dim
};

// A position to which an instruction's value is added.
struct DynamicPosition {
  AffinePosition affine;
  int16_t instruction = -1;
  int64_t stride_bytes = 0;
  bool guarded = false;
};

struct BoundAccess {
  const std::byte* base = nullptr;  // of the element where all loop dims are 0; dynamic parts left out
  DType dtype = DType::kInvalid;
  int64_t element_bytes = 0;
  PerDim strides{};                    // bytes per step of a loop dim
  std::vector<AffinePosition> guards;  // only those that can fail
  std::vector<DynamicPosition> dynamics;
  double fill = 0;

  bool IsAffine() const { return guards.empty() && dynamics.empty(); }
};

struct BoundOutput {
  std::byte* base = nullptr;
  DType dtype = DType::kInvalid;
  int64_t element_bytes = 0;
  PerDim strides{};  // bytes
};

// Internal: rank mismatch, or an unguarded access that leaves its operand.
Result<BoundAccess> BindAccess(const Access& access, const KernelArguments& arguments, const Dims& extents);
Result<std::vector<BoundAccess>> BindAccesses(const LoopProgram& program, const KernelArguments& arguments,
                                              const Dims& extents);
// Output whose dims are the first loop dims.
BoundOutput BindOutput(const DeviceTensor& output);

// Loop dims after ordering and merging. A merged dim stands for the dims it was made of; `original` is the innermost.
struct NestDim {
  int64_t extent = 1;
  int original = -1;
};
using Nest = std::vector<NestDim>;

// Drops dims of extent 1 and merges neighbours of a group where every access, guard and output steps evenly across
// both. Groups are lists of loop dims, outermost first. `kept` dims (bit mask) are never merged.
class NestBuilder {
 public:
  explicit NestBuilder(const Dims& extents) : extents_(extents) {}
  void Add(std::span<const BoundAccess> accesses);
  void Add(const BoundOutput& output) { vectors_.push_back(output.strides); }
  void KeepIndexed(const LoopProgram& program);  // dims that kIndex reads
  // Dims of `group` sorted by the output's strides, largest first.
  static std::vector<int> OrderByStride(std::vector<int> group, const PerDim& strides);
  // Appends the merged dims of a group to `nest`.
  void Append(std::span<const int> group, Nest& nest) const;

 private:
  bool CanMerge(int outer, int inner, int64_t inner_extent) const;

  Dims extents_;
  std::vector<PerDim> vectors_;  // everything that is linear in the loop dims
  unsigned kept_ = 0;
};

// Renumbers from loop dims to positions in the nest.
PerDim Permute(const PerDim& values, const Nest& nest);
BoundAccess Permute(BoundAccess access, const Nest& nest);
BoundOutput Permute(BoundOutput output, const Nest& nest);

inline int64_t Dot(const PerDim& a, const int64_t* index, size_t rank) {
  int64_t sum = 0;
  for (size_t d = 0; d < rank; ++d) sum += a[d] * index[d];
  return sum;
}

// Counts through a box row-major; used where the trip count is known.
struct Odometer {
  // Steps `index` over the dims [begin, end) of the nest; returns false after the last position, with zeros.
  static bool Next(const Nest& nest, size_t begin, size_t end, int64_t* index) {
    for (size_t d = end; d-- > begin;) {
      if (++index[d] < nest[d].extent) return true;
      index[d] = 0;
    }
    return false;
  }
  // Position number `linear` of those dims.
  static void Seek(const Nest& nest, size_t begin, size_t end, int64_t linear, int64_t* index) {
    for (size_t d = end; d-- > begin;) {
      index[d] = linear % nest[d].extent;
      linear /= nest[d].extent;
    }
  }
};
int64_t Count(const Nest& nest, size_t begin, size_t end);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_LOOP_NEST_H_
