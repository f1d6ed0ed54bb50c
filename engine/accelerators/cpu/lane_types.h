// The C++ type of a lane, for kernels that are written once for all of them.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_LANE_TYPES_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_LANE_TYPES_H_

#include <cstdint>
#include <type_traits>

#include "engine/accelerators/cpu/loop_table.h"

namespace tondar::cpu {

// Calls visit(T()) with T the type that a tile of the lane holds, and gives what that gives.
template <typename Visit>
auto WithLaneType(Lane lane, const Visit& visit) {
  switch (lane) {
    case kBool: return visit(bool());
    case kU8: return visit(uint8_t());
    case kU16: return visit(uint16_t());
    case kU32: return visit(uint32_t());
    case kU64: return visit(uint64_t());
    case kI8: return visit(int8_t());
    case kI16: return visit(int16_t());
    case kI32: return visit(int32_t());
    case kI64: return visit(int64_t());
    case kF32: return visit(float());
    case kF64: break;
  }
  return visit(double());
}

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_LANE_TYPES_H_
