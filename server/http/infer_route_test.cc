// Infer through a socket: every form of request and answer.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "server/http/body_buffer.h"
#include "server/http/content_coding.h"
#include "server/http/testing/served.h"

namespace tondar {
namespace {

using nlohmann::json;
using testing::FakeInferenceService;

constexpr std::string_view kPath = "/v2/models/m/infer";

std::string Input(const std::string& datatype, const std::string& shape, const std::string& elements) {
  return R"({"inputs":[{"name":"x","shape":)" + shape + R"(,"datatype":")" + datatype + R"(","data":)" + elements + "}]}";
}

template <typename T>
std::string Bytes(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), std::data(values), bytes.size());
  return bytes;
}

class InferRoute : public ::testing::Test {
 protected:
  RawAnswer Post(const std::string& body, const std::string& headers = "") { return client_.Post(kPath, body, headers); }
  RawAnswer PostBinary(const std::string& text, const std::string& tensors) {
    return Post(text + tensors, "Inference-Header-Content-Length: " + std::to_string(text.size()) + "\r\n");
  }
  // The error text of a body that must be refused with 400.
  std::string Refused(const std::string& body, const std::string& headers = "", int status = 400) {
    const RawAnswer answer = Post(body, headers);
    EXPECT_EQ(answer.status, status) << body.substr(0, 300) << " -> " << answer.body;
    EXPECT_EQ(answer.headers.at("content-type"), "application/json");
    const int calls = served_.inference.calls;
    EXPECT_EQ(calls, 0) << body.substr(0, 300);
    return json::parse(answer.body).at("error");
  }
  // What the service got.
  void Keep() {
    served_.inference.on_infer = [this](std::unique_ptr<Request> request) {
      got_parameters_ = request->parameters;
      got_name_ = request->model_name + ":" + request->model_version;
      if (!request->inputs.empty()) {
        const InputTensor& input = request->inputs[0];
        got_input_ = input.name;
        got_input_parameters_ = input.parameters;
        got_dtype_ = input.dtype;
        got_shape_ = input.shape;
        got_bytes_.assign(reinterpret_cast<const char*>(input.bytes.data()), input.bytes.size());
      }
      FakeInferenceService::Echo(std::move(request));
    };
  }

  Served served_;
  RawClient client_{served_.server->port()};
  Parameters got_parameters_, got_input_parameters_;
  std::string got_name_, got_input_, got_bytes_;
  DType got_dtype_ = DType::kInvalid;
  Dims got_shape_;
};

TEST_F(InferRoute, EchoesJson) {
  const RawAnswer answer = Post(R"({"id":"7","inputs":[{"name":"x","shape":[2,2],"datatype":"FP32","data":[[0.1,1],[-2.5,1e20]]}]})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-type"), "application/json");
  EXPECT_FALSE(answer.headers.contains("inference-header-content-length"));
  EXPECT_EQ(answer.body, R"({"model_name":"m","model_version":"1","id":"7","outputs":[)"
                         R"({"name":"OUT0","datatype":"FP32","shape":[2,2],"data":[0.1,1.0,-2.5,1e+20]}]})");
}

TEST_F(InferRoute, EveryDatatypeRoundTripsInJson) {
  const std::pair<std::string, std::string> cases[] = {
      {"BOOL", "[true,false,true]"},
      {"UINT8", "[0,255,1]"},
      {"UINT16", "[0,65535,1]"},
      {"UINT32", "[0,4294967295,1]"},
      {"UINT64", "[0,18446744073709551615,9007199254740993]"},
      {"INT8", "[-128,127,0]"},
      {"INT16", "[-32768,32767,0]"},
      {"INT32", "[-2147483648,2147483647,0]"},
      {"INT64", "[-9223372036854775808,9223372036854775807,9007199254740993]"},
      {"FP32", "[\"NaN\",\"Infinity\",\"-Infinity\"]"},
      {"FP64", "[0.1,-1.7976931348623157e+308,\"NaN\"]"},
      {"BYTES", R"(["","a\u0000\"\\\n","é😀"])"},
  };
  for (const auto& [datatype, elements] : cases) {
    const RawAnswer answer = Post(Input(datatype, "[3]", elements));
    ASSERT_EQ(answer.status, 200) << datatype << answer.body;
    EXPECT_NE(answer.body.find("\"data\":" + elements + "}"), std::string::npos) << answer.body;
  }
}

