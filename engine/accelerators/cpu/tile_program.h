// TileProgram: an epilogue bound to one launch; turns tiles of accumulators, still in L1, into elements of the output.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_TILE_PROGRAM_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_TILE_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/accelerators/cpu/cpu_kernel.h"
#include "engine/plan/loop_program.h"

namespace tondar::cpu {

// How a kernel walks the output: tiles have rows and columns; a row number counts through `rows` row-major, a column
// number through `columns`. Together they name every dim of the output once. Matmul: rows = all dims but the last,
// columns = the last. A channels-last convolution: rows = [0, 2, 3], columns = [1].
struct TileDims {
  Dims rows, columns;  // dims of the output, outermost first
  static TileDims LastIsColumn(int rank);
};

// One tile. Element (i, j) is accumulators[i * accumulator_stride + j], for output row `row + i`, column `column + j`.
// Tiles may cross the borders of row dims. Accumulators may be read past a row's `columns` (never past 64 bytes) and
// may be overwritten.
struct AccumulatorTile {
  void* accumulators = nullptr;    // of the dtype given to Bind; 64-byte aligned is fastest
  int64_t accumulator_stride = 0;  // in elements
  int64_t row = 0, column = 0;
  int rows = 0, columns = 0;
};

// Usage, when a launch is bound:
//   TONDAR_ASSIGN_OR_RETURN(args->epilogue, TileProgram::Bind(step.epilogue, DType::kFloat32, arguments,
//                           TileDims::LastIsColumn(rank), max_columns, kernels));
//   scratch_bytes = own + args->epilogue.scratch_bytes();
// and per tile: args->epilogue.Run(tile, scratch, *context.error).
//
// Results do not depend on how the output is cut into tiles. Immutable once bound; Run is thread-safe.
class TileProgram {
 public:
  TileProgram();
  ~TileProgram();
  TileProgram(TileProgram&&) noexcept;
  TileProgram& operator=(TileProgram&&) noexcept;

  // `program` may be empty: the accumulator is stored, converted to the output's dtype. Its accesses number
  // arguments.inputs; its loop dims are those of arguments.outputs[0]. `accumulator` is kFloat32, kFloat64 or kInt32.
  // No tile may have more than `max_columns` columns. Internal: malformed program; Unimplemented: a dtype.
  static Result<TileProgram> Bind(const LoopProgram& program, DType accumulator, const KernelArguments& arguments,
                                  const TileDims& dims, int max_columns, const CpuKernels& kernels);
  // Whether Bind can take this program for an output of this dtype; for Supports.
  static Status Supports(const LoopProgram& program, DType accumulator, DType output);

  // True if storing is all there is to do, of accumulators that have the output's dtype, with contiguous columns: the
  // kernel may as well write its results there itself.
  bool IsPlainStore() const;
  // Address of the output's element (row, column).
  std::byte* OutputAddress(int64_t row, int64_t column) const;
  // Scratch that Run needs; each thread its own.
  size_t scratch_bytes() const;
  // Rough cost of one element, for the choice whether to split the work.
  double nanoseconds_per_element() const;

  // Does the work of one tile.
  void Run(const AccumulatorTile& tile, std::byte* scratch, StepError& error) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_TILE_PROGRAM_H_
