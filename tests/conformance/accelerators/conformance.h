// The conformance suite of accelerator backends: compiled once, linked to one backend's factory per program.
#ifndef TONDAR_TESTS_CONFORMANCE_ACCELERATORS_CONFORMANCE_H_
#define TONDAR_TESTS_CONFORMANCE_ACCELERATORS_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/accelerators/accelerator.h"
#include "engine/plan/step.h"

namespace tondar::conformance {

// A test that the backend does not pass, and why. `test` is "Suite.Name", or a prefix followed by *.
struct Unsupported {
  const char* test;
  const char* reason;
};

struct Backend {
  const char* name;
  void (*register_backend)(AcceleratorRegistry& registry);
  std::vector<Unsupported> unsupported;
};

// Defined by each backend's factory file.
const Backend& TestedBackend();

// Opens device 0 of the backend. A test on the backend's unsupported list is skipped, or expected to fail in verify mode.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override;

  Accelerator& accelerator() { return *accelerator_; }
  Device& device() { return *device_; }

  std::unique_ptr<Stream> MakeStream(int threads = 1);
  std::unique_ptr<Event> MakeEvent();
  std::unique_ptr<CapturedGraph> MakeGraph();

  // A device tensor with values; read back with ReadFloats.
  struct DeviceArray {
    std::unique_ptr<Buffer> buffer;
    TensorView view;
  };
  DeviceArray MakeArray(Stream& stream, const Dims& shape, const std::vector<float>& values);
  DeviceArray MakeArray(Stream& stream, const Dims& shape, const std::vector<int64_t>& values);
  std::vector<float> ReadFloats(Stream& stream, const DeviceArray& array);

  // Supports, prepares; fails the test if either refuses.
  std::unique_ptr<Kernel> Prepare(const Step& step);

 private:
  std::unique_ptr<Accelerator> accelerator_;
  Device* device_ = nullptr;
};

// y = x + y' over `extents` (operands broadcast by the NumPy rule).
Step AddStep(const Shape& extents, const Shape& left, const Shape& right);
// y[i] = x[i] + 1 over [n].
Step IncrementStep(const Dim& n);
// y[i, j] = table[ids[i], j].
Step LookupStep(const Dim& rows, const Dim& width, const Dim& ids);

}  // namespace tondar::conformance

#endif  // TONDAR_TESTS_CONFORMANCE_ACCELERATORS_CONFORMANCE_H_
