#include "engine/accelerators/cpu/tile_evaluator.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace tondar::cpu {
namespace {

// The index value that instruction slots hold, whatever integer lane it has.
int64_t ReadInteger(const void* values, Lane lane, int64_t i) {
  switch (lane) {
    case kI64: return static_cast<const int64_t*>(values)[i];
    case kI32: return static_cast<const int32_t*>(values)[i];
    case kI16: return static_cast<const int16_t*>(values)[i];
    case kI8: return static_cast<const int8_t*>(values)[i];
    case kU64: return static_cast<const int64_t*>(values)[i];
    case kU32: return static_cast<const uint32_t*>(values)[i];
    case kU16: return static_cast<const uint16_t*>(values)[i];
    default: return static_cast<const uint8_t*>(values)[i];
  }
}

// The position that a dynamic value gives, -1 if it is outside the operand. Reports it unless the access is guarded.
int64_t Locate(const DynamicPosition& dynamic, int64_t affine, int64_t value, StepError* error) {
  const int64_t extent = dynamic.affine.extent;
  const int64_t position = affine + (value < 0 && !dynamic.guarded ? value + extent : value);
  if (position >= 0 && position < extent && (dynamic.guarded || (value >= -extent && value < extent))) return position;
  if (!dynamic.guarded) error->ReportIndex(value, extent);
  return -1;
}

void CopyBytes(std::byte* d, const std::byte* s, int size_log2) {
  switch (size_log2) {
    case 0: *d = *s; break;
    case 1: std::memcpy(d, s, 2); break;
    case 2: std::memcpy(d, s, 4); break;
    default: std::memcpy(d, s, 8); break;
  }
}

// d[r][c] (contiguous) = s[r * row_stride + c * column_stride] in bytes, for rows too short to be worth a call each.
template <typename T>
void GatherShortRows(std::byte* d, const std::byte* s, int64_t row_stride, int64_t column_stride, int rows, int columns) {
  T* out = reinterpret_cast<T*>(d);
  for (int r = 0; r < rows; ++r, s += row_stride) {
    for (int c = 0; c < columns; ++c) *out++ = *reinterpret_cast<const T*>(s + c * column_stride);
  }
}
template <typename T>
void ScatterShortRows(std::byte* d, const std::byte* s, int64_t row_stride, int64_t column_stride, int rows, int columns) {
  const T* in = reinterpret_cast<const T*>(s);
  for (int r = 0; r < rows; ++r, d += row_stride) {
    for (int c = 0; c < columns; ++c) *reinterpret_cast<T*>(d + c * column_stride) = *in++;
  }
}
using ShortRows = void (*)(std::byte*, const std::byte*, int64_t, int64_t, int, int);
constexpr ShortRows kGatherShortRows[] = {GatherShortRows<uint8_t>, GatherShortRows<uint16_t>, GatherShortRows<uint32_t>,
                                          GatherShortRows<uint64_t>};
constexpr ShortRows kScatterShortRows[] = {ScatterShortRows<uint8_t>, ScatterShortRows<uint16_t>,
                                           ScatterShortRows<uint32_t>, ScatterShortRows<uint64_t>};
constexpr int kShortRow = 16;

void GatherTile(const LoopTable& table, int size_log2, std::byte* d, const std::byte* s, int64_t row_stride,
                int64_t column_stride, int rows, int columns) {
  if (rows > 1 && columns < kShortRow) return kGatherShortRows[size_log2](d, s, row_stride, column_stride, rows, columns);
  const int64_t stride = column_stride >> size_log2, row_bytes = int64_t{columns} << size_log2;
  for (int r = 0; r < rows; ++r) table.gather[size_log2](d + r * row_bytes, s + r * row_stride, stride, columns);
}

void ScatterTile(const LoopTable& table, int size_log2, std::byte* d, const std::byte* s, int64_t row_stride,
                 int64_t column_stride, int rows, int columns) {
  if (rows > 1 && columns < kShortRow) return kScatterShortRows[size_log2](d, s, row_stride, column_stride, rows, columns);
  const int64_t stride = column_stride >> size_log2, row_bytes = int64_t{columns} << size_log2;
  for (int r = 0; r < rows; ++r) table.scatter[size_log2](d + r * row_stride, stride, s + r * row_bytes, columns);
}

// The columns [begin, end) of a tile row in which an affine position is inside its operand.
void CutColumns(const AffinePosition& guard, int64_t at_first, int64_t coefficient, int64_t& begin, int64_t& end) {
  if (coefficient == 0) {
    if (at_first < 0 || at_first >= guard.extent) end = begin;
    return;
  }
  const auto floor_div = [](int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); };
  const auto ceil_div = [&](int64_t a, int64_t b) { return -floor_div(-a, b); };
  int64_t low, high;  // at_first + c * coefficient in [0, extent)
  if (coefficient > 0) {
    low = ceil_div(-at_first, coefficient);
    high = floor_div(guard.extent - 1 - at_first, coefficient) + 1;
  } else {
    low = ceil_div(guard.extent - 1 - at_first, coefficient);
    high = floor_div(-at_first, coefficient) + 1;
  }
  begin = std::max(begin, low);
  end = std::min(end, high);
  if (end < begin) end = begin;
}

}  // namespace

