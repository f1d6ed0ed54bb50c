// NormStep: softmax and normalisation, a block of rows at a time, with the epilogue while the rows are in L1.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/accelerators/cpu/library_kernels.h"
#include "engine/accelerators/cpu/norm_table.h"
#include "engine/accelerators/cpu/operand_packing.h"
#include "engine/accelerators/cpu/strided_rows.h"
#include "engine/accelerators/cpu/tile_program.h"

namespace tondar::cpu {
namespace {

constexpr int64_t kBlockBytes = 16 * 1024;  // rows of a block: a third of L1
constexpr int64_t kMaxBlockRows = 32;
constexpr int64_t kMaxTileColumns = 1024;

// Rows of f64 are rare: plain loops.
struct DoubleRow {
  NormKind kind;
  double epsilon;
  const double* weight;
  const double* bias;

  void Run(const double* x, int64_t n, double* out) const {
    if (kind == NormKind::kSoftmax || kind == NormKind::kLogSoftmax) return RunSoftmax(x, n, out);
    double mean = 0, square = 0;
    if (kind == NormKind::kLayerNorm) {
      for (int64_t i = 0; i < n; ++i) mean += x[i];
      mean /= static_cast<double>(n);
    }
    for (int64_t i = 0; i < n; ++i) square += (x[i] - mean) * (x[i] - mean);
    const double scale = 1 / std::sqrt(square / static_cast<double>(n) + epsilon);
    for (int64_t i = 0; i < n; ++i)
      out[i] = (x[i] - mean) * scale * (weight != nullptr ? weight[i] : 1) + (bias != nullptr ? bias[i] : 0);
  }

  void RunSoftmax(const double* x, int64_t n, double* out) const {
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < n; ++i) most = std::max(most, x[i]);
    for (int64_t i = 0; i < n; ++i) sum += out[i] = std::exp(x[i] - most);
    const double log_sum = std::log(sum);
    for (int64_t i = 0; i < n; ++i) out[i] = kind == NormKind::kSoftmax ? out[i] / sum : x[i] - most - log_sum;
  }
};

struct BoundNorm {
  const GemmFunctions* element;  // f32 or f64: what PackRow is to make
  NormFunction function;
  NormKind kind;
  double epsilon;
  TileProgram epilogue;
  const std::byte* x;
  DType x_dtype;
  StridedRows x_rows, x_row;  // of the outer dims, and within a row
  bool x_in_place;
  bool direct;  // results are the output's rows
  int64_t rows, length, block_rows;
  const std::byte *weight, *bias;  // null: none
  DType weight_dtype, bias_dtype;
  StridedRows weight_row, bias_row;
  bool weight_in_place, bias_in_place;
  size_t x_at, out_at, weight_at, bias_at, epilogue_at;
  bool parallel;
};

// Copies a strided row as contiguous elements of the computing type.
void CopyRow(const GemmFunctions& element, const std::byte* data, DType dtype, const StridedRows& row, std::byte* out) {
  const int64_t size = static_cast<int64_t>(SizeOf(dtype));
  if (row.even()) return PackRow(element, data, dtype, row.stride(), row.count(), row.count(), out);
  row.ForEach(0, row.count(), [&](int64_t i, int64_t offset) {
    PackRow(element, data + offset * size, dtype, 1, 1, 1, out + i * element.input_bytes);
  });
}

class NormMember {
 public:
  NormMember(const BoundNorm& bound, RunContext& context, int member)
      : bound_(bound), context_(context), scratch_(context.MemberScratch(member)) {
    weight_ = Parameter(bound.weight, bound.weight_dtype, bound.weight_row, bound.weight_in_place, bound.weight_at);
    bias_ = Parameter(bound.bias, bound.bias_dtype, bound.bias_row, bound.bias_in_place, bound.bias_at);
  }

  void Run(Range rows) {
    for (int64_t row = rows.begin; row < rows.end; row += bound_.block_rows)
      RunBlock(row, std::min(bound_.block_rows, rows.end - row));
  }

 private:
  const std::byte* Parameter(const std::byte* data, DType dtype, const StridedRows& row, bool in_place, size_t at) {
    if (data == nullptr || in_place) return data;
    CopyRow(*bound_.element, data, dtype, row, scratch_ + at);
    return scratch_ + at;
  }

