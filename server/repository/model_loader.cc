#include "server/repository/model_loader.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <new>

#include "engine/base/log.h"
#include "server/request/request.h"

namespace tondar {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelFilenames[] = {"model.pt2", "model.onnx"};

// The first run makes the plan, the second captures it, the third replays it.
constexpr int kWarmUpRuns = 3;

Result<std::string> FindModelFile(const fs::path& directory, const ModelConfigSource& source) {
  TONDAR_ASSIGN_OR_RETURN(const std::string written, GetModelFilename(source));
  std::error_code error;
  if (!written.empty()) {
    if (fs::is_regular_file(directory / written, error)) return (directory / written).string();
    return NotFound("no file '{}' in {}; it is the default_model_filename of the config", written, directory.string());
  }
  for (std::string_view name : kModelFilenames) {
    if (fs::is_regular_file(directory / name, error)) return (directory / name).string();
  }
  return NotFound("no model.pt2 or model.onnx in {}", directory.string());
}

std::vector<Dims> SmallestShapes(const Signature& signature) {
  std::vector<int64_t> symbols;
  for (const SymbolInfo& symbol : signature.symbols) symbols.push_back(std::max<int64_t>(symbol.min, 1));
  std::vector<Dims> shapes;
  for (const TensorSpec& input : signature.inputs) shapes.push_back(Evaluate(input.shape, symbols));
  return shapes;
}

int64_t SmallestBatch(const Signature& signature) {
  if (!signature.batchable) return 1;
  return std::max<int64_t>(signature.symbols[static_cast<size_t>(signature.batch_symbol)].min, 1);
}

Result<std::vector<std::unique_ptr<Session>>> MakeWarmSessions(const Model& model, const SessionOptions& options,
                                                               int count, const Clock& clock, Duration& run) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < count; ++i) {
    TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, model.CreateSession(options));
    TONDAR_ASSIGN_OR_RETURN(run, WarmUp(*session, clock));
    TONDAR_RETURN_IF_ERROR(session->ResetState());  // the first request finds the file's
    sessions.push_back(std::move(session));
  }
  return sessions;
}

}  // namespace

Result<Duration> WarmUp(Session& session, const Clock& clock) {
  const std::vector<Dims> shapes = SmallestShapes(session.signature());
  Duration run{0};
  for (int i = 0; i < kWarmUpRuns; ++i) {
    const TimePoint start = clock.Now();
    const auto io = session.Bind(shapes);
    Status status = io.status();
    if (io.ok()) {
      for (const TensorView& input : (*io)->inputs) {
        if (input.size_bytes() != 0) std::memset(input.data, 0, input.size_bytes());
      }
      status = session.Run();
    }
    if (status.code() == StatusCode::kInvalidArgument) {
      LogWarning("warm-up on zeros of the smallest shapes was refused, so the first request will be slower: {}",
                 status.message());
      return Duration(0);
    }
    TONDAR_RETURN_IF_ERROR(status.Annotated("warm-up"));
    run = clock.Now() - start;
  }
  return run / SmallestBatch(session.signature());
}

Result<std::unique_ptr<ModelVersion>> ModelLoader::Load(const std::string& name, const std::string& directory,
                                                        int64_t version, const ModelConfigSource& source) const {
  const TimePoint start = dependencies_.clock.Now();
  auto loaded = LoadOrRunOutOfMemory(name, directory, version, source);
  if (!loaded.ok()) return loaded.status().Annotated(fmt::format("model '{}' version {}", name, version));
  const Duration took = dependencies_.clock.Now() - start;
  (*loaded)->metrics().SetLoadDuration(took);
  LogInfo("model '{}' version {}: loaded in {} ms", name, version,
          std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  return loaded;
}

// A model that is too large, or claims to be, must not end the server that serves others.
Result<std::unique_ptr<ModelVersion>> ModelLoader::LoadOrRunOutOfMemory(const std::string& name,
                                                                        const std::string& directory, int64_t version,
                                                                        const ModelConfigSource& source) const {
  try {
    return LoadVersion(name, directory, version, source);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory to load it; free some, or serve fewer models or instances");
  }
}

Result<std::unique_ptr<ModelVersion>> ModelLoader::LoadVersion(const std::string& name, const std::string& directory,
                                                               int64_t version, const ModelConfigSource& source) const {
  const std::string version_text = std::to_string(version);
  TONDAR_ASSIGN_OR_RETURN(const std::string path, FindModelFile(fs::path(directory) / version_text, source));
  TONDAR_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model,
                          dependencies_.engine.Load(path, {.accelerator = options_.accelerator, .progress = {}}));
  TONDAR_ASSIGN_OR_RETURN(ModelConfig config, ResolveModelConfig(source, name, model->platform(), model->signature(),
                                                                 options_.defaults));
  for (const std::string& warning : config.warnings) LogWarning("model '{}' version {}: {}", name, version, warning);

  Duration run{0};
  TONDAR_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Session>> sessions,
                          MakeWarmSessions(*model, {.threads = options_.threads}, config.instance_count,
                                           dependencies_.clock, run));
  auto metrics = std::make_unique<VersionMetrics>(
      dependencies_.registry, name, version_text,
      std::initializer_list<std::string_view>{Name(Protocol::kInProcess), Name(Protocol::kHttp), Name(Protocol::kGrpc)},
      static_cast<size_t>(config.max_batch_size));
  metrics->AddMemory(static_cast<int64_t>(model->weight_bytes()));  // instances add their activations themselves

  const bool on_cpu = options_.accelerator == "cpu";
  SchedulerOptions scheduling = MakeSchedulerOptions(config, version_text, on_cpu, run);
  std::vector<std::unique_ptr<Instance>> instances;
  for (auto& session : sessions) {
    instances.push_back(std::make_unique<Instance>(std::move(session), scheduling.batched, scheduling.where,
                                                   dependencies_.clock, *metrics));
  }
  auto scheduler = std::make_unique<BatchScheduler>(
      std::move(scheduling), SchedulerDependencies{dependencies_.clock, dependencies_.timer, *metrics},
      std::move(instances), dependencies_.make_executor);
  return std::make_unique<ModelVersion>(version, std::move(config), std::move(model), std::move(metrics),
                                        std::move(scheduler));
}

}  // namespace tondar
