#include "engine/compiler/merge_rows.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tondar {
namespace {

void EraseDim(Operand& operand, size_t dim) {
  operand.shape.erase(operand.shape.begin() + static_cast<std::ptrdiff_t>(dim));
  operand.strides.erase(operand.strides.begin() + static_cast<std::ptrdiff_t>(dim));
}

// Dims d and d + 1 of the operand lie as one.
bool LiesAsOne(const Operand& operand, size_t d) {
  if (operand.shape[d].Is(1) || operand.shape[d + 1].Is(1)) return true;
  return operand.strides[d] == operand.strides[d + 1] * operand.shape[d + 1];
}

void MergeDims(Operand& operand, size_t d) {
  if (operand.shape[d + 1].Is(1)) operand.strides[d + 1] = operand.strides[d];
  operand.shape[d + 1] = operand.shape[d] * operand.shape[d + 1];
  EraseDim(operand, d);
}

bool IsLoopDim(const IndexExpression& index, size_t dim) {
  return index == IndexExpression::LoopDim(static_cast<int>(dim));
}

bool Uses(const IndexExpression& index, size_t dim) {
  return std::any_of(index.terms.begin(), index.terms.end(),
                     [&](const auto& term) { return static_cast<size_t>(term.loop_dim) == dim; });
}

// Merges the batch dim next to the rows into the rows.
class RowMerger {
 public:
  RowMerger(Step& step, size_t batch) : step_(step), batch_(batch), rows_(batch + 1) {}

  bool Run() {
    Operand &a = step_.inputs[0], &b = step_.inputs[1], &out = step_.outputs[0];
    if (!b.strides[batch_].Is(0) && !b.shape[batch_].Is(1)) return false;
    if (!LiesAsOne(a, batch_) || !LiesAsOne(out, batch_) || !MatchOperands()) return false;
    MergeDims(a, batch_);
    MergeDims(out, batch_);
    EraseDim(b, batch_);
    RewriteEpilogue();
    return true;
  }

 private:
  LoopProgram& epilogue() { return std::get<MatMulStep>(step_.body).epilogue; }

  // Finds, for each access, where it walks along the two dims: side by side along dims that lie as one, or not at all.
  bool MatchOperands() {
    for (const LoopInstruction& instruction : epilogue().body) {
      if (instruction.op == LoopOp::kIndex) return false;
    }
    merged_.assign(step_.inputs.size(), -1);
    std::vector<bool> seen(step_.inputs.size(), false);
    for (const Access& access : epilogue().accesses) {
      const size_t i = static_cast<size_t>(access.operand);
      const auto at = WalksAlong(access, step_.inputs[i]);
      if (!at || (seen[i] && merged_[i] != *at)) return false;
      seen[i] = true;
      merged_[i] = *at;
    }
    return true;
  }

  // The operand's dim that walks along the batch, followed by one along the rows; -1 if none does; nullopt otherwise.
  std::optional<int> WalksAlong(const Access& access, const Operand& operand) const {
    int found = -1;
    for (size_t d = 0; d < access.index.size(); ++d) {
      if (!Uses(access.index[d], batch_) && !Uses(access.index[d], rows_)) continue;
      if (found >= 0 && d == static_cast<size_t>(found) + 1 && IsLoopDim(access.index[d], rows_)) continue;
      const bool pair = found < 0 && d + 1 < access.index.size() && IsLoopDim(access.index[d], batch_) &&
                        IsLoopDim(access.index[d + 1], rows_);
      if (!pair || !LiesAsOne(operand, d) || !HasExtents(operand, d)) return std::nullopt;
      found = static_cast<int>(d);
    }
    return found;
  }

  bool HasExtents(const Operand& operand, size_t d) const {
    const Operand& out = step_.outputs[0];
    return operand.shape[d] == out.shape[batch_] && operand.shape[d + 1] == out.shape[rows_];
  }

  void RewriteEpilogue() {
    for (Access& access : epilogue().accesses) {
      const int at = merged_[static_cast<size_t>(access.operand)];
      if (at >= 0) access.index.erase(access.index.begin() + at);
      for (IndexExpression& index : access.index) {
        for (IndexExpression::Term& term : index.terms) {
          if (static_cast<size_t>(term.loop_dim) > batch_) --term.loop_dim;
        }
      }
    }
    for (size_t i = 0; i < merged_.size(); ++i) {
      if (merged_[i] >= 0) MergeDims(step_.inputs[i], static_cast<size_t>(merged_[i]));
    }
  }

  Step& step_;
  const size_t batch_, rows_;
  std::vector<int> merged_;  // per operand: see WalksAlong
};

}  // namespace

void MergeRows(Step& step) {
  if (KindOf(step.body) != StepKind::kMatMul) return;
  while (step.outputs[0].shape.size() > 2 && RowMerger(step, step.outputs[0].shape.size() - 3).Run()) {
  }
}

}  // namespace tondar
