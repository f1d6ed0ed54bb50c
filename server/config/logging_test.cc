#include "server/config/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tondar {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// What `log` prints under `config`.
template <typename Log>
std::string Printed(const ServerConfig& config, Log log) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  log(*MakeLogger(config, stream));
  std::fclose(stream);
  std::string out(text, size);
  std::free(text);
  return out;
}

TEST(LoggingTest, JsonLinesAreValidWhateverTheMessageHolds) {
  ServerConfig config;
  config.log_format = "json";
  const std::string out = Printed(config, [](spdlog::logger& log) {
    log.warn("model '{}'", "a\"b\\c\nd\x01\t\xff \xc3\xa9 \xed\xa0\x80");
    log.info("second");
  });
  std::istringstream lines(out);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object["level"], "warning");
  EXPECT_EQ(object["message"], "model 'a\"b\\c\nd\x01\t\xef\xbf\xbd \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd'");
  EXPECT_THAT(object["time"].get<std::string>(), MatchesRegex("20..-..-..T..:..:..\\.......Z"));
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(nlohmann::json::parse(line)["message"], "second");
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(LoggingTest, TextCannotForgeLines) {
  const std::string out = Printed({}, [](spdlog::logger& log) { log.info("{}", "a\n2026-01-01 E forged\x1b[31m"); });
  EXPECT_THAT(out, MatchesRegex("20..-..-.. ..:..:..\\.... I a\n    2026-01-01 E forged\\\\x1b\\[31m\n"));
}

TEST(LoggingTest, FormatsOfOtherServers) {
  ServerConfig config;
  config.log_format = "default";
  EXPECT_THAT(Printed(config, [](auto& log) { log.error("x"); }), MatchesRegex("E.... ..:..:..\\....... [0-9]+\\] x\n"));
  config.log_format = "ISO8601";
  EXPECT_THAT(Printed(config, [](auto& log) { log.info("x"); }), MatchesRegex("20..-..-..T..:..:..Z I [0-9]+\\] x\n"));
}

TEST(LoggingTest, LevelsSwitchOneByOne) {
  ServerConfig config;
  config.log_verbose = 1;
  config.log_warning = false;
  const std::string out = Printed(config, [](spdlog::logger& log) {
    log.trace("trace");
    log.debug("debug");
    log.info("info");
    log.warn("warn");
    log.error("error");
  });
  EXPECT_THAT(out, MatchesRegex(".* D debug\n.* I info\n.* E error\n"));
  config = {};
  config.log_info = config.log_warning = config.log_error = false;
  EXPECT_EQ(Printed(config, [](auto& log) { log.error("x"); }), "");
}

}  // namespace
}  // namespace tondar
