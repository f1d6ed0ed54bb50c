#include "engine/ir/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tondar {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

const Dim kB = Dim::Symbol(0), kS = Dim::Symbol(1);

TEST(ReshapeStridesTest, SplitsAndMergesWhatLiesTogether) {
  const Shape bsd = {kB, kS, 32};
  const Shape contiguous = ContiguousStrides(bsd);
  EXPECT_THAT(ReshapeStrides(bsd, contiguous, {kB * kS, 32}), Optional(ElementsAre(Dim(32), Dim(1))));
  EXPECT_THAT(ReshapeStrides(bsd, contiguous, {kB, kS, 4, 8}),
              Optional(ElementsAre(kS * 32, Dim(32), Dim(8), Dim(1))));
  EXPECT_THAT(ReshapeStrides(bsd, contiguous, {kB, 1, kS * 32}), Optional(ElementsAre(kS * 32, kS * 32, Dim(1))));
  // A window of a wider row still splits, and its rows still merge.
  const Shape window = {kS * 96, Dim(96), Dim(1)};
  EXPECT_THAT(ReshapeStrides(bsd, window, {kB, kS, 4, 8}), Optional(ElementsAre(kS * 96, Dim(96), Dim(8), Dim(1))));
  EXPECT_THAT(ReshapeStrides(bsd, window, {kB * kS, 32}), Optional(ElementsAre(Dim(96), Dim(1))));
}

TEST(ReshapeStridesTest, RefusesWhatNeedsACopy) {
  // [B, H, S, D] in that order cannot be read as [B, S, H*D].
  EXPECT_EQ(ReshapeStrides({kB, kS, 4, 8}, {kS * 32, Dim(8), kS * 8, Dim(1)}, {kB, kS, 32}), std::nullopt);
  EXPECT_EQ(ReshapeStrides({4, 8}, {Dim(1), Dim(4)}, {32}), std::nullopt);
  EXPECT_EQ(ReshapeStrides({4, 8}, {Dim(0), Dim(1)}, {32}), std::nullopt);
}

TEST(GroupReshapeTest, FindsTheFinestGroups) {
  const auto Text = [](const Shape& from, const Shape& to) {
    std::string text;
    for (const ReshapeGroup& g : GroupReshape(from, to)) {
      text += fmt::format("{}+{}:{}+{} ", g.input, g.inputs, g.output, g.outputs);
    }
    return text;
  };
  EXPECT_EQ(Text({kB, kS, 32}, {kB * kS, 32}), "0+2:0+1 2+1:1+1 ");
  EXPECT_EQ(Text({kB, kS, 32}, {kB, kS, 4, 8}), "0+1:0+1 1+1:1+1 2+1:2+2 ");
  EXPECT_EQ(Text({kB, 1, 32}, {kB, 32, 1, 1}), "0+1:0+1 2+1:1+1 ");
  EXPECT_EQ(Text({6, 4}, {4, 6}), "0+2:0+2 ");
}

TEST(IndexThroughTest, FollowsViews) {
  using E = IndexExpression;
  std::vector<E> index = {E::LoopDim(0), E::LoopDim(1), E::LoopDim(2), E::LoopDim(3)};
  View permute;
  permute.kind = ViewKind::kPermute;
  permute.dims = {0, 2, 1, 3};
  ASSERT_TRUE(IndexThrough(permute, {kB, kS, 4, 8}, {kB, 4, kS, 8}, index));
  EXPECT_THAT(index, ElementsAre(E::LoopDim(0), E::LoopDim(2), E::LoopDim(1), E::LoopDim(3)));
  View reshape;
  reshape.kind = ViewKind::kReshape;
  ASSERT_TRUE(IndexThrough(reshape, {kB, kS, 32}, {kB, kS, 4, 8}, index));
  EXPECT_THAT(index, ElementsAre(E::LoopDim(0), E::LoopDim(2), E({{{1, 8}, {3, 1}}, 0, -1, false})));
  View slice;
  slice.kind = ViewKind::kSlice;
  slice.dim = 2;
  slice.start = 32;
  ASSERT_TRUE(IndexThrough(slice, {kB, kS, 96}, {kB, kS, 32}, index));
  EXPECT_EQ(index[2].offset, Dim(32));
  View expand;
  expand.kind = ViewKind::kExpand;
  ASSERT_TRUE(IndexThrough(expand, {kS, 1}, {kB, kS, 96}, index));
  EXPECT_THAT(index, ElementsAre(E::LoopDim(2), E::At(0)));
}

TEST(IndexThroughTest, RefusesMerges) {
  std::vector<IndexExpression> index = {IndexExpression::LoopDim(0), IndexExpression::LoopDim(1)};
  View reshape;
  reshape.kind = ViewKind::kReshape;
  EXPECT_FALSE(IndexThrough(reshape, {kB, kS, 32}, {kB * kS, 32}, index));
}

}  // namespace
}  // namespace tondar