TEST_F(InferRoute, EveryDatatypeRoundTripsInBinary) {
  const std::pair<std::string, std::string> cases[] = {
      {"BOOL", std::string("\0\1", 2)}, {"UINT8", "ab"}, {"INT8", "ab"}, {"UINT16", "abcd"}, {"INT16", "abcd"},
      {"FP16", "abcd"}, {"BF16", "abcd"}, {"UINT32", "abcdefgh"}, {"INT32", "abcdefgh"}, {"FP32", "abcdefgh"},
      {"UINT64", "0123456789abcdef"}, {"INT64", "0123456789abcdef"}, {"FP64", "0123456789abcdef"},
      {"BYTES", std::string("\3\0\0\0\xff\0x\0\0\0\0", 11)}};
  for (const auto& [datatype, bytes] : cases) {
    const std::string text = R"({"inputs":[{"name":"x","shape":[2],"datatype":")" + datatype +
                             R"(","parameters":{"binary_data_size":)" + std::to_string(bytes.size()) +
                             R"(}}],"parameters":{"binary_data_output":true}})";
    const RawAnswer answer = PostBinary(text, bytes);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.headers.at("content-type"), "application/octet-stream");
    const size_t text_size = std::stoul(answer.headers.at("inference-header-content-length"));
    const json head = json::parse(answer.body.substr(0, text_size));
    EXPECT_EQ(head["outputs"][0]["datatype"], datatype);
    EXPECT_EQ(head["outputs"][0]["parameters"]["binary_data_size"], bytes.size());
    EXPECT_EQ(answer.body.substr(text_size), bytes);
  }
}

TEST_F(InferRoute, BinaryInputsAreViewsOfTheBody) {
  const std::byte* first = nullptr;
  bool inside = false;
  served_.inference.on_infer = [&](std::unique_ptr<Request> request) {
    first = request->inputs[0].bytes.data();
    inside = request->owned.empty() && request->storage != nullptr && request->inputs[1].bytes.data() == first + 4;
    FakeInferenceService::Echo(std::move(request));
  };
  PostBinary(R"({"inputs":[{"name":"a","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}},)"
             R"({"name":"b","shape":[2],"datatype":"FP32","parameters":{"binary_data_size":8}}]})",
             std::string(12, 'x'));
  EXPECT_TRUE(inside);
}

TEST_F(InferRoute, OutputsChooseTheirForm) {
  const std::string text =
      R"({"inputs":[{"name":"a","shape":[1],"datatype":"INT32","data":[1]},{"name":"b","shape":[1],"datatype":"INT32","data":[2]},)"
      R"({"name":"c","shape":[0,16],"datatype":"INT32","data":[]}],)"
      R"("outputs":[{"name":"A","parameters":{"binary_data":false}},{"name":"B"},{"name":"C","parameters":{"binary_data":true}}],)"
      R"("parameters":{"binary_data_output":true}})";
  const RawAnswer answer = Post(text);
  ASSERT_EQ(answer.status, 200);
  const size_t text_size = std::stoul(answer.headers.at("inference-header-content-length"));
  const json outputs = json::parse(answer.body.substr(0, text_size))["outputs"];
  EXPECT_EQ(outputs[0]["data"], json({1}));
  EXPECT_EQ(outputs[1]["parameters"]["binary_data_size"], 4);
  EXPECT_EQ(outputs[2]["parameters"]["binary_data_size"], 0);
  EXPECT_EQ(answer.body.substr(text_size), Bytes<int32_t>({2}));
}

TEST_F(InferRoute, DecodesWhateverTheOrderOfMembers) {
  const RawAnswer answer =
      Post(R"({"model_name":"m","extra":[{"a":null}],"outputs":null,"id":null,"inputs":[{"data":[[1,2],[3,4]],"datatype":"INT64","shape":[2,2],"name":"x"}]})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.body.find("\"data\":[1,2,3,4]"), std::string::npos);
}

