// A whole server over the fake engine: ports, readiness, drain.
#include "server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "server/repository/testing/repository_bench.h"

namespace tondar {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// One HTTP/1.1 exchange over a connection of its own; "" if the port is closed.
std::string Exchange(int port, const std::string& head, const std::string& body = "") {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request = head + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " +
                                std::to_string(body.size()) + "\r\n\r\n" + body;
    if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
      char buffer[4096];
      for (ssize_t got; (got = recv(fd, buffer, sizeof(buffer), 0)) > 0;) answer.append(buffer, static_cast<size_t>(got));
    }
  }
  close(fd);
  return answer;
}

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    config_.model_repository = {directory_.path()};
    config_.http_address = config_.grpc_address = config_.metrics_address = "127.0.0.1";
    config_.http_port = config_.grpc_port = config_.metrics_port = 0;
    config_.exit_timeout = std::chrono::seconds(5);
    config_.repository_poll = 10ms;
  }
  void Create() {
    auto engine = std::make_unique<testing::FakeEngine>();
    engine_ = engine.get();
    auto server = Server::Create(config_, std::move(engine));
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = *std::move(server);
  }
  std::string Infer() {
    return Exchange(server_->http_port(), "POST /v2/models/a/infer",
                    R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,1],"data":[5]}]})");
  }

  testing::TemporaryDirectory directory_;
  ServerConfig config_;
  testing::FakeEngine* engine_ = nullptr;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, IsLiveBeforeItIsReadyAndServesWhenItIs) {
  directory_.Write("a/1/model.pt2", "10");
  Create();
  EXPECT_THAT(Exchange(server_->http_port(), "GET /v2/health/live"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Exchange(server_->http_port(), "GET /v2/health/ready"), Not(StartsWith("HTTP/1.1 200")));
  server_->Start();
  ASSERT_TRUE(server_->WaitUntilStarted().ok());
  EXPECT_THAT(Exchange(server_->http_port(), "GET /v2/health/ready"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Infer(), HasSubstr("[15"));
  const std::string metrics = Exchange(server_->metrics_port(), "GET /metrics");
  EXPECT_THAT(metrics, HasSubstr("nv_inference_request_success{model=\"a\",version=\"1\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("tondar_build_info{version="));
  EXPECT_GT(server_->grpc_port(), 0);
}

TEST_F(ServerTest, NamesTheModelsThatDoNotServe) {
  directory_.Write("a/1/model.pt2", "nonsense");
  Create();
  server_->Start();
  const Status status = server_->WaitUntilStarted();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("model 'a' version 1"));
}

TEST_F(ServerTest, PollingTakesNewVersionsIn) {
  directory_.Write("a/1/model.pt2", "10");
  Create();
  server_->Start();
  ASSERT_TRUE(server_->WaitUntilStarted().ok());
  directory_.Write("a/2/model.pt2", "20");
  const TimePoint end = Clock::Real().Now() + 20s;
  while (Infer().find("[25") == std::string::npos && Clock::Real().Now() < end) std::this_thread::sleep_for(5ms);
  EXPECT_THAT(Infer(), HasSubstr("[25"));
}

TEST_F(ServerTest, DrainFinishesWhatRunsAndClosesThePorts) {
  directory_.Write("a/1/model.pt2", "10");
  Create();
  std::atomic<bool> running{false}, let_go{false}, slow{false};
  engine_->behaviour().on_run = [&](const Binding&) {
    running = slow.load();
    while (slow && !let_go) std::this_thread::sleep_for(1ms);
    return OkStatus();
  };
  server_->Start();
  ASSERT_TRUE(server_->WaitUntilStarted().ok());
  slow = true;
  std::string answer;
  std::thread client([&] { answer = Infer(); });
  while (!running) std::this_thread::sleep_for(1ms);
  std::thread drain([&] { server_->Drain(); });
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(answer.empty());
  let_go = true;
  drain.join();
  client.join();
  EXPECT_THAT(answer, HasSubstr("[15")) << "accepted before the drain began";
  EXPECT_EQ(Exchange(server_->http_port(), "GET /v2/health/live"), "");
}

TEST_F(ServerTest, BadSettingsAreErrorsNotCrashes) {
  config_.model_repository = {"/no/such/directory"};
  EXPECT_EQ(Server::Create(config_, std::make_unique<testing::FakeEngine>()).status().code(), StatusCode::kNotFound);
  config_.model_repository = {directory_.path()};
  Create();
  config_.http_port = server_->http_port();
  EXPECT_EQ(Server::Create(config_, std::make_unique<testing::FakeEngine>()).status().code(), StatusCode::kUnavailable);
}

TEST_F(ServerTest, AStopRequestEndsTheWait) {
  Create();
  server_->Start();
  std::thread stopper([&] { server_->RequestStop(); });
  server_->WaitForStop();
  stopper.join();
}

}  // namespace
}  // namespace tondar
