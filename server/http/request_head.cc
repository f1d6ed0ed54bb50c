#include "server/http/request_head.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cctype>
#include <limits>

namespace tondar::http {
namespace {

namespace beast = boost::beast;

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

Method MethodOf(beast::http::verb verb) {
  switch (verb) {
    case beast::http::verb::get: return kGet;
    case beast::http::verb::head: return kHead;
    case beast::http::verb::post: return kPost;
    default: return kOtherMethod;
  }
}

// Takes the head alone from Beast's parser; bodies are read by the connection.
class HeadParser final : public beast::http::basic_parser<true> {
 public:
  HeadParser(std::string_view bytes, RequestHead& head) : bytes_(bytes), head_(head) {
    eager(false);
    skip(false);
    header_limit(std::numeric_limits<uint32_t>::max());  // the connection has measured it
    body_limit(std::numeric_limits<uint64_t>::max());
  }

  std::optional<HttpError> Parse() {
    beast::error_code error;
    put(boost::asio::const_buffer(bytes_.data(), bytes_.size()), error);
    if (refusal_) return std::move(refusal_);
    if (error == beast::http::error::bad_version) {
      return HttpError{505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
    }
    if (error || !is_header_done()) return HttpError{400, "malformed HTTP request: " + error.message()};
    head_.keep_alive = keep_alive();
    head_.chunked = chunked();
    head_.content_length = content_length().value_or(0);
    return std::nullopt;
  }

 private:
  using ErrorCode = beast::error_code;
  using Text = beast::string_view;

  void on_request_impl(beast::http::verb verb, Text, Text target, int version, ErrorCode&) override {
    head_.method = MethodOf(verb);
    head_.target = View(target);
    head_.http_1_0 = version == 10;
  }

  void on_field_impl(beast::http::field name, Text name_text, Text value, ErrorCode& error) override {
    using Field = beast::http::field;
    switch (name) {
      case Field::content_encoding: return TakeOnce(head_.content_encoding, "Content-Encoding", value, error);
      case Field::accept_encoding: return Take(head_.accept_encoding, "Accept-Encoding", value, error);
      case Field::transfer_encoding:
        // Beast reads "gzip, chunked" as chunked and "gzip" as no body at all.
        if (!beast::iequals(value, "chunked")) Refuse(501, "a transfer coding other than chunked", error);
        return;
      case Field::expect:
        if (!beast::iequals(value, "100-continue")) Refuse(417, "an expectation other than 100-continue", error);
        head_.expects_continue = true;
        return;
      case Field::unknown:
        if (!beast::iequals(name_text, "Inference-Header-Content-Length")) return;
        if (head_.inference_header_length) return Refuse(400, "Inference-Header-Content-Length twice", error);
        return Take(head_.inference_header_length.emplace(), "Inference-Header-Content-Length", value, error);
      default: return;
    }
  }

  void Take(std::string_view& to, const char* name, Text value, ErrorCode& error) {
    // Folded values come from a buffer of Beast's own that does not live on.
    const bool in_place = value.empty() || (value.data() >= bytes_.data() &&
                                            value.data() + value.size() <= bytes_.data() + bytes_.size());
    if (!in_place) return Refuse(400, std::string("a folded header field ") + name, error);
    to = View(value);
  }

  void TakeOnce(std::string_view& to, const char* name, Text value, ErrorCode& error) {
    if (!to.empty()) return Refuse(400, std::string(name) + " twice", error);
    Take(to, name, value, error);
  }

  void Refuse(int status, const std::string& what, ErrorCode& error) {
    refusal_ = HttpError{status, "request not accepted: " + what};
    error = beast::http::error::bad_value;
  }

  void on_response_impl(int, Text, int, ErrorCode&) override {}
  void on_header_impl(ErrorCode&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, ErrorCode&) override {}
  size_t on_body_impl(Text, ErrorCode&) override { return 0; }
  void on_chunk_header_impl(uint64_t, Text, ErrorCode&) override {}
  size_t on_chunk_body_impl(uint64_t, Text, ErrorCode&) override { return 0; }
  void on_finish_impl(ErrorCode&) override {}

  std::string_view bytes_;
  RequestHead& head_;
  std::optional<HttpError> refusal_;
};

}  // namespace

size_t FindHeadEnd(std::string_view bytes, size_t from) {
  const size_t end = bytes.find("\r\n\r\n", from < 3 ? 0 : from - 3);
  return end == std::string_view::npos ? 0 : end + 4;
}

const char* WhyNotHttp(std::string_view bytes) {
  constexpr char kTlsHandshake = 0x16;
  constexpr std::string_view kHttp2 = "PRI * HTTP/2.0";
  if (bytes.starts_with(kHttp2)) return "this port speaks HTTP/1.1, not HTTP/2; gRPC clients must use the gRPC port";
  if (bytes[0] == kTlsHandshake) return "this port speaks plain HTTP, not TLS; use http:// or a proxy that ends TLS";
  const bool is_method = std::isalpha(static_cast<unsigned char>(bytes[0])) != 0;
  return is_method ? nullptr : "this is no HTTP request";
}

std::optional<HttpError> ParseRequestHead(std::string_view bytes, RequestHead& head) {
  head = RequestHead();
  return HeadParser(bytes, head).Parse();
}

}  // namespace tondar::http
