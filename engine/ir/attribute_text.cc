#include "engine/ir/attribute_text.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "engine/ir/text_scanner.h"

namespace tondar {
namespace {

template <typename T, typename Text>
std::string ListText(std::string_view prefix, const T& list, Text text) {
  std::string result = fmt::format("{}[", prefix);
  for (size_t i = 0; i < list.size(); ++i) result += (i > 0 ? ", " : "") + text(list[i]);
  return result + "]";
}

struct AttributeText {
  std::span<const SymbolInfo> symbols;

  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const Dim& value) const { return value.ToString(symbols); }
  std::string operator()(double value) const { return NumberText(value); }
  std::string operator()(const std::string& value) const { return Quote(value); }
  std::string operator()(DType value) const { return std::string(Name(value)); }
  std::string operator()(const Shape& value) const { return ToString(value, symbols); }
  std::string operator()(const std::vector<double>& value) const { return ListText("floats", value, NumberText); }
  std::string operator()(const std::vector<bool>& value) const {
    return ListText("bools", value, [](bool b) { return std::string(b ? "true" : "false"); });
  }
  std::string operator()(const std::vector<std::string>& value) const { return ListText("strings", value, Quote); }
};

std::optional<bool> ParseBool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<std::string> ParseQuoted(std::string_view text) {
  TextScanner scanner(text);
  Result<std::string> result = scanner.Quoted();
  if (!result.ok() || !scanner.AtEnd()) return std::nullopt;
  return std::move(result).value();
}

// "prefix[a, b]" by `parse`, which reads one element.
template <typename T, typename Parse>
std::optional<std::vector<T>> ParseList(std::string_view prefix, std::string_view text, Parse parse) {
  if (!text.starts_with(prefix) || !text.ends_with(']')) return std::nullopt;
  text.remove_prefix(prefix.size());
  if (!text.starts_with('[')) return std::nullopt;
  std::vector<T> list;
  for (std::string_view part : SplitAtCommas(text.substr(1, text.size() - 2))) {
    std::optional<T> element = parse(part);
    if (!element) return std::nullopt;
    list.push_back(std::move(*element));
  }
  return list;
}

}  // namespace

std::string ToString(const Attribute& attribute, std::span<const SymbolInfo> symbols) {
  return std::visit(AttributeText{symbols}, attribute);
}

std::string NumberText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::optional<double> ParseNumber(std::string_view text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text.empty() || text.find_first_not_of("0123456789+-.e") != std::string_view::npos) return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size()) return std::nullopt;
  return value;
}

std::optional<Shape> ParseShape(std::string_view text, std::span<const SymbolInfo> symbols) {
  return ParseList<Dim>("", text, [symbols](std::string_view part) { return Dim::Parse(part, symbols); });
}

std::optional<Attribute> ParseAttribute(std::string_view text, std::span<const SymbolInfo> symbols) {
  if (text == "none") return Attribute(std::monostate());
  if (auto value = ParseBool(text)) return Attribute(*value);
  if (auto value = ParseQuoted(text)) return Attribute(*value);
  if (auto value = ParseShape(text, symbols)) return Attribute(*value);
  if (auto value = ParseList<double>("floats", text, ParseNumber)) return Attribute(*value);
  if (auto value = ParseList<bool>("bools", text, ParseBool)) return Attribute(*value);
  if (auto value = ParseList<std::string>("strings", text, ParseQuoted)) return Attribute(*value);
  if (auto value = DTypeFromName(text); value && Name(*value) == text) return Attribute(*value);
  const bool is_number = text.find_first_of(".") != std::string_view::npos || text == "inf" || text == "-inf" ||
                         text == "nan" || (text.find('e') != std::string_view::npos && ParseNumber(text));
  if (is_number) {
    if (auto value = ParseNumber(text)) return Attribute(*value);
    return std::nullopt;
  }
  if (auto value = Dim::Parse(text, symbols)) return Attribute(*value);
  return std::nullopt;
}

}  // namespace tondar
