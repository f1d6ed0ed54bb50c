// One client connection: reads requests, hands each to the handler, writes the answers in order.
#ifndef TONDAR_SERVER_HTTP_CONNECTION_H_
#define TONDAR_SERVER_HTTP_CONNECTION_H_

#include <sys/uio.h>

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "server/http/body_buffer.h"
#include "server/http/chunk_decoder.h"
#include "server/http/http_message.h"
#include "server/http/request_head.h"

namespace tondar::http {

struct ConnectionLimits {
  size_t max_head_size = 16384;              // request line and fields; 431 above it; at most half a read block
  size_t max_body_size = 64u << 20;          // also when decompressed; 413 above it
  std::chrono::milliseconds idle{600'000};   // between requests
  std::chrono::milliseconds head{20'000};    // first to last byte of a head
  std::chrono::milliseconds stall{30'000};   // bodies and answers: this, plus a second for every min_rate bytes
  size_t min_rate = 16384;                   // bytes per second; slower clients are cut off
  std::chrono::milliseconds linger{5'000};   // reading on after a refusal, so that the client gets to see it
};

class Connection;

// What a connection needs of the loop it lives on. Only called on the loop's thread.
class ConnectionHost {
 public:
  virtual void Handle(const HttpRequest& request, Exchange& exchange) = 0;
  virtual const ConnectionLimits& limits() const = 0;
  virtual TimePoint Now() const = 0;
  virtual std::string_view date_line() const = 0;  // "Date: ...\r\n"
  virtual bool draining() const = 0;               // answers say Connection: close
  virtual bool OnLoopThread() const = 0;           // any thread
  // A request begins to come in; it was answered or given up.
  virtual void OnActive() = 0;
  virtual void OnInactive() = 0;
  // The last call: the host drops its reference.
  virtual void OnClosed(Connection& connection) = 0;

 protected:
  ~ConnectionHost() = default;
};

// All on the loop's thread, except Respond. One request at a time: the next is parsed when the last one's answer is
// written, which keeps pipelined answers in order. The body is a span of the read block where it fits; larger bodies
// are read into a buffer of exactly their size. shared_ptr: the host, asynchronous operations and a running request
// end at different times.
class Connection final : public Exchange, public std::enable_shared_from_this<Connection> {
 public:
  Connection(ConnectionHost& host, boost::asio::ip::tcp::socket socket);
  ~Connection();

  void Start();
  // Ends the connection at once; a running request is marked cancelled.
  void Close();
  // Between requests with nothing read of the next, or reading on after a refusal.
  bool idle() const { return !active_; }
  // Ends the connection if its client is too slow.
  void CheckDeadline(TimePoint now);

  void Respond(HttpResponse response) override;
  void Respond(std::unique_ptr<DeferredResponse> response) override;
  const std::shared_ptr<std::atomic<bool>>& cancelled() const override { return cancelled_; }

 private:
  enum class State : uint8_t { kHead, kBody, kChunks, kRunning, kWriting, kLinger, kClosed };
  struct Block;

  // Goes on until it needs the socket; each step returns whether to go on.
  void Advance();
  bool StepHead();
  bool TakeHead(size_t head_size);
  bool StartBody();
  bool StepBody();
  bool StepChunks();
  bool Dispatch();
  bool StepWrite();
  bool FinishWrite();
  bool StartLinger();

  bool Fail(int status, std::string_view text);
  bool SendContinue();
  void Answered();
  void AnsweredOnLoop();
  void BuildAnswer();
  void MakeDeferred();
  void AppendHead(size_t body_size);

  bool ReadMore();
  void OnRead(const boost::system::error_code& error, size_t size);
  void MakeRoom();
  std::span<char> Room();
  std::string_view Unparsed() const;
  void BecomeActive();
  void BecomeInactive();

  ConnectionHost& host_;
  boost::asio::ip::tcp::socket socket_;
  State state_ = State::kHead;
  bool active_ = false;        // between OnActive and OnInactive
  bool reading_ = false;       // a read is under way ...
  bool reading_body_ = false;  // ... into body_, else into block_
  bool peer_done_ = false;     // the client has closed its half
  bool in_dispatch_ = false;   // inside host_.Handle
  bool answered_ = false;      // inside Dispatch: answered before Handle returned
  bool close_after_ = false;   // after the answer
  bool linger_after_ = false;  // ... but read on a while: there is input the answer must not be lost to
  TimePoint deadline_;
  TimePoint progress_start_;   // of the body or the answer
  uint64_t progress_bytes_ = 0;

  // Where bytes are read to. shared_ptr: Request::storage may hold it beyond the connection.
  std::shared_ptr<Block> block_;
  size_t begin_ = 0, end_ = 0;  // unparsed bytes in block_
  size_t scanned_ = 0;          // of them, looked at for the end of a head
  size_t body_start_ = 0;       // in block_, behind the head

  RequestHead head_;
  HttpRequest request_;
  std::shared_ptr<BodyBuffer> body_;  // a large or chunked body; shared as block_ is
  std::optional<ChunkDecoder> chunks_;
  std::shared_ptr<std::atomic<bool>> cancelled_;

  std::shared_ptr<Connection> self_;  // while a request runs
  std::unique_ptr<DeferredResponse> deferred_;
  HttpResponse response_;
  std::string head_text_;
  std::vector<iovec> parts_;
  size_t part_ = 0;  // first of parts_ not yet written
};

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_CONNECTION_H_
