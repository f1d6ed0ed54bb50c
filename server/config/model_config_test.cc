#include "server/config/model_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model_config.pb.h"
#include "server/config/model_config_rules.h"
#include "server/config/testing/signatures.h"

namespace tondar {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A model directory with one configuration file.
class ModelConfigTest : public ::testing::Test {
 protected:
  ModelConfigTest() {
    std::string name = (fs::temp_directory_path() / "tondar_model_config_XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~ModelConfigTest() override { fs::remove_all(directory_); }

  Result<ModelConfigSource> Read(std::string_view text, const char* filename = "config.pbtxt") {
    std::ofstream(directory_ / filename) << text;
    return ReadModelConfig(directory_.string());
  }
  Result<ModelConfig> Resolve(std::string_view text, const Signature& signature, std::string_view platform = "pt2") {
    TONDAR_ASSIGN_OR_RETURN(const ModelConfigSource source, Read(text));
    return ResolveModelConfig(source, "m", platform, signature, {});
  }
  std::string Refusal(std::string_view text, const Signature& signature = testing::TextClassifier()) {
    const auto config = Resolve(text, signature);
    if (config.ok()) return "accepted";
    EXPECT_EQ(config.status().code(), StatusCode::kInvalidArgument);
    return std::string(config.status().message());
  }

  fs::path directory_;
};

TEST_F(ModelConfigTest, EverythingIsDerivedWithoutAFile) {
  const auto source = ReadModelConfig(directory_.string());
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE(source->proto == nullptr);
  const auto config = ResolveModelConfig(*source, "m", "pt2", testing::TextClassifier(), {});
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->name, "m");
  EXPECT_EQ(config->platform, "pytorch_pt2");
  EXPECT_EQ(config->max_batch_size, 64);
  EXPECT_TRUE(config->batching.enabled);
  EXPECT_EQ(config->batching.max_queue_delay.count(), 0);
  ASSERT_EQ(config->inputs.size(), 1u);
  EXPECT_EQ(config->inputs[0].name, "tokens");
  EXPECT_EQ(config->inputs[0].dtype, DType::kInt64);
  EXPECT_THAT(config->inputs[0].dims, ElementsAre(-1));
  EXPECT_THAT(config->outputs[0].dims, ElementsAre(3));
  EXPECT_EQ(config->instance_count, 1);
  EXPECT_THAT(config->warnings, IsEmpty());
}

TEST_F(ModelConfigTest, TheExportsRangeAndTheDefaultBoundTheDerivedBatch) {
  EXPECT_EQ(ResolveModelConfig({}, "m", "onnx", testing::TextClassifier(8), {})->max_batch_size, 8);
  EXPECT_EQ(ResolveModelConfig({}, "m", "onnx", testing::TextClassifier(), {.default_max_batch_size = 16})->max_batch_size, 16);
  EXPECT_EQ(ResolveModelConfig({}, "m", "onnx", testing::Fixed(), {})->max_batch_size, 0);
  EXPECT_FALSE(ResolveModelConfig({}, "m", "onnx", testing::Fixed(), {})->batching.enabled);
}

TEST_F(ModelConfigTest, AModelWhoseRowsMixIsBatchedOnlyIfTheUserSaysSo) {
  Signature signature = testing::TextClassifier();
  signature.batch_doubt = "step 'mean' reduces over the batch";
  const auto derived = Resolve("", signature);
  ASSERT_TRUE(derived.ok()) << derived.status().ToString();
  EXPECT_EQ(derived->max_batch_size, 0);
  EXPECT_THAT(derived->warnings, ElementsAre(HasSubstr("not batched, for an answer would depend on the others: step 'mean'")));
  const auto written = Resolve("max_batch_size: 8", signature);
  ASSERT_TRUE(written.ok()) << written.status().ToString();
  EXPECT_EQ(written->max_batch_size, 8);
  EXPECT_THAT(written->warnings, ElementsAre(HasSubstr("max_batch_size 8 is obeyed, but")));
}

TEST_F(ModelConfigTest, ReadsWhatUsersWrite) {
  const auto config = Resolve(R"(
    name: "m"
    backend: "onnxruntime"
    max_batch_size: 32
    input [ { name: "tokens" data_type: TYPE_INT64 dims: [ -1 ] } ]
    output [ { name: "scores" data_type: TYPE_FP32 dims: [ 3 ] label_filename: "labels.txt" } ]
    instance_group [ { count: 2 kind: KIND_CPU }, { kind: KIND_AUTO } ]
    version_policy: { specific: { versions: [ 3, 1 ] } }
    dynamic_batching {
      preferred_batch_size: [ 16, 8, 16 ]
      max_queue_delay_microseconds: 500
      preserve_ordering: true
      default_queue_policy { max_queue_size: 10 default_timeout_microseconds: 2000 timeout_action: DELAY }
    }
    parameters { key: "intra_op_thread_count" value { string_value: "1" } }
  )", testing::TextClassifier(), "onnx");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->max_batch_size, 32);
  EXPECT_EQ(config->instance_count, 3);
  EXPECT_THAT(config->version_policy.versions, ElementsAre(1, 3));
  EXPECT_THAT(config->batching.preferred_batch_sizes, ElementsAre(8, 16));
  EXPECT_EQ(config->batching.max_queue_delay.count(), 500);
  EXPECT_TRUE(config->batching.preserve_ordering);
  EXPECT_EQ(config->batching.queue.max_queue_size, 10u);
  EXPECT_EQ(config->batching.queue.timeout.count(), 2000);
  EXPECT_EQ(config->batching.queue.timeout_action, TimeoutAction::kDelay);
  EXPECT_TRUE(config->batching.queue.allow_timeout_override) << "a request's timeout counts unless it is forbidden";
  EXPECT_THAT(config->warnings, ElementsAre(HasSubstr("label_filename"), HasSubstr("'intra_op_thread_count'")));
}

TEST_F(ModelConfigTest, AWrittenZeroMeansNotBatched) {
  const auto config = Resolve("max_batch_size: 0", testing::TextClassifier());
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->max_batch_size, 0);
  EXPECT_FALSE(config->batching.enabled);
  EXPECT_THAT(config->inputs[0].dims, ElementsAre(-1, -1));
}

TEST_F(ModelConfigTest, WithoutMaxBatchSizeDimsMayBeCompleteOrPerItem) {
  for (const char* dims : {"[ -1 ]", "[ -1, -1 ]"}) {
    const auto config = Resolve(fmt::format("input {{ name: 'tokens' dims: {} }}", dims), testing::TextClassifier());
    ASSERT_TRUE(config.ok()) << config.status().ToString();
    EXPECT_EQ(config->max_batch_size, 64);
    EXPECT_THAT(config->inputs[0].dims, ElementsAre(-1));
  }
}

TEST_F(ModelConfigTest, CompleteDimsWithAFixedFirstExtentSwitchBatchingOff) {
  const auto config = Resolve("input { name: 'tokens' dims: [ 1, 128 ] }", testing::TextClassifier());
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->max_batch_size, 0);
  EXPECT_THAT(config->inputs[0].dims, ElementsAre(1, 128));
}