void TileEvaluator::FreeTiles::operator()(std::byte* p) const { std::free(p); }

TileEvaluator::Worker TileEvaluator::Begin(std::byte* scratch, StepError* error) const {
  Worker worker;
  worker.slots = reinterpret_cast<const void**>(scratch);
  worker.registers = scratch + slot_bytes_;
  worker.error = error;
  for (size_t slot = 0; slot < register_offsets_.size(); ++slot) {
    if (register_offsets_[slot] >= 0) worker.slots[slot] = worker.registers + register_offsets_[slot];
  }
  for (const auto& [slot, offset] : constants_) worker.slots[slot] = constant_tiles_.get() + offset;
  return worker;
}

void TileEvaluator::SetAccumulator(Worker& worker, int which, const void* values) const {
  if (static_cast<size_t>(which) >= accumulator_slots_.size()) return;
  const int16_t slot = accumulator_slots_[static_cast<size_t>(which)];
  if (slot >= 0) worker.slots[slot] = values;
}

void TileEvaluator::RunOnce(Worker& worker) const {
  static constexpr PerDim kOrigin{};
  const int full = max_rows_ * max_columns_;
  RunStage(once_, worker, kOrigin.data(), 1, 1);
  for (const Op& op : once_splats_) {
    table_->gather[op.size_log2](const_cast<void*>(worker.slots[op.d]), worker.slots[op.a], 0, full);
  }
  RunStage(pattern_, worker, kOrigin.data(), max_rows_, max_columns_);
}

void TileEvaluator::RunTile(Worker& worker, const int64_t* index, int rows, int columns, bool new_row) const {
  if (new_row && !(row_.ops.empty() && row_.loads.empty())) {
    RunStage(row_, worker, index, 1, 1);
    for (const Op& op : row_splats_) {
      table_->gather[op.size_log2](const_cast<void*>(worker.slots[op.d]), worker.slots[op.a], 0, max_columns_);
    }
  }
  RunStage(tile_, worker, index, rows, columns);
}

void TileEvaluator::RunStage(const Stage& stage, Worker& worker, const int64_t* index, int rows, int columns) const {
  for (const Direct& load : stage.loads) {
    const BoundAccess& access = accesses_[static_cast<size_t>(load.source)];
    worker.slots[load.slot] = access.base + Dot(access.strides, index, rank_);
  }
  for (const Direct& store : stage.stores) {
    const BoundOutput& output = outputs_[static_cast<size_t>(store.source)];
    worker.slots[store.slot] = output.base + Dot(output.strides, index, rank_);
  }
  const int64_t n = int64_t{rows} * columns;
  const void** slots = worker.slots;
  static const void* const kNone = nullptr;
  const auto slot_or_null = [&](int16_t slot) { return slot < 0 ? kNone : slots[slot]; };
  for (const Op& op : stage.ops) {
    switch (op.kind) {
      case Kind::kCompute:
        op.function(const_cast<void*>(slots[op.d]), slot_or_null(op.a), slot_or_null(op.b), slot_or_null(op.c), n);
        break;
      case Kind::kLoad: RunLoad(op, worker, index, rows, columns); break;
      case Kind::kIndex: RunIndex(op, worker, index, rows, columns); break;
      case Kind::kStore: RunStore(op, worker, index, rows, columns); break;
      case Kind::kSplat: break;  // kept in lists of their own
    }
  }
}

