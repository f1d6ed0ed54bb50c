// The p-norm as a reduction: sum |x|^p, then its p-th root. p of 0 counts what is not 0, infinite p looks for extrema.
#ifndef TONDAR_ENGINE_OPS_POWER_NORM_H_
#define TONDAR_ENGINE_OPS_POWER_NORM_H_

#include "engine/plan/loop_builder.h"
#include "engine/plan/step.h"

namespace tondar {

class PowerNorm {
 public:
  explicit PowerNorm(double p) : p_(p) {}
  ReduceOp op() const;
  LoopBuilder::Handle Term(LoopBuilder& b, LoopBuilder::Handle x) const;
  LoopBuilder::Handle Root(LoopBuilder& b, LoopBuilder::Handle total) const;

 private:
  double p_;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_POWER_NORM_H_
