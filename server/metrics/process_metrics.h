// Metrics of the machine and the process, read from /proc at each export.
#ifndef TONDAR_SERVER_METRICS_PROCESS_METRICS_H_
#define TONDAR_SERVER_METRICS_PROCESS_METRICS_H_

#include <optional>
#include <string>
#include <string_view>

#include "server/metrics/registry.h"

namespace tondar {

// CPU time of the machine since boot, in the kernel's ticks.
struct CpuTicks {
  uint64_t busy = 0;
  uint64_t total = 0;
};
// Parses the first line of /proc/stat; nullopt if it is not one.
std::optional<CpuTicks> ParseCpuTicks(std::string_view stat);

struct MachineMemory {
  uint64_t total_bytes = 0;
  uint64_t used_bytes = 0;  // total less what the kernel would give without swapping
};
// Parses /proc/meminfo; nullopt without MemTotal or MemAvailable.
std::optional<MachineMemory> ParseMachineMemory(std::string_view meminfo);

// Registers the nv_cpu_*, process_* and tondar_build_info series and the sampler that keeps them current. Where /proc
// is missing, they stay zero. `registry` keeps them.
void AddProcessMetrics(MetricRegistry& registry, std::string_view server_version);

}  // namespace tondar

#endif  // TONDAR_SERVER_METRICS_PROCESS_METRICS_H_
