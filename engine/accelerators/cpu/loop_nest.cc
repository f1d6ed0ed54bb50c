#include "engine/accelerators/cpu/loop_nest.h"

#include <algorithm>
#include <cstdlib>

namespace tondar::cpu {
namespace {

// Indexed by DType.
constexpr int kNoLane = -1;
constexpr int kLanes[kDTypeCount] = {kNoLane, kBool,   kU8,     kU16,    kU32,    kU64,    kI8,     kI16,
                                     kI32,    kI64,    kF32,    kF32,    kF32,    kF64,    kNoLane, kNoLane,
                                     kF32,    kF32,    kF32,    kF32,    kF32,    kNoLane};
constexpr size_t kLaneSizes[kLaneCount] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8};

AffinePosition BindPosition(const IndexExpression& expression, int64_t extent, std::span<const int64_t> symbols) {
  AffinePosition position;
  position.offset = expression.offset.Evaluate(symbols);
  position.extent = extent;
  for (const IndexExpression::Term& term : expression.terms) {
    position.coefficients[static_cast<size_t>(term.loop_dim)] = term.coefficient;
  }
  return position;
}

struct Interval {
  int64_t low, high;  // inclusive
};

Interval RangeOf(const AffinePosition& position, const Dims& extents) {
  Interval range{position.offset, position.offset};
  for (size_t d = 0; d < extents.size(); ++d) {
    const int64_t reach = position.coefficients[d] * (extents[d] - 1);
    (reach < 0 ? range.low : range.high) += reach;
  }
  return range;
}

}  // namespace

std::optional<Lane> LaneOf(DType dtype) {
  const int lane = kLanes[static_cast<size_t>(dtype)];
  if (lane == kNoLane) return std::nullopt;
  return static_cast<Lane>(lane);
}

size_t LaneBytes(Lane lane) { return kLaneSizes[lane]; }

Result<BoundAccess> BindAccess(const Access& access, const KernelArguments& arguments, const Dims& extents) {
  if (access.operand < 0 || static_cast<size_t>(access.operand) >= arguments.inputs.size()) {
    return Internal("access of operand {} of {}", access.operand, arguments.inputs.size());
  }
  const DeviceTensor& tensor = arguments.inputs[static_cast<size_t>(access.operand)];
  if (access.index.size() != tensor.shape.size()) {
    return Internal("access of operand {} has {} index expressions for shape {}", access.operand, access.index.size(),
                    ToString(tensor.shape));
  }
  BoundAccess bound;
  bound.dtype = tensor.dtype;
  bound.element_bytes = static_cast<int64_t>(SizeOf(tensor.dtype));
  bound.fill = access.fill;
  int64_t offset_bytes = 0;
  const bool empty = ElementCount(extents) == 0;
  for (size_t j = 0; j < access.index.size(); ++j) {
    const IndexExpression& expression = access.index[j];
    const AffinePosition position = BindPosition(expression, tensor.shape[j], arguments.symbols);
    const int64_t stride = tensor.strides[j] * bound.element_bytes;
    offset_bytes += position.offset * stride;
    for (size_t d = 0; d < extents.size(); ++d) bound.strides[d] += position.coefficients[d] * stride;
    if (expression.dynamic >= 0) {
      bound.dynamics.push_back({position, expression.dynamic, stride, expression.guarded});
      continue;
    }
    const Interval range = RangeOf(position, extents);
    if (empty || (range.low >= 0 && range.high < position.extent)) continue;
    if (!expression.guarded) {
      return Internal("operand {} of shape {}: positions [{}, {}] along dim {} are outside it", access.operand,
                      ToString(tensor.shape), range.low, range.high, j);
    }
    bound.guards.push_back(position);
  }
  bound.base = tensor.data + offset_bytes;
  return bound;
}

Result<std::vector<BoundAccess>> BindAccesses(const LoopProgram& program, const KernelArguments& arguments,
                                              const Dims& extents) {
  std::vector<BoundAccess> accesses;
  for (const Access& access : program.accesses) {
    TONDAR_ASSIGN_OR_RETURN(BoundAccess bound, BindAccess(access, arguments, extents));
    accesses.push_back(std::move(bound));
  }
  return accesses;
}

BoundOutput BindOutput(const DeviceTensor& output) {
  BoundOutput bound;
  bound.base = output.data;
  bound.dtype = output.dtype;
  bound.element_bytes = static_cast<int64_t>(SizeOf(output.dtype));
  for (size_t d = 0; d < output.shape.size(); ++d) bound.strides[d] = output.strides[d] * bound.element_bytes;
  return bound;
}

void NestBuilder::Add(std::span<const BoundAccess> accesses) {
  for (const BoundAccess& access : accesses) {
    vectors_.push_back(access.strides);
    for (const AffinePosition& guard : access.guards) vectors_.push_back(guard.coefficients);
    for (const DynamicPosition& dynamic : access.dynamics) vectors_.push_back(dynamic.affine.coefficients);
  }
}

void NestBuilder::KeepIndexed(const LoopProgram& program) {
  for (const LoopInstruction& instruction : program.body) {
    if (instruction.op == LoopOp::kIndex) kept_ |= 1u << instruction.source;
  }
}

std::vector<int> NestBuilder::OrderByStride(std::vector<int> group, const PerDim& strides) {
  std::stable_sort(group.begin(), group.end(), [&](int a, int b) {
    return std::llabs(strides[static_cast<size_t>(a)]) > std::llabs(strides[static_cast<size_t>(b)]);
  });
  return group;
}

bool NestBuilder::CanMerge(int outer, int inner, int64_t inner_extent) const {
  if ((kept_ >> outer & 1) || (kept_ >> inner & 1)) return false;
  return std::all_of(vectors_.begin(), vectors_.end(), [&](const PerDim& v) {
    return v[static_cast<size_t>(outer)] == v[static_cast<size_t>(inner)] * inner_extent;
  });
}

void NestBuilder::Append(std::span<const int> group, Nest& nest) const {
  const size_t begin = nest.size();
  for (const int dim : group) {
    const int64_t extent = extents_[static_cast<size_t>(dim)];
    if (extent == 1) continue;
    if (nest.size() > begin && CanMerge(nest.back().original, dim, extent)) {
      nest.back() = {nest.back().extent * extent, dim};
    } else {
      nest.push_back({extent, dim});
    }
  }
}

PerDim Permute(const PerDim& values, const Nest& nest) {
  PerDim permuted{};
  for (size_t d = 0; d < nest.size(); ++d) {
    if (nest[d].original >= 0) permuted[d] = values[static_cast<size_t>(nest[d].original)];
  }
  return permuted;
}

BoundAccess Permute(BoundAccess access, const Nest& nest) {
  access.strides = Permute(access.strides, nest);
  for (AffinePosition& guard : access.guards) guard.coefficients = Permute(guard.coefficients, nest);
  for (DynamicPosition& dynamic : access.dynamics) {
    dynamic.affine.coefficients = Permute(dynamic.affine.coefficients, nest);
  }
  return access;
}

BoundOutput Permute(BoundOutput output, const Nest& nest) {
  output.strides = Permute(output.strides, nest);
  return output;
}

int64_t Count(const Nest& nest, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t d = begin; d < end; ++d) count *= nest[d].extent;
  return count;
}

}  // namespace tondar::cpu
