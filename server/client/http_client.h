// HttpClient: a small blocking client of the REST protocol, for the command line.
#ifndef TONDAR_SERVER_CLIENT_HTTP_CLIENT_H_
#define TONDAR_SERVER_CLIENT_HTTP_CLIENT_H_

#include <chrono>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace tondar {

struct HttpResponse {
  int status = 0;
  std::string body;
};

// `name` as one segment of a path: bytes that mean something there, or are not ASCII, percent-encoded (RFC 3986).
std::string EncodeSegment(std::string_view name);

// One connection per call. Thread-compatible.
class HttpClient {
 public:
  // `url`: "http://host:port", "host:port" or "host" (then port 8000). InvalidArgument: neither of these; https.
  static Result<HttpClient> Create(std::string_view url, std::chrono::milliseconds timeout);

  // Unavailable: no connection, or it broke. DeadlineExceeded: no answer in time. Any HTTP status is a result.
  Result<HttpResponse> Call(std::string_view method, std::string_view path, std::string body = "") const;

  const std::string& host() const { return host_; }
  const std::string& port() const { return port_; }

 private:
  std::string host_, port_;
  std::chrono::milliseconds timeout_{};
};

}  // namespace tondar

#endif  // TONDAR_SERVER_CLIENT_HTTP_CLIENT_H_
