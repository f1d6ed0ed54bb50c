// TileEvaluator: a LoopProgram bound to one launch, run tile by tile with every intermediate value in L1.
//
// A tile is a box of `rows` x `columns` points along two dims of the nest (rows is 1 if rows_dim is -1), the others
// fixed. Each instruction is one call of a function of LoopTable over the tile. Operands that lie contiguously are read
// where they are, results are written straight to the output; the rest is gathered and scattered. What does not depend
// on the columns is computed once per row, what depends on nothing once per run.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_TILE_EVALUATOR_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_TILE_EVALUATOR_H_

#include <memory>
#include <vector>

#include "engine/accelerators/cpu/cpu_kernel.h"
#include "engine/accelerators/cpu/loop_nest.h"
#include "engine/accelerators/cpu/loop_table.h"

namespace tondar::cpu {

// Elements of a tile: 512 f32 are 2 KB, so that a dozen live values fit L1, and a call's overhead (2 to 3 ns) is below
// a tenth of what the cheapest function takes.
inline constexpr int kTileElements = 512;

// What an evaluator is made from. Spans are read during Compile only; the program must outlive the evaluator.
struct EvaluatorInputs {
  const LoopProgram* program = nullptr;
  std::span<const BoundAccess> accesses;  // permuted to the nest
  std::span<const BoundOutput> outputs;   // permuted; empty: the caller reads results by Result()
  std::span<const int64_t> symbols;
  const Nest* nest = nullptr;
  int rows_dim = -1;
  int columns_dim = -1;  // -1: there is no dim; tiles have one element
  int max_rows = 1;
  int max_columns = 1;
  // Every tile covers the columns' dim from its beginning: values that depend on it alone are computed once per run.
  bool whole_columns = false;
};

class TileEvaluator {
 public:
  // A thread's working state, in memory of the caller.
  struct Worker {
    const void** slots = nullptr;
    std::byte* registers = nullptr;
    StepError* error = nullptr;
  };

  TileEvaluator() = default;
  // Unimplemented: a dtype, or an operation on one. Internal: malformed program.
  static Result<TileEvaluator> Compile(const EvaluatorInputs& inputs, const CpuKernels& kernels);
  // Whether Compile can take the program: operations and dtypes only.
  static Status Supports(const LoopProgram& program);

  size_t scratch_bytes() const { return slot_bytes_ + register_bytes_; }
  double nanoseconds_per_element() const { return nanoseconds_; }

  // Prepares a worker for one run. `accumulators` are the kAccumulator sources, which must stay where they are or be
  // moved by SetAccumulator.
  Worker Begin(std::byte* scratch, StepError* error) const;
  void SetAccumulator(Worker& worker, int which, const void* values) const;
  // What depends on no dim (or on the columns alone): after Begin, once the accumulators it reads are set.
  void RunOnce(Worker& worker) const;
  // The first tile element is at `index` of the nest. `new_row`: something but the columns changed since the last tile.
  void RunTile(Worker& worker, const int64_t* index, int rows, int columns, bool new_row) const;
  // Where result r of the last tile lies, in its lane's form, contiguous. Only without outputs.
  const void* ResultOf(const Worker& worker, size_t r) const { return worker.slots[result_slots_[r]]; }

  // The program as one call of a function over memory that is contiguous throughout: no rows, nothing to prepare.
  struct SingleCall {
    TileFunction function = nullptr;
    std::byte* out = nullptr;
    const std::byte* operands[3] = {};
    int64_t out_step = 0, steps[3] = {};  // bytes per element; 0: a constant tile
  };
  bool AsSingleCall(SingleCall& call) const;
  // True if the only result is a plain load: nothing is computed, and no registers limit the tile.
  bool IsPlainLoad() const { return plain_load_; }

 private:
  friend class EvaluatorCompiler;

  enum class Kind : uint8_t { kCompute, kLoad, kIndex, kSplat, kStore };
  struct Op {
    Kind kind = Kind::kCompute;
    bool uniform = false;       // kLoad: all dynamic values are one per tile
    bool direct_if_whole = false;  // kLoad: needs no copy where no guard cuts it
    int8_t size_log2 = 0;       // kLoad, kSplat, kStore: of an element
    int16_t d = -1, a = -1, b = -1, c = -1;  // slots
    int16_t access = -1;        // kLoad: access; kStore: output; kIndex: nest dim
    int16_t temporary = -1;     // slot for 16-bit elements before or after conversion
    TileFunction function = nullptr;  // kCompute; kLoad, kStore: the conversion, or null
    int64_t fill = 0;           // kLoad: the fill value's bytes as stored
    int16_t fill_slot = -1;     // kLoad: a tile of it
    Lane lane = kF32;
  };
  struct Direct {
    int16_t slot = -1;
    int16_t source = -1;  // access or output
  };
  // Runs in this order: loads that are mere addresses, then operations.
  struct Stage {
    std::vector<Direct> loads;
    std::vector<Direct> stores;
    std::vector<Op> ops;
  };

  void RunStage(const Stage& stage, Worker& worker, const int64_t* index, int rows, int columns) const;
  void RunLoad(const Op& op, Worker& worker, const int64_t* index, int rows, int columns) const;
  void LoadUniform(const Op& op, Worker& worker, const int64_t* index, int rows, int columns) const;
  void LoadEach(const Op& op, Worker& worker, const int64_t* index, int rows, int columns) const;
  bool PickRow(const Op& op, const Worker& worker, const PerDim& at, int first, int columns, std::byte* out) const;
  void PickOneByOne(const Op& op, Worker& worker, PerDim at, int first, int columns, std::byte* out) const;
  bool ResolveUniform(const Op& op, Worker& worker, const int64_t* index, const std::byte*& at) const;
  void RunIndex(const Op& op, Worker& worker, const int64_t* index, int rows, int columns) const;
  void RunStore(const Op& op, Worker& worker, const int64_t* index, int rows, int columns) const;
  void* RegisterOf(const Worker& worker, int16_t slot) const {
    return worker.registers + register_offsets_[static_cast<size_t>(slot)];
  }

  const LoopTable* table_ = nullptr;
  size_t rank_ = 0;
  int rows_dim_ = -1, columns_dim_ = -1;
  int max_rows_ = 1, max_columns_ = 1;
  std::vector<BoundAccess> accesses_;
  std::vector<BoundOutput> outputs_;
  Stage once_, pattern_, row_, tile_;
  std::vector<Op> once_splats_, row_splats_;
  std::vector<int64_t> register_offsets_;  // per slot; -1: no register
  std::vector<std::pair<int16_t, int64_t>> constants_;  // slot, offset in constant_tiles_
  std::vector<int16_t> accumulator_slots_;  // per kAccumulator source; -1: not read
  std::vector<Lane> slot_lanes_;
  std::vector<int16_t> result_slots_;
  struct FreeTiles {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, FreeTiles> constant_tiles_;
  size_t slot_bytes_ = 0, register_bytes_ = 0;
  double nanoseconds_ = 0;
  bool plain_load_ = false;
};

// The program that gives kAccumulator 0, cast to a dtype.
LoopProgram AccumulatorProgram(DType accumulator, DType result);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_TILE_EVALUATOR_H_
