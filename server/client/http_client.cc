#include "server/client/http_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace tondar {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

constexpr size_t kBodyLimit = size_t{1} << 30;

Status FromError(const beast::error_code& error, const std::string& where) {
  if (error == beast::error::timeout) return DeadlineExceeded("{}: no answer in time", where);
  return Unavailable("{}: {}", where, error.message());
}

// Runs the context until the pending operation has set `error`.
void Drive(asio::io_context& context) {
  context.restart();
  context.run();
}

}  // namespace

std::string EncodeSegment(std::string_view name) {
  constexpr std::string_view kUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string segment;
  for (char c : name) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      segment += c;
    } else {
      segment += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return segment;
}

Result<HttpClient> HttpClient::Create(std::string_view url, std::chrono::milliseconds timeout) {
  if (url.substr(0, 8) == "https://") return InvalidArgument("url '{}': https is not supported, use http", url);
  std::string_view rest = url.substr(0, 7) == "http://" ? url.substr(7) : url;
  rest = rest.substr(0, rest.find('/'));
  const size_t colon = rest.rfind(':');
  HttpClient client;
  client.host_ = std::string(rest.substr(0, colon));
  client.port_ = colon == std::string_view::npos ? "8000" : std::string(rest.substr(colon + 1));
  client.timeout_ = timeout;
  if (client.host_.empty() || client.port_.empty() || client.port_.find_first_not_of("0123456789") != std::string::npos) {
    return InvalidArgument("url '{}': expected http://HOST:PORT", url);
  }
  return client;
}

Result<HttpResponse> HttpClient::Call(std::string_view method, std::string_view path, std::string body) const {
  const std::string where = fmt::format("http://{}:{}{}", host_, port_, path);
  asio::io_context context;
  beast::error_code error;
  asio::ip::tcp::resolver resolver(context);
  const auto endpoints = resolver.resolve(host_, port_, error);
  if (error) return FromError(error, where);
  beast::tcp_stream stream(context);
  auto done = [&error](const beast::error_code& outcome, const auto&...) { error = outcome; };

  stream.expires_after(timeout_);
  stream.async_connect(endpoints, done);
  Drive(context);
  if (error) return FromError(error, where);

  http::request<http::string_body> request(http::string_to_verb(std::string(method)), std::string(path), 11);
  request.set(http::field::host, host_);
  request.set(http::field::user_agent, "tondar");
  request.body() = std::move(body);
  request.prepare_payload();
  http::async_write(stream, request, done);
  Drive(context);
  if (error) return FromError(error, where);

  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kBodyLimit);
  http::async_read(stream, buffer, parser, done);
  Drive(context);
  if (error) return FromError(error, where);
  return HttpResponse{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
}

}  // namespace tondar
