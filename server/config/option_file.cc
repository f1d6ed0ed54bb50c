#include <yaml-cpp/yaml.h>

#include <fstream>
#include <sstream>

#include "server/config/nearest_name.h"
#include "server/config/option_sources.h"

namespace tondar {
namespace {

constexpr std::streamoff kMaxFileBytes = 1 << 20;

std::string Place(const std::string& path, const YAML::Mark& mark) {
  return mark.is_null() ? path : fmt::format("{}:{}", path, mark.line + 1);
}

Result<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return InvalidArgument("{}: the configuration file cannot be read", path);
  const std::streamoff size = file.tellg();
  if (size < 0 || size > kMaxFileBytes) {
    return InvalidArgument("{}: expected a configuration file of at most {} bytes", path, kMaxFileBytes);
  }
  std::string text(static_cast<size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(text.data(), size)) return InvalidArgument("{}: the configuration file cannot be read", path);
  return text;
}

Result<YAML::Node> Parse(const std::string& text, const std::string& path) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    return InvalidArgument("{}: {}", Place(path, error.mark), error.msg);
  } catch (const std::exception& error) {
    return InvalidArgument("{}: {}", path, error.what());
  }
}

Status UnknownKey(std::string_view key, const std::string& place) {
  std::vector<std::string> known;
  for (const Option& option : OptionTable()) known.push_back(OptionKey(option));
  const std::vector<std::string_view> views(known.begin(), known.end());
  return InvalidArgument("{}: unknown key '{}'{}", place, key, DidYouMean(key, views));
}

Status AddValue(const Option& option, const YAML::Node& value, const std::string& path, std::vector<Assignment>& out) {
  const std::string where = fmt::format("{}: {}", Place(path, value.Mark()), OptionKey(option));
  if (value.IsScalar()) {
    out.push_back({&option, value.Scalar(), where});
    return OkStatus();
  }
  if (!std::holds_alternative<ListField>(option.field)) return InvalidArgument("{}: expected {}", where, OptionType(option));
  if (!value.IsSequence()) return InvalidArgument("{}: expected a list", where);
  for (const YAML::Node& element : value) {
    if (!element.IsScalar()) return InvalidArgument("{}: expected a list of text", where);
    out.push_back({&option, element.Scalar(), fmt::format("{}: {}", Place(path, element.Mark()), OptionKey(option))});
  }
  return OkStatus();
}

Result<std::vector<Assignment>> ReadDocument(const YAML::Node& document, const std::string& path) {
  std::vector<Assignment> assignments;
  if (document.IsNull()) return assignments;
  if (!document.IsMap()) return InvalidArgument("{}: expected keys and values", Place(path, document.Mark()));
  std::vector<const Option*> seen;
  for (const auto& entry : document) {
    const std::string place = Place(path, entry.first.Mark());
    if (!entry.first.IsScalar()) return InvalidArgument("{}: expected a key", place);
    const Option* option = FindOptionByKey(entry.first.Scalar());
    if (option == nullptr || option->flag == "config") return UnknownKey(entry.first.Scalar(), place);
    if (std::find(seen.begin(), seen.end(), option) != seen.end()) {
      return InvalidArgument("{}: key '{}' occurs twice", place, entry.first.Scalar());
    }
    seen.push_back(option);
    TONDAR_RETURN_IF_ERROR(AddValue(*option, entry.second, path, assignments));
  }
  return assignments;
}

}  // namespace

Result<std::vector<Assignment>> ReadConfigFile(const std::string& path) {
  TONDAR_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  TONDAR_ASSIGN_OR_RETURN(const YAML::Node document, Parse(text, path));
  try {
    return ReadDocument(document, path);
  } catch (const YAML::Exception& error) {
    return InvalidArgument("{}: {}", Place(path, error.mark), error.msg);
  }
}

}  // namespace tondar