// Strings before the shape, of the size of the document: each must be unescaped once only, for the parser's buffer has
// no room for more.
TEST_F(InferRoute, LongStringsBeforeTheShapeAreReadOnce) {
  Keep();
  const std::string text(900'000, 'a');
  EXPECT_EQ(Post(R"({"inputs":[{"data":[")" + text + R"("],"datatype":"BYTES","shape":[1],"name":"x"}]})").status, 200);
  EXPECT_EQ(got_bytes_.substr(4), text);
  const std::string rest = R"(","data":[7],"datatype":"INT32","shape":[1]}]})";
  EXPECT_EQ(Post(R"({"inputs":[{"name":")" + text + rest).status, 200);
  EXPECT_EQ(got_input_, text);
  EXPECT_EQ(Post(R"({"inputs":[{"name":"x",")" + text + R"(":")" + text + rest).status, 200);
  EXPECT_EQ(got_bytes_, Bytes<int32_t>({7}));
}

TEST_F(InferRoute, DataBeforeTheShapeIsJudgedAllTheSame) {
  const std::string rest = R"(,"datatype":"INT32","shape":[1],"name":"x"}]})";
  EXPECT_NE(Refused(R"({"inputs":[{"data":[1,2])" + rest).find("more elements"), std::string::npos);
  EXPECT_NE(Refused(R"({"inputs":[{"data":{"a":[1]})" + rest).find("an array"), std::string::npos);
  EXPECT_NE(Refused(R"({"inputs":[{"data":[tru])" + rest).find("element 0"), std::string::npos);
  EXPECT_NE(Refused(R"({"inputs":[{"d\u0061ta":[1])" + rest).find("escapes"), std::string::npos);
  Refused(R"({"inputs":[{"data":[1}])" + rest);
}

TEST_F(InferRoute, EvenNestingNeedNotFollowTheShape) {
  EXPECT_EQ(Post(Input("INT32", "[1,4]", "[[1,2],[3,4]]")).status, 200);
  EXPECT_EQ(Post(Input("INT32", "[]", "[5]")).status, 200);
  EXPECT_EQ(Post(Input("INT32", "[0,2]", "[]")).status, 200);
  EXPECT_EQ(Post(Input("INT32", "[2,0]", "[[],[]]")).status, 200);
}

TEST_F(InferRoute, RefusesElementsThatDoNotFit) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"INT32", "[2]", "[1]"},          {"INT32", "[2]", "[1,2,3]"},       {"INT32", "[4]", "[[1,2],[3]]"},
      {"INT32", "[3]", "[[1,2],3]"},    {"INT32", "[3]", "[3,[1,2]]"},     {"INT32", "[1]", "[1099511627776]"},
      {"INT32", "[1]", "[-2147483649]"}, {"INT32", "[1]", "[1.5]"},        {"INT32", "[1]", "[1.0]"},
      {"INT32", "[1]", "[1e2]"},        {"INT32", "[1]", "[\"1\"]"},       {"INT32", "[1]", "[true]"},
      {"INT32", "[1]", "[null]"},       {"INT32", "[1]", "[{}]"},          {"INT32", "[1]", "5"},
      {"INT32", "[1]", "{}"},           {"INT32", "[1]", "null"},          {"UINT8", "[1]", "[256]"},
      {"UINT8", "[1]", "[-1]"},         {"INT8", "[1]", "[128]"},          {"UINT64", "[1]", "[18446744073709551616]"},
      {"UINT64", "[1]", "[-1]"},        {"INT64", "[1]", "[9223372036854775808]"}, {"BOOL", "[1]", "[1]"},
      {"FP32", "[1]", "[1e39]"},        {"FP32", "[1]", "[true]"},         {"FP32", "[1]", "[\"nan\"]"},
      {"FP64", "[1]", "[1e400]"},       {"BYTES", "[1]", "[1]"},           {"BYTES", "[2]", "[\"a\"]"},
      {"FP16", "[1]", "[1]"},           {"BF16", "[1]", "[1]"},            {"INT32", "[-1]", "[1]"},
      {"INT32", "[4611686018427387904]", "[1]"}, {"INT32", "[1099511627776,1099511627776]", "[1]"},
      {"BYTES", "[1099511627776]", "[\"a\"]"}, {"INT32", "[2147483648]", "[1]"},
  };
  for (const auto& [datatype, shape, elements] : cases) {
    const std::string error = Refused(Input(datatype, shape, elements));
    EXPECT_TRUE(error.starts_with("input 'x': ")) << error;
  }
}

