#include <algorithm>

#include "server/config/nearest_name.h"
#include "server/config/option_sources.h"

namespace tondar {
namespace {

const ForeignFlag* FindForeignFlag(std::string_view flag) {
  for (const ForeignFlag& foreign : ForeignFlagTable()) {
    if (foreign.flag == flag) return &foreign;
  }
  return nullptr;
}

Status UnknownFlag(std::string_view flag) {
  std::vector<std::string_view> known;
  for (const Option& option : OptionTable()) {
    known.push_back(option.flag);
    if (!option.alias.empty()) known.push_back(option.alias);
  }
  const std::string_view nearest = NearestName(flag, known);
  return InvalidArgument("unknown flag --{}{}", flag,
                         nearest.empty() ? "; see --help" : fmt::format("; did you mean --{}?", nearest));
}

// One walk over the arguments.
class FlagReader {
 public:
  explicit FlagReader(std::span<const std::string> args) : args_(args) {}

  Result<FlagAssignments> Read() {
    while (next_ < args_.size()) TONDAR_RETURN_IF_ERROR(ReadOne(args_[next_++]));
    return std::move(result_);
  }

 private:
  struct Flag {
    std::string_view name;
    std::optional<std::string> value;  // what follows '='
  };

  Status ReadOne(std::string_view word) {
    if (word == "-h" || word == "--help") {
      result_.help = true;
      return OkStatus();
    }
    if (!word.starts_with("--") || word.size() == 2) {
      return InvalidArgument("unexpected argument '{}'; options begin with --", word);
    }
    word.remove_prefix(2);
    const size_t equals = word.find('=');
    Flag flag{word.substr(0, equals), std::nullopt};
    if (equals != std::string_view::npos) flag.value = word.substr(equals + 1);
    if (const Option* option = FindOptionByFlag(flag.name)) return ReadOption(*option, std::move(flag));
    if (const ForeignFlag* foreign = FindForeignFlag(flag.name)) return ReadForeign(*foreign, flag);
    if (const Option* option = FindNegated(flag)) return Assign(*option, flag.name, "false");
    return UnknownFlag(flag.name);
  }

  static const Option* FindNegated(const Flag& flag) {
    if (!flag.name.starts_with("no-") || flag.value) return nullptr;
    const Option* option = FindOptionByFlag(flag.name.substr(3));
    return option != nullptr && std::holds_alternative<BoolField>(option->field) ? option : nullptr;
  }

  Status ReadOption(const Option& option, Flag flag) {
    if (!flag.value) {
      const bool follows = next_ < args_.size() && !args_[next_].starts_with("--");
      if (!option.bare.empty()) {
        flag.value = follows && IsValue(option, args_[next_]) ? args_[next_++] : std::string(option.bare);
      } else if (follows) {
        flag.value = args_[next_++];
      } else {
        return InvalidArgument("--{} needs a value: --{}={}", flag.name, flag.name, option.placeholder);
      }
    }
    return Assign(option, flag.name, *std::move(flag.value));
  }

  // Whether the word after a flag that may stand alone is its value.
  static bool IsValue(const Option& option, std::string_view word) {
    ServerConfig scratch;
    return SetOption(option, word, scratch).ok();
  }

  Status ReadForeign(const ForeignFlag& foreign, const Flag& flag) {
    if (foreign.refused) return InvalidArgument("--{}: {}", foreign.flag, foreign.reason);
    if (!flag.value && next_ < args_.size()) {
      const std::string& word = args_[next_];
      if (foreign.takes_value ? !word.starts_with("--") : ParseBool(word).has_value()) ++next_;
    }
    std::string warning = fmt::format("--{} has no effect: {}", foreign.flag, foreign.reason);
    if (std::find(result_.warnings.begin(), result_.warnings.end(), warning) == result_.warnings.end()) {
      result_.warnings.push_back(std::move(warning));
    }
    return OkStatus();
  }

  Status Assign(const Option& option, std::string_view name, std::string value) {
    result_.assignments.push_back({&option, std::move(value), fmt::format("--{}", name)});
    return OkStatus();
  }

  std::span<const std::string> args_;
  size_t next_ = 0;
  FlagAssignments result_;
};

}  // namespace

Result<FlagAssignments> ReadFlags(std::span<const std::string> args) { return FlagReader(args).Read(); }

}  // namespace tondar
