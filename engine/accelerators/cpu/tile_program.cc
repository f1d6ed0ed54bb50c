#include "engine/accelerators/cpu/tile_program.h"

#include <algorithm>

#include "engine/accelerators/cpu/loop_nest.h"
#include "engine/accelerators/cpu/tile_evaluator.h"

namespace tondar::cpu {
namespace {

// A bias along the columns, an activation and a residual, recognised in a program: out = act(acc + bias) + residual, or
// relu(acc + bias + residual). The functions of LoopTable do a whole tile of it in one call.
struct BiasForm {
  bool matches = false;
  int bias = -1, residual = -1;  // accesses
  TileActivation activation = kActivationNone;
  bool relu_after_residual = false;
};

// Reads a program from its result backwards.
class BiasMatcher {
 public:
  explicit BiasMatcher(const LoopProgram& program) : program_(program) {}

  BiasForm Match() {
    BiasForm form;
    if (program_.results.size() != 1 || !AllFloat32()) return form;
    int at = program_.results[0];
    const bool relu_last = Is(at, LoopOp::kRelu);
    if (relu_last) at = program_.body[static_cast<size_t>(at)].a;
    int load = -1;
    int inner = OtherOperand(at, load);
    if (inner < 0) return MatchActivation(program_.results[0], form);
    // acc + something: that is the bias, or (with another sum below) the residual.
    if (Is(inner, LoopOp::kAccumulator)) {
      form.bias = load;
      form.activation = relu_last ? kActivationRelu : kActivationNone;
      form.matches = true;
      return form;
    }
    form.residual = load;
    form.relu_after_residual = relu_last;
    form = MatchActivation(inner, form);
    if (relu_last && form.activation != kActivationNone) form.matches = false;
    return form;
  }

 private:
  bool Is(int i, LoopOp op) const { return program_.body[static_cast<size_t>(i)].op == op; }
  bool AllFloat32() const {
    return std::all_of(program_.body.begin(), program_.body.end(),
                       [](const LoopInstruction& instruction) { return instruction.dtype == DType::kFloat32; });
  }

  // If `at` is load + x or x + load: x, and the load's access.
  int OtherOperand(int at, int& access) const {
    if (!Is(at, LoopOp::kAdd)) return -1;
    const LoopInstruction& sum = program_.body[static_cast<size_t>(at)];
    for (const auto& [x, load] : {std::pair(sum.a, sum.b), std::pair(sum.b, sum.a)}) {
      if (!Is(load, LoopOp::kLoad) || Is(x, LoopOp::kLoad)) continue;
      access = program_.body[static_cast<size_t>(load)].source;
      return x;
    }
    return -1;
  }

  BiasForm MatchActivation(int at, BiasForm form) const {
    if (Is(at, LoopOp::kRelu)) form.activation = kActivationRelu;
    if (Is(at, LoopOp::kGelu)) form.activation = kActivationGelu;
    if (Is(at, LoopOp::kSilu)) form.activation = kActivationSilu;
    if (form.activation != kActivationNone) at = program_.body[static_cast<size_t>(at)].a;
    int load = -1;
    const int inner = OtherOperand(at, load);
    if (inner < 0 || !Is(inner, LoopOp::kAccumulator)) return form;
    form.bias = load;
    form.matches = true;
    return form;
  }

  const LoopProgram& program_;
};

}  // namespace

struct TileProgram::State {
  LoopProgram program;
  Nest nest;  // row dims, then column dims
  size_t row_dims = 0;
  BoundOutput output;
  std::vector<BoundAccess> accesses;
  TileEvaluator evaluator;
  size_t accumulator_bytes = 4;
  bool plain_store = false;

  // The fast form: bias contiguous along one column dim, residual and output contiguous there.
  BiasTileFunction bias_function = nullptr;
  int bias = -1, residual = -1;

