// Where settings come from, each source as a list of (option, text, where). For this room only.
#ifndef TONDAR_SERVER_CONFIG_OPTION_SOURCES_H_
#define TONDAR_SERVER_CONFIG_OPTION_SOURCES_H_

#include "server/config/option_table.h"
#include "server/config/options.h"

namespace tondar {

struct Assignment {
  const Option* option;
  std::string text;
  std::string where;  // "--http-port", "TONDAR_HTTP_PORT", "server.yaml:14: http_port"
};

struct FlagAssignments {
  std::vector<Assignment> assignments;
  std::vector<std::string> warnings;
  bool help = false;
};

// InvalidArgument: unknown flags, missing values, refused foreign flags, words that are no flags.
Result<FlagAssignments> ReadFlags(std::span<const std::string> args);

// Unknown variables are left alone, with a warning if they look like a slip.
std::vector<Assignment> ReadEnvironment(const Environment& environment, std::vector<std::string>& warnings);

// YAML, or JSON, which YAML contains. InvalidArgument with file:line: syntax, unknown keys, values that are neither
// scalars nor, for lists, sequences of scalars.
Result<std::vector<Assignment>> ReadConfigFile(const std::string& path);

}  // namespace tondar

#endif  // TONDAR_SERVER_CONFIG_OPTION_SOURCES_H_
