#include "engine/accelerators/cpu/isa.h"

#include <fmt/format.h>

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tondar::cpu {
namespace {

constexpr std::string_view kNames[kIsaLevelCount] = {"baseline", "avx2", "avx512", "avx512_vnni", "avx512_bf16"};

#if defined(__x86_64__)

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// Zeros where the processor lacks the leaf.
Registers Cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool HasAll(unsigned value, unsigned mask) { return (value & mask) == mask; }

// Which register files the operating system saves (XCR0); 0 without OSXSAVE.
unsigned SavedState(const Registers& leaf1) {
  if (!HasAll(leaf1.ecx, 1u << 27)) return 0;
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

// Bits as numbered in Intel's manual, volume 2, CPUID.
IsaLevel HighestLevel() {
  const Registers leaf1 = Cpuid(1), leaf7 = Cpuid(7), leaf7_1 = Cpuid(7, 1), extended = Cpuid(0x80000001);
  const unsigned saved = SavedState(leaf1);
  constexpr unsigned kYmm = 0x6, kZmm = 0xe6;
  constexpr unsigned kV3Leaf1 = 1u << 12 | 1u << 22 | 1u << 28 | 1u << 29;       // FMA MOVBE AVX F16C
  constexpr unsigned kV3Leaf7 = 1u << 3 | 1u << 5 | 1u << 8;                     // BMI1 AVX2 BMI2
  constexpr unsigned kV4 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;  // F DQ CD BW VL
  if (!HasAll(saved, kYmm) || !HasAll(leaf1.ecx, kV3Leaf1) || !HasAll(leaf7.ebx, kV3Leaf7)) return IsaLevel::kBaseline;
  if (!HasAll(extended.ecx, 1u << 5)) return IsaLevel::kBaseline;  // LZCNT
  if (!HasAll(saved, kZmm) || !HasAll(leaf7.ebx, kV4)) return IsaLevel::kAvx2;
  if (!HasAll(leaf7.ecx, 1u << 11)) return IsaLevel::kAvx512;
  return HasAll(leaf7_1.eax, 1u << 5) ? IsaLevel::kAvx512Bf16 : IsaLevel::kAvx512Vnni;
}

std::string BrandName() {
  char text[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const Registers r = Cpuid(0x80000002 + i);
    std::memcpy(text + i * 16, &r, 16);
  }
  std::string name(text);
  while (!name.empty() && name.back() == ' ') name.pop_back();
  name.erase(0, name.find_first_not_of(' '));
  return name.empty() ? "x86-64 processor" : name;
}

// Family and model as AMD's and Intel's manuals compose them. Intel's server cores with AVX-512 from Sapphire Rapids on
// are told from Ice Lake by BF16, which holds in virtual machines that hide the model as well.
MicroArchitecture DetectMicroArchitecture(IsaLevel highest) {
  const Registers leaf0 = Cpuid(0), leaf1 = Cpuid(1);
  const bool amd = leaf0.ebx == 0x68747541;  // "Auth"
  const unsigned family = ((leaf1.eax >> 8) & 0xf) + ((leaf1.eax >> 20) & 0xff);
  if (amd) return family >= 0x1a ? MicroArchitecture::kZen5 : MicroArchitecture::kOther;
  if (highest == IsaLevel::kAvx512Bf16) return MicroArchitecture::kSapphireRapids;
  return highest >= IsaLevel::kAvx512 ? MicroArchitecture::kIceLake : MicroArchitecture::kOther;
}

CpuDescription Describe() {
  CpuDescription cpu;
  cpu.name = BrandName();
  cpu.highest = HighestLevel();
  cpu.micro_architecture = DetectMicroArchitecture(cpu.highest);
  return cpu;
}

#else

CpuDescription Describe() { return {.name = "armv8 processor"}; }

#endif

}  // namespace

std::string_view Name(IsaLevel level) { return kNames[static_cast<int>(level)]; }

const CpuDescription& DescribeCpu() {
  static const CpuDescription description = Describe();
  return description;
}

Result<IsaLevel> ChooseIsa(std::string_view option) {
  const IsaLevel highest = DescribeCpu().highest;
  if (option == "auto" || option.empty()) return highest;
  for (int i = 0; i < kIsaLevelCount; ++i) {
    if (option != kNames[i]) continue;
    if (i > static_cast<int>(highest)) {
      return Unavailable("cpu-isa '{}': {} has no more than '{}'", option, DescribeCpu().name, Name(highest));
    }
    return static_cast<IsaLevel>(i);
  }
  return InvalidArgument("cpu-isa '{}' is unknown; expected one of: auto, {}", option, fmt::join(kNames, ", "));
}

std::vector<IsaLevel> SupportedIsaLevels() {
  std::vector<IsaLevel> levels;
  for (int i = 0; i <= static_cast<int>(DescribeCpu().highest); ++i) levels.push_back(static_cast<IsaLevel>(i));
  return levels;
}

}  // namespace tondar::cpu
