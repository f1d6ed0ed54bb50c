#include "server/grpc/infer_decoder.h"

#include <google/protobuf/stubs/common.h>

#include <algorithm>
#include <bit>

#include "server/grpc/typed_contents.h"

namespace tondar {
namespace {

// A message of a few hundred megabytes could hold as many empty tensors; each costs a hundred times its two bytes.
constexpr size_t kMostTensors = 16384;
constexpr size_t kReservedTensors = 4;  // room made at once; most models have no more

bool IsUtf8(WireBytes bytes) {
  const bool ascii = std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b < std::byte{0x80}; });
  return ascii || google::protobuf::internal::IsStructurallyValidUTF8(reinterpret_cast<const char*>(bytes.data()),
                                                                      static_cast<int>(bytes.size()));
}

Status Malformed(std::string_view what) { return InvalidArgument("malformed ModelInferRequest: {}", what); }

// A string field, which in proto3 must be UTF-8.
Status ReadText(WireReader& reader, std::string_view name, WireBytes& text) {
  text = reader.Bytes();
  return IsUtf8(text) ? OkStatus() : Malformed(fmt::format("{} is not valid UTF-8", name));
}

Status ReadText(WireReader& reader, std::string_view name, std::string& text) {
  WireBytes bytes;
  TONDAR_RETURN_IF_ERROR(ReadText(reader, name, bytes));
  text.assign(AsText(bytes));
  return OkStatus();
}

// InferParameter: of several values the last counts.
Status ReadParameterValue(WireBytes message, std::optional<ParameterValue>& value) {
  WireReader reader(message);
  while (reader.Next()) {
    if (reader.Is(1, WireType::kVarint)) {
      value = reader.Varint() != 0;
    } else if (reader.Is(2, WireType::kVarint)) {
      value = static_cast<int64_t>(reader.Varint());
    } else if (reader.Is(3, WireType::kBytes)) {
      std::string text;
      TONDAR_RETURN_IF_ERROR(ReadText(reader, "a parameter", text));
      value = std::move(text);
    } else if (reader.Is(4, WireType::kFixed64)) {
      value = std::bit_cast<double>(reader.Fixed64());
    } else if (reader.Is(5, WireType::kVarint)) {
      value = reader.Varint();
    } else {
      reader.Skip();
    }
  }
  return reader.ok() ? OkStatus() : Malformed("a parameter");
}

