// The register tiles of gemm.h as templates; compiled once per instruction set by gemm_<isa>.cc. An Op names the
// vector types and has internal linkage by way of its vector types, so that no instantiation is shared between files.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_GEMM_KERNEL_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_GEMM_KERNEL_H_

#include "engine/accelerators/cpu/gemm.h"

namespace tondar::cpu {

// How far ahead of use B is fetched into L1, which hides L3 for few rows. Sapphire Rapids on a shared machine, 768 x 768
// weights from L3, 8 rows: 53 GFLOP/s with 1.5 KB, 91 with 3 KB, 50 with 6 KB (single runs, noisy). Ice Lake-SP, 126
// rows: 110 without, 136 with 1.5 KB.
inline constexpr int kPrefetchBytes = 3072;

template <class Op, int kRows, int kVectors, int kPanels>
void RunGemmTile(const GemmTile& tile) {
  constexpr int kColumns = kVectors * kPanels;
  using Sum = typename Op::Sum;
  using Input = typename Op::Input;
  constexpr int kVectorBytes = Op::kVectorBytes;
  Sum sums[kRows][kColumns];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < kColumns; ++j) sums[i][j] = Op::Zero();

  const char* b = static_cast<const char*>(tile.b);
  const int64_t depth = tile.depth, step_bytes = tile.b_step_bytes, panel_bytes = tile.b_panel_bytes;
  for (int64_t tap = 0; tap < tile.taps; ++tap) {
    const Input* rows[kRows];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
      rows[i] = static_cast<const Input*>(tile.rows[tap * tile.tap_stride + i]);
    for (int64_t k = 0; k < depth; ++k) {
      typename Op::Columns columns[kColumns];
#pragma GCC unroll 16
      for (int j = 0; j < kColumns; ++j) {
        const char* at = b + (j / kVectors) * panel_bytes + (j % kVectors) * kVectorBytes;
        columns[j] = Op::Load(at);
        if (Op::kPrefetch) __builtin_prefetch(at + kPrefetchBytes, 0, 3);
      }
      b += step_bytes;
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const typename Op::Columns value = Op::Broadcast(rows[i] + k * Op::kStep);
#pragma GCC unroll 16
        for (int j = 0; j < kColumns; ++j) sums[i][j] = Op::MultiplyAdd(value, columns[j], sums[i][j]);
      }
    }
  }
  char* c = static_cast<char*>(tile.c);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < kColumns; ++j) Op::Store(c + i * tile.c_row_bytes + j * kVectorBytes, sums[i][j]);
}

// Fills a GemmFunctions with the tiles whose sums fit in kSums registers.
template <class Op, int kMaxRows, int kMaxVectors, int kSums>
struct GemmTiles {
  template <int kPanels, int kVectors, int kRows>
  static constexpr void FillRows(GemmFunctions& f) {
    if constexpr (kRows <= kMaxRows && kRows * kVectors * kPanels <= kSums && (kPanels == 1 || kRows <= 4))
      f.tiles[kPanels - 1][kVectors - 1][kRows - 1] = &RunGemmTile<Op, kRows, kVectors, kPanels>;
    if constexpr (kRows < kMaxRows) FillRows<kPanels, kVectors, kRows + 1>(f);
  }
  template <int kPanels, int kVectors>
  static constexpr void FillVectors(GemmFunctions& f) {
    FillRows<kPanels, kVectors, 1>(f);
    if constexpr (kVectors < kMaxVectors) FillVectors<kPanels, kVectors + 1>(f);
  }
  template <int kPanels>
  static constexpr void FillPanels(GemmFunctions& f) {
    FillVectors<kPanels, 1>(f);
    if constexpr (kPanels < kGemmMaxPanels) FillPanels<kPanels + 1>(f);
  }
  static constexpr GemmFunctions Make() {
    GemmFunctions f{};
    f.lanes = Op::kVectorBytes / static_cast<int>(sizeof(typename Op::SumElement));
    f.rows = kMaxRows;
    f.vectors = kMaxVectors;
    f.step = Op::kStep;
    f.input_bytes = static_cast<int>(sizeof(typename Op::Input));
    f.column_bytes = f.input_bytes * Op::kStep;
    f.sum_bytes = static_cast<int>(sizeof(typename Op::SumElement));
    FillPanels<1>(f);
    return f;
  }
};

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_GEMM_KERNEL_H_
