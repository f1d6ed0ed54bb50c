#include "server/config/logging.h"

#include <fmt/chrono.h>
#include <spdlog/sinks/base_sink.h>

#include <array>
#include <mutex>


namespace tondar {
namespace {

using Level = spdlog::level::level_enum;
using Buffer = fmt::memory_buffer;

void Append(Buffer& out, std::string_view text) { out.append(text.data(), text.data() + text.size()); }

struct Time {
  std::tm utc;
  int64_t micros;
};

Time TimeOf(const spdlog::details::log_msg& message) {
  const auto since_epoch = message.time.time_since_epoch();
  const int64_t micros = std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
  return {fmt::gmtime(static_cast<std::time_t>(micros / 1'000'000)), micros % 1'000'000};
}

std::string_view Text(const spdlog::details::log_msg& message) {
  return {message.payload.data(), message.payload.size()};
}

// Messages may quote what clients sent: a line break must not forge a line of the log, nor an escape sequence reach
// a terminal.
void AppendPrintable(Buffer& out, std::string_view text) {
  for (char c : text) {
    if (c == '\n') {
      Append(out, "\n    ");
    } else if (static_cast<unsigned char>(c) < 0x20 && c != '\t') {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
}

// Length of the valid UTF-8 sequence at the start of `text`; 0 if there is none.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF && follows(1)) return 2;
  if (first >= 0xE0 && first <= 0xEF && follows(1) && follows(2)) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0, surrogate = first == 0xED && byte(1) > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4 && follows(1) && follows(2) && follows(3)) {
    const bool overlong = first == 0xF0 && byte(1) < 0x90, too_large = first == 0xF4 && byte(1) > 0x8F;
    return overlong || too_large ? 0 : 4;
  }
  return 0;
}

void AppendJsonString(Buffer& out, std::string_view text) {
  out.push_back('"');
  while (!text.empty()) {
    const char c = text[0];
    const size_t length = Utf8Length(text);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      Append(out, "\\n");
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
    } else if (length == 0) {
      Append(out, "\\ufffd");
    } else {
      Append(out, text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  out.push_back('"');
}

char Initial(Level level) {
  constexpr char kInitials[] = {'T', 'D', 'I', 'W', 'E', 'E', 'E'};
  return kInitials[level];
}

// 2026-11-30 12:00:00.123 I model 'bert' is ready
void FormatText(const spdlog::details::log_msg& message, Buffer& out) {
  const Time time = TimeOf(message);
  fmt::format_to(std::back_inserter(out), "{:%Y-%m-%d %H:%M:%S}.{:03} {} ", time.utc, time.micros / 1000,
                 Initial(message.level));
  AppendPrintable(out, Text(message));
}

// I1130 12:00:00.123456 4711] model 'bert' is ready
void FormatDefault(const spdlog::details::log_msg& message, Buffer& out) {
  const Time time = TimeOf(message);
  fmt::format_to(std::back_inserter(out), "{}{:%m%d %H:%M:%S}.{:06} {}] ", Initial(message.level), time.utc, time.micros,
                 message.thread_id);
  AppendPrintable(out, Text(message));
}

// 2026-11-30T12:00:00Z I 4711] model 'bert' is ready
void FormatIso8601(const spdlog::details::log_msg& message, Buffer& out) {
  fmt::format_to(std::back_inserter(out), "{:%Y-%m-%dT%H:%M:%SZ} {} {}] ", TimeOf(message).utc, Initial(message.level),
                 message.thread_id);
  AppendPrintable(out, Text(message));
}

void FormatJson(const spdlog::details::log_msg& message, Buffer& out) {
  constexpr std::string_view kNames[] = {"trace", "debug", "info", "warning", "error", "error", "off"};
  const Time time = TimeOf(message);
  fmt::format_to(std::back_inserter(out), R"({{"time":"{:%Y-%m-%dT%H:%M:%S}.{:06}Z","level":"{}","thread":{},"message":)",
                 time.utc, time.micros, kNames[message.level], message.thread_id);
  AppendJsonString(out, Text(message));
  out.push_back('}');
}

using Format = void (*)(const spdlog::details::log_msg&, Buffer&);

Format FormatOf(std::string_view name) {
  constexpr std::pair<std::string_view, Format> kFormats[] = {
      {"text", FormatText}, {"json", FormatJson}, {"default", FormatDefault}, {"ISO8601", FormatIso8601}};
  for (const auto& [known, format] : kFormats) {
    if (known == name) return format;
  }
  return FormatText;
}

using EnabledLevels = std::array<bool, spdlog::level::n_levels>;

EnabledLevels LevelsOf(const ServerConfig& config) {
  EnabledLevels enabled{};
  enabled[spdlog::level::trace] = config.log_verbose >= 2;
  enabled[spdlog::level::debug] = config.log_verbose >= 1;
  enabled[spdlog::level::info] = config.log_info;
  enabled[spdlog::level::warn] = config.log_warning;
  enabled[spdlog::level::err] = enabled[spdlog::level::critical] = config.log_error;
  return enabled;
}

// Each message is one write, so that lines of several processes do not mix.
class StreamSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  StreamSink(std::FILE* stream, Format format, EnabledLevels enabled)
      : stream_(stream), format_(format), enabled_(enabled) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!enabled_[message.level]) return;
    Buffer line;
    format_(message, line);
    line.push_back('\n');
    std::fwrite(line.data(), 1, line.size(), stream_);
  }
  void flush_() override { std::fflush(stream_); }

 private:
  std::FILE* stream_;
  Format format_;
  EnabledLevels enabled_;
};

}  // namespace

std::shared_ptr<spdlog::logger> MakeLogger(const ServerConfig& config, std::FILE* stream) {
  const EnabledLevels enabled = LevelsOf(config);
  auto logger = std::make_shared<spdlog::logger>(
      "tondar", std::make_shared<StreamSink>(stream, FormatOf(config.log_format), enabled));
  size_t lowest = 0;
  while (lowest < spdlog::level::off && !enabled[lowest]) ++lowest;
  logger->set_level(static_cast<Level>(lowest));
  logger->flush_on(spdlog::level::info);
  return logger;
}

void SetUpLogging(const ServerConfig& config) { spdlog::set_default_logger(MakeLogger(config, stderr)); }

}  // namespace tondar
