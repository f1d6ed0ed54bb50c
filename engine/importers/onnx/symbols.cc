#include "engine/importers/onnx/symbols.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace tondar::onnx_format {
namespace {

constexpr size_t kMaxNameLength = 64, kMaxExpressionLength = 200;

bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The names in an expression, functions left out.
std::vector<std::string> NamesIn(const std::string& text) {
  std::vector<std::string> names;
  for (size_t i = 0; i < text.size();) {
    if (!IsLetter(text[i])) {
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && (IsLetter(text[i]) || IsDigit(text[i]))) ++i;
    std::string name = text.substr(begin, i - begin);
    if (name != "max" && name != "min") names.push_back(std::move(name));
  }
  return names;
}

bool IsExpression(const std::string& text) {
  return text.size() <= kMaxExpressionLength && text.find_first_of("*+-/%(") != std::string::npos;
}

// An identifier, for the text forms to print and parse.
std::string Identifier(const std::string& text) {
  std::string name;
  for (const char c : text.substr(0, kMaxNameLength)) name += IsLetter(c) || IsDigit(c) ? c : '_';
  if (name.empty() || !IsLetter(name[0]) || name == "max" || name == "min") name.insert(0, "d_");
  return name;
}

}  // namespace

SymbolId Symbols::Add(const std::string& name, bool outermost) {
  std::string unique = Identifier(name);
  auto taken = [&] {
    return std::any_of(symbols_.begin(), symbols_.end(), [&](const SymbolInfo& symbol) { return symbol.name == unique; });
  };
  const std::string base = unique;
  for (int i = 1; taken(); ++i) unique = base + "_" + std::to_string(i);
  symbols_.push_back({.name = unique, .min = outermost ? 1 : 0, .max = INT64_MAX});
  return static_cast<SymbolId>(symbols_.size() - 1);
}

Dim Symbols::Get(const std::string& param, bool outermost) {
  auto lookup = [&](const std::string& name) {
    auto [entry, is_new] = known_.emplace(name, -1);
    if (is_new) entry->second = Add(name, outermost);
    if (outermost) symbols_[static_cast<size_t>(entry->second)].min = 1;
    return entry->second;
  };
  if (IsExpression(param)) {
    // Parsed with the names as they are first, so that "batch-size", which is no difference, stays a name.
    const std::vector<std::string> names = NamesIn(param);
    std::vector<SymbolInfo> trial;
    for (const std::string& name : names) trial.push_back({.name = name});
    const bool sums_only_names = param.find_first_of("0123456789*/%(") == std::string::npos;
    if (!sums_only_names && Dim::Parse(param, trial)) {
      std::vector<Dim> replacements;
      for (const std::string& name : names) replacements.push_back(Dim::Symbol(lookup(name)));
      return Dim::Parse(param, trial)->Substitute(replacements);
    }
  }
  return Dim::Symbol(lookup(param));
}

Dim Symbols::Fresh(const std::string& hint, bool outermost) { return Dim::Symbol(Add(hint, outermost)); }

}  // namespace tondar::onnx_format
