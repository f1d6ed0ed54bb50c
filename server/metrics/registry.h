// MetricRegistry: owns the series of every metric declared in the catalogue and exports them.
#ifndef TONDAR_SERVER_METRICS_REGISTRY_H_
#define TONDAR_SERVER_METRICS_REGISTRY_H_

#include <array>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/mutex.h"
#include "server/metrics/catalogue.h"
#include "server/metrics/series.h"

namespace tondar {

// Hands out series and exports a snapshot of them. Getting one takes a lock and strings, so get it once and keep it;
// observing it is wait-free. A series lives as long as somebody holds it: two holders of equal labels share one (so a
// reloaded version goes on counting), and when the last lets go it vanishes from the export. Thread-safe.
class MetricRegistry {
 public:
  MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  // `labels`: one value per label name of the row, in its order. shared_ptr: holders end at different times.
  std::shared_ptr<Counter> GetCounter(CounterId id, std::initializer_list<std::string_view> labels);
  std::shared_ptr<Gauge> GetGauge(GaugeId id, std::initializer_list<std::string_view> labels);
  std::shared_ptr<Histogram> GetHistogram(HistogramId id, std::initializer_list<std::string_view> labels);

  // Adds a function that is called before each export, to read what nobody reports (memory, say). It must outlive the
  // registry's exports and may not call Export.
  void AddSampler(std::function<void()> sampler) TONDAR_EXCLUDES(export_mu_);

  // Prometheus' text format, version 0.0.4: every metric with its HELP and TYPE, also those without a series yet.
  std::string Export() TONDAR_EXCLUDES(export_mu_, mu_);

  // Counts a broken expectation of our own and logs `what`; for doubts that are not worth dying for.
  void ReportBug(std::string_view what);

 private:
  // weak_ptr: the registry watches; the holders own.
  using Series = std::variant<std::weak_ptr<Counter>, std::weak_ptr<Gauge>, std::weak_ptr<Histogram>>;
  using LabelValues = std::vector<std::string>;

  template <typename T, typename... Args>
  std::shared_ptr<T> Get(size_t row, std::initializer_list<std::string_view> labels, Args&&... args)
      TONDAR_EXCLUDES(mu_);

  Mutex export_mu_;  // taken before mu_
  std::vector<std::function<void()>> samplers_ TONDAR_GUARDED_BY(export_mu_);
  Mutex mu_;
  std::array<std::map<LabelValues, Series>, kMetricCount> series_ TONDAR_GUARDED_BY(mu_);
  std::shared_ptr<Counter> bugs_;  // fixed after construction
};

}  // namespace tondar

#endif  // TONDAR_SERVER_METRICS_REGISTRY_H_
