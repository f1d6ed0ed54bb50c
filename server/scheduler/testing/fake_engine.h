// A fake engine: models whose Session does arithmetic that tests can check, and that fails when told to.
#ifndef TONDAR_SERVER_SCHEDULER_TESTING_FAKE_ENGINE_H_
#define TONDAR_SERVER_SCHEDULER_TESTING_FAKE_ENGINE_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/api/engine.h"
#include "engine/base/mutex.h"

namespace tondar::testing {

// What happens when sessions of a fake model run; shared by all its sessions. Thread-safe members only.
struct FakeBehaviour {
  // Called with each bound batch before it is computed; an error fails the run. May be null; set before use.
  std::function<Status(const Binding&)> on_run;
  std::atomic<int> runs{0};
  std::atomic<int> live_sessions{0};
  std::atomic<bool> overlapping{false};  // a session was run by two threads at once: a bug of the scheduler

  // The batches that ran, each as its input values in order; recorded only if `record`.
  bool record = false;
  Mutex mu;
  std::vector<std::vector<float>> batches TONDAR_GUARDED_BY(mu);
};

// "y = x + offset" over float32 [batch, n...]; the input is called "x", the output "y".
Signature AddSignature(int64_t max_batch = 64, Shape rest = {Dim(1)});

class FakeSession final : public Session {
 public:
  FakeSession(const Signature& signature, float offset, std::shared_ptr<FakeBehaviour> behaviour);
  ~FakeSession() override;
  const Signature& signature() const override { return signature_; }
  Result<const Binding*> Bind(std::span<const Dims> input_shapes) override;
  Status Run() override;
  Status RunProfiled(std::vector<StepTime>&) override { return Run(); }
  Status ResetState() override { return OkStatus(); }
  Status CopyStateOut(size_t, std::span<std::byte>) override { return InvalidArgument("no state"); }
  Status CopyStateIn(size_t, std::span<const std::byte>) override { return InvalidArgument("no state"); }
  MemoryReport memory() const override {
    return {.weight_bytes = 600, .packed_bytes = 400, .arena_bytes = buffers_.size() * sizeof(float)};
  }
  SessionCounters counters() const override { return counters_; }

 private:
  const Signature signature_;
  const float offset_;
  const std::shared_ptr<FakeBehaviour> behaviour_;
  std::vector<float> buffers_;
  Binding binding_;
  SessionCounters counters_;
  std::atomic<int> running_{0};
};

class FakeModel final : public Model {
 public:
  FakeModel(Signature signature, float offset, std::shared_ptr<FakeBehaviour> behaviour)
      : signature_(std::move(signature)), offset_(offset), behaviour_(std::move(behaviour)) {}
  const Signature& signature() const override { return signature_; }
  std::string_view platform() const override { return "pt2"; }
  std::string_view producer() const override { return "fake"; }
  size_t weight_bytes() const override { return 1000; }  // 600 of the file, 400 packed
  Result<std::unique_ptr<Session>> CreateSession(const SessionOptions&) const override {
    return std::unique_ptr<Session>(std::make_unique<FakeSession>(signature_, offset_, behaviour_));
  }
  std::string DescribePlan() const override { return ""; }
  std::string DescribeGraph() const override { return ""; }
  std::vector<std::pair<std::string, int>> source_operators() const override { return {}; }

 private:
  const Signature signature_;
  const float offset_;
  const std::shared_ptr<FakeBehaviour> behaviour_;
};

// Loads any file that holds a number: the model's offset. A file that holds something else is broken. Thread-safe.
class FakeEngine final : public Engine {
 public:
  Result<ModelDescription> Describe(const std::string&) override { return Unimplemented("a fake describes nothing"); }
  Status CheckAccelerator(const std::string&) override { return OkStatus(); }
  FakeEngine() : behaviour_(std::make_shared<FakeBehaviour>()) {}
  Result<std::shared_ptr<const Model>> Load(const std::string& path, const LoadOptions& options) override;
  std::string_view cpu_isa() const override { return "fake"; }

  FakeBehaviour& behaviour() { return *behaviour_; }
  int loads() const { return loads_; }
  // The n-th load from here on (1 = the next) fails with `status`.
  void FailLoad(int nth, Status status);
  // Called at the start of each load; may block. Set before use.
  std::function<void(const std::string& path)> on_load;

 private:
  const std::shared_ptr<FakeBehaviour> behaviour_;
  std::atomic<int> loads_{0};
  Mutex mu_;
  std::map<int, Status> failures_ TONDAR_GUARDED_BY(mu_);  // by number of the load
};

}  // namespace tondar::testing

#endif  // TONDAR_SERVER_SCHEDULER_TESTING_FAKE_ENGINE_H_