void TileEvaluator::RunIndex(const Op& op, Worker& worker, const int64_t* index, int rows, int columns) const {
  int64_t* out = static_cast<int64_t*>(const_cast<void*>(worker.slots[op.d]));
  const int64_t start = index[op.access];
  const int64_t row_step = op.access == rows_dim_, column_step = op.access == columns_dim_;
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) *out++ = start + r * row_step + c * column_step;
  }
}

void TileEvaluator::RunLoad(const Op& op, Worker& worker, const int64_t* index, int rows, int columns) const {
  if (op.uniform) {
    LoadUniform(op, worker, index, rows, columns);
  } else {
    LoadEach(op, worker, index, rows, columns);
  }
}

// The address of the tile's first element, when dynamic values are one per tile; false: outside the operand.
bool TileEvaluator::ResolveUniform(const Op& op, Worker& worker, const int64_t* index, const std::byte*& at) const {
  const BoundAccess& access = accesses_[static_cast<size_t>(op.access)];
  at = access.base + Dot(access.strides, index, rank_);
  for (const DynamicPosition& dynamic : access.dynamics) {
    const int64_t affine = dynamic.affine.offset + Dot(dynamic.affine.coefficients, index, rank_);
    const int16_t slot = dynamic.instruction;
    const int64_t value = ReadInteger(worker.slots[slot], slot_lanes_[static_cast<size_t>(slot)], 0);
    const int64_t position = Locate(dynamic, affine, value, worker.error);
    if (position < 0) return false;
    at += (position - affine) * dynamic.stride_bytes;
  }
  return true;
}

void TileEvaluator::LoadUniform(const Op& op, Worker& worker, const int64_t* index, int rows, int columns) const {
  const BoundAccess& access = accesses_[static_cast<size_t>(op.access)];
  const std::byte* at = nullptr;
  if (!ResolveUniform(op, worker, index, at)) {
    worker.slots[op.d] = worker.slots[op.fill_slot];
    return;
  }
  const int64_t row_stride = rows_dim_ < 0 ? 0 : access.strides[static_cast<size_t>(rows_dim_)];
  const int64_t column_stride = columns_dim_ < 0 ? 0 : access.strides[static_cast<size_t>(columns_dim_)];
  void* const destination = RegisterOf(worker, op.d);
  std::byte* const raw = static_cast<std::byte*>(op.temporary < 0 ? destination : RegisterOf(worker, op.temporary));
  const int64_t n = int64_t{rows} * columns;
  if (access.guards.empty()) {
    if (op.direct_if_whole) {
      worker.slots[op.d] = at;
      return;
    }
    GatherTile(*table_, op.size_log2, raw, at, row_stride, column_stride, rows, columns);
  } else {
    const GatherFunction gather = table_->gather[op.size_log2];
    for (int r = 0; r < rows; ++r) {
      int64_t begin = 0, end = columns;
      for (const AffinePosition& guard : access.guards) {
        int64_t first = guard.offset + Dot(guard.coefficients, index, rank_);
        if (rows_dim_ >= 0) first += r * guard.coefficients[static_cast<size_t>(rows_dim_)];
        CutColumns(guard, first, columns_dim_ < 0 ? 0 : guard.coefficients[static_cast<size_t>(columns_dim_)], begin, end);
      }
      if (rows == 1 && begin == end) {
        worker.slots[op.d] = worker.slots[op.fill_slot];
        return;
      }
      if (rows == 1 && op.direct_if_whole && end - begin == columns) {
        worker.slots[op.d] = at;
        return;
      }
      std::byte* out = raw + ((int64_t{r} * columns) << op.size_log2);
      if (begin > 0) gather(out, &op.fill, 0, begin);
      if (end > begin) {
        gather(out + (begin << op.size_log2), at + r * row_stride + begin * column_stride,
               column_stride >> op.size_log2, end - begin);
      }
      if (end < columns) gather(out + (end << op.size_log2), &op.fill, 0, columns - end);
    }
  }
  if (op.function != nullptr) op.function(destination, raw, nullptr, nullptr, n);
  worker.slots[op.d] = destination;
}

