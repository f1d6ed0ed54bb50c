// What passes between a connection and the routes: one request, one response, and the exchange that joins them.
#ifndef TONDAR_SERVER_HTTP_HTTP_MESSAGE_H_
#define TONDAR_SERVER_HTTP_HTTP_MESSAGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/status.h"
#include "server/request/request.h"

namespace tondar::http {

// Verbs as bits, so that a route can take several.
enum Method : uint8_t { kGet = 1, kHead = 2, kPost = 4, kOtherMethod = 8 };

// After the last byte of every body so many bytes may be read (not: mean anything), as simdjson asks.
inline constexpr size_t kBodyPadding = 64;

// One request whose body is complete. The views and `body` stay valid until the exchange has been answered; `storage`
// keeps `body` alive longer.
struct HttpRequest {
  Method method = kOtherMethod;
  std::string_view target;  // as sent, percent-encoded
  std::string_view content_encoding;
  std::string_view accept_encoding;
  std::optional<std::string_view> inference_header_length;
  std::span<const std::byte> body;
  std::shared_ptr<void> storage;
  TimePoint received;  // first byte
};

struct HttpResponse {
  int status = 200;
  std::string_view content_type = "application/json";  // a literal
  std::string text;                  // first part of the body
  std::vector<ByteBuffer> tensors;   // the rest of it, in order; never copied
  std::optional<size_t> inference_header_length;
  std::string_view content_encoding;  // a literal; "" = identity
  std::string extra_headers;          // complete lines, each ending in CRLF
};

// An answer whose encoding is left to the connection's own thread.
class DeferredResponse {
 public:
  virtual ~DeferredResponse() = default;
  virtual HttpResponse Make() = 0;
};

// Where the answer of one request goes. Lives until answered. One of the Respond functions is called exactly once, on
// any thread; the call neither blocks nor encodes.
class Exchange {
 public:
  virtual void Respond(HttpResponse response) = 0;
  virtual void Respond(std::unique_ptr<DeferredResponse> response) = 0;
  // Set once the client has gone.
  virtual const std::shared_ptr<std::atomic<bool>>& cancelled() const = 0;

 protected:
  ~Exchange() = default;
};

// Answers requests. Called on many connections' threads at once; must not block.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual void Handle(const HttpRequest& request, Exchange& exchange) = 0;
};

// {"error": "<text>"} with that HTTP status.
HttpResponse ErrorResponse(int http_status, std::string_view text);
// The same with the status code's row of status_code.cc.
HttpResponse ErrorResponse(const Status& status);

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_HTTP_MESSAGE_H_
