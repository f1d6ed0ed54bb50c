#include "server/repository/testing/repository_bench.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tondar::testing {

namespace fs = std::filesystem;

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (fs::temp_directory_path() / "tondar_test_XXXXXX").string();
  path_ = mkdtemp(pattern.data());
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  fs::remove_all(path_, error);
}

void TemporaryDirectory::Write(const std::string& file, const std::string& text) const {
  const fs::path path = fs::path(path_) / file;
  fs::create_directories(path.parent_path());
  const fs::path draft = path.parent_path() / ("." + path.filename().string());
  std::ofstream(draft) << text;
  fs::rename(draft, path);
}

void TemporaryDirectory::Remove(const std::string& file_or_directory) const {
  fs::remove_all(fs::path(path_) / file_or_directory);
}

RepositoryBench::RepositoryBench(ModelControlMode mode, std::vector<std::string> load_at_start) {
  loader = std::make_unique<ModelLoader>(
      ModelLoaderOptions{},
      ModelLoaderDependencies{engine, clock, timer, registry,
                              [this](int) { return std::make_unique<BorrowedExecutor>(instance_executor); }});
  repository = std::make_unique<ModelRepository>(
      RepositoryOptions{{directory.path(), second_directory.path()}, mode, std::move(load_at_start)},
      RepositoryDependencies{*loader, load_executor, reaper, registry});
  second_directory.Write("placeholder", "");  // an empty repository is a silent one
}

RepositoryBench::~RepositoryBench() {
  RunAll();
  repository->Shutdown();
  RunAll();
  repository.reset();
}

void RepositoryBench::PutModel(const std::string& name, int version, int offset) {
  directory.Write(name + "/" + std::to_string(version) + "/model.pt2", std::to_string(offset));
}

void RepositoryBench::RunAll() {
  while (load_executor.RunAll() + instance_executor.RunAll() + reaper.RunAll() > 0) {
  }
}

std::vector<LoadFailure> RepositoryBench::Start() {
  std::optional<std::vector<LoadFailure>> result;
  repository->LoadInitial([&](std::vector<LoadFailure> failures) { result = std::move(failures); });
  RunAll();
  TONDAR_CHECK(result.has_value(), "the initial load has not ended");
  return *std::move(result);
}

void RepositoryBench::PollTwice() {
  for (int i = 0; i < 2; ++i) {
    repository->Poll();
    RunAll();
  }
}

Status RepositoryBench::Load(const std::string& name, std::optional<ConfigOverride> config) {
  std::optional<Status> result;
  repository->Load(name, std::move(config), [&](Status status) { result = std::move(status); });
  RunAll();
  TONDAR_CHECK(result.has_value(), "the load has not ended");
  return *std::move(result);
}

Status RepositoryBench::Unload(const std::string& name) {
  std::optional<Status> result;
  repository->Unload(name, [&](Status status) { result = std::move(status); });
  RunAll();
  TONDAR_CHECK(result.has_value(), "the unload has not ended");
  return *std::move(result);
}

std::string RepositoryBench::States(const std::string& name) const {
  std::string states;
  for (const IndexEntry& entry : repository->Index()) {
    if (entry.model != name) continue;
    states += fmt::format("{}{} {}", states.empty() ? "" : ", ", entry.version, Name(entry.state));
  }
  return states;
}

std::string RepositoryBench::Reason(const std::string& name, const std::string& version) const {
  for (const IndexEntry& entry : repository->Index()) {
    if (entry.model == name && entry.version == version) return entry.reason;
  }
  return "no such entry";
}

std::unique_ptr<Request> MakeAddRequest(const std::string& model, float value) {
  auto request = std::make_unique<Request>();
  auto storage = std::make_shared<float>(value);
  request->model_name = model;
  request->inputs.push_back({"x", DType::kFloat32, Dims{1, 1}, std::as_bytes(std::span(storage.get(), 1)), {}});
  request->storage = storage;
  return request;
}

float RepositoryBench::Ask(const std::string& name, const std::string& version) {
  Result<ModelHandle> handle = repository->Find(name, version);
  if (!handle.ok()) return -1;
  float answer = -1;
  auto request = MakeAddRequest(name, 0);
  request->on_complete = [&](std::unique_ptr<Request>, Response response) {
    if (response.status.ok()) std::memcpy(&answer, response.outputs[0].bytes.data(), sizeof(answer));
  };
  (*handle)->scheduler().Submit(std::move(request), *handle);
  instance_executor.RunAll();
  return answer;
}

}  // namespace tondar::testing
