// The importer over bytes in memory, for the importer proper and for tests that break files.
#ifndef TONDAR_ENGINE_IMPORTERS_ONNX_IMPORT_H_
#define TONDAR_ENGINE_IMPORTERS_ONNX_IMPORT_H_

#include <string>

#include "engine/archive/zip_reader.h"
#include "engine/importers/importer.h"

namespace tondar::onnx_format {

// As Importer::import; `path` names the file in messages, and its folder holds external data.
Result<ImportedModel> Import(const std::string& path, OwnedBytes file);

}  // namespace tondar::onnx_format

#endif  // TONDAR_ENGINE_IMPORTERS_ONNX_IMPORT_H_