  void RunBlock(int64_t row, int64_t rows) {
    const std::byte* addresses[kMaxBlockRows];
    const int64_t size = static_cast<int64_t>(SizeOf(bound_.x_dtype)), bytes = bound_.element->input_bytes;
    bound_.x_rows.ForEach(row, rows, [&](int64_t i, int64_t offset) {
      addresses[i] = bound_.x + offset * size;
      if (bound_.x_in_place) return;
      std::byte* copy = scratch_ + bound_.x_at + i * bound_.length * bytes;
      CopyRow(*bound_.element, addresses[i], bound_.x_dtype, bound_.x_row, copy);
      addresses[i] = copy;
    });
    std::byte* out = bound_.direct ? bound_.epilogue.OutputAddress(row, 0) : scratch_ + bound_.out_at;
    int64_t stride = bound_.length;
    if (bound_.direct && rows > 1) stride = (bound_.epilogue.OutputAddress(row + 1, 0) - out) / bytes;
    Normalise(addresses, rows, out, stride);
    if (!bound_.direct) Finish(row, rows, out);
  }

  void Normalise(const std::byte* const* x, int64_t rows, std::byte* out, int64_t stride) {
    if (bound_.function != nullptr) {
      NormRows call{};
      call.x = reinterpret_cast<const float* const*>(x);
      call.out = reinterpret_cast<float*>(out);
      call.out_stride = stride;
      call.rows = rows;
      call.length = bound_.length;
      call.weight = reinterpret_cast<const float*>(weight_);
      call.bias = reinterpret_cast<const float*>(bias_);
      call.epsilon = static_cast<float>(bound_.epsilon);
      return bound_.function(call);
    }
    const DoubleRow call{bound_.kind, bound_.epsilon, reinterpret_cast<const double*>(weight_),
                         reinterpret_cast<const double*>(bias_)};
    for (int64_t r = 0; r < rows; ++r)
      call.Run(reinterpret_cast<const double*>(x[r]), bound_.length, reinterpret_cast<double*>(out) + r * stride);
  }

  void Finish(int64_t row, int64_t rows, std::byte* values) {
    for (int64_t column = 0; column < bound_.length; column += kMaxTileColumns) {
      AccumulatorTile tile;
      tile.accumulators = values + column * bound_.element->input_bytes;
      tile.accumulator_stride = bound_.length;
      tile.row = row;
      tile.column = column;
      tile.rows = static_cast<int>(rows);
      tile.columns = static_cast<int>(std::min(kMaxTileColumns, bound_.length - column));
      bound_.epilogue.Run(tile, scratch_ + bound_.epilogue_at, *context_.error);
    }
  }

  const BoundNorm& bound_;
  RunContext& context_;
  std::byte* scratch_;
  const std::byte *weight_, *bias_;
};

void RunNorm(const void* arguments, RunContext& context) {
  const BoundNorm& bound = *static_cast<const BoundNorm*>(arguments);
  SplitOverTeam(context, bound.parallel, [&](int member, int members) {
    NormMember(bound, context, member).Run(RangeOf(bound.rows, member, members));
  });
}

class NormKernel final : public CpuKernel {
 public:
  NormKernel(const Step& step, const CpuKernels& kernels) : step_(std::get<NormStep>(step.body)), kernels_(kernels) {}
  Result<BoundCall> Bind(const KernelArguments& arguments) const override;

