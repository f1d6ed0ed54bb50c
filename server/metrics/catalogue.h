// The catalogue: every metric of the server, one row each.
//
// To add a metric, add its row here and observe it where it happens:
//   std::shared_ptr<Counter> errors = registry.GetCounter("tondar_requests_refused_total", {"http", "NOT_FOUND"});
// A name that is not in the table, or is of another type, does not compile. Tests refuse a row without help, one that
// nothing observes, and a docs/metrics.md that differs from RenderCatalogue().
#ifndef TONDAR_SERVER_METRICS_CATALOGUE_H_
#define TONDAR_SERVER_METRICS_CATALOGUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tondar {

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };
std::string_view Name(MetricType type);  // "counter"

// Up to three label names, in the order in which values are given.
struct LabelNames {
  std::array<std::string_view, 3> names{};
  constexpr size_t size() const {
    size_t count = 0;
    while (count < names.size() && !names[count].empty()) ++count;
    return count;
  }
};

// Upper bounds of a histogram in ticks, ascending; the bucket to infinity is implied.
inline constexpr int64_t kLatencyBucketsNs[] = {
    50'000,      100'000,     200'000,     500'000,       1'000'000,     2'000'000,     5'000'000,      10'000'000,
    20'000'000,  50'000'000,  100'000'000, 200'000'000,   500'000'000,   1'000'000'000, 2'000'000'000,  5'000'000'000,
    10'000'000'000};
inline constexpr int64_t kBatchSizeBuckets[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

struct MetricRow {
  std::string_view name;
  MetricType type;
  std::string_view unit;
  // Numbers are kept as integers of a finer unit, so that observing is one integer addition:
  // exported value = ticks / ticks_per_unit.
  int64_t ticks_per_unit;
  LabelNames labels;
  std::string_view help;
  std::span<const int64_t> buckets = {};
};

inline constexpr LabelNames kNoLabels{};
inline constexpr LabelNames kPerVersion{{"model", "version"}};
inline constexpr LabelNames kPerVersionAndReason{{"model", "version", "reason"}};
inline constexpr LabelNames kPerVersionAndProtocol{{"model", "version", "protocol"}};
inline constexpr LabelNames kPerVersionAndMode{{"model", "version", "mode"}};

// Names beginning nv_ are those of Triton, with its meaning: dashboards and autoscalers in use ask for them.
inline constexpr MetricRow kMetrics[] = {
    {"nv_inference_request_success", MetricType::kCounter, "requests", 1, kPerVersion,
     "Requests answered with success"},
    {"nv_inference_request_failure", MetricType::kCounter, "requests", 1, kPerVersionAndReason,
     "Requests answered with an error, by reason: REJECTED (queue full, waited too long, deadline passed, shutting "
     "down), CANCELED (the client went away), BACKEND (the model failed), OTHER (the request was invalid)"},
    {"nv_inference_count", MetricType::kCounter, "inferences", 1, kPerVersion,
     "Inferences done; a request of batch n counts n"},
    {"nv_inference_exec_count", MetricType::kCounter, "executions", 1, kPerVersion,
     "Batches run; nv_inference_count / nv_inference_exec_count is the average batch"},
    {"nv_inference_request_duration_us", MetricType::kCounter, "microseconds", 1000, kPerVersion,
     "Cumulative time from receiving a request to its answer, of successful requests"},
    {"nv_inference_queue_duration_us", MetricType::kCounter, "microseconds", 1000, kPerVersion,
     "Cumulative time that successful requests waited in the queue"},
    {"nv_inference_compute_input_duration_us", MetricType::kCounter, "microseconds", 1000, kPerVersion,
     "Cumulative time spent gathering inputs, of successful requests"},
    {"nv_inference_compute_infer_duration_us", MetricType::kCounter, "microseconds", 1000, kPerVersion,
     "Cumulative time spent running the model, of successful requests"},
    {"nv_inference_compute_output_duration_us", MetricType::kCounter, "microseconds", 1000, kPerVersion,
     "Cumulative time spent scattering outputs, of successful requests"},
    {"nv_inference_pending_request_count", MetricType::kGauge, "requests", 1, kPerVersion,
     "Requests waiting in the queue"},
    {"nv_model_load_duration_secs", MetricType::kGauge, "seconds", 1'000'000'000, kPerVersion,
     "Time that loading and warming up the version took"},
    {"nv_cpu_utilization", MetricType::kGauge, "ratio", 1'000'000, kNoLabels,
     "Share of the machine's CPU time in use since the previous scrape, 0 to 1"},
    {"nv_cpu_memory_total_bytes", MetricType::kGauge, "bytes", 1, kNoLabels, "Memory of the machine"},
    {"nv_cpu_memory_used_bytes", MetricType::kGauge, "bytes", 1, kNoLabels, "Memory of the machine in use"},
    {"tondar_request_duration_seconds", MetricType::kHistogram, "seconds", 1'000'000'000, kPerVersionAndProtocol,
     "Time from receiving a request to its answer, of successful requests", kLatencyBucketsNs},
    {"tondar_queue_duration_seconds", MetricType::kHistogram, "seconds", 1'000'000'000, kPerVersionAndProtocol,
     "Time that a successful request waited in the queue", kLatencyBucketsNs},
    {"tondar_compute_duration_seconds", MetricType::kHistogram, "seconds", 1'000'000'000, kPerVersionAndProtocol,
     "Time from gathering inputs to scattered outputs, of successful requests", kLatencyBucketsNs},
    {"tondar_batch_size", MetricType::kHistogram, "rows", 1, kPerVersion, "Rows of the batches run",
     kBatchSizeBuckets},
    {"tondar_requests_refused_total", MetricType::kCounter, "requests", 1, {{"protocol", "code"}},
     "Requests refused before they reached a model's queue (unknown or unready model, invalid, shutting down), by "
     "canonical code"},
    {"tondar_model_versions", MetricType::kGauge, "versions", 1, {{"model", "state"}},
     "Versions of a model in each state: READY, LOADING, UNLOADING, UNAVAILABLE"},
    {"tondar_model_load_total", MetricType::kCounter, "loads", 1, {{"model", "result"}},
     "Attempts to load a version, by result: success, failure"},
    {"tondar_model_memory_bytes", MetricType::kGauge, "bytes", 1, kPerVersion,
     "Memory that a version holds: weights, packed weights, activations, scratch"},
    {"tondar_session_captures_total", MetricType::kCounter, "captures", 1, kPerVersion,
     "Shapes whose execution was captured for replay"},
    {"tondar_session_runs_total", MetricType::kCounter, "runs", 1, kPerVersionAndMode,
     "Runs of the engine, by mode: replay (captured), eager (step by step)"},
    {"tondar_session_plans_evicted_total", MetricType::kCounter, "plans", 1, kPerVersion,
     "Plans of shapes that were dropped for newer ones; growth means more shapes in use than the cache keeps"},
    {"tondar_bug_total", MetricType::kCounter, "occurrences", 1, kNoLabels,
     "Broken expectations of the server's own code; anything above zero deserves a report"},
    {"tondar_build_info", MetricType::kGauge, "constant", 1, {{"version"}}, "1, labelled with the server's version"},
    {"process_resident_memory_bytes", MetricType::kGauge, "bytes", 1, kNoLabels, "Resident memory of the server"},
    {"process_cpu_seconds_total", MetricType::kCounter, "seconds", 1'000'000'000, kNoLabels,
     "CPU time that the server has used"},
    {"process_start_time_seconds", MetricType::kGauge, "seconds", 1000, kNoLabels,
     "When the server started, in seconds since the epoch"},
};
inline constexpr size_t kMetricCount = std::size(kMetrics);

// Names a row at compile time, so that looking one up costs nothing and cannot fail at run time.
template <MetricType kType>
struct MetricId {
  consteval MetricId(const char* name) : row(Find(name)) {}  // NOLINT: implicit by design, as a format string is
  size_t row;

 private:
  static consteval size_t Find(std::string_view name) {
    for (size_t i = 0; i < kMetricCount; ++i) {
      if (kMetrics[i].name == name && kMetrics[i].type == kType) return i;
    }
    throw "the catalogue has no metric of this name and type";
  }
};
using CounterId = MetricId<MetricType::kCounter>;
using GaugeId = MetricId<MetricType::kGauge>;
using HistogramId = MetricId<MetricType::kHistogram>;

// docs/metrics.md: the table for people.
std::string RenderCatalogue();

}  // namespace tondar

#endif  // TONDAR_SERVER_METRICS_CATALOGUE_H_
