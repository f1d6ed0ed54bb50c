// Content: the elements of a small tensor as far as they are known when a model is read: numbers, or integer
// expressions over symbolic sizes. What a graph computes with shapes never becomes nodes.
#ifndef TONDAR_ENGINE_IMPORTERS_ONNX_CONTENT_H_
#define TONDAR_ENGINE_IMPORTERS_ONNX_CONTENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/ir/graph.h"
#include "engine/types/dim.h"
#include "engine/types/shape.h"

namespace tondar::onnx_format {

// An exact fraction top / below, or a double that is none. Integers and bools have below == 1.
struct Scalar {
  Dim top;
  int64_t below = 1;
  std::optional<double> real;

  Scalar() = default;
  Scalar(Dim value) : top(std::move(value)) {}  // NOLINT: implicit by design
  static Scalar Real(double value);             // a fraction if it is one of small denominator

  bool IsWhole() const { return !real && below == 1; }
  bool IsConstant() const { return real || top.IsConstant(); }
  double Number() const;  // of a constant
};

// Row-major. A tensor of more than kMaxElements has no content.
struct Content {
  static constexpr int64_t kMaxElements = 1024;

  DType dtype = DType::kInt64;
  Dims shape;
  std::vector<Scalar> elements;

  bool IsConstant() const;
};

// The content of a constant value: integers, bools and floats of at most kMaxElements elements; nullopt otherwise.
std::optional<Content> ContentOf(const Value& value);

// An integer vector.
Content VectorOf(const Shape& values, DType dtype = DType::kInt64);

// The elements as sizes; nullopt if one is no whole number.
std::optional<Shape> WholeNumbers(const Content& content);

// True or false if the symbols' ranges decide it: a < b, a == b.
std::optional<bool> IsLess(const Dim& a, const Dim& b, std::span<const SymbolInfo> symbols);
std::optional<bool> IsEqual(const Dim& a, const Dim& b, std::span<const SymbolInfo> symbols);

// Arithmetic on scalars of one dtype, rounded as that dtype rounds; nullopt where the result cannot be said exactly
// (a product of a symbol and a third, a division by a symbol that may be zero).
using ScalarFunction = std::optional<Scalar> (*)(const Scalar& a, const Scalar& b, DType dtype, const Graph& graph);
// The function of an operator ("Add"), of one operand (b is the same as a) or two; null if there is none.
// Comparisons and logic give whole 0 or 1.
struct ScalarOperator {
  std::string_view op_type;
  int operands;
  ScalarFunction function;
  bool gives_bool = false;
};
const ScalarOperator* FindScalarOperator(std::string_view op_type);

// The scalar in another dtype, as Cast converts.
std::optional<Scalar> Convert(const Scalar& value, DType from, DType to);

}  // namespace tondar::onnx_format

#endif  // TONDAR_ENGINE_IMPORTERS_ONNX_CONTENT_H_
