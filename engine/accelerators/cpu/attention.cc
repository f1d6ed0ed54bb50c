// AttentionStep: a tile of query rows at a time. Their scores against every visible key, the softmax and the product
// with the values stay in L1 and L2. A row's scores are reduced whole, not online, so that its result depends on
// nothing but its own query, keys, values and mask.
#include <cmath>
#include <limits>

#include "engine/accelerators/cpu/attention_table.h"
#include "engine/accelerators/cpu/library_kernels.h"
#include "engine/accelerators/cpu/loop_table.h"
#include "engine/accelerators/cpu/operand_packing.h"
#include "engine/accelerators/cpu/strided_rows.h"
#include "engine/accelerators/cpu/tile_program.h"

namespace tondar::cpu {
namespace {

// One operand: batches of rows.
struct Rows {
  const std::byte* data = nullptr;
  DType dtype = DType::kInvalid;
  StridedRows batches;
  int64_t row_stride = 0, column_stride = 0;
  bool in_place = false;

  int64_t element() const { return static_cast<int64_t>(SizeOf(dtype)); }
  const std::byte* Batch(int64_t batch) const { return data + batches.Offset(batch) * element(); }
};

struct BoundAttention {
  const GemmFunctions* functions;
  const AttentionTable* table;
  TransposeFunction transpose;
  AttentionStep step;
  PanelLayout key_layout, value_layout;  // columns: keys; value columns
  TileProgram store;
  Rows q, k, v, mask;
  int64_t batches, queries, keys, depth, values;
  int64_t tiles;  // of query rows, per batch
  int64_t direct_stride;  // of the output's rows, in bytes; 0: rows go through `store`
  size_t addresses_at, q_at, k_at, v_at, scores_at, mask_at, out_at, store_at;
  bool parallel;
};

class AttentionMember {
 public:
  AttentionMember(const BoundAttention& bound, RunContext& context, int member)
      : bound_(bound), f_(*bound.functions), context_(context), scratch_(context.MemberScratch(member)) {}

  // Items count through query tiles, then batches.
  void Run(Range items) {
    for (int64_t item = items.begin; item < items.end; ++item) {
      const int64_t batch = item / bound_.tiles;
      if (batch != batch_) SelectBatch(batch);
      RunTile(ShareOf(bound_.queries, item % bound_.tiles, bound_.tiles));
    }
  }

 private:
  void SelectBatch(int64_t batch) {
    batch_ = batch;
    q_ = bound_.q.Batch(batch);
    mask_ = bound_.step.has_mask ? bound_.mask.Batch(batch) : nullptr;
    mask_row_ = nullptr;
    const std::byte *k = bound_.k.Batch(batch), *v = bound_.v.Batch(batch);
    if (k != k_) PackKeys(k);
    if (v != v_) PackValues(v);
    k_ = k;
    v_ = v;
  }

  // Keys become columns of the first product.
  void PackKeys(const std::byte* k) {
    std::byte* packed = scratch_ + bound_.k_at;
    static constexpr int64_t kNoOffset[] = {0};
    if (!bound_.k.in_place) {
      PackColumns(f_, bound_.key_layout,
                  {k, bound_.k.dtype, kNoOffset, bound_.depth, bound_.k.column_stride, bound_.k.row_stride}, 0,
                  bound_.key_layout.panels(), packed);
      return;
    }
    for (int64_t panel = 0; panel < bound_.key_layout.panels(); ++panel) {
      const int64_t width = bound_.key_layout.VectorsOf(panel) * f_.lanes;
      const int64_t first = bound_.key_layout.FirstColumn(panel);
      bound_.transpose(packed + bound_.key_layout.OffsetBytes(f_, panel, bound_.depth), width,
                       k + first * bound_.k.row_stride * bound_.k.element(), bound_.k.row_stride, bound_.depth,
                       bound_.key_layout.ColumnsOf(panel, panel + 1));
    }
  }

  void PackValues(const std::byte* v) {
    if (bound_.v.in_place) return;
    static constexpr int64_t kNoOffset[] = {0};
    PackColumns(f_, bound_.value_layout,
                {v, bound_.v.dtype, kNoOffset, bound_.keys, bound_.v.row_stride, bound_.v.column_stride}, 0,
                bound_.value_layout.panels(), scratch_ + bound_.v_at);
  }

