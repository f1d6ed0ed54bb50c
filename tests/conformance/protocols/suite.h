// A server with the models of the suite, and two connections to it: the tested one and the reference.
#ifndef TONDAR_TESTS_CONFORMANCE_PROTOCOLS_SUITE_H_
#define TONDAR_TESTS_CONFORMANCE_PROTOCOLS_SUITE_H_

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/conformance/protocols/driver.h"

namespace tondar::conformance {

// One server per suite, in explicit mode, with identity_fp32, digits_cnn, multi_io and bert_thin loaded; "broken" does
// not load and "spare" is there to be loaded.
class ProtocolTest : public testing::TestWithParam<DriverKind> {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

  void SetUp() override;

  Driver& driver() { return *driver_; }
  Driver& reference() { return *reference_; }

 private:
  static std::filesystem::path root_;
  static std::unique_ptr<Server> server_;

  std::unique_ptr<Driver> driver_, reference_;
};

// Fails unless both are the same error, as far as HTTP's status tells errors apart, in the same words.
void ExpectSameError(const Status& found, const Status& expected);

std::ostream& operator<<(std::ostream& out, const DriverKind& kind);
std::string NameOf(const testing::TestParamInfo<DriverKind>& info);

}  // namespace tondar::conformance

#endif  // TONDAR_TESTS_CONFORMANCE_PROTOCOLS_SUITE_H_
