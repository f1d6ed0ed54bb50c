#include "engine/types/shape.h"

#include <algorithm>

namespace tondar {

std::optional<int64_t> CheckedElementCount(std::span<const int64_t> extents) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : extents) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, extent, &count)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

int64_t ElementCount(const Dims& extents) {
  int64_t count = 1;
  for (int64_t extent : extents) count *= extent;
  return count;
}

Dim ElementCount(const Shape& shape) {
  Dim count(1);
  for (const Dim& extent : shape) count = count * extent;
  return count;
}

Dims ContiguousStrides(const Dims& extents) {
  Dims strides = Dims::Filled(extents.rank(), 1);
  for (size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

Shape ContiguousStrides(const Shape& shape) {
  Shape strides(shape.size(), Dim(1));
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

bool IsContiguous(const Dims& extents, const Dims& strides) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return true;
  int64_t expected = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i] != 1 && strides[i] != expected) return false;
    expected *= extents[i];
  }
  return true;
}

Dims Evaluate(const Shape& shape, std::span<const int64_t> symbols) {
  Dims extents;
  for (const Dim& extent : shape) extents.push_back(extent.Evaluate(symbols));
  return extents;
}

bool IsConstant(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& extent) { return extent.IsConstant(); });
}

Shape ToShape(const Dims& extents) { return Shape(extents.begin(), extents.end()); }

std::string ToString(const Shape& shape, std::span<const SymbolInfo> symbols) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += shape[i].ToString(symbols);
  }
  return text + "]";
}

std::string ToString(const Dims& extents) { return ToString(ToShape(extents)); }

Result<Shape> BroadcastShapes(const Shape& a, const Shape& b, std::vector<std::pair<Dim, Dim>>* assumed) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    const Dim &x = a[i + a.size() - shorter.size()], &y = b[i + b.size() - shorter.size()];
    if (x == y || y.Is(1)) {
      result[i + offset] = x;
    } else if (x.Is(1)) {
      result[i + offset] = y;
    } else if (x.IsConstant() && y.IsConstant()) {
      return InvalidArgument("shapes {} and {} do not broadcast: {} against {}", ToString(a), ToString(b), x.ToString(),
                             y.ToString());
    } else {
      if (assumed != nullptr) assumed->emplace_back(x, y);
      result[i + offset] = y.IsConstant() ? y : x;
    }
  }
  return result;
}

}  // namespace tondar