TEST_F(ModelConfigTest, BatchingCanBeSwitchedOff) {
  const auto config =
      Resolve("parameters { key: 'dynamic_batching' value { string_value: 'off' } }", testing::TextClassifier());
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_FALSE(config->batching.enabled);
  EXPECT_EQ(config->max_batch_size, 64);
  EXPECT_THAT(Refusal("parameters { key: 'dynamic_batching' value { string_value: 'no' } }"), HasSubstr("\"off\""));
}

TEST_F(ModelConfigTest, PositionsStandForNames) {
  const auto config = Resolve("input { name: 'INPUT__0' data_type: TYPE_INT64 dims: [ -1 ] } output { name: 'OUTPUT__0' }",
                              testing::TextClassifier());
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->inputs[0].name, "tokens");
  EXPECT_EQ(config->proto->input(0).name(), "tokens");
  EXPECT_THAT(Refusal("input { name: 'INPUT__1' }"), HasSubstr("not in the model file"));
  EXPECT_THAT(Refusal("input { name: 'INPUT__0' } input { name: 'tokens' }"), HasSubstr("listed twice"));
}

TEST_F(ModelConfigTest, ConstantsAreShownAsParametersAndMayBeListed) {
  const auto config = Resolve("input { name: 'flag' data_type: TYPE_BOOL dims: [ 1 ] optional: true }", testing::Fixed());
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->inputs.size(), 1u);
  EXPECT_EQ(config->proto->parameters().at("tondar.constant.flag").string_value(), "true");
  EXPECT_THAT(config->warnings, ElementsAre(HasSubstr("constant")));
}

