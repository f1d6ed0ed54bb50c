#include "engine/importers/pt2/json_view.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace tondar::pt2 {
namespace {

using nlohmann::json;

// Nesting of brackets outside strings; JSON that is not well-formed is the parser's to refuse.
int Depth(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

// Finds the path of `target` by its address; the price is paid only when there is something to report.
bool FindPath(const json& from, const json* target, std::string& path) {
  if (&from == target) return true;
  const size_t length = path.size();
  if (from.is_object()) {
    for (const auto& [key, value] : from.items()) {
      path += (length == 0 ? "" : ".") + key;
      if (FindPath(value, target, path)) return true;
      path.resize(length);
    }
  } else if (from.is_array()) {
    for (size_t i = 0; i < from.size(); ++i) {
      path += fmt::format("[{}]", i);
      if (FindPath(from[i], target, path)) return true;
      path.resize(length);
    }
  }
  return false;
}

}  // namespace

std::string JsonView::Path() const {
  std::string path;
  if (value_ == nullptr || !FindPath(*document_->root_, value_, path)) return "?";
  return path.empty() ? "the document" : path;
}

void JsonView::Report(std::string_view problem) const {
  if (value_ == nullptr) return;  // reported already
  document_->problems_.Broken("{}: {}: {}", document_->where_, Path(), problem);
}

void JsonView::WrongType(std::string_view expected) const {
  if (value_ == nullptr) return;
  Report(fmt::format("expected {}, found {}", expected, value_->type_name()));
}

JsonView JsonView::operator[](std::string_view key) const {
  if (value_ != nullptr && value_->is_object()) {
    if (const auto it = value_->find(key); it != value_->end()) return JsonView(&*it, document_);
    Report(fmt::format("has no '{}'", key));
  } else {
    WrongType("an object");
  }
  return JsonView(nullptr, document_);
}

std::optional<JsonView> JsonView::Find(std::string_view key) const {
  if (value_ == nullptr) return std::nullopt;
  if (!value_->is_object()) {
    WrongType("an object");
    return std::nullopt;
  }
  const auto it = value_->find(key);
  if (it == value_->end() || it->is_null()) return std::nullopt;
  return JsonView(&*it, document_);
}

std::vector<JsonView> JsonView::Items() const {
  std::vector<JsonView> items;
  if (value_ == nullptr || !value_->is_array()) {
    WrongType("an array");
    return items;
  }
  items.reserve(value_->size());
  for (const json& item : *value_) items.push_back(JsonView(&item, document_));
  return items;
}

std::vector<std::pair<std::string, JsonView>> JsonView::Members() const {
  std::vector<std::pair<std::string, JsonView>> members;
  if (value_ == nullptr || !value_->is_object()) {
    WrongType("an object");
    return members;
  }
  for (const auto& [key, value] : value_->items()) members.emplace_back(key, JsonView(&value, document_));
  return members;
}

std::pair<std::string, JsonView> JsonView::Union() const {
  if (value_ == nullptr || !value_->is_object() || value_->size() != 1) {
    WrongType("an object of one member");
    return {"", JsonView(nullptr, document_)};
  }
  const auto it = value_->begin();
  return {it.key(), JsonView(&*it, document_)};
}

std::string JsonView::Text() const {
  if (IsText()) return value_->get<std::string>();
  WrongType("a string");
  return {};
}

int64_t JsonView::Int() const {
  if (value_ == nullptr || !value_->is_number_integer()) {
    WrongType("an integer");
    return 0;
  }
  if (value_->is_number_unsigned() && value_->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    Report("the integer does not fit 64 bits");
    return 0;
  }
  return value_->get<int64_t>();
}

bool JsonView::Bool() const {
  if (value_ != nullptr && value_->is_boolean()) return value_->get<bool>();
  WrongType("true or false");
  return false;
}

double JsonView::Number() const {
  if (value_ != nullptr && value_->is_number()) return value_->get<double>();
  if (IsText()) {
    const std::string text = Text();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  WrongType("a number");
  return 0;
}

bool JsonView::IsNull() const { return value_ == nullptr || value_->is_null(); }
bool JsonView::IsText() const { return value_ != nullptr && value_->is_string(); }

JsonDocument::JsonDocument(std::string where, Problems& problems)
    : where_(std::move(where)), problems_(problems), root_(std::make_unique<json>()) {}
JsonDocument::~JsonDocument() = default;

std::unique_ptr<JsonDocument> JsonDocument::Parse(std::string where, std::string_view text, Problems& problems) {
  if (text.size() > kMaxJsonBytes) {
    problems.Broken("{}: {} bytes of JSON, at most {} are read", where, text.size(), kMaxJsonBytes);
    return nullptr;
  }
  if (const int depth = Depth(text); depth > kMaxJsonDepth) {
    problems.Broken("{}: JSON is nested {} deep, at most {} is read", where, depth, kMaxJsonDepth);
    return nullptr;
  }
  std::unique_ptr<JsonDocument> document(new JsonDocument(std::move(where), problems));
  try {  // the library reports by exception; it ends here
    *document->root_ = json::parse(text);
  } catch (const json::exception& error) {
    problems.Broken("{}: no JSON: {}", document->where_, error.what());
    return nullptr;
  }
  return document;
}

}  // namespace tondar::pt2
