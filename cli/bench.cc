// `tondar bench`: times a model on this machine.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/model_run.h"
#include "cli/verbs.h"
#include "engine/base/clock.h"

namespace tondar {
namespace {

struct BenchOptions {
  ModelRunOptions run;
  std::string inputs, outputs, expected, precision = "f32";
  double tolerance = 1e-3;
  int iterations = 100;
  int64_t batch = 0;
  bool json = false, profile = false;
};

struct BenchResult {
  double load_ms = 0, first_ms = 0;
  std::vector<double> latencies_ms;
  std::optional<double> max_abs_err;  // and whether it is more than the tolerance
  bool differs = false;
  std::vector<StepTime> steps;
  MemoryReport memory;
};

double MillisSince(TimePoint begin) {
  return std::chrono::duration<double, std::milli>(Clock::Real().Now() - begin).count();
}

// The value below which the share `q` of the sorted samples lies, nearest rank.
double Quantile(std::vector<double> samples, double q) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const size_t rank = static_cast<size_t>(q * static_cast<double>(samples.size() - 1) + 0.5);
  return samples[rank];
}

long PeakRssKb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// The times of the middle run, step by step, out of several.
Status Profile(Session& session, std::vector<StepTime>& steps) {
  constexpr int kRuns = 21;
  std::vector<std::vector<StepTime>> runs(kRuns);
  for (auto& run : runs) TONDAR_RETURN_IF_ERROR(session.RunProfiled(run));
  steps = runs[0];
  for (size_t i = 0; i < steps.size(); ++i) {
    std::vector<double> samples;
    for (const auto& run : runs) samples.push_back(static_cast<double>(run[i].nanoseconds));
    steps[i].nanoseconds = static_cast<int64_t>(Quantile(samples, 0.5));
  }
  return OkStatus();
}

Result<BenchResult> Measure(const BenchOptions& options) {
  BenchResult result;
  const TimePoint start = Clock::Real().Now();
  TONDAR_ASSIGN_OR_RETURN(const std::unique_ptr<ModelRun> run, ModelRun::Create(options.run));
  result.load_ms = MillisSince(start);
  const TimePoint first = Clock::Real().Now();
  TONDAR_RETURN_IF_ERROR(run->SetInputs(options.inputs, options.batch));
  TONDAR_RETURN_IF_ERROR(run->session().Run());
  result.first_ms = MillisSince(first);
  if (!options.expected.empty()) {
    TONDAR_ASSIGN_OR_RETURN(const Difference difference, run->CompareOutputs(options.expected));
    result.max_abs_err = difference.absolute;
    result.differs = !(difference.scaled <= options.tolerance);
  }
  if (!options.outputs.empty()) TONDAR_RETURN_IF_ERROR(run->WriteOutputs(options.outputs, true));
  result.latencies_ms.reserve(static_cast<size_t>(options.iterations));
  for (int i = 0; i < options.iterations; ++i) {
    const TimePoint begin = Clock::Real().Now();
    TONDAR_RETURN_IF_ERROR(run->session().Run());
    result.latencies_ms.push_back(MillisSince(begin));
  }
  if (options.profile) TONDAR_RETURN_IF_ERROR(Profile(run->session(), result.steps));
  result.memory = run->session().memory();
  return result;
}

nlohmann::json ToJson(const BenchResult& result) {
  nlohmann::json json = {{"load_ms", result.load_ms},
                         {"first_ms", result.first_ms},
                         {"latencies_ms", result.latencies_ms},
                         {"median_ms", Quantile(result.latencies_ms, 0.5)},
                         {"p99_ms", Quantile(result.latencies_ms, 0.99)},
                         {"peak_rss_kb", PeakRssKb()},
                         {"weight_bytes", result.memory.weight_bytes},
                         {"packed_bytes", result.memory.packed_bytes},
                         {"arena_bytes", result.memory.arena_bytes}};
  if (result.max_abs_err) json["max_abs_err"] = *result.max_abs_err;
  for (const StepTime& step : result.steps) {
    json["steps"].push_back({{"name", step.name}, {"kind", step.kind}, {"ns", step.nanoseconds}});
  }
  return json;
}

void Print(const BenchResult& result) {
  std::printf("load     %10.2f ms\nfirst    %10.3f ms\nmedian   %10.4f ms\np99      %10.4f ms   of %zu calls\npeak rss %10ld KB\n",
              result.load_ms, result.first_ms, Quantile(result.latencies_ms, 0.5), Quantile(result.latencies_ms, 0.99),
              result.latencies_ms.size(), PeakRssKb());
  if (result.max_abs_err) std::printf("max error %9.3g\n", *result.max_abs_err);
  if (result.steps.empty()) return;
  int64_t total = 0;
  for (const StepTime& step : result.steps) total += step.nanoseconds;
  std::printf("\n%12s %6s  step (median of 21 runs, each step timed alone)\n", "ns", "share");
  for (const StepTime& step : result.steps) {
    std::printf("%12lld %5.1f%%  %s %s\n", static_cast<long long>(step.nanoseconds),
                total == 0 ? 0 : 100.0 * static_cast<double>(step.nanoseconds) / static_cast<double>(total),
                step.kind.c_str(), step.name.c_str());
  }
}

}  // namespace

int RunBench(int argc, char** argv) {
  CLI::App app("Loads a model, runs it on arrays from a file, and tells how long each call took.", "tondar bench");
  BenchOptions options;
  app.add_option("--model", options.run.model, "model file (.pt2 or .onnx)")->required();
  app.add_option("--inputs", options.inputs, ".npz file with one array per input")->required();
  app.add_option("--outputs", options.outputs, ".npz file to write, arrays out_0, out_1, ...");
  app.add_option("--expected", options.expected, ".npz file to compare the outputs of the first call with");
  app.add_option("--tolerance", options.tolerance, "with --expected: exit 1 if a difference is above this * (1 + |expected|)")
      ->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--threads", options.run.threads, "threads of a call; 0 = one per core")->capture_default_str()->check(CLI::Range(0, 1024));
  app.add_option("--iterations", options.iterations, "timed calls after the first")->capture_default_str()->check(CLI::Range(1, 100000000));
  app.add_option("--batch", options.batch, "repeat the rows up to this batch size")->check(CLI::PositiveNumber);
  app.add_option("--accelerator", options.run.accelerator, "where to run")->capture_default_str();
  app.add_option("--precision", options.precision, "f32 is the only one so far")->capture_default_str()->check(CLI::IsMember({"f32"}));
  app.add_option("--cpu-isa", options.run.cpu_isa, "highest CPU instruction set to use")->capture_default_str();
  app.add_flag("!--no-capture", options.run.capture, "run step by step instead of replaying");
  app.add_flag("--profile", options.profile, "also time every step alone");
  app.add_flag("--json", options.json, "print one JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Result<BenchResult> result = Measure(options);
  if (!result.ok()) return Fail("bench", result.status());
  if (options.json) {
    // Steps are named by the file, which need not be UTF-8.
    std::printf("%s\n", ToJson(*result).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    Print(*result);
  }
  if (!result->differs) return 0;
  return Fail("bench", FailedPrecondition("the outputs differ from {} by more than {} * (1 + |expected|), the --tolerance",
                                          options.expected, options.tolerance));
}

}  // namespace tondar
