// GraphBuilder: a parsed model becomes a Graph and a Signature.
#ifndef TONDAR_ENGINE_IMPORTERS_ONNX_GRAPH_BUILDER_H_
#define TONDAR_ENGINE_IMPORTERS_ONNX_GRAPH_BUILDER_H_

#include "engine/importers/importer.h"
#include "engine/importers/onnx/tensors.h"
#include "engine/importers/problems.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace tondar::onnx_format {

// The oldest operator set (of ai.onnx) whose forms are known, and the newest.
inline constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;

// All that is wrong goes to `problems`; the model is whole only if there are none.
ImportedModel BuildModel(const onnx::ModelProto& model, Tensors& tensors, Problems& problems);

}  // namespace tondar::onnx_format

#endif  // TONDAR_ENGINE_IMPORTERS_ONNX_GRAPH_BUILDER_H_
