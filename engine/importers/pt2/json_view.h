// JsonView: typed reading of a JSON document that reports what is wrong by its path.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_JSON_VIEW_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_JSON_VIEW_H_

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/importers/problems.h"

namespace tondar::pt2 {

class JsonDocument;

// A value of a document. Reading it as what it is not gives an empty value and adds a problem that names its path;
// so a reader goes on and finds the next one. Cheap to copy; lives no longer than its document.
class JsonView {
 public:
  // The member; a problem if this is no object or has no such member.
  JsonView operator[](std::string_view key) const;
  // The member; nullopt without a problem if absent or null.
  std::optional<JsonView> Find(std::string_view key) const;
  std::vector<JsonView> Items() const;                            // of an array
  std::vector<std::pair<std::string, JsonView>> Members() const;  // of an object, sorted by key
  // The one member of an object that stands for a union.
  std::pair<std::string, JsonView> Union() const;

  std::string Text() const;
  int64_t Int() const;
  bool Bool() const;
  // A number, or one of the strings that stand for what JSON lacks: "Infinity", "-Infinity", "NaN".
  double Number() const;
  bool IsNull() const;
  bool IsText() const;

  std::string Path() const;  // "graph_module.graph.nodes[3].target"
  template <typename... Args>
  void Broken(fmt::format_string<Args...> format, Args&&... args) const {
    Report(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  friend class JsonDocument;
  JsonView(const nlohmann::json* value, const JsonDocument* document) : value_(value), document_(document) {}
  void Report(std::string_view problem) const;
  void WrongType(std::string_view expected) const;

  const nlohmann::json* value_;  // null stands for a value that is missing and reported
  const JsonDocument* document_;
};

// Limits on hostile documents: of bytes, and of nesting.
inline constexpr size_t kMaxJsonBytes = size_t{1} << 28;
inline constexpr int kMaxJsonDepth = 200;

// A parsed document. `where` names it in messages ("models/model.json"); `problems` outlives it.
class JsonDocument {
 public:
  // Null, with a problem added, if the text is too large, too deeply nested or no JSON.
  static std::unique_ptr<JsonDocument> Parse(std::string where, std::string_view text, Problems& problems);
  ~JsonDocument();

  JsonView root() const { return JsonView(root_.get(), this); }

 private:
  friend class JsonView;
  JsonDocument(std::string where, Problems& problems);

  std::string where_;
  Problems& problems_;
  std::unique_ptr<nlohmann::json> root_;
};

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_JSON_VIEW_H_
