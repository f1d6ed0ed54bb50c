#include "server/http/infer_decoder.h"

#include <charconv>
#include <cstring>

#include "server/http/json_reader.h"
#include "server/http/json_tensor.h"

namespace tondar::http {
namespace {

constexpr std::string_view kSharedMemory = "shared_memory_";  // prefix of the parameters of that extension

std::unique_ptr<Request> MakeRequest(const HttpRequest& http) {
  auto request = std::make_unique<Request>();
  request->protocol = Protocol::kHttp;
  request->storage = http.storage;
  request->times.received = http.received;
  return request;
}

// A member of a JSON object and what reads it.
template <typename Decoder>
struct Member {
  std::string_view key;
  Status (Decoder::*read)(JsonValue value);
};

// Reads `object` by a table; unknown members are walked over, as clients send some of their own. A member given twice
// is refused: which of them counts would be a guess.
template <typename Decoder, size_t N>
Status ReadMembers(Decoder& decoder, JsonObject object, const Member<Decoder> (&table)[N], int depth) {
  uint32_t seen = 0;
  return ForEachMember(object, [&](std::string_view key, JsonValue value) -> Status {
    for (size_t i = 0; i < N; ++i) {
      if (key != table[i].key) continue;
      if ((seen >> i & 1) != 0) return InvalidArgument("'{}' is given twice", key);
      seen |= 1u << i;
      return (decoder.*table[i].read)(value);
    }
    return SkipJson(value, depth);
  });
}

Result<bool> AsBool(const ParameterValue& value, std::string_view name) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  return InvalidArgument("parameter '{}' must be true or false", name);
}

// Reads {"name": scalar, ...}; `take` returns true if it consumed the parameter, else it goes to `rest`.
template <typename Take>
Status ReadParameters(JsonValue value, Parameters& rest, Take take) {
  TONDAR_ASSIGN_OR_RETURN(const bool null, ReadJsonNull(value));
  if (null) return OkStatus();
  JsonObject object;
  TONDAR_RETURN_IF_ERROR(ReadJsonObjectValue(value, "'parameters'", object));
  return ForEachMember(object, [&](std::string_view key, JsonValue member) -> Status {
    std::string name(key);
    ParameterValue parameter;
    TONDAR_RETURN_IF_ERROR(ReadJsonParameter(member, "parameter '" + name + "'", parameter));
    TONDAR_ASSIGN_OR_RETURN(const bool taken, take(std::string_view(name), parameter));
    if (taken) return OkStatus();
    const auto [place, is_new] = rest.try_emplace(std::move(name), std::move(parameter));
    return is_new ? OkStatus() : InvalidArgument("parameter '{}' is given twice", place->first);
  });
}

// One element of "inputs".
class InputDecoder {
 public:
  InputDecoder(Request& request, InputTensor& input, size_t json_size)
      : request_(request), input_(input), json_size_(json_size) {}

  Status Decode(JsonObject object) {
    static constexpr Member<InputDecoder> kMembers[] = {{"name", &InputDecoder::ReadName},
                                                        {"shape", &InputDecoder::ReadShape},
                                                        {"datatype", &InputDecoder::ReadDatatype},
                                                        {"data", &InputDecoder::ReadTensor},
                                                        {"parameters", &InputDecoder::ReadInputParameters}};
    TONDAR_RETURN_IF_ERROR(ReadMembers(*this, object, kMembers, 3));
    if (!has_name_) return InvalidArgument("'name' is missing");
    if (!has_shape_) return InvalidArgument("'shape' is missing");
    if (input_.dtype == DType::kInvalid) return InvalidArgument("'datatype' is missing");
    if (data_waits_) TONDAR_RETURN_IF_ERROR(ReadLateTensor(object));
    return CheckOneSource();
  }

  const std::optional<uint64_t>& binary_size() const { return binary_size_; }

 private:
  Status ReadName(JsonValue value) {
    std::string_view name;
    TONDAR_RETURN_IF_ERROR(ReadJsonString(value, "'name'", name));
    input_.name = name;
    has_name_ = true;
    return OkStatus();
  }

