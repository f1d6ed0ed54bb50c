// `tondar serve`: settings from flags, environment and file, then a server until it is told to stop.
#include <cstdio>
#include <string>
#include <vector>

#include "cli/verbs.h"
#include "engine/base/log.h"
#include "server/config/logging.h"
#include "server/config/options.h"
#include "server/server.h"

namespace tondar {

int RunServe(int argc, char** argv) {
  constexpr int kWrongUsage = 2;
  const std::vector<std::string> args(argv + 1, argv + argc);
  const Result<ParsedOptions> options = ParseServerOptions(args, ProcessEnvironment());
  if (!options.ok()) {
    std::fprintf(stderr, "tondar serve: %s\n'tondar serve --help' lists the options.\n",
                 std::string(options.status().message()).c_str());
    return kWrongUsage;
  }
  if (options->help) {
    std::fputs(ServerOptionsHelp().c_str(), stdout);
    return 0;
  }
  SetUpLogging(options->config);
  for (const std::string& warning : options->warnings) LogWarning("{}", warning);
  return RunServer(options->config);
}

}  // namespace tondar
