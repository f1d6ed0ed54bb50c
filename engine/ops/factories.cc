// Tensors from nothing: constants, ranges, patterns.
#include <cmath>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/pointwise.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;

DType DTypeOfNumber(const Attribute& number) {
  if (std::holds_alternative<bool>(number)) return DType::kBool;
  return std::holds_alternative<double>(number) ? DType::kFloat32 : DType::kInt64;
}

DType Given(const Arguments& args, DType otherwise) {
  const DType dtype = args.Type("dtype");
  return dtype == DType::kInvalid ? otherwise : dtype;
}

// --- Filled ---------------------------------------------------------------------------------------------------------

Status InferFull(Node& node) {
  const Arguments args(node);
  SetOutput(node, 0, Given(args, DTypeOfNumber(args.Raw("fill_value"))), args.Sizes("size"));
  return OkStatus();
}

Status InferFullLike(Node& node) {
  const Arguments args(node);
  const Value* x = args.Tensor("self");
  SetOutput(node, 0, Given(args, x->dtype), x->shape);
  return OkStatus();
}

Status InferNewFull(Node& node) {
  const Arguments args(node);
  SetOutput(node, 0, Given(args, args.Tensor("self")->dtype), args.Sizes("size"));
  return OkStatus();
}

Status InferScalarTensor(Node& node) {
  SetOutput(node, 0, Given(Arguments(node), DType::kFloat32), {});
  return OkStatus();
}

Status LowerFull(const Node& node, LoweringBuilder& builder) {
  const Attribute& number = Arguments(node).Raw("fill_value");
  const DType dtype = node.outputs[0]->dtype;
  const Dim* integer = std::get_if<Dim>(&number);
  Value* scalar = nullptr;
  if (integer != nullptr && !integer->IsConstant()) {
    scalar = builder.Map({}, [&](LoopBuilder& b, std::span<const Handle>) { return NumberHandle(b, number, dtype); });
  } else if (integer != nullptr && IsInteger(dtype)) {
    scalar = builder.IntegerScalar(integer->constant(), dtype);
  } else {
    scalar = builder.Scalar(Arguments(node).Number("fill_value"), dtype);
  }
  builder.Replace(0, builder.Expand(scalar, node.outputs[0]->shape));
  return OkStatus();
}

template <int value>
Status FillWith(Node& node, const Attributes&) {
  node.attributes["fill_value"] = static_cast<double>(value);
  return OkStatus();
}

// fill: every element of self becomes a number or the element of a 0-d tensor.
Status InferFill(Node& node) {
  const Value* x = node.inputs[0];
  SetOutput(node, 0, x->dtype, x->shape);
  return OkStatus();
}

Status LowerFill(const Node& node, LoweringBuilder& builder) {
  Value* value = builder.Cast(node.inputs[1], node.outputs[0]->dtype);
  builder.Replace(0, builder.Expand(builder.Reshape(value, {}), node.outputs[0]->shape));
  return OkStatus();
}

// --- Ranges ---------------------------------------------------------------------------------------------------------

bool IsWhole(const Attribute& number) { return !std::holds_alternative<double>(number); }

Status InferArange(Node& node) {
  const Arguments args(node);
  const bool whole = IsWhole(args.Raw("start")) && IsWhole(args.Raw("end")) && IsWhole(args.Raw("step"));
  Dim length;
  if (whole) {
    const int64_t step = args.Int("step");
    if (step == 0) return InvalidArgument("step is 0");
    const Dim distance = step > 0 ? args.Size("end") - args.Size("start") : args.Size("start") - args.Size("end");
    const Dim size(std::abs(step));
    length = BoundedMax(*node.graph, Dim::FloorDiv(distance + size - Dim(1), size), Dim(0));
  } else {
    for (const char* bound : {"start", "end", "step"}) {
      const Dim* dim = std::get_if<Dim>(&args.Raw(bound));
      if (dim != nullptr && !dim->IsConstant()) return Unimplemented("arange mixes floats and symbolic sizes");
    }
    if (args.Number("step") == 0) return InvalidArgument("step is 0");
    length = Dim(static_cast<int64_t>(
        std::max(0.0, std::ceil((args.Number("end") - args.Number("start")) / args.Number("step")))));
  }
  SetOutput(node, 0, Given(args, whole ? DType::kInt64 : DType::kFloat32), {length});
  return OkStatus();
}