  Status ReadShape(JsonValue value) {
    JsonArray array;
    TONDAR_RETURN_IF_ERROR(ReadJsonArrayValue(value, "'shape'", array));
    has_shape_ = true;
    return ForEachElement(array, [&](JsonValue element) -> Status {
      int64_t extent = 0;
      TONDAR_RETURN_IF_ERROR(ReadJsonInt(element, "each extent of 'shape'", extent));
      if (input_.shape.rank() == kMaxRank) return InvalidArgument("'shape' has more than {} extents", kMaxRank);
      input_.shape.push_back(extent);
      return OkStatus();
    });
  }

  Status ReadDatatype(JsonValue value) {
    std::string_view wire;
    TONDAR_RETURN_IF_ERROR(ReadJsonString(value, "'datatype'", wire));
    const auto dtype = wire.empty() ? std::nullopt : DTypeFromWire(wire);
    if (!dtype) return InvalidArgument("'datatype' is '{}', which the protocol does not have", wire);
    input_.dtype = *dtype;
    return OkStatus();
  }

  // Needs shape and datatype; where they come behind, the array is stepped over and read when they are known.
  Status ReadTensor(JsonValue value) {
    has_data_ = true;
    data_waits_ = !has_shape_ || input_.dtype == DType::kInvalid;
    if (data_waits_) return OkStatus();
    TONDAR_ASSIGN_OR_RETURN(ByteBuffer bytes, ParseJsonTensor(value, input_.dtype, input_.shape, json_size_));
    input_.bytes = bytes.span();
    request_.owned.push_back(std::move(bytes));
    return OkStatus();
  }

  // The parser unescapes strings into a buffer that has room for each string of the document once, unchecked. So no
  // string, keys included, may be read a second time here; find_field compares keys as they are written.
  Status ReadLateTensor(JsonObject& object) {
    bool reset = false;
    if (auto error = object.reset().get(reset)) return MalformedJson(error);
    JsonValue value;
    if (object.find_field("data").get(value)) {
      return InvalidArgument("'data' is written with escapes; write it plainly, or behind 'shape' and 'datatype'");
    }
    return ReadTensor(value);
  }

  Status ReadInputParameters(JsonValue value) {
    return ReadParameters(value, input_.parameters,
                          [&](std::string_view name, const ParameterValue& parameter) -> Result<bool> {
                            if (name.starts_with(kSharedMemory)) return Unimplemented("shared memory is not supported");
                            if (name != "binary_data_size") return false;
                            TONDAR_ASSIGN_OR_RETURN(binary_size_, NonNegative(name, parameter));
                            return true;
                          });
  }

  Status CheckOneSource() const {
    if (has_data_ && binary_size_) return InvalidArgument("both 'data' and 'binary_data_size' are given; give one");
    if (!has_data_ && !binary_size_) return InvalidArgument("neither 'data' nor 'binary_data_size' is given");
    return OkStatus();
  }

  Request& request_;
  InputTensor& input_;
  const size_t json_size_;
  bool has_name_ = false, has_shape_ = false, has_data_ = false, data_waits_ = false;
  std::optional<uint64_t> binary_size_;
};

// One element of "outputs".
class OutputDecoder {
 public:
  OutputDecoder(RequestedOutput& output, std::optional<bool>& binary) : output_(output), binary_(binary) {}

  Status Decode(JsonObject object) {
    static constexpr Member<OutputDecoder> kMembers[] = {{"name", &OutputDecoder::ReadName},
                                                         {"parameters", &OutputDecoder::ReadOutputParameters}};
    TONDAR_RETURN_IF_ERROR(ReadMembers(*this, object, kMembers, 3));
    return has_name_ ? OkStatus() : InvalidArgument("'name' is missing");
  }

 private:
  Status ReadName(JsonValue value) {
    std::string_view name;
    TONDAR_RETURN_IF_ERROR(ReadJsonString(value, "'name'", name));
    output_.name = name;
    has_name_ = true;
    return OkStatus();
  }

  Status ReadOutputParameters(JsonValue value) {
    return ReadParameters(value, output_.parameters,
                          [&](std::string_view name, const ParameterValue& parameter) -> Result<bool> {
                            if (name.starts_with(kSharedMemory)) return Unimplemented("shared memory is not supported");
                            if (name != "binary_data") return false;
                            TONDAR_ASSIGN_OR_RETURN(binary_, AsBool(parameter, name));
                            return true;
                          });
  }

