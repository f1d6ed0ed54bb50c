#include "engine/ops/lowering.h"

#include <algorithm>
#include <cstring>

#include "engine/ops/inference.h"

namespace tondar {
namespace {

Shape BroadcastAll(const std::vector<Value*>& inputs) {
  Shape shape;
  for (const Value* input : inputs) {
    Result<Shape> wider = BroadcastShapes(shape, input->shape);
    TONDAR_CHECK(wider.ok(), "a lowering maps over {}", wider.status().message());
    shape = *std::move(wider);
  }
  return shape;
}

// Where a view's attributes come from: canonical dims.
Shape ToAttribute(const std::vector<int64_t>& values) { return Shape(values.begin(), values.end()); }

void StoreScalar(double value, DType dtype, std::byte* to) {
  auto store = [to](auto typed) { std::memcpy(to, &typed, sizeof typed); };
  switch (dtype) {
    case DType::kBool: return store(static_cast<uint8_t>(value != 0));
    case DType::kUInt8: return store(static_cast<uint8_t>(value));
    case DType::kUInt16: return store(static_cast<uint16_t>(value));
    case DType::kUInt32: return store(static_cast<uint32_t>(value));
    case DType::kUInt64: return store(static_cast<uint64_t>(value));
    case DType::kInt8: return store(static_cast<int8_t>(value));
    case DType::kInt16: return store(static_cast<int16_t>(value));
    case DType::kInt32: return store(static_cast<int32_t>(value));
    case DType::kInt64: return store(static_cast<int64_t>(value));
    case DType::kFloat16: return store(FloatToFloat16(static_cast<float>(value)));
    case DType::kBFloat16: return store(FloatToBFloat16(static_cast<float>(value)));
    case DType::kFloat32: return store(static_cast<float>(value));
    case DType::kFloat64: return store(value);
    default: TONDAR_CHECK(false, "no scalar constants of {}", Name(dtype));
  }
}

}  // namespace

DType ComputeDType(DType dtype) {
  return IsFloat(dtype) && SizeOf(dtype) < 4 ? DType::kFloat32 : dtype;
}

LoopProgram StoreEpilogue(DType accumulator, DType dtype, const Access* bias, DType bias_dtype) {
  if (bias == nullptr && accumulator == dtype) return {};
  LoopBuilder b;
  auto value = b.Accumulator(0, accumulator);
  if (bias != nullptr) value = b.Binary(LoopOp::kAdd, value, b.Cast(b.Load(*bias, bias_dtype), accumulator));
  b.Result(b.Cast(value, dtype));
  return std::move(b).Build();
}

Value* LoweringBuilder::Step(StepBody body, const std::vector<Value*>& inputs, Shape shape, DType dtype) {
  Node* before = &node_;
  return graph().AddStep(std::move(body), node_.name, inputs, dtype, std::move(shape), before)->outputs[0];
}

Value* LoweringBuilder::Map(Shape extents, const std::vector<Value*>& inputs, LoopProgram program) {
  TONDAR_CHECK(program.results.size() == 1, "a map of {} results", program.results.size());
  const DType dtype = program.body[static_cast<size_t>(program.results[0])].dtype;
  Shape shape = extents;
  return Step(MapStep{std::move(extents), std::move(program)}, inputs, std::move(shape), dtype);
}

Value* LoweringBuilder::Map(const Shape& extents, const std::vector<Value*>& inputs,
                            const std::function<Handle(LoopBuilder&, Handles)>& body) {
  LoopBuilder b;
  std::vector<Handle> loads;
  const int rank = static_cast<int>(extents.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    loads.push_back(b.Load(BroadcastAccess(static_cast<int>(i), inputs[i]->shape, rank), inputs[i]->dtype));
  }
  b.Result(body(b, loads));
  return Map(extents, inputs, std::move(b).Build());
}

Value* LoweringBuilder::Map(const std::vector<Value*>& inputs,
                            const std::function<Handle(LoopBuilder&, Handles)>& body) {
  return Map(BroadcastAll(inputs), inputs, body);
}

Value* LoweringBuilder::Reduce(ReduceStep step, const std::vector<Value*>& inputs, Shape shape, DType dtype) {
  return Step(std::move(step), inputs, std::move(shape), dtype);
}

Value* LoweringBuilder::Cast(Value* x, DType dtype) {
  if (x->dtype == dtype) return x;
  return Map({x}, [dtype](LoopBuilder& b, Handles loads) { return b.Cast(loads[0], dtype); });
}

Value* LoweringBuilder::MatMul(Value* a, Value* b, DType dtype) {
  Shape batch_a(a->shape.begin(), a->shape.end() - 2), batch_b(b->shape.begin(), b->shape.end() - 2);
  Result<Shape> batch = BroadcastShapes(batch_a, batch_b);
  TONDAR_CHECK(batch.ok(), "a lowering multiplies {}", batch.status().message());
  auto expand = [&](Value* x) {
    Shape shape = *batch;
    shape.insert(shape.end(), x->shape.end() - 2, x->shape.end());
    return Expand(x, std::move(shape));
  };
  Shape shape = *batch;
  shape.push_back(*(a->shape.end() - 2));
  shape.push_back(b->shape.back());
  return Step(MatMulStep{StoreEpilogue(ComputeDType(a->dtype), dtype)}, {expand(a), expand(b)}, std::move(shape), dtype);
}

Value* LoweringBuilder::View(std::string_view op, Value* x, Attributes attributes, Shape shape) {
  Node* view = graph().AddNode(op, node_.name, {x}, &node_);
  view->attributes = std::move(attributes);
  SetOutput(*view, 0, x->dtype, std::move(shape));
  return view->outputs[0];
}

Value* LoweringBuilder::Permute(Value* x, std::vector<int64_t> dims) {
  Shape shape;
  bool identity = true;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) dims[i] += static_cast<int64_t>(dims.size());
    identity = identity && dims[i] == static_cast<int64_t>(i);
    shape.push_back(x->shape[static_cast<size_t>(dims[i])]);
  }
  if (identity) return x;
  return View("permute", x, {{"dims", ToAttribute(dims)}}, std::move(shape));
}