Status LowerArange(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const DType dtype = node.outputs[0]->dtype;
  const bool whole = IsWhole(args.Raw("start")) && IsWhole(args.Raw("end")) && IsWhole(args.Raw("step"));
  const DType compute = whole ? DType::kInt64 : dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  builder.Replace(0, builder.Map(node.outputs[0]->shape, {}, [&](LoopBuilder& b, std::span<const Handle>) {
    Handle value = b.Cast(b.Index(0), compute);
    const Dim* step = std::get_if<Dim>(&args.Raw("step"));
    const Dim* start = std::get_if<Dim>(&args.Raw("start"));
    if (step == nullptr || !step->Is(1)) {
      value = b.Binary(LoopOp::kMul, value, NumberHandle(b, args.Raw("step"), compute));
    }
    if (start == nullptr || !start->Is(0)) {
      value = b.Binary(LoopOp::kAdd, value, NumberHandle(b, args.Raw("start"), compute));
    }
    return b.Cast(value, dtype);
  }));
  return OkStatus();
}

Status InferLinspace(Node& node) {
  const Arguments args(node);
  if (args.Int("steps") < 0) return InvalidArgument("{} steps", args.Int("steps"));
  SetOutput(node, 0, Given(args, DType::kFloat32), {args.Size("steps")});
  return OkStatus();
}

// From both ends towards the middle, as PyTorch does; `logarithmic`: powers of a base with these as exponents.
template <bool logarithmic>
Status LowerLinspace(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const DType dtype = node.outputs[0]->dtype, compute = ComputeDType(IsFloat(dtype) ? dtype : DType::kFloat32);
  const int64_t steps = args.Int("steps");
  const double start = args.Number("start"), end = args.Number("end");
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  builder.Replace(0, builder.Map(node.outputs[0]->shape, {}, [&](LoopBuilder& b, std::span<const Handle>) {
    const Handle i = b.Index(0), width = b.Constant(step, compute);
    const Handle back = b.Binary(LoopOp::kSub, b.ConstantInteger(steps - 1, DType::kInt64), i);
    const Handle rising = b.Binary(LoopOp::kAdd, b.Constant(start, compute),
                                   b.Binary(LoopOp::kMul, b.Cast(i, compute), width));
    const Handle falling = b.Binary(LoopOp::kSub, b.Constant(end, compute),
                                    b.Binary(LoopOp::kMul, b.Cast(back, compute), width));
    const Handle first_half = b.Binary(LoopOp::kLt, i, b.ConstantInteger(std::max<int64_t>(steps / 2, steps == 1), DType::kInt64));
    const Handle value = b.Select(first_half, rising, falling);
    if constexpr (!logarithmic) return b.Cast(value, dtype);
    return b.Cast(b.Binary(LoopOp::kPow, b.Constant(args.Number("base"), compute), value), dtype);
  }));
  return OkStatus();
}

// --- Patterns -------------------------------------------------------------------------------------------------------

Status InferEye(Node& node) {
  const Arguments args(node);
  const Dim n = args.Size("n");
  SetOutput(node, 0, Given(args, DType::kFloat32), {n, args.IsNone("m") ? n : args.Size("m")});
  return OkStatus();
}

Status LowerEye(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.outputs[0]->dtype;
  builder.Replace(0, builder.Map(node.outputs[0]->shape, {}, [dtype](LoopBuilder& b, std::span<const Handle>) {
    return b.Cast(b.Binary(LoopOp::kEq, b.Index(0), b.Index(1)), dtype);
  }));
  return OkStatus();
}

// tril keeps j - i <= diagonal, triu j - i >= diagonal.
template <bool upper>
Status LowerTriangle(const Node& node, LoweringBuilder& builder) {
  const int64_t diagonal = Arguments(node).Int("diagonal");
  const int rank = static_cast<int>(node.inputs[0]->shape.size());
  const DType dtype = node.inputs[0]->dtype;
  builder.Replace(0, builder.Map({node.inputs[0]}, [&](LoopBuilder& b, std::span<const Handle> x) {
    const Handle offset = b.Binary(LoopOp::kSub, b.Index(rank - 1), b.Index(rank - 2));
    const Handle kept = b.Binary(upper ? LoopOp::kGe : LoopOp::kLe, offset, b.ConstantInteger(diagonal, DType::kInt64));
    return b.Select(kept, x[0], b.Constant(0, dtype));
  }));
  return OkStatus();
}