  RequestedOutput& output_;
  std::optional<bool>& binary_;
  bool has_name_ = false;
};

// The whole body.
class BodyDecoder {
 public:
  BodyDecoder(std::span<const std::byte> body, size_t json_size, DecodedInfer& decoded)
      : body_(body), json_size_(json_size), binary_left_(body.subspan(json_size)), decoded_(decoded) {}

  Status Decode() {
    const Status status = ReadJsonObject(body_.first(json_size_), [this](JsonObject object) { return Read(object); });
    if (!status.ok()) return status;
    if (!has_inputs_) return InvalidArgument("'inputs' is missing");
    if (!binary_left_.empty()) {
      return InvalidArgument("the body has {} bytes more than the inputs' binary_data_size add up to", binary_left_.size());
    }
    for (size_t i = 0; i < binary_wanted_.size(); ++i) {
      request().outputs[i].binary = binary_wanted_[i].value_or(decoded_.binary_by_default);
    }
    return OkStatus();
  }

 private:
  Request& request() { return *decoded_.request; }

  Status Read(JsonObject object) {
    static constexpr Member<BodyDecoder> kMembers[] = {{"id", &BodyDecoder::ReadId},
                                                       {"inputs", &BodyDecoder::ReadInputs},
                                                       {"outputs", &BodyDecoder::ReadOutputs},
                                                       {"parameters", &BodyDecoder::ReadRequestParameters}};
    return ReadMembers(*this, object, kMembers, 1);
  }

  Status ReadId(JsonValue value) {
    TONDAR_ASSIGN_OR_RETURN(const bool null, ReadJsonNull(value));
    if (null) return OkStatus();
    std::string_view id;
    TONDAR_RETURN_IF_ERROR(ReadJsonString(value, "'id'", id));
    request().id = id;
    return OkStatus();
  }

  Status ReadInputs(JsonValue value) {
    has_inputs_ = true;
    JsonArray array;
    TONDAR_RETURN_IF_ERROR(ReadJsonArrayValue(value, "'inputs'", array));
    return ForEachElement(array, [&](JsonValue element) -> Status {
      JsonObject object;
      TONDAR_RETURN_IF_ERROR(ReadJsonObjectValue(element, "each of 'inputs'", object));
      return ReadInput(object);
    });
  }

  Status ReadInput(JsonObject object) {
    InputTensor& input = request().inputs.emplace_back();
    InputDecoder decoder(request(), input, json_size_);
    Status status = decoder.Decode(object);
    if (status.ok() && decoder.binary_size()) status = TakeBinary(input, *decoder.binary_size());
    if (status.ok()) return status;
    return status.Annotated(input.name.empty() ? fmt::format("input {}", request().inputs.size() - 1)
                                               : "input '" + input.name + "'");
  }

  Status TakeBinary(InputTensor& input, uint64_t size) {
    if (size > binary_left_.size()) {
      return InvalidArgument("binary_data_size is {}, but {} bytes are left in the body", size, binary_left_.size());
    }
    input.bytes = binary_left_.first(size);
    binary_left_ = binary_left_.subspan(size);
    return OkStatus();
  }

  Status ReadOutputs(JsonValue value) {
    TONDAR_ASSIGN_OR_RETURN(const bool null, ReadJsonNull(value));
    if (null) return OkStatus();
    JsonArray array;
    TONDAR_RETURN_IF_ERROR(ReadJsonArrayValue(value, "'outputs'", array));
    return ForEachElement(array, [&](JsonValue element) -> Status {
      JsonObject object;
      TONDAR_RETURN_IF_ERROR(ReadJsonObjectValue(element, "each of 'outputs'", object));
      RequestedOutput& output = request().outputs.emplace_back();
      const Status status = OutputDecoder(output, binary_wanted_.emplace_back()).Decode(object);
      if (status.ok()) return status;
      return status.Annotated(output.name.empty() ? fmt::format("output {}", request().outputs.size() - 1)
                                                  : "output '" + output.name + "'");
    });
  }

  Status ReadRequestParameters(JsonValue value) {
    return ReadParameters(value, request().parameters,
                          [&](std::string_view name, const ParameterValue& parameter) -> Result<bool> {
                            if (name != "binary_data_output") return false;
                            TONDAR_ASSIGN_OR_RETURN(decoded_.binary_by_default, AsBool(parameter, name));
                            return true;
                          });
  }