TEST_F(ModelConfigTest, AScalarMayBeSpelledAsOne) {
  EXPECT_TRUE(Resolve("output { name: 'y' data_type: TYPE_FP32 dims: [ 1 ] }", testing::Fixed()).ok());
}

TEST_F(ModelConfigTest, RefusesWhatContradictsTheModelFile) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"name: 'other'", "name 'other' differs from the model's directory 'm'"},
      {"input { name: 'token' }", "input 'token' is not in the model file, which has tokens; did you mean 'tokens'?"},
      {"output { name: 'logits' }", "output 'logits' is not in the model file, which has scores"},
      {"input { name: 'tokens' data_type: TYPE_INT32 }", "data_type TYPE_INT32, expected TYPE_INT64"},
      {"max_batch_size: 8 input { name: 'tokens' dims: [ -1, -1 ] }", "leave the batch dimension out"},
      {"output { name: 'scores' dims: [ 4 ] }", "output 'scores' has dims [4], expected [3]"},
      {"output { name: 'scores' dims: [ -1 ] }", "dims [-1], expected [3]"},
      {"max_batch_size: 0 output { name: 'scores' dims: [ 3 ] }", "write the first dimension too"},
      {"max_batch_size: -1", "is negative"},
      {"max_batch_size: 2000000000", "2000000000 is out of range [0, 1048576]"},
      {"max_batch_size: 8 dynamic_batching { preferred_batch_size: 9 }", "9 is out of range [1, 8]"},
      {"dynamic_batching { max_queue_delay_microseconds: 18446744073709551615 }", "out of range"},
      {"version_policy { specific { } }", "names no version"},
      {"version_policy { specific { versions: -2 } }", "is negative"},
      {"instance_group { count: -1 }", "is negative"},
      {"instance_group { count: 2000000000 } instance_group { count: 2000000000 }", "expected at most"},
      {"default_model_filename: '../../etc/passwd'", "file name inside the version directory"},
      {"backend: 'python'", "backend 'python' cannot be served here"},
      {"platform: 'tensorrt_plan'", "platform 'tensorrt_plan' cannot be served here"},
      {"input { name: 'tokens' optional: true }", "marked optional"},
  };
  for (const Case& c : cases) EXPECT_THAT(Refusal(c.text), HasSubstr(c.message)) << c.text;
  EXPECT_THAT(Refusal("max_batch_size: 128", testing::TextClassifier(64)), HasSubstr("above 64, the largest"));
  EXPECT_THAT(Refusal("max_batch_size: 8", testing::Fixed()),
              HasSubstr("cannot batch: input 'x' has shape [4, 16], whose first extent is not variable"));
}

