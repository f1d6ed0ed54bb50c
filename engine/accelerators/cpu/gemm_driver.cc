#include "engine/accelerators/cpu/gemm_driver.h"

namespace tondar::cpu {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

ThreadGrid ChooseGrid(int64_t members, int64_t batches, int64_t row_tiles, int64_t panels, int64_t row_bytes,
                      int64_t panel_bytes) {
  ThreadGrid best;
  int64_t best_work = INT64_MAX, best_bytes = INT64_MAX;
  for (int64_t b = 1; b <= std::min(members, std::max<int64_t>(batches, 1)); ++b) {
    for (int64_t p = 1; p <= members / b; ++p) {
      const ThreadGrid grid{b, members / (b * p), p};
      const int64_t my_batches = CeilDiv(batches, grid.batches), my_rows = CeilDiv(row_tiles, grid.rows),
                    my_panels = CeilDiv(panels, grid.panels);
      const int64_t work = my_batches * my_rows * my_panels;
      const int64_t bytes = my_batches * (my_rows * row_bytes + my_panels * panel_bytes);
      // A few percent of balance are worth less than reading each operand once.
      const bool better = best_work == INT64_MAX || work * 20 < best_work * 19 ||
                          (work * 19 <= best_work * 20 && bytes < best_bytes);
      if (!better) continue;
      best = grid;
      best_work = work;
      best_bytes = bytes;
    }
  }
  return best;
}

void RunPanels(const GemmFunctions& functions, const PanelLayout& layout, GemmTile& tile, int64_t rows, int64_t first,
               int64_t last, const ColumnSource& source, int64_t origin, std::byte* c) {
  const int64_t origin_vector = layout.FirstVector(origin), first_vector = layout.FirstVector(first);
  const int64_t vector_bytes = static_cast<int64_t>(functions.lanes) * functions.column_bytes;
  for (int64_t panel = first; panel < last;) {
    const int64_t vectors = layout.VectorsOf(panel), at = layout.FirstVector(panel);
    int64_t count = layout.EqualPanels(panel, std::min<int64_t>(last - panel, kGemmMaxPanels));
    while (functions.tiles[count - 1][vectors - 1][rows - 1] == nullptr) --count;
    const int64_t begin = (at - origin_vector) * vector_bytes;
    tile.c = c + (at - first_vector) * functions.lanes * functions.sum_bytes;
    const bool in_place = source.step_bytes != 0;
    tile.b = source.data + (in_place ? begin : begin * source.panel_steps);
    tile.b_step_bytes = in_place ? source.step_bytes : vectors * vector_bytes;
    tile.b_panel_bytes = vectors * vector_bytes * (in_place ? 1 : source.panel_steps);
    functions.tiles[count - 1][vectors - 1][rows - 1](tile);
    panel += count;
  }
}

}  // namespace tondar::cpu