  void RunTile(Share rows) {
    const int64_t visible = bound_.step.causal ? std::min(bound_.keys, rows.end) : bound_.keys;
    float* scores = reinterpret_cast<float*>(scratch_ + bound_.scores_at);
    const int64_t stride = bound_.key_layout.padded_columns();
    MultiplyKeys(rows, visible, scores, stride);
    float factors[kGemmMaxRows];
    for (int64_t i = 0; i < rows.size(); ++i)
      factors[i] = Softmax(rows.begin + i, visible, scores + i * stride);
    MultiplyValues(rows.size(), visible, scores, stride);
    Store(rows, factors);
  }

  void MultiplyKeys(Share rows, int64_t visible, float* scores, int64_t stride) {
    const void** addresses = Addresses();
    for (int64_t i = 0; i < rows.size(); ++i) addresses[i] = QueryRow(rows.begin + i, i);
    GemmTile tile;
    tile.rows = addresses;
    tile.tap_stride = 0;
    tile.taps = 1;
    tile.depth = bound_.depth;
    tile.c_row_bytes = stride * f_.sum_bytes;
    int64_t last = 0;
    while (last < bound_.key_layout.panels() && bound_.key_layout.FirstColumn(last) < visible) ++last;
    RunPanels(f_, bound_.key_layout, tile, rows.size(), 0, last, {scratch_ + bound_.k_at, 0, bound_.depth}, 0,
              reinterpret_cast<std::byte*>(scores));
  }

  const void* QueryRow(int64_t row, int64_t slot) {
    const std::byte* from = q_ + row * bound_.q.row_stride * bound_.q.element();
    if (bound_.q.in_place) return from;
    std::byte* copy = scratch_ + bound_.q_at + slot * bound_.depth * f_.input_bytes;
    PackRow(f_, from, bound_.q.dtype, bound_.q.column_stride, bound_.depth, bound_.depth, copy);
    return copy;
  }

  // The factor that the row's product is to be scaled by.
  float Softmax(int64_t row, int64_t visible, float* scores) {
    ScoreRow call;
    call.scores = scores;
    call.keys = bound_.step.causal ? std::min(visible, row + 1) : visible;
    call.padded_keys = visible;
    call.scale = static_cast<float>(bound_.step.scale);
    call.mask = bound_.step.has_mask ? MaskRow(row) : nullptr;
    const float factor = bound_.table->softmax(call);
    const bool none_visible = factor == 0 && bound_.keys > 0;
    return none_visible && !bound_.step.zero_masked_rows ? std::numeric_limits<float>::quiet_NaN() : factor;
  }

  // What is added to the scores of a query row. A mask that is the same for all rows is converted once.
  const float* MaskRow(int64_t row) {
    const std::byte* from = mask_ + row * bound_.mask.row_stride * bound_.mask.element();
    if (bound_.mask.in_place) return reinterpret_cast<const float*>(from);
    float* out = reinterpret_cast<float*>(scratch_ + bound_.mask_at);
    if (from == mask_row_) return out;
    mask_row_ = from;
    if (bound_.mask.dtype != DType::kBool) {
      PackRow(f_, from, bound_.mask.dtype, bound_.mask.column_stride, bound_.keys, bound_.keys,
              reinterpret_cast<std::byte*>(out));
    } else if (bound_.mask.column_stride == 1) {
      bound_.table->bool_mask(reinterpret_cast<const uint8_t*>(from), bound_.keys, out);
    } else {
      for (int64_t t = 0; t < bound_.keys; ++t)
        out[t] = from[t * bound_.mask.column_stride] != std::byte{0} ? 0.0f : -std::numeric_limits<float>::infinity();
    }
    return out;
  }

  void MultiplyValues(int64_t rows, int64_t visible, const float* weights, int64_t stride) {
    const void** addresses = Addresses();
    for (int64_t i = 0; i < rows; ++i) addresses[i] = weights + i * stride;
    GemmTile tile;
    tile.rows = addresses;
    tile.tap_stride = 0;
    tile.taps = 1;
    tile.depth = visible;
    tile.c_row_bytes = bound_.value_layout.padded_columns() * f_.sum_bytes;
    const ColumnSource source = bound_.v.in_place
                                    ? ColumnSource{v_, bound_.v.row_stride * bound_.v.element(), 0}
                                    : ColumnSource{scratch_ + bound_.v_at, 0, bound_.keys};
    RunPanels(f_, bound_.value_layout, tile, rows, 0, bound_.value_layout.panels(), source, 0, scratch_ + bound_.out_at);
  }

