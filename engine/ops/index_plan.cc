#include "engine/ops/index_plan.h"

#include "engine/ops/inference.h"

namespace tondar {

Status CheckIndex(const Value* index) {
  if (index->dtype == DType::kInt64 || index->dtype == DType::kInt32) return OkStatus();
  return InvalidArgument("indices of {}, expected int64 or int32", Name(index->dtype));
}

Result<IndexPlan> PlanIndex(Node& node, std::vector<Value*> indices) {
  const Value* x = node.inputs[0];
  IndexPlan plan;
  plan.indices = std::move(indices);
  if (plan.indices.size() > x->shape.size()) {
    return InvalidArgument("{} indices for a tensor of rank {}", plan.indices.size(), x->shape.size());
  }
  plan.indices.resize(x->shape.size(), nullptr);
  std::vector<Shape> shapes;
  std::vector<size_t> indexed;
  for (size_t d = 0; d < plan.indices.size(); ++d) {
    if (plan.indices[d] == nullptr) continue;
    if (plan.indices[d]->dtype == DType::kBool || plan.indices[d]->dtype == DType::kUInt8) {
      return Unimplemented("indexing by a mask");
    }
    TONDAR_RETURN_IF_ERROR(CheckIndex(plan.indices[d]));
    shapes.push_back(plan.indices[d]->shape);
    indexed.push_back(d);
  }
  if (indexed.empty()) return InvalidArgument("no index");
  TONDAR_ASSIGN_OR_RETURN(plan.index_shape, BroadcastAll(node, shapes));
  const bool adjacent = indexed.back() - indexed.front() + 1 == indexed.size();
  plan.place = adjacent ? indexed.front() : 0;
  return plan;
}

Shape IndexedShape(const IndexPlan& plan, const Shape& x) {
  Shape shape;
  for (size_t d = 0; d < x.size(); ++d) {
    if (plan.indices[d] == nullptr) shape.push_back(x[d]);
  }
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(plan.place), plan.index_shape.begin(), plan.index_shape.end());
  return shape;
}

std::vector<IndexPosition> PositionsOf(const IndexPlan& plan, LoopBuilder& b, std::vector<Value*>& inputs) {
  const int width = static_cast<int>(plan.index_shape.size()), place = static_cast<int>(plan.place);
  std::vector<IndexPosition> positions;
  int kept = 0;  // whole dims so far
  for (Value* index : plan.indices) {
    if (index == nullptr) {
      positions.push_back({.loop_dim = kept < place ? kept : kept + width});
      ++kept;
      continue;
    }
    Access at = BroadcastAccess(static_cast<int>(inputs.size()), index->shape, width);
    for (IndexExpression& expression : at.index) {
      for (IndexExpression::Term& term : expression.terms) term.loop_dim = static_cast<int8_t>(term.loop_dim + place);
    }
    positions.push_back({.value = b.Load(std::move(at), index->dtype)});
    inputs.push_back(index);
  }
  return positions;
}

}  // namespace tondar
