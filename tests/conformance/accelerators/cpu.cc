// The CPU backend in the conformance suite: everything is supported.
#include "tests/conformance/accelerators/conformance.h"

namespace tondar {

void RegisterCpuBackend(AcceleratorRegistry& registry);

namespace conformance {

const Backend& TestedBackend() {
  static const Backend backend = {.name = "cpu", .register_backend = RegisterCpuBackend, .unsupported = {}};
  return backend;
}

}  // namespace conformance
}  // namespace tondar