// Dynamic values differ within the tile. Rows whose positions are all inside are addressed together, others one by one.
void TileEvaluator::LoadEach(const Op& op, Worker& worker, const int64_t* index, int rows, int columns) const {
  void* const destination = RegisterOf(worker, op.d);
  std::byte* const raw = static_cast<std::byte*>(op.temporary < 0 ? destination : RegisterOf(worker, op.temporary));
  PerDim at{};
  std::copy_n(index, rank_, at.begin());
  for (int r = 0; r < rows; ++r) {
    if (rows_dim_ >= 0) at[static_cast<size_t>(rows_dim_)] = index[rows_dim_] + r;
    std::byte* const out = raw + ((int64_t{r} * columns) << op.size_log2);
    if (!PickRow(op, worker, at, r * columns, columns, out)) PickOneByOne(op, worker, at, r * columns, columns, out);
  }
  if (op.function != nullptr) op.function(destination, raw, nullptr, nullptr, int64_t{rows} * columns);
  worker.slots[op.d] = destination;
}

// One row of a tile, whose first element is at `at` of the nest and number `first` of the tile. False, with nothing of use
// written, if an element is outside the operand.
bool TileEvaluator::PickRow(const Op& op, const Worker& worker, const PerDim& at, int first, int columns, std::byte* out) const {
  const BoundAccess& access = accesses_[static_cast<size_t>(op.access)];
  if (!access.guards.empty() || columns > kTileElements) return false;
  const auto along_columns = [&](const PerDim& steps) { return columns_dim_ < 0 ? 0 : steps[static_cast<size_t>(columns_dim_)]; };
  std::array<int64_t, kTileElements> offsets, widened;
  const int64_t step = along_columns(access.strides);
  for (int c = 0; c < columns; ++c) offsets[static_cast<size_t>(c)] = c * step;
  for (const DynamicPosition& dynamic : access.dynamics) {
    const size_t slot = static_cast<size_t>(dynamic.instruction);
    const Lane lane = slot_lanes_[slot];
    const std::byte* values = static_cast<const std::byte*>(worker.slots[slot]) + static_cast<size_t>(first) * LaneBytes(lane);
    if (LaneBytes(lane) < sizeof(int64_t)) {
      table_->casts[lane][kI64](widened.data(), values, nullptr, nullptr, columns);
      values = reinterpret_cast<const std::byte*>(widened.data());
    }
    const LocatedDim dim{dynamic.affine.offset + Dot(dynamic.affine.coefficients, at.data(), rank_),
                         along_columns(dynamic.affine.coefficients), dynamic.affine.extent, dynamic.stride_bytes, !dynamic.guarded};
    if (!table_->locate(offsets.data(), reinterpret_cast<const int64_t*>(values), dim, columns)) return false;
  }
  table_->pick[op.size_log2](out, access.base + Dot(access.strides, at.data(), rank_), offsets.data(), columns);
  return true;
}

