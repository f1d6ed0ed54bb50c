// Shape: symbolic extents. Dims: concrete extents without allocation.
#ifndef TONDAR_ENGINE_TYPES_SHAPE_H_
#define TONDAR_ENGINE_TYPES_SHAPE_H_

#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/types/dim.h"

namespace tondar {

// Highest rank a tensor may have; importers refuse more.
inline constexpr int kMaxRank = 8;

// Symbolic extents, outermost first.
using Shape = std::vector<Dim>;

// Up to kMaxRank concrete integers (extents, strides, indices), stored in place. Value type.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) {
    for (int64_t value : values) push_back(value);
  }
  explicit Dims(std::span<const int64_t> values) {
    for (int64_t value : values) push_back(value);
  }
  static Dims Filled(int rank, int64_t value) {
    Dims dims;
    for (int i = 0; i < rank; ++i) dims.push_back(value);
    return dims;
  }

  int rank() const { return rank_; }
  size_t size() const { return static_cast<size_t>(rank_); }
  bool empty() const { return rank_ == 0; }
  int64_t& operator[](size_t i) { return values_[i]; }
  int64_t operator[](size_t i) const { return values_[i]; }
  int64_t* begin() { return values_.data(); }
  int64_t* end() { return values_.data() + rank_; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + rank_; }
  std::span<const int64_t> span() const { return {values_.data(), size()}; }
  void push_back(int64_t value) {
    TONDAR_CHECK(rank_ < kMaxRank, "rank above {}", kMaxRank);
    values_[static_cast<size_t>(rank_++)] = value;
  }
  friend bool operator==(const Dims& a, const Dims& b) {
    return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  std::array<int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

// Product of extents; 1 for rank 0. nullopt if an extent is negative or the product does not fit an int64.
std::optional<int64_t> CheckedElementCount(std::span<const int64_t> extents);
// The same where it is known to fit.
int64_t ElementCount(const Dims& extents);
Dim ElementCount(const Shape& shape);

// Row-major strides in elements.
Dims ContiguousStrides(const Dims& extents);
Shape ContiguousStrides(const Shape& shape);
// True if the strides address the elements in row-major order without gaps; extents of 1 may have any stride.
bool IsContiguous(const Dims& extents, const Dims& strides);

Dims Evaluate(const Shape& shape, std::span<const int64_t> symbols);
bool IsConstant(const Shape& shape);
Shape ToShape(const Dims& extents);

// "[8, 4*s0, 3]".
std::string ToString(const Shape& shape, std::span<const SymbolInfo> symbols = {});
std::string ToString(const Dims& extents);

// NumPy broadcasting of two symbolic shapes. Where neither extent is 1 and they are not provably equal, the first
// operand's extent is kept and equality is assumed; the caller may ask `assumed` for those pairs, to check at run time.
// InvalidArgument: two different constants, neither of them 1.
Result<Shape> BroadcastShapes(const Shape& a, const Shape& b, std::vector<std::pair<Dim, Dim>>* assumed = nullptr);

}  // namespace tondar

#endif  // TONDAR_ENGINE_TYPES_SHAPE_H_