Status InferTriangle(Node& node) {
  const Value* x = node.inputs[0];
  if (x->shape.size() < 2) return InvalidArgument("rank {} is below 2", x->shape.size());
  SetOutput(node, 0, x->dtype, x->shape);
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), std::string signature = "") {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.infer = infer;
  schema.lower = lower;
  return schema;
}

// Layout, device and the like, which every factory accepts.
std::string Options(const std::string& arguments) {
  return "(" + arguments +
         ", *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
         "MemoryFormat? memory_format=None)";
}

}  // namespace

std::vector<OpSchema> FactoryOps() {
  const std::string size = Options("SymInt[] size"), like = Options("Tensor self"),
                    make = Options("Tensor self, SymInt[] size");
  return {
      Row("full",
          {{"aten.full.default", Options("SymInt[] size, Scalar fill_value")},
           {"aten.zeros.default", size, {}, FillWith<0>},
           {"aten.ones.default", size, {}, FillWith<1>},
           {"aten.empty.memory_format", size, {}, FillWith<0>},
           {"aten.empty_strided.default", Options("SymInt[] size, SymInt[] stride"), {}, FillWith<0>},
           {"aten.empty_permuted.default", Options("SymInt[] size, int[] physical_layout"), {}, FillWith<0>}},
          InferFull, LowerFull, "(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None)"),
      Row("full_like",
          {{"aten.full_like.default", Options("Tensor self, Scalar fill_value")},
           {"aten.zeros_like.default", like, {}, FillWith<0>},
           {"aten.ones_like.default", like, {}, FillWith<1>},
           {"aten.empty_like.default", like, {}, FillWith<0>},
           {"aten.fill.Scalar", "(Tensor self, Scalar value)", {{"value", "fill_value"}}},
           {"aten.fill_.Scalar", "(Tensor self, Scalar value)", {{"value", "fill_value"}}, nullptr, 0},
           {"aten.zero_.default", "(Tensor self)", {}, FillWith<0>, 0}},
          InferFullLike, LowerFull, "(Tensor self, Scalar fill_value, *, ScalarType? dtype=None)"),
      Row("new_full",
          {{"aten.new_full.default", Options("Tensor self, SymInt[] size, Scalar fill_value")},
           {"aten.new_zeros.default", make, {}, FillWith<0>},
           {"aten.new_ones.default", make, {}, FillWith<1>},
           {"aten.new_empty.default", make, {}, FillWith<0>}},
          InferNewFull, LowerFull, "(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None)"),
      Row("fill", {{"aten.fill.Tensor", "(Tensor self, Tensor value)"},
                   {"aten.fill_.Tensor", "(Tensor self, Tensor value)", {}, nullptr, 0}},
          InferFill, LowerFill),
      Row("scalar_tensor", {{"aten.scalar_tensor.default", Options("Scalar s"), {{"s", "fill_value"}}}},
          InferScalarTensor, LowerFull, "(Scalar fill_value, *, ScalarType? dtype=None)"),
      Row("arange",
          {{"aten.arange.start_step", Options("Scalar start, Scalar end, Scalar step=1")},
           {"aten.arange.start", Options("Scalar start, Scalar end")},
           {"aten.arange.default", Options("Scalar end")}},
          InferArange, LowerArange, "(Scalar start=0, Scalar end=0, Scalar step=1, *, ScalarType? dtype=None)"),
      Row("linspace", {{"aten.linspace.default", Options("Scalar start, Scalar end, int steps")}}, InferLinspace,
          LowerLinspace<false>, "(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None)"),
      Row("logspace", {{"aten.logspace.default", Options("Scalar start, Scalar end, int steps, float base=10.0")}}, InferLinspace,
          LowerLinspace<true>, "(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None)"),
      Row("eye", {{"aten.eye.m", Options("SymInt n, SymInt m")}, {"aten.eye.default", Options("SymInt n")}}, InferEye,
          LowerEye, "(SymInt n, SymInt? m=None, *, ScalarType? dtype=None)"),
      Row("tril", {{"aten.tril.default", "(Tensor self, int diagonal=0)"}}, InferTriangle, LowerTriangle<false>),
      Row("triu", {{"aten.triu.default", "(Tensor self, int diagonal=0)"}}, InferTriangle, LowerTriangle<true>),
  };
}

}  // namespace tondar
