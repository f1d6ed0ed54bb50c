#include "engine/ir/text_scanner.h"

#include <algorithm>
#include <cctype>

namespace tondar {
namespace {

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }
bool IsNameCharacter(char c) { return IsWordCharacter(c) || c == '/' || c == '-' || c == '$'; }
bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// The end of the run of `text` from `begin` that reaches no delimiter outside brackets and quotes.
size_t EndOfRun(std::string_view text, size_t begin, std::string_view delimiters) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
      continue;
    }
    if (depth == 0 && delimiters.find(c) != std::string_view::npos) return i;
    if (c == '"') quoted = true;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
  }
  return text.size();
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

void TextScanner::Skip() {
  while (position_ < text_.size()) {
    if (text_[position_] == '#') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (IsSpace(text_[position_])) {
      ++position_;
    } else {
      return;
    }
  }
}

bool TextScanner::AtEnd() {
  Skip();
  return position_ == text_.size();
}

bool TextScanner::Take(std::string_view token) {
  Skip();
  if (text_.substr(position_, token.size()) != token) return false;
  position_ += token.size();
  return true;
}

bool TextScanner::NextIs(std::string_view token) {
  Skip();
  return text_.substr(position_).starts_with(token);
}

bool TextScanner::TakeWord(std::string_view word) {
  Skip();
  const size_t end = position_ + word.size();
  if (end < text_.size() && IsWordCharacter(text_[end])) return false;
  return Take(word);
}

Status TextScanner::Expect(std::string_view token) {
  if (Take(token)) return OkStatus();
  return Error(fmt::format("expected '{}', found '{}'", token, text_.substr(position_, 20)));
}

std::string_view TextScanner::Word() {
  Skip();
  const size_t begin = position_;
  while (position_ < text_.size() && IsWordCharacter(text_[position_])) ++position_;
  return text_.substr(begin, position_ - begin);
}

std::string_view TextScanner::Until(std::string_view delimiters) {
  Skip();
  const size_t begin = position_;
  position_ = EndOfRun(text_, begin, delimiters);
  return Trim(text_.substr(begin, position_ - begin));
}

Result<std::string> TextScanner::Quoted() {
  TONDAR_RETURN_IF_ERROR(Expect("\""));
  std::string result;
  for (; position_ < text_.size(); ++position_) {
    if (text_[position_] == '"') {
      ++position_;
      return result;
    }
    if (text_[position_] == '\\' && position_ + 1 < text_.size()) ++position_;
    result += text_[position_];
  }
  return Error("a string has no end");
}

Result<std::string> TextScanner::ValueName() {
  TONDAR_RETURN_IF_ERROR(Expect("%"));
  if (position_ < text_.size() && text_[position_] == '"') return Quoted();
  const size_t begin = position_;
  while (position_ < text_.size() && IsNameCharacter(text_[position_])) ++position_;
  if (begin == position_) return Error("a value has no name");
  return std::string(text_.substr(begin, position_ - begin));
}

Status TextScanner::Error(std::string_view what) const {
  const auto end = text_.begin() + static_cast<std::ptrdiff_t>(position_);
  return InvalidArgument("graph text:{}: {}", 1 + std::count(text_.begin(), end, '\n'), what);
}

std::string Quote(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string ValueText(std::string_view name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), IsNameCharacter);
  return plain ? fmt::format("%{}", name) : fmt::format("%{}", Quote(name));
}

std::vector<std::string_view> SplitAtCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  if (Trim(text).empty()) return parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = EndOfRun(text, begin, ",");
    parts.push_back(Trim(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

}  // namespace tondar