Value* LoweringBuilder::Transpose(Value* x, int64_t a, int64_t b) {
  std::vector<int64_t> dims(x->shape.size());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  const int64_t rank = static_cast<int64_t>(dims.size());
  if (rank < 2) return x;
  std::swap(dims[static_cast<size_t>(a < 0 ? a + rank : a)], dims[static_cast<size_t>(b < 0 ? b + rank : b)]);
  return Permute(x, std::move(dims));
}

Value* LoweringBuilder::Reshape(Value* x, Shape shape) {
  if (x->shape == shape) return x;
  return View("reshape", x, {{"shape", shape}}, shape);
}

Value* LoweringBuilder::Expand(Value* x, Shape shape) {
  if (x->shape == shape) return x;
  return View("expand", x, {{"shape", shape}}, shape);
}

Value* LoweringBuilder::Slice(Value* x, int64_t dim, Dim start, Dim length, int64_t step) {
  const size_t d = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(x->shape.size()) : dim);
  if (start.Is(0) && step == 1 && length == x->shape[d]) return x;
  Shape shape = x->shape;
  shape[d] = length;
  return View("slice", x, {{"dim", Dim(static_cast<int64_t>(d))}, {"start", start}, {"length", length}, {"step", Dim(step)}},
              std::move(shape));
}

Value* LoweringBuilder::Unsqueeze(Value* x, int64_t dim) {
  Shape shape = x->shape;
  if (dim < 0) dim += static_cast<int64_t>(shape.size()) + 1;
  shape.insert(shape.begin() + dim, Dim(1));
  return Reshape(x, std::move(shape));
}

Value* LoweringBuilder::Squeeze(Value* x, int64_t dim) {
  Shape shape = x->shape;
  shape.erase(shape.begin() + (dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim));
  return Reshape(x, std::move(shape));
}

