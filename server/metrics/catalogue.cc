#include "server/metrics/catalogue.h"

#include <fmt/format.h>

namespace tondar {
namespace {

std::string RenderLabels(const LabelNames& labels) {
  std::string text;
  for (size_t i = 0; i < labels.size(); ++i) text += fmt::format("{}`{}`", i == 0 ? "" : ", ", labels.names[i]);
  return text.empty() ? "–" : text;
}

std::string RenderBuckets(const MetricRow& row) {
  std::string text;
  for (int64_t bound : row.buckets) {
    text += fmt::format("{}{:g}", text.empty() ? "" : ", ",
                        static_cast<double>(bound) / static_cast<double>(row.ticks_per_unit));
  }
  return text;
}

}  // namespace

std::string_view Name(MetricType type) {
  static constexpr std::string_view kNames[] = {"counter", "gauge", "histogram"};
  return kNames[static_cast<size_t>(type)];
}

std::string RenderCatalogue() {
  std::string text =
      "# Metrics\n\n"
      "Served in Prometheus' text format at `/metrics` of the metrics port (8002), all on by default. Series of a model\n"
      "version appear when it is loaded and vanish when it is unloaded; a reload goes on counting.\n"
      "This page is made from `server/metrics/catalogue.h`; do not edit it.\n\n"
      "| name | type | unit | labels | meaning |\n|---|---|---|---|---|\n";
  for (const MetricRow& row : kMetrics) {
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, Name(row.type), row.unit,
                        RenderLabels(row.labels), row.help);
  }
  text += "\n## Buckets\n\n";
  for (const MetricRow& row : kMetrics) {
    if (!row.buckets.empty()) text += fmt::format("- `{}` ({}): {}\n", row.name, row.unit, RenderBuckets(row));
  }
  return text;
}

}  // namespace tondar
