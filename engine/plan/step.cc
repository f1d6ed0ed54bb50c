#include "engine/plan/step.h"

namespace tondar {

std::string_view Name(StepKind kind) {
  static constexpr std::string_view kNames[] = {"map", "reduce", "scan", "matmul", "conv", "attention", "norm",
                                                "scatter", "sort", "linalg"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view KindName(const Step& step) {
  static constexpr std::string_view kControls[] = {"", "cond", "while"};
  return step.IsControl() ? kControls[static_cast<size_t>(step.control.kind)] : Name(KindOf(step.body));
}

const LoopProgram* EpilogueOf(const StepBody& body) {
  if (const auto* matmul = std::get_if<MatMulStep>(&body)) return &matmul->epilogue;
  if (const auto* conv = std::get_if<ConvStep>(&body)) return &conv->epilogue;
  if (const auto* norm = std::get_if<NormStep>(&body)) return &norm->epilogue;
  return nullptr;
}

LoopProgram* EpilogueOf(StepBody& body) { return const_cast<LoopProgram*>(EpilogueOf(std::as_const(body))); }

int FixedInputs(const StepBody& body) {
  switch (KindOf(body)) {
    case StepKind::kMatMul:
    case StepKind::kConv: return 2;
    case StepKind::kAttention: return std::get<AttentionStep>(body).has_mask ? 4 : 3;
    case StepKind::kNorm: {
      const NormStep& norm = std::get<NormStep>(body);
      return 1 + (norm.has_weight ? 1 : 0) + (norm.has_bias ? 1 : 0);
    }
    case StepKind::kScatter:
    case StepKind::kSort: return 1;
    case StepKind::kLinalg: return std::get<LinalgStep>(body).kind == LinalgKind::kTriangularSolve ? 2 : 1;
    default: return 0;
  }
}

}  // namespace tondar
