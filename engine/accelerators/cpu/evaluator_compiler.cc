// Turns a LoopProgram into the stages of a TileEvaluator.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/accelerators/cpu/scalar_functions.h"
#include "engine/accelerators/cpu/tile_evaluator.h"
#include "engine/types/float8.h"

namespace tondar::cpu {
namespace {

#define TONDAR_TILE_OP(name) static_assert(static_cast<int>(kTile##name) == static_cast<int>(LoopOp::k##name));
TONDAR_TILE_OPS(TONDAR_TILE_OP)
#undef TONDAR_TILE_OP
static_assert(kTileOpCount == kLoopOpCount);

constexpr int64_t kTileAlignment = 64;
int64_t RoundUp(int64_t bytes) { return (bytes + kTileAlignment - 1) / kTileAlignment * kTileAlignment; }

// What is a float32 in registers and narrower in memory.
bool IsNarrowFloat(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || IsFloat8(dtype); }

// The 8-bit floats take a table to read and arithmetic to write; they are storage, not what models compute with.
template <DType dtype>
struct Float8Functions {
  static void Load(void* d, const void* a, const void*, const void*, int64_t n) {
    const auto* bits = static_cast<const uint8_t*>(a);
    for (int64_t i = 0; i < n; ++i) static_cast<float*>(d)[i] = Float8ToFloat(dtype, bits[i]);
  }
  static void Store(void* d, const void* a, const void*, const void*, int64_t n) {
    const auto* values = static_cast<const float*>(a);
    for (int64_t i = 0; i < n; ++i) static_cast<uint8_t*>(d)[i] = FloatToFloat8(dtype, values[i]);
  }
  static void Round(void* d, const void* a, const void*, const void*, int64_t n) {
    const auto* values = static_cast<const float*>(a);
    for (int64_t i = 0; i < n; ++i) static_cast<float*>(d)[i] = Float8ToFloat(dtype, FloatToFloat8(dtype, values[i]));
  }
};

struct NarrowFunctions {
  TileFunction load, store, round;
};

template <DType dtype>
constexpr NarrowFunctions kFloat8 = {Float8Functions<dtype>::Load, Float8Functions<dtype>::Store, Float8Functions<dtype>::Round};

// Nulls for what is as wide in memory as in registers.
NarrowFunctions FunctionsOf(const LoopTable& table, DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return {table.load_f16, table.store_f16, table.round_f16};
    case DType::kBFloat16: return {table.load_bf16, table.store_bf16, table.round_bf16};
    case DType::kFloat8E4M3FN: return kFloat8<DType::kFloat8E4M3FN>;
    case DType::kFloat8E5M2: return kFloat8<DType::kFloat8E5M2>;
    case DType::kFloat8E4M3FNUZ: return kFloat8<DType::kFloat8E4M3FNUZ>;
    case DType::kFloat8E5M2FNUZ: return kFloat8<DType::kFloat8E5M2FNUZ>;
    case DType::kFloat8E8M0: return kFloat8<DType::kFloat8E8M0>;
    default: return {};
  }
}

int Log2(int64_t bytes) { return bytes == 1 ? 0 : (bytes == 2 ? 1 : (bytes == 4 ? 2 : 3)); }

TileFunction LoadConversion(const LoopTable& table, DType dtype) { return FunctionsOf(table, dtype).load; }
TileFunction StoreConversion(const LoopTable& table, DType dtype) { return FunctionsOf(table, dtype).store; }
TileFunction Rounding(const LoopTable& table, DType dtype) { return FunctionsOf(table, dtype).round; }

float RoundTo(DType dtype, float value) {
  if (dtype == DType::kFloat16) return Float16ToFloat(FloatToFloat16(value));
  if (dtype == DType::kBFloat16) return BFloat16ToFloat(FloatToBFloat16(value));
  if (IsFloat8(dtype)) return Float8ToFloat(dtype, FloatToFloat8(dtype, value));
  return value;
}

// Writes the value in the lane's form.
void WriteLane(void* to, Lane lane, double value, int64_t integer) {
  const auto write = [&](auto typed) { std::memcpy(to, &typed, sizeof(typed)); };
  switch (lane) {
    case kF32: return write(static_cast<float>(value));
    case kF64: return write(value);
    case kBool: return write(static_cast<uint8_t>(integer != 0));
    default: std::memcpy(to, &integer, LaneBytes(lane));  // little-endian: the low bytes are the narrow integer
  }
}

// The bytes of an access's fill value as its operand stores it.
int64_t StoredFill(DType dtype, double fill) {
  int64_t bytes = 0;
  if (dtype == DType::kFloat16) {
    const uint16_t half = FloatToFloat16(static_cast<float>(fill));
    std::memcpy(&bytes, &half, 2);
  } else if (dtype == DType::kBFloat16) {
    const uint16_t half = FloatToBFloat16(static_cast<float>(fill));
    std::memcpy(&bytes, &half, 2);
  } else if (IsFloat8(dtype)) {
    bytes = FloatToFloat8(dtype, static_cast<float>(fill));
  } else {
    WriteLane(&bytes, *LaneOf(dtype), fill, IsFloat(dtype) ? 0 : static_cast<int64_t>(fill));
  }
  return bytes;
}

TileFunction FunctionFor(const LoopTable& table, LoopOp op, Lane lane) {
  const TileFunction function = table.ops[static_cast<int>(op)][lane];
  return function != nullptr ? function : ScalarFunction(static_cast<TileOp>(op), lane);
}

// Operations that give one of their operands: nothing to round.
bool OnlySelects(LoopOp op) {
  constexpr LoopOp kOps[] = {LoopOp::kNeg,  LoopOp::kAbs,  LoopOp::kSign, LoopOp::kRelu,     LoopOp::kMax,
                             LoopOp::kMin,  LoopOp::kFmax, LoopOp::kFmin, LoopOp::kCopysign, LoopOp::kSelect,
                             LoopOp::kLoad, LoopOp::kConstant};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

// Rough nanoseconds per element with 64-byte vectors, on a 3 GHz core.
double CostOf(const LoopTable& table, LoopOp op, Lane lane, bool only_scalar) {
  constexpr LoopOp kApproximations[] = {LoopOp::kExp,  LoopOp::kExp2,  LoopOp::kExpm1, LoopOp::kLog,     LoopOp::kLog2,
                                        LoopOp::kLog10, LoopOp::kLog1p, LoopOp::kSin,   LoopOp::kCos,     LoopOp::kTanh,
                                        LoopOp::kErf,  LoopOp::kSigmoid, LoopOp::kGelu, LoopOp::kGeluTanh, LoopOp::kSilu};
  if (only_scalar) return 12;
  const double narrow = &table == &kLoopBaseline ? 4 : (LaneBytes(lane) == 8 ? 2 : 1);
  if (std::find(std::begin(kApproximations), std::end(kApproximations), op) != std::end(kApproximations)) return 0.5 * narrow;
  const bool divides = op == LoopOp::kFloorDiv || op == LoopOp::kFmod || op == LoopOp::kRemainder || op == LoopOp::kPow ||
                       (op == LoopOp::kDiv && lane < kF32);
  return divides ? 4 : 0.06 * narrow;
}

// How often an instruction is evaluated, rarest first.
enum class Level : uint8_t { kConstant, kOnce, kPattern, kRow, kTile };
bool IsScalar(Level level) { return level == Level::kOnce || level == Level::kRow; }

constexpr unsigned kEveryTile = 1u << 31;  // dependency that no hoisting may cross

}  // namespace

class EvaluatorCompiler {
 public:
  EvaluatorCompiler(const EvaluatorInputs& inputs, const CpuKernels& kernels)
      : in_(inputs), program_(*inputs.program), table_(*kernels.loop) {}

