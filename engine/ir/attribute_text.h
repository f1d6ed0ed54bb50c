// Attributes as text.
#ifndef TONDAR_ENGINE_IR_ATTRIBUTE_TEXT_H_
#define TONDAR_ENGINE_IR_ATTRIBUTE_TEXT_H_

#include <optional>
#include <span>
#include <string_view>

#include "engine/ir/graph.h"

namespace tondar {

// Reads what ToString(Attribute) prints; nullopt if it is no attribute.
std::optional<Attribute> ParseAttribute(std::string_view text, std::span<const SymbolInfo> symbols);

// "[s0, 4]".
std::optional<Shape> ParseShape(std::string_view text, std::span<const SymbolInfo> symbols);

// The shortest text that reads back as the same double and never as an integer.
std::string NumberText(double value);
std::optional<double> ParseNumber(std::string_view text);

}  // namespace tondar

#endif  // TONDAR_ENGINE_IR_ATTRIBUTE_TEXT_H_
