// Slow and plain evaluation of loop steps, element by element, for tests.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_TESTING_REFERENCE_LOOPS_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_TESTING_REFERENCE_LOOPS_H_

#include <cstdint>

#include "engine/accelerators/device.h"
#include "engine/plan/step.h"

namespace tondar::cpu {

// A value of any dtype: floats in f, integers and bool in i.
struct ReferenceScalar {
  double f = 0;
  int64_t i = 0;
};

ReferenceScalar ReadScalar(const std::byte* at, DType dtype);
void WriteScalar(std::byte* at, DType dtype, ReferenceScalar value);
// The value as a number, for comparisons.
double ToDouble(ReferenceScalar value, DType dtype);

// One instruction with operands of dtype `from`, computed in f64 or int64 and rounded once.
ReferenceScalar EvaluateOp(LoopOp op, DType dtype, DType from, ReferenceScalar a, ReferenceScalar b, ReferenceScalar c);

// Runs a map, reduce, scan or scatter step. False if a dynamic index was out of range.
bool RunReference(const StepBody& body, const KernelArguments& arguments);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_TESTING_REFERENCE_LOOPS_H_