  Result<TileEvaluator> Compile() {
    out_.table_ = &table_;
    out_.rank_ = in_.nest->size();
    out_.rows_dim_ = in_.rows_dim;
    out_.columns_dim_ = in_.columns_dim;
    out_.max_rows_ = in_.max_rows;
    out_.max_columns_ = in_.max_columns;
    out_.outputs_.assign(in_.outputs.begin(), in_.outputs.end());
    TONDAR_RETURN_IF_ERROR(TileEvaluator::Supports(program_));
    ResolveCasts();
    FindDependencies();
    FindLevels();
    FindUses();
    AssignOutputs();
    for (size_t i = 0; i < program_.body.size(); ++i) {
      if (!used_[i] || canonical_[i] != static_cast<int>(i)) continue;
      TONDAR_RETURN_IF_ERROR(Emit(i).Annotated(fmt::format("instruction {}", i)));
    }
    EmitResults();
    Finish();
    return std::move(out_);
  }

 private:
  using Op = TileEvaluator::Op;
  using Kind = TileEvaluator::Kind;
  using Stage = TileEvaluator::Stage;

  // --- Analysis ---------------------------------------------------------------------------------------------------------

  // Casts that change nothing of the held value are other names of their operand.
  void ResolveCasts() {
    const size_t n = program_.body.size();
    canonical_.resize(n);
    lanes_.resize(n);
    for (size_t i = 0; i < n; ++i) {
      const LoopInstruction& instruction = program_.body[i];
      canonical_[i] = static_cast<int>(i);
      lanes_[i] = *LaneOf(instruction.dtype);
      if (instruction.op != LoopOp::kCast) continue;
      const int source = canonical_[static_cast<size_t>(instruction.a)];
      const DType from = program_.body[static_cast<size_t>(instruction.a)].dtype;
      const bool widens = IsNarrowFloat(from) && instruction.dtype == DType::kFloat32;
      if (from == instruction.dtype || widens) canonical_[i] = source;
    }
  }

