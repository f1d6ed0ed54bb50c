#include "server/http/io_loop.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <ctime>
#include <vector>

#include "engine/base/log.h"

namespace tondar::http {
namespace {

constexpr int kBusyLoad = 1000;  // connections that a running request counts for

// Deadlines are looked at every second, or more often where they are shorter than that (in tests).
std::chrono::milliseconds TickFor(const ConnectionLimits& limits) {
  const auto shortest = std::min({limits.idle, limits.head, limits.stall, limits.linger});
  return std::clamp(shortest / 4, std::chrono::milliseconds(5), std::chrono::milliseconds(1000));
}

// RFC 9110, section 5.6.7.
std::string MakeDateLine() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[64];
  const size_t size = std::strftime(text, sizeof(text), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc);
  return {text, size};
}

}  // namespace

IoLoop::IoLoop(const ConnectionLimits& limits, HttpHandler& handler, const Clock& clock)
    : limits_(limits), handler_(handler), clock_(clock), tick_(TickFor(limits)) {}

IoLoop::~IoLoop() { TONDAR_CHECK(!thread_.joinable(), "an http loop was destroyed without Stop"); }

void IoLoop::Start() {
  date_line_ = MakeDateLine();
  work_.emplace(io_.get_executor());
  ScheduleTick();
  thread_ = std::thread([this] { Run(); });
  thread_id_ = thread_.get_id();
  pthread_setname_np(thread_.native_handle(), "http-io");
}

void IoLoop::Run() { io_.run(); }

void IoLoop::ScheduleTick() {
  timer_.expires_after(tick_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !stopping_) Tick();
  });
}

void IoLoop::Tick() {
  date_line_ = MakeDateLine();
  const TimePoint now = clock_.Now();
  // A connection may close itself, so the set is not iterated while asking.
  std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->CheckDeadline(now);
  ScheduleTick();
}

int IoLoop::load() const {
  return connection_count_.load(std::memory_order_relaxed) +
         (handling_.load(std::memory_order_relaxed) ? kBusyLoad : 0);
}

void IoLoop::Adopt(int socket) {
  connection_count_.fetch_add(1, std::memory_order_relaxed);
  boost::asio::post(io_, [this, socket] {
    boost::asio::ip::tcp::socket stream(io_);
    boost::system::error_code error;
    stream.assign(boost::asio::ip::tcp::v4(), socket, error);  // the family matters to no call made here
    if (!error) stream.non_blocking(true, error);
    if (error || stopping_) {
      if (error) LogWarning("http: a connection was dropped: {}", error.message());
      if (!stream.is_open()) ::close(socket);
      connection_count_.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    stream.set_option(boost::asio::ip::tcp::no_delay(true), error);
    auto connection = std::make_shared<Connection>(*this, std::move(stream));
    connections_.insert(connection);
    connection->Start();
  });
}

void IoLoop::Handle(const HttpRequest& request, Exchange& exchange) {
  handling_.store(true, std::memory_order_relaxed);
  handler_.Handle(request, exchange);
  handling_.store(false, std::memory_order_relaxed);
}

void IoLoop::OnInactive() {
  --active_;
  if (draining_ && active_ == 0) CheckFinished();
}

void IoLoop::OnClosed(Connection& connection) {
  const auto found = connections_.find(&connection);
  if (found == connections_.end()) return;
  connections_.erase(found);
  connection_count_.fetch_sub(1, std::memory_order_relaxed);
}

void IoLoop::CloseIdle() {
  std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) {
    if (connection->idle()) connection->Close();
  }
}

void IoLoop::CloseAll() {
  std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->Close();
}

// Posted, because it is reached from inside connections.
void IoLoop::CheckFinished() {
  boost::asio::post(io_, [this] {
    if (active_ > 0) return;
    CloseIdle();
    MutexLock lock(mu_);
    drained_ = true;
    changed_.NotifyAll();
    if (!stopping_) return;
    timer_.cancel();
    work_.reset();
  });
}

void IoLoop::BeginDrain() {
  boost::asio::post(io_, [this] {
    draining_ = true;
    CheckFinished();
  });
}

bool IoLoop::AwaitDrained(TimePoint until) {
  MutexLock lock(mu_);
  while (!drained_) {
    const Duration left = until - clock_.Now();
    if (left <= Duration::zero()) return false;
    changed_.WaitFor(mu_, std::min<Duration>(left, std::chrono::seconds(1)));
  }
  return true;
}

void IoLoop::Stop() {
  if (!thread_.joinable()) return;
  boost::asio::post(io_, [this] {
    stopping_ = true;
    draining_ = true;
    CloseAll();
    CheckFinished();
  });
  thread_.join();
}

}  // namespace tondar::http
