#include "server/grpc/infer_decoder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "grpc_service.pb.h"

namespace tondar {
namespace {

using inference::ModelInferRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

WireBytes AsBytes(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

// protobuf prints a line for each bad text; thousands are meant to be bad here, so nothing is printed.
[[maybe_unused]] google::protobuf::LogHandler* const kFormerHandler = google::protobuf::SetLogHandler(nullptr);

struct Decoded {
  explicit Decoded(const std::string& message) : wire(message) { status = DecodeInferRequest(AsBytes(wire), request); }
  explicit Decoded(const ModelInferRequest& message) : Decoded(message.SerializeAsString()) {}
  std::string wire;
  Request request;
  Status status;
};

template <typename T>
std::vector<T> Values(const InputTensor& input) {
  std::vector<T> values(input.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), input.bytes.data(), values.size() * sizeof(T));
  return values;
}

ModelInferRequest::InferInputTensor* AddInput(ModelInferRequest& message, const char* name, const char* datatype,
                                              std::vector<int64_t> shape) {
  auto* input = message.add_inputs();
  input->set_name(name);
  input->set_datatype(datatype);
  input->mutable_shape()->Assign(shape.begin(), shape.end());
  return input;
}

template <typename T>
void Set(google::protobuf::RepeatedField<T>* field, std::initializer_list<std::type_identity_t<T>> values) {
  field->Assign(values.begin(), values.end());
}

std::string Refusal(const ModelInferRequest& message, StatusCode code = StatusCode::kInvalidArgument) {
  const Decoded decoded(message);
  EXPECT_EQ(decoded.status.code(), code) << decoded.status.ToString();
  return std::string(decoded.status.message());
}

TEST(InferDecoderTest, RawTensorsAreBorrowed) {
  ModelInferRequest message;
  message.set_model_name("bert");
  message.set_model_version("3");
  message.set_id("request-7");
  AddInput(message, "a", "FP32", {2, 3});
  AddInput(message, "b", "INT64", {});
  message.add_raw_input_contents(std::string(24, 'x'));
  message.add_raw_input_contents(std::string(8, 'y'));
  message.add_outputs()->set_name("y");
  const Decoded decoded(message);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.ToString();
  const Request& request = decoded.request;
  EXPECT_EQ(request.model_name, "bert");
  EXPECT_EQ(request.model_version, "3");
  EXPECT_EQ(request.id, "request-7");
  ASSERT_EQ(request.inputs.size(), 2u);
  EXPECT_EQ(request.inputs[0].dtype, DType::kFloat32);
  EXPECT_EQ(request.inputs[0].shape, (Dims{2, 3}));
  EXPECT_EQ(AsText(request.inputs[0].bytes), std::string(24, 'x'));
  EXPECT_EQ(AsText(request.inputs[1].bytes), std::string(8, 'y'));
  const auto* begin = reinterpret_cast<const std::byte*>(decoded.wire.data());
  EXPECT_TRUE(request.inputs[0].bytes.data() >= begin && request.inputs[0].bytes.data() < begin + decoded.wire.size());
  EXPECT_EQ(request.inputs[1].shape.rank(), 0);
  ASSERT_EQ(request.outputs.size(), 1u);
  EXPECT_EQ(request.outputs[0].name, "y");
  EXPECT_TRUE(request.owned.empty());
}

TEST(InferDecoderTest, RawTensorsMayComeBeforeTheirInputs) {
  ModelInferRequest raw, inputs;
  raw.add_raw_input_contents("abcd");
  raw.add_raw_input_contents("efgh");
  AddInput(inputs, "a", "FP32", {1});
  AddInput(inputs, "b", "FP32", {1});
  const Decoded decoded(raw.SerializeAsString() + inputs.SerializeAsString());
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.ToString();
  EXPECT_EQ(AsText(decoded.request.inputs[1].bytes), "efgh");
}

TEST(InferDecoderTest, TypedContentsOfEveryDatatype) {
  ModelInferRequest message;
  Set(AddInput(message, "bool", "BOOL", {2})->mutable_contents()->mutable_bool_contents(), {true, false});
  Set(AddInput(message, "i8", "INT8", {2})->mutable_contents()->mutable_int_contents(), {-128, 127});
  Set(AddInput(message, "i16", "INT16", {2})->mutable_contents()->mutable_int_contents(), {-32768, 32767});
  Set(AddInput(message, "i32", "INT32", {2})->mutable_contents()->mutable_int_contents(), {INT32_MIN, INT32_MAX});
  Set(AddInput(message, "i64", "INT64", {2})->mutable_contents()->mutable_int64_contents(), {INT64_MIN, INT64_MAX});
  Set(AddInput(message, "u8", "UINT8", {2})->mutable_contents()->mutable_uint_contents(), {0, 255u});
  Set(AddInput(message, "u16", "UINT16", {2})->mutable_contents()->mutable_uint_contents(), {0, 65535u});
  Set(AddInput(message, "u32", "UINT32", {2})->mutable_contents()->mutable_uint_contents(), {0, UINT32_MAX});
  Set(AddInput(message, "u64", "UINT64", {2})->mutable_contents()->mutable_uint64_contents(), {0, UINT64_MAX});
  Set(AddInput(message, "f32", "FP32", {2})->mutable_contents()->mutable_fp32_contents(), {1.5f, -0.0f});
  Set(AddInput(message, "f64", "FP64", {2})->mutable_contents()->mutable_fp64_contents(), {1e300, 2.0});
  auto* bytes = AddInput(message, "bytes", "BYTES", {2})->mutable_contents();
  bytes->add_bytes_contents("ab");
  bytes->add_bytes_contents(std::string("\0\xff", 2));
  const Decoded decoded(message);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.ToString();
  const auto& inputs = decoded.request.inputs;
  EXPECT_THAT(Values<uint8_t>(inputs[0]), ElementsAre(1, 0));
  EXPECT_THAT(Values<int8_t>(inputs[1]), ElementsAre(-128, 127));
  EXPECT_THAT(Values<int16_t>(inputs[2]), ElementsAre(-32768, 32767));
  EXPECT_THAT(Values<int32_t>(inputs[3]), ElementsAre(INT32_MIN, INT32_MAX));
  EXPECT_THAT(Values<int64_t>(inputs[4]), ElementsAre(INT64_MIN, INT64_MAX));
  EXPECT_THAT(Values<uint8_t>(inputs[5]), ElementsAre(0, 255));
  EXPECT_THAT(Values<uint16_t>(inputs[6]), ElementsAre(0, 65535));
  EXPECT_THAT(Values<uint32_t>(inputs[7]), ElementsAre(0u, UINT32_MAX));
  EXPECT_THAT(Values<uint64_t>(inputs[8]), ElementsAre(0u, UINT64_MAX));
  EXPECT_THAT(Values<float>(inputs[9]), ElementsAre(1.5f, -0.0f));
  EXPECT_THAT(Values<double>(inputs[10]), ElementsAre(1e300, 2.0));
  EXPECT_EQ(AsText(inputs[11].bytes), std::string("\2\0\0\0ab\2\0\0\0\0\xff", 12));
}

// Field 3 of InferTensorContents (int64) as another encoder may write it: one element at a time and split messages.
TEST(InferDecoderTest, UnpackedAndSplitContentsAreJoined) {
  const std::string first = "\x18\x05", second("\x1a\x02\x06\x07", 4), third("\x18\x08", 2);
  std::string input = std::string("\x0a\x01x\x12\x05INT64\x18\x04", 12) + std::string("\x2a\x06", 2) + first + second +
                      std::string("\x2a\x02", 2) + third;
  std::string message = "\x2a" + std::string(1, static_cast<char>(input.size())) + input;
  ModelInferRequest proto;
  ASSERT_TRUE(proto.ParseFromString(message));
  ASSERT_EQ(proto.inputs(0).contents().int64_contents_size(), 4);
  const Decoded decoded(message);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.ToString();
  EXPECT_THAT(Values<int64_t>(decoded.request.inputs[0]), ElementsAre(5, 6, 7, 8));
  EXPECT_EQ(decoded.request.inputs[0].shape, (Dims{4}));
}

TEST(InferDecoderTest, RefusesWhatDoesNotFitTheDatatype) {
  struct Case {
    const char* datatype;
    std::function<void(inference::InferTensorContents&)> fill;
    const char* message;
  };
  const Case cases[] = {
      {"INT8", [](auto& c) { c.add_int_contents(128); }, "input 'x': value 128 is out of the range of INT8"},
      {"INT8", [](auto& c) { c.add_int_contents(-129); }, "value -129 is out of the range of INT8"},
      {"INT16", [](auto& c) { c.add_int_contents(40000); }, "value 40000 is out of the range of INT16"},
      {"UINT8", [](auto& c) { c.add_uint_contents(256); }, "value 256 is out of the range of UINT8"},
      {"UINT16", [](auto& c) { c.add_uint_contents(UINT32_MAX); }, "value 4294967295 is out of the range of UINT16"},
      {"INT32", [](auto& c) { c.add_fp32_contents(1); }, "its data is in fp32_contents, but INT32 data goes into int_contents"},
      {"FP32", [](auto& c) { c.add_fp32_contents(1); c.add_bytes_contents("a"); }, "its data is in bytes_contents"},
      {"FP16", [](auto& c) { c.add_fp32_contents(1); }, "FP16 has no typed form"},
      {"BF16", [](auto& c) { c.add_fp32_contents(1); }, "BF16 has no typed form"},
  };
  for (const Case& c : cases) {
    ModelInferRequest message;
    c.fill(*AddInput(message, "x", c.datatype, {1})->mutable_contents());
    EXPECT_THAT(Refusal(message), HasSubstr(c.message));
  }
}

TEST(InferDecoderTest, RefusesMixedAndMiscountedData) {
  ModelInferRequest message;
  AddInput(message, "x", "FP32", {1})->mutable_contents()->add_fp32_contents(1);
  message.add_raw_input_contents("abcd");
  EXPECT_THAT(Refusal(message), HasSubstr("use one of the two"));
  message.mutable_inputs(0)->clear_contents();
  EXPECT_TRUE(Decoded(message).status.ok());
  message.add_raw_input_contents("abcd");
  EXPECT_THAT(Refusal(message), HasSubstr("2 raw_input_contents for 1 inputs"));
  message.clear_raw_input_contents();
  AddInput(message, "y", "FP32", {1});
  message.add_raw_input_contents("abcd");
  EXPECT_THAT(Refusal(message), HasSubstr("1 raw_input_contents for 2 inputs"));
}

TEST(InferDecoderTest, NoDataLeavesTheJudgementToValidation) {
  ModelInferRequest message;
  AddInput(message, "x", "FP32", {0, 16});
  const Decoded decoded(message);
  ASSERT_TRUE(decoded.status.ok());
  EXPECT_TRUE(decoded.request.inputs[0].bytes.empty());
}

TEST(InferDecoderTest, AbsurdShapesAreKeptAndAllocateNothing) {
  ModelInferRequest message;
  AddInput(message, "x", "FP32", {int64_t{1} << 62, -1, INT64_MIN})->mutable_contents()->add_fp32_contents(1);
  const Decoded decoded(message);
  ASSERT_TRUE(decoded.status.ok());
  EXPECT_EQ(decoded.request.inputs[0].shape, (Dims{int64_t{1} << 62, -1, INT64_MIN}));
  EXPECT_EQ(decoded.request.inputs[0].bytes.size(), 4u);
  AddInput(message, "y", "FP32", {1, 1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(Refusal(message), HasSubstr("more than 8 dimensions"));
}

TEST(InferDecoderTest, UnknownDatatypesAreNamed) {
  ModelInferRequest message;
  AddInput(message, "x", "FP33", {1});
  EXPECT_THAT(Refusal(message), HasSubstr("input 'x': unknown datatype 'FP33', expected one of BOOL, UINT8"));
  message.mutable_inputs(0)->clear_datatype();
  EXPECT_THAT(Refusal(message), HasSubstr("unknown datatype ''"));
}

TEST(InferDecoderTest, ParametersKeepTheirTypes) {
  ModelInferRequest message;
  (*message.mutable_parameters())["timeout"].set_int64_param(1500);
  (*message.mutable_parameters())["triton_enable_empty_final_response"].set_bool_param(true);
  (*message.mutable_parameters())["temperature"].set_double_param(0.5);
  (*message.mutable_parameters())["name"].set_string_param("x");
  (*message.mutable_parameters())["flag"].set_bool_param(true);
  (*message.mutable_parameters())["seed"].set_uint64_param(UINT64_MAX);
  const Decoded decoded(message);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.ToString();
  const Parameters expected = {{"timeout", int64_t{1500}}, {"temperature", 0.5}, {"name", "x"}, {"flag", true}, {"seed", UINT64_MAX}};
  EXPECT_EQ(decoded.request.parameters, expected);
}

TEST(InferDecoderTest, ParametersWithoutAValueAreRefused) {
  ModelInferRequest message;
  (*message.mutable_parameters())["empty"];
  EXPECT_THAT(Refusal(message), HasSubstr("parameter 'empty' has no value"));
}

TEST(InferDecoderTest, SharedMemoryAndClassificationAreNotImplemented) {
  ModelInferRequest message;
  (*AddInput(message, "x", "FP32", {1})->mutable_parameters())["shared_memory_region"].set_string_param("r");
  EXPECT_THAT(Refusal(message, StatusCode::kUnimplemented), HasSubstr("input 'x': shared memory"));
  message.clear_inputs();
  auto& parameters = *message.add_outputs()->mutable_parameters();
  parameters["classification"].set_int64_param(0);
  EXPECT_TRUE(Decoded(message).status.ok());
  parameters["classification"].set_int64_param(3);
  EXPECT_THAT(Refusal(message, StatusCode::kUnimplemented), HasSubstr("classification"));
}

TEST(InferDecoderTest, TooManyTensorsAreRefused) {
  std::string message;
  for (int i = 0; i < 20000; ++i) message += std::string("\x32\0", 2);  // an empty requested output
  EXPECT_THAT(std::string(Decoded(message).status.message()), HasSubstr("more than 16384 outputs"));
}

TEST(InferDecoderTest, TextMustBeUtf8) {
  for (const char* field : {"\x0a\x02\xff\xfe", "\x1a\x02\xc0\x80"}) {
    ModelInferRequest proto;
    EXPECT_FALSE(proto.ParseFromString(field));
    EXPECT_THAT(std::string(Decoded(std::string(field)).status.message()), HasSubstr("is not valid UTF-8"));
  }
}

TEST(InferDecoderTest, DeepGroupsAndForeignFieldsAreSkippedOrRefusedAsProtobufDoes) {
  const std::string cases[] = {
      std::string("\x78\x05", 2),                                   // unknown varint
      std::string("\x0b\x0c", 2),                                   // group of a known number
      std::string("\x7b\x08\x01\x7c", 4),                           // unknown group with a field
      std::string("\x7b\x08\x01\x74", 4),                           // ended by another number
      std::string("\x7b\x08\x01", 3),                               // never ended
      std::string("\x7c", 1),                                       // ended without a start
      std::string("\x07\x00", 2),                                   // wire type 7
      std::string("\x00\x00", 2),                                   // field 0
      std::string("\x08\x05", 2),                                   // model_name as a varint
      std::string("\x0d\x01\x02\x03", 4),                           // cut fixed32
      std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11),
      std::string("\x80\x80\x80\x80\x80\x00\x00", 7),
      std::string(80, '\x7b') + std::string(80, '\x7c'),
      std::string(5000, '\x7b') + std::string(5000, '\x7c'),
      std::string("\x0a\xff\xff\xff\xff\x0f", 6),                   // length 4 GiB
      std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11),
  };
  for (const std::string& wire : cases) {
    ModelInferRequest proto;
    EXPECT_EQ(Decoded(wire).status.ok(), proto.ParseFromString(wire)) << ::testing::PrintToString(wire);
  }
}

// Random messages, for the comparison with protobuf's own parser.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  ModelInferRequest Request() {
    ModelInferRequest message;
    message.set_model_name(Text());
    message.set_model_version(Text());
    message.set_id(Text());
    const bool raw = Below(2) == 0;
    for (uint32_t i = Below(4); i > 0; --i) {
      auto& input = *message.add_inputs();
      input.set_name(Text());
      for (uint32_t d = Below(5); d > 0; --d) input.add_shape(Number());
      FillParameters(*input.mutable_parameters());
      raw ? input.set_datatype("FP16") : FillContents(input);
      if (raw) message.add_raw_input_contents(std::string(Below(40), 'r'));
    }
    for (uint32_t i = Below(3); i > 0; --i) {
      auto& output = *message.add_outputs();
      output.set_name(Text());
      FillParameters(*output.mutable_parameters());
    }
    FillParameters(*message.mutable_parameters());
    return message;
  }

