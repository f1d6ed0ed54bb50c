#include "engine/base/status.h"

#include <gtest/gtest.h>

namespace tondar {
namespace {

TEST(StatusTest, CarriesCodeAndMessage) {
  const Status status = InvalidArgument("'{}' is {}", "x", 7);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "'x' is 7");
  EXPECT_EQ(status.ToString(), "INVALID_ARGUMENT: 'x' is 7");
  EXPECT_EQ(status.Annotated("here").ToString(), "INVALID_ARGUMENT: here: 'x' is 7");
  const Status copy = status;
  EXPECT_EQ(copy.message(), status.message());
}

TEST(StatusTest, OkHasNoMessageAndStaysOk) {
  EXPECT_TRUE(OkStatus().ok());
  EXPECT_EQ(OkStatus().ToString(), "OK");
  EXPECT_TRUE(OkStatus().Annotated("anywhere").ok());
  EXPECT_TRUE(Status(StatusCode::kOk, "unused").ok());
}

TEST(StatusTest, EveryCodeHasAName) {
  EXPECT_EQ(StatusCodeName(StatusCode::kOk), "OK");
  EXPECT_EQ(StatusCodeName(StatusCode::kResourceExhausted), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(StatusCodeName(StatusCode::kUnauthenticated), "UNAUTHENTICATED");
}

Result<int> Half(int value) {
  if (value % 2 != 0) return OutOfRange("{} is odd", value);
  return value / 2;
}

Result<int> Quarter(int value) {
  TONDAR_ASSIGN_OR_RETURN(const int half, Half(value));
  TONDAR_RETURN_IF_ERROR(Half(half).status());
  return Half(half);
}

TEST(ResultTest, HasAValueOrSaysWhyNot) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(3).status().message(), "3 is odd");
  EXPECT_EQ(Quarter(6).status().message(), "3 is odd");
}

TEST(ResultDeathTest, AValueThatIsNotThereEndsTheProcess) { EXPECT_DEATH(*Half(3), "3 is odd"); }

}  // namespace
}  // namespace tondar
