// How a product of many rows and columns is walked tile by tile, and shared out to threads. Host code: include it in
// files compiled for the baseline only.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_GEMM_DRIVER_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_GEMM_DRIVER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/accelerators/cpu/gemm.h"

namespace tondar::cpu {

// Columns cut into panels of 1 to `functions.vectors` vectors, as even as possible, wider ones first.
class PanelLayout {
 public:
  PanelLayout() = default;
  PanelLayout(const GemmFunctions& functions, int64_t columns)
      : lanes_(functions.lanes),
        columns_(columns),
        vectors_((columns + functions.lanes - 1) / functions.lanes),
        panels_((vectors_ + functions.vectors - 1) / functions.vectors) {
    if (panels_ == 0) return;
    narrow_ = vectors_ / panels_;
    wide_panels_ = vectors_ % panels_;
  }

  int64_t columns() const { return columns_; }
  int64_t panels() const { return panels_; }
  int64_t padded_columns() const { return vectors_ * lanes_; }
  int64_t VectorsOf(int64_t panel) const { return narrow_ + (panel < wide_panels_ ? 1 : 0); }
  int64_t FirstVector(int64_t panel) const { return panel * narrow_ + std::min(panel, wide_panels_); }
  int64_t FirstColumn(int64_t panel) const { return FirstVector(panel) * lanes_; }
  // Valid columns of panels [first, last).
  int64_t ColumnsOf(int64_t first, int64_t last) const {
    return std::min(FirstColumn(last), columns_) - FirstColumn(first);
  }
  // Panels from `panel` on that have its width, at most `limit`.
  int64_t EqualPanels(int64_t panel, int64_t limit) const {
    const int64_t end = panel < wide_panels_ ? wide_panels_ : panels_;
    return std::min(limit, end - panel);
  }
  // Where packed panel `panel` begins, each column holding `steps` steps.
  int64_t OffsetBytes(const GemmFunctions& functions, int64_t panel, int64_t steps) const {
    return FirstColumn(panel) * steps * functions.column_bytes;
  }

 private:
  int64_t lanes_ = 1, columns_ = 0, vectors_ = 0, panels_ = 0, narrow_ = 0, wide_panels_ = 0;
};

// `parts` almost equal ranges of [0, count).
struct Share {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
inline Share ShareOf(int64_t count, int64_t part, int64_t parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

// Threads as a grid over batches, row tiles and panels. Which thread computes an element never changes its value.
struct ThreadGrid {
  int64_t batches = 1, rows = 1, panels = 1;
};
ThreadGrid ChooseGrid(int64_t members, int64_t batches, int64_t row_tiles, int64_t panels, int64_t row_bytes,
                      int64_t panel_bytes);

// Where packed (or plain) columns of a group of panels lie.
struct ColumnSource {
  const std::byte* data;
  int64_t step_bytes;   // from one step to the next; 0: packed, the panel's own width
  int64_t panel_steps;  // packed: steps per panel
};

// Computes `rows` rows over panels [first, last), tile by tile. `source` begins at panel `origin`; `c` is where panel
// `first` goes. tile.rows, tap_stride, taps, depth and c_row_bytes are set; the rest is written here. (No copy is made of
// the tile: reading back in one piece what was just written field by field waits for all earlier stores to retire.)
void RunPanels(const GemmFunctions& functions, const PanelLayout& layout, GemmTile& tile, int64_t rows, int64_t first,
               int64_t last, const ColumnSource& source, int64_t origin, std::byte* c);

// What one thread computes: rows x panels of one batch.
struct GemmShare {
  const GemmFunctions* functions;
  const PanelLayout* layout;
  int64_t taps, depth;
  Share rows, panels;
  int64_t chunk_rows;        // rows whose inputs are meant to stay in L2
  int64_t group_panels;      // panels whose sums are finished together
  const void** addresses;    // scratch: taps * chunk_rows
  std::byte* sums;           // scratch: SumsBytes()
};

// Scratch for the sums of one row tile over a group of panels.
inline int64_t SumsRowBytes(const GemmFunctions& functions, int64_t group_panels) {
  return group_panels * functions.vectors * functions.lanes * functions.sum_bytes;
}

// Computes a share. Problem supplies
//   void AddressRows(Share rows, const void** addresses, int64_t tap_stride)   row i of tap t: [t * tap_stride + i]
//   ColumnSource Columns(int64_t first_panel, int64_t last_panel)
//   std::byte* Direct(int64_t row, int64_t rows, int64_t column, int64_t* row_bytes)  null: sums go to Finish
//   void Finish(int64_t row, int64_t rows, int64_t column, int64_t columns, const std::byte* sums, int64_t row_bytes)
template <class Problem>
class GemmWalk {
 public:
  GemmWalk(Problem& problem, const GemmShare& share)
      : problem_(problem), share_(share), f_(*share.functions), layout_(*share.layout) {}

  void Run() {
    for (int64_t row = share_.rows.begin; row < share_.rows.end; row += share_.chunk_rows)
      RunChunk({row, std::min(row + share_.chunk_rows, share_.rows.end)});
  }

 private:
  void RunChunk(Share rows) {
    problem_.AddressRows(rows, share_.addresses, share_.chunk_rows);
    for (int64_t first = share_.panels.begin; first < share_.panels.end; first += share_.group_panels)
      RunGroup(rows, first, std::min(first + share_.group_panels, share_.panels.end));
  }

  void RunGroup(Share rows, int64_t first, int64_t last) {
    const ColumnSource source = problem_.Columns(first, last);
    const int64_t tiles = (rows.size() + f_.rows - 1) / f_.rows;
    for (int64_t i = 0; i < tiles; ++i) {
      const Share part = ShareOf(rows.size(), i, tiles);
      RunRows(rows.begin, part, first, last, source);
    }
  }

  void RunRows(int64_t base, Share part, int64_t first, int64_t last, const ColumnSource& source) {
    const int64_t row = base + part.begin, column = layout_.FirstColumn(first);
    const int64_t columns = layout_.ColumnsOf(first, last);
    int64_t row_bytes = SumsRowBytes(f_, share_.group_panels);
    std::byte* out = problem_.Direct(row, part.size(), column, &row_bytes);
    const bool direct = out != nullptr;
    if (!direct) out = share_.sums;
    // A direct store may not run over the last valid column; that panel then goes through the scratch.
    int64_t direct_last = last;
    if (direct && layout_.FirstColumn(last) > layout_.columns()) --direct_last;
    GemmTile tile;
    tile.rows = share_.addresses + part.begin;
    tile.tap_stride = share_.chunk_rows;
    tile.taps = share_.taps;
    tile.depth = share_.depth;
    tile.c_row_bytes = row_bytes;
    RunPanels(f_, layout_, tile, part.size(), first, direct_last, source, first, out);
    if (!direct) {
      problem_.Finish(row, part.size(), column, columns, out, row_bytes);
    } else if (direct_last != last) {
      const int64_t scratch_row_bytes = SumsRowBytes(f_, share_.group_panels);
      tile.c_row_bytes = scratch_row_bytes;
      RunPanels(f_, layout_, tile, part.size(), direct_last, last, source, first, share_.sums);
      problem_.Finish(row, part.size(), layout_.FirstColumn(direct_last), layout_.ColumnsOf(direct_last, last), share_.sums,
                      scratch_row_bytes);
    }
  }

  Problem& problem_;
  const GemmShare& share_;
  const GemmFunctions& f_;
  const PanelLayout& layout_;
};

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_GEMM_DRIVER_H_
