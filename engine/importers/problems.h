// Problems: gathers all that is wrong with a file, for one message.
#ifndef TONDAR_ENGINE_IMPORTERS_PROBLEMS_H_
#define TONDAR_ENGINE_IMPORTERS_PROBLEMS_H_

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace tondar {

// Two lists: what is broken (each once, worded in full) and what is not supported (counted by what it is). The first
// twenty broken things are worded, the rest only counted, so that a hostile file costs no memory. One thread.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }

  template <typename... Args>
  void Broken(fmt::format_string<Args...> format, Args&&... args) {
    if (++broken_count_ <= kMaxWorded) broken_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  // `what` is the thing, "operator aten.foo.default"; `node` where it was met and `source` the user's place of it,
  // either may be empty. Later ones of the same `what` are counted.
  void Unsupported(std::string what, std::string_view node, std::string_view source = {});

  bool any_broken() const { return broken_count_ > 0; }
  bool empty() const { return broken_count_ == 0 && unsupported_.empty(); }
  // OK if there is none. InvalidArgument if something is broken, else Unimplemented; both lists are in the message.
  Status ToStatus() const;

 private:
  static constexpr size_t kMaxWorded = 20;
  static constexpr size_t kMaxKinds = 200;

  struct Kind {
    std::string what, node, source;
    size_t count = 1;
  };

  std::string file_;
  std::vector<std::string> broken_;
  size_t broken_count_ = 0;
  std::vector<Kind> unsupported_;  // in order of first sight
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_IMPORTERS_PROBLEMS_H_
