// Layers the sources of settings over each other and checks the whole.
#include <algorithm>

#include "server/config/option_sources.h"
#include "server/config/options.h"

namespace tondar {
namespace {

// Applies one source. Its first value for a list replaces what sources below it said.
Status Apply(std::span<const Assignment> assignments, ServerConfig& config) {
  std::vector<const Option*> begun;
  for (const Assignment& assignment : assignments) {
    const auto* list = std::get_if<ListField>(&assignment.option->field);
    if (list != nullptr && std::find(begun.begin(), begun.end(), assignment.option) == begun.end()) {
      (config.*list->member).clear();
      begun.push_back(assignment.option);
    }
    TONDAR_RETURN_IF_ERROR(SetOption(*assignment.option, assignment.text, config).Annotated(assignment.where));
  }
  return OkStatus();
}

// The file's name is wanted before everything else: the flag's, else the variable's.
std::string ConfigFile(std::span<const Assignment> environment, std::span<const Assignment> flags) {
  std::string path;
  for (std::span<const Assignment> source : {environment, flags}) {
    for (const Assignment& assignment : source) {
      if (assignment.option->flag == "config") path = assignment.text;
    }
  }
  return path;
}

Status CheckPorts(const ServerConfig& config) {
  struct Listener {
    std::string_view flag;
    bool allowed;
    int port;
  };
  const Listener listeners[] = {{"http-port", config.allow_http, config.http_port},
                                {"grpc-port", config.allow_grpc, config.grpc_port},
                                {"metrics-port", config.allow_metrics, config.metrics_port}};
  for (const Listener& a : listeners) {
    for (const Listener& b : listeners) {
      if (&a >= &b || !a.allowed || !b.allowed || a.port == 0 || a.port != b.port) continue;
      return InvalidArgument("--{} and --{} are both {}; every front end needs a port of its own", a.flag, b.flag, a.port);
    }
  }
  return OkStatus();
}

Status CheckTls(ServerConfig& config) {
  config.grpc_use_ssl = config.grpc_use_ssl || config.grpc_use_ssl_mutual;
  if (!config.grpc_use_ssl) return OkStatus();
  if (config.grpc_server_cert.empty() || config.grpc_server_key.empty()) {
    return InvalidArgument("--grpc-use-ssl needs --grpc-server-cert and --grpc-server-key");
  }
  if (config.grpc_use_ssl_mutual && config.grpc_root_cert.empty()) {
    return InvalidArgument("--grpc-use-ssl-mutual needs --grpc-root-cert");
  }
  return OkStatus();
}

Status CheckWhole(ParsedOptions& options) {
  ServerConfig& config = options.config;
  if (config.model_repository.empty()) {
    return InvalidArgument("no model repository given; pass --model-repository=DIR");
  }
  if (!config.load_model.empty() && config.model_control_mode != ModelControlMode::kExplicit) {
    options.warnings.push_back("--load-model has no effect: it counts in --model-control-mode=explicit only");
  }
  TONDAR_RETURN_IF_ERROR(CheckPorts(config));
  return CheckTls(config);
}

}  // namespace

Result<ParsedOptions> ParseServerOptions(std::span<const std::string> args, const Environment& environment) {
  ParsedOptions options;
  TONDAR_ASSIGN_OR_RETURN(FlagAssignments flags, ReadFlags(args));
  options.warnings = std::move(flags.warnings);
  const std::vector<Assignment> variables = ReadEnvironment(environment, options.warnings);
  if (const std::string path = ConfigFile(variables, flags.assignments); !path.empty()) {
    TONDAR_ASSIGN_OR_RETURN(const std::vector<Assignment> file, ReadConfigFile(path));
    TONDAR_RETURN_IF_ERROR(Apply(file, options.config));
  }
  TONDAR_RETURN_IF_ERROR(Apply(variables, options.config));
  TONDAR_RETURN_IF_ERROR(Apply(flags.assignments, options.config));
  options.help = flags.help;
  if (!options.help) TONDAR_RETURN_IF_ERROR(CheckWhole(options));
  return options;
}

}  // namespace tondar
