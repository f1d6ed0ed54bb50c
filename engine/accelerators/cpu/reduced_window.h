// ReducedWindow: where one operand lies for every reduced position, worked out when a launch is bound.
//
// Pools and sums over leading dims visit the same offsets around every output; what is left per position is an addition
// and a comparison per guard.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_REDUCED_WINDOW_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_REDUCED_WINDOW_H_

#include <optional>
#include <vector>

#include "engine/accelerators/cpu/loop_nest.h"

namespace tondar::cpu {

class ReducedWindow {
 public:
  // The window of a program that does no more than load: its operand must be contiguous along the last outer dim, be
  // guarded along other dims only, and lie in memory as tiles hold it. nullopt otherwise, and where there are too many
  // positions for a table.
  static std::optional<ReducedWindow> Make(const LoopProgram& program, std::span<const BoundAccess> accesses, const Nest& nest,
                                           size_t outer);

  // The window around one tile of outputs.
  struct Place {
    const std::byte* base;
    int64_t guards[kMaxRank];
  };
  Place At(const int64_t* index) const;
  // Address of reduced position `position`; null if it is outside the operand.
  const std::byte* Address(const Place& place, int64_t position) const {
    const size_t count = access_.guards.size();
    const int64_t* offsets = guard_offsets_.data() + static_cast<size_t>(position) * count;
    for (size_t g = 0; g < count; ++g) {
      // One unsigned comparison for both borders.
      if (static_cast<uint64_t>(place.guards[g] + offsets[g]) >= static_cast<uint64_t>(access_.guards[g].extent)) return nullptr;
    }
    return place.base + offsets_[static_cast<size_t>(position)];
  }
  double fill() const { return access_.fill; }

 private:
  BoundAccess access_;
  size_t outer_ = 0;
  std::vector<int64_t> offsets_;        // bytes, per reduced position
  std::vector<int64_t> guard_offsets_;  // per reduced position and guard
};

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_REDUCED_WINDOW_H_
