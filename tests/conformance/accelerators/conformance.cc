#include "tests/conformance/accelerators/conformance.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "engine/plan/loop_builder.h"

namespace tondar::conformance {
namespace {

bool verify = false;

const Unsupported* FindUnsupported(const std::string& suite, const std::string& name) {
  for (const Unsupported& entry : TestedBackend().unsupported) {
    std::string_view pattern = entry.test;
    const std::string test = suite + "." + name;
    if (pattern == test) return &entry;
    if (!pattern.ends_with('*')) continue;
    pattern.remove_suffix(1);
    if (test.starts_with(pattern)) return &entry;
  }
  return nullptr;
}

Operand ContiguousOperand(DType dtype, const Shape& shape) {
  return {.slot = 0, .dtype = dtype, .shape = shape, .strides = ContiguousStrides(shape), .offset = Dim(0)};
}

// Counts results; in verify mode decides the exit code by whether each test did what the list says.
class Counter : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo& test) override {
    const bool listed = FindUnsupported(test.test_suite_name(), test.name()) != nullptr;
    const bool passed = test.result()->Passed();
    if (test.result()->Skipped()) {
      ++(listed ? unsupported_ : skipped_);
    } else if (verify && listed) {
      ++unsupported_;
      if (passed) unexpected_.push_back(std::string(test.test_suite_name()) + "." + test.name() + " passes but is listed as unsupported");
    } else {
      ++(passed ? passed_ : failed_);
      if (!passed) unexpected_.push_back(std::string(test.test_suite_name()) + "." + test.name() + " fails");
    }
  }
  int Report() const {
    std::printf("conformance of %s: %d passed, %d failed, %d unsupported, %d skipped\n", TestedBackend().name, passed_, failed_,
                unsupported_, skipped_);
    for (const std::string& line : unexpected_) std::printf("  %s\n", line.c_str());
    return unexpected_.empty() ? 0 : 1;
  }

 private:
  int passed_ = 0, failed_ = 0, unsupported_ = 0, skipped_ = 0;
  std::vector<std::string> unexpected_;
};

}  // namespace

void DeviceTest::SetUp() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const Unsupported* entry = FindUnsupported(test.test_suite_name(), test.name());
  if (entry != nullptr && !verify) GTEST_SKIP() << "unsupported: " << entry->reason;
  AcceleratorRegistry registry;
  TestedBackend().register_backend(registry);
  const AcceleratorRegistry::Entry* backend = registry.Find(TestedBackend().name);
  ASSERT_NE(backend, nullptr);
  Result<std::unique_ptr<Accelerator>> accelerator = backend->factory({});
  if (!accelerator.ok() && accelerator.status().code() == StatusCode::kUnavailable) GTEST_SKIP() << accelerator.status().ToString();
  ASSERT_TRUE(accelerator.ok()) << accelerator.status().ToString();
  accelerator_ = std::move(accelerator).value();
  Result<Device*> device = accelerator_->OpenDevice(0);
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  device_ = *device;
}

// The tests use what these return at once, so a refusal must end the test: gtest turns exceptions into failures.
template <typename T>
T ValueOrThrow(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return std::move(result).value();
}

std::unique_ptr<Stream> DeviceTest::MakeStream(int threads) { return ValueOrThrow(device().CreateStream({.threads = threads})); }
std::unique_ptr<Event> DeviceTest::MakeEvent() { return ValueOrThrow(device().CreateEvent()); }
std::unique_ptr<CapturedGraph> DeviceTest::MakeGraph() { return ValueOrThrow(device().CreateGraph()); }

namespace {

template <typename T>
std::span<const std::byte> BytesOf(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

}  // namespace

DeviceTest::DeviceArray DeviceTest::MakeArray(Stream& stream, const Dims& shape, const std::vector<float>& values) {
  DeviceArray array{ValueOrThrow(device().Allocate(values.size() * 4)), {}};
  array.view = TensorView::Contiguous(array.buffer->address(), DType::kFloat32, shape);
  EXPECT_TRUE(stream.CopyIn(array.buffer->address(), BytesOf(values)).ok());
  EXPECT_TRUE(stream.Synchronize().ok());
  return array;
}

DeviceTest::DeviceArray DeviceTest::MakeArray(Stream& stream, const Dims& shape, const std::vector<int64_t>& values) {
  DeviceArray array{ValueOrThrow(device().Allocate(values.size() * 8)), {}};
  array.view = TensorView::Contiguous(array.buffer->address(), DType::kInt64, shape);
  EXPECT_TRUE(stream.CopyIn(array.buffer->address(), BytesOf(values)).ok());
  EXPECT_TRUE(stream.Synchronize().ok());
  return array;
}

std::vector<float> DeviceTest::ReadFloats(Stream& stream, const DeviceArray& array) {
  std::vector<float> values(array.buffer->size_bytes() / 4);
  EXPECT_TRUE(stream.CopyOut(std::as_writable_bytes(std::span<float>(values)), array.buffer->address()).ok());
  EXPECT_TRUE(stream.Synchronize().ok());
  return values;
}

std::unique_ptr<Kernel> DeviceTest::Prepare(const Step& step) {
  const Status supported = device().Supports(step);
  EXPECT_TRUE(supported.ok()) << supported.ToString();
  const std::vector<const Constant*> constants(step.inputs.size(), nullptr);
  return ValueOrThrow(device().PrepareKernel(step, constants));
}

Step AddStep(const Shape& extents, const Shape& left, const Shape& right) {
  const int rank = static_cast<int>(extents.size());
  LoopBuilder b;
  b.Result(b.Binary(LoopOp::kAdd, b.Load(BroadcastAccess(0, left, rank), DType::kFloat32),
                    b.Load(BroadcastAccess(1, right, rank), DType::kFloat32)));
  return {"add_0", MapStep{extents, std::move(b).Build()},
          {ContiguousOperand(DType::kFloat32, left), ContiguousOperand(DType::kFloat32, right)},
          {ContiguousOperand(DType::kFloat32, extents)}};
}

Step IncrementStep(const Dim& n) {
  LoopBuilder b;
  b.Result(b.Binary(LoopOp::kAdd, b.Load(BroadcastAccess(0, {n}, 1), DType::kFloat32), b.Constant(1, DType::kFloat32)));
  return {"increment_0", MapStep{{n}, std::move(b).Build()}, {ContiguousOperand(DType::kFloat32, {n})},
          {ContiguousOperand(DType::kFloat32, {n})}};
}

Step LookupStep(const Dim& rows, const Dim& width, const Dim& ids) {
  LoopBuilder b;
  const auto id = b.Load({.operand = 1, .index = {IndexExpression::LoopDim(0)}}, DType::kInt64);
  b.Result(b.Load({.operand = 0, .index = {IndexExpression::Dynamic(id), IndexExpression::LoopDim(1)}}, DType::kFloat32));
  return {"embedding_0", MapStep{{ids, width}, std::move(b).Build()},
          {ContiguousOperand(DType::kFloat32, {rows, width}), ContiguousOperand(DType::kInt64, {ids})},
          {ContiguousOperand(DType::kFloat32, {ids, width})}};
}

int Run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) verify |= std::strcmp(argv[i], "--verify") == 0;
  auto* counter = new Counter;  // owned by the listeners
  testing::UnitTest::GetInstance()->listeners().Append(counter);
  const int result = RUN_ALL_TESTS();
  const int verdict = counter->Report();
  return verify ? verdict : result;
}

}  // namespace tondar::conformance

int main(int argc, char** argv) { return tondar::conformance::Run(argc, argv); }
