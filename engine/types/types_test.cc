#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/types/dtype.h"
#include "engine/types/shape.h"
#include "engine/types/tensor_view.h"

namespace tondar {
namespace {

TEST(DTypeTest, WireNamesRoundTrip) {
  EXPECT_EQ(DTypeFromWire("FP32"), DType::kFloat32);
  EXPECT_EQ(DTypeFromWire(""), std::nullopt);
  EXPECT_EQ(DTypeFromWire("FP99"), std::nullopt);
  for (int i = 1; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    EXPECT_EQ(DTypeFromName(Name(dtype)), dtype);
    if (WireName(dtype).empty()) continue;
    EXPECT_EQ(DTypeFromWire(WireName(dtype)), dtype);
  }
}

TEST(DTypeTest, PromotionFollowsPyTorch) {
  EXPECT_EQ(PromoteDTypes(DType::kInt64, DType::kFloat16), DType::kFloat16);
  EXPECT_EQ(PromoteDTypes(DType::kUInt8, DType::kInt8), DType::kInt16);
  EXPECT_EQ(PromoteDTypes(DType::kUInt8, DType::kInt64), DType::kInt64);
  EXPECT_EQ(PromoteDTypes(DType::kFloat16, DType::kBFloat16), DType::kFloat32);
  EXPECT_EQ(PromoteDTypes(DType::kBool, DType::kInt8), DType::kInt8);
  EXPECT_EQ(PromoteDTypes(DType::kFloat64, DType::kComplex64), DType::kComplex128);
}

TEST(DTypeTest, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float value = Float16ToFloat(half), brain = BFloat16ToFloat(half);
    EXPECT_TRUE(std::isnan(value) || FloatToFloat16(value) == half) << bits;
    EXPECT_TRUE(std::isnan(brain) || FloatToBFloat16(brain) == half) << bits;
  }
  EXPECT_EQ(FloatToFloat16(65519.9f), 0x7bff);
  EXPECT_EQ(FloatToFloat16(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToFloat16(1.0f + 1.0f / 2048), 0x3c00) << "ties go to even";
  EXPECT_TRUE(std::isnan(Float16ToFloat(FloatToFloat16(NAN))));
}

TEST(ShapeTest, CheckedElementCountRefusesOverflow) {
  EXPECT_EQ(CheckedElementCount(Dims{3, 4}.span()), 12);
  EXPECT_EQ(CheckedElementCount(Dims{}.span()), 1);
  EXPECT_EQ(CheckedElementCount(Dims{1 << 30, 1 << 30, 1 << 30}.span()), std::nullopt);
  EXPECT_EQ(CheckedElementCount(Dims{-1}.span()), std::nullopt);
}

TEST(ShapeTest, BroadcastAssumesWhatItCannotProve) {
  const Dim s = Dim::Symbol(0), t = Dim::Symbol(1);
  std::vector<std::pair<Dim, Dim>> assumed;
  const Result<Shape> shape = BroadcastShapes({s, 4}, {t, 1}, &assumed);
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(*shape, (Shape{s, 4}));
  EXPECT_EQ(assumed.size(), 1u);
  EXPECT_EQ(*BroadcastShapes({1, 4}, {s, 1, 1}), (Shape{s, 1, 4}));
  EXPECT_EQ(BroadcastShapes({3}, {4}).status().code(), StatusCode::kInvalidArgument);
}

TEST(ShapeTest, ContiguityIgnoresExtentsOfOne) {
  EXPECT_TRUE(IsContiguous({2, 1, 3}, {3, 77, 1}));
  EXPECT_FALSE(IsContiguous({2, 3}, {4, 1}));
  EXPECT_TRUE(IsContiguous({0, 3}, {9, 9}));
}

TEST(TensorViewTest, CopiesTransposedElements) {
  float from[6] = {0, 1, 2, 3, 4, 5}, to[6];
  TensorView source = TensorView::Contiguous(from, DType::kFloat32, {3, 2});
  source.strides = {1, 3};
  CopyElements(source, TensorView::Contiguous(to, DType::kFloat32, {3, 2}));
  const float expected[6] = {0, 3, 1, 4, 2, 5};
  EXPECT_EQ(std::memcmp(to, expected, sizeof to), 0);
}

}  // namespace
}  // namespace tondar
