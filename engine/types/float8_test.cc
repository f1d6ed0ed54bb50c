#include "engine/types/float8.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tondar {
namespace {

constexpr DType kAll[] = {DType::kFloat8E4M3FN, DType::kFloat8E5M2, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0};

TEST(Float8Test, EveryCodeComesBack) {
  for (DType dtype : kAll) {
    for (int code = 0; code < 256; ++code) {
      const float value = Float8ToFloat(dtype, static_cast<uint8_t>(code));
      const uint8_t back = FloatToFloat8(dtype, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(Float8ToFloat(dtype, back))) << Name(dtype) << " " << code;
      } else {
        EXPECT_EQ(back, code) << Name(dtype) << " " << value;
      }
    }
  }
}

// Between neighbours the nearer one is taken, half way the even code. E8M0's neighbours are powers of two.
TEST(Float8Test, RoundsToNearestEven) {
  for (DType dtype : kAll) {
    for (int code = 0; code + 1 < 256; ++code) {
      const float low = Float8ToFloat(dtype, static_cast<uint8_t>(code)), high = Float8ToFloat(dtype, static_cast<uint8_t>(code + 1));
      if (!std::isfinite(low) || !std::isfinite(high) || high < low || (dtype == DType::kFloat8E8M0 && code == 0)) continue;
      const float middle = low / 2 + high / 2;
      const int even = dtype == DType::kFloat8E8M0 ? code + 1 : code + code % 2;  // E8M0 breaks ties upwards
      EXPECT_EQ(FloatToFloat8(dtype, middle), even) << Name(dtype) << " between " << low << " and " << high;
      EXPECT_EQ(FloatToFloat8(dtype, std::nextafter(middle, low)), code) << Name(dtype) << " " << low;
      EXPECT_EQ(FloatToFloat8(dtype, std::nextafter(middle, high)), code + 1) << Name(dtype) << " " << high;
    }
  }
}

// What torch 2.15 answers.
TEST(Float8Test, OverflowsAsTorchDoes) {
  EXPECT_EQ(Float8ToFloat(DType::kFloat8E4M3FN, 0x7e), 448);
  EXPECT_EQ(FloatToFloat8(DType::kFloat8E4M3FN, 464), 0x7e);
  EXPECT_EQ(FloatToFloat8(DType::kFloat8E4M3FN, 1e9F), 0x7e);
  EXPECT_EQ(FloatToFloat8(DType::kFloat8E4M3FN, -INFINITY), 0xfe);
  EXPECT_EQ(FloatToFloat8(DType::kFloat8E4M3FN, NAN), 0x7f);
  EXPECT_EQ(FloatToFloat8(DType::kFloat8E5M2, 1e9F), 0x7c);
  EXPECT_EQ(FloatToFloat8(DType::kFloat8E5M2, -1e9F), 0xfc);
  EXPECT_EQ(FloatToFloat8(DType::kFloat8E4M3FNUZ, 1e9F), 0x80);
  EXPECT_EQ(FloatToFloat8(DType::kFloat8E5M2FNUZ, -0.0F), 0);
  EXPECT_EQ(FloatToFloat8(DType::kFloat8E8M0, NAN), 0xff);
}

}  // namespace
}  // namespace tondar
