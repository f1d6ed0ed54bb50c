// Single elements of host tensors, whatever their dtype.
#ifndef TONDAR_ENGINE_IR_ELEMENT_H_
#define TONDAR_ENGINE_IR_ELEMENT_H_

#include <optional>
#include <variant>

#include "engine/ir/graph.h"

namespace tondar {

// An integer or bool as int64, a float as double.
using Element = std::variant<int64_t, double>;

// True for the dtypes that the functions below know: bool, integers, float16 to float64.
bool HasElements(DType dtype);
// Element number `index` in row-major order.
Element ReadElement(const TensorView& view, int64_t index);
void WriteElement(const TensorView& view, int64_t index, Element element);

// The value that all elements of a constant share; nullopt if they differ, there are none or the value is no constant.
std::optional<Element> UniformElement(const Value& value);
std::optional<double> UniformNumber(const Value& value);

}  // namespace tondar

#endif  // TONDAR_ENGINE_IR_ELEMENT_H_
