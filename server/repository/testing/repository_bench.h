// A bench for repository tests: a repository in a temporary directory over a fake engine, every thread manual.
#ifndef TONDAR_SERVER_REPOSITORY_TESTING_REPOSITORY_BENCH_H_
#define TONDAR_SERVER_REPOSITORY_TESTING_REPOSITORY_BENCH_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/base/executor.h"
#include "server/repository/model_repository.h"
#include "server/scheduler/testing/fake_engine.h"
#include "server/scheduler/testing/scheduler_bench.h"

namespace tondar::testing {

// A directory that goes with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }
  // Makes the directories on the way. Replaces by rename, so nobody sees half a file.
  void Write(const std::string& file, const std::string& text) const;
  void Remove(const std::string& file_or_directory) const;

 private:
  std::string path_;
};

// One repository over two directories; models go to the first.
class RepositoryBench {
 public:
  explicit RepositoryBench(ModelControlMode mode, std::vector<std::string> load_at_start = {});
  ~RepositoryBench();

  void PutModel(const std::string& name, int version, int offset);
  void PutBroken(const std::string& name, int version) {
    directory.Write(name + "/" + std::to_string(version) + "/model.pt2", "nonsense");
  }
  // Loads what is wanted at start, to the end; returns what failed.
  std::vector<LoadFailure> Start();
  void RunAll();
  // As often as it takes for settled files to be loaded: two looks.
  void PollTwice();
  Status Load(const std::string& name, std::optional<ConfigOverride> config = std::nullopt);
  Status Unload(const std::string& name);
  // "1 READY, 2 UNAVAILABLE"
  std::string States(const std::string& name) const;
  std::string Reason(const std::string& name, const std::string& version) const;
  // What the model that answers adds to zero; -1 if none answers.
  float Ask(const std::string& name, const std::string& version = "");

  TemporaryDirectory directory, second_directory;
  FakeClock clock;
  ManualTimer timer;
  ManualExecutor instance_executor, load_executor, reaper;
  MetricRegistry registry;
  FakeEngine engine;
  std::unique_ptr<ModelLoader> loader;
  std::unique_ptr<ModelRepository> repository;
};

// A request "x" = `value` for a fake model.
std::unique_ptr<Request> MakeAddRequest(const std::string& model, float value);

}  // namespace tondar::testing

#endif  // TONDAR_SERVER_REPOSITORY_TESTING_REPOSITORY_BENCH_H_