TEST_F(InferRoute, RefusesMalformedBodies) {
  for (const char* body : {
           "", "x", "[]", "null", "5", "{", "{}", R"({"inputs":)", R"({"inputs":[}})", R"({"inputs":[]}x)", R"({"inputs":[]}{})",
           R"({"inputs":{}})", R"({"inputs":[5]})", R"({"inputs":null})", R"({"inputs":[{}]})", R"({"inputs":[],"inputs":[]})",
           R"({"inputs":[],"id":5})", R"({"inputs":[],"x":tru})", R"({"inputs":[],"x":[1,]})", R"({"inputs":[],"x":{"a":01}})",
           R"({"inputs":[],"outputs":5})", R"({"inputs":[],"outputs":[{}]})", R"({"inputs":[],"outputs":[5]})",
           R"({"inputs":[],"parameters":[]})", R"({"inputs":[],"parameters":{"a":[]}})", R"({"inputs":[],"parameters":{"a":null}})",
           R"({"inputs":[{"name":5,"shape":[1],"datatype":"INT32","data":[1]}]})",
           R"({"inputs":[{"name":"x","shape":5,"datatype":"INT32","data":[1]}]})",
           R"({"inputs":[{"name":"x","shape":[1.5],"datatype":"INT32","data":[1]}]})",
           R"({"inputs":[{"name":"x","shape":["1"],"datatype":"INT32","data":[1]}]})",
           R"({"inputs":[{"name":"x","shape":[1,1,1,1,1,1,1,1,1],"datatype":"INT32","data":[1]}]})",
           R"({"inputs":[{"name":"x","shape":[9223372036854775808],"datatype":"INT32","data":[1]}]})",
           R"({"inputs":[{"name":"x","shape":[1],"datatype":"FLOAT","data":[1]}]})",
           R"({"inputs":[{"name":"x","shape":[1],"datatype":"","data":[1]}]})",
           R"({"inputs":[{"name":"x","shape":[1],"data":[1]}]})", R"({"inputs":[{"name":"x","datatype":"INT32","data":[1]}]})",
           R"({"inputs":[{"shape":[1],"datatype":"INT32","data":[1]}]})",
           R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32"}]})",
           R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[1],"data":[2]}]})",
           R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[1],"parameters":{"binary_data_size":4}}]})",
           R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32","parameters":{"binary_data_size":-4}}]})",
           R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32","parameters":{"binary_data_size":"4"}}]})",
           R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32","parameters":{"binary_data_size":4}}]})",
           "{\"inputs\":[],\"x\":\"\xff\"}",
       }) {
    Refused(body);
  }
}

TEST_F(InferRoute, RefusesBinaryPartsThatDoNotAddUp) {
  const std::string text = R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32","parameters":{"binary_data_size":4}}]})";
  const auto with = [](const std::string& length) { return "Inference-Header-Content-Length: " + length + "\r\n"; };
  Refused(text + "abc", with(std::to_string(text.size())));
  Refused(text + "abcde", with(std::to_string(text.size())));
  for (const char* length : {"abc", "-1", "99999", "99999999999999999999", "4294967297", "1x", " ", "+5"}) {
    Refused(text + "abcd", with(length));
  }
  const std::string huge =
      R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32","parameters":{"binary_data_size":18446744073709551615}}]})";
  Refused(huge + "abcd", with(std::to_string(huge.size())));
}

