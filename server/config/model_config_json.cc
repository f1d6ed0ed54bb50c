// The configuration as clients read it over HTTP. protobuf's own printer writes 64-bit integers as strings, which the
// clients' parsers refuse.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>

#include "model_config.pb.h"
#include "server/config/model_config.h"

namespace tondar {
namespace {

namespace pb = google::protobuf;
using Json = nlohmann::ordered_json;

Json MessageJson(const pb::Message& message);

// The value of a singular field, or of element `index` of a repeated one.
Json ValueJson(const pb::Message& message, const pb::FieldDescriptor& field, int index) {
  const pb::Reflection& reflection = *message.GetReflection();
  const bool repeated = index >= 0;
  switch (field.cpp_type()) {
#define TONDAR_SCALAR(CPPTYPE, Type)                 \
  case pb::FieldDescriptor::CPPTYPE:                 \
    return repeated ? Json(reflection.GetRepeated##Type(message, &field, index)) \
                    : Json(reflection.Get##Type(message, &field))
    TONDAR_SCALAR(CPPTYPE_INT32, Int32);
    TONDAR_SCALAR(CPPTYPE_INT64, Int64);
    TONDAR_SCALAR(CPPTYPE_UINT32, UInt32);
    TONDAR_SCALAR(CPPTYPE_UINT64, UInt64);
    TONDAR_SCALAR(CPPTYPE_DOUBLE, Double);
    TONDAR_SCALAR(CPPTYPE_FLOAT, Float);
    TONDAR_SCALAR(CPPTYPE_BOOL, Bool);
    TONDAR_SCALAR(CPPTYPE_STRING, String);
#undef TONDAR_SCALAR
    case pb::FieldDescriptor::CPPTYPE_ENUM: {
      const pb::EnumValueDescriptor* value =
          repeated ? reflection.GetRepeatedEnum(message, &field, index) : reflection.GetEnum(message, &field);
      return Json(value->name());
    }
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageJson(repeated ? reflection.GetRepeatedMessage(message, &field, index)
                                  : reflection.GetMessage(message, &field));
  }
  return Json();
}

std::string MapKey(const pb::Message& entry) {
  const Json key = ValueJson(entry, *entry.GetDescriptor()->map_key(), -1);
  return key.is_string() ? key.get<std::string>() : key.dump();
}

Json RepeatedJson(const pb::Message& message, const pb::FieldDescriptor& field) {
  const pb::Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, &field);
  Json list = Json::array();
  if (field.is_map()) {
    nlohmann::json sorted = nlohmann::json::object();  // maps have no order of their own
    for (int i = 0; i < size; ++i) {
      const pb::Message& entry = reflection.GetRepeatedMessage(message, &field, i);
      sorted[MapKey(entry)] = ValueJson(entry, *entry.GetDescriptor()->map_value(), -1);
    }
    return Json(sorted);
  }
  for (int i = 0; i < size; ++i) list.push_back(ValueJson(message, field, i));
  return list;
}

// Messages and members of a oneof appear if they are set; everything else always, so that readers need no defaults.
bool IsShown(const pb::Message& message, const pb::FieldDescriptor& field) {
  if (field.is_repeated()) return true;
  if (field.message_type() == nullptr && field.real_containing_oneof() == nullptr) return true;
  return message.GetReflection()->HasField(message, &field);
}

Json MessageJson(const pb::Message& message) {
  Json object = Json::object();
  const pb::Descriptor& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const pb::FieldDescriptor& field = *descriptor.field(i);
    if (!IsShown(message, field)) continue;
    object[field.name()] = field.is_repeated() ? RepeatedJson(message, field) : ValueJson(message, field, -1);
  }
  return object;
}

}  // namespace

std::string ModelConfigToJson(const ModelConfig& config) {
  TONDAR_CHECK(config.proto != nullptr, "model '{}' has no resolved configuration", config.name);
  return MessageJson(*config.proto).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tondar
