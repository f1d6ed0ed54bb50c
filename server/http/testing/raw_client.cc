#include "server/http/testing/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace tondar {

RawClient::RawClient(int port, std::chrono::milliseconds patience) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval timeout{static_cast<time_t>(patience.count() / 1000),
                        static_cast<suseconds_t>(patience.count() % 1000 * 1000)};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) Close();
}

RawClient::~RawClient() { Close(); }

void RawClient::Close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void RawClient::FinishSending() { ::shutdown(socket_, SHUT_WR); }

bool RawClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool RawClient::Fill() {
  char bytes[65536];
  const ssize_t size = ::recv(socket_, bytes, sizeof(bytes), 0);
  if (size <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(size));
  return true;
}

RawAnswer RawClient::Read(bool head_only) {
  size_t head_end = 0;
  while ((head_end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill()) return {};
  }
  RawAnswer answer;
  answer.status = std::atoi(buffer_.c_str() + sizeof("HTTP/1.1"));
  size_t line = buffer_.find("\r\n") + 2;
  while (line < head_end) {
    const size_t end = buffer_.find("\r\n", line);
    const size_t colon = buffer_.find(": ", line);
    std::string name = buffer_.substr(line, colon - line);
    std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    answer.headers[name] = buffer_.substr(colon + 2, end - colon - 2);
    line = end + 2;
  }
  buffer_.erase(0, head_end + 4);
  const size_t size = head_only ? 0 : std::strtoul(answer.headers["content-length"].c_str(), nullptr, 10);
  while (buffer_.size() < size) {
    if (!Fill()) return {};
  }
  answer.body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return answer;
}

bool RawClient::ClosedByServer() {
  if (!buffer_.empty()) return false;
  char byte = 0;
  const ssize_t size = ::recv(socket_, &byte, 1, 0);
  return size == 0 || (size < 0 && errno == ECONNRESET);
}

std::string RawClient::Render(std::string_view method, std::string_view path, std::string_view body,
                              std::string_view headers) {
  std::string text = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n" + std::string(headers);
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + std::string(body);
}

RawAnswer RawClient::Ask(std::string_view method, std::string_view path, std::string_view body,
                         std::string_view headers) {
  Send(Render(method, path, body, headers));  // a refusal may come before all is sent, so go on and read it
  return Read(method == "HEAD");
}

}  // namespace tondar
