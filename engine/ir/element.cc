#include "engine/ir/element.h"

#include <cstring>

namespace tondar {
namespace {

std::byte* AddressOf(const TensorView& view, int64_t index) {
  int64_t offset = 0;
  for (size_t d = view.shape.size(); d-- > 0;) {
    offset += index % view.shape[d] * view.strides[d];
    index /= view.shape[d];
  }
  return view.data + offset * static_cast<int64_t>(SizeOf(view.dtype));
}

template <typename T>
T Load(const std::byte* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

template <typename T>
void Store(std::byte* address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

int64_t AsInteger(Element element) {
  return std::visit([](auto value) { return static_cast<int64_t>(value); }, element);
}
double AsDouble(Element element) {
  return std::visit([](auto value) { return static_cast<double>(value); }, element);
}

}  // namespace

bool HasElements(DType dtype) { return dtype >= DType::kBool && dtype <= DType::kFloat64; }

Element ReadElement(const TensorView& view, int64_t index) {
  const std::byte* address = AddressOf(view, index);
  switch (view.dtype) {
    case DType::kBool:
    case DType::kUInt8: return int64_t{Load<uint8_t>(address)};
    case DType::kUInt16: return int64_t{Load<uint16_t>(address)};
    case DType::kUInt32: return int64_t{Load<uint32_t>(address)};
    case DType::kUInt64: return static_cast<int64_t>(Load<uint64_t>(address));
    case DType::kInt8: return int64_t{Load<int8_t>(address)};
    case DType::kInt16: return int64_t{Load<int16_t>(address)};
    case DType::kInt32: return int64_t{Load<int32_t>(address)};
    case DType::kInt64: return Load<int64_t>(address);
    case DType::kFloat16: return double{Float16ToFloat(Load<uint16_t>(address))};
    case DType::kBFloat16: return double{BFloat16ToFloat(Load<uint16_t>(address))};
    case DType::kFloat32: return double{Load<float>(address)};
    case DType::kFloat64: return Load<double>(address);
    default: TONDAR_CHECK(false, "no elements of {}", Name(view.dtype));
  }
  return int64_t{0};
}

void WriteElement(const TensorView& view, int64_t index, Element element) {
  std::byte* address = AddressOf(view, index);
  switch (view.dtype) {
    case DType::kBool: return Store<uint8_t>(address, AsDouble(element) != 0 ? 1 : 0);
    case DType::kUInt8:
    case DType::kInt8: return Store(address, static_cast<uint8_t>(AsInteger(element)));
    case DType::kUInt16:
    case DType::kInt16: return Store(address, static_cast<uint16_t>(AsInteger(element)));
    case DType::kUInt32:
    case DType::kInt32: return Store(address, static_cast<uint32_t>(AsInteger(element)));
    case DType::kUInt64:
    case DType::kInt64: return Store(address, AsInteger(element));
    case DType::kFloat16: return Store(address, FloatToFloat16(static_cast<float>(AsDouble(element))));
    case DType::kBFloat16: return Store(address, FloatToBFloat16(static_cast<float>(AsDouble(element))));
    case DType::kFloat32: return Store(address, static_cast<float>(AsDouble(element)));
    case DType::kFloat64: return Store(address, AsDouble(element));
    default: TONDAR_CHECK(false, "no elements of {}", Name(view.dtype));
  }
}

std::optional<Element> UniformElement(const Value& value) {
  if (!value.IsConstant() || !HasElements(value.dtype)) return std::nullopt;
  TensorView view = value.constant->view;
  // Repeated elements need no look.
  for (size_t d = 0; d < view.shape.size(); ++d) {
    if (view.strides[d] == 0 && view.shape[d] > 1) view.shape[d] = 1;
  }
  const int64_t count = view.elements();
  if (count == 0) return std::nullopt;
  const Element first = ReadElement(view, 0);
  for (int64_t i = 1; i < count; ++i) {
    if (ReadElement(view, i) != first) return std::nullopt;
  }
  return first;
}

std::optional<double> UniformNumber(const Value& value) {
  const std::optional<Element> element = UniformElement(value);
  if (!element) return std::nullopt;
  return AsDouble(*element);
}

}  // namespace tondar
