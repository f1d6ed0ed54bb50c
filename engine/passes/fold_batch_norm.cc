// Inference-mode batch normalisation after a convolution or linear layer with constant weights goes into those weights.
#include <cmath>

#include "engine/ops/op_schema.h"
#include "engine/passes/passes.h"
#include "engine/passes/pattern.h"

namespace tondar {
namespace {

// y = x * scale + shift, per channel.
struct Affine {
  std::vector<double> scale, shift;
};

// The elements of a 1-d float32 constant; `otherwise` everywhere if the value is null; nullopt if it is anything else.
std::optional<std::vector<double>> Elements(const Value* value, size_t count, double otherwise) {
  if (value == nullptr) return std::vector<double>(count, otherwise);
  if (!value->IsConstant() || value->dtype != DType::kFloat32 || value->shape.size() != 1) return std::nullopt;
  const TensorView& view = value->constant->view;
  if (static_cast<size_t>(view.shape[0]) != count) return std::nullopt;
  std::vector<double> elements;
  for (int64_t i = 0; i < view.shape[0]; ++i) elements.push_back(view.as<float>()[i * view.strides[0]]);
  return elements;
}

std::optional<Affine> AffineOf(const Node& norm, size_t channels) {
  const Arguments args(norm);
  const auto mean = Elements(args.Tensor("running_mean"), channels, 0), variance = Elements(args.Tensor("running_var"), channels, 1);
  const auto weight = Elements(args.Tensor("weight"), channels, 1), bias = Elements(args.Tensor("bias"), channels, 0);
  if (!mean || !variance || !weight || !bias) return std::nullopt;
  Affine affine;
  for (size_t i = 0; i < channels; ++i) {
    affine.scale.push_back((*weight)[i] / std::sqrt((*variance)[i] + args.Number("eps")));
    affine.shift.push_back((*bias)[i] - (*mean)[i] * affine.scale.back());
  }
  return affine;
}

// The weight with row i multiplied by scale[i], contiguous.
Constant Scaled(const Constant& weight, const std::vector<double>& scale) {
  Constant scaled = CopyToConstant(weight.name, weight.view);
  float* elements = scaled.view.as<float>();
  const int64_t row = scaled.view.shape[0] == 0 ? 0 : scaled.view.elements() / scaled.view.shape[0];
  for (size_t i = 0; i < scale.size(); ++i) {
    for (int64_t j = 0; j < row; ++j) {
      float& element = elements[static_cast<int64_t>(i) * row + j];
      element = static_cast<float>(element * scale[i]);
    }
  }
  return scaled;
}

Status Fold(Graph& graph, Node& norm) {
  Node* layer = norm.inputs[0]->producer;
  if (layer == nullptr || (layer->op != "convolution" && layer->op != "linear") || !UsedOnce(*layer->outputs[0])) return OkStatus();
  if (layer->op == "convolution" && Arguments(*layer).Bool("transposed")) return OkStatus();
  if (layer->op == "linear" && layer->outputs[0]->shape.size() != 2) return OkStatus();  // channels are not last otherwise
  const Value* weight = layer->inputs[1];
  if (!weight->IsConstant() || weight->dtype != DType::kFloat32) return OkStatus();
  const size_t channels = static_cast<size_t>(weight->constant->view.shape[0]);
  const auto affine = AffineOf(norm, channels);
  const auto old_bias = Elements(layer->inputs.size() > 2 ? layer->inputs[2] : nullptr, channels, 0);
  if (!affine || !old_bias) return OkStatus();

  Constant bias = AllocateConstant(norm.name + ".bias", DType::kFloat32, {static_cast<int64_t>(channels)});
  for (size_t i = 0; i < channels; ++i) {
    bias.view.as<float>()[i] = static_cast<float>((*old_bias)[i] * affine->scale[i] + affine->shift[i]);
  }
  std::vector<Value*> inputs = {layer->inputs[0], graph.AddConstant(Scaled(*weight->constant, affine->scale)),
                                graph.AddConstant(std::move(bias))};
  TONDAR_ASSIGN_OR_RETURN(Node * folded, AddOp(graph, layer->op, layer->name, std::move(inputs), {}, layer->attributes, &norm));
  graph.ReplaceAllUses(norm.outputs[0], folded->outputs[0]);
  return OkStatus();
}

}  // namespace

Status FoldBatchNorm(Graph& graph, const PassContext&) {
  for (Node* node : graph.NodeList()) {
    if (node->op == "batch_norm") TONDAR_RETURN_IF_ERROR(Fold(graph, *node));
  }
  return OkStatus();
}

}  // namespace tondar
