// RunServer: the server as a process, with its signals.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "engine/base/log.h"
#include "engine/base/version.h"
#include "server/server.h"

namespace tondar {
namespace {

constexpr int kFailed = 1;

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Before any thread is made, so that all of them inherit it.
void BlockStopSignals() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a client that has gone is an error of its own connection
}

// Turns stop signals into RequestStop on a thread of its own, where everything may be done. A second one ends the
// process at once.
class StopSignalThread {
 public:
  explicit StopSignalThread(Server& server) : thread_([this, &server] { Watch(server); }) {}
  ~StopSignalThread() {
    ending_ = true;
    pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }

 private:
  void Watch(Server& server) {
    const sigset_t signals = StopSignals();
    int number = 0;
    for (int count = 0; sigwait(&signals, &number) == 0 && !ending_; ++count) {
      if (count > 0) {
        LogWarning("{} while draining: ending at once, requests under way are lost", number == SIGTERM ? "SIGTERM" : "SIGINT");
        _exit(128 + number);
      }
      LogInfo("{}: draining", number == SIGTERM ? "SIGTERM" : "SIGINT");
      server.RequestStop();
    }
  }

  std::atomic<bool> ending_{false};
  std::thread thread_;
};

int Fail(const Status& status) {
  LogError("{}", status.message());
  return kFailed;
}

}  // namespace

int RunServer(const ServerConfig& config) {
  BlockStopSignals();
  Result<std::unique_ptr<Engine>> engine = Engine::Create({.cpu_isa = config.cpu_isa});
  if (!engine.ok()) return Fail(engine.status());
  LogInfo("tondar {} on {} ({})", kVersion, config.accelerator, (*engine)->cpu_isa());
  Result<std::unique_ptr<Server>> created = Server::Create(config, *std::move(engine));
  if (!created.ok()) return Fail(created.status());
  Server& server = **created;
  StopSignalThread watching(server);
  server.Start();
  const Status started = server.WaitUntilStarted();
  if (!started.ok() && config.exit_on_error) {
    server.Drain();
    return Fail(started.Annotated("exit_on_error"));
  }
  server.WaitForStop();
  server.Drain();
  LogInfo("drained");
  return 0;
}

}  // namespace tondar
