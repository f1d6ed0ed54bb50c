// x[i, :, j]: where the indexed dims and the dims of the broadcast indices go, for reading and writing alike.
#ifndef TONDAR_ENGINE_OPS_INDEX_PLAN_H_
#define TONDAR_ENGINE_OPS_INDEX_PLAN_H_

#include <vector>

#include "engine/ir/graph.h"
#include "engine/plan/loop_builder.h"

namespace tondar {

struct IndexPlan {
  std::vector<Value*> indices;  // one per dim of x; null: the whole dim
  Shape index_shape;            // of the indices, broadcast
  size_t place = 0;             // of the index dims among the dims of x[indices]
};

// InvalidArgument unless `index` holds int64 or int32.
Status CheckIndex(const Value* index);

// The plan of indexing the node's first input. InvalidArgument: too many indices, or not integers. Unimplemented: masks.
Result<IndexPlan> PlanIndex(Node& node, std::vector<Value*> indices);

// The shape of x[indices].
Shape IndexedShape(const IndexPlan& plan, const Shape& x);

// The position along one dim of x at a point of a loop over x[indices]: a loop dim's own, or a value.
struct IndexPosition {
  int loop_dim = -1;
  LoopBuilder::Handle value = -1;  // as the index holds it
};
// One per dim of x. The indices become further `inputs` of the step.
std::vector<IndexPosition> PositionsOf(const IndexPlan& plan, LoopBuilder& b, std::vector<Value*>& inputs);

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_INDEX_PLAN_H_
