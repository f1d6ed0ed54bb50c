#include "server/http/json_tensor.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tondar::http {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are little-endian on the wire and in memory");

using simdjson::ondemand::json_type;

template <typename T>
constexpr std::string_view ExpectedElement() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_floating_point_v<T>) return "a number in range, \"NaN\", \"Infinity\" or \"-Infinity\"";
  return "an integer in range";
}

bool ReadSpecialFloat(std::string_view text, double& out) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::pair<std::string_view, double> kSpecial[] = {
      {"NaN", std::numeric_limits<double>::quiet_NaN()}, {"Infinity", kInfinity}, {"-Infinity", -kInfinity}};
  for (const auto& [name, value] : kSpecial) {
    if (text == name) {
      out = value;
      return true;
    }
  }
  return false;
}

template <typename T>
bool ReadFloat(JsonValue& value, json_type type, T& out) {
  double wide = 0;
  if (type == json_type::string) {
    std::string_view text;
    if (value.get_string().get(text) || !ReadSpecialFloat(text, wide)) return false;
    out = static_cast<T>(wide);
    return true;
  }
  if (type != json_type::number || value.get_double().get(wide)) return false;
  out = static_cast<T>(wide);
  return std::isfinite(out);  // a number too large for the type is refused, not turned into infinity
}

template <typename T>
bool ReadInteger(JsonValue& value, json_type type, T& out) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  Wide wide = 0;
  if (type != json_type::number || value.get<Wide>().get(wide)) return false;
  out = static_cast<T>(wide);
  return static_cast<Wide>(out) == wide;
}

// Where elements of one type go.
template <typename T>
class FixedSink {
 public:
  bool Start(size_t count) {
    buffer_ = ByteBuffer(count * sizeof(T));
    next_ = reinterpret_cast<T*>(buffer_.data());
    return true;
  }
  bool Take(JsonValue& value, json_type type) {
    T element{};
    bool ok = false;
    if constexpr (std::is_same_v<T, bool>) {
      ok = type == json_type::boolean && !value.get_bool().get(element);
    } else if constexpr (std::is_floating_point_v<T>) {
      ok = ReadFloat(value, type, element);
    } else {
      ok = ReadInteger(value, type, element);
    }
    if (ok) *next_++ = element;
    return ok;
  }
  ByteBuffer Finish() { return std::move(buffer_); }
  static constexpr std::string_view kExpected = ExpectedElement<T>();

 private:
  ByteBuffer buffer_;
  T* next_ = nullptr;
};

class StringSink {
 public:
  bool Start(size_t) { return true; }
  bool Take(JsonValue& value, json_type type) {
    std::string_view text;
    if (type != json_type::string || value.get_string().get(text)) return false;
    const auto length = static_cast<uint32_t>(text.size());  // documents are below 4 GiB
    framed_.append(reinterpret_cast<const char*>(&length), sizeof(length));
    framed_ += text;
    return true;
  }
  ByteBuffer Finish() {
    ByteBuffer buffer(framed_.size());
    if (!framed_.empty()) std::memcpy(buffer.data(), framed_.data(), framed_.size());
    return buffer;
  }
  static constexpr std::string_view kExpected = "a string";

 private:
  std::string framed_;
};

// Walks nested arrays; all arrays of one depth must have one length and all elements lie at one depth.
template <typename Sink>
class ArrayWalk {
 public:
  explicit ArrayWalk(size_t count) : count_(count) { lengths_.fill(-1); }

  Result<ByteBuffer> Run(JsonValue value) {
    JsonArray array;
    TONDAR_RETURN_IF_ERROR(ReadJsonArrayValue(value, "data", array));
    sink_.Start(count_);
    TONDAR_RETURN_IF_ERROR(Walk(array, 0));
    if (taken_ != count_) {
      return InvalidArgument("data has {} elements, expected {} by the shape", taken_, count_);
    }
    return sink_.Finish();
  }

 private:
  Status Walk(JsonArray array, int depth) {
    if (depth >= kMaxJsonDepth) return InvalidArgument("data is nested more than {} deep", kMaxJsonDepth);
    int64_t length = 0;
    for (auto element : array) {
      JsonValue value;
      json_type type;
      if (auto error = element.get(value)) return MalformedJson(error);
      if (auto error = value.type().get(type)) return MalformedJson(error);
      TONDAR_RETURN_IF_ERROR(type == json_type::array ? WalkInner(value, depth + 1) : Take(value, type, depth));
      ++length;
    }
    int64_t& expected = lengths_[static_cast<size_t>(depth)];
    if (expected < 0) expected = length;
    if (expected != length) {
      return InvalidArgument("data is ragged: arrays of {} and of {} elements at depth {}", expected, length, depth + 1);
    }
    return OkStatus();
  }

  Status WalkInner(JsonValue value, int depth) {
    JsonArray array;
    if (auto error = value.get_array().get(array)) return MalformedJson(error);
    return Walk(array, depth);
  }

  Status Take(JsonValue& value, json_type type, int depth) {
    if (element_depth_ < 0) element_depth_ = depth;
    if (element_depth_ != depth) return InvalidArgument("data is ragged: elements at depths {} and {}", element_depth_ + 1, depth + 1);
    if (taken_ == count_) return InvalidArgument("data has more elements than the {} of the shape", count_);
    if (!sink_.Take(value, type)) return InvalidArgument("data element {} is not {}", taken_, Sink::kExpected);
    ++taken_;
    return OkStatus();
  }

