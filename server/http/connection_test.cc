// The connection loop through sockets: framing, pipelining, limits, timeouts, hostile clients, draining.
#include "server/http/connection.h"

#include <gtest/gtest.h>

#include <future>
#include <random>
#include <thread>

#include "server/http/testing/served.h"

namespace tondar {
namespace {

using std::chrono::milliseconds;
using testing::FakeInferenceService;

constexpr std::string_view kInferPath = "/v2/models/m/infer";
const std::string kInfer = R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[42]}]})";

std::string Numbered(int number) {
  return R"({"id":")" + std::to_string(number) + R"(","inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[1]}]})";
}

std::string Binary(size_t size) {
  return R"({"inputs":[{"name":"x","shape":[)" + std::to_string(size) + R"(],"datatype":"UINT8","parameters":{"binary_data_size":)" +
         std::to_string(size) + R"(}}],"parameters":{"binary_data_output":true}})";
}

std::string Noise(size_t size) {
  std::string bytes(size, '\0');
  std::minstd_rand random(static_cast<unsigned>(size));
  for (char& byte : bytes) byte = static_cast<char>(random() >> 8);
  return bytes;
}

std::string TensorOf(const RawAnswer& answer) {
  const auto found = answer.headers.find("inference-header-content-length");
  return found == answer.headers.end() ? "" : answer.body.substr(std::stoul(found->second));
}

// Requests that wait until a test answers them, on a thread of its own.
struct Held {
  explicit Held(FakeInferenceService& service) {
    service.on_infer = [this](std::unique_ptr<Request> request) {
      MutexLock lock(mu);
      waiting.push_back(std::move(request));
      arrived.NotifyAll();
    };
  }
  std::unique_ptr<Request> Take() {
    MutexLock lock(mu);
    while (waiting.empty()) arrived.Wait(mu);
    auto request = std::move(waiting.front());
    waiting.erase(waiting.begin());
    return request;
  }
  Mutex mu;
  CondVar arrived;
  std::vector<std::unique_ptr<Request>> waiting;
};

bool BecomesTrue(const std::atomic<bool>& flag) {
  for (int i = 0; i < 1000 && !flag; ++i) std::this_thread::sleep_for(milliseconds(5));
  return flag;
}