  void Store(Share rows, const float* factors) {
    float* sums = reinterpret_cast<float*>(scratch_ + bound_.out_at);
    const int64_t stride = bound_.value_layout.padded_columns(), first = batch_ * bound_.queries + rows.begin;
    const bool direct = bound_.direct_stride != 0;
    std::byte* out = direct ? bound_.store.OutputAddress(first, 0) : reinterpret_cast<std::byte*>(sums);
    const int64_t out_stride = direct ? bound_.direct_stride : stride * f_.sum_bytes;
    for (int64_t i = 0; i < rows.size(); ++i)
      bound_.table->scale(sums + i * stride, factors[i], bound_.values, reinterpret_cast<float*>(out + i * out_stride));
    if (direct) return;
    AccumulatorTile tile;
    tile.accumulators = sums;
    tile.accumulator_stride = stride;
    tile.row = first;
    tile.column = 0;
    tile.rows = static_cast<int>(rows.size());
    tile.columns = static_cast<int>(bound_.values);
    bound_.store.Run(tile, scratch_ + bound_.store_at, *context_.error);
  }

  const void** Addresses() { return reinterpret_cast<const void**>(scratch_ + bound_.addresses_at); }

  const BoundAttention& bound_;
  const GemmFunctions& f_;
  RunContext& context_;
  std::byte* scratch_;
  int64_t batch_ = -1;
  const std::byte *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *mask_ = nullptr, *mask_row_ = nullptr;
};

void RunAttention(const void* arguments, RunContext& context) {
  const BoundAttention& bound = *static_cast<const BoundAttention*>(arguments);
  SplitOverTeam(context, bound.parallel, [&](int member, int members) {
    AttentionMember(bound, context, member).Run(RangeOf(bound.batches * bound.tiles, member, members));
  });
}

class AttentionKernel final : public CpuKernel {
 public:
  AttentionKernel(const Step& step, const CpuKernels& kernels)
      : step_(std::get<AttentionStep>(step.body)), kernels_(kernels) {}
  Result<BoundCall> Bind(const KernelArguments& arguments) const override;

