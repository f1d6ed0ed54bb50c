// MatMulStep: batched products with the epilogue done while the sums are in L1.
#include <cstring>

#include "engine/accelerators/cpu/library_kernels.h"
#include "engine/accelerators/cpu/operand_packing.h"
#include "engine/accelerators/cpu/strided_rows.h"
#include "engine/accelerators/cpu/tile_program.h"

namespace tondar::cpu {
namespace {

// Rows of A that one pass over B works on: half of the smallest L2 in use (1 MB).
constexpr int64_t kChunkBytes = 512 * 1024;
constexpr int64_t kMaxChunkRows = 1008;
// Sums that wait for the epilogue: a third of L1.
constexpr int64_t kSumsBytes = 16 * 1024;
// Columns that one row tile walks before the next row tile does: stays in L2 beside the rows.
constexpr int64_t kGroupBytes = 256 * 1024;
// B is read where it lies, rather than packed, for at most this many rows of A: packing costs about as much as 8 rows.
constexpr int64_t kInPlaceRows = 28;

// How the columns of B reach the tiles.
enum class ColumnMode { kPacked, kInPlace, kPackPerRun };

struct BoundMatMul {
  const GemmFunctions* functions;
  PanelLayout layout;
  TileProgram epilogue;
  int64_t batches, rows, depth, steps;
  StridedRows a_batches, a_rows, b_batches, out_rows;
  const std::byte* a;
  const std::byte* b;  // or the packed form
  DType a_dtype, b_dtype;
  int64_t a_stride, b_k_stride, b_n_stride;
  bool a_in_place;
  ColumnMode mode;
  int64_t direct_row_bytes;  // 0: sums go through the epilogue
  int64_t chunk_rows, group_panels;
  size_t addresses_at, sums_at, rows_at, columns_at, epilogue_at;
  bool parallel;
};

// One member's view of the problem, for GemmWalk.
class MatMulProblem {
 public:
  MatMulProblem(const BoundMatMul& bound, RunContext& context, int member)
      : bound_(bound), context_(context), scratch_(context.MemberScratch(member)) {}

  void SelectBatch(int64_t batch) {
    batch_ = batch;
    a_ = bound_.a + bound_.a_batches.Offset(batch) * static_cast<int64_t>(SizeOf(bound_.a_dtype));
    const int64_t b_element = bound_.mode == ColumnMode::kPacked ? 1 : static_cast<int64_t>(SizeOf(bound_.b_dtype));
    b_ = bound_.b + bound_.b_batches.Offset(batch) * b_element;
  }

  void AddressRows(Share rows, const void** addresses, int64_t) {
    const int64_t element = static_cast<int64_t>(SizeOf(bound_.a_dtype));
    if (bound_.a_in_place) {
      bound_.a_rows.ForEach(rows.begin, rows.size(),
                            [&](int64_t i, int64_t offset) { addresses[i] = a_ + offset * element; });
      return;
    }
    const GemmFunctions& f = *bound_.functions;
    const int64_t padded = bound_.steps * f.step;
    bound_.a_rows.ForEach(rows.begin, rows.size(), [&](int64_t i, int64_t offset) {
      std::byte* packed = scratch_ + bound_.rows_at + i * padded * f.input_bytes;
      PackRow(f, a_ + offset * element, bound_.a_dtype, bound_.a_stride, bound_.depth, padded, packed);
      addresses[i] = packed;
    });
  }

  ColumnSource Columns(int64_t first, int64_t last) {
    const GemmFunctions& f = *bound_.functions;
    if (bound_.mode == ColumnMode::kPacked)
      return {b_ + bound_.layout.OffsetBytes(f, first, bound_.steps), 0, bound_.steps};
    const int64_t element = static_cast<int64_t>(SizeOf(bound_.b_dtype));
    if (bound_.mode == ColumnMode::kInPlace)
      return {b_ + bound_.layout.FirstColumn(first) * element, bound_.b_k_stride * element, 0};
    static constexpr int64_t kNoOffset[] = {0};
    std::byte* packed = scratch_ + bound_.columns_at;
    PackColumns(f, bound_.layout, {b_, bound_.b_dtype, kNoOffset, bound_.depth, bound_.b_k_stride, bound_.b_n_stride},
                first, last, packed);
    return {packed, 0, bound_.steps};
  }

  std::byte* Direct(int64_t row, int64_t, int64_t column, int64_t* row_bytes) {
    if (bound_.direct_row_bytes == 0) return nullptr;
    *row_bytes = bound_.direct_row_bytes;
    return bound_.epilogue.OutputAddress(batch_ * bound_.rows + row, column);
  }

