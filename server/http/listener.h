// Accepts TCP connections and spreads them over loops.
#ifndef TONDAR_SERVER_HTTP_LISTENER_H_
#define TONDAR_SERVER_HTTP_LISTENER_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/status.h"
#include "server/http/connection.h"
#include "server/http/http_message.h"
#include "server/http/io_loop.h"

namespace tondar::http {

struct ListenerOptions {
  std::string address = "0.0.0.0";
  int port = 8000;  // 0 = any free one
  int threads = 2;  // that read, answer and may run inferences
  ConnectionLimits limits;
};

// A listening port. New connections go to the loop with the least to do: one that runs an inference is passed over
// while another is free, so that health checks are answered. A thread of its own accepts.
class Listener {
 public:
  // Listens from here on. `handler` outlives the listener. InvalidArgument: bad address or options. Unavailable: the
  // port is taken or not permitted.
  static Result<std::unique_ptr<Listener>> Create(const ListenerOptions& options, HttpHandler& handler,
                                                  const Clock& clock = Clock::Real());
  ~Listener();

  int port() const { return port_; }

  // Refuses new connections; answers close theirs. Does not block.
  void BeginDrain();
  // BeginDrain, then waits until every request under way is answered and all connections are closed. False if `limit`
  // passed first; what is left then ends with Stop.
  bool Drain(std::chrono::milliseconds limit);
  // Closes everything. Requests under way are marked cancelled; blocks until the handler's side has answered them.
  void Stop();

 private:
  Listener(const ListenerOptions& options, HttpHandler& handler, const Clock& clock);

  Status Listen(const ListenerOptions& options);
  void Start();
  void AcceptMore();
  void AcceptAll();
  void StopAccepting();
  IoLoop& LeastLoaded();

  const Clock& clock_;
  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::acceptor acceptor_{io_};  // the accepting thread's
  boost::asio::steady_timer pause_{io_};
  int port_ = 0;
  std::vector<std::unique_ptr<IoLoop>> loops_;  // fixed after construction
  size_t next_ = 0;
  std::thread thread_;
};

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_LISTENER_H_
