// One row per option. For this room only; others use options.h.
#ifndef TONDAR_SERVER_CONFIG_OPTION_TABLE_H_
#define TONDAR_SERVER_CONFIG_OPTION_TABLE_H_

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/status.h"
#include "server/config/server_config.h"

namespace tondar {

// How a row's text becomes a field of ServerConfig and back. Ranges are inclusive.
struct BoolField {
  bool ServerConfig::*member;
};
struct IntField {
  int ServerConfig::*member;
  int64_t min, max;
};
struct SizeField {  // bytes; 64M, 1G and the like are understood
  size_t ServerConfig::*member;
  uint64_t min, max;
};
struct SecondsField {
  std::chrono::seconds ServerConfig::*member;
  int64_t min, max;
};
struct FractionalSecondsField {
  std::chrono::milliseconds ServerConfig::*member;
  double min, max;
};
struct TextField {
  std::string ServerConfig::*member;
  std::span<const std::string_view> choices;  // empty: any text
};
struct ModeField {
  ModelControlMode ServerConfig::*member;
};
struct ListField {
  std::vector<std::string> ServerConfig::*member;
};
using OptionField =
    std::variant<BoolField, IntField, SizeField, SecondsField, FractionalSecondsField, TextField, ModeField, ListField>;

struct Option {
  std::string_view flag;         // "http-port"; the file key is http_port, the variable TONDAR_HTTP_PORT
  std::string_view alias;        // another server's name for the flag; "" = none
  std::string_view group;        // heading in help and docs
  std::string_view placeholder;  // "N"
  OptionField field;
  std::string_view help;         // one or two sentences
  std::string_view bare;         // the value that the flag alone stands for; "" = a value is needed
};

// In the order of help and docs; rows of a group are together.
std::span<const Option> OptionTable();

// Flags of other servers that existing manifests pass. Accepted, without effect.
struct ForeignFlag {
  std::string_view flag;
  bool takes_value;         // false: a boolean, which may stand alone
  std::string_view reason;  // what happens instead
  bool refused = false;     // ignoring it would lose a protection
};
std::span<const ForeignFlag> ForeignFlagTable();

std::string OptionKey(const Option& option);       // "http_port"
std::string OptionVariable(const Option& option);  // "TONDAR_HTTP_PORT"
const Option* FindOptionByFlag(std::string_view flag);  // aliases count
const Option* FindOptionByKey(std::string_view key);    // '-' counts as '_'

// Sets the field from `text`; lists are appended to. InvalidArgument: what was expected, without where.
Status SetOption(const Option& option, std::string_view text, ServerConfig& config);
// The field as SetOption reads it; one element per value of a list, exactly one for everything else.
std::vector<std::string> OptionValues(const Option& option, const ServerConfig& config);
// "integer, 0 to 65535", for people.
std::string OptionType(const Option& option);

std::optional<bool> ParseBool(std::string_view text);

}  // namespace tondar

#endif  // TONDAR_SERVER_CONFIG_OPTION_TABLE_H_
