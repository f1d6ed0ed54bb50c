#include "engine/ops/inference.h"

#include <algorithm>

namespace tondar {

Result<size_t> NormaliseDim(int64_t dim, size_t rank) {
  const int64_t count = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (dim < -count || dim >= count) {
    return InvalidArgument("dim {} is out of range for rank {}, expected [{}, {}]", dim, rank, -count, count - 1);
  }
  return static_cast<size_t>(dim < 0 ? dim + count : dim);
}

Result<std::vector<size_t>> NormaliseDims(const std::vector<int64_t>& dims, size_t rank, bool empty_means_all) {
  std::vector<size_t> result;
  if (dims.empty() && empty_means_all) {
    for (size_t d = 0; d < rank; ++d) result.push_back(d);
    return result;
  }
  for (int64_t dim : dims) {
    TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(dim, rank));
    if (rank > 0) result.push_back(d);
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) return InvalidArgument("a dim appears twice");
  return result;
}

namespace {

void AddCheck(Node& node, const Dim& left, const Dim& right, std::string where) {
  for (const ShapeCheck& check : node.graph->checks) {
    if (check.left == left && check.right == right) return;
  }
  node.graph->checks.push_back({left, right, std::move(where)});
}

}  // namespace

Result<Shape> BroadcastAll(Node& node, const std::vector<Shape>& shapes) {
  Shape result;
  for (const Shape& shape : shapes) {
    std::vector<std::pair<Dim, Dim>> assumed;
    TONDAR_ASSIGN_OR_RETURN(Shape wider, BroadcastShapes(result, shape, &assumed));
    for (const auto& [left, right] : assumed) {
      AddCheck(node, left, right, fmt::format("{}: shapes {} and {}", node.name, ToString(result, node.graph->symbols),
                                              ToString(shape, node.graph->symbols)));
    }
    result = std::move(wider);
  }
  return result;
}

Status AssumeEqual(Node& node, const Dim& a, const Dim& b, std::string_view what) {
  if (a == b) return OkStatus();
  if (a.IsConstant() && b.IsConstant()) return InvalidArgument("{}: {} against {}", what, a.constant(), b.constant());
  AddCheck(node, a, b, fmt::format("{}: {}", node.name, what));
  return OkStatus();
}

Dim BoundedMin(const Graph& graph, const Dim& a, const Dim& b) {
  const DimRange range = (a - b).RangeOver(graph.symbols);
  if (range.max <= 0) return a;
  if (range.min >= 0) return b;
  return Dim::Min(a, b);
}

Dim BoundedMax(const Graph& graph, const Dim& a, const Dim& b) {
  const DimRange range = (a - b).RangeOver(graph.symbols);
  if (range.min >= 0) return a;
  if (range.max <= 0) return b;
  return Dim::Max(a, b);
}

Dim ClampPosition(const Graph& graph, const Dim& position, const Dim& extent) {
  if (position.Is(INT64_MAX)) return extent;
  const DimRange range = position.RangeOver(graph.symbols);
  Dim from_start = position;
  if (range.max < 0) from_start = position + extent;
  return BoundedMin(graph, BoundedMax(graph, from_start, Dim(0)), extent);
}

PromotionOperand OperandOf(const Node& node, const Arguments& arguments, std::string_view name) {
  if (const Value* tensor = arguments.Tensor(name)) return {tensor, nullptr};
  return {nullptr, node.Find(name)};
}

namespace {

DType NumberDType(const Attribute& number) {
  if (std::holds_alternative<bool>(number)) return DType::kBool;
  if (std::holds_alternative<double>(number)) return DType::kFloat32;
  return DType::kInt64;
}

DType Promote(DType a, DType b) {
  if (a == DType::kInvalid) return b;
  if (b == DType::kInvalid) return a;
  return PromoteDTypes(a, b);
}

DType ComplexOf(DType dtype) { return dtype == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64; }

// `lower` joins in only if its kind is higher.
DType CombineCategories(DType higher, DType lower) {
  if (IsComplex(higher)) return higher;
  if (higher != DType::kInvalid && IsFloat(higher)) return IsComplex(lower) ? ComplexOf(higher) : higher;
  const bool lower_floats = lower != DType::kInvalid && (IsFloat(lower) || IsComplex(lower));
  if (higher == DType::kBool || lower_floats) return Promote(higher, lower);
  return higher != DType::kInvalid ? higher : lower;
}

}  // namespace

DType ResultType(const std::vector<PromotionOperand>& operands) {
  DType dims = DType::kInvalid, zero_dims = DType::kInvalid, numbers = DType::kInvalid;
  for (const PromotionOperand& operand : operands) {
    if (operand.tensor != nullptr) {
      DType& category = operand.tensor->shape.empty() ? zero_dims : dims;
      category = Promote(category, operand.tensor->dtype);
    } else if (operand.number != nullptr && !std::holds_alternative<std::monostate>(*operand.number)) {
      numbers = Promote(numbers, NumberDType(*operand.number));
    }
  }
  return CombineCategories(dims, CombineCategories(zero_dims, numbers));
}

Shape ReducedShape(const Shape& shape, const std::vector<size_t>& dims, bool keepdim) {
  Shape reduced;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool gone = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (!gone) reduced.push_back(shape[d]);
    if (gone && keepdim) reduced.push_back(Dim(1));
  }
  return reduced;
}

}  // namespace tondar
