#include "server/http/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tondar::http {
namespace {

template <typename Write>
std::string Written(Write write) {
  std::string out;
  JsonWriter json(out);
  write(json);
  return out;
}

TEST(JsonWriter, PlacesCommas) {
  EXPECT_EQ(Written([](JsonWriter& json) {
              json.BeginObject();
              json.Key("a");
              json.BeginArray();
              json.EndArray();
              json.Key("b");
              json.BeginArray();
              json.Int(-1);
              json.UInt(std::numeric_limits<uint64_t>::max());
              json.Bool(true);
              json.BeginObject();
              json.EndObject();
              json.EndArray();
              json.EndObject();
            }),
            R"({"a":[],"b":[-1,18446744073709551615,true,{}]})");
}

TEST(JsonWriter, WritesTheShortestFloats) {
  const std::pair<float, std::string> cases[] = {{0.1f, "0.1"},
                                                 {1.0f, "1.0"},
                                                 {-0.0f, "-0.0"},
                                                 {16777216.0f, "16777216.0"},
                                                 {3.4028235e38f, "3.4028235e+38"},
                                                 {1e-45f, "1e-45"},
                                                 {NAN, "\"NaN\""},
                                                 {INFINITY, "\"Infinity\""},
                                                 {-INFINITY, "\"-Infinity\""}};
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(Written([&](JsonWriter& json) { json.Float(value); }), text);
  }
  EXPECT_EQ(Written([](JsonWriter& json) { json.Double(0.1); }), "0.1");
}

TEST(JsonWriter, EscapesStrings) {
  EXPECT_EQ(Written([](JsonWriter& json) { json.String(std::string_view("a\"\\\n\0\x1f/é€😀", 16)); }),
            "\"a\\\"\\\\\\n\\u0000\\u001f/é€😀\"");
}

TEST(JsonWriter, ReplacesOrRefusesWhatIsNotUtf8) {
  // Lone tail, overlong, surrogate, above U+10FFFF, cut short.
  for (const char* bad : {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    const std::string replaced = Written([&](JsonWriter& json) { json.String(bad); });
    EXPECT_NE(replaced.find("\xEF\xBF\xBD"), std::string::npos);
    std::string out = "[";
    JsonWriter json(out);
    EXPECT_FALSE(json.StrictString(bad));
    EXPECT_EQ(out, "[");
  }
}

}  // namespace
}  // namespace tondar::http
