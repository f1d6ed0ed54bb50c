// The rules that shape and dtype inference share: dims, broadcasting, promotion.
#ifndef TONDAR_ENGINE_OPS_INFERENCE_H_
#define TONDAR_ENGINE_OPS_INFERENCE_H_

#include <string_view>
#include <vector>

#include "engine/ir/graph.h"
#include "engine/ops/op_schema.h"

namespace tondar {

// A dim that may count from the end, as one that does not. A rank of 0 counts as 1, as PyTorch has it.
// InvalidArgument: out of range.
Result<size_t> NormaliseDim(int64_t dim, size_t rank);
// The same for a list; empty gives all dims if `empty_means_all`. Sorted; InvalidArgument: repeated.
Result<std::vector<size_t>> NormaliseDims(const std::vector<int64_t>& dims, size_t rank, bool empty_means_all);

// Broadcasts over all shapes; equalities assumed on the way go to the graph's checks.
Result<Shape> BroadcastAll(Node& node, const std::vector<Shape>& shapes);

// Takes a == b from here on. InvalidArgument: both constant and different. Records a check if not proved.
Status AssumeEqual(Node& node, const Dim& a, const Dim& b, std::string_view what);

// min(a, b) and max(a, b), decided by the symbols' ranges where those suffice.
Dim BoundedMin(const Graph& graph, const Dim& a, const Dim& b);
Dim BoundedMax(const Graph& graph, const Dim& a, const Dim& b);

// A position counted from the end if negative, clamped to [0, extent]: how Python slices read their bounds.
Dim ClampPosition(const Graph& graph, const Dim& position, const Dim& extent);

// One operand of a promotion: a tensor, or a number.
struct PromotionOperand {
  const Value* tensor = nullptr;
  const Attribute* number = nullptr;
};
// The operand that the formal `name` has; neither member set if it is absent.
PromotionOperand OperandOf(const Node& node, const Arguments& arguments, std::string_view name);

// PyTorch's result type: tensors with dims, 0-d tensors and numbers are three categories; a lower one only counts if
// its kind (bool < integer < float < complex) is higher.
DType ResultType(const std::vector<PromotionOperand>& operands);

// What integers and bool become in float functions: float32; floats stay.
inline DType ToFloating(DType dtype) { return IsFloat(dtype) || IsComplex(dtype) ? dtype : DType::kFloat32; }

// The shape without `dims`, or with extents of 1 there.
Shape ReducedShape(const Shape& shape, const std::vector<size_t>& dims, bool keepdim);

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_INFERENCE_H_