  std::span<const std::byte> body_;
  const size_t json_size_;
  std::span<const std::byte> binary_left_;
  DecodedInfer& decoded_;
  std::vector<std::optional<bool>> binary_wanted_;
  bool has_inputs_ = false;
};

// Fills in the one variable extent from the size of the body.
Status SolveShape(size_t size, InputTensor& input) {
  uint64_t known = SizeOf(input.dtype);
  int64_t* variable = nullptr;
  for (int64_t& extent : input.shape) {
    if (extent < 0) {
      if (variable != nullptr) return InvalidArgument("more than one variable extent in {}; send JSON", ToString(input.shape));
      variable = &extent;
    } else if (__builtin_mul_overflow(known, static_cast<uint64_t>(extent), &known)) {
      return InvalidArgument("shape {} is too large", ToString(input.shape));
    }
  }
  if (variable == nullptr) return OkStatus();  // a wrong size is refused by the service
  if (known == 0 || size % known != 0) {
    return InvalidArgument("{} bytes do not fill {} of {}", size, ToString(input.shape), WireName(input.dtype));
  }
  *variable = static_cast<int64_t>(size / known);
  return OkStatus();
}

Status FillRawInput(std::span<const std::byte> body, bool batches, const TensorConfig& config, Request& request,
                    InputTensor& input) {
  input.dtype = config.dtype;
  if (batches) input.shape.push_back(1);
  if (config.dims.size() + (batches ? 1 : 0) > static_cast<size_t>(kMaxRank)) return InvalidArgument("the rank is too high");
  if (config.dtype != DType::kString) {
    for (int64_t extent : config.dims) input.shape.push_back(extent);
    input.bytes = body;
    return SolveShape(body.size(), input);
  }
  // One element: the body gets the length in front.
  for (size_t i = 0; i < config.dims.size(); ++i) input.shape.push_back(1);
  const auto length = static_cast<uint32_t>(body.size());
  if (length != body.size()) return InvalidArgument("an element of BYTES cannot be of {} bytes", body.size());
  ByteBuffer framed(sizeof(length) + body.size());
  std::memcpy(framed.data(), &length, sizeof(length));
  if (!body.empty()) std::memcpy(framed.data() + sizeof(length), body.data(), body.size());
  input.bytes = framed.span();
  request.owned.push_back(std::move(framed));
  return OkStatus();
}

}  // namespace

Result<InferFraming> FramingOf(const HttpRequest& request) {
  if (!request.inference_header_length) return InferFraming{InferForm::kJson, request.body.size()};
  const std::string_view text = *request.inference_header_length;
  uint64_t size = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), size);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || text.empty()) {
    return InvalidArgument("Inference-Header-Content-Length is '{}', expected the decimal size of the JSON part", text);
  }
  if (size > request.body.size()) {
    return InvalidArgument("Inference-Header-Content-Length is {}, larger than the body of {} bytes", size,
                           request.body.size());
  }
  return InferFraming{size == 0 ? InferForm::kRaw : InferForm::kBinary, static_cast<size_t>(size)};
}

Result<DecodedInfer> DecodeInfer(const HttpRequest& request, size_t json_size) {
  DecodedInfer decoded;
  decoded.request = MakeRequest(request);
  TONDAR_RETURN_IF_ERROR(BodyDecoder(request.body, json_size, decoded).Decode());
  return decoded;
}

Result<DecodedInfer> DecodeRawInfer(const HttpRequest& request, const ModelConfig& config) {
  if (config.inputs.size() != 1) {
    return InvalidArgument("a raw binary request needs a model of one input; '{}' has {}", config.name, config.inputs.size());
  }
  DecodedInfer decoded;
  decoded.request = MakeRequest(request);
  decoded.binary_by_default = true;
  InputTensor& input = decoded.request->inputs.emplace_back();
  input.name = config.inputs[0].name;
  const Status status =
      FillRawInput(request.body, config.max_batch_size > 0, config.inputs[0], *decoded.request, input);
  if (!status.ok()) return status.Annotated("raw binary request: input '" + input.name + "'");
  return decoded;
}

}  // namespace tondar::http
