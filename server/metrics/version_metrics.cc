#include "server/metrics/version_metrics.h"

#include <algorithm>

namespace tondar {
namespace {

// In the order of FailureReason.
constexpr std::string_view kReasonNames[kFailureReasons] = {"REJECTED", "CANCELED", "BACKEND", "OTHER"};

uint64_t Ticks(Duration duration) { return static_cast<uint64_t>(std::max<int64_t>(duration.count(), 0)); }

}  // namespace

VersionMetrics::VersionMetrics(MetricRegistry& registry, std::string_view model, std::string_view version,
                               std::initializer_list<std::string_view> protocols, size_t max_batch_size)
    : success_(registry.GetCounter("nv_inference_request_success", {model, version})),
      inferences_(registry.GetCounter("nv_inference_count", {model, version})),
      executions_(registry.GetCounter("nv_inference_exec_count", {model, version})),
      request_ns_(registry.GetCounter("nv_inference_request_duration_us", {model, version})),
      queue_ns_(registry.GetCounter("nv_inference_queue_duration_us", {model, version})),
      input_ns_(registry.GetCounter("nv_inference_compute_input_duration_us", {model, version})),
      infer_ns_(registry.GetCounter("nv_inference_compute_infer_duration_us", {model, version})),
      output_ns_(registry.GetCounter("nv_inference_compute_output_duration_us", {model, version})),
      captures_(registry.GetCounter("tondar_session_captures_total", {model, version})),
      eager_runs_(registry.GetCounter("tondar_session_runs_total", {model, version, "eager"})),
      replays_(registry.GetCounter("tondar_session_runs_total", {model, version, "replay"})),
      plans_evicted_(registry.GetCounter("tondar_session_plans_evicted_total", {model, version})),
      pending_(registry.GetGauge("nv_inference_pending_request_count", {model, version})),
      load_duration_(registry.GetGauge("nv_model_load_duration_secs", {model, version})),
      memory_(registry.GetGauge("tondar_model_memory_bytes", {model, version})),
      batch_size_(registry.GetHistogram("tondar_batch_size", {model, version})),
      batch_rows_(std::max<size_t>(max_batch_size, 1) + 1) {
  for (size_t i = 0; i < kFailureReasons; ++i) {
    failures_[i] = registry.GetCounter("nv_inference_request_failure", {model, version, kReasonNames[i]});
  }
  for (std::string_view protocol : protocols) {
    histograms_.push_back({registry.GetHistogram("tondar_request_duration_seconds", {model, version, protocol}),
                           registry.GetHistogram("tondar_queue_duration_seconds", {model, version, protocol}),
                           registry.GetHistogram("tondar_compute_duration_seconds", {model, version, protocol})});
  }
}

VersionMetrics::~VersionMetrics() {
  memory_->Add(-own_memory_.load(std::memory_order_relaxed));
  for (auto& row : batch_rows_) delete row.load(std::memory_order_relaxed);
}

void VersionMetrics::RecordSuccess(size_t protocol, uint64_t rows, const RequestDurations& durations,
                                   int64_t wall_ms) {
  success_->Add();
  inferences_->Add(rows);
  request_ns_->Add(Ticks(durations.total));
  queue_ns_->Add(Ticks(durations.queue));
  input_ns_->Add(Ticks(durations.compute_input));
  infer_ns_->Add(Ticks(durations.compute_infer));
  output_ns_->Add(Ticks(durations.compute_output));
  const ProtocolHistograms& histograms = histograms_[protocol];
  histograms.request->Observe(durations.total.count());
  histograms.queue->Observe(durations.queue.count());
  histograms.compute->Observe(
      (durations.compute_input + durations.compute_infer + durations.compute_output).count());
  last_inference_ms_.store(wall_ms, std::memory_order_relaxed);
}

void VersionMetrics::RecordFailure(FailureReason reason, Duration total) {
  failures_[static_cast<size_t>(reason)]->Add();
  fail_ns_.Add(Ticks(total));
}

void VersionMetrics::RecordExecution(uint64_t rows, Duration input, Duration infer, Duration output) {
  executions_->Add();
  batch_size_->Observe(static_cast<int64_t>(rows));
  BatchRow& row = RowFor(rows);
  row.executions.Add();
  row.input_ns.Add(Ticks(input));
  row.infer_ns.Add(Ticks(infer));
  row.output_ns.Add(Ticks(output));
}

VersionMetrics::BatchRow& VersionMetrics::RowFor(uint64_t rows) {
  std::atomic<BatchRow*>& slot = batch_rows_[std::min<uint64_t>(rows, batch_rows_.size() - 1)];
  if (BatchRow* row = slot.load(std::memory_order_acquire)) return *row;
  auto fresh = std::make_unique<BatchRow>();
  BatchRow* seen = nullptr;
  if (slot.compare_exchange_strong(seen, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *seen;  // another thread was first
}

VersionTotals VersionMetrics::Totals() const {
  VersionTotals totals;
  totals.last_inference_ms = static_cast<uint64_t>(last_inference_ms_.load(std::memory_order_relaxed));
  totals.inferences = inferences_->ticks();
  totals.executions = executions_->ticks();
  const uint64_t success = success_->ticks();
  totals.success = {success, request_ns_->ticks()};
  for (const auto& failures : failures_) totals.fail.count += failures->ticks();
  totals.fail.ns = fail_ns_.ticks();
  totals.queue = {success, queue_ns_->ticks()};
  totals.compute_input = {success, input_ns_->ticks()};
  totals.compute_infer = {success, infer_ns_->ticks()};
  totals.compute_output = {success, output_ns_->ticks()};
  for (size_t size = 0; size < batch_rows_.size(); ++size) {
    const BatchRow* row = batch_rows_[size].load(std::memory_order_acquire);
    if (row == nullptr) continue;
    const uint64_t executions = row->executions.ticks();
    totals.batches.push_back({size,
                              {executions, row->input_ns.ticks()},
                              {executions, row->infer_ns.ticks()},
                              {executions, row->output_ns.ticks()}});
  }
  totals.memory_bytes = static_cast<uint64_t>(own_memory_.load(std::memory_order_relaxed));
  return totals;
}

}  // namespace tondar