Value* LoweringBuilder::Concat(const std::vector<Value*>& xs, int64_t dim) {
  if (xs.size() == 1) return xs[0];
  if (dim < 0) dim += static_cast<int64_t>(xs[0]->shape.size());
  Shape shape = xs[0]->shape;
  Dim& extent = shape[static_cast<size_t>(dim)];
  for (size_t i = 1; i < xs.size(); ++i) extent = extent + xs[i]->shape[static_cast<size_t>(dim)];
  Node* node = graph().AddNode("concat", node_.name, xs, &node_);
  node->segments = {static_cast<int>(xs.size())};
  node->attributes = {{"dim", Dim(dim)}};
  SetOutput(*node, 0, xs[0]->dtype, std::move(shape));
  return node->outputs[0];
}

Value* LoweringBuilder::Scalar(double value, DType dtype) {
  Constant constant = AllocateConstant("scalar", dtype, {});
  StoreScalar(value, dtype, constant.view.data);
  return graph().AddConstant(std::move(constant));
}

Value* LoweringBuilder::IntegerScalar(int64_t value, DType dtype) {
  TONDAR_CHECK(IsInteger(dtype), "an integer constant of {}", Name(dtype));
  Constant constant = AllocateConstant("scalar", dtype, {});
  std::memcpy(constant.view.data, &value, SizeOf(dtype));  // little-endian: the low bytes come first
  return graph().AddConstant(std::move(constant));
}

Value* LoweringBuilder::Full(double value, DType dtype, Shape shape) {
  return Expand(Scalar(value, dtype), std::move(shape));
}

Node* LoweringBuilder::AddControl(std::string_view op, const std::vector<Value*>& inputs) {
  Node* node = graph().AddNode(op, node_.name, inputs, &node_);
  node->segments = {static_cast<int>(inputs.size())};
  return node;
}

Result<Value*> LoweringBuilder::Op(std::string_view op, std::vector<Value*> inputs, Attributes attributes) {
  TONDAR_ASSIGN_OR_RETURN(Node * node, AddOp(graph(), op, node_.name, std::move(inputs), {}, std::move(attributes), &node_));
  return node->outputs[0];
}

void LoweringBuilder::Replace(size_t index, Value* value) {
  Value* output = node_.outputs[index];
  TONDAR_CHECK(output->dtype == value->dtype && output->shape.size() == value->shape.size(),
               "{} '{}' lowers {} {} to {} {}", node_.op, node_.name, Name(output->dtype), ToString(output->shape),
               Name(value->dtype), ToString(value->shape));
  graph().ReplaceAllUses(output, value);
}

namespace {

bool IsPrimitive(const Node& node) {
  if (node.IsStep()) return true;
  const OpSchema& schema = *OpRegistry::Get().Find(node.op);
  return schema.is_view || schema.is_control;
}

Status LowerNode(Node& node, const OpSchema& schema) {
  if (schema.lower == nullptr) return Internal("{} '{}' has no lowering", node.op, node.name);
  LoweringBuilder builder(node);
  TONDAR_RETURN_IF_ERROR(schema.lower(node, builder).Annotated(fmt::format("{} '{}'", node.op, node.name)));
  node.graph->Erase(&node);
  return OkStatus();
}

// Lowers the nodes that `wanted` picks, and those that arise from that, until none is left.
Status LowerWhere(Graph& graph, bool (*wanted)(const OpSchema&)) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Node* node : graph.NodeList()) {
      for (const auto& subgraph : node->subgraphs) TONDAR_RETURN_IF_ERROR(LowerWhere(*subgraph, wanted));
      if (node->IsStep()) continue;
      const OpSchema* schema = OpRegistry::Get().Find(node->op);
      if (schema == nullptr) return Internal("node '{}' has the unknown operator '{}'", node->name, node->op);
      if (IsPrimitive(*node) || !wanted(*schema)) continue;
      TONDAR_RETURN_IF_ERROR(LowerNode(*node, *schema));
      changed = true;
    }
  }
  return OkStatus();
}

}  // namespace

Status DecomposeGraph(Graph& graph) {
  return LowerWhere(graph, [](const OpSchema& schema) { return schema.early; });
}

Status LowerGraph(Graph& graph) {
  return LowerWhere(graph, [](const OpSchema&) { return true; });
}

}  // namespace tondar