  size_t At(int16_t i) const { return static_cast<size_t>(canonical_[static_cast<size_t>(i)]); }

  template <typename F>
  void ForEachOperand(size_t i, F f) const {
    const LoopInstruction& instruction = program_.body[i];
    for (const int16_t operand : {instruction.a, instruction.b, instruction.c}) {
      if (operand >= 0) f(At(operand));
    }
    if (instruction.op != LoopOp::kLoad) return;
    for (const DynamicPosition& dynamic : in_.accesses[static_cast<size_t>(instruction.source)].dynamics) {
      f(At(dynamic.instruction));
    }
  }

  int NestPosition(int loop_dim) const {
    for (size_t d = 0; d < in_.nest->size(); ++d) {
      if ((*in_.nest)[d].original == loop_dim) return static_cast<int>(d);
    }
    return -1;  // its extent is 1
  }

  // Bit d: the value changes along nest dim d.
  void FindDependencies() {
    depends_.assign(program_.body.size(), 0);
    for (size_t i = 0; i < program_.body.size(); ++i) {
      const LoopInstruction& instruction = program_.body[i];
      ForEachOperand(i, [&](size_t operand) { depends_[i] |= depends_[operand]; });
      if (instruction.op == LoopOp::kAccumulator) depends_[i] |= kEveryTile;
      if (instruction.op == LoopOp::kIndex && NestPosition(instruction.source) >= 0) {
        depends_[i] |= 1u << NestPosition(instruction.source);
      }
      if (instruction.op == LoopOp::kLoad) depends_[i] |= DependenciesOf(in_.accesses[static_cast<size_t>(instruction.source)]);
    }
  }

  unsigned DependenciesOf(const BoundAccess& access) const {
    unsigned bits = 0;
    const auto add = [&](const PerDim& coefficients) {
      for (size_t d = 0; d < in_.nest->size(); ++d) bits |= coefficients[d] != 0 ? 1u << d : 0;
    };
    add(access.strides);
    for (const AffinePosition& guard : access.guards) add(guard.coefficients);
    for (const DynamicPosition& dynamic : access.dynamics) add(dynamic.affine.coefficients);
    return bits;
  }

  void FindLevels() {
    const unsigned column = in_.columns_dim < 0 ? 0 : 1u << in_.columns_dim;
    levels_.resize(program_.body.size());
    for (size_t i = 0; i < program_.body.size(); ++i) {
      const LoopOp op = program_.body[i].op;
      const bool constant = op == LoopOp::kConstant || op == LoopOp::kSize ||
                            (op == LoopOp::kIndex && NestPosition(program_.body[i].source) < 0);
      if (constant) {
        levels_[i] = Level::kConstant;
      } else if (in_.nest->empty()) {
        levels_[i] = Level::kTile;  // one element: there is nothing to hoist out of
      } else if (depends_[i] == 0) {
        levels_[i] = Level::kOnce;
      } else if (in_.whole_columns && (depends_[i] & ~column) == 0) {
        levels_[i] = Level::kPattern;
      } else if (in_.max_rows == 1 && (depends_[i] & (column | kEveryTile)) == 0) {
        levels_[i] = Level::kRow;
      } else {
        levels_[i] = Level::kTile;
      }
    }
  }

