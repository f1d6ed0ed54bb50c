// VersionMetrics: all series of one model version, and the statistics that clients read.
#ifndef TONDAR_SERVER_METRICS_VERSION_METRICS_H_
#define TONDAR_SERVER_METRICS_VERSION_METRICS_H_

#include <array>
#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "server/metrics/registry.h"

namespace tondar {

// The values of the label `reason` of nv_inference_request_failure.
enum class FailureReason : uint8_t { kRejected, kCancelled, kBackend, kOther };
inline constexpr size_t kFailureReasons = 4;

// How long the parts of one successful request took.
struct RequestDurations {
  Duration total{0};  // received to answered
  Duration queue{0};
  Duration compute_input{0};
  Duration compute_infer{0};
  Duration compute_output{0};
};

struct DurationTotal {
  uint64_t count = 0;
  uint64_t ns = 0;
};

struct BatchSizeTotals {
  uint64_t batch_size = 0;
  DurationTotal compute_input, compute_infer, compute_output;
};

// Everything cumulative since the version was first loaded; a reload of the same version goes on counting.
struct VersionTotals {
  uint64_t last_inference_ms = 0;  // wall clock, ms since the epoch; 0 = never
  uint64_t inferences = 0;
  uint64_t executions = 0;
  DurationTotal success, fail, queue, compute_input, compute_infer, compute_output;
  std::vector<BatchSizeTotals> batches;  // ascending
  uint64_t memory_bytes = 0;
};

// Created once per version; every method is wait-free, but for the first batch of each size, which allocates a row.
// Thread-safe.
class VersionMetrics {
 public:
  // `protocols`: the values of the label, indexed by the number that RecordSuccess gets.
  // `max_batch_size`: rows of the largest batch; larger ones are counted as this size.
  VersionMetrics(MetricRegistry& registry, std::string_view model, std::string_view version,
                 std::initializer_list<std::string_view> protocols, size_t max_batch_size);
  ~VersionMetrics();
  VersionMetrics(const VersionMetrics&) = delete;
  VersionMetrics& operator=(const VersionMetrics&) = delete;

  void RecordSuccess(size_t protocol, uint64_t rows, const RequestDurations& durations, int64_t wall_ms);
  void RecordFailure(FailureReason reason, Duration total);
  // One batch that ran, whatever became of its requests.
  void RecordExecution(uint64_t rows, Duration input, Duration infer, Duration output);

  // Additions and not settings: while a version is replaced, the old and the new one share these series.
  void AddPending(int64_t requests) { pending_->Add(requests); }
  void AddMemory(int64_t bytes) {  // what is still added at destruction is taken back
    own_memory_.fetch_add(bytes, std::memory_order_relaxed);
    memory_->Add(bytes);
  }
  void SetLoadDuration(Duration duration) { load_duration_->Set(duration.count()); }

  Counter& captures() { return *captures_; }
  Counter& eager_runs() { return *eager_runs_; }
  Counter& replays() { return *replays_; }
  Counter& plans_evicted() { return *plans_evicted_; }

  // A consistent enough view: each number is exact at some moment during the call.
  VersionTotals Totals() const;

 private:
  struct BatchRow {
    Counter executions, input_ns, infer_ns, output_ns;
  };
  struct ProtocolHistograms {
    std::shared_ptr<Histogram> request, queue, compute;
  };
  BatchRow& RowFor(uint64_t rows);

  // All pointers are fixed after construction; what they point to synchronises itself.
  std::shared_ptr<Counter> success_, inferences_, executions_, request_ns_, queue_ns_, input_ns_, infer_ns_, output_ns_;
  std::array<std::shared_ptr<Counter>, kFailureReasons> failures_;
  std::shared_ptr<Counter> captures_, eager_runs_, replays_, plans_evicted_;
  std::shared_ptr<Gauge> pending_, load_duration_, memory_;
  std::shared_ptr<Histogram> batch_size_;
  std::vector<ProtocolHistograms> histograms_;

  Counter fail_ns_;
  std::atomic<int64_t> own_memory_{0};
  std::atomic<int64_t> last_inference_ms_{0};
  std::vector<std::atomic<BatchRow*>> batch_rows_;  // by batch size; made on first use, freed by the destructor
};

}  // namespace tondar

#endif  // TONDAR_SERVER_METRICS_VERSION_METRICS_H_
