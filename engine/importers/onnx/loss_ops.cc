// ONNX losses over classes.
#include "engine/importers/onnx/op_table.h"

namespace tondar::onnx_format {
namespace {

// Of no class: what is ignored where the node says nothing.
constexpr int64_t kNothing = -100;

int64_t ReductionOf(OpCall& call) {
  static constexpr std::string_view kNames[] = {"none", "mean", "sum"};
  const std::string name = call.String("reduction", "mean");
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<int64_t>(i);
  }
  call.Fail(InvalidArgument("reduction '{}'", name));
  return 0;
}

// [N, C, d...] as PyTorch has it for one dim behind the classes or none: further dims are joined, and taken apart again
// from a loss that keeps them.
void Likelihood(OpCall& call, Value* log_p) {
  const Shape shape = OpCall::Extents(log_p), targets = call.ShapeOf(1);
  Value *target = call.In(1), *weight = call.Has(2) ? call.In(2) : nullptr;
  if (shape.size() > 3) {
    Dim rest = 1;
    for (size_t d = 2; d < shape.size(); ++d) rest = rest * shape[d];
    log_p = call.Reshape(log_p, {shape[0], shape[1], rest});
    target = call.Reshape(target, {shape[0], rest});
  }
  const int64_t reduction = ReductionOf(call);
  Value* loss = call.Op("nll_loss", {log_p, call.Cast(target, DType::kInt64), weight},
                        {{"reduction", Dim(reduction)}, {"ignore_index", Dim(call.Int("ignore_index", kNothing))}});
  call.Give(reduction == 0 && shape.size() > 3 ? call.Reshape(loss, targets) : loss);
}

void NegativeLogLikelihood(OpCall& call, const OpRow&) { Likelihood(call, call.In(0)); }

void SoftmaxCrossEntropy(OpCall& call, const OpRow&) {
  Value* log_p = call.Op("log_softmax", {call.In(0)}, {{"dim", Dim(1)}});
  Likelihood(call, log_p);
  if (call.Wants(1)) call.Give(log_p, 1);
}

constexpr OpRow kRows[] = {
    {"NegativeLogLikelihoodLoss", NegativeLogLikelihood, "", 2, 3},
    {"SoftmaxCrossEntropyLoss", SoftmaxCrossEntropy, "", 2, 3},
};

}  // namespace

std::span<const OpRow> LossOps() { return kRows; }

}  // namespace tondar::onnx_format
