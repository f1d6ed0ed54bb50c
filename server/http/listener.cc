#include "server/http/listener.h"

#include <pthread.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>

#include "engine/base/log.h"

namespace tondar::http {
namespace {

using boost::asio::ip::tcp;

constexpr int kBacklog = 4096;  // the kernel caps it at net.core.somaxconn
constexpr std::chrono::milliseconds kPauseWithoutFiles{100};
constexpr size_t kMaxHeadSize = 16384;  // half of a connection's read block

Status CheckOptions(const ListenerOptions& options) {
  if (options.port < 0 || options.port > 65535) {
    return InvalidArgument("http: port {} is out of range [0, 65535]", options.port);
  }
  if (options.threads < 1 || options.threads > 1024) {
    return InvalidArgument("http: {} threads is out of range [1, 1024]", options.threads);
  }
  if (options.limits.max_head_size > kMaxHeadSize) {
    return InvalidArgument("http: max_head_size {} is above {}", options.limits.max_head_size, kMaxHeadSize);
  }
  return OkStatus();
}

}  // namespace

Listener::Listener(const ListenerOptions& options, HttpHandler& handler, const Clock& clock) : clock_(clock) {
  for (int i = 0; i < options.threads; ++i) {
    loops_.push_back(std::make_unique<IoLoop>(options.limits, handler, clock));
  }
}

Result<std::unique_ptr<Listener>> Listener::Create(const ListenerOptions& options, HttpHandler& handler,
                                                   const Clock& clock) {
  TONDAR_RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<Listener> listener(new Listener(options, handler, clock));
  TONDAR_RETURN_IF_ERROR(listener->Listen(options));
  listener->Start();
  return listener;
}

Listener::~Listener() { Stop(); }

Status Listener::Listen(const ListenerOptions& options) {
  boost::system::error_code error;
  tcp::resolver resolver(io_);
  const auto found = resolver.resolve(options.address, std::to_string(options.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty()) {
    return InvalidArgument("http: address '{}' cannot be resolved: {}", options.address, error.message());
  }
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(kBacklog, error);
  if (!error) acceptor_.non_blocking(true, error);
  if (error) {
    return Unavailable("http: cannot listen on {}:{}: {}", options.address, options.port, error.message());
  }
  port_ = acceptor_.local_endpoint(error).port();
  return OkStatus();
}

void Listener::Start() {
  for (auto& loop : loops_) loop->Start();
  AcceptMore();
  thread_ = std::thread([this] { io_.run(); });
  pthread_setname_np(thread_.native_handle(), "http-accept");
}

void Listener::AcceptMore() {
  acceptor_.async_wait(tcp::acceptor::wait_read, [this](const boost::system::error_code& error) {
    if (!error && acceptor_.is_open()) AcceptAll();
  });
}

void Listener::AcceptAll() {
  while (true) {
    const int socket = ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      LeastLoaded().Adopt(socket);
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return AcceptMore();
    if (errno == ECONNABORTED || errno == EINTR) continue;
    // Out of file descriptors or memory: those waiting stay in the backlog until some are free.
    LogWarning("http: cannot accept a connection: {}; trying again", std::strerror(errno));
    pause_.expires_after(kPauseWithoutFiles);
    pause_.async_wait([this](const boost::system::error_code& error) {
      if (!error && acceptor_.is_open()) AcceptAll();
    });
    return;
  }
}

IoLoop& Listener::LeastLoaded() {
  IoLoop* best = loops_[next_ % loops_.size()].get();
  for (size_t i = 1; i < loops_.size(); ++i) {
    IoLoop* other = loops_[(next_ + i) % loops_.size()].get();
    if (other->load() < best->load()) best = other;
  }
  ++next_;
  return *best;
}

void Listener::StopAccepting() {
  boost::asio::post(io_, [this] {
    boost::system::error_code ignored;  // it is closed afterwards in any case
    acceptor_.close(ignored);
    pause_.cancel();
  });
  if (thread_.joinable()) thread_.join();  // nothing is left to run, so it ends
}

void Listener::BeginDrain() {
  StopAccepting();
  for (auto& loop : loops_) loop->BeginDrain();
}

bool Listener::Drain(std::chrono::milliseconds limit) {
  const TimePoint until = clock_.Now() + limit;
  BeginDrain();
  bool drained = true;
  for (auto& loop : loops_) drained = loop->AwaitDrained(until) && drained;
  return drained;
}

void Listener::Stop() {
  StopAccepting();
  for (auto& loop : loops_) loop->Stop();
}

}  // namespace tondar::http