TEST_F(ModelConfigTest, RefusesByNameWhatWouldChangeAnswers) {
  const std::pair<const char*, const char*> cases[] = {
      {"ensemble_scheduling { step { model_name: 'a' } }", "ensemble_scheduling"},
      {"sequence_batching { oldest { } }", "sequence_batching"},
      {"model_transaction_policy { decoupled: true }", "model_transaction_policy.decoupled"},
      {"input { name: 'tokens' reshape { shape: [ ] } }", "input.reshape"},
      {"output { name: 'scores' reshape { shape: [ 3 ] } }", "output.reshape"},
      {"input { name: 'tokens' allow_ragged_batch: true }", "input.allow_ragged_batch"},
      {"batch_input { kind: BATCH_ELEMENT_COUNT }", "batch_input"},
      {"batch_output { target_name: 'scores' }", "batch_output"},
      {"model_operations { op_library_filename: 'ops.so' }", "model_operations"},
      {"model_repository_agents { agents { name: 'checksum' } }", "model_repository_agents"},
  };
  for (const auto& [text, field] : cases) EXPECT_THAT(Refusal(text), HasSubstr(std::string(field) + ":")) << text;
  EXPECT_THAT(Refusal("batch_input { } batch_output { }"), ::testing::AllOf(HasSubstr("batch_input"), HasSubstr("batch_output")));
}

TEST_F(ModelConfigTest, WarnsByNameOfWhatHasNoEffect) {
  const auto config = Resolve(R"(
      optimization { cuda { graphs: true } execution_accelerators { gpu_execution_accelerator { name: 'tensorrt' } } }
      instance_group { kind: KIND_GPU gpus: [ 0 ] }
      response_cache { enable: true }
      model_warmup { name: 'zeros' batch_size: 1 }
      metric_tags { key: 'team' value: 'search' }
      model_transaction_policy { decoupled: false })", testing::TextClassifier());
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  const std::string all = fmt::format("{}", fmt::join(config->warnings, "\n"));
  for (const char* field : {"optimization", "instance_group.kind", "instance_group.gpus", "response_cache", "model_warmup", "metric_tags"}) {
    EXPECT_THAT(all, HasSubstr(std::string(field) + " has no effect")) << all;
  }
  EXPECT_EQ(config->warnings.size(), 6u) << all;
}

TEST_F(ModelConfigTest, ErrorsSayFileLineAndColumn) {
  const std::string path = (directory_ / "config.pbtxt").string();
  auto source = Read("name: \"m\"\nmax_batch_sise: 8\n");
  ASSERT_FALSE(source.ok());
  EXPECT_THAT(std::string(source.status().message()), StartsWith(path + ":2:"));
  EXPECT_THAT(std::string(source.status().message()), HasSubstr("max_batch_sise"));
  source = Read("input [ { name: \"x\" data_type: TYPE_FLOAT } ]");
  EXPECT_THAT(std::string(source.status().message()), HasSubstr("TYPE_FLOAT"));
  source = Read("\n\ninput [ {");
  EXPECT_THAT(std::string(source.status().message()), StartsWith(path + ":3:"));
}

TEST_F(ModelConfigTest, ReadsJson) {
  const auto source = Read(R"({"max_batch_size": "8", "input": [{"name": "tokens", "dataType": "TYPE_INT64", "dims": [-1]}],
                               "dynamic_batching": {}, "parameters": {"a": {"string_value": "b"}}})", "config.json");
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_TRUE(source->says_max_batch_size);
  EXPECT_EQ(source->proto->max_batch_size(), 8);
  EXPECT_TRUE(source->proto->has_dynamic_batching());
  EXPECT_TRUE(ResolveModelConfig(*source, "m", "pt2", testing::TextClassifier(), {}).ok());
}

