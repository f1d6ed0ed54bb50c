// The null backend in the conformance suite: opening works, the rest answers Unimplemented.
#include "tests/conformance/accelerators/conformance.h"

namespace tondar {

void RegisterNullBackend(AcceleratorRegistry& registry);

namespace conformance {

const Backend& TestedBackend() {
  constexpr const char* kMemory = "a skeleton has no memory";
  constexpr const char* kQueue = "a skeleton takes no work";
  constexpr const char* kGraphs = "a skeleton captures nothing";
  static const Backend backend = {.name = "null",
                                  .register_backend = RegisterNullBackend,
                                  .unsupported = {{"Memory.*", kMemory},
                                                  {"Copy.*", kMemory},
                                                  {"Fill.*", kMemory},
                                                  {"Streams.*", kQueue},
                                                  {"Events.*", kQueue},
                                                  {"Steps.Map*", kQueue},
                                                  {"Steps.Reduce*", kQueue},
                                                  {"Steps.Scan*", kQueue},
                                                  {"Graphs.*", kGraphs}}};
  return backend;
}

}  // namespace conformance
}  // namespace tondar
