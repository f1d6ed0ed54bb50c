// ModelLoader: makes a ModelVersion out of files.
#ifndef TONDAR_SERVER_REPOSITORY_MODEL_LOADER_H_
#define TONDAR_SERVER_REPOSITORY_MODEL_LOADER_H_

#include <memory>
#include <string>

#include "engine/api/engine.h"
#include "server/config/model_config.h"
#include "server/repository/model_version.h"

namespace tondar {

struct ModelLoaderOptions {
  std::string accelerator = "cpu";
  int threads = 1;  // of one inference; 0 = one per core
  ModelConfigDefaults defaults;
};

// What the loader gives to what it makes; all of it outlives the versions made.
struct ModelLoaderDependencies {
  Engine& engine;
  const Clock& clock;
  WakeupTimer& timer;
  MetricRegistry& registry;
  MakeExecutor make_executor;  // one per instance
};

// Thread-safe.
class ModelLoader {
 public:
  ModelLoader(ModelLoaderOptions options, ModelLoaderDependencies dependencies)
      : options_(std::move(options)), dependencies_(std::move(dependencies)) {}

  // Loads DIRECTORY/<version>/<model file>, makes its instances and runs each until it is warm, so that the first
  // request is as fast as the next. Blocks for as long as that takes. Codes: what Engine::Load, CreateSession and
  // ResolveModelConfig return; NotFound: no model file; ResourceExhausted: no memory. The message names model and
  // version.
  Result<std::unique_ptr<ModelVersion>> Load(const std::string& name, const std::string& directory, int64_t version,
                                             const ModelConfigSource& source) const;

 private:
  Result<std::unique_ptr<ModelVersion>> LoadOrRunOutOfMemory(const std::string& name, const std::string& directory,
                                                             int64_t version, const ModelConfigSource& source) const;
  Result<std::unique_ptr<ModelVersion>> LoadVersion(const std::string& name, const std::string& directory,
                                                    int64_t version, const ModelConfigSource& source) const;

  const ModelLoaderOptions options_;
  const ModelLoaderDependencies dependencies_;
};

// Runs `session` on zeros of the smallest shapes the signature allows (extents of at least 1) until captures are made.
// Returns how long a run takes per row. A model that refuses zeros (InvalidArgument) is taken as warm: result 0.
Result<Duration> WarmUp(Session& session, const Clock& clock);

}  // namespace tondar

#endif  // TONDAR_SERVER_REPOSITORY_MODEL_LOADER_H_
