// SegmentPlan: everything a session needs to run one segment of a graph for one set of sizes.
#ifndef TONDAR_ENGINE_RUNTIME_SEGMENT_PLAN_H_
#define TONDAR_ENGINE_RUNTIME_SEGMENT_PLAN_H_

#include <memory>
#include <vector>

#include "engine/runtime/prepared_graph.h"

namespace tondar {

// Where a session's memory lies: one arena per segment, and each state's own.
struct SessionMemory {
  std::vector<std::byte*> arenas;
  std::vector<std::byte*> states;
};

// Slots at offsets, operands at addresses, and the captured graph once there is one. The first segment's plans are
// roots, one per set of input shapes; what follows a plan depends on the sizes its run finds out, so plans form a tree.
// One thread at a time.
class SegmentPlan {
 public:
  // Evaluates the sizes of segment 0 for `symbols`, or of the segment after `previous`, which outlives this.
  // ResourceExhausted: the activations need more than `limit_bytes`. InvalidArgument: extents that had to be equal are
  // not; says where.
  static Result<std::unique_ptr<SegmentPlan>> Create(const PreparedGraph& prepared, const SegmentPlan* previous,
                                                     std::vector<int64_t> symbols, int64_t limit_bytes);

  size_t segment() const { return segment_; }
  std::span<const int64_t> symbols() const { return symbols_; }
  int64_t arena_bytes() const { return memory_.arena_bytes; }

  // Points every operand into `memory`, where earlier segments' plans are placed already; drops a captured graph made
  // for other places. Nothing to do if it points there already.
  void PlaceAt(const SessionMemory& memory);
  // Forgets where this plan and those after it were placed, from segment `first` on: their memory goes.
  void Displace(size_t first);

  // The operand of this segment or an earlier one, as a device tensor.
  DeviceTensor Locate(const Operand& operand) const;
  // Of a step of this segment, counted from the graph's first.
  KernelArguments arguments(size_t step) const;

  // Plans of the next segment, newest last; null if there is none for these symbols.
  SegmentPlan* FindNext(std::span<const int64_t> symbols) const;
  // Keeps at most `limit` of them.
  SegmentPlan* AddNext(std::unique_ptr<SegmentPlan> plan, size_t limit);
  // InvalidArgument: the body that begins with `step` needs other sizes than these, so it must not run.
  Status CheckBody(int step) const;
  bool excludes_bodies() const { return !excluded_.empty(); }

  // The captured graph; null before one was made.
  std::unique_ptr<CapturedGraph> captured;
  bool capture_refused = false;  // the device said no; do not ask again
  uint64_t eager_runs = 0;       // at the present place

 private:
  SegmentPlan(const PreparedGraph& prepared, const SegmentPlan* previous)
      : prepared_(prepared), previous_(previous), segment_(previous == nullptr ? 0 : previous->segment_ + 1) {}

  std::byte* AddressOf(size_t slot) const;

  const PreparedGraph& prepared_;
  const SegmentPlan* const previous_;
  const size_t segment_;
  std::vector<int64_t> symbols_;  // later segments' are not known and zero
  MemoryPlan memory_;
  struct Exclusion {
    int body;
    Status why;
  };
  std::vector<Exclusion> excluded_;
  bool is_placed_ = false;
  std::byte* arena_ = nullptr;
  std::vector<std::byte*> states_;      // where the session's memory of each state lies
  std::vector<DeviceTensor> operands_;  // of the segment's steps: each step's inputs, then its outputs
  std::vector<size_t> first_operand_;   // per step of the segment, into operands_
  std::vector<std::unique_ptr<SegmentPlan>> next_;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_RUNTIME_SEGMENT_PLAN_H_