TEST_F(InferRoute, NestingIsLimited) {
  const std::string deep(250000, '['), closed(250000, ']');
  Refused(R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":)" + deep);
  Refused(deep);
  EXPECT_NE(Refused(R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":)" + deep + closed + "}]}").find("nested"), std::string::npos);
  EXPECT_NE(Refused(R"({"inputs":[],"x":)" + deep + closed + "}").find("nested"), std::string::npos);
  const std::string objects = [] {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += "{\"a\":";
    return text;
  }();
  Refused(R"({"x":)" + objects + "1" + std::string(100000, '}') + "}");
  EXPECT_EQ(Post(R"({"inputs":[],"x":)" + std::string(99, '[') + std::string(99, ']') + "}").status, 200);
}

TEST_F(InferRoute, WhatTheCodecRefusesIsCounted) {
  Refused("{");
  Refused(R"({"inputs":3})");
  EXPECT_EQ(served_.inference.refused, 2);
}

TEST_F(InferRoute, ParametersGoWhereTheyBelong) {
  Keep();
  const RawAnswer answer = client_.Post("/v2/models/m%20x/versions/3/infer",
      R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[1],"parameters":{"p":"q"}}],)"
      R"("parameters":{"b":true,"i":-5,"u":18446744073709551615,"d":1.5,"s":"t","timeout":2000,"sequence_id":9}})");
  ASSERT_EQ(answer.status, 200);
  EXPECT_EQ(got_name_, "m x:3");
  EXPECT_EQ(got_parameters_, (Parameters{{"b", true},
                                         {"i", int64_t{-5}},
                                         {"u", std::numeric_limits<uint64_t>::max()},
                                         {"d", 1.5},
                                         {"s", std::string("t")},
                                         {"timeout", int64_t{2000}},
                                         {"sequence_id", int64_t{9}}}));
  EXPECT_EQ(got_input_parameters_, (Parameters{{"p", std::string("q")}}));
}

TEST_F(InferRoute, ParametersOfTheCodecAreJudgedHere) {
  Refused(R"({"inputs":[],"parameters":{"binary_data_output":1}})");
  Refused(R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT32","parameters":{"shared_memory_region":"r"}}]})", "", 501);
}

TEST_F(InferRoute, RawRequests) {
  Keep();
  served_.control.config.name = "m";
  served_.control.config.max_batch_size = 4;
  served_.control.config.inputs = {{"in", DType::kFloat32, {2, -1}, false}};
  const std::string raw = "Inference-Header-Content-Length: 0\r\n";
  RawAnswer answer = Post(std::string(24, 'a'), raw);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(got_input_, "in");
  EXPECT_EQ(got_shape_, (Dims{1, 2, 3}));
  EXPECT_EQ(answer.body.substr(std::stoul(answer.headers.at("inference-header-content-length"))), std::string(24, 'a'));

  EXPECT_EQ(Post(std::string(23, 'a'), raw).status, 400);
  served_.control.config.inputs[0] = {"in", DType::kString, {1}, false};
  EXPECT_EQ(Post("hello", raw).status, 200);
  EXPECT_EQ(got_bytes_, std::string("\5\0\0\0hello", 9));
  EXPECT_EQ(got_shape_, (Dims{1, 1}));
  served_.control.config.inputs[0] = {"in", DType::kFloat32, {-1, -1}, false};
  EXPECT_EQ(Post("abcd", raw).status, 400);
  served_.control.config.inputs[0] = {"in", DType::kFloat32, {-1, 0}, false};
  EXPECT_EQ(Post("abcd", raw).status, 400);
  served_.control.config.inputs = {};
  EXPECT_EQ(Post("abcd", raw).status, 400);
  EXPECT_EQ(client_.Post("/v2/models/n/infer", "abcd", raw).status, 404);
}

TEST_F(InferRoute, OutputsThatJsonCannotHoldAreRefused) {
  EXPECT_EQ(PostBinary(R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP16","parameters":{"binary_data_size":2}}]})", "ab").status, 400);
  const RawAnswer answer =
      PostBinary(R"({"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":6}}]})", std::string("\2\0\0\0\xff\xfe", 6));
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(json::parse(answer.body)["error"].get<std::string>().find("binary_data"), std::string::npos);
}

