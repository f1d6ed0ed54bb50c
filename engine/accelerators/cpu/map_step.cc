// Map steps: outputs[i][point] = program.results[i].
#include <algorithm>

#include "engine/accelerators/cpu/copy_plan.h"
#include "engine/accelerators/cpu/cpu_kernel.h"
#include "engine/accelerators/cpu/loop_support.h"
#include "engine/accelerators/cpu/tile_evaluator.h"

namespace tondar::cpu {
namespace {

// Rows shorter than this are put several to a tile.
constexpr int64_t kShortRow = 64;

struct MapCall {
  TileEvaluator evaluator;
  Nest outer;  // dims outside the tile; the rows' dim comes last and counts blocks
  Nest nest;
  int rows_dim = -1, columns_dim = -1;
  int64_t row_blocks = 1, block_rows = 1;
  int64_t column_chunks = 1, chunk_columns = 1;
  int64_t tiles = 1;
  bool parallel = false;
};

// Walks the tiles [begin, end), numbered row-major over (outer dims, row blocks, column chunks).
void RunTiles(const MapCall& call, TileEvaluator::Worker& worker, int64_t begin, int64_t end) {
  const size_t outer = call.outer.size();
  PerDim index{};
  int64_t chunk = begin % call.column_chunks;
  int64_t block = begin / call.column_chunks % call.row_blocks;
  Odometer::Seek(call.outer, 0, outer, begin / (call.column_chunks * call.row_blocks), index.data());
  const int64_t columns = call.columns_dim < 0 ? 1 : call.nest[static_cast<size_t>(call.columns_dim)].extent;
  const int64_t rows = call.rows_dim < 0 ? 1 : call.nest[static_cast<size_t>(call.rows_dim)].extent;
  bool new_row = true;
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t first_row = block * call.block_rows, first_column = chunk * call.chunk_columns;
    if (call.rows_dim >= 0) index[static_cast<size_t>(call.rows_dim)] = first_row;
    if (call.columns_dim >= 0) index[static_cast<size_t>(call.columns_dim)] = first_column;
    call.evaluator.RunTile(worker, index.data(), static_cast<int>(std::min(call.block_rows, rows - first_row)),
                           static_cast<int>(std::min(call.chunk_columns, columns - first_column)), new_row);
    new_row = ++chunk == call.column_chunks;
    if (!new_row) continue;
    chunk = 0;
    if (++block < call.row_blocks) continue;
    block = 0;
    Odometer::Next(call.outer, 0, outer, index.data());
  }
}

void RunMap(const void* arguments, RunContext& context) {
  const MapCall& call = *static_cast<const MapCall*>(arguments);
  SplitOverTeam(context, call.parallel, [&](int member, int members) {
    const Range range = RangeOf(call.tiles, member, members);
    if (range.begin == range.end) return;
    TileEvaluator::Worker worker = call.evaluator.Begin(context.MemberScratch(member), context.error);
    call.evaluator.RunOnce(worker);
    RunTiles(call, worker, range.begin, range.end);
  });
}

// One function over contiguous memory.
struct SingleMap {
  TileEvaluator evaluator;  // owns the constant tiles
  TileEvaluator::SingleCall call;
  int64_t elements = 0, chunk = 0;
  bool parallel = false;
};

void RunSingleRange(const SingleMap& map, int64_t begin, int64_t end) {
  const TileEvaluator::SingleCall& call = map.call;
  for (int64_t i = begin; i < end; i += map.chunk) {
    call.function(call.out + i * call.out_step, call.operands[0] + i * call.steps[0], call.operands[1] + i * call.steps[1],
                  call.operands[2] + i * call.steps[2], std::min(map.chunk, end - i));
  }
}

void RunSingle(const void* arguments, RunContext& context) {
  const SingleMap& map = *static_cast<const SingleMap*>(arguments);
  SplitOverTeam(context, map.parallel, [&](int member, int members) {
    const Range range = RangeOf(map.elements, member, members);
    RunSingleRange(map, range.begin, range.end);
  });
}

class MapKernel final : public CpuKernel {
 public:
  MapKernel(MapStep step, const CpuKernels& kernels) : step_(std::move(step)), kernels_(kernels) {}

  Result<BoundCall> Bind(const KernelArguments& arguments) const override {
    const Dims extents = Evaluate(step_.extents, arguments.symbols);
    TONDAR_RETURN_IF_ERROR(CheckOperands(arguments, step_.program.results.size(), extents.size()));
    TONDAR_ASSIGN_OR_RETURN(const std::vector<BoundAccess> accesses, BindAccesses(step_.program, arguments, extents));
    if (ElementCount(extents) == 0) return BoundCall();

    std::vector<BoundOutput> outputs;
    for (const DeviceTensor& output : arguments.outputs) outputs.push_back(BindOutput(output));
    Nest nest;
    NestBuilder builder(extents);
    builder.Add(accesses);
    for (const BoundOutput& output : outputs) builder.Add(output);
    builder.KeepIndexed(step_.program);
    builder.Append(NestBuilder::OrderByStride(DimRange(0, extents.rank()), outputs[0].strides), nest);
    std::vector<BoundAccess> nest_accesses;
    for (const BoundAccess& access : accesses) nest_accesses.push_back(Permute(access, nest));
    for (BoundOutput& output : outputs) output = Permute(output, nest);

    if (const BoundAccess* source = CopySource(nest_accesses, outputs)) return BindCopy(nest, *source, outputs[0]);
    return BindTiles(std::move(nest), nest_accesses, outputs, arguments.symbols);
  }