// One entry of a map<string, InferParameter>.
Status ReadParameter(WireBytes entry, Parameters& parameters) {
  std::string name;
  std::optional<ParameterValue> value;
  WireReader reader(entry);
  while (reader.Next()) {
    if (reader.Is(1, WireType::kBytes)) {
      TONDAR_RETURN_IF_ERROR(ReadText(reader, "a parameter's name", name));
    } else if (reader.Is(2, WireType::kBytes)) {
      TONDAR_RETURN_IF_ERROR(ReadParameterValue(reader.Bytes(), value));
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return Malformed("a parameter");
  if (!value) return InvalidArgument("parameter '{}' has no value", name);
  parameters.insert_or_assign(std::move(name), *std::move(value));
  return OkStatus();
}

Status AddExtent(int64_t extent, Dims& shape) {
  if (shape.rank() == kMaxRank) return InvalidArgument("a shape has more than {} dimensions", kMaxRank);
  shape.push_back(extent);
  return OkStatus();
}

// A repeated int64, packed or not.
Status ReadShape(WireReader& reader, Dims& shape) {
  if (reader.type() == WireType::kVarint) return AddExtent(static_cast<int64_t>(reader.Varint()), shape);
  WireReader extents(reader.Bytes());
  for (uint64_t extent = 0; extents.NextVarint(extent);) {
    TONDAR_RETURN_IF_ERROR(AddExtent(static_cast<int64_t>(extent), shape));
  }
  return extents.ok() ? OkStatus() : Malformed("a shape");
}

std::string KnownDatatypes() {
  std::string names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const std::string_view wire = WireName(static_cast<DType>(i));
    if (!wire.empty()) names += fmt::format("{}{}", names.empty() ? "" : ", ", wire);
  }
  return names;
}

// Decodes one message. Fields may come in any order, so what depends on several of them waits for the end.
class Decoder {
 public:
  explicit Decoder(Request& request) : request_(request) {}

  Status Decode(WireBytes message) {
    WireReader reader(message);
    while (reader.Next()) TONDAR_RETURN_IF_ERROR(ReadField(reader));
    if (!reader.ok()) return Malformed("truncated or not a protobuf message");
    // Asks streams for an empty last response; a request has exactly one response here.
    request_.parameters.erase("triton_enable_empty_final_response");
    return AttachData();
  }

 private:
  // Typed data of an input, to be decoded once its datatype is known.
  struct TypedData {
    size_t input;
    WireBytes contents;
    std::string merged;  // contents came in several parts, which protobuf joins
  };

  Status ReadField(WireReader& reader) {
    if (reader.type() == WireType::kBytes) {
      switch (reader.field()) {
        case 1: return ReadText(reader, "model_name", request_.model_name);
        case 2: return ReadText(reader, "model_version", request_.model_version);
        case 3: return ReadText(reader, "id", request_.id);
        case 4: return ReadParameter(reader.Bytes(), request_.parameters);
        case 5: return ReadInput(reader.Bytes());
        case 6: return ReadOutput(reader.Bytes());
        case 7: return ReadRaw(reader.Bytes());
        default: break;
      }
    }
    reader.Skip();
    return OkStatus();
  }

  Status ReadInput(WireBytes message) {
    if (request_.inputs.size() == kMostTensors) return InvalidArgument("more than {} inputs", kMostTensors);
    if (request_.inputs.empty()) request_.inputs.reserve(kReservedTensors);
    InputTensor& input = request_.inputs.emplace_back();
    WireBytes datatype;
    WireReader reader(message);
    while (reader.Next()) {
      if (reader.Is(1, WireType::kBytes)) {
        TONDAR_RETURN_IF_ERROR(ReadText(reader, "an input's name", input.name));
      } else if (reader.Is(2, WireType::kBytes)) {
        TONDAR_RETURN_IF_ERROR(ReadText(reader, "a datatype", datatype));
      } else if (reader.Is(3, WireType::kBytes) || reader.Is(3, WireType::kVarint)) {
        TONDAR_RETURN_IF_ERROR(ReadShape(reader, input.shape));
      } else if (reader.Is(4, WireType::kBytes)) {
        TONDAR_RETURN_IF_ERROR(ReadParameter(reader.Bytes(), input.parameters));
      } else if (reader.Is(5, WireType::kBytes)) {
        AddTyped(reader.Bytes());
      } else {
        reader.Skip();
      }
    }
    if (!reader.ok()) return Malformed("an input");
    const std::optional<DType> dtype = DTypeFromWire(AsText(datatype));
    if (!dtype || WireName(*dtype).empty()) {
      return InvalidArgument("input '{}': unknown datatype '{}', expected one of {}", input.name, AsText(datatype),
                             KnownDatatypes());
    }
    input.dtype = *dtype;
    return CheckInputParameters(input);
  }

  static Status CheckInputParameters(const InputTensor& input) {
    for (const auto& [name, value] : input.parameters) {
      if (name.starts_with("shared_memory_")) {
        return Unimplemented("input '{}': shared memory is not implemented, send the data", input.name);
      }
    }
    return OkStatus();
  }

  Status ReadOutput(WireBytes message) {
    if (request_.outputs.size() == kMostTensors) return InvalidArgument("more than {} outputs", kMostTensors);
    if (request_.outputs.empty()) request_.outputs.reserve(kReservedTensors);
    RequestedOutput& output = request_.outputs.emplace_back();
    WireReader reader(message);
    while (reader.Next()) {
      if (reader.Is(1, WireType::kBytes)) {
        TONDAR_RETURN_IF_ERROR(ReadText(reader, "an output's name", output.name));
      } else if (reader.Is(2, WireType::kBytes)) {
        TONDAR_RETURN_IF_ERROR(ReadParameter(reader.Bytes(), output.parameters));
      } else {
        reader.Skip();
      }
    }
    return reader.ok() ? TakeOutputParameters(output) : Malformed("an output");
  }

  static Status TakeOutputParameters(RequestedOutput& output) {
    for (const auto& [name, value] : output.parameters) {
      if (name.starts_with("shared_memory_")) {
        return Unimplemented("output '{}': shared memory is not implemented", output.name);
      }
    }
    const auto classes = output.parameters.find("classification");
    if (classes == output.parameters.end()) return OkStatus();
    TONDAR_ASSIGN_OR_RETURN(const uint64_t count, NonNegative("classification", classes->second));
    if (count > 0) return Unimplemented("output '{}': classification is not implemented", output.name);
    output.parameters.erase(classes);
    return OkStatus();
  }

  // The n-th entry belongs to the n-th input, which nearly always has been read already.
  Status ReadRaw(WireBytes bytes) {
    if (raw_count_ == kMostTensors) return InvalidArgument("more than {} raw_input_contents", kMostTensors);
    if (raw_count_ < request_.inputs.size()) {
      request_.inputs[raw_count_].bytes = bytes;
    } else {
      early_raw_.push_back({raw_count_, bytes});
    }
    ++raw_count_;
    return OkStatus();
  }

  void AddTyped(WireBytes contents) {
    const size_t input = request_.inputs.size() - 1;
    if (typed_.empty() || typed_.back().input != input) {
      typed_.push_back({input, contents, {}});
      return;
    }
    TypedData& typed = typed_.back();
    if (typed.merged.empty()) typed.merged.assign(AsText(typed.contents));
    typed.merged.append(AsText(contents));
  }

  Status AttachData() {
    if (raw_count_ > 0) {
      // Touching the field sets an empty message in some clients; that is no data.
      std::erase_if(typed_, [](const TypedData& typed) { return typed.contents.empty(); });
      if (!typed_.empty()) {
        return InvalidArgument("input '{}' has contents, but the request has raw_input_contents as well; use one of the two",
                               request_.inputs[typed_[0].input].name);
      }
      if (raw_count_ != request_.inputs.size()) {
        return InvalidArgument("{} raw_input_contents for {} inputs, expected one for each", raw_count_,
                               request_.inputs.size());
      }
      for (const auto& [input, bytes] : early_raw_) request_.inputs[input].bytes = bytes;
      return OkStatus();
    }
    for (TypedData& typed : typed_) TONDAR_RETURN_IF_ERROR(DecodeTyped(typed));
    return OkStatus();
  }

  Status DecodeTyped(TypedData& typed) {
    WireBytes contents = typed.contents;
    if (!typed.merged.empty()) {
      ByteBuffer& joined = request_.owned.emplace_back(typed.merged.size());
      std::memcpy(joined.data(), typed.merged.data(), typed.merged.size());
      contents = joined.span();
    }
    return DecodeTypedContents(contents, request_.inputs[typed.input], request_.owned);
  }

  Request& request_;
  size_t raw_count_ = 0;
  std::vector<std::pair<size_t, WireBytes>> early_raw_;
  std::vector<TypedData> typed_;
};

}  // namespace

Status DecodeInferRequest(WireBytes message, Request& request) { return Decoder(request).Decode(message); }

}  // namespace tondar
