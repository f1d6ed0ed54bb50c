// Requests, good and bad, as rows.
#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <limits>

#include "tests/conformance/protocols/suite.h"

namespace tondar::conformance {
namespace {

using ::testing::HasSubstr;

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

Tensor Floats(std::string name, Dims shape, const std::vector<float>& values) {
  return {std::move(name), DType::kFloat32, std::move(shape), Bytes(values)};
}

// Values that differ everywhere, so that a swapped element shows.
Tensor Floats(std::string name, Dims shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i) * 0.37F - 1.5F);
  return Floats(std::move(name), std::move(shape), values);
}

Tensor Ints(std::string name, Dims shape, const std::vector<int64_t>& values) {
  return {std::move(name), DType::kInt64, std::move(shape), Bytes(values)};
}

Call Identity(const Tensor& tensor) { return {"identity_fp32", "", "", {tensor}, {}, {}}; }
Call Image(int64_t rows) { return {"digits_cnn", "", "", {Floats("image", {rows, 1, 8, 8})}, {}, {}}; }
Call Text() {
  return {"bert_thin", "", "", {Ints("input_ids", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
                                Ints("attention_mask", {2, 4}, {1, 1, 1, 1, 1, 1, 0, 0})}, {}, {}};
}
// All kinds of outputs and inputs at once; k, scale and flag are constants of the export and stay away.
Call Many() {
  Call call{"multi_io", "", "", {}, {}, {}};
  for (const char* name : {"x", "pair_0", "pair_1_0", "pair_1_1", "table_u", "table_v", "extra_w"}) {
    call.inputs.push_back(Floats(name, {3, 4}));
  }
  return call;
}

Call With(Call call, const std::function<void(Call&)>& change) {
  change(call);
  return call;
}

struct Case {
  const char* name;
  Call call;
  StatusCode code = StatusCode::kOk;
  const char* message = "";  // part of it
};

constexpr auto kBad = StatusCode::kInvalidArgument;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<Case> GoodCases() {
  return {
      {"one number", Identity(Floats("input0", {1}, {0.1F}))},
      {"no trailing bits lost", Identity(Floats("input0", {6}, {1e-45F, -0.0F, 3.4028235e38F, 1.17549435e-38F,
                                                                  0.333333343F, 16777216.F}))},
      {"infinities", Identity(Floats("input0", {2}, {kInfinity, -kInfinity}))},
      {"many elements", Identity(Floats("input0", {10000}))},
      {"an id", With(Image(1), [](Call& call) { call.id = "request \"7\" ü"; })},
      {"a version", With(Image(2), [](Call& call) { call.version = "1"; })},
      {"rows", Image(7)},
      {"as many rows as fit", Image(64)},
      {"integers", Text()},
      {"inputs in another order", With(Text(), [](Call& call) { std::swap(call.inputs[0], call.inputs[1]); })},
      {"all outputs", Many()},
      {"a scalar that the export fixed", With(Many(), [](Call& call) {
         call.inputs.push_back({"flag", DType::kBool, {}, std::string(1, '\1')});
       })},
      {"parameters that mean nothing here", With(Image(1), [](Call& call) {
         call.parameters = {{"note", std::string("x")}, {"level", int64_t{3}}, {"on", true}};
       })},
      {"a priority", With(Image(1), [](Call& call) { call.parameters = {{"priority", int64_t{1}}}; })},
  };
}

std::vector<Case> BadCases() {
  const auto change = [](Call call, const std::function<void(Tensor&)>& edit) {
    edit(call.inputs.at(0));
    return call;
  };
  return {
      {"unknown model", With(Image(1), [](Call& call) { call.model = "nothing"; }), StatusCode::kNotFound, "'nothing'"},
      {"unknown version", With(Image(1), [](Call& call) { call.version = "9"; }), StatusCode::kNotFound, "9"},
      {"not loaded", With(Image(1), [](Call& call) { call.model = "spare"; }), StatusCode::kUnavailable, "'spare'"},
      {"unknown input", change(Image(1), [](Tensor& tensor) { tensor.name = "picture"; }), kBad, "'picture'"},
      {"missing input", With(Text(), [](Call& call) { call.inputs.pop_back(); }), kBad, "'attention_mask'"},
      {"no inputs", With(Text(), [](Call& call) { call.inputs.clear(); }), kBad, "'input_ids'"},
      {"one input twice", With(Image(1), [](Call& call) { call.inputs.push_back(call.inputs[0]); }), kBad, "'image'"},
      {"another datatype", With(Image(1), [](Call& call) {
         call.inputs[0] = Ints("image", {1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
       }), kBad, "INT64"},
      {"another rank", change(Image(1), [](Tensor& tensor) { tensor.shape = {1, 64}; }), kBad, "rank"},
      {"another extent", With(Image(1), [](Call& call) { call.inputs[0] = Floats("image", {1, 1, 8, 7}); }), kBad,
       "'image'"},
      {"no rows", With(Image(1), [](Call& call) { call.inputs[0] = Floats("image", {0, 1, 8, 8}); }), kBad, "'image'"},
      {"too many rows", Image(65), kBad, "65"},
      {"rows that differ", With(Text(), [](Call& call) { call.inputs[1] = Ints("attention_mask", {1, 4}, {1, 1, 1, 1}); }),
       kBad, "'attention_mask'"},
      {"lengths that differ", With(Text(), [](Call& call) {
         call.inputs[1] = Ints("attention_mask", {2, 3}, {1, 1, 1, 1, 1, 1});
       }), kBad, "'attention_mask'"},
      {"unknown output", With(Image(1), [](Call& call) { call.outputs = {"labels"}; }), kBad, "'labels'"},
      {"one output twice", With(Many(), [](Call& call) { call.outputs = {"out_first", "out_first"}; }), kBad, "out_first"},
      {"another value of a constant", With(Many(), [](Call& call) { call.inputs.push_back(Ints("k", {}, {12345})); }),
       kBad, "'k'"},
      {"a negative timeout", With(Image(1), [](Call& call) { call.parameters = {{"timeout", int64_t{-1}}}; }), kBad,
       "timeout"},
      {"a sequence", With(Image(1), [](Call& call) { call.parameters = {{"sequence_id", int64_t{4}}}; }), kBad,
       "sequence"},
  };
}

class InferConformance : public ProtocolTest {};

TEST_P(InferConformance, GoodRequestsGetTheSameBits) {
  for (const Case& one : GoodCases()) {
    SCOPED_TRACE(one.name);
    const Result<Answer> expected = reference().Infer(one.call);
    const Result<Answer> found = driver().Infer(one.call);
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_EQ(*found, *expected);
    EXPECT_EQ(found->model, one.call.model);
    EXPECT_EQ(found->version, "1");
    EXPECT_EQ(found->id, one.call.id);
    if (one.call.model == "identity_fp32") {
      EXPECT_EQ(found->outputs.at(0).bytes, one.call.inputs.at(0).bytes);
    }
  }
}

TEST_P(InferConformance, NotANumberStaysOne) {
  const Result<Answer> found = driver().Infer(Identity(Floats("input0", {1}, {std::nanf("")})));
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  float value = 0;
  ASSERT_EQ(found->outputs.at(0).bytes.size(), sizeof(value));
  std::memcpy(&value, found->outputs[0].bytes.data(), sizeof(value));
  EXPECT_TRUE(std::isnan(value));
}

TEST_P(InferConformance, OutputsComeAsAskedFor) {
  Call call = Many();
  const Answer all = driver().Infer(call).value();
  ASSERT_GT(all.outputs.size(), 4);
  for (size_t i = all.outputs.size(); i-- > 0;) call.outputs.push_back(all.outputs[i].name);
  Answer reversed = driver().Infer(call).value();
  std::reverse(reversed.outputs.begin(), reversed.outputs.end());
  EXPECT_EQ(reversed, all);
  call.outputs = {all.outputs[2].name};
  EXPECT_EQ(driver().Infer(call).value().outputs, std::vector<Tensor>{all.outputs[2]});
}

TEST_P(InferConformance, BadRequestsAreRefusedInTheSameWords) {
  for (const Case& one : BadCases()) {
    SCOPED_TRACE(one.name);
    const Status expected = reference().Infer(one.call).status();
    EXPECT_EQ(StatusCodeName(expected.code()), StatusCodeName(one.code)) << expected.ToString();
    EXPECT_THAT(std::string(expected.message()), HasSubstr(one.message));
    ExpectSameError(driver().Infer(one.call).status(), expected);
    EXPECT_TRUE(driver().Infer(Image(1)).ok()) << "the server is harmed";
  }
}

INSTANTIATE_TEST_SUITE_P(Protocol, InferConformance, testing::ValuesIn(TestedDrivers()), &NameOf);

}  // namespace
}  // namespace tondar::conformance
