#include "server/service/validate_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <list>

namespace tondar {
namespace {

using ::testing::HasSubstr;

// tokens: int64 [batch, s1 in 1..512], mask: float32 [batch, s1] -> logits: float32 [batch, 2], pooled: float32 [batch, 8];
// "training" was exported as False, "scale" as 0.1, "mode" as "mean".
class ValidateRequestTest : public ::testing::Test {
 protected:
  ValidateRequestTest() {
    signature_.symbols = {{"batch", 1, 1024}, {"s1", 1, 512}};
    const Dim batch = Dim::Symbol(0), length = Dim::Symbol(1);
    signature_.inputs = {{"tokens", DType::kInt64, {batch, length}}, {"mask", DType::kFloat32, {batch, length}}};
    signature_.outputs = {{"logits", DType::kFloat32, {batch, Dim(2)}}, {"pooled", DType::kFloat32, {batch, Dim(8)}}};
    signature_.constants = {{"training", false}, {"scale", 0.1}, {"mode", std::string("mean")}};
    DeriveBatching(signature_);
    config_.max_batch_size = 8;
    config_.inputs = {{"tokens", DType::kInt64, {-1}, false}, {"mask", DType::kFloat32, {-1}, false}};
    config_.outputs = {{"logits", DType::kFloat32, {2}, false}, {"pooled", DType::kFloat32, {8}, false}};
  }

  InputTensor Tensor(std::string name, DType dtype, Dims shape) {
    const auto elements = CheckedElementCount(shape.span());
    const size_t bytes = elements && *elements < 100000 ? static_cast<size_t>(*elements) * SizeOf(dtype) : 0;
    return {std::move(name), dtype, shape, std::span(zeros_).first(bytes), {}};
  }
  template <typename T>
  InputTensor Scalar(std::string name, DType dtype, const T& value) {
    auto& stored = values_.emplace_back(sizeof(T));
    std::memcpy(stored.data(), &value, sizeof(T));
    return {std::move(name), dtype, Dims{1}, stored, {}};
  }
  Request Good() {
    Request request;
    request.inputs.push_back(Tensor("tokens", DType::kInt64, {3, 16}));
    request.inputs.push_back(Tensor("mask", DType::kFloat32, {3, 16}));
    return request;
  }
  Status Validate(Request& request) { return ValidateRequest(config_, signature_, request); }
  void ExpectRefused(Request request, const std::string& words) {
    const Status status = Validate(request);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }

  Signature signature_;
  ModelConfig config_;
  std::vector<std::byte> zeros_ = std::vector<std::byte>(800000);
  std::list<std::vector<std::byte>> values_;
};

TEST_F(ValidateRequestTest, AcceptsAndCountsRows) {
  Request request = Good();
  ASSERT_TRUE(Validate(request).ok());
  EXPECT_EQ(request.rows, 3);
  EXPECT_TRUE(request.outputs.empty());
}

TEST_F(ValidateRequestTest, BringsInputsIntoOrder) {
  Request request = Good();
  std::swap(request.inputs[0], request.inputs[1]);
  ASSERT_TRUE(Validate(request).ok());
  EXPECT_EQ(request.inputs[0].name, "tokens");
  EXPECT_EQ(request.inputs[1].name, "mask");
}

TEST_F(ValidateRequestTest, PositionalAliases) {
  Request request = Good();
  request.inputs[0] = Tensor("INPUT__0", DType::kInt64, {3, 16});
  request.inputs[1] = Tensor("INPUT__1", DType::kFloat32, {3, 16});
  ASSERT_TRUE(Validate(request).ok());
  ASSERT_EQ(request.outputs.size(), 2u) << "who speaks in positions hears in positions";
  EXPECT_EQ(request.outputs[1].name, "OUTPUT__1");
  EXPECT_EQ(request.outputs[1].position, 1);
  Request mixed = Good();
  mixed.outputs.push_back({"OUTPUT__1", {}, false, -1});
  mixed.outputs.push_back({"logits", {}, false, -1});
  ASSERT_TRUE(Validate(mixed).ok());
  EXPECT_EQ(mixed.outputs[0].position, 1);
  EXPECT_EQ(mixed.outputs[1].position, 0);
}

TEST_F(ValidateRequestTest, ConstantsMayBeSentWithTheirValue) {
  Request request = Good();
  std::string mode("\4\0\0\0mean", 8);
  request.inputs.push_back(Scalar("training", DType::kBool, uint8_t{0}));
  request.inputs.insert(request.inputs.begin(), Scalar("scale", DType::kFloat32, 0.1f));
  request.inputs.push_back({"mode", DType::kString, Dims{1}, std::as_bytes(std::span(mode)), {}});
  ASSERT_TRUE(Validate(request).ok());
  EXPECT_EQ(request.inputs.size(), 2u);
  EXPECT_EQ(request.inputs[0].name, "tokens");
  auto with = [&](InputTensor input) {
    Request bad = Good();
    bad.inputs.push_back(std::move(input));
    return bad;
  };
  ExpectRefused(with(Scalar("training", DType::kBool, uint8_t{1})), "input 'training': the export fixed it to false");
  ExpectRefused(with(Scalar("scale", DType::kFloat64, 0.2)), "send 0.1 or leave it out");
  ExpectRefused(with(Tensor("scale", DType::kFloat32, {2})), "fixed it to 0.1");
  mode[4] = 'M';
  ExpectRefused(with({"mode", DType::kString, Dims{1}, std::as_bytes(std::span(mode)), {}}), "fixed it to mean");
  Request twice = with(Scalar("training", DType::kBool, uint8_t{0}));
  twice.inputs.push_back(Scalar("training", DType::kBool, uint8_t{0}));
  ExpectRefused(std::move(twice), "'training' is given twice");
}

// Each row spoils a good request in one way and expects these words.
TEST_F(ValidateRequestTest, Table) {
  auto tokens = [this](Dims shape, DType dtype = DType::kInt64) { return Tensor("tokens", dtype, shape); };
  const std::pair<std::function<void(Request&)>, const char*> kSpoils[] = {
      {[&](Request& r) { r.inputs.pop_back(); }, "missing input 'mask'; the model's inputs are 'tokens', 'mask'"},
      {[&](Request& r) { r.inputs.clear(); }, "missing inputs 'tokens', 'mask'"},
      {[&](Request& r) { r.inputs[0].name = "token"; }, "unknown input 'token': the model's inputs are 'tokens', 'mask'; did you mean 'tokens'?"},
      {[&](Request& r) { r.inputs.push_back(tokens({3, 16})); }, "input 'tokens' is given twice"},
      {[&](Request& r) { r.inputs[1].name = "tokens"; }, "input 'tokens' is given twice"},
      {[&](Request& r) { r.inputs[1].name = "INPUT__0"; }, "input 'tokens' is given twice"},
      {[&](Request& r) { r.inputs[1].name = "INPUT__2"; }, "unknown input 'INPUT__2'"},
      {[&](Request& r) { r.inputs[1].name = "INPUT__"; }, "unknown input 'INPUT__'"},
      {[&](Request& r) { r.inputs[1].name = "INPUT__-1"; }, "unknown input 'INPUT__-1'"},
      {[&](Request& r) { r.inputs[0].dtype = DType::kInt32; }, "input 'tokens': datatype INT32, expected INT64"},
      {[&](Request& r) { r.inputs[0].dtype = DType::kString; }, "input 'tokens': datatype BYTES, expected INT64"},
      {[&](Request& r) { r.inputs[0] = tokens({16}); }, "shape [16] has rank 1, expected 2 ([-1, -1]); put the batch size first"},
      {[&](Request& r) { r.inputs[0] = tokens({3, 16, 1}); }, "shape [3, 16, 1] has rank 3, expected 2"},
      {[&](Request& r) { r.inputs[0] = tokens({}); }, "has rank 0, expected 2"},
      {[&](Request& r) { r.inputs[0] = tokens({-1, 16}); }, "has a negative extent"},
      {[&](Request& r) { r.inputs[0] = tokens({3, -16}); }, "has a negative extent"},
      {[&](Request& r) { r.inputs[0] = tokens({INT64_MAX, INT64_MAX}); }, "is too large to be a tensor"},
      {[&](Request& r) { r.inputs[0] = tokens({1, int64_t{1} << 61}); }, "is too large to be a tensor"},
      {[&](Request& r) { r.inputs[0] = tokens({0, int64_t{1} << 58}); }, "has no elements, but an extent above 65536"},
      {[&](Request& r) { r.inputs[0] = tokens({1, int64_t{1} << 40}); }, "0 bytes of data, expected 8796093022208"},
      {[&](Request& r) { r.inputs[0].bytes = r.inputs[0].bytes.first(383); }, "383 bytes of data, expected 384 for shape [3, 16] of INT64"},
      {[&](Request& r) { r.inputs[0].bytes = std::span(zeros_).first(385); }, "385 bytes of data, expected 384"},
      {[&](Request& r) { r.inputs[1] = Tensor("mask", DType::kFloat32, {2, 16}); }, "input 'mask': batch size 2, but input 'tokens' has 3"},
      {[&](Request& r) { for (auto& i : r.inputs) i = Tensor(i.name, i.dtype, {9, 16}); }, "batch size 9 is above the model's max_batch_size 8"},
      {[&](Request& r) { for (auto& i : r.inputs) i = Tensor(i.name, i.dtype, {0, 16}); }, "has batch size 0, expected 1 to 8"},
      {[&](Request& r) { r.inputs[1] = Tensor("mask", DType::kFloat32, {3, 17}); }, "input 'mask': shape [3, 17] does not match"},
      {[&](Request& r) { for (auto& i : r.inputs) i = Tensor(i.name, i.dtype, {1, 513}); }, "extent 1 is 513, expected 1 to 512"},
      {[&](Request& r) { r.outputs.push_back({"logit", {}, false, -1}); }, "unknown output 'logit': the model's outputs are 'logits', 'pooled'"},
      {[&](Request& r) { r.outputs.push_back({"OUTPUT__2", {}, false, -1}); }, "unknown output 'OUTPUT__2'"},
      {[&](Request& r) { r.outputs = {{"logits", {}, false, -1}, {"OUTPUT__0", {}, false, -1}}; }, "output 'OUTPUT__0' is asked for twice"},
      {[&](Request& r) { r.parameters["triton_x"] = int64_t{1}; }, "parameter 'triton_x' is reserved"},
      {[&](Request& r) { r.parameters["binary_data_output"] = true; }, "parameter 'binary_data_output' is reserved"},
      {[&](Request& r) { r.parameters["timeout"] = int64_t{-1}; }, "'timeout' must be a non-negative integer"},
      {[&](Request& r) { r.parameters["timeout"] = std::string("5"); }, "'timeout' must be a non-negative integer"},
      {[&](Request& r) { r.parameters["priority"] = 1.5; }, "'priority' must be a non-negative integer"},
      {[&](Request& r) { r.parameters["headers"] = std::string("x"); }, "parameter 'headers' is reserved"},
      {[&](Request& r) { r.parameters["sequence_id"] = uint64_t{7}; }, "does not keep state between requests"},
  };
  for (const auto& [change, words] : kSpoils) {
    Request request = Good();
    change(request);
    SCOPED_TRACE(words);
    ExpectRefused(std::move(request), words);
  }
}

TEST_F(ValidateRequestTest, ParametersOfTheQueueAreTaken) {
  Request request = Good();
  request.parameters = {{"timeout", int64_t{1500}}, {"priority", uint64_t{2}}, {"mine", 0.5}};
  ASSERT_TRUE(Validate(request).ok());
  EXPECT_EQ(request.timeout, std::chrono::microseconds(1500));
  EXPECT_EQ(request.priority, 2u);
  EXPECT_EQ(request.parameters, (Parameters{{"mine", 0.5}}));

  request.parameters = {{"timeout", uint64_t{0}}, {"priority", std::numeric_limits<uint64_t>::max()}};
  request.timeout.reset();
  ASSERT_TRUE(Validate(request).ok());
  EXPECT_EQ(request.timeout, std::nullopt) << "0 means none";
  EXPECT_EQ(request.priority, std::numeric_limits<uint32_t>::max());

  request.parameters = {{"timeout", std::numeric_limits<uint64_t>::max()}};
  ASSERT_TRUE(Validate(request).ok());
  EXPECT_GT(*request.timeout, std::chrono::hours(24 * 100)) << "too long is long, not negative";
}

TEST_F(ValidateRequestTest, OtherParametersPass) {
  Request request = Good();
  request.parameters["mine"] = std::string("yes");
  request.parameters["sequence_id"] = int64_t{0};
  EXPECT_TRUE(Validate(request).ok());
}

TEST_F(ValidateRequestTest, TheConfigurationMayBeNarrowerThanTheFile) {
  config_.inputs[0].dims = {16};
  Request request = Good();
  EXPECT_TRUE(Validate(request).ok());
  request = Good();
  for (auto& input : request.inputs) input = Tensor(input.name, input.dtype, {3, 15});
  ExpectRefused(std::move(request), "input 'tokens': shape [3, 15] does not match [-1, 16]: extent 1 is 15, expected 16");
}

TEST_F(ValidateRequestTest, WithoutBatchingTheShapeIsWhole) {
  config_.max_batch_size = 0;
  for (auto& input : config_.inputs) input.dims = {-1, -1};
  Request request = Good();
  ASSERT_TRUE(Validate(request).ok());
  EXPECT_EQ(request.rows, 1);
}

TEST_F(ValidateRequestTest, AScalarMayComeAsOneElement) {
  signature_ = Signature();
  signature_.inputs = {{"t", DType::kInt64, {}}};
  signature_.outputs = {{"u", DType::kInt64, {}}};
  config_.max_batch_size = 0;
  config_.inputs = {{"t", DType::kInt64, {}, false}};
  Request request;
  request.inputs.push_back(Tensor("t", DType::kInt64, {1}));
  ASSERT_TRUE(Validate(request).ok());
  EXPECT_TRUE(request.inputs[0].shape.empty());
}

TEST_F(ValidateRequestTest, EmptyTensorsAndExpressionsGoThroughTheSolver) {
  signature_ = Signature();
  signature_.symbols = {{"n", 0, 100}};
  const Dim n = Dim::Symbol(0);
  signature_.inputs = {{"a", DType::kFloat32, {n}}, {"b", DType::kFloat32, {n * Dim(2) + Dim(1)}}};
  signature_.outputs = {{"c", DType::kFloat32, {n}}};
  config_.max_batch_size = 0;
  config_.inputs = {{"a", DType::kFloat32, {-1}, false}, {"b", DType::kFloat32, {-1}, false}};
  auto make = [&](int64_t a, int64_t b) {
    Request request;
    request.inputs.push_back(Tensor("a", DType::kFloat32, {a}));
    request.inputs.push_back(Tensor("b", DType::kFloat32, {b}));
    return request;
  };
  Request empty = make(0, 1), fits = make(3, 7);
  EXPECT_TRUE(Validate(empty).ok());
  EXPECT_TRUE(Validate(fits).ok());
  ExpectRefused(make(3, 8), "input 'b'");
}

}  // namespace
}  // namespace tondar
