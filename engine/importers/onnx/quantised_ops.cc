#include "engine/importers/onnx/op_table.h"
namespace tondar::onnx_format {
std::span<const OpRow> QuantisedOps() { return {}; }
}  // namespace tondar::onnx_format
