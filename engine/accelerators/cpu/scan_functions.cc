#include "engine/accelerators/cpu/scan_functions.h"

#include <cmath>
#include <type_traits>

#include "engine/accelerators/cpu/lane_types.h"

namespace tondar::cpu {
namespace {

template <typename T>
T& CarriedValue(ReduceState& carry) {
  static_assert(sizeof(T) <= sizeof(carry.i));
  return *reinterpret_cast<T*>(std::is_floating_point_v<T> ? static_cast<void*>(&carry.f) : static_cast<void*>(&carry.i));
}

// Equal ones replace, so that the last position counts; a NaN replaces all and is replaced by a NaN only.
template <typename T, bool max>
bool Replaces(T value, T old) {
  if (value != value) return true;
  return old == old && (max ? value >= old : value <= old);
}

template <typename T, bool max, bool gives_position>
void ScanExtremum(ReduceState* carry, void* out, const void* values, int64_t position, int64_t n) {
  const T* x = static_cast<const T*>(values);
  T& best = CarriedValue<T>(*carry);
  for (int64_t i = 0; i < n; ++i) {
    if (carry->index < 0 || Replaces<T, max>(x[i], best)) {
      best = x[i];
      carry->index = position + i;
    }
    if constexpr (gives_position) {
      static_cast<int64_t*>(out)[i] = carry->index;
    } else {
      static_cast<T*>(out)[i] = best;
    }
  }
}

// log(exp a + exp b) by the larger one. Infinities stand for themselves.
double LogAddExp(double a, double b) {
  if (a != a || b != b) return a + b;
  const double low = a < b ? a : b, high = a < b ? b : a;
  return std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
}

template <typename T>
void ScanLogAddExp(ReduceState* carry, void* out, const void* values, int64_t position, int64_t n) {
  const T* x = static_cast<const T*>(values);
  for (int64_t i = 0; i < n; ++i) {
    const double value = static_cast<double>(x[i]);
    carry->f = carry->index < 0 ? value : LogAddExp(carry->f, value);
    carry->index = position + i;
    static_cast<T*>(out)[i] = static_cast<T>(carry->f);
  }
}

}  // namespace

PositionedScan PositionedScanFor(ReduceOp op, Lane lane) {
  if (op == ReduceOp::kLogAddExp) {
    return lane == kF32 ? ScanLogAddExp<float> : (lane == kF64 ? ScanLogAddExp<double> : nullptr);
  }
  return WithLaneType(lane, [op](auto type) -> PositionedScan {
    using T = decltype(type);
    switch (op) {
      case ReduceOp::kMax: return ScanExtremum<T, true, false>;
      case ReduceOp::kMin: return ScanExtremum<T, false, false>;
      case ReduceOp::kArgMax: return ScanExtremum<T, true, true>;
      case ReduceOp::kArgMin: return ScanExtremum<T, false, true>;
      default: return nullptr;
    }
  });
}

}  // namespace tondar::cpu
