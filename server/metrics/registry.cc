#include "server/metrics/registry.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <optional>

#include "engine/base/log.h"

namespace tondar {
namespace {

template <typename Integer>
double InUnits(const MetricRow& row, Integer ticks) {
  return static_cast<double>(ticks) / static_cast<double>(row.ticks_per_unit);
}

void Fill(const MetricRow& row, const Counter& counter, prometheus::ClientMetric& metric) {
  metric.counter.value = InUnits(row, counter.ticks());
}

void Fill(const MetricRow& row, const Gauge& gauge, prometheus::ClientMetric& metric) {
  metric.gauge.value = InUnits(row, gauge.ticks());
}

// The count is that of the buckets read here, so that a scrape during an observation stays consistent.
void Fill(const MetricRow& row, const Histogram& histogram, prometheus::ClientMetric& metric) {
  const std::span<const int64_t> bounds = histogram.bounds();
  uint64_t cumulative = 0;
  for (size_t bucket = 0; bucket <= bounds.size(); ++bucket) {
    cumulative += histogram.count(bucket);
    const double bound = bucket == bounds.size() ? std::numeric_limits<double>::infinity()
                                                 : InUnits(row, bounds[bucket]);
    metric.histogram.bucket.push_back({cumulative, bound});
  }
  metric.histogram.sample_count = cumulative;
  metric.histogram.sample_sum = InUnits(row, histogram.sum_ticks());
}

prometheus::MetricType WireType(MetricType type) {
  static constexpr prometheus::MetricType kTypes[] = {prometheus::MetricType::Counter, prometheus::MetricType::Gauge,
                                                      prometheus::MetricType::Histogram};
  return kTypes[static_cast<size_t>(type)];
}

std::vector<prometheus::ClientMetric::Label> WireLabels(const MetricRow& row, const std::vector<std::string>& values) {
  std::vector<prometheus::ClientMetric::Label> labels;
  for (size_t i = 0; i < values.size(); ++i) labels.push_back({std::string(row.labels.names[i]), values[i]});
  return labels;
}

// The metric of a series, or nothing if its last holder has let go.
template <typename Series>
std::optional<prometheus::ClientMetric> Snapshot(const MetricRow& row, const std::vector<std::string>& labels,
                                                 const Series& series) {
  return std::visit(
      [&](const auto& weak) -> std::optional<prometheus::ClientMetric> {
        const auto held = weak.lock();
        if (held == nullptr) return std::nullopt;
        prometheus::ClientMetric metric;
        metric.label = WireLabels(row, labels);
        Fill(row, *held, metric);
        return metric;
      },
      series);
}

}  // namespace

MetricRegistry::MetricRegistry() : bugs_(GetCounter("tondar_bug_total", {})) {}

template <typename T, typename... Args>
std::shared_ptr<T> MetricRegistry::Get(size_t row, std::initializer_list<std::string_view> labels, Args&&... args) {
  TONDAR_CHECK(labels.size() == kMetrics[row].labels.size(), "{} takes {} labels, not {}", kMetrics[row].name,
               kMetrics[row].labels.size(), labels.size());
  MutexLock lock(mu_);
  auto [entry, added] = series_[row].try_emplace(LabelValues(labels.begin(), labels.end()), std::weak_ptr<T>());
  std::weak_ptr<T>& weak = std::get<std::weak_ptr<T>>(entry->second);
  std::shared_ptr<T> held = weak.lock();
  if (held == nullptr) {
    held = std::make_shared<T>(std::forward<Args>(args)...);
    weak = held;
  }
  return held;
}

std::shared_ptr<Counter> MetricRegistry::GetCounter(CounterId id, std::initializer_list<std::string_view> labels) {
  return Get<Counter>(id.row, labels);
}

std::shared_ptr<Gauge> MetricRegistry::GetGauge(GaugeId id, std::initializer_list<std::string_view> labels) {
  return Get<Gauge>(id.row, labels);
}

std::shared_ptr<Histogram> MetricRegistry::GetHistogram(HistogramId id,
                                                        std::initializer_list<std::string_view> labels) {
  return Get<Histogram>(id.row, labels, kMetrics[id.row].buckets);
}

void MetricRegistry::AddSampler(std::function<void()> sampler) {
  MutexLock lock(export_mu_);
  samplers_.push_back(std::move(sampler));
}

std::string MetricRegistry::Export() {
  MutexLock exporting(export_mu_);
  for (const auto& sampler : samplers_) sampler();
  std::vector<prometheus::MetricFamily> families;
  {
    MutexLock lock(mu_);
    for (size_t i = 0; i < kMetricCount; ++i) {
      const MetricRow& row = kMetrics[i];
      prometheus::MetricFamily family{std::string(row.name), std::string(row.help), WireType(row.type), {}};
      for (auto entry = series_[i].begin(); entry != series_[i].end();) {
        auto metric = Snapshot(row, entry->first, entry->second);
        if (metric) family.metric.push_back(std::move(*metric));
        entry = metric ? std::next(entry) : series_[i].erase(entry);
      }
      families.push_back(std::move(family));
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

void MetricRegistry::ReportBug(std::string_view what) {
  bugs_->Add();
  // The counter tells how often; the log keeps to the first few.
  if (bugs_->ticks() <= 10) LogError("this should not happen, please report it: {}", what);
}

}  // namespace tondar
