// The option table as help, as docs and as a configuration file.
#include <fmt/format.h>

#include "server/config/option_table.h"
#include "server/config/options.h"

namespace tondar {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kHelpColumn = 30;

// Appends `text` word by word, starting at `column` of the current line, continued lines at kHelpColumn.
void AppendWrapped(std::string& out, std::string_view text, size_t column) {
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    if (column + space > kWidth && column > kHelpColumn) {
      if (out.back() == ' ') out.pop_back();
      out += '\n' + std::string(kHelpColumn, ' ');
      column = kHelpColumn;
    }
    out += text.substr(0, space);
    column += space;
    if (space < text.size()) {
      out += ' ';
      ++column;
    }
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  out += '\n';
}

std::string DefaultText(const Option& option) {
  static const ServerConfig kDefaults;
  const std::vector<std::string> values = OptionValues(option, kDefaults);
  return fmt::format("{}", fmt::join(values, ","));
}

std::string HelpSentence(const Option& option) {
  std::string text(option.help);
  if (const auto* field = std::get_if<TextField>(&option.field); field != nullptr && !field->choices.empty()) {
    text += fmt::format(" One of {}.", fmt::join(field->choices, ", "));
  }
  const std::string value = DefaultText(option);
  if (!value.empty()) text += fmt::format(" [{}]", value);
  return text;
}

// Quotes a value for YAML whatever it holds; JSON strings are YAML.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out += c;
    }
  }
  return out + '"';
}

bool IsText(const Option& option) {
  return std::holds_alternative<TextField>(option.field) || std::holds_alternative<ListField>(option.field);
}

}  // namespace

std::string ServerOptionsHelp() {
  std::string out;
  std::string_view group;
  for (const Option& option : OptionTable()) {
    if (option.group != group) {
      group = option.group;
      out += fmt::format("{}{}:\n", out.empty() ? "" : "\n", group);
    }
    std::string flag = fmt::format("  --{}={}", option.flag, option.placeholder);
    if (flag.size() + 2 > kHelpColumn) flag += '\n', out += flag, flag.clear();
    flag.resize(kHelpColumn, ' ');
    out += flag;
    AppendWrapped(out, HelpSentence(option), kHelpColumn);
  }
  return out;
}

std::string ServerOptionsMarkdown() {
  std::string out =
      "# Options of `tondar serve`\n\n"
      "<!-- Generated from server/config/options.cc; the test of that room checks that the two agree. -->\n\n"
      "Precedence: flag, environment variable, configuration file (`--config=FILE`, YAML or JSON), default. `--flag=value` and\n"
      "`--flag value` are the same; boolean flags may stand alone (`--allow-http`) or be negated (`--no-allow-http`); lists repeat\n"
      "the flag, are comma-separated in the environment and sequences in the file. Flags of other servers that existing manifests\n"
      "pass are accepted, and a warning names those without effect.\n";
  std::string_view group;
  for (const Option& option : OptionTable()) {
    if (option.group != group) {
      group = option.group;
      out += fmt::format("\n## {}\n\n| flag | file key | environment | value | default | meaning |\n|---|---|---|---|---|---|\n", group);
    }
    const std::string alias = option.alias.empty() ? "" : fmt::format(", `--{}`", option.alias);
    const std::string value = DefaultText(option);
    out += fmt::format("| `--{}={}`{} | `{}` | `{}` | {} | {} | {} |\n", option.flag, option.placeholder, alias,
                       OptionKey(option), OptionVariable(option), OptionType(option),
                       value.empty() ? "" : fmt::format("`{}`", value), option.help);
  }
  out += "\n## Accepted without effect\n\n";
  for (const ForeignFlag& foreign : ForeignFlagTable()) {
    if (!foreign.refused) out += fmt::format("- `--{}`: {}\n", foreign.flag, foreign.reason);
  }
  out += "\n## Refused\n\nIgnoring these would lose a protection.\n\n";
  for (const ForeignFlag& foreign : ForeignFlagTable()) {
    if (foreign.refused) out += fmt::format("- `--{}`: {}\n", foreign.flag, foreign.reason);
  }
  return out;
}

std::string PrintConfig(const ServerConfig& config) {
  std::string out;
  for (const Option& option : OptionTable()) {
    if (option.flag == "config") continue;
    std::vector<std::string> values = OptionValues(option, config);
    if (IsText(option)) {
      for (std::string& value : values) value = Quoted(value);
    }
    const bool list = std::holds_alternative<ListField>(option.field);
    const std::string text = fmt::format("{}", fmt::join(values, ", "));
    out += list ? fmt::format("{}: [{}]\n", OptionKey(option), text) : fmt::format("{}: {}\n", OptionKey(option), text);
  }
  return out;
}

}  // namespace tondar