 private:
  NormStep step_;
  const CpuKernels& kernels_;
};

// Takes weight or bias: contiguous ones of the computing type are read in place.
void BindParameter(const DeviceTensor& tensor, const GemmFunctions& element, const std::byte*& data, DType& dtype,
                   StridedRows& row, bool& in_place) {
  Dims all;
  for (size_t d = 0; d < tensor.shape.size(); ++d) all.push_back(static_cast<int64_t>(d));
  data = tensor.data;
  dtype = tensor.dtype;
  row = StridedRows(tensor.shape, tensor.strides, all);
  in_place = row.even() && RowInPlace(element, dtype, row.stride(), row.count());
}

size_t LayOutScratch(BoundNorm& bound) {
  ScratchLayout scratch;
  const int64_t row_bytes = bound.length * bound.element->input_bytes, block_bytes = bound.block_rows * row_bytes;
  bound.x_at = scratch.Add(bound.x_in_place ? 0 : block_bytes);
  bound.out_at = scratch.Add(bound.direct ? 0 : block_bytes + 64);
  bound.weight_at = scratch.Add(bound.weight == nullptr || bound.weight_in_place ? 0 : row_bytes);
  bound.bias_at = scratch.Add(bound.bias == nullptr || bound.bias_in_place ? 0 : row_bytes);
  bound.epilogue_at = scratch.Add(static_cast<int64_t>(bound.epilogue.scratch_bytes()));
  return scratch.bytes();
}

// e^x of one element takes about half a nanosecond, a normalisation a tenth.
double NanosecondsOf(NormKind kind) {
  return kind == NormKind::kSoftmax || kind == NormKind::kLogSoftmax ? 0.5 : 0.15;
}

Result<BoundCall> NormKernel::Bind(const KernelArguments& arguments) const {
  const DeviceTensor& x = arguments.inputs[0];
  const DeviceTensor& out = arguments.outputs[0];
  const int64_t outer = x.shape.rank() - step_.axes;
  if (outer < 0 || !(x.shape == out.shape))
    return Internal("norm: {} axes of x {} do not give {}", step_.axes, ToString(x.shape), ToString(out.shape));
  TileDims dims;
  for (int64_t d = 0; d < x.shape.rank(); ++d) (d < outer ? dims.rows : dims.columns).push_back(d);

  auto bound = std::make_unique<BoundNorm>();
  const bool is_double = x.dtype == DType::kFloat64;
  bound->element = is_double ? kernels_.gemm->f64 : kernels_.gemm->f32;
  bound->function = is_double ? nullptr : kernels_.norm->functions[static_cast<int>(step_.kind)];
  bound->kind = step_.kind;
  bound->epsilon = step_.epsilon;
  bound->x = x.data;
  bound->x_dtype = x.dtype;
  bound->x_rows = StridedRows(x.shape, x.strides, dims.rows);
  bound->x_row = StridedRows(x.shape, x.strides, dims.columns);
  bound->rows = bound->x_rows.count();
  bound->length = bound->x_row.count();
  bound->x_in_place = bound->x_row.even() && RowInPlace(*bound->element, x.dtype, bound->x_row.stride(), bound->length);
  const int64_t row_bytes = std::max<int64_t>(bound->length * bound->element->input_bytes, 1);
  bound->block_rows = std::clamp<int64_t>(kBlockBytes / row_bytes, 1, kMaxBlockRows);
  if (step_.has_weight)
    BindParameter(arguments.inputs[1], *bound->element, bound->weight, bound->weight_dtype, bound->weight_row,
                  bound->weight_in_place);
  if (step_.has_bias)
    BindParameter(arguments.inputs[step_.has_weight ? 2 : 1], *bound->element, bound->bias, bound->bias_dtype,
                  bound->bias_row, bound->bias_in_place);

  TONDAR_ASSIGN_OR_RETURN(
      bound->epilogue, TileProgram::Bind(step_.epilogue, is_double ? DType::kFloat64 : DType::kFloat32, arguments, dims,
                                         static_cast<int>(std::min(std::max<int64_t>(bound->length, 1), kMaxTileColumns)), kernels_));
  bound->direct = bound->epilogue.IsPlainStore() && StridedRows(out.shape, out.strides, dims.rows).even();
  bound->parallel = static_cast<double>(out.elements()) *
                        (NanosecondsOf(step_.kind) + bound->epilogue.nanoseconds_per_element()) >
                    kParallelNanoseconds;
  const size_t scratch_bytes = LayOutScratch(*bound);
  if (out.elements() == 0) return BoundCall();
  return BoundCall(&RunNorm, std::move(bound), scratch_bytes);
}

}  // namespace

Status SupportsNorm(const Step& step) {
  const NormStep& norm = std::get<NormStep>(step.body);
  const int parameters = (norm.has_weight ? 1 : 0) + (norm.has_bias ? 1 : 0);
  for (int i = 0; i <= parameters; ++i) {
    const DType dtype = step.inputs[static_cast<size_t>(i)].dtype;
    if (dtype != DType::kFloat32 && dtype != DType::kFloat64 && dtype != DType::kFloat16 && dtype != DType::kBFloat16)
      return Unimplemented("normalisation of {} is not implemented; expected a float of 16 bits or more", Name(dtype));
  }
  const DType sum = step.inputs[0].dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  return TileProgram::Supports(norm.epilogue, sum, step.outputs[0].dtype);
}

Result<std::unique_ptr<CpuKernel>> MakeNormKernel(const Step& step, std::span<const Constant* const>,
                                                  const CpuKernels& kernels) {
  return std::unique_ptr<CpuKernel>(std::make_unique<NormKernel>(step, kernels));
}

}  // namespace tondar::cpu