TEST_F(InferRoute, StatusCodesOfTheService) {
  const std::pair<StatusCode, int> cases[] = {
      {StatusCode::kInvalidArgument, 400},   {StatusCode::kNotFound, 404},          {StatusCode::kUnavailable, 503},
      {StatusCode::kUnimplemented, 501},     {StatusCode::kInternal, 500},          {StatusCode::kResourceExhausted, 503},
      {StatusCode::kCancelled, 400},         {StatusCode::kDeadlineExceeded, 504},  {StatusCode::kFailedPrecondition, 400}};
  for (const auto& [code, status] : cases) {
    served_.inference.on_infer = [code = code](std::unique_ptr<Request> request) {
      CompleteWithError(std::move(request), Status(code, "why \"\xff"));
    };
    const RawAnswer answer = Post(Input("INT32", "[1]", "[1]"));
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(json::parse(answer.body)["error"], "why \"\xEF\xBF\xBD");
  }
}

std::string Coded(std::string text, http::ContentCoding coding) {
  http::HttpResponse response;
  response.text = std::move(text);
  response.text.resize(std::max<size_t>(2048, response.text.size()), ' ');
  http::Compress(response, coding);
  return response.text;
}

TEST_F(InferRoute, CompressedRequestsAndAnswers) {
  std::string elements = "[0";
  for (int i = 1; i < 1000; ++i) elements += "," + std::to_string(i);
  const std::string body = Input("INT32", "[1000]", elements + "]");
  const std::string plain = Post(body).body;
  for (const auto& [name, coding] : {std::pair{"gzip", http::ContentCoding::kGzip}, std::pair{"deflate", http::ContentCoding::kDeflate}}) {
    const std::string headers = std::string("Content-Encoding: ") + name + "\r\nAccept-Encoding: " + name + "\r\n";
    const RawAnswer answer = Post(Coded(body, coding), headers);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.headers.at("content-encoding"), name);
    http::BodyBuffer out;
    ASSERT_FALSE(http::Decompress(std::as_bytes(std::span(answer.body)), coding, 1 << 20, out));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(out.span().data()), out.size()), plain);
  }
  EXPECT_FALSE(Post(body, "Accept-Encoding: br, gzip;q=0\r\n").headers.contains("content-encoding"));
}

TEST_F(InferRoute, RefusesCodingsItCannotRead) {
  const RawAnswer answer = Post("abc", "Content-Encoding: br\r\n");
  EXPECT_EQ(answer.status, 415);
  EXPECT_EQ(answer.headers.at("accept-encoding"), "gzip, deflate");
  EXPECT_TRUE(json::parse(answer.body).contains("error"));
  for (int i = 0; i < 100; ++i) Refused(std::string(1000, static_cast<char>(i)), "Content-Encoding: gzip\r\n");
}

TEST(InferLimits, DecompressedSizeIsLimited) {
  HttpServerOptions options;
  options.max_input_size = 1 << 20;
  Served served(options);
  RawClient client(served.server->port());
  const std::string bomb = Coded(std::string(64 << 20, ' '), http::ContentCoding::kGzip);
  ASSERT_LT(bomb.size(), options.max_input_size);
  EXPECT_EQ(client.Post(kPath, bomb, "Content-Encoding: gzip\r\n").status, 413);
  EXPECT_EQ(client.Get("/v2/health/live").status, 200);
}

TEST_F(InferRoute, TwoMillionFloatsInLinearTime) {
  constexpr int kCount = 2'000'000;
  std::string elements = "[";
  elements.reserve(kCount * 10);
  for (int i = 0; i < kCount; ++i) elements += (i == 0 ? "0." : ",0.") + std::to_string(i);
  const auto start = std::chrono::steady_clock::now();
  const RawAnswer answer = Post(Input("FP32", "[2000000]", elements + "]"));
  EXPECT_EQ(answer.status, 200) << answer.body.substr(0, 200);
  // Quadratic work would take minutes; the bound leaves room for sanitizers and busy machines.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

}  // namespace
}  // namespace tondar
