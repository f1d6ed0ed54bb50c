// Reads PyTorch archives (.pt2) of torch 2.9 and later, in both dialects, without Python.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_PT2_IMPORTER_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_PT2_IMPORTER_H_

#include "engine/importers/importer.h"

namespace tondar {

extern const Importer kPt2Importer;

}  // namespace tondar

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_PT2_IMPORTER_H_