  void Finish(int64_t row, int64_t rows, int64_t column, int64_t columns, const std::byte* sums, int64_t row_bytes) {
    AccumulatorTile tile;
    tile.accumulators = const_cast<std::byte*>(sums);
    tile.accumulator_stride = row_bytes / bound_.functions->sum_bytes;
    tile.row = batch_ * bound_.rows + row;
    tile.column = column;
    tile.rows = static_cast<int>(rows);
    tile.columns = static_cast<int>(columns);
    bound_.epilogue.Run(tile, scratch_ + bound_.epilogue_at, *context_.error);
  }

  const void** addresses() { return reinterpret_cast<const void**>(scratch_ + bound_.addresses_at); }
  std::byte* sums() { return scratch_ + bound_.sums_at; }

 private:
  const BoundMatMul& bound_;
  RunContext& context_;
  std::byte* scratch_;
  const std::byte* a_ = nullptr;
  const std::byte* b_ = nullptr;
  int64_t batch_ = 0;
};

void RunMember(const BoundMatMul& bound, RunContext& context, const ThreadGrid& grid, int member) {
  const int64_t at_panels = member % grid.panels, at_rows = member / grid.panels % grid.rows,
                at_batches = member / (grid.panels * grid.rows);
  if (at_batches >= grid.batches) return;
  const int64_t tile_rows = bound.functions->rows;
  const Share tiles = ShareOf((bound.rows + tile_rows - 1) / tile_rows, at_rows, grid.rows);
  MatMulProblem problem(bound, context, member);
  GemmShare share;
  share.functions = bound.functions;
  share.layout = &bound.layout;
  share.taps = 1;
  share.depth = bound.steps;
  share.rows = grid.rows == 1 ? Share{0, bound.rows}
                              : Share{tiles.begin * tile_rows, std::min(tiles.end * tile_rows, bound.rows)};
  share.panels = ShareOf(bound.layout.panels(), at_panels, grid.panels);
  share.chunk_rows = bound.chunk_rows;
  share.group_panels = bound.group_panels;
  share.addresses = problem.addresses();
  share.sums = problem.sums();
  const Share batches = ShareOf(bound.batches, at_batches, grid.batches);
  for (int64_t batch = batches.begin; batch < batches.end; ++batch) {
    problem.SelectBatch(batch);
    GemmWalk<MatMulProblem>(problem, share).Run();
  }
}

void RunMatMul(const void* arguments, RunContext& context) {
  const BoundMatMul& bound = *static_cast<const BoundMatMul*>(arguments);
  const int members = bound.parallel ? context.team->members() : 1;
  const int64_t tile_rows = bound.functions->rows;
  const ThreadGrid grid = ChooseGrid(members, bound.batches, (bound.rows + tile_rows - 1) / tile_rows,
                                     bound.layout.panels(), bound.steps * tile_rows, bound.steps * bound.layout.padded_columns() / std::max<int64_t>(bound.layout.panels(), 1));
  SplitOverTeam(context, members > 1, [&](int member, int) { RunMember(bound, context, grid, member); });
}

class MatMulKernel final : public CpuKernel {
 public:
  MatMulKernel(const Step& step, const CpuKernels& kernels, const GemmFunctions* functions)
      : epilogue_(std::get<MatMulStep>(step.body).epilogue), kernels_(kernels), functions_(functions) {}

  // Packs B, a constant; batch dims in which it repeats are packed once.
  void Pack(const TensorView& b) {
    const size_t rank = b.shape.size();
    depth_ = b.shape[rank - 2];
    const PanelLayout layout(*functions_, b.shape[rank - 1]);
    const int64_t steps = StepsOf(*functions_, depth_);
    const int64_t batch_bytes = layout.padded_columns() * steps * functions_->column_bytes;
    Dims kept;
    int64_t batches = 1;
    for (size_t d = 0; d + 2 < rank; ++d) {
      const bool repeats = b.strides[d] == 0;
      packed_strides_.push_back(repeats ? 0 : 1);
      if (!repeats) kept.push_back(static_cast<int64_t>(d));
      if (!repeats) batches *= b.shape[d];
    }
    int64_t stride = batch_bytes;
    for (size_t d = rank - 2; d-- > 0;) {
      if (packed_strides_[d] == 0) continue;
      packed_strides_[d] = stride;
      stride *= b.shape[d];
    }
    packed_ = PackedBytes(static_cast<size_t>(batches * batch_bytes));
    is_packed_ = true;
    static constexpr int64_t kNoOffset[] = {0};
    const StridedRows sources(b.shape, b.strides, kept);
    for (int64_t batch = 0; batch < batches; ++batch) {
      const std::byte* data = b.data + sources.Offset(batch) * static_cast<int64_t>(SizeOf(b.dtype));
      PackColumns(*functions_, layout, {data, b.dtype, kNoOffset, depth_, b.strides[rank - 2], b.strides[rank - 1]}, 0,
                  layout.panels(), packed_.data() + batch * batch_bytes);
    }
  }