  uint32_t Below(uint32_t limit) { return random_() % limit; }

 private:
  std::string Text() {
    static const char* const kTexts[] = {"", "a", "model", "name with spaces", "\xc3\xa9", "0123456789012345678901234567890"};
    return kTexts[Below(6)];
  }
  int64_t Number() {
    const auto bits = static_cast<int64_t>(uint64_t{random_()} << 32 | random_());
    return bits >> Below(64);
  }

  template <typename Map>
  void FillParameters(Map& map) {
    for (uint32_t i = Below(3); i > 0; --i) {
      auto& value = map[fmt::format("p{}", Below(5))];
      switch (Below(5)) {
        case 0: value.set_bool_param(Below(2) == 0); break;
        case 1: value.set_int64_param(Number()); break;
        case 2: value.set_string_param(Text()); break;
        case 3: value.set_double_param(static_cast<double>(Number())); break;
        default: value.set_uint64_param(static_cast<uint64_t>(Number())); break;
      }
    }
  }

  void FillContents(ModelInferRequest::InferInputTensor& input) {
    auto& contents = *input.mutable_contents();
    const uint32_t kind = Below(6), count = Below(6);
    static const char* const kTypes[] = {"BOOL", "INT32", "INT64", "UINT64", "FP64", "BYTES"};
    input.set_datatype(kTypes[kind]);
    for (uint32_t i = 0; i < count; ++i) {
      switch (kind) {
        case 0: contents.add_bool_contents(Below(2) == 0); break;
        case 1: contents.add_int_contents(static_cast<int32_t>(Number())); break;
        case 2: contents.add_int64_contents(Number()); break;
        case 3: contents.add_uint64_contents(static_cast<uint64_t>(Number())); break;
        case 4: contents.add_fp64_contents(static_cast<double>(Number())); break;
        default: contents.add_bytes_contents(Text()); break;
      }
    }
  }

