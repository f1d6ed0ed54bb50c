#include "server/grpc/grpc_server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "grpc_service.grpc.pb.h"
#include "health.grpc.pb.h"
#include "server/service/testing/fake_services.h"

namespace tondar {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using inference::ModelInferRequest;
using inference::ModelInferResponse;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GrpcServerTest : public ::testing::Test {
 protected:
  GrpcServerTest() { Start({.address = "127.0.0.1", .port = 0}); }

  void Start(const GrpcServerOptions& options) {
    server_.reset();
    auto server = GrpcServer::Create(options, inference_, control_);
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = std::move(server).value();
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server_->port()),
                                         grpc::InsecureChannelCredentials(), arguments);
    stub_ = inference::GRPCInferenceService::NewStub(channel_);
  }

  static ModelInferRequest EchoRequest(size_t bytes) {
    ModelInferRequest request;
    request.set_model_name("m");
    request.set_id("7");
    auto& input = *request.add_inputs();
    input.set_name("x");
    input.set_datatype("UINT8");
    input.add_shape(static_cast<int64_t>(bytes));
    std::string data(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7 + i / 251);
    request.add_raw_input_contents(data);
    return request;
  }

  testing::FakeInferenceService inference_;
  testing::FakeControlService control_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
};

TEST_F(GrpcServerTest, InfersTensorsOfAllSizesBitForBit) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, size_t{4097}, size_t{100'000}, size_t{16} << 20}) {
    const ModelInferRequest request = EchoRequest(bytes);
    ModelInferResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub_->ModelInfer(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.model_name(), "m");
    EXPECT_EQ(response.model_version(), "1");
    EXPECT_EQ(response.id(), "7");
    ASSERT_EQ(response.outputs_size(), 1);
    EXPECT_EQ(response.outputs(0).datatype(), "UINT8");
    ASSERT_EQ(response.raw_output_contents_size(), 1);
    EXPECT_TRUE(response.raw_output_contents(0) == request.raw_input_contents(0)) << bytes;
  }
}

TEST_F(GrpcServerTest, ManyClientsGetTheirOwnAnswers) {
  std::vector<std::thread> clients;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 200; ++i) {
        ModelInferRequest request = EchoRequest(4);
        request.set_id(std::to_string(c * 1000 + i));
        request.mutable_raw_input_contents(0)->assign(reinterpret_cast<const char*>(&i), 4);
        ModelInferResponse response;
        grpc::ClientContext context;
        const bool ok = stub_->ModelInfer(&context, request, &response).ok();
        if (!ok || response.id() != request.id() || response.raw_output_contents(0) != request.raw_input_contents(0)) ++wrong;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(GrpcServerTest, TheRequestCarriesWhatTheCallSaid) {
  std::unique_ptr<Request> seen;
  inference_.on_infer = [&](std::unique_ptr<Request> request) {
    auto copy = std::make_unique<Request>();
    copy->deadline = request->deadline;
    copy->protocol = request->protocol;
    copy->times = request->times;
    seen = std::move(copy);
    Complete(std::move(request), {});
  };
  ModelInferResponse response;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(stub_->ModelInfer(&context, EchoRequest(1), &response).ok());
    EXPECT_EQ(seen->deadline, TimePoint::max());
    EXPECT_EQ(seen->protocol, Protocol::kGrpc);
    EXPECT_LE(seen->times.received, Clock::Real().Now());
    EXPECT_GT(seen->times.received, Clock::Real().Now() - std::chrono::seconds(60));
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(100));
  ASSERT_TRUE(stub_->ModelInfer(&context, EchoRequest(1), &response).ok());
  const auto left = seen->deadline - Clock::Real().Now();
  EXPECT_GT(left, std::chrono::seconds(90));
  EXPECT_LT(left, std::chrono::seconds(101));
}

