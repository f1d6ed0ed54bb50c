// Operators whose results' sizes depend on the data. Each comes as two: one that computes the size, whose value the
// importer makes a symbol, and one that takes the symbol as its attribute `count`.
#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"
#include "engine/ops/ordering.h"
#include "engine/ops/pointwise.h"

namespace tondar {
namespace {

using Handles = std::span<const LoopBuilder::Handle>;

Value* Flat(LoweringBuilder& builder, Value* x) { return builder.Reshape(x, {ElementCount(x->shape)}); }

Value* IsNotZero(LoweringBuilder& builder, Value* x) {
  if (x->dtype == DType::kBool) return x;
  return builder.Map({x}, [x](LoopBuilder& b, Handles loads) { return b.Cast(loads[0], DType::kBool); });
}

// The positions of the first `count` elements of a flat mask that are true, in order: a sort keeps the order of equals.
Value* TruePositions(LoweringBuilder& builder, Value* mask, const Dim& count) {
  return EmitSort(builder, mask, 0, /*descending=*/true, count);
}

Value* CountTrue(LoweringBuilder& builder, Value* mask) {
  LoopBuilder b;
  b.Result(b.Cast(b.Load(BroadcastAccess(0, mask->shape, 1), DType::kBool), DType::kInt64));
  return builder.Reduce({mask->shape, 1, ReduceOp::kSum, DType::kInt64, std::move(b).Build(), {}}, {mask}, {}, DType::kInt64);
}

Status InferSize(Node& node) {
  SetOutput(node, 0, DType::kInt64, {});
  return OkStatus();
}

Status InferNonzero(Node& node) {
  SetOutput(node, 0, DType::kInt64, {Arguments(node).Size("count"), Dim(static_cast<int64_t>(node.inputs[0]->shape.size()))});
  return OkStatus();
}

Status LowerNonzeroSize(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, CountTrue(builder, Flat(builder, IsNotZero(builder, node.inputs[0]))));
  return OkStatus();
}

// A flat position is (floor(position / stride_d) mod size_d) along each dim d.
Status LowerNonzero(const Node& node, LoweringBuilder& builder) {
  Value* x = node.inputs[0];
  const Dim count = Arguments(node).Size("count");
  const Shape strides = ContiguousStrides(x->shape);
  if (x->shape.empty()) {
    builder.Replace(0, builder.Full(0, DType::kInt64, {count, 0}));
    return OkStatus();
  }
  Value* flat = builder.Unsqueeze(TruePositions(builder, Flat(builder, IsNotZero(builder, x)), count), 1);
  std::vector<Value*> columns;
  for (size_t d = 0; d < x->shape.size(); ++d) {
    columns.push_back(builder.Map({flat}, [&](LoopBuilder& b, Handles loads) {
      LoopBuilder::Handle position = b.Binary(LoopOp::kFloorDiv, loads[0], b.Size(strides[d]));
      return b.Binary(LoopOp::kRemainder, position, b.Size(x->shape[d]));
    }));
  }
  builder.Replace(0, builder.Concat(columns, 1));
  return OkStatus();
}

Result<Shape> MaskedShape(const Node& node) {
  if (node.inputs[1]->dtype != DType::kBool) return InvalidArgument("a mask of {}, expected bool", Name(node.inputs[1]->dtype));
  return BroadcastShapes(node.inputs[0]->shape, node.inputs[1]->shape);
}

Status InferMaskedSelectSize(Node& node) {
  TONDAR_RETURN_IF_ERROR(MaskedShape(node).status());
  return InferSize(node);
}

Status InferMaskedSelect(Node& node) {
  TONDAR_RETURN_IF_ERROR(MaskedShape(node).status());
  SetOutput(node, 0, node.inputs[0]->dtype, {Arguments(node).Size("count")});
  return OkStatus();
}

Status LowerMaskedSelectSize(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Shape shape, MaskedShape(node));
  builder.Replace(0, CountTrue(builder, Flat(builder, builder.Expand(node.inputs[1], shape))));
  return OkStatus();
}

Status LowerMaskedSelect(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Shape shape, MaskedShape(node));
  Value* mask = Flat(builder, builder.Expand(node.inputs[1], shape));
  Value* positions = TruePositions(builder, mask, Arguments(node).Size("count"));
  builder.Replace(0, EmitGather(builder, Flat(builder, builder.Expand(node.inputs[0], shape)), 0, positions));
  return OkStatus();
}

OpSchema Row(std::string name, std::string signature, Status (*infer)(Node&), Status (*lower)(const Node&, LoweringBuilder&)) {
  OpSchema row;
  row.name = std::move(name);
  row.signature = std::move(signature);
  row.infer = infer;
  row.lower = lower;
  return row;
}

}  // namespace

std::vector<OpSchema> DataSizeOps() {
  return {
      Row("nonzero_size", "(Tensor self)", InferSize, LowerNonzeroSize),
      Row("nonzero", "(Tensor self, SymInt count)", InferNonzero, LowerNonzero),
      Row("masked_select_size", "(Tensor self, Tensor mask)", InferMaskedSelectSize, LowerMaskedSelectSize),
      Row("masked_select", "(Tensor self, Tensor mask, SymInt count)", InferMaskedSelect, LowerMaskedSelect),
  };
}

}  // namespace tondar
