// Scalar: one element of any dtype, and what each loop instruction does to it.
#ifndef TONDAR_ENGINE_OPS_TESTING_SCALAR_H_
#define TONDAR_ENGINE_OPS_TESTING_SCALAR_H_

#include <cstddef>
#include <cstdint>

#include "engine/plan/loop_program.h"

namespace tondar {

// Floats live in `real`, integers and bool in `whole`; both are values that the dtype can hold.
struct Scalar {
  DType dtype = DType::kInvalid;
  double real = 0;
  int64_t whole = 0;

  bool IsReal() const { return IsFloat(dtype); }
  bool Truth() const { return IsReal() ? real != 0 : whole != 0; }
  double AsReal() const { return IsReal() ? real : static_cast<double>(whole); }
};

Scalar RealScalar(double value, DType dtype);     // rounded to the dtype
Scalar WholeScalar(int64_t value, DType dtype);   // wrapped to the dtype
Scalar ConvertScalar(const Scalar& x, DType dtype);
Scalar ReadScalar(const std::byte* from, DType dtype);
void WriteScalar(const Scalar& x, std::byte* to);

// An instruction of one or two operands (kSelect, loads and the like are the interpreter's).
Scalar ApplyUnary(LoopOp op, const Scalar& a);
Scalar ApplyBinary(LoopOp op, const Scalar& a, const Scalar& b);

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_TESTING_SCALAR_H_
