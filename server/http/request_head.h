// The head of one HTTP/1.1 request: request line and the header fields this server acts on.
#ifndef TONDAR_SERVER_HTTP_REQUEST_HEAD_H_
#define TONDAR_SERVER_HTTP_REQUEST_HEAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/http_message.h"

namespace tondar::http {

// Views point into the parsed bytes.
struct RequestHead {
  Method method = kOtherMethod;
  std::string_view target;
  bool http_1_0 = false;
  bool keep_alive = true;
  bool chunked = false;
  bool expects_continue = false;
  uint64_t content_length = 0;  // 0 if chunked or absent
  std::string_view content_encoding;
  std::string_view accept_encoding;
  std::optional<std::string_view> inference_header_length;
};

// Why a request cannot be read; the connection is not usable after it.
struct HttpError {
  int status = 400;
  std::string text;
};

// Length of the head at the start of `bytes`, the empty line included; 0 if its end has not come yet. Bytes before
// `from` were looked at by an earlier call.
size_t FindHeadEnd(std::string_view bytes, size_t from);

// Why the first bytes of a head cannot be a request of HTTP/1, for those who knock at the wrong port; null if they can.
const char* WhyNotHttp(std::string_view bytes);

// Parses a complete head, as FindHeadEnd measured it. 400: not HTTP, or lengths that contradict each other;
// 417: an unknown expectation; 501: a transfer coding other than chunked; 505: not HTTP/1.0 or 1.1.
std::optional<HttpError> ParseRequestHead(std::string_view bytes, RequestHead& head);

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_REQUEST_HEAD_H_
