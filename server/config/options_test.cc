#include "server/config/options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "server/config/option_table.h"

namespace tondar {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<ParsedOptions> Parse(std::vector<std::string> args, const Environment& environment = {}) {
  args.insert(args.begin(), "--model-repository=/m");
  return ParseServerOptions(args, environment);
}

std::string Error(std::vector<std::string> args, const Environment& environment = {}) {
  const auto options = Parse(std::move(args), environment);
  if (options.ok()) return "accepted";
  EXPECT_EQ(options.status().code(), StatusCode::kInvalidArgument);
  return std::string(options.status().message());
}

class OptionsFileTest : public ::testing::Test {
 protected:
  ~OptionsFileTest() override { fs::remove(path_); }
  void Write(std::string_view text) { std::ofstream(path_) << text; }
  std::string FileError(std::string_view text) {
    Write(text);
    std::string error = Error({"--config", path_});
    const size_t at = error.find(path_);
    return at == 0 ? error.substr(path_.size()) : "does not begin with the path: " + error;
  }
  std::string path_ = fmt::format("{}/tondar_options_test_{}.yaml", fs::temp_directory_path().string(), getpid());
};

TEST(OptionsTest, TheCommandLineOfExistingManifests) {
  const auto options = ParseServerOptions(
      std::vector<std::string>{"--model-store=/mnt/models", "--grpc-port=9000", "--http-port=8080", "--allow-grpc=true",
                               "--allow-http=true"},
      {});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_THAT(options->config.model_repository, ElementsAre("/mnt/models"));
  EXPECT_EQ(options->config.grpc_port, 9000);
  EXPECT_EQ(options->config.http_port, 8080);
  EXPECT_THAT(options->warnings, IsEmpty());
}

TEST(OptionsTest, BothSpellingsOfAValueAndOfABoolean) {
  const auto options = Parse({"--http-port", "1", "--grpc-port=2", "--no-allow-metrics", "--allow-http", "--strict-readiness",
                              "false", "--log-verbose", "--exit-on-error=0", "--model-repository", "/n", "--repository-poll-secs",
                              "0.25", "--http-max-input-size=1G", "--http-thread-count=3", "--log-format=json"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  const ServerConfig& config = options->config;
  EXPECT_EQ(config.http_port, 1);
  EXPECT_EQ(config.grpc_port, 2);
  EXPECT_FALSE(config.allow_metrics);
  EXPECT_TRUE(config.allow_http);
  EXPECT_FALSE(config.strict_readiness);
  EXPECT_FALSE(config.exit_on_error);
  EXPECT_EQ(config.log_verbose, 1);
  EXPECT_EQ(config.repository_poll.count(), 250);
  EXPECT_EQ(config.http_max_input_size, 1u << 30);
  EXPECT_EQ(config.http_threads, 3);
  EXPECT_EQ(config.log_format, "json");
  EXPECT_THAT(config.model_repository, ElementsAre("/m", "/n"));
}

TEST(OptionsTest, ErrorsNameTheFlagAndTheNearestOne) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--http-prot=1"}, "unknown flag --http-prot; did you mean --http-port?"},
      {{"--model_repository=/x"}, "did you mean --model-repository?"},
      {{"--zzzzzzzzz"}, "unknown flag --zzzzzzzzz; see --help"},
      {{"--http-port=70000"}, "--http-port: '70000' is out of range [0, 65535]"},
      {{"--http-port=80x"}, "--http-port: '80x' is not an integer"},
      {{"--http-port"}, "--http-port needs a value: --http-port=N"},
      {{"--http-port", "--grpc-port=1"}, "--http-port needs a value"},
      {{"--allow-http=maybe"}, "--allow-http: 'maybe' is not true or false"},
      {{"--log-format=jsom"}, "'jsom' is not one of text, json, default, ISO8601; did you mean 'json'?"},
      {{"--model-control-mode=pol"}, "did you mean 'poll'?"},
      {{"--repository-poll-secs=nan"}, "not a number of seconds"},
      {{"--repository-poll-secs=0"}, "out of range"},
      {{"--http-max-input-size=99999999999999999999"}, "not a number of bytes"},
      {{"--http-max-input-size=99999999999999G"}, "not a number of bytes"},
      {{"models/"}, "unexpected argument 'models/'"},
      {{"--model-repository="}, "empty value"},
      {{"--http-port=8001"}, "--http-port and --grpc-port are both 8001"},
      {{"--grpc-use-ssl"}, "needs --grpc-server-cert"},
      {{"--http-restricted-api=a:b=c"}, "--http-restricted-api: access to single endpoints cannot be restricted"},
      {{"--no-http-port"}, "unknown flag --no-http-port"},
  };
  for (const auto& [args, message] : cases) EXPECT_THAT(Error(args), HasSubstr(message));
  EXPECT_THAT(std::string(ParseServerOptions({}, {}).status().message()), HasSubstr("pass --model-repository=DIR"));
}

TEST(OptionsTest, FlagsOfOtherServersAreAcceptedAndNamed) {
  const auto options = Parse({"--strict-model-config", "false", "--backend-config", "onnxruntime,x=1", "--backend-config=a,b=2",
                              "--rate-limit=off", "--http-port=5", "--cuda-memory-pool-byte-size=0:1024", "--log-file", "x"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->config.http_port, 5);
  EXPECT_THAT(options->warnings, ElementsAre(HasSubstr("--strict-model-config has no effect"), HasSubstr("--backend-config"),
                                             HasSubstr("--rate-limit"), HasSubstr("--cuda-memory-pool"), HasSubstr("--log-file")));
}

TEST(OptionsTest, HelpIsNoticedWithoutAnythingElse) {
  const auto options = ParseServerOptions(std::vector<std::string>{"--help"}, {});
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->help);
}

TEST_F(OptionsFileTest, FlagsWinOverEnvironmentOverFileOverDefaults) {
  Write("http_port: 1\ngrpc-port: 1\nmetrics_port: 1\nmodel_repository: [/file]\nload_model: [a, b]\n"
        "model_control_mode: explicit\nthreads: 7\n");
  const auto options = ParseServerOptions(
      std::vector<std::string>{"--http-port=3", "--load-model=e"},
      {{"TONDAR_CONFIG", path_}, {"TONDAR_HTTP_PORT", "2"}, {"TONDAR_GRPC_PORT", "2"}, {"TONDAR_MODEL_REPOSITORY", "/x,/y"}});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->config.http_port, 3);
  EXPECT_EQ(options->config.grpc_port, 2);
  EXPECT_EQ(options->config.metrics_port, 1);
  EXPECT_EQ(options->config.threads, 7);
  EXPECT_EQ(options->config.exit_timeout.count(), 30);
  EXPECT_THAT(options->config.model_repository, ElementsAre("/x", "/y"));
  EXPECT_THAT(options->config.load_model, ElementsAre("e"));
  EXPECT_EQ(options->config.config, path_);
}

