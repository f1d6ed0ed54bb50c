#include "server/http/json_mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tondar::http {
namespace {

constexpr std::string_view kNotFinite[] = {"NaN", "nan", "Infinity", "-Infinity", "inf", "-inf"};
constexpr std::string_view kLiterals[] = {"true", "false", "null"};
constexpr size_t kMaxShown = 20;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsWord(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '-'; }

template <size_t N>
bool IsOneOf(const std::string_view (&words)[N], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

class MistakeFinder {
 public:
  explicit MistakeFinder(std::string_view text) : text_(text) {}

  std::string Run() {
    for (SkipSpace(); at_ < text_.size() && mistake_.empty(); SkipSpace()) {
      if (depth_ == 0 && begun_) return fmt::format("more text follows the object, from byte {} on", at_);
      begun_ = true;
      Take();
    }
    if (mistake_.empty() && depth_ > 0) return fmt::format("the text ends with {} brackets open", depth_);
    return mistake_;
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }

  void Take() {
    const char c = text_[at_];
    if (c == '"') return String();
    if (c == '\'') {
      mistake_ = fmt::format("strings are written in double quotes, not as at byte {}", at_);
    } else if (IsWord(c)) {
      Word();
    } else if (c == ',') {
      Comma();
    } else {
      if (c == '{' || c == '[') ++depth_;
      if ((c == '}' || c == ']') && depth_ > 0) --depth_;
      ++at_;
    }
  }

  void String() {
    const size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) mistake_ = fmt::format("the string that begins at byte {} does not end", begin);
    ++at_;
  }

  // Numbers, too, begin with '-'.
  void Word() {
    size_t end = at_ + 1;
    while (end < text_.size() && std::isalpha(static_cast<unsigned char>(text_[end]))) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (IsOneOf(kNotFinite, word)) {
      const std::string_view name = word.ends_with("an") || word.ends_with("aN") ? "NaN" : word[0] == '-' ? "-Infinity" : "Infinity";
      mistake_ = fmt::format("{} at byte {} is no JSON; write it in quotes, \"{}\"", word, at_, name);
    } else if (word != "-" && word != "e" && word != "E" && !IsOneOf(kLiterals, word)) {
      mistake_ = fmt::format("'{}' at byte {} is no JSON value", word.substr(0, kMaxShown), at_);
    }
    at_ = end;
  }

  void Comma() {
    const size_t begin = at_++;
    SkipSpace();
    const bool closes = at_ < text_.size() && (text_[at_] == ']' || text_[at_] == '}');
    if (closes) mistake_ = fmt::format("the comma at byte {} has nothing behind it", begin);
  }

  const std::string_view text_;
  size_t at_ = 0, depth_ = 0;
  bool begun_ = false;
  std::string mistake_;
};

}  // namespace

std::string DescribeJsonMistake(std::string_view text) { return MistakeFinder(text).Run(); }

}  // namespace tondar::http
