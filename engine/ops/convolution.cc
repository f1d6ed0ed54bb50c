// Convolutions and transposed convolutions of one to three spatial dims; the bias goes into the epilogue.
#include <algorithm>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"
#include "engine/ops/window.h"

namespace tondar {
namespace {

// The arguments, one value per spatial dim.
struct Convolution {
  SpatialWindow window;
  std::vector<int64_t> output_padding;
  int64_t groups = 1;
  bool transposed = false;
  bool batched = true;

  size_t rank() const { return window.rank(); }
};

Result<Convolution> ReadConvolution(const Node& node) {
  const Arguments args(node);
  const Value *x = args.Tensor("input"), *weight = args.Tensor("weight");
  if (weight->shape.size() < 3 || weight->shape.size() > 5) {
    return InvalidArgument("weight {} has {} spatial dims, expected 1 to 3", ToString(weight->shape),
                           static_cast<int64_t>(weight->shape.size()) - 2);
  }
  const size_t rank = weight->shape.size() - 2;
  if (x->shape.size() != rank + 2 && x->shape.size() != rank + 1) {
    return InvalidArgument("input {} for weight {}", ToString(x->shape), ToString(weight->shape));
  }
  Convolution conv;
  conv.batched = x->shape.size() == rank + 2;
  for (size_t d = 0; d < rank; ++d) {
    if (!weight->shape[2 + d].IsConstant()) return Unimplemented("a kernel of dynamic size");
    conv.window.kernel.push_back(weight->shape[2 + d].constant());
  }
  const std::vector<int64_t> ones(rank, 1), zeros(rank, 0);
  TONDAR_ASSIGN_OR_RETURN(conv.window.stride, SpatialList(args, "stride", rank, ones));
  TONDAR_ASSIGN_OR_RETURN(conv.window.dilation, SpatialList(args, "dilation", rank, ones));
  TONDAR_ASSIGN_OR_RETURN(conv.output_padding, SpatialList(args, "output_padding", rank, zeros));
  TONDAR_RETURN_IF_ERROR(ReadPadding(args, conv.window));
  conv.groups = args.Int("groups");
  conv.transposed = args.Bool("transposed");
  if (conv.groups < 1) return InvalidArgument("{} groups", conv.groups);
  for (size_t d = 0; d < rank; ++d) {
    if (conv.window.stride[d] < 1 || conv.window.dilation[d] < 1 || conv.window.padding[d] < 0) {
      return InvalidArgument("stride, dilation or padding out of range in spatial dim {}", d);
    }
  }
  return conv;
}

Dim OutputExtent(const Convolution& conv, size_t d, const Dim& extent) {
  const SpatialWindow& w = conv.window;
  const int64_t padding = w.padding[d] + conv.window.padding_end[d], reach = w.dilation[d] * (w.kernel[d] - 1);
  if (conv.transposed) {
    return (extent - Dim(1)) * Dim(w.stride[d]) + Dim(reach + 1 - padding + conv.output_padding[d]);
  }
  return Dim::FloorDiv(extent + Dim(padding - reach - 1), Dim(w.stride[d])) + Dim(1);
}

Status InferConvolution(Node& node) {
  const Arguments args(node);
  TONDAR_ASSIGN_OR_RETURN(const Convolution conv, ReadConvolution(node));
  const Value *x = args.Tensor("input"), *weight = args.Tensor("weight"), *bias = args.Tensor("bias");
  if (x->dtype != weight->dtype || (bias != nullptr && bias->dtype != x->dtype)) {
    return InvalidArgument("dtypes of input ({}), weight ({}) and bias differ", Name(x->dtype), Name(weight->dtype));
  }
  if (!IsFloat(x->dtype)) return Unimplemented("convolution of {}", Name(x->dtype));
  const size_t channel = conv.batched ? 1 : 0;
  const Dim groups(conv.groups);
  const Dim expected = conv.transposed ? weight->shape[0] : weight->shape[1] * groups;
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, x->shape[channel], expected, "input channels"));
  Shape shape(x->shape.begin(), x->shape.begin() + static_cast<ptrdiff_t>(channel));
  shape.push_back(conv.transposed ? weight->shape[1] * groups : weight->shape[0]);
  for (size_t d = 0; d < conv.rank(); ++d) {
    const Dim extent = OutputExtent(conv, d, x->shape[channel + 1 + d]);
    if (extent.RangeOver(node.graph->symbols).max <= 0) {
      return InvalidArgument("the kernel is larger than the padded input in spatial dim {}", d);
    }
    shape.push_back(extent);
  }
  SetOutput(node, 0, x->dtype, std::move(shape));
  return OkStatus();
}

