#include "engine/plan/constant.h"

#include <new>

#include "engine/base/private_memory.h"

namespace tondar {

Constant AllocateConstant(std::string name, DType dtype, const Dims& shape) {
  const TensorView view = TensorView::Contiguous(nullptr, dtype, shape);
  std::shared_ptr<std::byte> owner = AllocateShared(view.size_bytes());
  if (owner == nullptr) throw std::bad_alloc();  // caught where a model is loaded
  Constant constant{std::move(name), TensorView::Contiguous(owner.get(), dtype, shape), nullptr};
  constant.owner = std::move(owner);
  return constant;
}

Constant CopyToConstant(std::string name, const TensorView& view) {
  Constant constant = AllocateConstant(std::move(name), view.dtype, view.shape);
  CopyElements(view, constant.view);
  return constant;
}

}  // namespace tondar