TEST_F(OptionsFileTest, ErrorsSayFileAndLine) {
  EXPECT_THAT(FileError("http_port: 1\nhttp_prot: 2\n"), HasSubstr(":2: unknown key 'http_prot'; did you mean 'http_port'?"));
  EXPECT_THAT(FileError("\n\nhttp_port: 70000\n"), HasSubstr(":3: http_port: '70000' is out of range [0, 65535]"));
  EXPECT_THAT(FileError("http_port: [1]\n"), HasSubstr(":1: http_port: expected integer, 0 to 65535"));
  EXPECT_THAT(FileError("load_model:\n  a: b\n"), HasSubstr("expected a list"));
  EXPECT_THAT(FileError("load_model: [[a]]\n"), HasSubstr("expected a list of text"));
  EXPECT_THAT(FileError("a: b: c\n"), HasSubstr(":1: "));
  EXPECT_THAT(FileError("- a\n"), HasSubstr("expected keys and values"));
  EXPECT_THAT(FileError("http_port: 1\nhttp_port: 2\n"), HasSubstr("occurs twice"));
  EXPECT_THAT(FileError("config: other.yaml\n"), HasSubstr("unknown key 'config'"));
  EXPECT_THAT(FileError("[[[[[[[[[[{{{{{{{{"), HasSubstr(":"));
  EXPECT_THAT(Error({"--config=/nonexistent/file"}), HasSubstr("/nonexistent/file: the configuration file cannot be read"));
}