  size_t packed_bytes() const override { return packed_.size_bytes(); }
  bool ReplacesInput(size_t input) const override { return input == 1 && is_packed_; }
  Result<BoundCall> Bind(const KernelArguments& arguments) const override;

 private:
  void ChooseBlocking(BoundMatMul& bound) const;
  size_t LayOutScratch(BoundMatMul& bound) const;

  LoopProgram epilogue_;
  const CpuKernels& kernels_;
  const GemmFunctions* functions_;
  bool is_packed_ = false;
  int64_t depth_ = 0;
  Dims packed_strides_;  // bytes, per batch dim
  PackedBytes packed_;
};

// Whether columns of B can be read with whole vectors where they lie. (A k stride of 0 would read as "packed".)
bool ColumnsInPlace(const GemmFunctions& functions, const DeviceTensor& b) {
  const size_t rank = b.shape.size();
  return b.strides[rank - 1] == 1 && b.strides[rank - 2] > 0 && b.shape[rank - 1] % functions.lanes == 0 && functions.step == 1 &&
         SizeOf(b.dtype) == static_cast<size_t>(functions.column_bytes) && IsFloat(b.dtype);
}

void MatMulKernel::ChooseBlocking(BoundMatMul& bound) const {
  const int64_t tile_rows = functions_->rows;
  const int64_t row_bytes = std::max<int64_t>(bound.steps * functions_->step * functions_->input_bytes, 1);
  const int64_t width = functions_->vectors * functions_->lanes;
  // Columns that are packed per run are packed once per chunk, so those chunks are as tall as scratch allows.
  const int64_t limit = bound.mode == ColumnMode::kPackPerRun ? 4 * kChunkBytes : kChunkBytes;
  const int64_t chunk = std::clamp(limit / row_bytes / tile_rows * tile_rows, tile_rows, kMaxChunkRows);
  bound.chunk_rows = std::clamp<int64_t>(bound.rows, 1, chunk);
  const int64_t sums_row = width * functions_->sum_bytes;
  const int64_t rows = std::min(bound.rows, tile_rows);
  int64_t group = kSumsBytes / (sums_row * std::max<int64_t>(rows, 1));
  if (bound.rows > tile_rows || bound.mode == ColumnMode::kPackPerRun)
    group = std::min(group, kGroupBytes / std::max<int64_t>(width * bound.steps * functions_->column_bytes, 1));
  bound.group_panels = std::clamp<int64_t>(group, 1, std::max<int64_t>(bound.layout.panels(), 1));
}

size_t MatMulKernel::LayOutScratch(BoundMatMul& bound) const {
  ScratchLayout scratch;
  const int64_t tile_rows = std::min<int64_t>(functions_->rows, std::max<int64_t>(bound.rows, 1));
  const int64_t width = functions_->vectors * functions_->lanes;
  bound.addresses_at = scratch.Add(bound.chunk_rows * static_cast<int64_t>(sizeof(void*)));
  bound.sums_at = scratch.Add(tile_rows * SumsRowBytes(*functions_, bound.group_panels) + 64);
  bound.rows_at = scratch.Add(
      bound.a_in_place ? 0 : bound.chunk_rows * bound.steps * functions_->step * functions_->input_bytes);
  bound.columns_at = scratch.Add(
      bound.mode == ColumnMode::kPackPerRun ? bound.group_panels * width * bound.steps * functions_->column_bytes : 0);
  bound.epilogue_at = scratch.Add(static_cast<int64_t>(bound.epilogue.scratch_bytes()));
  return scratch.bytes();
}

Result<BoundCall> MatMulKernel::Bind(const KernelArguments& arguments) const {
  const DeviceTensor& a = arguments.inputs[0];
  const DeviceTensor& b = arguments.inputs[1];
  const DeviceTensor& out = arguments.outputs[0];
  const size_t rank = out.shape.size();
  if (rank < 2 || a.shape.size() != rank || b.shape.size() != rank || a.shape[rank - 1] != b.shape[rank - 2] ||
      a.shape[rank - 2] != out.shape[rank - 2] || b.shape[rank - 1] != out.shape[rank - 1] ||
      (is_packed_ && depth_ != a.shape[rank - 1]))
    return Internal("matmul: shapes {} x {} do not give {}", ToString(a.shape), ToString(b.shape), ToString(out.shape));

  auto bound = std::make_unique<BoundMatMul>();
  bound->functions = functions_;
  bound->layout = PanelLayout(*functions_, out.shape[rank - 1]);
  bound->depth = a.shape[rank - 1];
  bound->steps = StepsOf(*functions_, bound->depth);
  bound->a = a.data;
  bound->b = is_packed_ ? packed_.data() : b.data;
  bound->a_dtype = a.dtype;
  bound->b_dtype = b.dtype;
  bound->a_stride = a.strides[rank - 1];
  bound->b_k_stride = b.strides[rank - 2];
  bound->b_n_stride = b.strides[rank - 1];
  bound->a_in_place = RowInPlace(*functions_, a.dtype, bound->a_stride, bound->depth);

  // Batch dims in which B repeats are further rows of A; what remains are products of their own.
  TileDims dims;
  Dims row_dims;
  for (size_t d = 0; d + 2 < rank; ++d) {
    const int64_t b_stride = is_packed_ ? packed_strides_[d] : b.strides[d];
    const bool repeats = b_stride == 0 || out.shape[d] == 1;
    (repeats ? row_dims : dims.rows).push_back(static_cast<int64_t>(d));
    if (!repeats) bound->b_batches.Append(out.shape[d], b_stride);
  }
  row_dims.push_back(static_cast<int64_t>(rank - 2));
  bound->a_batches = StridedRows(out.shape, a.strides, dims.rows);
  bound->a_rows = StridedRows(out.shape, a.strides, row_dims);
  bound->out_rows = StridedRows(out.shape, out.strides, row_dims);
  bound->batches = bound->a_batches.count();
  bound->rows = bound->a_rows.count();
  for (int64_t d : row_dims) dims.rows.push_back(d);
  dims.columns.push_back(static_cast<int64_t>(rank - 1));

  bound->mode = is_packed_ ? ColumnMode::kPacked
                : ColumnsInPlace(*functions_, b) && bound->rows <= kInPlaceRows ? ColumnMode::kInPlace
                                                                               : ColumnMode::kPackPerRun;
  ChooseBlocking(*bound);
  const DType sum_type = functions_->input_bytes == 8   ? DType::kFloat64
                         : functions_->input_bytes == 4 ? DType::kFloat32
                                                        : DType::kInt32;
  const int64_t group_columns = bound->group_panels * functions_->vectors * functions_->lanes;
  TONDAR_ASSIGN_OR_RETURN(bound->epilogue, TileProgram::Bind(epilogue_, sum_type, arguments, dims,
                                                             static_cast<int>(group_columns), kernels_));
  const bool direct = bound->epilogue.IsPlainStore() && bound->out_rows.even();
  bound->direct_row_bytes =
      direct ? std::max<int64_t>(bound->out_rows.stride(), 1) * functions_->sum_bytes : 0;

  const double products = static_cast<double>(bound->batches) * static_cast<double>(bound->rows) *
                          static_cast<double>(out.shape[rank - 1]);
  // 32 products a nanosecond is what one core does at best; a lone row waits for memory at about 4.
  const double rate = bound->rows < 4 ? 4.0 : 32.0;
  bound->parallel = products * (static_cast<double>(bound->depth) / rate + bound->epilogue.nanoseconds_per_element()) >
                    kParallelNanoseconds;
  const size_t scratch_bytes = LayOutScratch(*bound);
  if (out.elements() == 0) return BoundCall();
  return BoundCall(&RunMatMul, std::move(bound), scratch_bytes);
}

}  // namespace

Status SupportsMatMul(const Step& step) {
  const MatMulStep& matmul = std::get<MatMulStep>(step.body);
  const GemmTable& table = kGemmBaseline;
  TONDAR_ASSIGN_OR_RETURN(const GemmFunctions* functions, ChooseGemm(table, step.inputs[0].dtype, step.inputs[1].dtype));
  return TileProgram::Supports(matmul.epilogue, SumType(table, functions), step.outputs[0].dtype);
}

Result<std::unique_ptr<CpuKernel>> MakeMatMulKernel(const Step& step, std::span<const Constant* const> constants,
                                                    const CpuKernels& kernels) {
  TONDAR_ASSIGN_OR_RETURN(const GemmFunctions* functions,
                          ChooseGemm(*kernels.gemm, step.inputs[0].dtype, step.inputs[1].dtype));
  auto kernel = std::make_unique<MatMulKernel>(step, kernels, functions);
  if (const auto b = ConstantInput(constants, 1)) kernel->Pack(*b);
  return std::unique_ptr<CpuKernel>(std::move(kernel));
}

}  // namespace tondar::cpu
