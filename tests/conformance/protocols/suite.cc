#include "tests/conformance/protocols/suite.h"

#include <unistd.h>

#include <fstream>

#include "server/http/status_code.h"

namespace tondar::conformance {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = TONDAR_SOURCE_DIR;

void PutModel(const fs::path& root, const char* name, const fs::path& file) {
  fs::create_directories(root / name / "1");
  fs::copy_file(file, root / name / "1" / "model.pt2");
}

fs::path MakeRepository() {
  const fs::path root = fs::temp_directory_path() / ("tondar_protocols_" + std::to_string(::getpid()));
  fs::remove_all(root);
  PutModel(root, "identity_fp32", kSource / "models/repository/identity_fp32/1/model.pt2");
  std::ofstream(root / "identity_fp32" / "config.pbtxt") << "max_batch_size: 0";
  PutModel(root, "digits_cnn", kSource / "models/repository/digits_cnn/1/model.pt2");
  PutModel(root, "multi_io", kSource / "tests/fixtures/multi_io/model.pt2");
  PutModel(root, "bert_thin", kSource / "tests/fixtures/bert_thin/model.pt2");
  PutModel(root, "spare", kSource / "tests/fixtures/mlp/model.pt2");
  fs::create_directories(root / "broken" / "1");
  std::ofstream(root / "broken" / "1" / "model.pt2") << "not an archive";
  return root;
}

}  // namespace

fs::path ProtocolTest::root_;
std::unique_ptr<Server> ProtocolTest::server_;

void ProtocolTest::SetUpTestSuite() {
  root_ = MakeRepository();
  ServerConfig config;
  config.model_repository = {root_.string()};
  config.model_control_mode = ModelControlMode::kExplicit;
  config.load_model = {"identity_fp32", "digits_cnn", "multi_io", "bert_thin"};
  config.http_address = config.grpc_address = config.metrics_address = "127.0.0.1";
  config.http_port = config.grpc_port = config.metrics_port = 0;
  config.threads = 1;
  server_ = Server::Create(config, Engine::Create({}).value()).value();
  server_->Start();
  const Status started = server_->WaitUntilStarted();
  ASSERT_TRUE(started.ok()) << started.ToString();
}

void ProtocolTest::TearDownTestSuite() {
  server_.reset();
  fs::remove_all(root_);
}

void ProtocolTest::SetUp() {
  driver_ = GetParam().connect(*server_);
  reference_ = ConnectInProcess(*server_);
}

void ExpectSameError(const Status& found, const Status& expected) {
  EXPECT_EQ(http::HttpStatusOf(found.code()), http::HttpStatusOf(expected.code())) << found.ToString();
  EXPECT_EQ(found.message(), expected.message());
}

std::ostream& operator<<(std::ostream& out, const DriverKind& kind) { return out << kind.name; }

std::string NameOf(const testing::TestParamInfo<DriverKind>& info) { return info.param.name; }

}  // namespace tondar::conformance
