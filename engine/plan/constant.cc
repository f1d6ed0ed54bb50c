#include "engine/plan/constant.h"

#include <new>

namespace tondar {
namespace {

constexpr std::align_val_t kAlignment{64};  // one cache line, one AVX-512 register

}  // namespace

Constant AllocateConstant(std::string name, DType dtype, const Dims& shape) {
  const TensorView view = TensorView::Contiguous(nullptr, dtype, shape);
  const size_t size = view.size_bytes();
  std::shared_ptr<void> owner(::operator new(size == 0 ? 1 : size, kAlignment),
                              [](void* data) { ::operator delete(data, kAlignment); });
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
