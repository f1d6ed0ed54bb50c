// The importer over bytes in memory, for the importer proper and for tests that break archives.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_IMPORT_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_IMPORT_H_

#include <string>

#include "engine/archive/zip_reader.h"
#include "engine/importers/importer.h"

namespace tondar::pt2 {

// As Importer::import; `path` names the file in messages.
Result<ImportedModel> Import(const std::string& path, OwnedBytes file);

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_IMPORT_H_
