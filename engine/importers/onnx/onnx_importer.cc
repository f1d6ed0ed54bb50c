#include "engine/importers/onnx/onnx_importer.h"


#include <utility>

#include "engine/importers/onnx/graph_builder.h"
#include "engine/importers/onnx/import.h"
#include "engine/importers/onnx/payloads.h"
#include "engine/importers/onnx/tensors.h"
#include "engine/importers/problems.h"
#include "onnx.pb.h"

namespace tondar {
namespace onnx_format {
namespace {

constexpr size_t kMaxParsedBytes = size_t{1} << 31;  // protobuf's own limit

Result<onnx::ModelProto> Parse(std::span<const std::byte> file) {
  TONDAR_ASSIGN_OR_RETURN(const std::string text, WithoutPayloads(file));
  if (text.size() >= kMaxParsedBytes) {
    return Unimplemented("{} bytes besides raw tensors, expected less than 2 GiB; save weights as raw or external data",
                         text.size());
  }
  onnx::ModelProto model;
  if (!model.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    return InvalidArgument("the file is not an ONNX model: a field has the wrong form");
  }
  return model;
}

}  // namespace

Result<ImportedModel> Import(const std::string& path, OwnedBytes file) {
  Result<onnx::ModelProto> proto = Parse(file.bytes);
  if (!proto.ok()) return proto.status().Annotated(path);
  Problems problems(path);
  Tensors tensors(path, std::move(file));
  ImportedModel model = BuildModel(*proto, tensors, problems);
  TONDAR_RETURN_IF_ERROR(problems.ToStatus());
  model.graph->name = proto->graph().name();
  TONDAR_RETURN_IF_ERROR(VerifyGraph(*model.graph).Annotated(path));
  return model;
}

}  // namespace onnx_format

namespace {

Result<ImportedModel> ImportFile(std::shared_ptr<const MappedFile> file) {
  const std::span<const std::byte> bytes = file->bytes();
  const std::string path = file->path();
  return onnx_format::Import(path, OwnedBytes{bytes, std::move(file)});
}

}  // namespace

const Importer kOnnxImporter = {.name = "onnx", .matches = onnx_format::LooksLikeModel, .import = ImportFile};

}  // namespace tondar
