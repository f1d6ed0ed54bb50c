// The families of operators: one function per file, listed here once.
#ifndef TONDAR_ENGINE_OPS_FAMILIES_H_
#define TONDAR_ENGINE_OPS_FAMILIES_H_

#include <vector>

#include "engine/ops/op_schema.h"

namespace tondar {

std::vector<OpSchema> ViewOps();

inline constexpr std::vector<OpSchema> (*kFamilies[])() = {ViewOps};

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_FAMILIES_H_
