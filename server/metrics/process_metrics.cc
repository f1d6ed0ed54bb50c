#include "server/metrics/process_metrics.h"

#include <time.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include "engine/base/clock.h"

namespace tondar {
namespace {

std::string ReadAll(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// The number after `key` on its line of /proc/meminfo, in bytes.
std::optional<uint64_t> KibibytesOf(std::string_view meminfo, std::string_view key) {
  size_t at = meminfo.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at = meminfo.find_first_of("0123456789", at + key.size());
  if (at == std::string_view::npos) return std::nullopt;
  uint64_t kib = 0;
  std::from_chars(meminfo.data() + at, meminfo.data() + meminfo.size(), kib);
  return kib * 1024;
}

uint64_t ResidentBytes() {
  std::istringstream statm(ReadAll("/proc/self/statm"));
  uint64_t size_pages = 0, resident_pages = 0;
  statm >> size_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t ProcessCpuNanoseconds() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// Called by one export at a time.
class ProcessSampler {
 public:
  ProcessSampler(MetricRegistry& registry, std::string_view server_version)
      : cpu_utilization_(registry.GetGauge("nv_cpu_utilization", {})),
        memory_total_(registry.GetGauge("nv_cpu_memory_total_bytes", {})),
        memory_used_(registry.GetGauge("nv_cpu_memory_used_bytes", {})),
        resident_(registry.GetGauge("process_resident_memory_bytes", {})),
        cpu_time_(registry.GetCounter("process_cpu_seconds_total", {})),
        start_time_(registry.GetGauge("process_start_time_seconds", {})),
        build_(registry.GetGauge("tondar_build_info", {server_version})) {
    build_->Set(1);
    start_time_->Set(Clock::Real().WallMillis());
    previous_ = ParseCpuTicks(ReadAll("/proc/stat")).value_or(CpuTicks{});
  }

  void Sample() {
    if (const auto now = ParseCpuTicks(ReadAll("/proc/stat")); now && now->total > previous_.total) {
      constexpr uint64_t kMillionths = 1'000'000;
      cpu_utilization_->Set(static_cast<int64_t>((now->busy - previous_.busy) * kMillionths / (now->total - previous_.total)));
      previous_ = *now;
    }
    if (const auto memory = ParseMachineMemory(ReadAll("/proc/meminfo"))) {
      memory_total_->Set(static_cast<int64_t>(memory->total_bytes));
      memory_used_->Set(static_cast<int64_t>(memory->used_bytes));
    }
    resident_->Set(static_cast<int64_t>(ResidentBytes()));
    cpu_time_->AdvanceTo(ProcessCpuNanoseconds());
  }

 private:
  std::shared_ptr<Gauge> cpu_utilization_, memory_total_, memory_used_, resident_;
  std::shared_ptr<Counter> cpu_time_;
  std::shared_ptr<Gauge> start_time_, build_;
  CpuTicks previous_;
};

}  // namespace

std::optional<CpuTicks> ParseCpuTicks(std::string_view stat) {
  if (!stat.starts_with("cpu ")) return std::nullopt;
  std::istringstream fields(std::string(stat.substr(4, stat.find('\n') - 4)));
  // proc(5): user nice system idle iowait irq softirq steal; guest times are already in user and nice.
  constexpr int kFields = 8, kIdle = 3, kIoWait = 4;
  CpuTicks ticks;
  for (int field = 0; field < kFields; ++field) {
    uint64_t value = 0;
    if (!(fields >> value)) return std::nullopt;
    ticks.total += value;
    if (field != kIdle && field != kIoWait) ticks.busy += value;
  }
  return ticks;
}

std::optional<MachineMemory> ParseMachineMemory(std::string_view meminfo) {
  const auto total = KibibytesOf(meminfo, "MemTotal:"), available = KibibytesOf(meminfo, "MemAvailable:");
  if (!total || !available) return std::nullopt;
  return MachineMemory{*total, *total - std::min(*total, *available)};
}

void AddProcessMetrics(MetricRegistry& registry, std::string_view server_version) {
  // shared_ptr: std::function wants a copyable owner.
  auto sampler = std::make_shared<ProcessSampler>(registry, server_version);
  registry.AddSampler([sampler] { sampler->Sample(); });
}

}  // namespace tondar