TEST_F(GrpcServerTest, ErrorsKeepTheirCodeAndText) {
  for (int code = 1; code <= 16; ++code) {
    inference_.on_infer = [&](std::unique_ptr<Request> request) {
      CompleteWithError(std::move(request), Status(static_cast<StatusCode>(code), "said so"));
    };
    ModelInferResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub_->ModelInfer(&context, EchoRequest(1), &response);
    EXPECT_EQ(static_cast<int>(status.error_code()), code);
    EXPECT_EQ(status.error_message(), "said so");
  }
}

TEST_F(GrpcServerTest, VeryLongMessagesArrive) {
  inference_.on_infer = [&](std::unique_ptr<Request> request) {
    std::string text;
    while (text.size() < 100'000) text += "\xc3\xa9";
    CompleteWithError(std::move(request), InvalidArgument("{}", text));
  };
  ModelInferResponse response;
  grpc::ClientContext context;
  const grpc::Status status = stub_->ModelInfer(&context, EchoRequest(1), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), ::testing::EndsWith("\xc3\xa9 ..."));
}

TEST_F(GrpcServerTest, MalformedMessagesAreTheClientsFault) {
  ModelInferRequest request = EchoRequest(1);
  request.add_raw_input_contents("surplus");
  ModelInferResponse response;
  grpc::ClientContext context;
  const grpc::Status status = stub_->ModelInfer(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "2 raw_input_contents for 1 inputs, expected one for each");
  EXPECT_EQ(inference_.refused, 1);
}