  // used_: some result needs it. last_use_: the last instruction of the tile stage that reads it; results live on.
  void FindUses() {
    used_.assign(program_.body.size(), false);
    last_use_.assign(program_.body.size(), -1);
    only_stored_.assign(program_.body.size(), true);
    const int end = static_cast<int>(program_.body.size());
    for (const int16_t result : program_.results) {
      used_[At(result)] = true;
      last_use_[At(result)] = end;
    }
    for (size_t i = program_.body.size(); i-- > 0;) {
      if (!used_[i]) continue;
      ForEachOperand(i, [&](size_t operand) {
        used_[operand] = true;
        only_stored_[operand] = false;
        last_use_[operand] = std::max(last_use_[operand], static_cast<int>(i));
      });
    }
  }

  // Which output each instruction may write to in place of a register.
  void AssignOutputs() {
    direct_output_.assign(program_.body.size(), -1);
    for (size_t r = 0; r < in_.outputs.size(); ++r) {
      const size_t i = At(program_.results[r]);
      const LoopOp op = program_.body[i].op;
      const DType dtype = in_.outputs[r].dtype;
      const bool computed = levels_[i] == Level::kTile && op != LoopOp::kLoad && op != LoopOp::kIndex && op != LoopOp::kAccumulator;
      if (dtype != program_.body[i].dtype) only_stored_[i] = false;
      if (computed && direct_output_[i] < 0 && !IsNarrowFloat(dtype) && IsContiguousTile(in_.outputs[r].strides, in_.outputs[r].element_bytes)) {
        direct_output_[i] = static_cast<int>(r);
      }
    }
    if (in_.outputs.empty()) only_stored_.assign(program_.body.size(), false);
  }

  bool IsContiguousTile(const PerDim& strides, int64_t element_bytes) const {
    if (Extent(in_.columns_dim) > 1 && strides[static_cast<size_t>(in_.columns_dim)] != element_bytes) return false;
    if (Extent(in_.rows_dim) <= 1) return true;
    return strides[static_cast<size_t>(in_.rows_dim)] == element_bytes * in_.max_columns;
  }

  int64_t Extent(int nest_dim) const { return nest_dim < 0 ? 1 : (*in_.nest)[static_cast<size_t>(nest_dim)].extent; }

  // --- Slots ------------------------------------------------------------------------------------------------------------

  int16_t NewSlot(Lane lane) {
    out_.register_offsets_.push_back(-1);
    out_.slot_lanes_.push_back(lane);
    return static_cast<int16_t>(out_.register_offsets_.size() - 1);
  }
  int64_t TileBytes() const { return RoundUp(int64_t{in_.max_rows} * in_.max_columns * 8); }

  int16_t NewRegister(Lane lane, bool scalar) {
    const int16_t slot = NewSlot(lane);
    out_.register_offsets_[static_cast<size_t>(slot)] = register_bytes_;
    register_bytes_ += scalar ? kTileAlignment : TileBytes();
    return slot;
  }

  // A register of the tile stage, perhaps one whose value is no longer needed.
  int16_t PooledRegister(Lane lane) {
    if (free_registers_.empty()) return NewRegister(lane, false);
    const int16_t slot = NewSlot(lane);
    out_.register_offsets_[static_cast<size_t>(slot)] = free_registers_.back();
    free_registers_.pop_back();
    return slot;
  }

  void ReleaseDead(size_t now) {
    for (auto it = pooled_.begin(); it != pooled_.end();) {
      if (last_use_[it->first] <= static_cast<int>(now)) {
        free_registers_.push_back(it->second);
        it = pooled_.erase(it);
      } else {
        ++it;
      }
    }
  }

  int16_t RegisterFor(size_t i) {
    if (levels_[i] != Level::kTile) return NewRegister(lanes_[i], IsScalar(levels_[i]));
    const int16_t slot = PooledRegister(lanes_[i]);
    pooled_.push_back({i, out_.register_offsets_[static_cast<size_t>(slot)]});
    return slot;
  }

