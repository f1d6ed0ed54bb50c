#include "server/http/status_code.h"

#include <array>
#include <utility>

namespace tondar::http {
namespace {

// In the order of StatusCode. Cancelled is 400: there is no standard code for a client that left.
constexpr std::array<int, 17> kHttpStatus = {
    200,  // kOk
    400,  // kCancelled
    500,  // kUnknown
    400,  // kInvalidArgument
    504,  // kDeadlineExceeded
    404,  // kNotFound
    400,  // kAlreadyExists
    403,  // kPermissionDenied
    503,  // kResourceExhausted; sizes of bodies are answered 413 by the codec itself
    400,  // kFailedPrecondition
    503,  // kAborted
    400,  // kOutOfRange
    501,  // kUnimplemented
    500,  // kInternal
    503,  // kUnavailable
    500,  // kDataLoss
    401,  // kUnauthenticated
};

constexpr std::pair<int, std::string_view> kReasons[] = {
    {200, "OK"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

}  // namespace

int HttpStatusOf(StatusCode code) {
  const auto index = static_cast<size_t>(code);
  return index < kHttpStatus.size() ? kHttpStatus[index] : 500;
}

std::string_view ReasonPhrase(int http_status) {
  for (const auto& [status, reason] : kReasons) {
    if (status == http_status) return reason;
  }
  return "";
}

}  // namespace tondar::http
