// Bit conversions of the 8-bit floats (OCP FP8 and MX, and the FNUZ forms), as PyTorch converts.
#ifndef TONDAR_ENGINE_TYPES_FLOAT8_H_
#define TONDAR_ENGINE_TYPES_FLOAT8_H_

#include <cstdint>

#include "engine/types/dtype.h"

namespace tondar {

inline bool IsFloat8(DType dtype) { return dtype >= DType::kFloat8E4M3FN && dtype <= DType::kFloat8E8M0; }

// `dtype` is one of the 8-bit floats. Exact.
float Float8ToFloat(DType dtype, uint8_t bits);
// Rounds to nearest even. What is too large becomes infinity in E5M2, 448 in E4M3FN and NaN in the FNUZ forms; NaN stays
// NaN. E8M0 keeps the exponent alone, rounded likewise; the sign is lost.
uint8_t FloatToFloat8(DType dtype, float value);

}  // namespace tondar

#endif  // TONDAR_ENGINE_TYPES_FLOAT8_H_
