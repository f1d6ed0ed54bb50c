// TextScanner: reads the tokens of the text form.
#ifndef TONDAR_ENGINE_IR_TEXT_SCANNER_H_
#define TONDAR_ENGINE_IR_TEXT_SCANNER_H_

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace tondar {

// Walks over `text`, which must outlive it. Space, line ends and comments (# to the end of the line) separate tokens.
class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : text_(text) {}

  bool AtEnd();
  // Skips the token if it comes next.
  bool Take(std::string_view token);
  // As Take, but the character after it must not continue a word.
  bool TakeWord(std::string_view word);
  bool NextIs(std::string_view token);
  Status Expect(std::string_view token);
  // Letters, digits, '_' and '.'; may be empty.
  std::string_view Word();
  // What stands before the next delimiter that is in no bracket and no quotes; without surrounding space.
  std::string_view Until(std::string_view delimiters);
  // A string in double quotes.
  Result<std::string> Quoted();
  // %name or %"any name"; gives the name.
  Result<std::string> ValueName();
  // An InvalidArgument that names the line.
  Status Error(std::string_view what) const;

 private:
  void Skip();

  std::string_view text_;
  size_t position_ = 0;
};

// The reverse of Quoted.
std::string Quote(std::string_view text);
// The reverse of ValueName.
std::string ValueText(std::string_view name);
// Splits at commas that are in no bracket and no quotes; no parts from an empty text.
std::vector<std::string_view> SplitAtCommas(std::string_view text);

}  // namespace tondar

#endif  // TONDAR_ENGINE_IR_TEXT_SCANNER_H_
