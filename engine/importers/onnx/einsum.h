// Einsum by products of matrices.
#ifndef TONDAR_ENGINE_IMPORTERS_ONNX_EINSUM_H_
#define TONDAR_ENGINE_IMPORTERS_ONNX_EINSUM_H_

#include "engine/importers/onnx/op_table.h"

namespace tondar::onnx_format {

// The row's function: any number of operands, letters and an ellipsis, repeated letters (diagonals), implicit results.
void Einsum(OpCall& call, const OpRow& row);

}  // namespace tondar::onnx_format

#endif  // TONDAR_ENGINE_IMPORTERS_ONNX_EINSUM_H_