void TileEvaluator::PickOneByOne(const Op& op, Worker& worker, PerDim at, int first, int columns, std::byte* out) const {
  const BoundAccess& access = accesses_[static_cast<size_t>(op.access)];
  for (int c = 0; c < columns; ++c) {
    if (c > 0) ++at[static_cast<size_t>(columns_dim_)];
    const std::byte* address = access.base + Dot(access.strides, at.data(), rank_);
    bool inside = true;
    for (const DynamicPosition& dynamic : access.dynamics) {
      const int64_t affine = dynamic.affine.offset + Dot(dynamic.affine.coefficients, at.data(), rank_);
      const int16_t slot = dynamic.instruction;
      const int64_t value = ReadInteger(worker.slots[slot], slot_lanes_[static_cast<size_t>(slot)], first + c);
      const int64_t position = Locate(dynamic, affine, value, worker.error);
      inside &= position >= 0;
      address += (position - affine) * dynamic.stride_bytes;
    }
    for (const AffinePosition& guard : access.guards) {
      const int64_t position = guard.offset + Dot(guard.coefficients, at.data(), rank_);
      inside &= position >= 0 && position < guard.extent;
    }
    const std::byte* source = inside ? address : reinterpret_cast<const std::byte*>(&op.fill);
    CopyBytes(out + (int64_t{c} << op.size_log2), source, op.size_log2);
  }
}

void TileEvaluator::RunStore(const Op& op, Worker& worker, const int64_t* index, int rows, int columns) const {
  const BoundOutput& output = outputs_[static_cast<size_t>(op.access)];
  std::byte* at = output.base + Dot(output.strides, index, rank_);
  const int64_t row_stride = rows_dim_ < 0 ? 0 : output.strides[static_cast<size_t>(rows_dim_)];
  const int64_t column_stride = columns_dim_ < 0 ? output.element_bytes : output.strides[static_cast<size_t>(columns_dim_)];
  const void* values = worker.slots[op.a];
  const int64_t n = int64_t{rows} * columns;
  const bool contiguous = (columns == 1 || column_stride == output.element_bytes) &&
                          (rows == 1 || row_stride == columns * output.element_bytes);
  if (op.function != nullptr) {
    void* converted = contiguous ? static_cast<void*>(at) : RegisterOf(worker, op.temporary);
    op.function(converted, values, nullptr, nullptr, n);
    values = converted;
  } else if (contiguous) {
    std::memcpy(at, values, static_cast<size_t>(n) << op.size_log2);
  }
  if (!contiguous) {
    ScatterTile(*table_, op.size_log2, at, static_cast<const std::byte*>(values), row_stride, column_stride, rows, columns);
  }
}

bool TileEvaluator::AsSingleCall(SingleCall& call) const {
  if (rank_ > 1 || max_rows_ > 1 || tile_.ops.size() != 1 || tile_.stores.size() != 1) return false;
  const Op& op = tile_.ops[0];
  if (op.kind != Kind::kCompute || tile_.stores[0].slot != op.d) return false;
  if (!once_.ops.empty() || !once_.loads.empty() || !once_splats_.empty() || !row_.loads.empty() || !row_.ops.empty() ||
      !pattern_.ops.empty() || !pattern_.loads.empty()) {
    return false;
  }
  call.function = op.function;
  const BoundOutput& output = outputs_[static_cast<size_t>(tile_.stores[0].source)];
  call.out = output.base;
  call.out_step = output.element_bytes;
  const int16_t slots[3] = {op.a, op.b, op.c};
  for (size_t i = 0; i < 3; ++i) {
    if (slots[i] < 0) continue;
    for (const Direct& load : tile_.loads) {
      if (load.slot != slots[i]) continue;
      call.operands[i] = accesses_[static_cast<size_t>(load.source)].base;
      call.steps[i] = accesses_[static_cast<size_t>(load.source)].element_bytes;
    }
    for (const auto& [slot, offset] : constants_) {
      if (slot == slots[i]) call.operands[i] = constant_tiles_.get() + offset;
    }
    if (call.operands[i] == nullptr) return false;
  }
  return true;
}

LoopProgram AccumulatorProgram(DType accumulator, DType result) {
  LoopProgram program;
  program.body.push_back({.op = LoopOp::kAccumulator, .dtype = accumulator, .source = 0});
  if (result != accumulator) program.body.push_back({.op = LoopOp::kCast, .dtype = result, .a = 0});
  program.results.push_back(static_cast<int16_t>(program.body.size() - 1));
  return program;
}

}  // namespace tondar::cpu
