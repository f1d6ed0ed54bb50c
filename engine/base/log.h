// Logging: spdlog behind four functions, so that replacing it touches one file.
#ifndef TONDAR_ENGINE_BASE_LOG_H_
#define TONDAR_ENGINE_BASE_LOG_H_

#include <spdlog/spdlog.h>

namespace tondar {

// LogInfo("model '{}' version {}: ready in {} ms", ...). Thread-safe. What is printed and how is set once, in
// server/config/logging.cc; a library user gets spdlog's default logger.
template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::debug(format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::info(format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::warn(format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::error(format, std::forward<Args>(args)...);
}

}  // namespace tondar

#endif  // TONDAR_ENGINE_BASE_LOG_H_
