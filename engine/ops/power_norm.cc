#include "engine/ops/power_norm.h"

#include <cmath>

namespace tondar {

ReduceOp PowerNorm::op() const {
  if (!std::isinf(p_)) return ReduceOp::kSum;
  return p_ > 0 ? ReduceOp::kMax : ReduceOp::kMin;
}

LoopBuilder::Handle PowerNorm::Term(LoopBuilder& b, LoopBuilder::Handle x) const {
  const auto number = [&](double value) { return b.Constant(value, b.dtype(x)); };
  if (p_ == 0) return b.Cast(b.Binary(LoopOp::kNe, x, number(0)), b.dtype(x));
  if (p_ == 2) return b.Binary(LoopOp::kMul, x, x);
  const LoopBuilder::Handle magnitude = b.Unary(LoopOp::kAbs, x);
  return p_ == 1 || std::isinf(p_) ? magnitude : b.Binary(LoopOp::kPow, magnitude, number(p_));
}

// No elements have the norm 0, where the largest of none would be -inf.
LoopBuilder::Handle PowerNorm::Root(LoopBuilder& b, LoopBuilder::Handle total) const {
  const auto number = [&](double value) { return b.Constant(value, b.dtype(total)); };
  if (p_ == 2) return b.Unary(LoopOp::kSqrt, total);
  if (std::isinf(p_)) return p_ > 0 ? b.Binary(LoopOp::kMax, total, number(0)) : total;
  if (p_ == 0 || p_ == 1) return total;
  return b.Binary(LoopOp::kPow, total, number(1 / p_));
}

}  // namespace tondar
