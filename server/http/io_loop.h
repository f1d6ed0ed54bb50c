// One thread with the connections that live on it.
#ifndef TONDAR_SERVER_HTTP_IO_LOOP_H_
#define TONDAR_SERVER_HTTP_IO_LOOP_H_

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"
#include "server/http/connection.h"
#include "server/http/http_message.h"

namespace tondar::http {

// Thread-safe, but for what ConnectionHost says.
class IoLoop final : public ConnectionHost {
 public:
  // `handler` and `clock` outlive the loop.
  IoLoop(const ConnectionLimits& limits, HttpHandler& handler, const Clock& clock);
  // After Stop, or never started.
  ~IoLoop();

  void Start();
  // Takes over an accepted, non-blocking TCP socket.
  void Adopt(int socket);
  // How much the loop has to do, for placing new connections: those it has, and a running request counts much.
  int load() const;

  // From here on answers close their connections, and once no request is under way all others are closed too.
  void BeginDrain();
  // Waits for that; false if `until` came first.
  bool AwaitDrained(TimePoint until);
  // Closes all connections and ends the thread, once the requests under way have been answered by the handler's side.
  void Stop();

  void Handle(const HttpRequest& request, Exchange& exchange) override;
  const ConnectionLimits& limits() const override { return limits_; }
  TimePoint Now() const override { return clock_.Now(); }
  std::string_view date_line() const override { return date_line_; }
  bool draining() const override { return draining_; }
  bool OnLoopThread() const override { return std::this_thread::get_id() == thread_id_; }
  void OnActive() override { ++active_; }
  void OnInactive() override;
  void OnClosed(Connection& connection) override;

 private:
  struct SameConnection {
    using is_transparent = void;
    static const Connection* Address(const std::shared_ptr<Connection>& c) { return c.get(); }
    static const Connection* Address(const Connection* c) { return c; }
    size_t operator()(const auto& c) const { return std::hash<const Connection*>()(Address(c)); }
    bool operator()(const auto& a, const auto& b) const { return Address(a) == Address(b); }
  };

  void Run();
  void Tick();
  void ScheduleTick();
  void CloseIdle();
  void CloseAll();
  void CheckFinished() TONDAR_EXCLUDES(mu_);

  const ConnectionLimits limits_;
  HttpHandler& handler_;
  const Clock& clock_;
  const std::chrono::milliseconds tick_;

  boost::asio::io_context io_{1};
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
  boost::asio::steady_timer timer_{io_};
  std::thread thread_;
  std::thread::id thread_id_;  // set before the first connection comes

  std::atomic<int> connection_count_{0};
  std::atomic<bool> handling_{false};

  // The loop's thread only.
  std::unordered_set<std::shared_ptr<Connection>, SameConnection, SameConnection> connections_;
  int active_ = 0;
  bool draining_ = false;
  bool stopping_ = false;
  std::string date_line_;

  Mutex mu_;
  CondVar changed_;
  bool drained_ TONDAR_GUARDED_BY(mu_) = false;
};

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_IO_LOOP_H_
