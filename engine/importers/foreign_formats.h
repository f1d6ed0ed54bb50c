// Files that are not models this engine reads, recognised so that the message can say what to do.
#ifndef TONDAR_ENGINE_IMPORTERS_FOREIGN_FORMATS_H_
#define TONDAR_ENGINE_IMPORTERS_FOREIGN_FORMATS_H_

#include <string>

#include "engine/base/byte_source.h"
#include "engine/base/status.h"

namespace tondar {

// For a file that no importer takes; never OK. Unimplemented: a known format, with its name and the remedy.
// InvalidArgument: anything else, or a broken zip archive. Else as ByteSource::Read.
Status DescribeForeignFormat(const ByteSource& file);

// The same for a path that is a folder; OK if it is none.
Status DescribeForeignFolder(const std::string& path);

}  // namespace tondar

#endif  // TONDAR_ENGINE_IMPORTERS_FOREIGN_FORMATS_H_