  // A tile of one value that lasts as long as the evaluator.
  int16_t ConstantSlot(Lane lane, double value, int64_t integer) {
    const int16_t slot = NewSlot(lane);
    constants_.push_back({slot, lane, value, integer});
    return slot;
  }

  // The slot in which an instruction at `level` reads operand i.
  int16_t SlotFor(size_t i, Level level) {
    const Level from = levels_[i];
    const bool splat = (from == Level::kOnce && !IsScalar(level)) || (from == Level::kRow && level == Level::kTile);
    if (!splat) return slots_[i];
    if (splats_[i] >= 0) return splats_[i];
    Op op;
    op.kind = Kind::kSplat;
    op.size_log2 = static_cast<int8_t>(Log2(static_cast<int64_t>(LaneBytes(lanes_[i]))));
    op.a = slots_[i];
    op.d = splats_[i] = NewRegister(lanes_[i], false);
    (from == Level::kOnce ? out_.once_splats_ : out_.row_splats_).push_back(op);
    return op.d;
  }

  Stage& StageOf(Level level) {
    switch (level) {
      case Level::kOnce: return out_.once_;
      case Level::kPattern: return out_.pattern_;
      case Level::kRow: return out_.row_;
      default: return out_.tile_;
    }
  }

  // --- Emission ---------------------------------------------------------------------------------------------------------

  Status Emit(size_t i) {
    slots_.resize(program_.body.size(), -1);
    splats_.resize(program_.body.size(), -1);
    const LoopInstruction& instruction = program_.body[i];
    switch (instruction.op) {
      case LoopOp::kConstant: slots_[i] = EmitConstant(instruction); break;
      case LoopOp::kSize:
        slots_[i] = ConstantSlot(lanes_[i], 0, program_.sizes[static_cast<size_t>(instruction.source)].Evaluate(in_.symbols));
        break;
      case LoopOp::kIndex: EmitIndex(i); break;
      case LoopOp::kAccumulator: EmitAccumulator(i); break;
      case LoopOp::kLoad: EmitLoad(i); break;
      default: return EmitCompute(i);
    }
    return OkStatus();
  }

  int16_t EmitConstant(const LoopInstruction& instruction) {
    const Lane lane = *LaneOf(instruction.dtype);
    const double value = lane == kF32 ? RoundTo(instruction.dtype, static_cast<float>(instruction.immediate)) : instruction.immediate;
    return ConstantSlot(lane, value, lane == kBool ? instruction.immediate != 0 || instruction.integer != 0 : instruction.integer);
  }

  void EmitIndex(size_t i) {
    const int position = NestPosition(program_.body[i].source);
    if (position < 0) {
      slots_[i] = ConstantSlot(kI64, 0, 0);
      return;
    }
    Op op;
    op.kind = Kind::kIndex;
    op.access = static_cast<int16_t>(position);
    op.d = slots_[i] = RegisterFor(i);
    StageOf(levels_[i]).ops.push_back(op);
  }

  void EmitAccumulator(size_t i) {
    const size_t which = static_cast<size_t>(program_.body[i].source);
    if (out_.accumulator_slots_.size() <= which) out_.accumulator_slots_.resize(which + 1, -1);
    if (out_.accumulator_slots_[which] < 0) out_.accumulator_slots_[which] = NewSlot(lanes_[i]);
    slots_[i] = out_.accumulator_slots_[which];
  }

  bool ReadableInPlace(const BoundAccess& access, Level level) const {
    if (LoadConversion(table_, access.dtype) != nullptr) return false;
    return IsScalar(level) || IsContiguousTile(access.strides, access.element_bytes);
  }

