#include "engine/base/status.h"

#include <cstdio>
#include <cstdlib>

namespace tondar {

std::string_view StatusCodeName(StatusCode code) {
  static constexpr std::string_view kNames[] = {
      "OK",          "CANCELLED",         "UNKNOWN",           "INVALID_ARGUMENT",    "DEADLINE_EXCEEDED", "NOT_FOUND",
      "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",           "OUT_OF_RANGE",
      "UNIMPLEMENTED",  "INTERNAL",          "UNAVAILABLE",        "DATA_LOSS",           "UNAUTHENTICATED"};
  return kNames[static_cast<size_t>(code)];
}

Status::Status(StatusCode code, std::string message) {
  if (code != StatusCode::kOk) rep_ = std::make_unique<Rep>(Rep{code, std::move(message)});
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  return fmt::format("{}: {}", StatusCodeName(code()), message());
}

Status Status::Annotated(std::string_view where) const {
  if (ok()) return *this;
  return Status(code(), fmt::format("{}: {}", where, message()));
}

namespace internal {

void CheckFailed(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "%s:%d: check failed: %s %.*s\n", file, line, condition, static_cast<int>(message.size()),
               message.data());
  std::abort();
}

}  // namespace internal
}  // namespace tondar