  void SeekRow(int64_t row, int64_t* index) const { Odometer::Seek(nest, 0, row_dims, row, index); }
  void RunBias(const AccumulatorTile& tile) const;
  void RunGeneric(const AccumulatorTile& tile, std::byte* scratch, StepError& error) const;
};

TileDims TileDims::LastIsColumn(int rank) {
  TileDims dims;
  for (int d = 0; d + 1 < rank; ++d) dims.rows.push_back(d);
  if (rank > 0) dims.columns.push_back(rank - 1);
  return dims;
}

TileProgram::TileProgram() = default;
TileProgram::~TileProgram() = default;
TileProgram::TileProgram(TileProgram&&) noexcept = default;
TileProgram& TileProgram::operator=(TileProgram&&) noexcept = default;

namespace {

std::vector<int> ToList(const Dims& dims) {
  std::vector<int> list;
  for (const int64_t d : dims) list.push_back(static_cast<int>(d));
  return list;
}

}  // namespace

Status TileProgram::Supports(const LoopProgram& program, DType accumulator, DType output) {
  if (!LaneOf(output) || !LaneOf(accumulator)) return Unimplemented("an epilogue from {} to {}", Name(accumulator), Name(output));
  return program.empty() ? OkStatus() : TileEvaluator::Supports(program);
}

Result<TileProgram> TileProgram::Bind(const LoopProgram& program, DType accumulator, const KernelArguments& arguments,
                                      const TileDims& dims, int max_columns, const CpuKernels& kernels) {
  const DeviceTensor& output = arguments.outputs[0];
  TONDAR_RETURN_IF_ERROR(Supports(program, accumulator, output.dtype));
  const Dims& extents = output.shape;
  if (dims.rows.size() + dims.columns.size() != extents.size()) {
    return Internal("tile dims {} and {} for an output {}", ToString(dims.rows), ToString(dims.columns), ToString(extents));
  }
  TileProgram bound;
  bound.state_ = std::make_unique<State>();
  State& state = *bound.state_;
  state.program = program.empty() ? AccumulatorProgram(accumulator, output.dtype) : program;
  state.accumulator_bytes = SizeOf(accumulator);
  TONDAR_ASSIGN_OR_RETURN(std::vector<BoundAccess> accesses, BindAccesses(state.program, arguments, extents));
  state.output = BindOutput(output);

  NestBuilder builder(extents);
  builder.Add(accesses);
  builder.Add(state.output);
  builder.KeepIndexed(state.program);
  builder.Append(ToList(dims.rows), state.nest);
  if (state.nest.empty()) state.nest.push_back({});
  state.row_dims = state.nest.size();
  builder.Append(ToList(dims.columns), state.nest);
  if (state.nest.size() == state.row_dims) state.nest.push_back({});
  for (BoundAccess& access : accesses) access = Permute(std::move(access), state.nest);
  state.output = Permute(state.output, state.nest);
  state.accesses = std::move(accesses);

  EvaluatorInputs inputs;
  inputs.program = &state.program;
  inputs.accesses = state.accesses;
  inputs.outputs = {&state.output, 1};
  inputs.symbols = arguments.symbols;
  inputs.nest = &state.nest;
  inputs.columns_dim = static_cast<int>(state.nest.size()) - 1;
  inputs.max_columns = max_columns;
  TONDAR_ASSIGN_OR_RETURN(state.evaluator, TileEvaluator::Compile(inputs, kernels));

  const size_t column = state.nest.size() - 1;
  const bool one_column_dim = column == state.row_dims;
  const int64_t bytes = state.output.element_bytes;
  const auto contiguous = [&](const PerDim& strides) { return strides[column] == bytes || state.nest[column].extent == 1; };
  if (!one_column_dim || !contiguous(state.output.strides)) return bound;
  state.plain_store = program.empty() && accumulator == output.dtype;
  if (accumulator != DType::kFloat32 || output.dtype != DType::kFloat32) return bound;
  const BiasForm form = BiasMatcher(state.program).Match();
  if (!form.matches) return bound;
  const BoundAccess& bias = state.accesses[static_cast<size_t>(form.bias)];
  if (!bias.IsAffine() || !contiguous(bias.strides)) return bound;
  for (size_t d = 0; d < state.row_dims; ++d) {
    if (bias.strides[d] != 0) return bound;
  }
  if (form.residual >= 0) {
    const BoundAccess& residual = state.accesses[static_cast<size_t>(form.residual)];
    if (!residual.IsAffine() || !contiguous(residual.strides)) return bound;
  }
  state.bias = form.bias;
  state.residual = form.residual;
  state.bias_function = form.relu_after_residual ? kernels.loop->bias_residual_relu : kernels.loop->bias[form.activation];
  return bound;
}

bool TileProgram::IsPlainStore() const { return state_->plain_store; }

std::byte* TileProgram::OutputAddress(int64_t row, int64_t column) const {
  const State& state = *state_;
  PerDim index{};
  state.SeekRow(row, index.data());
  Odometer::Seek(state.nest, state.row_dims, state.nest.size(), column, index.data());
  return state.output.base + Dot(state.output.strides, index.data(), state.nest.size());
}

size_t TileProgram::scratch_bytes() const { return state_->evaluator.scratch_bytes(); }
double TileProgram::nanoseconds_per_element() const { return state_->evaluator.nanoseconds_per_element(); }

// Rows that step evenly (those of one innermost row dim) go in one call.
void TileProgram::State::RunBias(const AccumulatorTile& tile) const {
  const size_t column = row_dims, last = row_dims - 1;
  PerDim index{};
  SeekRow(tile.row, index.data());
  index[column] = tile.column;
  BiasTile call;
  call.accumulator_stride = tile.accumulator_stride;
  call.columns = tile.columns;
  call.out_stride = output.strides[last] / 4;
  const BoundAccess& bias_access = accesses[static_cast<size_t>(bias)];
  call.bias = reinterpret_cast<const float*>(bias_access.base + tile.column * bias_access.strides[column]);
  call.residual = nullptr;
  call.residual_stride = 0;
  const float* accumulators = static_cast<const float*>(tile.accumulators);
  for (int row = 0; row < tile.rows;) {
    call.rows = static_cast<int>(std::min<int64_t>(tile.rows - row, nest[last].extent - index[last]));
    call.accumulators = accumulators + row * tile.accumulator_stride;
    call.out = reinterpret_cast<float*>(output.base + Dot(output.strides, index.data(), nest.size()));
    if (residual >= 0) {
      const BoundAccess& access = accesses[static_cast<size_t>(residual)];
      call.residual = reinterpret_cast<const float*>(access.base + Dot(access.strides, index.data(), nest.size()));
      call.residual_stride = access.strides[last] / 4;
    }
    bias_function(call);
    row += call.rows;
    index[last] = nest[last].extent - 1;
    Odometer::Next(nest, 0, row_dims, index.data());
  }
}

void TileProgram::State::RunGeneric(const AccumulatorTile& tile, std::byte* scratch, StepError& error) const {
  TileEvaluator::Worker worker = evaluator.Begin(scratch, &error);
  evaluator.RunOnce(worker);
  PerDim index{};
  SeekRow(tile.row, index.data());
  const size_t column = nest.size() - 1;
  const int64_t length = nest[column].extent;
  const std::byte* accumulators = static_cast<const std::byte*>(tile.accumulators);
  for (int row = 0; row < tile.rows; ++row) {
    const std::byte* values = accumulators + row * tile.accumulator_stride * static_cast<int64_t>(accumulator_bytes);
    Odometer::Seek(nest, row_dims, nest.size(), tile.column, index.data());
    for (int at = 0; at < tile.columns;) {
      const int n = static_cast<int>(std::min<int64_t>(tile.columns - at, length - index[column]));
      evaluator.SetAccumulator(worker, 0, values + at * static_cast<int64_t>(accumulator_bytes));
      evaluator.RunTile(worker, index.data(), 1, n, true);
      at += n;
      index[column] += n - 1;
      Odometer::Next(nest, row_dims, nest.size(), index.data());
    }
    Odometer::Next(nest, 0, row_dims, index.data());
  }
}

void TileProgram::Run(const AccumulatorTile& tile, std::byte* scratch, StepError& error) const {
  if (state_->bias_function != nullptr) {
    state_->RunBias(tile);
  } else {
    state_->RunGeneric(tile, scratch, error);
  }
}

}  // namespace tondar::cpu