  void EmitLoad(size_t i) {
    const BoundAccess& access = in_.accesses[static_cast<size_t>(program_.body[i].source)];
    const auto number = static_cast<int16_t>(out_.accesses_.size());
    out_.accesses_.push_back(access);
    const Level level = levels_[i];
    cost_ += 0.04 * static_cast<double>(access.element_bytes) / 4;
    const bool in_place = ReadableInPlace(access, level);
    if (access.IsAffine() && in_place) {
      slots_[i] = NewSlot(lanes_[i]);
      StageOf(level).loads.push_back({slots_[i], number});
      return;
    }
    Op op;
    op.kind = Kind::kLoad;
    op.lane = lanes_[i];
    op.access = number;
    op.size_log2 = static_cast<int8_t>(Log2(access.element_bytes));
    op.function = LoadConversion(table_, access.dtype);
    op.direct_if_whole = in_place;
    op.uniform = true;
    for (const DynamicPosition& dynamic : access.dynamics) op.uniform &= IsOnePerTile(At(dynamic.instruction), level);
    for (DynamicPosition& dynamic : out_.accesses_.back().dynamics) {
      const size_t source = At(dynamic.instruction);
      dynamic.instruction = op.uniform ? slots_[source] : SlotFor(source, level);
    }
    if (!access.IsAffine()) {
      op.fill = StoredFill(access.dtype, access.fill);
      const double fill = lanes_[i] == kF32 ? RoundTo(access.dtype, static_cast<float>(access.fill)) : access.fill;
      op.fill_slot = ConstantSlot(lanes_[i], fill, IsFloat(access.dtype) ? 0 : static_cast<int64_t>(access.fill));
    }
    op.d = slots_[i] = RegisterFor(i);
    if (op.function != nullptr) op.temporary = ScratchRegister(level);
    cost_ += op.uniform ? 0.3 : 4;
    StageOf(level).ops.push_back(op);
    if (level == Level::kTile) ReleaseDead(i);
  }

  bool IsOnePerTile(size_t i, Level level) const {
    return IsScalar(level) || levels_[i] == Level::kConstant || IsScalar(levels_[i]);
  }

  // Room that is only used within one operation; stages never interleave, so one does for all.
  int16_t ScratchRegister(Level) {
    if (scratch_register_ < 0) scratch_register_ = NewRegister(kF32, false);
    return scratch_register_;
  }

  Status EmitCompute(size_t i) {
    const LoopInstruction& instruction = program_.body[i];
    Op op;
    op.kind = Kind::kCompute;
    op.lane = lanes_[i];
    const Level level = levels_[i];
    const int16_t operands[3] = {instruction.a, instruction.b, instruction.c};
    int16_t* const slots[3] = {&op.a, &op.b, &op.c};
    for (int k = 0; k < InfoOf(instruction.op).arity; ++k) *slots[k] = SlotFor(At(operands[k]), level);

    const Lane from = OperandLane(instruction);
    TileFunction rounding = OnlySelects(instruction.op) || only_stored_[i] ? nullptr : Rounding(table_, instruction.dtype);
    if (instruction.op == LoopOp::kCast) {
      op.function = table_.casts[from][lanes_[i]];
      if (from == lanes_[i] && rounding != nullptr) {  // f32 to 16 bits: only the rounding is left
        op.function = rounding;
        rounding = nullptr;
      }
    } else {
      op.function = FunctionFor(table_, instruction.op, from);
    }
    cost_ += CostOf(table_, instruction.op, from, table_.ops[static_cast<int>(instruction.op)][from] == nullptr && instruction.op != LoopOp::kCast);
    if (rounding != nullptr) {
      Op unrounded = op;
      unrounded.d = level == Level::kTile ? ScratchRegister(level) : NewRegister(lanes_[i], IsScalar(level));
      StageOf(level).ops.push_back(unrounded);
      op = {};
      op.function = rounding;
      op.a = unrounded.d;
    }
    if (direct_output_[i] >= 0) {
      op.d = slots_[i] = NewSlot(lanes_[i]);
      out_.tile_.stores.push_back({op.d, static_cast<int16_t>(direct_output_[i])});
    } else {
      op.d = slots_[i] = RegisterFor(i);
    }
    StageOf(level).ops.push_back(op);
    if (level == Level::kTile) ReleaseDead(i);
    return OkStatus();
  }

  Lane OperandLane(const LoopInstruction& instruction) const {
    const int16_t operand = instruction.op == LoopOp::kSelect ? instruction.b : instruction.a;
    return lanes_[static_cast<size_t>(operand)];
  }

