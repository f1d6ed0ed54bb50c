// What loop steps have in common: whether they are supported, and how their kernels keep the step.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_LOOP_SUPPORT_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_LOOP_SUPPORT_H_

#include "engine/accelerators/cpu/loop_nest.h"
#include "engine/plan/step.h"

namespace tondar::cpu {

// Map, reduce and scan steps. Unimplemented: an operation or dtype.
Status SupportsLoopStep(const Step& step);

// Internal unless the launch has the step's number of operands and each output has `rank` dims.
Status CheckOperands(const KernelArguments& arguments, size_t outputs, size_t rank);

// [first, first + count).
std::vector<int> DimRange(int first, int count);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_LOOP_SUPPORT_H_
