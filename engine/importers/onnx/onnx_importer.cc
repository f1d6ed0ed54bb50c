#include "engine/importers/onnx/onnx_importer.h"

#include <utility>

#include "engine/importers/onnx/graph_builder.h"
#include "engine/importers/onnx/payloads.h"
#include "engine/importers/onnx/tensors.h"
#include "engine/importers/problems.h"
#include "onnx.pb.h"

namespace tondar {
namespace onnx_format {
namespace {

Result<onnx::ModelProto> Parse(const ByteSource& file) {
  TONDAR_ASSIGN_OR_RETURN(const std::string text, WithoutPayloads(file));
  onnx::ModelProto model;
  if (!model.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    return InvalidArgument("the file is not an ONNX model: a field has the wrong form");
  }
  return model;
}

Result<ImportedModel> Describe(const ByteSource& file) {
  const std::string& path = file.name();
  Result<onnx::ModelProto> proto = Parse(file);
  if (!proto.ok()) return proto.status().Annotated(path);
  Problems problems(path);
  Tensors tensors(file);
  ImportedModel model = BuildModel(*proto, tensors, problems);
  TONDAR_RETURN_IF_ERROR(tensors.CheckUnchanged());
  if (problems.any_broken()) return problems.ToStatus();
  model.refusal = problems.ToStatus();
  model.graph->name = proto->graph().name();
  return model;
}

Result<ImportedModel> Import(const ByteSource& file) { return FitForUse(Describe(file), file.name()); }

}  // namespace
}  // namespace onnx_format

const Importer kOnnxImporter = {.name = "onnx",
                                .matches = onnx_format::LooksLikeModel,
                                .import = onnx_format::Import,
                                .describe = onnx_format::Describe};

}  // namespace tondar
