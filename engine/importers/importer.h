// Importer: a model file becomes a Graph and a Signature.
#ifndef TONDAR_ENGINE_IMPORTERS_IMPORTER_H_
#define TONDAR_ENGINE_IMPORTERS_IMPORTER_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/signature.h"
#include "engine/base/byte_source.h"
#include "engine/base/status.h"
#include "engine/ir/graph.h"

namespace tondar {

struct ImportedModel {
  std::unique_ptr<Graph> graph;  // inputs and outputs parallel to the signature's
  Signature signature;
  std::string platform;          // "pt2", "onnx"
  std::string producer;          // "torch 2.15.0"
  std::map<std::string, int> source_operators;  // as the file names them, and how often
  // Conditions on inputs that the file states and nothing checks, in the file's words.
  std::vector<std::string> unchecked_guards;
  // Unimplemented with all that is not supported in the file, of a model that was only described; the graph is of no
  // use then, and the signature holds what could be read.
  Status refusal;
};

// The described model if nothing of it is unsupported and its graph is sound; for `Importer::import`.
Result<ImportedModel> FitForUse(Result<ImportedModel> described, const std::string& path);

// Reads one source format. Registered by engine.cc in a table; the first whose Matches says yes gets the file.
struct Importer {
  std::string_view name;
  bool (*matches)(const ByteSource& file);
  // Reads what the graph uses into memory of its own; the file is not needed afterwards, and its caller asks whether it
  // stayed the same meanwhile. Other files that belong to it (ONNX external data) are found by its name.
  // InvalidArgument: broken. Unimplemented: unsupported. Either way one message that lists all that is wrong.
  // Else as ByteSource::Read.
  Result<ImportedModel> (*import)(const ByteSource& file);
  // As `import`, for people who want to know what is in the file: what is not supported is no error, but the refusal.
  Result<ImportedModel> (*describe)(const ByteSource& file);
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_IMPORTERS_IMPORTER_H_
