#include "tests/conformance/protocols/driver.h"

namespace tondar::conformance {

std::vector<DriverKind> TestedDrivers() { return {{"in_process", &ConnectInProcess}}; }

}  // namespace tondar::conformance
