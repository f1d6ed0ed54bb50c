#include "engine/accelerators/cpu/scatter_functions.h"

#include <type_traits>

#include "engine/accelerators/cpu/lane_types.h"
#include "engine/accelerators/cpu/loop_nest.h"

namespace tondar::cpu {
namespace {

template <typename T>
bool IsNan(T value) {
  return value != value;
}

// Integers wrap: computed without sign.
template <typename T>
struct Wrapping {
  using Type = std::make_unsigned_t<std::conditional_t<(sizeof(T) < 4), int32_t, T>>;
};
template <>
struct Wrapping<bool> {
  using Type = bool;
};

struct DoAdd {
  template <typename T>
  static T Do(T old, T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return old || value;
    } else if constexpr (std::is_floating_point_v<T>) {
      return old + value;
    } else {
      using U = typename Wrapping<T>::Type;
      return static_cast<T>(static_cast<U>(old) + static_cast<U>(value));
    }
  }
};
struct DoMultiply {
  template <typename T>
  static T Do(T old, T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return old && value;
    } else if constexpr (std::is_floating_point_v<T>) {
      return old * value;
    } else {
      using U = typename Wrapping<T>::Type;
      return static_cast<T>(static_cast<U>(old) * static_cast<U>(value));
    }
  }
};
struct DoMax {
  template <typename T>
  static T Do(T old, T value) {
    return old < value || IsNan(value) ? value : old;
  }
};
struct DoMin {
  template <typename T>
  static T Do(T old, T value) {
    return value < old || IsNan(value) ? value : old;
  }
};

template <typename T, typename F>
constexpr ScatterFunctions Combining() {
  return {[](std::byte* to, int64_t stride, const void* values, int64_t n) {
            const T* x = static_cast<const T*>(values);
            if (stride == static_cast<int64_t>(sizeof(T))) {
              T* out = reinterpret_cast<T*>(to);
              for (int64_t i = 0; i < n; ++i) out[i] = F::Do(out[i], x[i]);
              return;
            }
            for (int64_t i = 0; i < n; ++i) {
              T& out = *reinterpret_cast<T*>(to + i * stride);
              out = F::Do(out, x[i]);
            }
          },
          [](std::byte* to, const int64_t* offsets, const void* values, int64_t n) {
            const T* x = static_cast<const T*>(values);
            for (int64_t i = 0; i < n; ++i) {
              T& out = *reinterpret_cast<T*>(to + offsets[i]);
              out = F::Do(out, x[i]);
            }
          }};
}

template <typename Stored, typename T, Stored (*kConvert)(T)>
constexpr ScatterFunctions Storing() {
  return {[](std::byte* to, int64_t stride, const void* values, int64_t n) {
            const T* x = static_cast<const T*>(values);
            for (int64_t i = 0; i < n; ++i) *reinterpret_cast<Stored*>(to + i * stride) = kConvert(x[i]);
          },
          [](std::byte* to, const int64_t* offsets, const void* values, int64_t n) {
            const T* x = static_cast<const T*>(values);
            for (int64_t i = 0; i < n; ++i) *reinterpret_cast<Stored*>(to + offsets[i]) = kConvert(x[i]);
          }};
}

template <typename T>
T Same(T value) {
  return value;
}

ScatterFunctions StoringAs(DType dtype, Lane lane) {
  if (dtype == DType::kFloat16) return Storing<uint16_t, float, FloatToFloat16>();
  if (dtype == DType::kBFloat16) return Storing<uint16_t, float, FloatToBFloat16>();
  if (SizeOf(dtype) != LaneBytes(lane)) return {};
  return WithLaneType(lane, [](auto type) { return Storing<decltype(type), decltype(type), Same<decltype(type)>>(); });
}

}  // namespace

ScatterFunctions ScatterFunctionsFor(ScatterOp op, DType dtype) {
  const std::optional<Lane> lane = LaneOf(dtype);
  if (!lane) return {};
  if (op == ScatterOp::kStore) return StoringAs(dtype, *lane);
  if (SizeOf(dtype) != LaneBytes(*lane)) return {};
  return WithLaneType(*lane, [op](auto type) {
    using T = decltype(type);
    switch (op) {
      case ScatterOp::kAdd: return Combining<T, DoAdd>();
      case ScatterOp::kMultiply: return Combining<T, DoMultiply>();
      case ScatterOp::kMax: return Combining<T, DoMax>();
      default: return Combining<T, DoMin>();
    }
  });
}

}  // namespace tondar::cpu
