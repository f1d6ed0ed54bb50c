// simdjson on-demand, as the codecs here use it: error codes only, no exceptions.
#ifndef TONDAR_SERVER_HTTP_JSON_READER_H_
#define TONDAR_SERVER_HTTP_JSON_READER_H_

#include <simdjson.h>

#include <functional>
#include <span>
#include <string_view>

#include "engine/base/status.h"
#include "server/request/request.h"

namespace tondar::http {

using JsonValue = simdjson::ondemand::value;
using JsonObject = simdjson::ondemand::object;
using JsonArray = simdjson::ondemand::array;

// Arrays and objects may be nested so deep, as in other servers of the protocol.
inline constexpr int kMaxJsonDepth = 100;

// Parses `text`, which must be one JSON object with kBodyPadding readable bytes behind it, and hands it to `read`, which
// must consume every member (SkipJson does for unwanted ones). InvalidArgument: not JSON, not an object, bytes behind
// its end; or what `read` says. Thread-safe.
Status ReadJsonObject(std::span<const std::byte> text, const std::function<Status(JsonObject)>& read);

// Calls `read(key, value)` for each member. Reads the keys, so call it once per object: the parser's buffer of
// unescaped strings has room for every string of the document, keys included, once, and does not check.
// InvalidArgument: malformed; or what `read` says.
template <typename Read>
Status ForEachMember(JsonObject object, Read read);
// Calls `read(value)` for each element.
template <typename Read>
Status ForEachElement(JsonArray array, Read read);

// Walks a value nobody wants, so that what is malformed is refused wherever it is.
Status SkipJson(JsonValue value, int depth);

// Typed reads; `what` names the value in the message: "'id' must be a string".
Status ReadJsonString(JsonValue value, std::string_view what, std::string_view& out);
Status ReadJsonBool(JsonValue value, std::string_view what, bool& out);
Status ReadJsonInt(JsonValue value, std::string_view what, int64_t& out);
Status ReadJsonObjectValue(JsonValue value, std::string_view what, JsonObject& out);
Status ReadJsonArrayValue(JsonValue value, std::string_view what, JsonArray& out);
// A number, string or boolean, as request parameters are.
Status ReadJsonParameter(JsonValue value, std::string_view what, ParameterValue& out);
// True if the value is null, which it then has consumed.
Result<bool> ReadJsonNull(JsonValue value);

// "malformed JSON: <simdjson's words>".
Status MalformedJson(simdjson::error_code error);

// ---- implementation

template <typename Read>
Status ForEachMember(JsonObject object, Read read) {
  for (auto member : object) {
    std::string_view key;
    JsonValue value;
    if (auto error = member.unescaped_key().get(key)) return MalformedJson(error);
    if (auto error = member.value().get(value)) return MalformedJson(error);
    TONDAR_RETURN_IF_ERROR(read(key, value));
  }
  return OkStatus();
}

template <typename Read>
Status ForEachElement(JsonArray array, Read read) {
  for (auto element : array) {
    JsonValue value;
    if (auto error = element.get(value)) return MalformedJson(error);
    TONDAR_RETURN_IF_ERROR(read(value));
  }
  return OkStatus();
}

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_JSON_READER_H_
