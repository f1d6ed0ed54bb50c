// Appends JSON to a string.
#ifndef TONDAR_SERVER_HTTP_JSON_WRITER_H_
#define TONDAR_SERVER_HTTP_JSON_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tondar::http {

// Writes one JSON value into `out`, commas included. Calls must nest properly; Key comes before each member's value.
// Thread-compatible.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  void Key(std::string_view key);  // needs no escapes: a literal of ours
  void Colon() {                   // after String, where a key may need escapes
    out_.push_back(':');
    need_comma_ = false;
  }

  // Bytes that are not UTF-8 become U+FFFD, one per byte; for names and messages, never for tensors.
  void String(std::string_view text);
  // The same, but returns false and writes nothing if `text` is not UTF-8.
  [[nodiscard]] bool StrictString(std::string_view text);
  void Bool(bool value) { Raw(value ? "true" : "false"); }
  void Int(int64_t value);
  void UInt(uint64_t value);
  // The shortest text that reads back as the same number of that width; always with a point or an exponent, so that
  // readers without types see a float. Not finite: the strings "NaN", "Infinity", "-Infinity".
  void Float(float value);
  void Double(double value);
  // JSON made elsewhere.
  void Raw(std::string_view json);

 private:
  void Comma() {
    if (need_comma_) out_.push_back(',');
  }
  void Open(char bracket) {
    Comma();
    out_.push_back(bracket);
    need_comma_ = false;
  }
  void Close(char bracket) {
    out_.push_back(bracket);
    need_comma_ = true;
  }
  template <typename T>
  void Number(T value);
  template <typename T>
  void Floating(T value);

  std::string& out_;
  bool need_comma_ = false;
};

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_JSON_WRITER_H_
