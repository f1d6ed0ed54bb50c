// The options of the server: one table that flags, environment, configuration file, help and docs all derive from.
#ifndef TONDAR_SERVER_CONFIG_OPTIONS_H_
#define TONDAR_SERVER_CONFIG_OPTIONS_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "server/config/server_config.h"

namespace tondar {

using Environment = std::map<std::string, std::string, std::less<>>;

// The variables of the process that begin with TONDAR_.
Environment ProcessEnvironment();

struct ParsedOptions {
  ServerConfig config;
  std::vector<std::string> warnings;  // options that were given but have no effect, one sentence each
  bool help = false;                  // --help or -h was given; config is then not checked as a whole
};

// Settings from, in rising precedence: defaults, the file named by --config or TONDAR_CONFIG, the environment, `args`
// (without the program's and the verb's names). `--flag=value` and `--flag value` are both understood, boolean flags
// also bare and as `--no-flag`; lists by repeating the flag (comma-separated in the environment, sequences in the file),
// each source replacing the lists of those below it.
// InvalidArgument: an unknown option (names the nearest known one), a value that does not parse or is out of range, a
// combination that cannot work. Says where: the flag, the variable, or file:line.
Result<ParsedOptions> ParseServerOptions(std::span<const std::string> args, const Environment& environment);

// For `serve --help`: grouped, at most 80 columns.
std::string ServerOptionsHelp();

// docs/options.md.
std::string ServerOptionsMarkdown();

// All settings as a configuration file that ParseServerOptions reads back to the same settings.
std::string PrintConfig(const ServerConfig& config);

}  // namespace tondar

#endif  // TONDAR_SERVER_CONFIG_OPTIONS_H_
