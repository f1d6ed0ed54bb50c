// The CPU instruction set that a run of the tests is held to.
#ifndef TONDAR_TESTS_GOLDEN_TESTED_ISA_H_
#define TONDAR_TESTS_GOLDEN_TESTED_ISA_H_

#include <string>

namespace tondar {

// What --cpu-isa=LEVEL of the test program says; "auto" without it.
const std::string& TestedIsa();

}  // namespace tondar

#endif  // TONDAR_TESTS_GOLDEN_TESTED_ISA_H_
