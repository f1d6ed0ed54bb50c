#include "engine/importers/onnx/op_call.h"

#include <algorithm>
#include <utility>

#include "engine/ir/element.h"
#include "engine/ops/inference.h"
#include "engine/ops/op_schema.h"
#include "onnx.pb.h"

namespace tondar::onnx_format {

OpCall::OpCall(Graph& graph, Tensors& tensors, const onnx::NodeProto& node, int64_t version, std::vector<Tensor*> inputs)
    : graph_(graph), tensors_(tensors), node_(node), version_(version), inputs_(std::move(inputs)),
      results_(static_cast<size_t>(node.output_size())) {}

std::string OpCall::name() const {
  if (!node_.name().empty()) return node_.name();
  return node_.output_size() > 0 ? node_.output(0) : node_.op_type();
}

std::string_view OpCall::node_type() const { return node_.op_type(); }

void OpCall::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

// --- Inputs ---------------------------------------------------------------------------------------------------------

Value* OpCall::In(size_t i) {
  if (!Has(i)) return nullptr;
  Tensor& tensor = *inputs_[i];
  if (tensor.value == nullptr && tensor.content) tensor.value = Materialise(*tensor.content);
  return tensor.value;
}

std::vector<Value*> OpCall::InputsFrom(size_t first) {
  std::vector<Value*> values;
  for (size_t i = first; i < inputs(); ++i) {
    if (Has(i)) values.push_back(In(i));
  }
  return values;
}

DType OpCall::TypeOf(size_t i) const {
  if (!Has(i)) return DType::kInvalid;
  return inputs_[i]->value != nullptr ? inputs_[i]->value->dtype : inputs_[i]->content->dtype;
}

Shape OpCall::ShapeOf(size_t i) const {
  if (!Has(i)) return {};
  return inputs_[i]->value != nullptr ? inputs_[i]->value->shape : ToShape(inputs_[i]->content->shape);
}

const Content* OpCall::Known(size_t i) {
  if (!Has(i)) return nullptr;
  Tensor& tensor = *inputs_[i];
  if (!tensor.content && !tensor.no_content) {
    tensor.content = ContentOf(*tensor.value);
    tensor.no_content = !tensor.content;
  }
  return tensor.content ? &*tensor.content : nullptr;
}

std::optional<Shape> OpCall::KnownDims(size_t i) {
  const Content* content = Known(i);
  return content == nullptr ? std::nullopt : WholeNumbers(*content);
}

std::optional<std::vector<int64_t>> OpCall::KnownInts(size_t i) {
  const std::optional<Shape> dims = KnownDims(i);
  if (!dims || !IsConstant(*dims)) return std::nullopt;
  std::vector<int64_t> values;
  for (const Dim& dim : *dims) values.push_back(dim.constant());
  return values;
}

std::optional<double> OpCall::KnownNumber(size_t i) {
  const Content* content = Known(i);
  if (content == nullptr || content->elements.size() != 1 || !content->IsConstant()) return std::nullopt;
  return content->elements[0].Number();
}

namespace {

Status MustBeKnown(std::string_view what) {
  return Unimplemented("{} that depends on data; it must be known, up to symbolic sizes, when the model is loaded", what);
}

}  // namespace

Shape OpCall::RequireDims(size_t i, std::string_view what) {
  std::optional<Shape> dims = KnownDims(i);
  if (!dims) Fail(MustBeKnown(what));
  return dims.value_or(Shape());
}

std::vector<int64_t> OpCall::RequireInts(size_t i, std::string_view what) {
  std::optional<std::vector<int64_t>> ints = KnownInts(i);
  if (!ints) Fail(MustBeKnown(what));
  return ints.value_or(std::vector<int64_t>());
}

double OpCall::RequireNumber(size_t i, std::string_view what) {
  const std::optional<double> number = KnownNumber(i);
  if (!number) Fail(MustBeKnown(what));
  return number.value_or(0);
}

// --- Attributes -----------------------------------------------------------------------------------------------------

const onnx::AttributeProto* OpCall::Attribute(std::string_view name) const {
  for (const onnx::AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t OpCall::Int(std::string_view name, int64_t otherwise) const {
  const onnx::AttributeProto* attribute = Attribute(name);
  return attribute == nullptr ? otherwise : attribute->i();
}

double OpCall::Float(std::string_view name, double otherwise) const {
  const onnx::AttributeProto* attribute = Attribute(name);
  return attribute == nullptr ? otherwise : double{attribute->f()};
}

std::string OpCall::String(std::string_view name, std::string_view otherwise) const {
  const onnx::AttributeProto* attribute = Attribute(name);
  return attribute == nullptr ? std::string(otherwise) : attribute->s();
}

std::vector<int64_t> OpCall::Ints(std::string_view name) const {
  const onnx::AttributeProto* attribute = Attribute(name);
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<double> OpCall::Floats(std::string_view name) const {
  const onnx::AttributeProto* attribute = Attribute(name);
  if (attribute == nullptr) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

std::vector<std::string> OpCall::Strings(std::string_view name) const {
  const onnx::AttributeProto* attribute = Attribute(name);
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

std::optional<std::vector<int64_t>> OpCall::IntsOrInput(std::string_view name, size_t i, int64_t since) {
  if (version_ < since) return HasAttribute(name) ? std::optional(Ints(name)) : std::nullopt;
  if (!Has(i)) return std::nullopt;
  return RequireInts(i, fmt::format("input '{}'", name));
}

// --- Emission -------------------------------------------------------------------------------------------------------

Value* OpCall::Op(std::string_view op, std::vector<Value*> op_inputs, Attributes attributes, std::vector<int> segments) {
  return Ops(1, op, std::move(op_inputs), std::move(attributes), std::move(segments))[0];
}

std::vector<Value*> OpCall::Ops(size_t count, std::string_view op, std::vector<Value*> op_inputs, Attributes attributes,
                                std::vector<int> segments) {
  std::vector<Value*> values(count, nullptr);
  if (!ok()) return values;
  Result<Node*> made = AddOp(graph_, op, name(), std::move(op_inputs), std::move(segments), std::move(attributes));
  if (!made.ok()) {
    Fail(made.status());
    return values;
  }
  TONDAR_CHECK((*made)->outputs.size() >= count, "operator {} has {} results", op, (*made)->outputs.size());
  std::copy_n((*made)->outputs.begin(), count, values.begin());
  return values;
}

Value* OpCall::Constant(tondar::Constant constant) { return graph_.AddConstant(std::move(constant)); }

Value* OpCall::Scalar(double number, DType dtype) {
  if (!HasElements(dtype)) {
    Fail(Unimplemented("a constant of {}", Name(dtype)));
    return nullptr;
  }
  tondar::Constant constant = AllocateConstant("scalar", dtype, {});
  WriteElement(constant.view, 0, Element(number));
  return Constant(std::move(constant));
}

Value* OpCall::Cast(Value* x, DType dtype) {
  if (x == nullptr || x->dtype == dtype) return x;
  return Op("cast", {x}, {{"dtype", dtype}});
}

Value* OpCall::Reshape(Value* x, Shape shape) {
  if (x != nullptr && x->shape == shape) return x;
  return Op("reshape", {x}, {{"shape", std::move(shape)}});
}

Value* OpCall::Expand(Value* x, Shape shape) {
  if (x != nullptr && x->shape == shape) return x;
  return Op("expand", {x}, {{"shape", std::move(shape)}});
}

Value* OpCall::Permute(Value* x, std::vector<int64_t> dims) {
  return Op("permute", {x}, {{"dims", Shape(dims.begin(), dims.end())}});
}

Value* OpCall::Concat(std::vector<Value*> xs, int64_t dim) {
  if (xs.size() == 1) return xs[0];
  const int count = static_cast<int>(xs.size());
  return Op("concat", std::move(xs), {{"dim", Dim(dim)}}, {count});
}

Value* OpCall::Slice(Value* x, size_t dim, Dim start, Dim length, int64_t step) {
  if (start.Is(0) && step == 1 && length == Extent(x, dim)) return x;
  if (x == nullptr) return nullptr;
  if (step == 1) {
    return Op("slice", {x}, {{"dim", Dim(static_cast<int64_t>(dim))}, {"start", start}, {"length", length}});
  }
  const Dim end = length.Is(0) ? start : start + (length - Dim(1)) * Dim(step) + Dim(1);
  return Op("slice_range", {x}, {{"dim", Dim(static_cast<int64_t>(dim))}, {"start", start}, {"end", end}, {"step", Dim(step)}});
}

namespace {

// A constant of all-constant content.
tondar::Constant ConstantOf(const Content& content) {
  tondar::Constant constant = AllocateConstant("constant", content.dtype, content.shape);
  for (size_t i = 0; i < content.elements.size(); ++i) {
    const auto& element = content.elements[i];
    const Element value = element.IsWhole() ? Element(element.top.constant()) : Element(element.Number());
    WriteElement(constant.view, static_cast<int64_t>(i), value);
  }
  return constant;
}

}  // namespace

Value* OpCall::Materialise(const Content& content) {
  if (content.IsConstant()) return Constant(ConstantOf(content));
  std::vector<Value*> parts;
  for (const auto& element : content.elements) {
    Value* part = element.real ? Scalar(*element.real, content.dtype)
                               : Op("full", {}, {{"size", Shape()}, {"fill_value", element.top}, {"dtype", DType::kInt64}});
    part = Cast(part, content.dtype);
    if (!element.real && element.below != 1) part = Op("div", {part, Scalar(static_cast<double>(element.below), content.dtype)});
    parts.push_back(Reshape(part, {Dim(1)}));
  }
  return Reshape(Concat(std::move(parts), 0), ToShape(content.shape));
}

size_t OpCall::Axis(int64_t axis, size_t rank) {
  const Result<size_t> dim = NormaliseDim(axis, rank);
  if (!dim.ok()) Fail(dim.status());
  return dim.ok() ? *dim : 0;
}

std::vector<size_t> OpCall::Axes(const std::vector<int64_t>& axes, size_t rank) {
  Result<std::vector<size_t>> dims = NormaliseDims(axes, rank, false);
  if (!dims.ok()) Fail(dims.status());
  return dims.ok() ? *std::move(dims) : std::vector<size_t>();
}

// --- Results --------------------------------------------------------------------------------------------------------

bool OpCall::Wants(size_t i) const {
  return i < results_.size() && !node_.output(static_cast<int>(i)).empty();
}

void OpCall::Give(Value* value, size_t i) {
  if (i < results_.size()) results_[i] = Tensor{value, std::nullopt, std::nullopt};
}

void OpCall::Give(Content content, size_t i) {
  if (i < results_.size()) results_[i] = Tensor{nullptr, std::move(content), std::nullopt};
}

}  // namespace tondar::onnx_format