  std::mt19937 random_;
};

std::string ContentsAsRaw(const ModelInferRequest::InferInputTensor& input) {
  std::string raw;
  const auto append = [&](const auto& values) {
    for (auto value : values) raw.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  const auto& contents = input.contents();
  append(contents.bool_contents());
  append(contents.int_contents());
  append(contents.int64_contents());
  append(contents.uint64_contents());
  append(contents.fp64_contents());
  for (const std::string& element : contents.bytes_contents()) {
    const auto size = static_cast<uint32_t>(element.size());
    raw.append(reinterpret_cast<const char*>(&size), 4);
    raw += element;
  }
  return raw;
}

template <typename Map>
Parameters ParametersOf(const Map& map) {
  Parameters parameters;
  for (const auto& [name, value] : map) {
    switch (value.parameter_choice_case()) {
      case inference::InferParameter::kBoolParam: parameters[name] = value.bool_param(); break;
      case inference::InferParameter::kInt64Param: parameters[name] = int64_t{value.int64_param()}; break;
      case inference::InferParameter::kStringParam: parameters[name] = value.string_param(); break;
      case inference::InferParameter::kDoubleParam: parameters[name] = value.double_param(); break;
      default: parameters[name] = uint64_t{value.uint64_param()}; break;
    }
  }
  return parameters;
}

void ExpectEqual(const Request& request, const ModelInferRequest& proto) {
  ASSERT_EQ(request.model_name, proto.model_name());
  ASSERT_EQ(request.model_version, proto.model_version());
  ASSERT_EQ(request.id, proto.id());
  ASSERT_EQ(request.inputs.size(), static_cast<size_t>(proto.inputs_size()));
  for (int i = 0; i < proto.inputs_size(); ++i) {
    const InputTensor& input = request.inputs[static_cast<size_t>(i)];
    ASSERT_EQ(input.name, proto.inputs(i).name());
    ASSERT_EQ(WireName(input.dtype), proto.inputs(i).datatype());
    ASSERT_TRUE(std::equal(input.shape.begin(), input.shape.end(), proto.inputs(i).shape().begin(), proto.inputs(i).shape().end()));
    ASSERT_EQ(AsText(input.bytes), proto.raw_input_contents_size() > 0 ? proto.raw_input_contents(i) : ContentsAsRaw(proto.inputs(i)));
    ASSERT_EQ(input.parameters, ParametersOf(proto.inputs(i).parameters()));
  }
  ASSERT_EQ(request.outputs.size(), static_cast<size_t>(proto.outputs_size()));
  for (int i = 0; i < proto.outputs_size(); ++i) {
    ASSERT_EQ(request.outputs[static_cast<size_t>(i)].name, proto.outputs(i).name());
    ASSERT_EQ(request.outputs[static_cast<size_t>(i)].parameters, ParametersOf(proto.outputs(i).parameters()));
  }
  ASSERT_EQ(request.parameters, ParametersOf(proto.parameters()));
}

TEST(InferDecoderPropertyTest, AgreesWithProtobufOnValidMessages) {
  Generator generator(1);
  for (int i = 0; i < 5000; ++i) {
    const ModelInferRequest proto = generator.Request();
    const Decoded decoded(proto);
    ASSERT_TRUE(decoded.status.ok()) << decoded.status.ToString() << proto.DebugString();
    ExpectEqual(decoded.request, proto);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// What protobuf accepts must not be called malformed, and what it refuses must not be accepted.
void ExpectSameVerdict(const std::string& wire) {
  const Decoded decoded(wire);
  ModelInferRequest proto;
  const bool parsed = proto.ParseFromString(wire);
  const bool malformed = decoded.status.message().starts_with("malformed");
  if (decoded.status.ok()) {
    ASSERT_TRUE(parsed) << ::testing::PrintToString(wire);
  }
  if (malformed) {
    ASSERT_FALSE(parsed) << decoded.status.ToString() << ::testing::PrintToString(wire);
  }
}

TEST(InferDecoderPropertyTest, AgreesWithProtobufOnTruncatedMessages) {
  Generator generator(2);
  for (int i = 0; i < 200; ++i) {
    const std::string wire = generator.Request().SerializeAsString();
    for (size_t size = 0; size < wire.size(); ++size) {
      ExpectSameVerdict(wire.substr(0, size));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(InferDecoderPropertyTest, AgreesWithProtobufOnDamagedMessages) {
  Generator generator(3);
  for (int i = 0; i < 20000; ++i) {
    std::string wire = generator.Request().SerializeAsString();
    for (uint32_t n = 1 + generator.Below(3); n > 0 && !wire.empty(); --n) {
      wire[generator.Below(static_cast<uint32_t>(wire.size()))] = static_cast<char>(generator.Below(256));
    }
    ExpectSameVerdict(wire);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(InferDecoderPropertyTest, AgreesWithProtobufOnNoise) {
  Generator generator(4);
  for (int i = 0; i < 50000; ++i) {
    std::string wire(generator.Below(64), '\0');
    for (char& c : wire) c = static_cast<char>(generator.Below(4) == 0 ? generator.Below(256) : generator.Below(64));
    ExpectSameVerdict(wire);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tondar