 private:
  // The access that the step copies, if copying is all it does.
  const BoundAccess* CopySource(std::span<const BoundAccess> accesses, std::span<const BoundOutput> outputs) const {
    if (outputs.size() != 1) return nullptr;
    const LoopInstruction& result = step_.program.body[static_cast<size_t>(step_.program.results[0])];
    if (result.op != LoopOp::kLoad) return nullptr;
    const BoundAccess& access = accesses[static_cast<size_t>(result.source)];
    return access.IsAffine() && access.dtype == outputs[0].dtype ? &access : nullptr;
  }

  Result<BoundCall> BindCopy(const Nest& nest, const BoundAccess& from, const BoundOutput& to) const {
    const auto run = [](const void* plan, RunContext& context) { static_cast<const CopyPlan*>(plan)->Run(context); };
    return BoundCall(run, std::make_unique<CopyPlan>(CopyPlan::Make(nest, from, to, *kernels_.loop)), 0);
  }

  // Chooses the tile: along the innermost dim of the output; if that is short, several rows of the next dim, or of the
  // longest one if the next is short, too.
  static void ChooseTile(MapCall& call) {
    Nest& nest = call.nest;
    if (nest.empty()) return;
    call.columns_dim = static_cast<int>(nest.size()) - 1;
    const int64_t columns = nest.back().extent;
    if (columns >= kShortRow || nest.size() == 1) {
      call.chunk_columns = std::min<int64_t>(columns, kTileElements);
      call.column_chunks = (columns + call.chunk_columns - 1) / call.chunk_columns;
      return;
    }
    size_t rows = nest.size() - 2;
    if (nest[rows].extent * columns < kShortRow) {
      for (size_t d = 0; d < rows; ++d) {
        if (nest[d].extent > nest[rows].extent) rows = d;
      }
    }
    call.rows_dim = static_cast<int>(rows);
    call.chunk_columns = columns;
    call.block_rows = std::min<int64_t>(nest[rows].extent, std::max<int64_t>(1, kTileElements / columns));
    call.row_blocks = (nest[rows].extent + call.block_rows - 1) / call.block_rows;
  }

  Result<BoundCall> BindTiles(Nest nest, std::span<const BoundAccess> accesses, std::span<const BoundOutput> outputs,
                              std::span<const int64_t> symbols) const {
    auto call = std::make_unique<MapCall>();
    call->nest = std::move(nest);
    ChooseTile(*call);
    EvaluatorInputs inputs;
    inputs.program = &step_.program;
    inputs.accesses = accesses;
    inputs.outputs = outputs;
    inputs.symbols = symbols;
    inputs.nest = &call->nest;
    inputs.rows_dim = call->rows_dim;
    inputs.columns_dim = call->columns_dim;
    inputs.max_rows = static_cast<int>(call->block_rows);
    inputs.max_columns = static_cast<int>(call->chunk_columns);
    TONDAR_ASSIGN_OR_RETURN(call->evaluator, CompileHoisting(inputs, call->column_chunks == 1));
    const int64_t elements = Count(call->nest, 0, call->nest.size());
    call->parallel = static_cast<double>(elements) * call->evaluator.nanoseconds_per_element() > kParallelNanoseconds;

    TileEvaluator::SingleCall single;
    if (call->evaluator.AsSingleCall(single)) return BindSingle(std::move(*call), single, elements);
    SplitNest(*call);
    const size_t scratch = call->evaluator.scratch_bytes();
    return BoundCall(RunMap, std::move(call), scratch);
  }

  // Values that depend on the columns alone are hoisted where tiles repeat; a single tile has nothing to gain.
  Result<TileEvaluator> CompileHoisting(EvaluatorInputs& inputs, bool one_chunk) const {
    inputs.whole_columns = one_chunk && inputs.nest->size() > 1;
    return TileEvaluator::Compile(inputs, kernels_);
  }

  static Result<BoundCall> BindSingle(MapCall call, const TileEvaluator::SingleCall& single, int64_t elements) {
    auto map = std::make_unique<SingleMap>();
    map->call = single;
    map->elements = elements;
    map->parallel = call.parallel;
    bool has_constant = false;
    for (size_t i = 0; i < 3; ++i) has_constant |= single.operands[i] != nullptr && single.steps[i] == 0;
    map->chunk = has_constant ? call.chunk_columns : elements;
    map->evaluator = std::move(call.evaluator);
    return BoundCall(RunSingle, std::move(map), 0);
  }

  // RunTiles walks the dims outside the tile; those inside stay in place with extent 1, so that positions agree.
  static void SplitNest(MapCall& call) {
    call.outer = call.nest;
    if (call.rows_dim >= 0) call.outer[static_cast<size_t>(call.rows_dim)].extent = 1;
    if (call.columns_dim >= 0) call.outer[static_cast<size_t>(call.columns_dim)].extent = 1;
    call.tiles = Count(call.outer, 0, call.outer.size()) * call.row_blocks * call.column_chunks;
  }

  MapStep step_;
  const CpuKernels& kernels_;
};

}  // namespace

Result<std::unique_ptr<CpuKernel>> MakeMapKernel(const Step& step, std::span<const Constant* const>, const CpuKernels& kernels) {
  return std::unique_ptr<CpuKernel>(std::make_unique<MapKernel>(std::get<MapStep>(step.body), kernels));
}

}  // namespace tondar::cpu