TEST(Connection, KeepsAliveAndCloses) {
  Served served;
  RawClient client(served.server->port());
  for (int i = 0; i < 3; ++i) {
    const RawAnswer answer = client.Post(kInferPath, kInfer);
    EXPECT_EQ(answer.status, 200);
    EXPECT_FALSE(answer.headers.contains("connection"));
    EXPECT_TRUE(answer.headers.contains("date"));
  }
  const RawAnswer last = client.Post(kInferPath, kInfer, "Connection: close\r\n");
  EXPECT_EQ(last.status, 200);
  EXPECT_EQ(last.headers.at("connection"), "close");
  EXPECT_TRUE(client.ClosedByServer());

  RawClient old(served.server->port());
  old.Send("GET /v2/health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(old.Read().headers.at("connection"), "keep-alive");
  old.Send("GET /v2/health/live HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.Read().status, 200);
  EXPECT_TRUE(old.ClosedByServer());
}

TEST(Connection, ReadsRequestsByteByByte) {
  Served served;
  RawClient client(served.server->port());
  for (char byte : RawClient::Render("POST", kInferPath, kInfer)) ASSERT_TRUE(client.Send({&byte, 1}));
  EXPECT_EQ(client.Read().status, 200);
}

TEST(Connection, BodiesOfEverySizeArriveWhole) {
  Served served;
  RawClient client(served.server->port());
  // Around the read block (32 KiB) and beyond, sent in one piece and cut in two.
  for (size_t size : {0u, 1u, 4u, 30000u, 32000u, 32400u, 32500u, 32600u, 32704u, 32768u, 33000u, 65536u, 1000003u, 20000000u}) {
    const std::string text = Binary(size), tensor = Noise(size);
    const std::string bytes = RawClient::Render("POST", kInferPath, text + tensor,
                                                "Inference-Header-Content-Length: " + std::to_string(text.size()) + "\r\n");
    for (size_t cut : {bytes.size(), bytes.size() / 2, bytes.size() - 1}) {
      ASSERT_TRUE(client.Send(std::string_view(bytes).substr(0, cut)));
      if (cut < bytes.size()) std::this_thread::sleep_for(milliseconds(2));
      ASSERT_TRUE(client.Send(std::string_view(bytes).substr(cut)));
      const RawAnswer answer = client.Read();
      ASSERT_EQ(answer.status, 200) << size << answer.body.substr(0, 200);
      ASSERT_TRUE(TensorOf(answer) == tensor) << size;
    }
  }
}

TEST(Connection, AnswersPipelinedRequestsInOrder) {
  Served served;
  RawClient client(served.server->port());
  std::string bytes;
  constexpr int kCount = 1000;
  for (int i = 0; i < kCount; ++i) bytes += RawClient::Render("POST", kInferPath, Numbered(i));
  std::thread sender([&] { client.Send(bytes); });
  for (int i = 0; i < kCount; ++i) {
    const RawAnswer answer = client.Read();
    ASSERT_EQ(answer.status, 200);
    ASSERT_NE(answer.body.find("\"id\":\"" + std::to_string(i) + "\""), std::string::npos) << answer.body;
  }
  sender.join();
}

TEST(Connection, PipelinesMixedFramingsWhileAnswersComeFromOtherThreads) {
  Served served;
  served.inference.on_infer = [](std::unique_ptr<Request> request) {
    std::thread([request = std::move(request)]() mutable { FakeInferenceService::Echo(std::move(request)); }).detach();
  };
  RawClient client(served.server->port());
  std::string bytes;
  std::vector<std::string> tensors;
  for (int i = 0; i < 60; ++i) {
    const size_t size = static_cast<size_t>(i * i * 37 % 50000);
    const std::string text = Binary(size);
    tensors.push_back(Noise(size));
    const std::string length = "Inference-Header-Content-Length: " + std::to_string(text.size()) + "\r\n";
    const std::string body = text + tensors.back();
    if (i % 3 != 0) {
      bytes += RawClient::Render("POST", kInferPath, body, length);
      continue;
    }
    bytes += RawClient::Render("POST", kInferPath, "", length + "Transfer-Encoding: chunked\r\n");
    for (size_t at = 0; at < body.size(); at += 1000) {
      const std::string piece = body.substr(at, 1000);
      char head[16];
      std::snprintf(head, sizeof(head), "%zx\r\n", piece.size());
      bytes += head + piece + "\r\n";
    }
    bytes += "0\r\n\r\n";
  }
  std::thread sender([&] { client.Send(bytes); });
  for (const std::string& tensor : tensors) {
    const RawAnswer answer = client.Read();
    ASSERT_EQ(answer.status, 200) << answer.body.substr(0, 200);
    ASSERT_TRUE(TensorOf(answer) == tensor);
  }
  sender.join();
}

// The answer must not wait for bytes that the client has no reason to send.
TEST(Connection, AnswersAChunkedRequestThatCameWholeBehindAnother) {
  Served served;
  Held held(served.inference);
  RawClient client(served.server->port());
  client.Send(RawClient::Render("POST", kInferPath, kInfer));
  auto first = held.Take();
  client.Send(RawClient::Render("POST", "/v2/repository/index", "", "Transfer-Encoding: chunked\r\n") +
              "2\r\n{}\r\n0\r\n\r\n");
  std::this_thread::sleep_for(milliseconds(20));  // the server reads it while the first one runs
  FakeInferenceService::Echo(std::move(first));
  EXPECT_NE(client.Read().body.find("42"), std::string::npos);
  EXPECT_EQ(client.Read().status, 200);
}

TEST(Connection, ChunkedBodies) {
  Served served;
  RawClient client(served.server->port());
  client.Send(RawClient::Render("POST", kInferPath, "", "Transfer-Encoding: chunked\r\n"));
  for (char byte : kInfer) client.Send(std::string("1\r\n") + byte + "\r\n");
  client.Send("0\r\n\r\n");
  EXPECT_EQ(client.Read().status, 200);
  client.Send(RawClient::Render("POST", kInferPath, "", "Transfer-Encoding: chunked\r\n") + "zz\r\n");
  EXPECT_EQ(client.Read().status, 400);
  EXPECT_TRUE(client.ClosedByServer());
}

TEST(Connection, MillionsOfOneByteChunksAreCutOff) {
  Served served;
  RawClient client(served.server->port());
  client.Send(RawClient::Render("POST", kInferPath, "", "Transfer-Encoding: chunked\r\n"));
  std::string chunks;
  for (int i = 0; i < 10000; ++i) chunks += "1\r\n[\r\n";
  std::thread sender([&] {
    for (int i = 0; i < 300 && client.Send(chunks); ++i) {
    }
  });
  EXPECT_EQ(client.Read().status, 400);
  sender.join();
  EXPECT_EQ(RawClient(served.server->port()).Get("/v2/health/live").status, 200);
}

TEST(Connection, ExpectContinue) {
  Served served;
  RawClient client(served.server->port());
  client.Send(RawClient::Render("POST", kInferPath, "", "Expect: 100-continue\r\nContent-Length: " + std::to_string(kInfer.size()) + "\r\n"));
  EXPECT_EQ(client.Read(true).status, 100);
  client.Send(kInfer);
  EXPECT_EQ(client.Read().status, 200);
  // The body came along: no need to ask for it.
  EXPECT_EQ(client.Post(kInferPath, kInfer, "Expect: 100-continue\r\n").status, 200);
  // Too large: refused before it is sent.
  client.Send(RawClient::Render("POST", kInferPath, "", "Expect: 100-continue\r\nContent-Length: 99999999999\r\n"));
  EXPECT_EQ(client.Read().status, 413);
  EXPECT_TRUE(client.ClosedByServer());
}

TEST(Connection, SizeLimits) {
  HttpServerOptions options;
  options.max_input_size = 10000;
  Served served(options);
  const int port = served.server->port();
  EXPECT_EQ(RawClient(port).Post(kInferPath, std::string(10001, ' ')).status, 413);
  EXPECT_EQ(RawClient(port).Post(kInferPath, std::string(10000, ' ')).status, 400);  // not JSON
  // The refusal is read although the client sends on.
  EXPECT_EQ(RawClient(port).Post(kInferPath, std::string(30 << 20, ' ')).status, 413);
  RawClient chunked(port);
  chunked.Send(RawClient::Render("POST", kInferPath, "", "Transfer-Encoding: chunked\r\n") + "2711\r\n");
  EXPECT_EQ(chunked.Read().status, 413);
  EXPECT_EQ(RawClient(port).Ask("GET", "/v2", "", "X: " + std::string(20000, 'x') + "\r\n").status, 431);
  RawClient endless(port);
  endless.Send("GET /" + std::string(20000, 'x'));
  EXPECT_EQ(endless.Read().status, 431);
  EXPECT_EQ(RawClient(port).Ask("GET", "/v2", "", "X: " + std::string(16000, 'x') + "\r\n").status, 200);
}

TEST(Connection, HugeLengthsAllocateNothing) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end the process where operator new would throw";
#endif
  HttpServerOptions options;
  options.max_input_size = size_t{1} << 62;
  Served served(options);
  RawClient client(served.server->port());
  client.Send(RawClient::Render("POST", kInferPath, "", "Content-Length: 4611686018427387000\r\n"));
  EXPECT_EQ(client.Read().status, 413);
  EXPECT_EQ(RawClient(served.server->port()).Get("/v2/health/live").status, 200);
}

TEST(Connection, TruncatedRequestsAreForgotten) {
  Served served;
  const std::string whole = RawClient::Render("POST", kInferPath, kInfer);
  for (size_t size = 1; size < whole.size(); size += 7) {
    RawClient client(served.server->port());
    client.Send(std::string_view(whole).substr(0, size));
    client.FinishSending();
    EXPECT_TRUE(client.ClosedByServer()) << size;
  }
  EXPECT_EQ(served.inference.calls, 0);
}

TEST(Connection, AnswersClientsThatHaveFinishedSending) {
  Served served;
  RawClient client(served.server->port());
  client.Send(RawClient::Render("POST", kInferPath, kInfer));
  client.FinishSending();
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_TRUE(client.ClosedByServer());
}

TEST(Connection, SurvivesNoise) {
  Served served;
  std::minstd_rand random(7);
  const std::string whole = RawClient::Render("POST", kInferPath, kInfer);
  for (int i = 0; i < 300; ++i) {
    RawClient client(served.server->port());
    std::string bytes = i % 3 == 0 ? Noise(1 + random() % 3000) : whole;
    if (i % 3 == 1) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (i % 3 == 2) bytes.insert(random() % bytes.size(), Noise(1 + random() % 20));
    client.Send(bytes);
    client.FinishSending();
    while (client.Read().status != 0) {
    }
  }
  EXPECT_EQ(RawClient(served.server->port()).Get("/v2/health/live").status, 200);
}

TEST(Connection, BlankLinesBeforeARequest) {
  Served served;
  RawClient client(served.server->port());
  client.Send("\r\n\r\n" + RawClient::Render("GET", "/v2/health/live", ""));
  EXPECT_EQ(client.Read().status, 200);
}

TEST(Connection, DisconnectCancels) {
  Served served;
  Held held(served.inference);
  auto client = std::make_unique<RawClient>(served.server->port());
  client->Send(RawClient::Render("POST", kInferPath, kInfer));
  auto request = held.Take();
  const auto cancelled = request->cancelled;
  EXPECT_FALSE(*cancelled);
  client->Close();
  EXPECT_TRUE(BecomesTrue(*cancelled));
  CompleteWithError(std::move(request), Cancelled("the client left"));
  EXPECT_EQ(RawClient(served.server->port()).Get("/v2/health/live").status, 200);
}

TEST(Connection, AWaitingRequestIsNotCancelledByPipelinedOnes) {
  Served served;
  Held held(served.inference);
  RawClient client(served.server->port());
  client.Send(RawClient::Render("POST", kInferPath, kInfer));
  auto request = held.Take();
  client.Send(RawClient::Render("GET", "/v2/health/live", ""));
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(*request->cancelled);
  FakeInferenceService::Echo(std::move(request));
  EXPECT_NE(client.Read().body.find("42"), std::string::npos);
  EXPECT_EQ(client.Read().body, R"({"live":true})");
}

TEST(Connection, InputsOutliveTheConnection) {
  Served served;
  Held held(served.inference);
  for (const size_t size : {4u, 100000u}) {
    auto client = std::make_unique<RawClient>(served.server->port());
    const std::string text = Binary(size), tensor = Noise(size);
    client->Send(RawClient::Render("POST", kInferPath, text + tensor,
                                   "Inference-Header-Content-Length: " + std::to_string(text.size()) + "\r\n"));
    auto request = held.Take();
    client.reset();
    EXPECT_TRUE(BecomesTrue(*request->cancelled));
    const auto bytes = request->inputs[0].bytes;
    EXPECT_TRUE(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == tensor);
    FakeInferenceService::Echo(std::move(request));
  }
}

HttpServerOptions Hurried() {
  HttpServerOptions options;
  options.limits.idle = options.limits.head = options.limits.stall = options.limits.linger = milliseconds(100);
  options.limits.min_rate = 1 << 30;
  return options;
}

TEST(Connection, IdleClientsAreClosed) {
  Served served(Hurried());
  RawClient client(served.server->port());
  EXPECT_EQ(client.Get("/v2/health/live").status, 200);
  EXPECT_TRUE(client.ClosedByServer());
}

TEST(Connection, SlowHeadsAndBodiesAreRefused) {
  Served served(Hurried());
  for (const std::string& start : {std::string("GET /v2 HT"), RawClient::Render("POST", kInferPath, "", "Content-Length: 100\r\n") + "{",
                                   RawClient::Render("POST", kInferPath, "", "Content-Length: 1000000\r\n") + "{",
                                   RawClient::Render("POST", kInferPath, "", "Transfer-Encoding: chunked\r\n") + "5\r\n"}) {
    RawClient client(served.server->port());
    client.Send(start);
    EXPECT_EQ(client.Read().status, 408) << start;
    EXPECT_TRUE(client.ClosedByServer());
  }
}

TEST(Connection, ClientsThatDripAreCutOff) {
  Served served(Hurried());
  RawClient client(served.server->port());
  client.Send(RawClient::Render("POST", kInferPath, "", "Content-Length: 1000000\r\n"));
  int sent = 0;
  while (sent < 1000 && client.Send("x")) {
    ++sent;
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_LT(sent, 1000);
}

TEST(Connection, ClientsThatDoNotReadAreCutOff) {
  Served served(Hurried());
  RawClient client(served.server->port());
  const std::string text = Binary(60'000'000);
  client.Send(RawClient::Render("POST", kInferPath, text + std::string(60'000'000, 'x'),
                                "Inference-Header-Content-Length: " + std::to_string(text.size()) + "\r\n"));
  std::this_thread::sleep_for(milliseconds(1000));
  EXPECT_EQ(client.Read().status, 0);  // the answer was cut
}

TEST(Connection, ARunningRequestHasNoTimeout) {
  Served served(Hurried());
  Held held(served.inference);
  RawClient client(served.server->port());
  client.Send(RawClient::Render("POST", kInferPath, kInfer));
  auto request = held.Take();
  std::this_thread::sleep_for(milliseconds(400));
  FakeInferenceService::Echo(std::move(request));
  EXPECT_EQ(client.Read().status, 200);
}

TEST(Server, DrainFinishesWhatRunsAndClosesTheRest) {
  Served served;
  Held held(served.inference);
  const int port = served.server->port();
  RawClient idle(port), busy(port), late(port);
  EXPECT_EQ(idle.Get("/v2/health/live").status, 200);
  EXPECT_EQ(late.Get("/v2/health/live").status, 200);
  busy.Send(RawClient::Render("POST", kInferPath, kInfer));
  auto request = held.Take();
  auto drained = std::async(std::launch::async, [&] { return served.server->Drain(std::chrono::seconds(20)); });
  while (RawClient(port).connected()) std::this_thread::sleep_for(milliseconds(2));  // new ones are refused
  EXPECT_EQ(drained.wait_for(milliseconds(50)), std::future_status::timeout);
  const RawAnswer last = late.Get("/v2/health/live");  // if its loop has other work; else it is closed already
  if (last.status != 0) {
    EXPECT_EQ(last.headers.at("connection"), "close");
  }
  FakeInferenceService::Echo(std::move(request));
  const RawAnswer answer = busy.Read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_TRUE(drained.get());
  EXPECT_TRUE(idle.ClosedByServer());
  EXPECT_TRUE(busy.ClosedByServer());
}

TEST(Server, DrainGivesUpAtItsLimit) {
  Served served;
  Held held(served.inference);
  RawClient client(served.server->port());
  client.Send(RawClient::Render("POST", kInferPath, kInfer));
  auto request = held.Take();
  EXPECT_FALSE(served.server->Drain(milliseconds(50)));
  auto stopped = std::async(std::launch::async, [&] { served.server->Stop(); });
  EXPECT_TRUE(BecomesTrue(*request->cancelled));
  EXPECT_EQ(stopped.wait_for(milliseconds(50)), std::future_status::timeout);  // it waits for the answer
  CompleteWithError(std::move(request), Cancelled("stopping"));
  stopped.get();
  EXPECT_TRUE(client.ClosedByServer());
}

TEST(Server, SaysWhenThePortIsTaken) {
  Served served;
  HttpServerOptions options;
  options.address = "127.0.0.1";
  options.port = served.server->port();
  const auto second = HttpServer::Create(options, served.inference, served.control);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
  options.address = "not an address";
  EXPECT_EQ(HttpServer::Create(options, served.inference, served.control).status().code(), StatusCode::kInvalidArgument);
  options.threads = 0;
  EXPECT_EQ(HttpServer::Create(options, served.inference, served.control).status().code(), StatusCode::kInvalidArgument);
}

TEST(Server, ABusyLoopGetsNoNewConnections) {
  Served served;  // two loops
  std::promise<void> go_on;
  auto may_go_on = go_on.get_future().share();
  served.inference.on_infer = [may_go_on](std::unique_ptr<Request> request) {
    may_go_on.wait();  // as a model that runs on the thread that read the request
    FakeInferenceService::Echo(std::move(request));
  };
  RawClient busy(served.server->port());
  busy.Send(RawClient::Render("POST", kInferPath, kInfer));
  while (served.inference.calls == 0) std::this_thread::sleep_for(milliseconds(1));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(RawClient(served.server->port()).Get("/v2/health/live").status, 200);
  go_on.set_value();
  EXPECT_EQ(busy.Read().status, 200);
}

TEST(Server, ManyClientsAtOnce) {
  Served served;
  served.inference.on_infer = [](std::unique_ptr<Request> request) {
    std::thread([request = std::move(request)]() mutable { FakeInferenceService::Echo(std::move(request)); }).detach();
  };
  std::vector<std::thread> clients;
  std::atomic<int> good{0};
  for (int c = 0; c < 16; ++c) {
    clients.emplace_back([&, c] {
      RawClient client(served.server->port());
      for (int i = 0; i < 50; ++i) {
        const RawAnswer answer = client.Post(kInferPath, Numbered(c * 1000 + i));
        if (answer.body.find("\"id\":\"" + std::to_string(c * 1000 + i) + "\"") != std::string::npos) ++good;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 800);
}

}  // namespace
}  // namespace tondar
