// What users wrote about a model: config.pbtxt, config.json or the JSON of a load request, as a message.
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model_config.pb.h"
#include "server/config/model_config.h"
#include "server/config/nearest_name.h"

namespace tondar {
namespace {

namespace pb = google::protobuf;
namespace fs = std::filesystem;

constexpr size_t kMaxConfigBytes = 16u << 20;
constexpr size_t kMaxReportedErrors = 5;

// Collects the parser's complaints as "file:line:column: what"; protobuf counts from 0, people from 1.
class ErrorList final : public pb::io::ErrorCollector {
 public:
  explicit ErrorList(std::string_view where) : where_(where) {}

  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    if (++count_ > kMaxReportedErrors) return;
    if (!text_.empty()) text_ += "; ";
    text_ += fmt::format("{}:{}:{}: {}", where_, line + 1, column + 1, message);
  }
  void AddWarning(int, pb::io::ColumnNumber, const std::string&) override {}

  Status ToStatus() const {
    if (count_ > kMaxReportedErrors) return InvalidArgument("{} and {} more", text_, count_ - kMaxReportedErrors);
    return InvalidArgument("{}", text_.empty() ? fmt::format("{}: cannot be parsed", where_) : text_);
  }

 private:
  std::string_view where_;
  std::string text_;
  size_t count_ = 0;
};

ModelConfigSource MakeSource(std::shared_ptr<inference::ModelConfig> proto) {
  const bool says = proto->has_max_batch_size();
  return {.proto = std::move(proto), .says_max_batch_size = says};
}

Result<std::string> ReadFile(const fs::path& path) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error) return InvalidArgument("{}: cannot be read: {}", path.string(), error.message());
  if (size > kMaxConfigBytes) {
    return InvalidArgument("{}: {} bytes, expected at most {}", path.string(), size, kMaxConfigBytes);
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return InvalidArgument("{}: cannot be read", path.string());
  return std::move(text).str();
}

Result<ModelConfigSource> ParseModelConfigText(std::string_view text, std::string_view where) {
  ErrorList errors(where);
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(64);
  pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  auto proto = std::make_shared<inference::ModelConfig>();
  if (!parser.Parse(&stream, proto.get())) return errors.ToStatus();
  return MakeSource(std::move(proto));
}

std::string LineAndColumn(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const size_t line = static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}", line, before.size() - start + 1);
}

const pb::FieldDescriptor* FindField(const pb::Descriptor& message, const std::string& name) {
  const pb::FieldDescriptor* field = message.FindFieldByName(name);
  return field != nullptr ? field : message.FindFieldByCamelcaseName(name);
}

Status UnknownField(const pb::Descriptor& message, std::string_view name, std::string_view where) {
  std::vector<std::string_view> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(message.field(i)->name());
  return InvalidArgument("{}: {} has no field '{}'{}", where, message.name(), name, DidYouMean(name, names));
}

// protobuf's own JSON parser says neither which message nor what would have been near.
Status CheckFieldNames(const nlohmann::json& json, const pb::Descriptor& message, std::string_view where) {
  if (json.is_array()) {
    for (const auto& element : json) TONDAR_RETURN_IF_ERROR(CheckFieldNames(element, message, where));
    return OkStatus();
  }
  if (!json.is_object()) return OkStatus();  // a wrong type: protobuf says so
  for (const auto& [name, value] : json.items()) {
    const pb::FieldDescriptor* field = FindField(message, name);
    if (field == nullptr) return UnknownField(message, name, where);
    if (field->is_map()) {
      const pb::Descriptor* of_value = field->message_type()->map_value()->message_type();
      if (of_value == nullptr || !value.is_object()) continue;
      for (const auto& entry : value) TONDAR_RETURN_IF_ERROR(CheckFieldNames(entry, *of_value, where));
    } else if (field->message_type() != nullptr) {
      TONDAR_RETURN_IF_ERROR(CheckFieldNames(value, *field->message_type(), where));
    }
  }
  return OkStatus();
}

// Nesting deeper than any field of ModelConfig is refused before recursive code sees it.
class DepthLimit {
 public:
  bool operator()(int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kDeepest) exceeded_ = true;
    return !exceeded_;
  }
  bool exceeded() const { return exceeded_; }

 private:
  static constexpr int kDeepest = 32;
  bool exceeded_ = false;
};

Result<nlohmann::json> ParseJson(std::string_view text, std::string_view where) {
  DepthLimit limit;
  try {
    nlohmann::json json = nlohmann::json::parse(text, std::ref(limit));
    if (limit.exceeded()) return InvalidArgument("{}: nested deeper than a model configuration can be", where);
    if (!json.is_object()) return InvalidArgument("{}: expected a JSON object, found {}", where, json.type_name());
    return json;
  } catch (const nlohmann::json::parse_error& error) {
    // The library's text repeats the position in its own format; what follows the last " - " is the reason.
    const std::string_view what = error.what();
    const size_t reason = what.find("syntax error");
    return InvalidArgument("{}:{}: {}", where, LineAndColumn(text, error.byte == 0 ? 0 : error.byte - 1),
                           reason == std::string_view::npos ? what : what.substr(reason));
  } catch (const std::exception& error) {
    return InvalidArgument("{}: {}", where, error.what());
  }
}

}  // namespace

Result<ModelConfigSource> ParseModelConfigJson(std::string_view json, std::string_view where) {
  TONDAR_ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(json, where));
  TONDAR_RETURN_IF_ERROR(CheckFieldNames(document, *inference::ModelConfig::descriptor(), where));
  auto proto = std::make_shared<inference::ModelConfig>();
  const auto status = pb::util::JsonStringToMessage(pb::StringPiece(json.data(), json.size()), proto.get());
  if (!status.ok()) return InvalidArgument("{}: {}", where, std::string(status.message()));
  return MakeSource(std::move(proto));
}

Result<ModelConfigSource> ReadModelConfig(const std::string& model_directory) {
  struct Format {
    const char* filename;
    Result<ModelConfigSource> (*parse)(std::string_view text, std::string_view where);
  };
  constexpr Format kFormats[] = {{"config.pbtxt", ParseModelConfigText}, {"config.json", ParseModelConfigJson}};
  for (const Format& format : kFormats) {
    const fs::path path = fs::path(model_directory) / format.filename;
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    TONDAR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    return format.parse(text, path.string());
  }
  return ModelConfigSource{};
}

}  // namespace tondar
