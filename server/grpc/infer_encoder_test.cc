#include "server/grpc/infer_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <grpcpp/support/slice.h>

#include <cstring>

#include "grpc_service.pb.h"

namespace tondar {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OutputTensor Output(const char* name, DType dtype, Dims shape, size_t bytes, char fill) {
  OutputTensor output;
  output.name = name;
  output.dtype = dtype;
  output.shape = shape;
  output.bytes = ByteBuffer(bytes);
  if (bytes > 0) std::memset(output.bytes.data(), fill, bytes);
  return output;
}

inference::ModelInferResponse Parse(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
  inference::ModelInferResponse proto;
  EXPECT_TRUE(proto.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
  return proto;
}

TEST(InferEncoderTest, EverythingComesBack) {
  Response response;
  response.model_name = "bert";
  response.model_version = "3";
  response.id = "r7";
  response.parameters = {{"b", true}, {"i", int64_t{-5}}, {"s", "text"}, {"d", 0.25}, {"u", UINT64_MAX}};
  response.outputs.push_back(Output("small", DType::kFloat32, {2, 3}, 24, 's'));
  response.outputs.push_back(Output("empty", DType::kInt64, {0, 16}, 0, ' '));
  response.outputs.push_back(Output("scalar", DType::kBool, {}, 1, '\1'));
  auto encoded = EncodeInferResponse(std::move(response), INT32_MAX);
  ASSERT_TRUE(encoded.ok());
  const inference::ModelInferResponse proto = Parse(*encoded);
  EXPECT_EQ(proto.model_name(), "bert");
  EXPECT_EQ(proto.model_version(), "3");
  EXPECT_EQ(proto.id(), "r7");
  EXPECT_EQ(proto.parameters().at("b").bool_param(), true);
  EXPECT_EQ(proto.parameters().at("i").int64_param(), -5);
  EXPECT_EQ(proto.parameters().at("s").string_param(), "text");
  EXPECT_EQ(proto.parameters().at("d").double_param(), 0.25);
  EXPECT_EQ(proto.parameters().at("u").uint64_param(), UINT64_MAX);
  ASSERT_EQ(proto.outputs_size(), 3);
  EXPECT_EQ(proto.outputs(0).name(), "small");
  EXPECT_EQ(proto.outputs(0).datatype(), "FP32");
  EXPECT_THAT(proto.outputs(0).shape(), ElementsAre(2, 3));
  EXPECT_THAT(proto.outputs(1).shape(), ElementsAre(0, 16));
  EXPECT_THAT(proto.raw_output_contents(), ElementsAre(std::string(24, 's'), "", "\1"));
}

TEST(InferEncoderTest, LargeTensorsAreLentNotCopied) {
  Response response;
  response.model_name = "m";
  const size_t large = 1 << 20;
  response.outputs.push_back(Output("a", DType::kUInt8, {1 << 20}, large, 'a'));
  response.outputs.push_back(Output("b", DType::kUInt8, {2}, 2, 'b'));
  response.outputs.push_back(Output("c", DType::kUInt8, {1 << 20}, large, 'c'));
  const auto* data = reinterpret_cast<const uint8_t*>(response.outputs[0].bytes.data());
  auto encoded = EncodeInferResponse(std::move(response), INT32_MAX);
  ASSERT_TRUE(encoded.ok());
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(encoded->Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 4u);
  EXPECT_EQ(slices[1].begin(), data);
  EXPECT_EQ(slices[1].size(), large);
  const inference::ModelInferResponse proto = Parse(*encoded);
  EXPECT_EQ(proto.raw_output_contents(0), std::string(large, 'a'));
  EXPECT_EQ(proto.raw_output_contents(1), "bb");
  EXPECT_EQ(proto.raw_output_contents(2), std::string(large, 'c'));
}

TEST(InferEncoderTest, ALargeTensorMayBeLast) {
  for (size_t size : {4095, 4096, 4097, 5000}) {
    Response response;
    response.outputs.push_back(Output("a", DType::kUInt8, {static_cast<int64_t>(size)}, size, 'a'));
    auto encoded = EncodeInferResponse(std::move(response), INT32_MAX);
    ASSERT_TRUE(encoded.ok());
    EXPECT_EQ(Parse(*encoded).raw_output_contents(0).size(), size);
  }
}

TEST(InferEncoderTest, TooLargeResponsesAreRefused) {
  Response response;
  response.outputs.push_back(Output("a", DType::kUInt8, {100000}, 100000, 'a'));
  const auto encoded = EncodeInferResponse(std::move(response), 100000);
  ASSERT_FALSE(encoded.ok());
  EXPECT_EQ(encoded.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(encoded.status().message()), HasSubstr("but a message may have 100000"));
}

TEST(InferEncoderTest, AnEmptyResponseIsAnEmptyMessage) {
  auto encoded = EncodeInferResponse({}, INT32_MAX);
  ASSERT_TRUE(encoded.ok());
  EXPECT_EQ(encoded->Length(), 0u);
}

}  // namespace
}  // namespace tondar