TEST_F(ModelConfigTest, JsonErrorsSayWhereAndWhat) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\n  \"name\": \"m\",\n  nonsense\n}", "load request:3:4: syntax error"},
      {"{", "syntax error"},
      {"[]", "expected a JSON object, found array"},
      {R"({"max_batchsize": 8})", "ModelConfig has no field 'max_batchsize'; did you mean 'max_batch_size'?"},
      {R"({"input": [{"nam": "x"}]})", "ModelInput has no field 'nam'; did you mean 'name'?"},
      {R"({"parameters": {"a": {"strng_value": "b"}}})", "ModelParameter has no field 'strng_value'"},
      {R"({"max_batch_size": "many"})", "many"},
      {R"({"input": 7})", "load request: "},
  };
  for (const auto& [json, message] : cases) {
    const auto source = ParseModelConfigJson(json, "load request");
    ASSERT_FALSE(source.ok()) << json;
    EXPECT_EQ(source.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(source.status().message()), HasSubstr(message));
  }
  const std::string deep = "{\"input\":" + std::string(250000, '[') + std::string(250000, ']') + "}";
  EXPECT_THAT(std::string(ParseModelConfigJson(deep, "load request").status().message()), HasSubstr("nested deeper"));
}

TEST_F(ModelConfigTest, PrintsWhatClientsRead) {
  const auto config = Resolve("max_batch_size: 8 parameters { key: 'b' value { string_value: '1' } } "
                              "dynamic_batching { max_queue_delay_microseconds: 5000000000000 }"
                              , testing::TextClassifier());
  EXPECT_FALSE(config.ok());
  const auto good = Resolve("max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 3000000000 }",
                            testing::TextClassifier());
  ASSERT_TRUE(good.ok()) << good.status().ToString();
  const auto json = nlohmann::json::parse(ModelConfigToJson(*good));
  EXPECT_EQ(json["name"], "m");
  EXPECT_EQ(json["platform"], "pytorch_pt2");
  EXPECT_EQ(json["max_batch_size"], 8);
  EXPECT_EQ(json["dynamic_batching"]["max_queue_delay_microseconds"], 3000000000u);
  EXPECT_EQ(json["input"][0]["data_type"], "TYPE_INT64");
  EXPECT_EQ(json["input"][0]["dims"][0], -1);
  EXPECT_EQ(json["input"][0]["optional"], false);
  EXPECT_EQ(json["input"][0]["is_shape_tensor"], false);
  EXPECT_EQ(json["output"][0]["label_filename"], "");
  EXPECT_EQ(json["version_policy"]["latest"]["num_versions"], 1);
  EXPECT_EQ(json["instance_group"][0]["count"], 1);
  EXPECT_EQ(json["instance_group"][0]["name"], "m_0");
  EXPECT_EQ(json["default_model_filename"], "model.pt2");
  EXPECT_TRUE(json["model_warmup"].is_array());
  EXPECT_TRUE(json["parameters"].is_object());
  EXPECT_FALSE(json.contains("ensemble_scheduling"));
}

TEST_F(ModelConfigTest, TensorsThatTheProtocolCannotCarryAreRefused) {
  Signature signature = testing::Fixed();
  signature.outputs[0].dtype = DType::kComplex64;
  EXPECT_THAT(Refusal("", signature), HasSubstr("output 'y' is complex64, which the inference protocol cannot carry"));
}

TEST(ModelConfigDocs, ThePageIsWhatTheTableSays) {
  const std::string path = TONDAR_SOURCE_DIR "/docs/model_configuration.md";
  if (std::getenv("TONDAR_UPDATE_DOCS") != nullptr) std::ofstream(path) << ModelConfigMarkdown();
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(text == ModelConfigMarkdown()) << "run this test with TONDAR_UPDATE_DOCS=1";
}

TEST(ModelConfigExamples, AllLoad) {
  int found = 0;
  for (const auto& entry : fs::directory_iterator(TONDAR_SOURCE_DIR "/config/models")) {
    if (!entry.is_directory()) continue;
    const auto source = ReadModelConfig(entry.path().string());
    ASSERT_TRUE(source.ok()) << source.status().ToString();
    ASSERT_TRUE(source->proto != nullptr) << entry.path();
    const auto config = ResolveModelConfig(*source, entry.path().filename().string(), "pt2", testing::TextClassifier(), {});
    EXPECT_TRUE(config.ok()) << entry.path() << ": " << config.status().ToString();
    ++found;
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace tondar
