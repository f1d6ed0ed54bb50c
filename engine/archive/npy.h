// npy: one array in NumPy's format.
#ifndef TONDAR_ENGINE_ARCHIVE_NPY_H_
#define TONDAR_ENGINE_ARCHIVE_NPY_H_

#include <memory>
#include <string>

#include "engine/base/private_memory.h"
#include "engine/base/status.h"
#include "engine/types/tensor_view.h"

namespace tondar {

// An array and what keeps its bytes alive.
struct NpyArray {
  TensorView view;  // Fortran order has Fortran strides
  std::shared_ptr<const void> owner;
};

// Reads npy versions 1 to 3, little-endian, of the engine's dtypes; not strings, structures or pickled objects. The
// view borrows from `file` where that is aligned for its elements, else it lies in a copy. bfloat16 and the 8-bit
// floats have no name in the format: they come as uint16 and uint8 bits. `where` stands for the array in messages.
// InvalidArgument: broken. Unimplemented: another byte order or dtype.
Result<NpyArray> ReadNpy(const std::string& where, const OwnedBytes& file);

// The header of a C-order array, padded so that the elements begin at a multiple of 64 bytes. Unimplemented: a dtype
// without a place in the format.
Result<std::string> NpyHeader(DType dtype, const Dims& shape);

// The view's elements in row-major order: borrowed if they lie so, else copied into `copy`.
std::span<const std::byte> ContiguousBytes(const TensorView& view, std::string& copy);

// Reads one .npy file; writes one.
Result<NpyArray> LoadNpy(const std::string& path);
Status SaveNpy(const std::string& path, const TensorView& view);

}  // namespace tondar

#endif  // TONDAR_ENGINE_ARCHIVE_NPY_H_
