// Archive: the records of a PT2 file that matter, found and read.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_ARCHIVE_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_ARCHIVE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/archive/zip_reader.h"
#include "engine/base/status.h"
#include "engine/importers/problems.h"

namespace tondar::pt2 {

// Every record lies under a root folder, named after the file when it was written; names here are below it.
class Archive {
 public:
  explicit Archive(ZipReader zip);

  const ZipReader& zip() const { return zip_; }
  const std::string& root() const { return root_; }
  const ZipRecord* Find(std::string_view name) const;

  // The names of the programs, "model" of models/model.json.
  std::vector<std::string> Programs() const;
  // Checks format, version and byte order; adds to `problems`.
  void CheckFormat(Problems& problems) const;
  // The content of a record, its checksum checked; nullopt with a problem added if it is damaged.
  std::optional<OwnedBytes> Read(const ZipRecord& record, Problems& problems) const;
  // The same of a record that is small, or a problem.
  std::optional<std::string> ReadText(const ZipRecord& record, Problems& problems) const;

 private:
  ZipReader zip_;
  std::string root_;  // with a slash at its end
};

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_ARCHIVE_H_