// The input with zeros put where the two sides' padding differs, which the step cannot say.
Result<Value*> PadUnevenly(Convolution& conv, Value* x, LoweringBuilder& builder) {
  Shape pad;  // last dim first, as constant_pad_nd has it
  bool uneven = false;
  for (size_t d = conv.rank(); d-- > 0;) {
    const int64_t extra = conv.window.padding_end[d] - conv.window.padding[d];
    pad.push_back(std::max<int64_t>(-extra, 0));
    pad.push_back(std::max<int64_t>(extra, 0));
    conv.window.padding[d] = std::min(conv.window.padding[d], conv.window.padding_end[d]);
    uneven = uneven || extra != 0;
  }
  if (!uneven) return x;
  return builder.Op("constant_pad", {x}, {{"pad", pad}, {"value", 0.0}});
}

Status LowerConvolution(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  TONDAR_ASSIGN_OR_RETURN(Convolution conv, ReadConvolution(node));
  Value *x = args.Tensor("input"), *bias = args.Tensor("bias");
  const DType dtype = x->dtype;
  Shape shape = node.outputs[0]->shape;
  if (!conv.batched) {
    x = builder.Unsqueeze(x, 0);
    shape.insert(shape.begin(), Dim(1));
  }
  if (!conv.transposed) {
    TONDAR_ASSIGN_OR_RETURN(x, PadUnevenly(conv, x, builder));
  }
  ConvStep step{.stride = conv.window.stride, .padding = conv.window.padding, .dilation = conv.window.dilation,
                .output_padding = conv.output_padding, .groups = conv.groups, .transposed = conv.transposed,
                .epilogue = {}};
  std::vector<Value*> inputs = {x, args.Tensor("weight")};
  const Access channel{.operand = 2, .index = {IndexExpression::LoopDim(1)}};
  if (bias != nullptr) inputs.push_back(bias);
  step.epilogue = StoreEpilogue(ComputeDType(dtype), dtype, bias != nullptr ? &channel : nullptr, dtype);
  builder.Replace(0, builder.Reshape(builder.Step(std::move(step), inputs, shape, dtype), node.outputs[0]->shape));
  return OkStatus();
}

Status Transposed(Node& node, const Attributes&) {
  node.attributes["transposed"] = true;
  return OkStatus();
}

// "valid" pads nothing, "same" keeps extents at stride 1: the odd one of d (k - 1) zeros goes to the end.
Status NamedPadding(Node& node, const Attributes&) {
  const std::string name = Arguments(node).String("padding");
  node.attributes["padding"] = Shape{};
  if (name == "valid") return OkStatus();
  if (name != "same") return InvalidArgument("padding '{}' is unknown, expected 'same' or 'valid'", name);
  TONDAR_ASSIGN_OR_RETURN(const Convolution conv, ReadConvolution(node));
  Shape begin, end;
  for (size_t d = 0; d < conv.rank(); ++d) {
    const int64_t total = conv.window.dilation[d] * (conv.window.kernel[d] - 1);
    begin.push_back(total / 2);
    end.push_back(total - total / 2);
  }
  begin.insert(begin.end(), end.begin(), end.end());
  node.attributes["padding"] = begin;
  return OkStatus();
}

constexpr char kForward[] =
    "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[] stride=1, SymInt[] padding=0, SymInt[] dilation=1, "
    "SymInt groups=1)";
constexpr char kNamed[] =
    "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[] stride=1, str padding='valid', SymInt[] dilation=1, "
    "SymInt groups=1)";
constexpr char kTransposed[] =
    "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[] stride=1, SymInt[] padding=0, SymInt[] "
    "output_padding=0, SymInt groups=1, SymInt[] dilation=1)";
constexpr char kOwn[] =
    "(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, bool "
    "transposed=False, int[] output_padding=0, int groups=1)";

}  // namespace

std::vector<OpSchema> ConvolutionOps() {
  OpSchema conv{.name = "convolution",
                .sources = {{"aten.convolution.default",
                             "(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] "
                             "dilation, bool transposed, SymInt[] output_padding, SymInt groups)"},
                            {"aten.conv1d.default", kForward},
                            {"aten.conv2d.default", kForward},
                            {"aten.conv3d.default", kForward},
                            {"aten.conv1d.padding", kNamed, {}, NamedPadding},
                            {"aten.conv2d.padding", kNamed, {}, NamedPadding},
                            {"aten.conv3d.padding", kNamed, {}, NamedPadding},
                            {"aten.conv_transpose1d.default", kTransposed, {}, Transposed},
                            {"aten.conv_transpose2d.input", kTransposed, {}, Transposed},
                            {"aten.conv_transpose3d.input", kTransposed, {}, Transposed}},
                .signature = kOwn};
  conv.infer = InferConvolution;
  conv.lower = LowerConvolution;
  return {std::move(conv)};
}

}  // namespace tondar
