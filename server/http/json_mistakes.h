// DescribeJsonMistake: what is wrong with a text that the parser has refused.
#ifndef TONDAR_SERVER_HTTP_JSON_MISTAKES_H_
#define TONDAR_SERVER_HTTP_JSON_MISTAKES_H_

#include <string>
#include <string_view>

namespace tondar::http {

// The first of the mistakes that people make, with its place: "NaN at byte 41 is no JSON; write \"NaN\" in quotes". Empty
// if there is none of these. Reads the text once; for texts that are refused anyway. Pure.
std::string DescribeJsonMistake(std::string_view text);

}  // namespace tondar::http

#endif  // TONDAR_SERVER_HTTP_JSON_MISTAKES_H_