  const size_t count_;
  size_t taken_ = 0;
  int element_depth_ = -1;
  std::array<int64_t, kMaxJsonDepth> lengths_;
  Sink sink_;
};

template <typename Sink>
Result<ByteBuffer> ParseInto(JsonValue value, size_t count) {
  return ArrayWalk<Sink>(count).Run(value);
}

template <typename T>
void WriteNumber(JsonWriter& json, T value) {
  if constexpr (std::is_same_v<T, float>) {
    json.Float(value);
  } else if constexpr (std::is_same_v<T, double>) {
    json.Double(value);
  } else if constexpr (std::is_signed_v<T>) {
    json.Int(value);
  } else {
    json.UInt(value);
  }
}

template <typename T>
Status WriteElements(const OutputTensor& tensor, size_t count, JsonWriter& json) {
  if (tensor.bytes.size() != count * sizeof(T)) {
    return Internal("output '{}': {} bytes for {} elements of {}", tensor.name, tensor.bytes.size(), count,
                    WireName(tensor.dtype));
  }
  const auto* const elements = reinterpret_cast<const T*>(tensor.bytes.data());
  for (size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      json.Bool(tensor.bytes.data()[i] != std::byte{0});
    } else {
      WriteNumber(json, elements[i]);
    }
  }
  return OkStatus();
}

Status WriteStrings(const OutputTensor& tensor, size_t count, JsonWriter& json) {
  std::span<const std::byte> left = tensor.bytes.span();
  for (size_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    if (left.size() < sizeof(length)) return Internal("output '{}': BYTES end before element {}", tensor.name, i);
    std::memcpy(&length, left.data(), sizeof(length));
    left = left.subspan(sizeof(length));
    if (left.size() < length) return Internal("output '{}': BYTES end within element {}", tensor.name, i);
    if (!json.StrictString({reinterpret_cast<const char*>(left.data()), length})) {
      return InvalidArgument(
          "output '{}': element {} is not UTF-8, which JSON cannot hold; request it with binary_data = true", tensor.name, i);
    }
    left = left.subspan(length);
  }
  return OkStatus();
}

struct JsonForm {
  Result<ByteBuffer> (*parse)(JsonValue value, size_t count) = nullptr;
  Status (*write)(const OutputTensor& tensor, size_t count, JsonWriter& json) = nullptr;
};

template <typename T>
constexpr JsonForm FormOf() {
  return {&ParseInto<FixedSink<T>>, &WriteElements<T>};
}

constexpr std::array<JsonForm, kDTypeCount> MakeForms() {
  std::array<JsonForm, kDTypeCount> forms{};
  const auto set = [&](DType dtype, JsonForm form) { forms[static_cast<size_t>(dtype)] = form; };
  set(DType::kBool, FormOf<bool>());
  set(DType::kUInt8, FormOf<uint8_t>());
  set(DType::kUInt16, FormOf<uint16_t>());
  set(DType::kUInt32, FormOf<uint32_t>());
  set(DType::kUInt64, FormOf<uint64_t>());
  set(DType::kInt8, FormOf<int8_t>());
  set(DType::kInt16, FormOf<int16_t>());
  set(DType::kInt32, FormOf<int32_t>());
  set(DType::kInt64, FormOf<int64_t>());
  set(DType::kFloat32, FormOf<float>());
  set(DType::kFloat64, FormOf<double>());
  set(DType::kString, {&ParseInto<StringSink>, &WriteStrings});
  return forms;
}
constexpr std::array<JsonForm, kDTypeCount> kForms = MakeForms();

Status NoJsonForm(DType dtype) {
  return InvalidArgument("datatype {} has no JSON form; use binary data", WireName(dtype));
}

}  // namespace

bool HasJsonForm(DType dtype) { return kForms[static_cast<size_t>(dtype)].parse != nullptr; }

Result<ByteBuffer> ParseJsonTensor(JsonValue array, DType dtype, const Dims& shape, size_t json_size) {
  if (!HasJsonForm(dtype)) return NoJsonForm(dtype);
  const auto count = CheckedElementCount(shape.span());
  if (!count) return InvalidArgument("shape {} has a negative extent or too many elements", ToString(shape));
  // An element takes two characters at least.
  if (static_cast<uint64_t>(*count) > json_size / 2 + 1) {
    return InvalidArgument("data has fewer elements than the {} of shape {}", *count, ToString(shape));
  }
  return kForms[static_cast<size_t>(dtype)].parse(array, static_cast<size_t>(*count));
}

Status WriteJsonTensor(const OutputTensor& tensor, JsonWriter& json) {
  if (!HasJsonForm(tensor.dtype)) return NoJsonForm(tensor.dtype).Annotated("output '" + tensor.name + "'");
  const auto count = CheckedElementCount(tensor.shape.span());
  if (!count) return Internal("output '{}': shape {}", tensor.name, ToString(tensor.shape));
  json.BeginArray();
  TONDAR_RETURN_IF_ERROR(kForms[static_cast<size_t>(tensor.dtype)].write(tensor, static_cast<size_t>(*count), json));
  json.EndArray();
  return OkStatus();
}

}  // namespace tondar::http
