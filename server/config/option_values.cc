// Text to settings and back, one overload per kind of field.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "server/config/nearest_name.h"
#include "server/config/option_table.h"

namespace tondar {
namespace {

constexpr std::string_view kModes[] = {"none", "poll", "explicit"};  // in the order of ModelControlMode

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

Status OutOfRange(std::string_view text, const auto& min, const auto& max) {
  return InvalidArgument("'{}' is out of range [{}, {}]", text, min, max);
}

Status NotANumber(std::string_view text, std::string_view expected) {
  return InvalidArgument("'{}' is not {}", text, expected);
}

// "64M" = 64 << 20; K, M, G, also with a following "iB" or "B".
std::optional<uint64_t> ParseBytes(std::string_view text) {
  struct Unit {
    std::string_view suffix;
    int shift;
  };
  constexpr Unit kUnits[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"KB", 10}, {"MB", 20}, {"GB", 30},
                             {"K", 10},   {"M", 20},   {"G", 30},   {"k", 10},  {"m", 20},  {"g", 30}};
  int shift = 0;
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    text.remove_suffix(unit.suffix.size());
    shift = unit.shift;
    break;
  }
  const auto number = ParseNumber<uint64_t>(text);
  if (!number || (shift > 0 && *number >> (64 - shift) != 0)) return std::nullopt;
  return *number << shift;
}

Status Choose(std::string_view text, std::span<const std::string_view> choices) {
  for (std::string_view choice : choices) {
    if (choice == text) return OkStatus();
  }
  return InvalidArgument("'{}' is not one of {}{}", text, fmt::join(choices, ", "), DidYouMean(text, choices));
}

Status Set(const BoolField& field, std::string_view text, ServerConfig& config) {
  const std::optional<bool> value = ParseBool(text);
  if (!value) return NotANumber(text, "true or false");
  config.*field.member = *value;
  return OkStatus();
}

Status Set(const IntField& field, std::string_view text, ServerConfig& config) {
  const auto value = ParseNumber<int64_t>(text);
  if (!value) return NotANumber(text, "an integer");
  if (*value < field.min || *value > field.max) return OutOfRange(text, field.min, field.max);
  config.*field.member = static_cast<int>(*value);
  return OkStatus();
}

Status Set(const SizeField& field, std::string_view text, ServerConfig& config) {
  const auto value = ParseBytes(text);
  if (!value) return NotANumber(text, "a number of bytes, such as 67108864 or 64M");
  if (*value < field.min || *value > field.max) return OutOfRange(text, field.min, field.max);
  config.*field.member = *value;
  return OkStatus();
}

Status Set(const SecondsField& field, std::string_view text, ServerConfig& config) {
  const auto value = ParseNumber<int64_t>(text);
  if (!value) return NotANumber(text, "a whole number of seconds");
  if (*value < field.min || *value > field.max) return OutOfRange(text, field.min, field.max);
  config.*field.member = std::chrono::seconds(*value);
  return OkStatus();
}

Status Set(const FractionalSecondsField& field, std::string_view text, ServerConfig& config) {
  const auto value = ParseNumber<double>(text);
  if (!value || !std::isfinite(*value)) return NotANumber(text, "a number of seconds");
  if (*value < field.min || *value > field.max) return OutOfRange(text, field.min, field.max);
  config.*field.member = std::chrono::milliseconds(std::llround(*value * 1000));
  return OkStatus();
}

Status Set(const TextField& field, std::string_view text, ServerConfig& config) {
  if (!field.choices.empty()) TONDAR_RETURN_IF_ERROR(Choose(text, field.choices));
  config.*field.member = text;
  return OkStatus();
}

Status Set(const ModeField& field, std::string_view text, ServerConfig& config) {
  TONDAR_RETURN_IF_ERROR(Choose(text, kModes));
  for (size_t i = 0; i < std::size(kModes); ++i) {
    if (kModes[i] == text) config.*field.member = static_cast<ModelControlMode>(i);
  }
  return OkStatus();
}

Status Set(const ListField& field, std::string_view text, ServerConfig& config) {
  if (text.empty()) return InvalidArgument("an empty value");
  (config.*field.member).emplace_back(text);
  return OkStatus();
}

using Values = std::vector<std::string>;

Values Get(const BoolField& f, const ServerConfig& c) { return {c.*f.member ? "true" : "false"}; }
Values Get(const IntField& f, const ServerConfig& c) { return {fmt::format("{}", c.*f.member)}; }
Values Get(const SizeField& f, const ServerConfig& c) { return {fmt::format("{}", c.*f.member)}; }
Values Get(const SecondsField& f, const ServerConfig& c) { return {fmt::format("{}", (c.*f.member).count())}; }
Values Get(const FractionalSecondsField& f, const ServerConfig& c) {
  return {fmt::format("{}", static_cast<double>((c.*f.member).count()) / 1000)};
}
Values Get(const TextField& f, const ServerConfig& c) { return {c.*f.member}; }
Values Get(const ModeField& f, const ServerConfig& c) {
  return {std::string(kModes[static_cast<size_t>(c.*f.member)])};
}
Values Get(const ListField& f, const ServerConfig& c) { return c.*f.member; }

std::string Type(const BoolField&) { return "true or false"; }
std::string Type(const IntField& f) { return fmt::format("integer, {} to {}", f.min, f.max); }
std::string Type(const SizeField& f) { return fmt::format("bytes, {} to {}; K, M, G understood", f.min, f.max); }
std::string Type(const SecondsField& f) { return fmt::format("seconds, {} to {}", f.min, f.max); }
std::string Type(const FractionalSecondsField& f) { return fmt::format("seconds, {} to {}", f.min, f.max); }
std::string Type(const TextField& f) {
  return f.choices.empty() ? "text" : fmt::format("{}", fmt::join(f.choices, ", "));
}
std::string Type(const ModeField&) { return fmt::format("{}", fmt::join(kModes, ", ")); }
std::string Type(const ListField&) { return "list of text"; }

}  // namespace

std::optional<bool> ParseBool(std::string_view text) {
  for (std::string_view yes : {"true", "True", "TRUE", "1", "on", "yes"}) {
    if (text == yes) return true;
  }
  for (std::string_view no : {"false", "False", "FALSE", "0", "off", "no"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

Status SetOption(const Option& option, std::string_view text, ServerConfig& config) {
  return std::visit([&](const auto& field) { return Set(field, text, config); }, option.field);
}

std::vector<std::string> OptionValues(const Option& option, const ServerConfig& config) {
  return std::visit([&](const auto& field) { return Get(field, config); }, option.field);
}

std::string OptionType(const Option& option) {
  return std::visit([](const auto& field) { return Type(field); }, option.field);
}

}  // namespace tondar