  void EmitResults() {
    for (size_t r = 0; r < program_.results.size(); ++r) {
      const size_t i = At(program_.results[r]);
      if (in_.outputs.empty()) {
        out_.result_slots_.push_back(SlotFor(i, Level::kTile));
        const LoopOp op = program_.body[i].op;
        out_.plain_load_ = program_.results.size() == 1 && op == LoopOp::kLoad && out_.tile_.ops.empty() &&
                           levels_[i] == Level::kTile && out_.tile_.loads.size() == 1;
        continue;
      }
      if (direct_output_[i] == static_cast<int>(r)) continue;
      Op op;
      op.kind = Kind::kStore;
      op.lane = lanes_[i];
      op.access = static_cast<int16_t>(r);
      op.a = SlotFor(i, Level::kTile);
      op.size_log2 = static_cast<int8_t>(Log2(in_.outputs[r].element_bytes));
      op.function = StoreConversion(table_, in_.outputs[r].dtype);
      if (op.function != nullptr) op.temporary = ScratchRegister(Level::kTile);
      cost_ += 0.05;
      out_.tile_.ops.push_back(op);
    }
  }

  void Finish() {
    out_.slot_bytes_ = static_cast<size_t>(RoundUp(static_cast<int64_t>(out_.register_offsets_.size()) * 8));
    out_.register_bytes_ = static_cast<size_t>(register_bytes_);
    out_.nanoseconds_ = cost_;
    if (constants_.empty()) return;
    const int64_t n = int64_t{in_.max_rows} * in_.max_columns;
    int64_t bytes = 0;
    for (const ConstantTile& constant : constants_) {
      out_.constants_.push_back({constant.slot, bytes});
      bytes += RoundUp(n * static_cast<int64_t>(LaneBytes(constant.lane)));
    }
    out_.constant_tiles_.reset(static_cast<std::byte*>(std::aligned_alloc(kTileAlignment, static_cast<size_t>(bytes))));
    for (size_t k = 0; k < constants_.size(); ++k) {
      std::byte* tile = out_.constant_tiles_.get() + out_.constants_[k].second;
      const size_t size = LaneBytes(constants_[k].lane);
      for (int64_t j = 0; j < n; ++j) {
        WriteLane(tile + static_cast<size_t>(j) * size, constants_[k].lane, constants_[k].value, constants_[k].integer);
      }
    }
  }

  struct ConstantTile {
    int16_t slot;
    Lane lane;
    double value;
    int64_t integer;
  };

  const EvaluatorInputs& in_;
  const LoopProgram& program_;
  const LoopTable& table_;
  TileEvaluator out_;
  // Per instruction.
  std::vector<int> canonical_;  // the instruction whose value this is
  std::vector<Lane> lanes_;
  std::vector<unsigned> depends_;
  std::vector<Level> levels_;
  std::vector<bool> used_, only_stored_;
  std::vector<int> last_use_, direct_output_;
  std::vector<int16_t> slots_, splats_;
  std::vector<ConstantTile> constants_;
  std::vector<std::pair<size_t, int64_t>> pooled_;  // instruction, register offset
  std::vector<int64_t> free_registers_;
  int64_t register_bytes_ = 0;
  int16_t scratch_register_ = -1;
  double cost_ = 0.03;
};

Result<TileEvaluator> TileEvaluator::Compile(const EvaluatorInputs& inputs, const CpuKernels& kernels) {
  return EvaluatorCompiler(inputs, kernels).Compile();
}

Status TileEvaluator::Supports(const LoopProgram& program) {
  for (size_t i = 0; i < program.body.size(); ++i) {
    const LoopInstruction& instruction = program.body[i];
    const LoopOpInfo& info = InfoOf(instruction.op);
    if (!LaneOf(instruction.dtype)) return Unimplemented("loop instruction '{}' of dtype {}", info.name, Name(instruction.dtype));
    if (info.arity == 0 || instruction.op == LoopOp::kCast) continue;
    const int16_t operand = instruction.op == LoopOp::kSelect ? instruction.b : instruction.a;
    if (operand < 0 || static_cast<size_t>(operand) >= i) return Internal("loop instruction {}: operand {}", i, operand);
    const DType dtype = program.body[static_cast<size_t>(operand)].dtype;
    if (FunctionFor(kLoopBaseline, instruction.op, *LaneOf(dtype)) == nullptr) {
      return Unimplemented("loop operation '{}' on dtype {}", info.name, Name(dtype));
    }
  }
  return OkStatus();
}

}  // namespace tondar::cpu
