// How a tile of values reaches its destinations, by scatter operation and type.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_SCATTER_FUNCTIONS_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_SCATTER_FUNCTIONS_H_

#include <cstddef>

#include "engine/accelerators/cpu/loop_table.h"
#include "engine/plan/step.h"

namespace tondar::cpu {

struct ScatterFunctions {
  // to[i * stride] = to[i * stride] op values[i], i ascending; stride in bytes.
  void (*strided)(std::byte* to, int64_t stride, const void* values, int64_t n) = nullptr;
  // The same at to + offsets[i], offsets in bytes.
  void (*indexed)(std::byte* to, const int64_t* offsets, const void* values, int64_t n) = nullptr;
};

// Values come as a tile of `dtype`'s lane holds them. Null functions: the operation is not defined on the dtype.
ScatterFunctions ScatterFunctionsFor(ScatterOp op, DType dtype);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_SCATTER_FUNCTIONS_H_
