// EvaluateChecked: the value of a Dim where wrapping would be dangerous, such as a size in bytes.
#ifndef TONDAR_ENGINE_TYPES_CHECKED_DIM_H_
#define TONDAR_ENGINE_TYPES_CHECKED_DIM_H_

#include <cstdint>
#include <optional>
#include <span>

#include "engine/types/dim.h"

namespace tondar {

// As Dim::Evaluate, but nothing if a product or sum on the way does not fit.
std::optional<int64_t> EvaluateChecked(const Dim& dim, std::span<const int64_t> values);

}  // namespace tondar

#endif  // TONDAR_ENGINE_TYPES_CHECKED_DIM_H_
