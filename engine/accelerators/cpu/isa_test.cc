#include "engine/accelerators/cpu/isa.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace tondar::cpu {
namespace {

// What Linux says of the first processor; empty elsewhere, and under an emulator that shows another processor by CPUID.
std::set<std::string> KernelFlags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0 && line.find(DescribeCpu().name) == std::string::npos) return {};
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::set<std::string> flags;
    for (std::string word; words >> word;) flags.insert(word);
    return flags;
  }
  return {};
}

TEST(Isa, AgreesWithTheKernel) {
  const std::set<std::string> flags = KernelFlags();
  if (flags.empty() || flags.count("sse4_2") == 0) GTEST_SKIP() << "no x86 flags in /proc/cpuinfo";
  const IsaLevel highest = DescribeCpu().highest;
  EXPECT_EQ(highest >= IsaLevel::kAvx2, flags.count("avx2") && flags.count("fma"));
  EXPECT_EQ(highest >= IsaLevel::kAvx512, flags.count("avx512f") && flags.count("avx512vl") && flags.count("avx512bw"));
  EXPECT_EQ(highest >= IsaLevel::kAvx512Vnni, flags.count("avx512_vnni") && flags.count("avx512vl"));
  EXPECT_EQ(highest >= IsaLevel::kAvx512Bf16, flags.count("avx512_bf16") && flags.count("avx512_vnni"));
}

TEST(Isa, AutoIsTheHighestAndLowerOnesCanBeForced) {
  EXPECT_EQ(*ChooseIsa("auto"), DescribeCpu().highest);
  EXPECT_EQ(*ChooseIsa("baseline"), IsaLevel::kBaseline);
  for (const IsaLevel level : SupportedIsaLevels()) EXPECT_EQ(*ChooseIsa(Name(level)), level);
}

TEST(Isa, UnknownAndMissingLevelsAreRefused) {
  const Status unknown = ChooseIsa("avx1024").status();
  EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(unknown.message(),
            "cpu-isa 'avx1024' is unknown; expected one of: auto, baseline, avx2, avx512, avx512_vnni, avx512_bf16");
  if (DescribeCpu().highest == IsaLevel::kAvx512Bf16) GTEST_SKIP() << "this machine has everything";
  EXPECT_EQ(ChooseIsa("avx512_bf16").status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace tondar::cpu
