// Pointwise operators: a row, a promotion rule and a body of a few instructions.
#ifndef TONDAR_ENGINE_OPS_POINTWISE_H_
#define TONDAR_ENGINE_OPS_POINTWISE_H_

#include <span>
#include <string>
#include <vector>

#include "engine/ops/lowering.h"
#include "engine/ops/op_schema.h"

namespace tondar {

// How the operands' common dtype, in which the body computes, and the result's dtype follow from the operands.
enum class Promotion : uint8_t {
  kCommon,   // PyTorch's result type; the result has it
  kFloat,    // the same, integers and bool becoming float32
  kCompare,  // computes in the result type, gives bool
  kLogic,    // every operand as "!= 0", gives bool
  kSelf,     // the first operand's dtype
  kSelect,   // the first operand is a condition, as bool; the others as kCommon
};

// Gets one handle per tensor formal of the row's signature, in order, converted to the common dtype (float16 and
// bfloat16 computing in float32); an absent optional operand is kAbsent. Gives the result, in that dtype or bool.
using PointwiseBody = LoopBuilder::Handle (*)(LoopBuilder& b, std::span<const LoopBuilder::Handle> x,
                                              const Arguments& args);
inline constexpr LoopBuilder::Handle kAbsent = -1;

Status InferPointwise(Node& node, Promotion promotion);
Status LowerPointwise(const Node& node, LoweringBuilder& builder, Promotion promotion, PointwiseBody body);

template <PointwiseBody body, Promotion promotion>
OpSchema Pointwise(std::string name, std::vector<SourceForm> sources, std::string signature = "") {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.infer = [](Node& node) { return InferPointwise(node, promotion); };
  schema.lower = [](const Node& node, LoweringBuilder& builder) {
    return LowerPointwise(node, builder, promotion, body);
  };
  return schema;
}

// A number of an argument as a handle: integers exactly, symbolic ones by their value.
LoopBuilder::Handle NumberHandle(LoopBuilder& b, const Attribute& number, DType dtype);

// One instruction, spelled by logic where the operands are bool.
LoopBuilder::Handle Binary(LoopBuilder& b, LoopOp op, LoopBuilder::Handle x, LoopBuilder::Handle y);

// "aten.<name>.default" and its in-place spelling "aten.<name>_.default", of one signature.
std::vector<SourceForm> WithInPlace(const std::string& name, const std::string& signature,
                                    const std::string& overload = "default");

// The same forms, which edit their nodes with `adapt`.
std::vector<SourceForm> Adapted(std::vector<SourceForm> sources, Status (*adapt)(Node& node, const Attributes& arguments));

}  // namespace tondar

#endif  // TONDAR_ENGINE_OPS_POINTWISE_H_
