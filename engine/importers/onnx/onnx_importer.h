// The importer of ONNX models.
#ifndef TONDAR_ENGINE_IMPORTERS_ONNX_ONNX_IMPORTER_H_
#define TONDAR_ENGINE_IMPORTERS_ONNX_ONNX_IMPORTER_H_

#include "engine/importers/importer.h"

namespace tondar {

extern const Importer kOnnxImporter;

}  // namespace tondar

#endif  // TONDAR_ENGINE_IMPORTERS_ONNX_ONNX_IMPORTER_H_
