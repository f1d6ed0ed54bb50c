#include "engine/importers/importer.h"

namespace tondar {

Result<ImportedModel> FitForUse(Result<ImportedModel> described, const std::string& path) {
  if (!described.ok()) return described;
  TONDAR_RETURN_IF_ERROR(described->refusal);
  TONDAR_RETURN_IF_ERROR(VerifyGraph(*described->graph).Annotated(path));
  return described;
}

}  // namespace tondar
