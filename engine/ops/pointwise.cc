#include "engine/ops/pointwise.h"

#include "engine/ops/inference.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;

bool IsTensor(const Formal& formal) {
  return formal.kind == Formal::Kind::kTensor || formal.kind == Formal::Kind::kOptionalTensor;
}

// The operands of a node, one per tensor formal, absent ones included.
std::vector<PromotionOperand> OperandsOf(const Node& node) {
  const Arguments args(node);
  const OpRegistry& registry = OpRegistry::Get();
  std::vector<PromotionOperand> operands;
  for (const Formal& formal : registry.FormalsOf(*registry.Find(node.op))) {
    if (IsTensor(formal)) operands.push_back(OperandOf(node, args, formal.name));
  }
  return operands;
}

DType CommonDType(const std::vector<PromotionOperand>& operands, Promotion promotion) {
  switch (promotion) {
    case Promotion::kLogic: return DType::kBool;
    case Promotion::kSelf: return operands[0].tensor->dtype;
    case Promotion::kFloat: return ToFloating(ResultType(operands));
    case Promotion::kSelect: return ResultType({operands.begin() + 1, operands.end()});
    default: return ResultType(operands);
  }
}

bool Computable(DType dtype) {
  return dtype == DType::kBool || IsInteger(dtype) ||
         (dtype >= DType::kFloat16 && dtype <= DType::kFloat64);
}

}  // namespace

Status InferPointwise(Node& node, Promotion promotion) {
  const std::vector<PromotionOperand> operands = OperandsOf(node);
  std::vector<Shape> shapes;
  for (const PromotionOperand& operand : operands) {
    if (operand.tensor == nullptr) continue;
    shapes.push_back(operand.tensor->shape);
    if (!Computable(operand.tensor->dtype)) return Unimplemented("arithmetic on {}", Name(operand.tensor->dtype));
  }
  if (promotion == Promotion::kSelf && operands[0].tensor == nullptr) return InvalidArgument("the first operand is a number");
  TONDAR_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(node, shapes));
  const bool gives_bool = promotion == Promotion::kCompare || promotion == Promotion::kLogic;
  SetOutput(node, 0, gives_bool ? DType::kBool : CommonDType(operands, promotion), std::move(shape));
  return OkStatus();
}

Handle NumberHandle(LoopBuilder& b, const Attribute& number, DType dtype) {
  if (const Dim* value = std::get_if<Dim>(&number)) {
    return value->IsConstant() ? b.ConstantInteger(value->constant(), dtype) : b.Cast(b.Size(*value), dtype);
  }
  if (const bool* value = std::get_if<bool>(&number)) return b.Constant(*value ? 1 : 0, dtype);
  return b.Constant(std::get<double>(number), dtype);
}

namespace {

// The operand in the dtype that the body computes in. Conversions go through the common dtype, which rounds.
Handle Converted(LoopBuilder& b, Handle load, DType common) { return b.Cast(b.Cast(load, common), ComputeDType(common)); }

}  // namespace

Status LowerPointwise(const Node& node, LoweringBuilder& builder, Promotion promotion, PointwiseBody body) {
  const std::vector<PromotionOperand> operands = OperandsOf(node);
  const DType common = CommonDType(operands, promotion), result = node.outputs[0]->dtype;
  std::vector<Value*> inputs;
  for (Value* input : node.inputs) {
    if (input != nullptr) inputs.push_back(input);
  }
  const Arguments args(node);
  Value* value = builder.Map(node.outputs[0]->shape, inputs, [&](LoopBuilder& b, std::span<const Handle> loads) {
    std::vector<Handle> x;
    size_t next = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      const DType dtype = promotion == Promotion::kSelect && i == 0 ? DType::kBool : common;
      const bool given = operands[i].number != nullptr && !std::holds_alternative<std::monostate>(*operands[i].number);
      if (operands[i].tensor != nullptr) {
        x.push_back(Converted(b, loads[next++], dtype));
      } else {
        x.push_back(given ? NumberHandle(b, *operands[i].number, ComputeDType(dtype)) : kAbsent);
      }
    }
    return b.Cast(body(b, x, args), result);
  });
  builder.Replace(0, value);
  return OkStatus();
}

namespace {

// What arithmetic means on bool.
std::optional<LoopOp> LogicOf(LoopOp op) {
  switch (op) {
    case LoopOp::kAdd: case LoopOp::kMax: case LoopOp::kFmax: case LoopOp::kBitOr: return LoopOp::kLogicalOr;
    case LoopOp::kMul: case LoopOp::kMin: case LoopOp::kFmin: case LoopOp::kBitAnd: return LoopOp::kLogicalAnd;
    case LoopOp::kBitXor: case LoopOp::kNe: return LoopOp::kLogicalXor;
    case LoopOp::kLogicalAnd: case LoopOp::kLogicalOr: case LoopOp::kLogicalXor: return op;
    default: return std::nullopt;
  }
}

}  // namespace

Handle Binary(LoopBuilder& b, LoopOp op, Handle x, Handle y) {
  if (b.dtype(x) != DType::kBool) return b.Binary(op, x, y);
  if (const auto logic = LogicOf(op)) return b.Binary(*logic, x, y);
  if (op == LoopOp::kEq) return b.Unary(LoopOp::kLogicalNot, b.Binary(LoopOp::kLogicalXor, x, y));
  const Handle result = b.Binary(op, b.Cast(x, DType::kInt32), b.Cast(y, DType::kInt32));
  return b.Cast(result, DType::kBool);
}

std::vector<SourceForm> WithInPlace(const std::string& name, const std::string& signature,
                                    const std::string& overload) {
  return {{fmt::format("aten.{}.{}", name, overload), signature},
          {fmt::format("aten.{}_.{}", name, overload), signature, {}, nullptr, 0}};
}

std::vector<SourceForm> Adapted(std::vector<SourceForm> sources, Status (*adapt)(Node& node, const Attributes& arguments)) {
  for (SourceForm& source : sources) source.adapt = adapt;
  return sources;
}

}  // namespace tondar
