// Health, metadata, configuration, statistics, repository.
#include <gmock/gmock.h>

#include "tests/conformance/protocols/suite.h"

namespace tondar::conformance {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::pair<const char*, const char*> kNobody[] = {
    {"nothing", ""}, {"nothing", "1"}, {"digits_cnn", "7"}, {"spare", ""}, {"broken", ""}};

auto Fields(const TensorMetadata& tensor) { return std::tie(tensor.name, tensor.dtype, tensor.shape); }
auto Fields(const ModelIndexEntry& entry) { return std::tie(entry.name, entry.version, entry.state, entry.reason); }
auto Fields(const StatisticDuration& duration) { return std::tie(duration.count, duration.ns); }

void ExpectSame(const std::vector<TensorMetadata>& found, const std::vector<TensorMetadata>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(Fields(found[i]), Fields(expected[i]));
}

void ExpectSame(const std::vector<ModelIndexEntry>& found, const std::vector<ModelIndexEntry>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(Fields(found[i]), Fields(expected[i]));
}

void ExpectSame(const ModelStatistics& found, const ModelStatistics& expected) {
  EXPECT_EQ(found.name, expected.name);
  EXPECT_EQ(found.version, expected.version);
  EXPECT_EQ(found.last_inference_ms, expected.last_inference_ms);
  EXPECT_EQ(found.inference_count, expected.inference_count);
  EXPECT_EQ(found.execution_count, expected.execution_count);
  EXPECT_EQ(found.memory_bytes, expected.memory_bytes);
  for (const auto member : {&ModelStatistics::success, &ModelStatistics::fail, &ModelStatistics::queue,
                            &ModelStatistics::compute_input, &ModelStatistics::compute_infer,
                            &ModelStatistics::compute_output, &ModelStatistics::cache_hit,
                            &ModelStatistics::cache_miss}) {
    EXPECT_EQ(Fields(found.*member), Fields(expected.*member));
  }
  ASSERT_EQ(found.batches.size(), expected.batches.size());
  for (size_t i = 0; i < found.batches.size(); ++i) {
    EXPECT_EQ(found.batches[i].batch_size, expected.batches[i].batch_size);
    EXPECT_EQ(Fields(found.batches[i].compute_input), Fields(expected.batches[i].compute_input));
    EXPECT_EQ(Fields(found.batches[i].compute_infer), Fields(expected.batches[i].compute_infer));
    EXPECT_EQ(Fields(found.batches[i].compute_output), Fields(expected.batches[i].compute_output));
  }
}

class ControlConformance : public ProtocolTest {};

TEST_P(ControlConformance, Health) {
  EXPECT_TRUE(driver().Live());
  EXPECT_TRUE(driver().Ready());
  EXPECT_TRUE(driver().ModelReady("digits_cnn", ""));
  EXPECT_TRUE(driver().ModelReady("digits_cnn", "1"));
  for (const auto& [model, version] : kNobody) EXPECT_FALSE(driver().ModelReady(model, version)) << model << version;
}

TEST_P(ControlConformance, ServerMetadata) {
  const auto found = driver().GetServerMetadata(), expected = reference().GetServerMetadata();
  EXPECT_EQ(found.name, "tondar");
  EXPECT_EQ(found.version, expected.version);
  EXPECT_EQ(found.extensions, expected.extensions);
  EXPECT_THAT(found.extensions, Contains("statistics"));
}

TEST_P(ControlConformance, ModelMetadata) {
  for (const char* model : {"digits_cnn", "multi_io", "bert_thin", "identity_fp32"}) {
    for (const char* version : {"", "1"}) {
      const ModelMetadata found = driver().GetModelMetadata(model, version).value();
      const ModelMetadata expected = reference().GetModelMetadata(model, version).value();
      EXPECT_EQ(found.name, model);
      EXPECT_EQ(found.platform, "pytorch_pt2");
      EXPECT_THAT(found.versions, ElementsAre("1"));
      ExpectSame(found.inputs, expected.inputs);
      ExpectSame(found.outputs, expected.outputs);
    }
  }
}

TEST_P(ControlConformance, ModelConfig) {
  for (const char* model : {"digits_cnn", "multi_io"}) {
    const std::string found = driver().GetModelConfig(model, "").value();
    EXPECT_EQ(found, reference().GetModelConfig(model, "").value());
    EXPECT_THAT(found, HasSubstr("\"name\":\"" + std::string(model) + "\""));
  }
}

TEST_P(ControlConformance, UnknownModelsAreRefusedInTheSameWords) {
  for (const auto& [model, version] : kNobody) {
    SCOPED_TRACE(std::string(model) + "/" + version);
    const Status expected = reference().GetModelMetadata(model, version).status();
    ASSERT_FALSE(expected.ok());
    EXPECT_THAT(std::string(expected.message()), HasSubstr(model));
    ExpectSameError(driver().GetModelMetadata(model, version).status(), expected);
    ExpectSameError(driver().GetModelConfig(model, version).status(), expected);
    ExpectSameError(driver().GetStatistics(model, version).status(), expected);
  }
}

TEST_P(ControlConformance, StatisticsCountWhatWasAsked) {
  const Call good{"digits_cnn", "", "", {{"image", DType::kFloat32, {3, 1, 8, 8}, std::string(768, '\0')}}, {}, {}};
  const ModelStatistics before = driver().GetStatistics("digits_cnn", "1").value().at(0);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(driver().Infer(good).ok());
  const ModelStatistics after = driver().GetStatistics("digits_cnn", "1").value().at(0);
  EXPECT_EQ(after.success.count - before.success.count, 4);
  EXPECT_EQ(after.inference_count - before.inference_count, 12);
  EXPECT_EQ(after.execution_count - before.execution_count, 4);
  ExpectSame(after, reference().GetStatistics("digits_cnn", "1").value().at(0));

  const auto all = driver().GetStatistics("", "").value(), expected = reference().GetStatistics("", "").value();
  ASSERT_EQ(all.size(), expected.size());
  for (size_t i = 0; i < all.size(); ++i) ExpectSame(all[i], expected[i]);
}

TEST_P(ControlConformance, LoadsAndUnloads) {
  ExpectSame(driver().GetIndex(false), reference().GetIndex(false));
  EXPECT_TRUE(driver().LoadModel("spare", {}).ok());
  EXPECT_TRUE(driver().ModelReady("spare", "1"));
  ExpectSame(driver().GetIndex(true), reference().GetIndex(true));

  const char* config = R"({"max_batch_size": 5})";
  EXPECT_TRUE(driver().LoadModel("spare", {{"config", std::string(config)}}).ok());
  EXPECT_THAT(driver().GetModelConfig("spare", "").value(), HasSubstr("\"max_batch_size\":5"));

  EXPECT_TRUE(driver().UnloadModel("spare", {}).ok());
  EXPECT_FALSE(driver().ModelReady("spare", ""));
  ExpectSame(driver().GetIndex(true), reference().GetIndex(true));
  ExpectSame(driver().GetIndex(false), reference().GetIndex(false));
}

TEST_P(ControlConformance, LoadsThatFailSayWhyInTheSameWords) {
  const std::pair<const char*, Parameters> cases[] = {
      {"nothing", {}},
      {"broken", {}},
      {"spare", {{"config", std::string("{")}}},
      {"spare", {{"config", std::string(R"({"name": "other"})")}}},
      {"digits_cnn", {{"config", std::string(R"({"max_batch_size": -3})")}}},
      {"spare", {{"colour", std::string("red")}}},
      {"..", {}},
  };
  for (const auto& [model, parameters] : cases) {
    SCOPED_TRACE(model);
    const Status expected = reference().LoadModel(model, parameters);
    EXPECT_FALSE(expected.ok());
    ExpectSameError(driver().LoadModel(model, parameters), expected);
    EXPECT_TRUE(driver().ModelReady("digits_cnn", "1")) << "what served goes on serving";
  }
  EXPECT_TRUE(driver().UnloadModel("spare", {}).ok());
  EXPECT_TRUE(driver().UnloadModel("broken", {{"unload_dependents", true}}).ok());
}

TEST_P(ControlConformance, UnloadsThatFailSayWhyInTheSameWords) {
  for (const Parameters& parameters :
       {Parameters{{"force", true}}, Parameters{{"unload_dependents", std::string("no")}}}) {
    const Status expected = reference().UnloadModel("digits_cnn", parameters);
    EXPECT_FALSE(expected.ok());
    ExpectSameError(driver().UnloadModel("digits_cnn", parameters), expected);
    EXPECT_TRUE(driver().ModelReady("digits_cnn", "1"));
  }
}

INSTANTIATE_TEST_SUITE_P(Protocol, ControlConformance, testing::ValuesIn(TestedDrivers()), &NameOf);

}  // namespace
}  // namespace tondar::conformance
