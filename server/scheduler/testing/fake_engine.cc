#include "server/scheduler/testing/fake_engine.h"

#include <fstream>

namespace tondar::testing {

Signature AddSignature(int64_t max_batch, Shape rest) {
  Signature signature;
  signature.symbols.push_back({"batch", 1, max_batch});
  for (size_t i = 0; i < rest.size(); ++i) {
    if (const auto id = rest[i].AsSymbol()) {
      while (signature.symbols.size() <= static_cast<size_t>(*id)) {
        signature.symbols.push_back({"s" + std::to_string(signature.symbols.size()), 0, 1 << 20});
      }
    }
  }
  Shape shape{Dim::Symbol(0)};
  shape.insert(shape.end(), rest.begin(), rest.end());
  signature.inputs.push_back({"x", DType::kFloat32, shape});
  signature.outputs.push_back({"y", DType::kFloat32, shape});
  DeriveBatching(signature);
  return signature;
}

FakeSession::FakeSession(const Signature& signature, float offset, std::shared_ptr<FakeBehaviour> behaviour)
    : signature_(signature), offset_(offset), behaviour_(std::move(behaviour)) {
  behaviour_->live_sessions.fetch_add(1);
}

FakeSession::~FakeSession() { behaviour_->live_sessions.fetch_sub(1); }

Result<const Binding*> FakeSession::Bind(std::span<const Dims> input_shapes) {
  TONDAR_RETURN_IF_ERROR(SolveSymbols(signature_, input_shapes).status());
  const size_t elements = static_cast<size_t>(ElementCount(input_shapes[0]));
  buffers_.resize(2 * elements);
  binding_.inputs = {TensorView::Contiguous(buffers_.data(), DType::kFloat32, input_shapes[0])};
  binding_.outputs = {TensorView::Contiguous(buffers_.data() + elements, DType::kFloat32, input_shapes[0])};
  return &binding_;
}

Status FakeSession::Run() {
  if (running_.fetch_add(1) != 0) behaviour_->overlapping = true;
  Status status = behaviour_->on_run ? behaviour_->on_run(binding_) : OkStatus();
  behaviour_->runs.fetch_add(1);
  ++counters_.eager_runs;
  const size_t elements = buffers_.size() / 2;
  if (behaviour_->record) {
    MutexLock lock(behaviour_->mu);
    behaviour_->batches.emplace_back(buffers_.begin(), buffers_.begin() + static_cast<std::ptrdiff_t>(elements));
  }
  for (size_t i = 0; i < elements; ++i) buffers_[elements + i] = buffers_[i] + offset_;
  running_.fetch_sub(1);
  return status;
}

Result<std::shared_ptr<const Model>> FakeEngine::Load(const std::string& path, const LoadOptions&) {
  const int number = ++loads_;
  if (on_load) on_load(path);
  {
    MutexLock lock(mu_);
    if (auto failure = failures_.find(number); failure != failures_.end()) return failure->second;
  }
  std::ifstream file(path);
  if (!file) return NotFound("{}: no such file", path);
  float offset = 0;
  if (!(file >> offset)) return InvalidArgument("{}: not a model", path);
  return std::shared_ptr<const Model>(std::make_shared<FakeModel>(AddSignature(), offset, behaviour_));
}

void FakeEngine::FailLoad(int nth, Status status) {
  MutexLock lock(mu_);
  failures_.insert_or_assign(loads_ + nth, std::move(status));
}

}  // namespace tondar::testing
