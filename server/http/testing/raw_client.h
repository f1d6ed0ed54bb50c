// A client of raw bytes: sends what a test says, however wrong, and reads what comes back.
#ifndef TONDAR_SERVER_HTTP_TESTING_RAW_CLIENT_H_
#define TONDAR_SERVER_HTTP_TESTING_RAW_CLIENT_H_

#include <chrono>
#include <map>
#include <string>
#include <string_view>

namespace tondar {

struct RawAnswer {
  int status = 0;                              // 0: the connection ended or timed out instead
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// One connection to 127.0.0.1. Reads give up after `patience`. Thread-compatible.
class RawClient {
 public:
  explicit RawClient(int port, std::chrono::milliseconds patience = std::chrono::seconds(20));
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return socket_ >= 0; }
  bool Send(std::string_view bytes);  // false once the server has closed
  RawAnswer Read(bool head_only = false);  // the next answer; head_only: to a HEAD request, or a 100
  bool ClosedByServer();              // waits for the end of the connection; false if something else comes
  void Close();
  void FinishSending();               // closes this half

  // Request and answer in one.
  RawAnswer Get(std::string_view path) { return Ask("GET", path, "", ""); }
  RawAnswer Post(std::string_view path, std::string_view body, std::string_view headers = "") {
    return Ask("POST", path, body, headers);
  }
  // `headers`: complete lines.
  RawAnswer Ask(std::string_view method, std::string_view path, std::string_view body, std::string_view headers);
  static std::string Render(std::string_view method, std::string_view path, std::string_view body,
                            std::string_view headers = "");

 private:
  bool Fill();

  int socket_ = -1;
  std::string buffer_;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_HTTP_TESTING_RAW_CLIENT_H_
