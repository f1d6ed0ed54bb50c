#include "server/http/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace tondar::http {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

constexpr std::array<bool, 256> MakePlain() {
  std::array<bool, 256> plain{};
  for (int c = 0x20; c < 0x80; ++c) plain[static_cast<size_t>(c)] = c != '"' && c != '\\';
  return plain;
}
// Bytes that stand for themselves in a JSON string.
constexpr std::array<bool, 256> kPlain = MakePlain();

bool IsTail(unsigned char c) { return (c & 0xC0) == 0x80; }

// Length of the well-formed UTF-8 sequence at `p` (Unicode 15, table 3-7), or 0.
size_t SequenceLength(const unsigned char* p, size_t left) {
  const unsigned char lead = p[0];
  if (lead >= 0xC2 && lead <= 0xDF) return left >= 2 && IsTail(p[1]) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (left < 3 || !IsTail(p[1]) || !IsTail(p[2])) return 0;
    if (lead == 0xE0 && p[1] < 0xA0) return 0;  // overlong
    if (lead == 0xED && p[1] > 0x9F) return 0;  // surrogate
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (left < 4 || !IsTail(p[1]) || !IsTail(p[2]) || !IsTail(p[3])) return 0;
    if (lead == 0xF0 && p[1] < 0x90) return 0;  // overlong
    if (lead == 0xF4 && p[1] > 0x8F) return 0;  // above U+10FFFF
    return 4;
  }
  return 0;
}

void AppendEscape(std::string& out, unsigned char c) {
  constexpr std::string_view kFrom = "\"\\\b\f\n\r\t", kTo = "\"\\bfnrt";
  const size_t found = kFrom.find(static_cast<char>(c));
  if (found != std::string_view::npos) {
    out.push_back('\\');
    out.push_back(kTo[found]);
    return;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u00";
  out.push_back(kHex[c >> 4]);
  out.push_back(kHex[c & 15]);
}

// Appends `text` escaped; stops and returns false at a byte that is not UTF-8, unless told to replace it.
bool AppendEscaped(std::string& out, std::string_view text, bool replace) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = p + text.size();
  while (p < end) {
    const auto* plain_end = p;
    while (plain_end < end && kPlain[*plain_end]) ++plain_end;
    out.append(reinterpret_cast<const char*>(p), static_cast<size_t>(plain_end - p));
    p = plain_end;
    if (p == end) break;
    if (*p < 0x80) {
      AppendEscape(out, *p++);
      continue;
    }
    const size_t length = SequenceLength(p, static_cast<size_t>(end - p));
    if (length == 0 && !replace) return false;
    if (length == 0) {
      out += kReplacement;
      ++p;
      continue;
    }
    out.append(reinterpret_cast<const char*>(p), length);
    p += length;
  }
  return true;
}

}  // namespace

void JsonWriter::Key(std::string_view key) {
  Comma();
  out_.push_back('"');
  out_ += key;
  out_ += "\":";
  need_comma_ = false;
}

void JsonWriter::String(std::string_view text) {
  Comma();
  out_.push_back('"');
  AppendEscaped(out_, text, true);
  out_.push_back('"');
  need_comma_ = true;
}

bool JsonWriter::StrictString(std::string_view text) {
  const size_t before = out_.size();
  Comma();
  out_.push_back('"');
  if (!AppendEscaped(out_, text, false)) {
    out_.resize(before);
    return false;
  }
  out_.push_back('"');
  need_comma_ = true;
  return true;
}

template <typename T>
void JsonWriter::Number(T value) {
  Comma();
  char text[32];
  const auto result = std::to_chars(text, text + sizeof(text), value);
  out_.append(text, static_cast<size_t>(result.ptr - text));
  need_comma_ = true;
}

template <typename T>
void JsonWriter::Floating(T value) {
  if (!std::isfinite(value)) {
    Raw(std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    return;
  }
  Comma();
  char text[40];
  char* end = std::to_chars(text, text + 32, value).ptr;
  const std::string_view written(text, static_cast<size_t>(end - text));
  if (written.find_first_of(".e") == std::string_view::npos) {
    *end++ = '.';
    *end++ = '0';
  }
  out_.append(text, static_cast<size_t>(end - text));
  need_comma_ = true;
}

void JsonWriter::Int(int64_t value) { Number(value); }
void JsonWriter::UInt(uint64_t value) { Number(value); }
void JsonWriter::Float(float value) { Floating(value); }
void JsonWriter::Double(double value) { Floating(value); }

void JsonWriter::Raw(std::string_view json) {
  Comma();
  out_ += json;
  need_comma_ = true;
}

}  // namespace tondar::http
