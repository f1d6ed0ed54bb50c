#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "server/metrics/process_metrics.h"
#include "server/metrics/version_metrics.h"

namespace tondar {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(CatalogueTest, EveryRowIsDocumentedAndNamedOnce) {
  std::set<std::string_view> names;
  for (const MetricRow& row : kMetrics) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " occurs twice";
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_FALSE(row.unit.empty()) << row.name;
    EXPECT_GT(row.ticks_per_unit, 0) << row.name;
    EXPECT_EQ(row.type == MetricType::kHistogram, !row.buckets.empty()) << row.name;
    EXPECT_TRUE(std::is_sorted(row.buckets.begin(), row.buckets.end())) << row.name;
    EXPECT_LE(row.buckets.size(), Histogram::kMaxBounds) << row.name;
    EXPECT_TRUE(std::regex_match(std::string(row.name), std::regex("[a-z_][a-z0-9_]*"))) << row.name;
  }
}

TEST(CatalogueTest, SomethingObservesEveryRow) {
  std::string sources;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TONDAR_SOURCE_DIR "/server")) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".cc" || path.ends_with("_test.cc") || path.ends_with("catalogue.cc")) continue;
    sources += ReadFile(entry.path());
  }
  for (const MetricRow& row : kMetrics) {
    EXPECT_THAT(sources, HasSubstr('"' + std::string(row.name) + '"')) << "nothing observes this metric";
  }
}

TEST(CatalogueTest, DocsAreCurrent) {
  const std::string path = TONDAR_SOURCE_DIR "/docs/metrics.md";
  if (std::getenv("TONDAR_UPDATE_DOCS") != nullptr) std::ofstream(path) << RenderCatalogue();
  EXPECT_EQ(ReadFile(path), RenderCatalogue()) << "renew with TONDAR_UPDATE_DOCS=1 tondar_server_metrics_test";
}

TEST(SeriesTest, HistogramBoundsAreInclusive) {
  static constexpr int64_t kBounds[] = {10, 20};
  Histogram histogram(kBounds);
  for (int64_t value : {0, 10, 11, 20, 21}) histogram.Observe(value);
  EXPECT_EQ(histogram.count(0), 2u);
  EXPECT_EQ(histogram.count(1), 2u);
  EXPECT_EQ(histogram.count(2), 1u);
  EXPECT_EQ(histogram.sum_ticks(), 62u);
}

TEST(SeriesTest, CounterFromElsewhereNeverGoesBack) {
  Counter counter;
  counter.AdvanceTo(5);
  counter.AdvanceTo(3);
  EXPECT_EQ(counter.ticks(), 5u);
}

TEST(RegistryTest, ExportsHelpTypeAndValueInTheUnitOfTheRow) {
  MetricRegistry registry;
  auto counter = registry.GetCounter("nv_inference_queue_duration_us", {"bert", "3"});
  counter->Add(1'500'000);  // ns
  const std::string text = registry.Export();
  EXPECT_THAT(text, HasSubstr("# TYPE nv_inference_queue_duration_us counter\n"));
  EXPECT_THAT(text, HasSubstr("# HELP nv_inference_queue_duration_us "));
  EXPECT_THAT(text, HasSubstr("nv_inference_queue_duration_us{model=\"bert\",version=\"3\"} 1500\n"));
  EXPECT_THAT(text, HasSubstr("tondar_bug_total 0\n"));
}

