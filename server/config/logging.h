// Sets up the process's log from its settings.
#ifndef TONDAR_SERVER_CONFIG_LOGGING_H_
#define TONDAR_SERVER_CONFIG_LOGGING_H_

#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>

#include "server/config/server_config.h"

namespace tondar {

// Makes spdlog's default logger write to standard error in the format and with the levels of `config`. Once, at start,
// before other threads log.
void SetUpLogging(const ServerConfig& config);

// The same logger, writing to `stream` (borrowed), without installing it.
std::shared_ptr<spdlog::logger> MakeLogger(const ServerConfig& config, std::FILE* stream);

}  // namespace tondar

#endif  // TONDAR_SERVER_CONFIG_LOGGING_H_
