// What torch.autocast does to the tensors of an operator in its region.
//
// Source: the operator lists of PyTorch's aten/src/ATen/autocast_mode.h and autocast_mode.cpp (2.15), which
// https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference documents.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_AUTOCAST_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_AUTOCAST_H_

#include <span>
#include <string>
#include <string_view>

#include "engine/ir/graph.h"

namespace tondar::pt2 {

// A region's settings.
struct Autocast {
  std::string device;  // "cpu" or "cuda", whose lists differ
  DType dtype = DType::kBFloat16;
};

// The dtype that floating-point tensors of the operator ("aten.linear.default") are converted to before it runs;
// kInvalid: they stay. float64 always stays. `inputs` may hold nulls.
DType AutocastDType(const Autocast& region, std::string_view target, std::span<Value* const> inputs);

// Whether autocast converts tensors of this dtype to that one.
inline bool IsAutocast(DType from, DType to) { return IsFloat(from) && from != DType::kFloat64 && from != to; }

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_AUTOCAST_H_
