// Constant: bytes of a weight, and what keeps them alive.
#ifndef TONDAR_ENGINE_PLAN_CONSTANT_H_
#define TONDAR_ENGINE_PLAN_CONSTANT_H_

#include <memory>
#include <string>

#include "engine/types/tensor_view.h"

namespace tondar {

// `view` points into memory that `owner` keeps alive (one storage of an archive); read-only, never written through
// the view's pointer. Several constants may view the same bytes. Value type, cheap to copy.
struct Constant {
  std::string name;  // "layers.0.weight"
  TensorView view;   // any strides
  // shared_ptr: constants of several graphs, sessions and kernels share one storage.
  std::shared_ptr<const void> owner;
};

// A constant that owns a contiguous copy of the view's elements.
Constant CopyToConstant(std::string name, const TensorView& view);
// A contiguous constant of uninitialised elements; fill it through view.data before sharing it.
Constant AllocateConstant(std::string name, DType dtype, const Dims& shape);

}  // namespace tondar

#endif  // TONDAR_ENGINE_PLAN_CONSTANT_H_