TEST_F(OptionsFileTest, AnEmptyFileIsFine) {
  Write("# nothing\n");
  EXPECT_TRUE(Parse({"--config=" + path_}).ok());
}

TEST_F(OptionsFileTest, WhatIsPrintedReadsBack) {
  ServerConfig config;
  config.model_repository = {"/a \"b\": #c", "d\\e"};
  config.model_control_mode = ModelControlMode::kExplicit;
  config.load_model = {"*"};
  config.repository_poll = std::chrono::milliseconds(1500);
  config.http_port = 0;
  config.allow_metrics = false;
  config.log_format = "ISO8601";
  Write(PrintConfig(config));
  const auto options = ParseServerOptions(std::vector<std::string>{"--config=" + path_}, {});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(PrintConfig(options->config), PrintConfig(config));
  EXPECT_EQ(options->config.model_repository, config.model_repository);
}

TEST(OptionsTest, TheEnvironmentOfKubernetesIsNotMistakenForSettings) {
  const auto options = Parse({}, {{"TONDAR_HTTP_PORT", "tcp://10.0.0.1:8000"}, {"TONDAR_SERVICE_HOST", "10.0.0.1"}, {"TONDAR_HTPP_PORT", "1"}});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->config.http_port, 8000);
  EXPECT_THAT(options->warnings, ::testing::UnorderedElementsAre(
                                     HasSubstr("TONDAR_HTPP_PORT has no effect: it names no option; did you mean 'TONDAR_HTTP_PORT'?"),
                                     HasSubstr("TONDAR_HTTP_PORT has no effect: 'tcp://10.0.0.1:8000' is the address of a Kubernetes Service")));
  EXPECT_THAT(Error({}, {{"TONDAR_THREADS", "x"}}), HasSubstr("TONDAR_THREADS: 'x' is not an integer"));
}

TEST(OptionsTest, EveryDefaultIsValidAndEveryNameUnique) {
  std::set<std::string_view> names;
  for (const Option& option : OptionTable()) {
    EXPECT_TRUE(names.insert(option.flag).second) << option.flag;
    if (!option.alias.empty()) {
      EXPECT_TRUE(names.insert(option.alias).second) << option.alias;
    }
    EXPECT_FALSE(option.help.empty());
    ServerConfig config;
    for (const std::string& value : OptionValues(option, config)) EXPECT_TRUE(SetOption(option, value, config).ok()) << option.flag;
    if (!option.bare.empty()) {
      EXPECT_TRUE(SetOption(option, option.bare, config).ok());
    }
  }
  for (const ForeignFlag& foreign : ForeignFlagTable()) EXPECT_TRUE(names.insert(foreign.flag).second) << foreign.flag;
}

TEST(OptionsTest, HelpFitsATerminalAndNamesEveryOption) {
  const std::string help = ServerOptionsHelp();
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  for (const Option& option : OptionTable()) EXPECT_THAT(help, HasSubstr(fmt::format("  --{}=", option.flag)));
}

// After a change of the table: TONDAR_UPDATE_DOCS=1 tondar_server_config_test
TEST(OptionsTest, TheDocsAreUpToDate) {
  const char* path = TONDAR_SOURCE_DIR "/docs/options.md";
  if (std::getenv("TONDAR_UPDATE_DOCS") != nullptr) std::ofstream(path) << ServerOptionsMarkdown();
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(text == ServerOptionsMarkdown()) << "run this test with TONDAR_UPDATE_DOCS=1";
}

TEST(OptionsTest, ExamplesLoad) {
  for (const char* name : {"server.yaml", "server_explicit.json"}) {
    const auto options =
        ParseServerOptions(std::vector<std::string>{fmt::format("--config={}/config/{}", TONDAR_SOURCE_DIR, name)}, {});
    ASSERT_TRUE(options.ok()) << name << ": " << options.status().ToString();
    EXPECT_THAT(options->warnings, IsEmpty()) << name;
  }
}

}  // namespace
}  // namespace tondar
