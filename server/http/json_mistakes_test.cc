#include "server/http/json_mistakes.h"

#include <gtest/gtest.h>

namespace tondar::http {
namespace {

TEST(JsonMistakesTest, FindsWhatPeopleGetWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"data": [1, NaN]})", "NaN at byte 13 is no JSON; write it in quotes, \"NaN\""},
      {R"({"data": [nan]})", "nan at byte 10 is no JSON; write it in quotes, \"NaN\""},
      {R"({"data": [-Infinity]})", "-Infinity at byte 10 is no JSON; write it in quotes, \"-Infinity\""},
      {R"({"data": [inf]})", "inf at byte 10 is no JSON; write it in quotes, \"Infinity\""},
      {R"({"data": [True]})", "'True' at byte 10 is no JSON value"},
      {R"({'data': 1})", "strings are written in double quotes, not as at byte 1"},
      {R"({"data": [1, 2, ]})", "the comma at byte 14 has nothing behind it"},
      {R"({"a": 1,})", "the comma at byte 7 has nothing behind it"},
      {R"({"a": 1} {"b": 2})", "more text follows the object, from byte 9 on"},
      {R"({"a": [1)", "the text ends with 2 brackets open"},
      {R"({"a": "b)", "the string that begins at byte 6 does not end"},
      {R"({"a": "b\)", "the string that begins at byte 6 does not end"},
      {R"({"NaN": "True, ] \" ,}", "b": [-1.5e-3, 2E+4, true, null]})", ""},
      {"", ""},
      {"]]", "more text follows the object, from byte 1 on"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(DescribeJsonMistake(text), expected) << text;
}

}  // namespace
}  // namespace tondar::http
