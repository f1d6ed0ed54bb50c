// Operators that run subgraphs. The compiler lays out their bodies; see engine/ir/graph.h.
#include "engine/ops/families.h"

namespace tondar {

std::vector<OpSchema> ControlOps() {
  std::vector<OpSchema> rows;
  for (std::string_view name : {kCondOp, kWhileOp}) {
    OpSchema row;
    row.name = name;
    row.signature = "(Tensor[] values)";
    row.is_control = true;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tondar
