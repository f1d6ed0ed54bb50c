// The matrix product at the bottom of matmul, conv and attention: register tiles over packed columns.
//
// Every output element is accumulated in ascending k in one chain that begins at zero, whatever the tile that holds
// it. A row's result therefore does not depend on the other rows, on the thread count or on how columns are grouped.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_GEMM_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_GEMM_H_

#include <cstdint>

namespace tondar::cpu {

// One register tile: c[i][j] = sum over taps t and steps k of row(t, i)[k] * b[t][k][j]. A step is one k, or several
// where the instruction multiplies that many (GemmFunctions::step).
struct GemmTile {
  const void* const* rows;  // first element of row i of tap t: rows[t * tap_stride + i]
  int64_t tap_stride;
  int64_t taps;
  int64_t depth;          // steps per tap
  const void* b;          // the steps of all taps, one after the other
  int64_t b_step_bytes;   // from one step to the next
  int64_t b_panel_bytes;  // from one panel to the next, where a tile spans several
  void* c;                // whole vectors are stored
  int64_t c_row_bytes;
};
using GemmTileFunction = void (*)(const GemmTile& tile);

inline constexpr int kGemmMaxRows = 14;
inline constexpr int kGemmMaxVectors = 3;
inline constexpr int kGemmMaxPanels = 4;

// The tiles of one element type in one instruction set.
struct GemmFunctions {
  int lanes;         // columns of a vector
  int rows;          // of the largest tile
  int vectors;       // of the widest panel
  int step;          // k's of one step
  int input_bytes;   // of one k of a row
  int column_bytes;  // of one step of a packed column
  int sum_bytes;     // of one element of c
  // [panels - 1][vectors - 1][rows - 1]; null where the registers do not suffice. Several panels of equal width in one
  // tile give few rows enough independent chains to hide the latency of a multiplication.
  GemmTileFunction tiles[kGemmMaxPanels][kGemmMaxVectors][kGemmMaxRows];
};

// All element types of one instruction set. Integers are multiplied as pairs of int16 and summed in int32.
struct GemmTable {
  const GemmFunctions* f32;
  const GemmFunctions* f64;
  const GemmFunctions* i16;
};

extern const GemmTable kGemmBaseline;
extern const GemmTable kGemmAvx2;
extern const GemmTable kGemmAvx512;      // 9 x 48 tiles: fastest on Intel from Ice Lake on
extern const GemmTable kGemmAvx512Tall;  // 14 x 32 tiles: fastest on Zen 5

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_GEMM_H_
