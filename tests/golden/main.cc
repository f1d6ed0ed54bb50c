// The test program takes --cpu-isa=LEVEL beside GoogleTest's flags, and exits with 77 (skipped) where the machine lacks
// that level.
#include <gtest/gtest.h>

#include <cstdio>

#include "engine/api/engine.h"
#include "tests/golden/tested_isa.h"

namespace tondar {
namespace {

constexpr int kSkipped = 77;
constexpr std::string_view kFlag = "--cpu-isa=";

std::string& MutableIsa() {
  static std::string isa = "auto";
  return isa;
}

}  // namespace

const std::string& TestedIsa() { return MutableIsa(); }

}  // namespace tondar

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(tondar::kFlag)) tondar::MutableIsa() = argument.substr(tondar::kFlag.size());
  }
  const auto engine = tondar::Engine::Create({.cpu_isa = tondar::TestedIsa()});
  if (engine.status().code() == tondar::StatusCode::kUnavailable) {
    std::printf("skipped: %s\n", engine.status().ToString().c_str());
    return tondar::kSkipped;
  }
  return RUN_ALL_TESTS();
}