TEST(RegistryTest, ExportsCumulativeBuckets) {
  MetricRegistry registry;
  auto histogram = registry.GetHistogram("tondar_request_duration_seconds", {"m", "1", "http"});
  histogram->Observe(60'000);       // 60 us
  histogram->Observe(700'000);      // 0.7 ms
  histogram->Observe(20'000'000'000);
  const std::string text = registry.Export();
  const std::string labels = "model=\"m\",version=\"1\",protocol=\"http\"";
  EXPECT_THAT(text, HasSubstr("tondar_request_duration_seconds_bucket{" + labels + ",le=\"0.0001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tondar_request_duration_seconds_bucket{" + labels + ",le=\"0.001\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("tondar_request_duration_seconds_bucket{" + labels + ",le=\"10\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("tondar_request_duration_seconds_bucket{" + labels + ",le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("tondar_request_duration_seconds_count{" + labels + "} 3\n"));
}

TEST(RegistryTest, EqualLabelsShareASeriesAndTheLastHolderTakesItAway) {
  MetricRegistry registry;
  auto first = registry.GetCounter("nv_inference_count", {"m", "1"});
  auto second = registry.GetCounter("nv_inference_count", {"m", "1"});
  first->Add(2);
  first.reset();
  second->Add(1);
  EXPECT_THAT(registry.Export(), HasSubstr("nv_inference_count{model=\"m\",version=\"1\"} 3\n"));
  second.reset();
  EXPECT_THAT(registry.Export(), Not(HasSubstr("model=\"m\"")));
}

TEST(RegistryTest, EscapesLabelValues) {
  MetricRegistry registry;
  auto gauge = registry.GetGauge("tondar_build_info", {"a\"b\\c\nd"});
  EXPECT_THAT(registry.Export(), HasSubstr("version=\"a\\\"b\\\\c\\nd\""));
}

// The grammar that promtool checks, in small: every line is a comment, or name{labels} value.
TEST(RegistryTest, EveryLineIsValidExposition) {
  MetricRegistry registry;
  AddProcessMetrics(registry, "0.0.0");
  VersionMetrics metrics(registry, "m", "1", {"inprocess", "http", "grpc"}, 8);
  metrics.RecordSuccess(1, 2, {.total = 3ms, .queue = 1ms, .compute_infer = 1ms}, 5);
  std::istringstream lines(registry.Export());
  const std::regex sample(R"re([a-z_:][a-z0-9_:]*(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [-+0-9.eInfNa]+)re");
  const std::regex comment(R"re(# (HELP|TYPE) [a-z_:][a-z0-9_:]* .+)re");
  int samples = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_sample = std::regex_match(line, sample);
    samples += is_sample;
    EXPECT_TRUE(is_sample || std::regex_match(line, comment)) << line;
  }
  EXPECT_GT(samples, 50);
}

TEST(RegistryTest, BugsAreCounted) {
  MetricRegistry registry;
  registry.ReportBug("a test looks whether this is counted");
  EXPECT_THAT(registry.Export(), HasSubstr("tondar_bug_total 1\n"));
}

TEST(RegistryTest, ObservingWhileExportingIsSafe) {
  MetricRegistry registry;
  VersionMetrics metrics(registry, "m", "1", {"inprocess"}, 4);
  std::thread observer([&] {
    for (int i = 0; i < 20000; ++i) {
      metrics.RecordSuccess(0, 1, {.total = 1ms}, 1);
      metrics.RecordExecution(static_cast<uint64_t>(1 + i % 6), 1us, 1us, 1us);
    }
  });
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(registry.Export().empty());
  observer.join();
  EXPECT_EQ(metrics.Totals().success.count, 20000u);
}

TEST(VersionMetricsTest, TotalsAddUp) {
  MetricRegistry registry;
  VersionMetrics metrics(registry, "m", "1", {"inprocess", "http"}, 4);
  metrics.RecordExecution(3, 1us, 10us, 2us);
  metrics.RecordExecution(3, 1us, 20us, 2us);
  metrics.RecordExecution(1, 1us, 5us, 1us);
  metrics.RecordSuccess(1, 3, {.total = 20us, .queue = 4us, .compute_input = 1us, .compute_infer = 10us, .compute_output = 2us}, 77);
  metrics.RecordFailure(FailureReason::kCancelled, 9us);
  metrics.AddMemory(4096);
  const VersionTotals totals = metrics.Totals();
  EXPECT_EQ(totals.executions, 3u);
  EXPECT_EQ(totals.inferences, 3u);
  EXPECT_EQ(totals.last_inference_ms, 77u);
  EXPECT_EQ(totals.success.ns, 20'000u);
  EXPECT_EQ(totals.queue.ns, 4'000u);
  EXPECT_EQ(totals.fail.count, 1u);
  EXPECT_EQ(totals.fail.ns, 9'000u);
  EXPECT_EQ(totals.memory_bytes, 4096u);
  ASSERT_EQ(totals.batches.size(), 2u);
  EXPECT_EQ(totals.batches[0].batch_size, 1u);
  EXPECT_EQ(totals.batches[1].batch_size, 3u);
  EXPECT_EQ(totals.batches[1].compute_infer.count, 2u);
  EXPECT_EQ(totals.batches[1].compute_infer.ns, 30'000u);
}

TEST(VersionMetricsTest, AReplacedVersionTakesItsMemoryWithIt) {
  MetricRegistry registry;
  VersionMetrics next(registry, "m", "1", {}, 1);
  {
    VersionMetrics old(registry, "m", "1", {}, 1);
    old.AddMemory(100);
    next.AddMemory(10);
    EXPECT_THAT(registry.Export(), HasSubstr("tondar_model_memory_bytes{model=\"m\",version=\"1\"} 110\n"));
  }
  EXPECT_THAT(registry.Export(), HasSubstr("tondar_model_memory_bytes{model=\"m\",version=\"1\"} 10\n"));
}

TEST(ProcessMetricsTest, ParsesProc) {
  const auto ticks = ParseCpuTicks("cpu  10 1 5 80 4 0 0 0 0 0\ncpu0 1 1 1 1\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(ticks->busy, 16u);
  EXPECT_EQ(ticks->total, 100u);
  EXPECT_FALSE(ParseCpuTicks("garbage"));
  const auto memory = ParseMachineMemory("MemTotal:  100 kB\nMemFree: 1 kB\nMemAvailable:   30 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total_bytes, 102400u);
  EXPECT_EQ(memory->used_bytes, 71680u);
  EXPECT_FALSE(ParseMachineMemory(""));
}

TEST(ProcessMetricsTest, MachineHasMemory) {
  MetricRegistry registry;
  AddProcessMetrics(registry, "1.2.3");
  const std::string text = registry.Export();
  EXPECT_THAT(text, HasSubstr("tondar_build_info{version=\"1.2.3\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("process_resident_memory_bytes 0\n")));
}

}  // namespace
}  // namespace tondar
