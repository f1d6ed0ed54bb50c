#include "engine/importers/onnx/op_table.h"
namespace tondar::onnx_format {
std::span<const OpRow> MicrosoftOps() { return {}; }
std::span<const OpRow> MicrosoftQuantisedOps() { return {}; }
}  // namespace tondar::onnx_format
