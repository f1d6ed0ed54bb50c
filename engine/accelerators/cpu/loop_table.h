// LoopTable: the vector functions of loop steps, one table per instruction set.
//
// Kernel files include this header, so it may include nothing of the standard library but the integer types: see
// README.md, "Kernel files".
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_LOOP_TABLE_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_LOOP_TABLE_H_

#include <cstddef>
#include <cstdint>

namespace tondar::cpu {

// What a tile holds in memory. 16-bit floats are held as f32 whose values fit the 16 bits.
enum Lane : int { kBool, kU8, kU16, kU32, kU64, kI8, kI16, kI32, kI64, kF32, kF64 };
inline constexpr int kLaneCount = 11;

// The instructions of LoopProgram, in LoopOp's order (checked where both are visible).
#define TONDAR_TILE_OPS(X)                                                                                          \
  X(Load) X(Constant) X(Index) X(Size) X(Accumulator) X(Cast) X(Neg) X(Abs) X(Sign) X(Floor) X(Ceil) X(Trunc)       \
  X(Round) X(Sqrt) X(Rsqrt) X(Reciprocal) X(Exp) X(Exp2) X(Expm1) X(Log) X(Log2) X(Log10) X(Log1p) X(Sin) X(Cos)    \
  X(Tan) X(Asin) X(Acos) X(Atan) X(Sinh) X(Cosh) X(Tanh) X(Asinh) X(Acosh) X(Atanh) X(Erf) X(Erfc) X(Lgamma)        \
  X(Digamma) X(Erfinv) X(Sigmoid) X(Relu) X(Gelu) X(GeluTanh) X(Silu) X(LogicalNot) X(BitNot) X(IsNan) X(IsInf)     \
  X(Add) X(Sub) X(Mul) X(Div) X(FloorDiv) X(Fmod) X(Remainder) X(Pow) X(Atan2) X(Hypot) X(Copysign) X(Nextafter)    \
  X(Max) X(Min) X(Fmax) X(Fmin) X(Eq) X(Ne) X(Lt) X(Le) X(Gt) X(Ge) X(LogicalAnd) X(LogicalOr) X(LogicalXor)        \
  X(BitAnd) X(BitOr) X(BitXor) X(ShiftLeft) X(ShiftRight) X(Select)
enum TileOp : int {
#define TONDAR_TILE_OP(name) kTile##name,
  TONDAR_TILE_OPS(TONDAR_TILE_OP)
#undef TONDAR_TILE_OP
};
inline constexpr int kTileOpCount = kTileSelect + 1;

// d[i] = f(a[i], b[i], c[i]) for i < n; operands that f lacks are null. d overlaps no operand. An element's result does
// not depend on its position or on n.
using TileFunction = void (*)(void* d, const void* a, const void* b, const void* c, int64_t n);

// d[i] = s[i * stride], elements of one size; stride in elements.
using GatherFunction = void (*)(void* d, const void* s, int64_t stride, int64_t n);
// d[i * stride] = s[i].
using ScatterFunction = void (*)(void* d, int64_t stride, const void* s, int64_t n);
// d[r][c] = s[c][r], strides in elements of one size.
using TransposeFunction = void (*)(void* d, int64_t d_stride, const void* s, int64_t s_stride, int64_t rows, int64_t columns);

// Positions along one operand dim that instruction values give: affine + i * affine_step + value for the i-th element.
struct LocatedDim {
  int64_t affine, affine_step;
  int64_t extent;        // positions are in [0, extent)
  int64_t stride_bytes;  // of the operand's dim
  bool from_end;         // values in [-extent, 0) count from the end, and all must be in [-extent, extent)
};
// offsets[i] += what values[i] adds to the address, in bytes. False if a position is outside the operand; the offsets are
// of no use then.
using LocateFunction = bool (*)(int64_t* offsets, const int64_t* values, const LocatedDim& dim, int64_t n);
// d[i] = the element at s + offsets[i] bytes.
using PickFunction = void (*)(void* d, const void* s, const int64_t* offsets, int64_t n);

// What a horizontal reduction has so far.
struct ReduceState {
  double f;       // float lanes: sum, product, extremum
  int64_t i;      // integer and bool lanes
  int64_t index;  // of the extremum; -1 before the first element
};
// Takes in values[0..n), the first of which has position `position`.
using ReduceFunction = void (*)(ReduceState* state, const void* values, int64_t position, int64_t n);
// acc[i] = acc[i] op values[i].
using AccumulateFunction = void (*)(void* acc, const void* values, int64_t n);
// Where values[i] beats best[i], takes it and its position; index[i] < 0 always loses.
using ArgAccumulateFunction = void (*)(void* best, int64_t* index, const void* values, int64_t position, int64_t n);
// out[i] = carry = carry op values[i].
using ScanFunction = void (*)(ReduceState* carry, void* out, const void* values, int64_t n);

// In ReduceOp's order.
enum TileReduce : int { kReduceSum, kReduceProduct, kReduceMax, kReduceMin, kReduceAll, kReduceAny, kReduceArgMax, kReduceArgMin };
inline constexpr int kTileReduceCount = 8;

// Epilogues of one whole tile of f32 accumulators: out = f(accumulator + bias[column]) (+ residual, then relu).
struct BiasTile {
  float* out;
  int64_t out_stride;
  const float* accumulators;
  int64_t accumulator_stride;
  const float* bias;      // of the tile's first column
  const float* residual;  // null: none
  int64_t residual_stride;
  int rows, columns;
};
using BiasTileFunction = void (*)(const BiasTile& tile);
enum TileActivation : int { kActivationNone, kActivationRelu, kActivationGelu, kActivationSilu };
inline constexpr int kTileActivationCount = 4;

struct LoopTable {
  TileFunction ops[kTileOpCount][kLaneCount];  // by the operands' lane (select: of its second); null: no such function
  TileFunction casts[kLaneCount][kLaneCount];  // from, to
  TileFunction load_f16, load_bf16;            // 16 bits to f32
  TileFunction store_f16, store_bf16;          // f32 to 16 bits
  TileFunction round_f16, round_bf16;          // f32 to f32
  GatherFunction gather[4];                    // by log2 of the element size
  ScatterFunction scatter[4];
  TransposeFunction transpose[4];
  PickFunction pick[4];
  LocateFunction locate;
  ReduceFunction reduce[kTileReduceCount][kLaneCount];
  AccumulateFunction accumulate[kTileReduceCount][kLaneCount];
  ArgAccumulateFunction arg_accumulate[2][kLaneCount];  // max, min
  ScanFunction scan[2][kLaneCount];                     // sum, product
  BiasTileFunction bias[kTileActivationCount];          // acc + bias, activation, then residual if given
  BiasTileFunction bias_residual_relu;                  // relu(acc + bias + residual)
};

extern const LoopTable kLoopBaseline;
extern const LoopTable kLoopAvx2;
extern const LoopTable kLoopAvx512;

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_LOOP_TABLE_H_
