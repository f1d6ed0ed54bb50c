// The table of ONNX operators: one row per operator and the release its form came with.
#ifndef TONDAR_ENGINE_IMPORTERS_ONNX_OP_TABLE_H_
#define TONDAR_ENGINE_IMPORTERS_ONNX_OP_TABLE_H_

#include <span>
#include <string_view>

#include "engine/importers/onnx/op_call.h"

namespace tondar::onnx_format {

struct OpRow;
// Emits what the node computes and gives its results, or fails the call.
using OpFunction = void (*)(OpCall& call, const OpRow& row);

struct OpRow {
  std::string_view op_type;
  OpFunction add;
  std::string_view op = {};  // the operator of engine/ops, for functions that several rows share
  size_t min_inputs = 1, max_inputs = 1;
};

inline constexpr size_t kAnyInputs = 1000;

// Families. Those without a domain beside them are of ai.onnx.
std::span<const OpRow> ElementwiseOps();
std::span<const OpRow> ShapeOps();
std::span<const OpRow> IndexingOps();
std::span<const OpRow> ScatterOps();
std::span<const OpRow> LossOps();
std::span<const OpRow> ReductionOps();
std::span<const OpRow> NeuralOps();
std::span<const OpRow> ResizeOps();
std::span<const OpRow> AttentionOps();
std::span<const OpRow> RecurrentOps();
std::span<const OpRow> QuantisedOps();
std::span<const OpRow> MicrosoftOps();           // com.microsoft
std::span<const OpRow> MicrosoftQuantisedOps();  // com.microsoft

// Null if unknown. "ai.onnx" is the default domain.
const OpRow* FindOp(std::string_view domain, std::string_view op_type);

// Tries to compute the node from known contents, giving content; false if it cannot and nodes are needed.
bool FoldContent(OpCall& call);

}  // namespace tondar::onnx_format

#endif  // TONDAR_ENGINE_IMPORTERS_ONNX_OP_TABLE_H_
