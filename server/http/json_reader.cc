#include "server/http/json_reader.h"

#include "server/http/http_message.h"
#include "server/http/json_mistakes.h"

namespace tondar::http {
namespace {

static_assert(kBodyPadding >= simdjson::SIMDJSON_PADDING);

// A parser keeps about six times the largest document it has seen; above this size it is not kept.
constexpr size_t kKeptParserSize = 1 << 20;

Status ReadWith(simdjson::ondemand::parser& parser, std::span<const std::byte> text,
                const std::function<Status(JsonObject)>& read) {
  const simdjson::padded_string_view padded(reinterpret_cast<const char*>(text.data()), text.size(),
                                            text.size() + kBodyPadding);
  simdjson::ondemand::document document;
  if (auto error = parser.iterate(padded).get(document)) return MalformedJson(error);
  simdjson::ondemand::json_type type;
  if (auto error = document.type().get(type)) return MalformedJson(error);
  if (type != simdjson::ondemand::json_type::object) {
    return InvalidArgument("the JSON body must be an object");
  }
  JsonObject object;
  if (auto error = document.get_object().get(object)) return MalformedJson(error);
  TONDAR_RETURN_IF_ERROR(read(object));
  const char* behind = nullptr;
  if (document.current_location().get(behind) != simdjson::OUT_OF_BOUNDS) {
    return InvalidArgument("malformed JSON: more text follows the object");
  }
  return OkStatus();
}

constexpr std::string_view kMalformed = "malformed JSON: ";

// The parser's words for what is malformed are few; where the mistake is a known one, it is named instead.
Status WithMistake(Status status, std::span<const std::byte> text) {
  const size_t at = status.message().find(kMalformed);
  if (status.code() != StatusCode::kInvalidArgument || at == std::string_view::npos) return status;
  const std::string mistake = DescribeJsonMistake({reinterpret_cast<const char*>(text.data()), text.size()});
  if (mistake.empty()) return status;
  return InvalidArgument("{}{}{}", status.message().substr(0, at), kMalformed, mistake);
}

Status WrongType(std::string_view what, std::string_view expected) {
  return InvalidArgument("{} must be {}", what, expected);
}

// Structural damage is said as such, whatever was being read.
Status WrongTypeOr(simdjson::error_code error, std::string_view what, std::string_view expected) {
  if (error == simdjson::INCORRECT_TYPE || error == simdjson::NUMBER_ERROR) return WrongType(what, expected);
  return MalformedJson(error).Annotated(what);
}

}  // namespace

Status ReadJsonObject(std::span<const std::byte> text, const std::function<Status(JsonObject)>& read) {
  if (text.empty()) return InvalidArgument("the request body is empty; a JSON object is expected");
  if (text.size() > kKeptParserSize) {
    simdjson::ondemand::parser parser(UINT32_MAX);
    return WithMistake(ReadWith(parser, text, read), text);
  }
  // Scratch memory of the calling thread; nothing of a document outlives this call.
  static thread_local simdjson::ondemand::parser parser(kKeptParserSize);
  return WithMistake(ReadWith(parser, text, read), text);
}

Status MalformedJson(simdjson::error_code error) {
  return InvalidArgument("{}{}", kMalformed, simdjson::error_message(error));
}

Status SkipJson(JsonValue value, int depth) {
  if (depth > kMaxJsonDepth) return InvalidArgument("JSON is nested more than {} deep", kMaxJsonDepth);
  simdjson::ondemand::json_type type;
  if (auto error = value.type().get(type)) return MalformedJson(error);
  switch (type) {
    case simdjson::ondemand::json_type::array: {
      JsonArray array;
      if (auto error = value.get_array().get(array)) return MalformedJson(error);
      return ForEachElement(array, [&](JsonValue element) { return SkipJson(element, depth + 1); });
    }
    case simdjson::ondemand::json_type::object: {
      JsonObject object;
      if (auto error = value.get_object().get(object)) return MalformedJson(error);
      return ForEachMember(object, [&](std::string_view, JsonValue member) { return SkipJson(member, depth + 1); });
    }
    case simdjson::ondemand::json_type::string: {
      std::string_view ignored;
      if (auto error = value.get_string().get(ignored)) return MalformedJson(error);
      return OkStatus();
    }
    case simdjson::ondemand::json_type::number: {
      double ignored;
      if (auto error = value.get_double().get(ignored)) return MalformedJson(error);
      return OkStatus();
    }
    case simdjson::ondemand::json_type::boolean: {
      bool ignored;
      if (auto error = value.get_bool().get(ignored)) return MalformedJson(error);
      return OkStatus();
    }
    case simdjson::ondemand::json_type::null:
      return value.is_null() ? OkStatus() : MalformedJson(simdjson::N_ATOM_ERROR);
  }
  return MalformedJson(simdjson::TAPE_ERROR);
}

Status ReadJsonString(JsonValue value, std::string_view what, std::string_view& out) {
  if (auto error = value.get_string().get(out)) return WrongTypeOr(error, what, "a string");
  return OkStatus();
}

Status ReadJsonBool(JsonValue value, std::string_view what, bool& out) {
  if (auto error = value.get_bool().get(out)) return WrongTypeOr(error, what, "true or false");
  return OkStatus();
}

Status ReadJsonInt(JsonValue value, std::string_view what, int64_t& out) {
  if (auto error = value.get_int64().get(out)) return WrongTypeOr(error, what, "an integer of 64 bits");
  return OkStatus();
}

Status ReadJsonObjectValue(JsonValue value, std::string_view what, JsonObject& out) {
  if (auto error = value.get_object().get(out)) return WrongTypeOr(error, what, "an object");
  return OkStatus();
}

Status ReadJsonArrayValue(JsonValue value, std::string_view what, JsonArray& out) {
  if (auto error = value.get_array().get(out)) return WrongTypeOr(error, what, "an array");
  return OkStatus();
}

Status ReadJsonParameter(JsonValue value, std::string_view what, ParameterValue& out) {
  constexpr std::string_view kExpected = "a number, a string or a boolean";
  simdjson::ondemand::json_type type;
  if (auto error = value.type().get(type)) return MalformedJson(error);
  switch (type) {
    case simdjson::ondemand::json_type::string: {
      std::string_view text;
      TONDAR_RETURN_IF_ERROR(ReadJsonString(value, what, text));
      out = std::string(text);
      return OkStatus();
    }
    case simdjson::ondemand::json_type::boolean: {
      bool flag = false;
      TONDAR_RETURN_IF_ERROR(ReadJsonBool(value, what, flag));
      out = flag;
      return OkStatus();
    }
    case simdjson::ondemand::json_type::number: {
      simdjson::ondemand::number number;
      if (auto error = value.get_number().get(number)) return WrongTypeOr(error, what, kExpected);
      if (number.is_int64()) {
        out = number.get_int64();
      } else if (number.is_uint64()) {
        out = number.get_uint64();
      } else {
        out = number.get_double();
      }
      return OkStatus();
    }
    default: return WrongType(what, kExpected);
  }
}

Result<bool> ReadJsonNull(JsonValue value) {
  simdjson::ondemand::json_type type;
  if (auto error = value.type().get(type)) return MalformedJson(error);
  if (type != simdjson::ondemand::json_type::null) return false;
  if (!value.is_null()) return MalformedJson(simdjson::N_ATOM_ERROR);
  return true;
}

}  // namespace tondar::http