 private:
  AttentionStep step_;
  const CpuKernels& kernels_;
};

// An operand whose last two dims are rows and columns; dims of extent 1 repeat.
Rows BindRows(const DeviceTensor& tensor, const Dims& batch_extents) {
  Rows rows;
  rows.data = tensor.data;
  rows.dtype = tensor.dtype;
  const size_t rank = tensor.shape.size();
  const auto stride = [&](size_t d) { return tensor.shape[d] == 1 ? 0 : tensor.strides[d]; };
  for (size_t d = 0; d + 2 < rank; ++d) rows.batches.Append(batch_extents[d], stride(d));
  rows.row_stride = stride(rank - 2);
  rows.column_stride = stride(rank - 1);
  return rows;
}

size_t LayOutScratch(BoundAttention& bound) {
  ScratchLayout scratch;
  const GemmFunctions& f = *bound.functions;
  const int64_t keys = bound.key_layout.padded_columns(), values = bound.value_layout.padded_columns();
  const int64_t sum = f.sum_bytes, rows = f.rows;
  bound.addresses_at = scratch.Add(rows * static_cast<int64_t>(sizeof(void*)));
  bound.q_at = scratch.Add(bound.q.in_place ? 0 : rows * bound.depth * sum);
  bound.k_at = scratch.Add(keys * bound.depth * sum);
  bound.v_at = scratch.Add(bound.v.in_place ? 0 : bound.keys * values * sum);
  bound.scores_at = scratch.Add(rows * keys * sum);
  bound.mask_at = scratch.Add(bound.step.has_mask && !bound.mask.in_place ? bound.keys * sum : 0);
  bound.out_at = scratch.Add(rows * values * sum + 64);
  bound.store_at = scratch.Add(static_cast<int64_t>(bound.store.scratch_bytes()));
  return scratch.bytes();
}

Result<BoundCall> AttentionKernel::Bind(const KernelArguments& arguments) const {
  const DeviceTensor& q = arguments.inputs[0];
  const DeviceTensor& k = arguments.inputs[1];
  const DeviceTensor& v = arguments.inputs[2];
  const DeviceTensor& out = arguments.outputs[0];
  const size_t rank = out.shape.size();
  if (rank < 2 || q.shape.size() != rank || k.shape.size() != rank || v.shape.size() != rank ||
      q.shape[rank - 1] != k.shape[rank - 1] || k.shape[rank - 2] != v.shape[rank - 2] ||
      out.shape[rank - 2] != q.shape[rank - 2] || out.shape[rank - 1] != v.shape[rank - 1])
    return Internal("attention: q {}, k {}, v {} do not give {}", ToString(q.shape), ToString(k.shape),
                    ToString(v.shape), ToString(out.shape));
  auto bound = std::make_unique<BoundAttention>();
  const GemmFunctions& f = *kernels_.gemm->f32;
  bound->functions = &f;
  bound->table = kernels_.attention;
  bound->transpose = kernels_.loop->transpose[2];
  bound->step = step_;
  bound->queries = q.shape[rank - 2];
  bound->keys = k.shape[rank - 2];
  bound->depth = q.shape[rank - 1];
  bound->values = v.shape[rank - 1];
  bound->tiles = (bound->queries + f.rows - 1) / f.rows;
  bound->key_layout = PanelLayout(f, bound->keys);
  bound->value_layout = PanelLayout(f, bound->values);
  bound->q = BindRows(q, out.shape);
  bound->k = BindRows(k, out.shape);
  bound->v = BindRows(v, out.shape);
  if (step_.has_mask) bound->mask = BindRows(arguments.inputs[3], out.shape);
  bound->batches = bound->q.batches.count();
  bound->q.in_place = RowInPlace(f, q.dtype, bound->q.column_stride, bound->depth);
  bound->k.in_place = RowInPlace(f, k.dtype, bound->k.column_stride, bound->depth);
  // Values spread over many pages are worth copying for more than a tile or two. (A row stride of 0 would read as "packed".)
  const bool compact = bound->v.row_stride == bound->values || bound->tiles <= 2;
  bound->v.in_place = RowInPlace(f, v.dtype, bound->v.column_stride, 2) && bound->values % f.lanes == 0 &&
                      bound->v.row_stride != 0 && compact;
  bound->mask.in_place = step_.has_mask && RowInPlace(f, bound->mask.dtype, bound->mask.column_stride, bound->keys);
  TONDAR_ASSIGN_OR_RETURN(
      bound->store, TileProgram::Bind(LoopProgram(), DType::kFloat32, arguments, TileDims::LastIsColumn(static_cast<int>(rank)),
                                      static_cast<int>(bound->values), kernels_));
  const int64_t out_stride = bound->queries == 1 ? bound->values : out.strides[rank - 2];
  bound->direct_stride = bound->store.IsPlainStore() ? out_stride * f.sum_bytes : 0;
  // Both products at 32 multiplications a nanosecond, and half a nanosecond for e^x.
  const double per_score = static_cast<double>(bound->depth + bound->values) / 32 + 0.5;
  bound->parallel = static_cast<double>(bound->batches) * static_cast<double>(bound->queries) *
                        static_cast<double>(bound->keys) * per_score > kParallelNanoseconds;
  const size_t scratch_bytes = LayOutScratch(*bound);
  if (out.elements() == 0) return BoundCall();
  return BoundCall(&RunAttention, std::move(bound), scratch_bytes);
}

}  // namespace

Status SupportsAttention(const Step& step) {
  const auto is_single = [](DType t) {
    return t == DType::kFloat32 || t == DType::kFloat16 || t == DType::kBFloat16;
  };
  for (size_t i = 0; i < 3; ++i)
    if (!is_single(step.inputs[i].dtype))
      return Unimplemented("attention over {} is not implemented; expected float32, float16 or bfloat16",
                           Name(step.inputs[i].dtype));
  if (std::get<AttentionStep>(step.body).has_mask) {
    const DType mask = step.inputs[3].dtype;
    if (mask != DType::kBool && !is_single(mask) && mask != DType::kFloat64)
      return Unimplemented("attention masks of {} are not implemented; expected bool or float", Name(mask));
  }
  return TileProgram::Supports(LoopProgram(), DType::kFloat32, step.outputs[0].dtype);
}

Result<std::unique_ptr<CpuKernel>> MakeAttentionKernel(const Step& step, std::span<const Constant* const>,
                                                       const CpuKernels& kernels) {
  return std::unique_ptr<CpuKernel>(std::make_unique<AttentionKernel>(step, kernels));
}

}  // namespace tondar::cpu