TEST_F(GrpcServerTest, MessagesAboveTheLimitAreRefused) {
  Start({.address = "127.0.0.1", .port = 0, .max_message_bytes = 10000});
  ModelInferResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(stub_->ModelInfer(&context, EchoRequest(20000), &response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  inference_.on_infer = [](std::unique_ptr<Request> request) {
    Response response;
    response.outputs.emplace_back().bytes = ByteBuffer(20000);
    Complete(std::move(request), std::move(response));
  };
  grpc::ClientContext second;
  EXPECT_EQ(stub_->ModelInfer(&second, EchoRequest(1), &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// Holds requests until the test lets them go.
class Holder {
 public:
  void Put(std::unique_ptr<Request> request) {
    std::lock_guard lock(mu_);
    held_.push_back(std::move(request));
    changed_.notify_all();
  }
  std::unique_ptr<Request> Take() {
    std::unique_lock lock(mu_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !held_.empty(); });
    if (held_.empty()) return nullptr;
    auto request = std::move(held_.front());
    held_.pop_front();
    return request;
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Request>> held_;
};

template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

TEST_F(GrpcServerTest, CancellationReachesTheRequest) {
  Holder holder;
  inference_.on_infer = [&](std::unique_ptr<Request> request) { holder.Put(std::move(request)); };
  grpc::ClientContext context;
  grpc::Status status;
  std::thread client([&] {
    ModelInferResponse response;
    status = stub_->ModelInfer(&context, EchoRequest(1), &response);
  });
  auto request = holder.Take();
  ASSERT_NE(request, nullptr);
  EXPECT_FALSE(request->cancelled->load());
  context.TryCancel();
  client.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([&] { return request->cancelled->load(); }));
  CompleteWithError(std::move(request), Cancelled("the client has gone"));
}

TEST_F(GrpcServerTest, CallsInFlightFinishDuringStop) {
  Holder holder;
  inference_.on_infer = [&](std::unique_ptr<Request> request) { holder.Put(std::move(request)); };
  grpc::Status status;
  std::thread client([&] {
    ModelInferResponse response;
    grpc::ClientContext context;
    status = stub_->ModelInfer(&context, EchoRequest(1), &response);
  });
  auto request = holder.Take();
  ASSERT_NE(request, nullptr);
  std::thread stop([&] { server_->Stop(std::chrono::seconds(20)); });
  std::this_thread::sleep_for(milliseconds(100));
  Complete(std::move(request), {});
  client.join();
  stop.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  ModelInferResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(stub_->ModelInfer(&context, EchoRequest(1), &response).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcServerTest, StopCancelsWhatTakesTooLong) {
  Holder holder;
  inference_.on_infer = [&](std::unique_ptr<Request> request) { holder.Put(std::move(request)); };
  std::thread client([&] {
    ModelInferResponse response;
    grpc::ClientContext context;
    EXPECT_FALSE(stub_->ModelInfer(&context, EchoRequest(1), &response).ok());
  });
  auto request = holder.Take();
  ASSERT_NE(request, nullptr);
  std::thread stop([&] { server_->Stop(milliseconds(50)); });
  EXPECT_TRUE(Eventually([&] { return request->cancelled->load(); }));
  CompleteWithError(std::move(request), Cancelled("shutting down"));
  client.join();
  stop.join();
}

TEST_F(GrpcServerTest, ThePortOfAnotherServerIsRefused) {
  const auto second = GrpcServer::Create({.address = "127.0.0.1", .port = server_->port()}, inference_, control_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("127.0.0.1:" + std::to_string(server_->port())));
}

TEST_F(GrpcServerTest, MetadataConfigurationAndStatistics) {
  inference::ServerMetadataResponse server;
  grpc::ClientContext c1, c2, c3, c4, c5, c6;
  ASSERT_TRUE(stub_->ServerMetadata(&c1, {}, &server).ok());
  EXPECT_EQ(server.name(), "tondar");
  EXPECT_THAT(server.extensions(), ElementsAre("binary_tensor_data", "statistics"));

  inference::ModelMetadataRequest ask;
  ask.set_name("m");
  inference::ModelMetadataResponse metadata;
  ASSERT_TRUE(stub_->ModelMetadata(&c2, ask, &metadata).ok());
  EXPECT_EQ(metadata.platform(), "onnx");
  EXPECT_THAT(metadata.versions(), ElementsAre("1", "2"));
  EXPECT_EQ(metadata.inputs(0).datatype(), "FP32");
  EXPECT_THAT(metadata.inputs(0).shape(), ElementsAre(-1, 3));

  inference::ModelConfigRequest ask_config;
  ask_config.set_name("m");
  inference::ModelConfigResponse config;
  ASSERT_TRUE(stub_->ModelConfig(&c3, ask_config, &config).ok());
  EXPECT_EQ(config.config().max_batch_size(), 64);
  EXPECT_THAT(config.config().input(0).dims(), ElementsAre(3));

  inference::ModelStatisticsResponse statistics;
  ASSERT_TRUE(stub_->ModelStatistics(&c4, {}, &statistics).ok());
  const auto& model = statistics.model_stats(0);
  EXPECT_EQ(model.inference_count(), 7u);
  EXPECT_EQ(model.inference_stats().success().ns(), 900u);
  EXPECT_TRUE(model.inference_stats().has_cache_miss());
  EXPECT_EQ(model.batch_stats(0).compute_infer().count(), 2u);
  EXPECT_EQ(model.memory_usage(0).byte_size(), 4096u);

  ask.set_name("nobody");
  const grpc::Status status = stub_->ModelMetadata(&c5, ask, &metadata);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no model 'nobody' version ''");
  ask_config.set_name("nobody");
  EXPECT_EQ(stub_->ModelConfig(&c6, ask_config, &config).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(GrpcServerTest, LivenessAndReadiness) {
  inference::ServerLiveResponse live;
  inference::ServerReadyResponse ready;
  inference::ModelReadyResponse model;
  grpc::ClientContext c1, c2, c3, c4, c5;
  ASSERT_TRUE(stub_->ServerLive(&c1, {}, &live).ok());
  EXPECT_TRUE(live.live());
  ASSERT_TRUE(stub_->ServerReady(&c2, {}, &ready).ok());
  EXPECT_TRUE(ready.ready());
  control_.ready = false;
  ASSERT_TRUE(stub_->ServerReady(&c3, {}, &ready).ok());
  EXPECT_FALSE(ready.ready());
  inference::ModelReadyRequest ask;
  ask.set_name("m");
  ASSERT_TRUE(stub_->ModelReady(&c4, ask, &model).ok());
  EXPECT_TRUE(model.ready());
  ask.set_name("nobody");
  ASSERT_TRUE(stub_->ModelReady(&c5, ask, &model).ok());
  EXPECT_FALSE(model.ready());
}

TEST_F(GrpcServerTest, TheRepository) {
  inference::RepositoryIndexRequest ask;
  inference::RepositoryIndexResponse index;
  grpc::ClientContext c1, c2, c3, c4, c5, c6;
  ASSERT_TRUE(stub_->RepositoryIndex(&c1, ask, &index).ok());
  ASSERT_EQ(index.models_size(), 3);
  EXPECT_EQ(index.models(0).reason(), "no model file");
  ask.set_ready(true);
  ASSERT_TRUE(stub_->RepositoryIndex(&c2, ask, &index).ok());
  EXPECT_EQ(index.models_size(), 2);
  ask.set_repository_name("other");
  EXPECT_EQ(stub_->RepositoryIndex(&c3, ask, &index).error_code(), grpc::StatusCode::UNIMPLEMENTED);

  Parameters seen;
  control_.on_load = [&](std::string_view name, const Parameters& parameters) {
    seen = parameters;
    return name == "m" ? OkStatus() : NotFound("no model '{}'", name);
  };
  inference::RepositoryModelLoadRequest load;
  inference::RepositoryModelLoadResponse loaded;
  load.set_model_name("m");
  (*load.mutable_parameters())["config"].set_string_param("{}");
  (*load.mutable_parameters())["file:1/model.onnx"].set_bytes_param(std::string("\0\1", 2));
  ASSERT_TRUE(stub_->RepositoryModelLoad(&c4, load, &loaded).ok());
  EXPECT_EQ(seen, (Parameters{{"config", "{}"}, {"file:1/model.onnx", std::string("\0\1", 2)}}));
  load.set_model_name("nobody");
  EXPECT_EQ(stub_->RepositoryModelLoad(&c5, load, &loaded).error_message(), "no model 'nobody'");

  inference::RepositoryModelUnloadRequest unload;
  inference::RepositoryModelUnloadResponse unloaded;
  unload.set_model_name("m");
  (*unload.mutable_parameters())["unload_dependents"].set_bool_param(true);
  EXPECT_TRUE(stub_->RepositoryModelUnload(&c6, unload, &unloaded).ok());
  MutexLock lock(control_.mu);
  EXPECT_EQ(control_.calls.back(), "unload m unload_dependents=true");
}

TEST_F(GrpcServerTest, LoadsThatWaitHoldNothingUp) {
  std::mutex gate;
  gate.lock();
  control_.on_load = [&](std::string_view, const Parameters&) {
    std::lock_guard wait(gate);
    return OkStatus();
  };
  std::vector<std::thread> loads;
  for (int i = 0; i < 8; ++i) {
    loads.emplace_back([&] {
      inference::RepositoryModelLoadResponse loaded;
      grpc::ClientContext context;
      EXPECT_TRUE(stub_->RepositoryModelLoad(&context, {}, &loaded).ok());
    });
  }
  for (int i = 0; i < 20; ++i) {
    ModelInferResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    EXPECT_TRUE(stub_->ModelInfer(&context, EchoRequest(1), &response).ok());
  }
  gate.unlock();
  for (std::thread& load : loads) load.join();
}

TEST_F(GrpcServerTest, WhatIsNotImplementedSaysSo) {
  grpc::ClientContext c1, c2, c3, c4, c5, c6, c7, c8;
  inference::SystemSharedMemoryRegisterResponse registered;
  inference::SystemSharedMemoryUnregisterResponse unregistered;
  inference::SystemSharedMemoryStatusResponse regions;
  inference::TraceSettingResponse trace;
  inference::LogSettingsResponse log;
  EXPECT_EQ(stub_->SystemSharedMemoryRegister(&c1, {}, &registered).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(stub_->SystemSharedMemoryUnregister(&c2, {}, &unregistered).ok());
  EXPECT_TRUE(stub_->SystemSharedMemoryStatus(&c3, {}, &regions).ok());
  EXPECT_EQ(regions.regions_size(), 0);
  inference::SystemSharedMemoryStatusRequest ask;
  ask.set_name("r");
  EXPECT_EQ(stub_->SystemSharedMemoryStatus(&c4, ask, &regions).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(stub_->TraceSetting(&c5, {}, &trace).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(stub_->LogSettings(&c6, {}, &log).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  auto stream = stub_->ModelStreamInfer(&c7);
  stream->Write(EchoRequest(1));
  stream->WritesDone();
  inference::ModelStreamInferResponse message;
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

class HealthTest : public GrpcServerTest {
 protected:
  HealthTest() : health_(grpc::health::v1::Health::NewStub(channel_)) {}

  std::pair<grpc::StatusCode, HealthCheckResponse::ServingStatus> Check(const std::string& service) {
    HealthCheckRequest request;
    request.set_service(service);
    HealthCheckResponse response;
    grpc::ClientContext context;
    const grpc::Status status = health_->Check(&context, request, &response);
    return {status.error_code(), response.status()};
  }

  std::unique_ptr<grpc::health::v1::Health::Stub> health_;
};

TEST_F(HealthTest, CheckFollowsReadiness) {
  EXPECT_EQ(Check(""), std::pair(grpc::StatusCode::OK, HealthCheckResponse::SERVING));
  EXPECT_EQ(Check("inference.GRPCInferenceService"), std::pair(grpc::StatusCode::OK, HealthCheckResponse::SERVING));
  EXPECT_EQ(Check("m"), std::pair(grpc::StatusCode::OK, HealthCheckResponse::SERVING));
  EXPECT_EQ(Check("nobody").first, grpc::StatusCode::NOT_FOUND);
  control_.ready = false;
  EXPECT_EQ(Check(""), std::pair(grpc::StatusCode::OK, HealthCheckResponse::NOT_SERVING));
}

TEST_F(HealthTest, WatchTellsChangesAndEndsWithTheServer) {
  grpc::ClientContext context;
  auto stream = health_->Watch(&context, HealthCheckRequest());
  HealthCheckResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  control_.ready = false;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  control_.ready = true;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  std::thread stop([&] { server_->Stop(std::chrono::seconds(20)); });
  while (stream->Read(&response)) EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  stop.join();
}

TEST_F(HealthTest, AWatchedStrangerIsUnknownAndClientsMayLeave) {
  HealthCheckRequest request;
  request.set_service("nobody");
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext context;
    auto stream = health_->Watch(&context, request);
    HealthCheckResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
}

// The certificate is its own authority, for the server and for clients.
TEST_F(GrpcServerTest, ServesOverTlsAndAsksClientsForCertificates) {
  ServerConfig config;
  config.grpc_address = "127.0.0.1";
  config.grpc_port = 0;
  config.grpc_use_ssl = config.grpc_use_ssl_mutual = true;
  config.grpc_server_cert = config.grpc_root_cert = TONDAR_SOURCE_DIR "/server/grpc/testing/localhost.cert.pem";
  config.grpc_server_key = TONDAR_SOURCE_DIR "/server/grpc/testing/localhost.key.pem";
  const auto options = GrpcOptionsFrom(config);
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  Start(*options);
  const auto call = [&](const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("localhost");
    const auto channel =
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server_->port()), credentials, arguments);
    ModelInferResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    return inference::GRPCInferenceService::NewStub(channel)->ModelInfer(&context, EchoRequest(5), &response);
  };
  const grpc::Status known =
      call(grpc::SslCredentials({options->certificate, options->private_key, options->certificate}));
  EXPECT_TRUE(known.ok()) << known.error_message();
  EXPECT_FALSE(call(grpc::SslCredentials({options->certificate, "", ""})).ok()) << "no client certificate";
  EXPECT_FALSE(call(grpc::InsecureChannelCredentials()).ok());
}

TEST(GrpcOptionsTest, MissingCertificatesAreNamed) {
  ServerConfig config;
  config.grpc_use_ssl = true;
  config.grpc_server_cert = "/nonexistent/cert.pem";
  const auto options = GrpcOptionsFrom(config);
  ASSERT_FALSE(options.ok());
  EXPECT_THAT(std::string(options.status().message()), HasSubstr("/nonexistent/cert.pem"));
}

}  // namespace
}  // namespace tondar
