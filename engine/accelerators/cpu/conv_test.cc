#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/accelerators/cpu/library_kernels.h"
#include "engine/accelerators/cpu/testing/step_harness.h"
#include "engine/plan/loop_builder.h"

namespace tondar::cpu {
namespace {

struct ConvCase {
  const char* name;
  Dims x;  // [N, C, spatial...]
  int64_t out_channels;
  Dims kernel, stride, padding, dilation;
  int64_t groups = 1;
  bool transposed = false;
};

ConvStep StepOf(const ConvCase& c) {
  ConvStep step;
  for (size_t d = 0; d < c.kernel.size(); ++d) {
    step.stride.push_back(c.stride[d]);
    step.padding.push_back(c.padding[d]);
    step.dilation.push_back(c.dilation[d]);
    step.output_padding.push_back(0);
  }
  step.groups = c.groups;
  step.transposed = c.transposed;
  return step;
}

Dims WeightShape(const ConvCase& c) {
  Dims shape = c.transposed ? Dims{c.x[1], c.out_channels / c.groups} : Dims{c.out_channels, c.x[1] / c.groups};
  for (int64_t k : c.kernel) shape.push_back(k);
  return shape;
}

Dims OutputShape(const ConvCase& c) {
  Dims shape{c.x[0], c.out_channels};
  for (size_t d = 0; d < c.kernel.size(); ++d) {
    const int64_t in = c.x[d + 2], reach = c.dilation[d] * (c.kernel[d] - 1);
    shape.push_back(c.transposed ? (in - 1) * c.stride[d] - 2 * c.padding[d] + reach + 1
                                 : (in + 2 * c.padding[d] - reach - 1) / c.stride[d] + 1);
  }
  return shape;
}

// By the definition, scattering for transposed ones.
std::vector<double> Reference(const ConvCase& c, const StepTensor& x, const StepTensor& w) {
  const Dims out_shape = OutputShape(c), out_strides = ContiguousStrides(out_shape);
  std::vector<double> out(static_cast<size_t>(ElementCount(out_shape)));
  const size_t spatial = c.kernel.size();
  const int64_t in_group = c.x[1] / c.groups, out_group = c.out_channels / c.groups;
  Dims pairs{c.x[0], c.groups, in_group, out_group};
  Dims positions;  // the loop over positions of the strided side, then the taps
  for (size_t d = 0; d < spatial; ++d) positions.push_back(c.transposed ? c.x[d + 2] : out_shape[d + 2]);
  ForEachIndex(pairs, [&](const Dims& p) {
    const int64_t ic = p[1] * in_group + p[2], oc = p[1] * out_group + p[3];
    ForEachIndex(positions, [&](const Dims& at) {
      ForEachIndex(c.kernel, [&](const Dims& tap) {
        Dims in_index{p[0], ic}, out_index{p[0], oc};
        Dims w_index = c.transposed ? Dims{ic, p[3]} : Dims{oc, p[2]};
        for (size_t d = 0; d < spatial; ++d) {
          const int64_t other = at[d] * c.stride[d] - c.padding[d] + tap[d] * c.dilation[d];
          const int64_t limit = c.transposed ? out_shape[d + 2] : c.x[d + 2];
          if (other < 0 || other >= limit) return;
          in_index.push_back(c.transposed ? at[d] : other);
          out_index.push_back(c.transposed ? other : at[d]);
          w_index.push_back(tap[d]);
        }
        int64_t offset = 0;
        for (size_t d = 0; d < out_index.size(); ++d) offset += out_index[d] * out_strides[d];
        out[static_cast<size_t>(offset)] += x.Get(in_index) * w.Get(w_index);
      });
    });
  });
  return out;
}

Dims ChannelsLast(int rank) {
  Dims order{0};
  for (int d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}

Dims ChannelsFirst(int rank) {
  Dims order;
  for (int d = 0; d < rank; ++d) order.push_back(d);
  return order;
}

void ExpectConv(const ConvCase& c, DType dtype, DType out_dtype, double tolerance) {
  std::mt19937 random(21);
  const int rank = c.x.rank();
  for (const Dims& order : {ChannelsLast(rank), ChannelsFirst(rank)}) {
    StepTensor x(dtype, c.x, order), w(dtype, WeightShape(c));
    x.FillRandom(random);
    w.FillRandom(random);
    const std::vector<double> expected = Reference(c, x, w);
    for (IsaLevel level : SupportedIsaLevels()) {
      for (bool constant_w : {true, false}) {
        for (int threads : {1, 3}) {
          SCOPED_TRACE(fmt::format("{} {} order {} constant {} threads {}", c.name, Name(level), ToString(order), constant_w,
                                   threads));
          StepTensor out(out_dtype, OutputShape(c), order);
          HarnessOptions options{level, MicroArchitecture::kOther, threads, {}};
          if (constant_w) options.constants = {1};
          ASSERT_TRUE(BoundStep(StepOf(c), {x, w}, out, options).Run().ok());
          size_t i = 0;
          int wrong = 0;
          ForEachIndex(out.view().shape, [&](const Dims& index) {
            const double want = expected[i++], found = out.Get(index);
            if (!(std::abs(found - want) <= tolerance * (10 + std::abs(want))) && wrong++ < 3)
              ADD_FAILURE() << "at " << ToString(index) << ": expected " << want << ", found " << found;
          });
          EXPECT_TRUE(out.GuardsIntact());
          ASSERT_EQ(wrong, 0);
        }
      }
    }
  }
}

const ConvCase kCases[] = {
    {"pointwise", {2, 24, 7, 5}, 40, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"pointwise, stride 2", {1, 16, 9, 9}, 33, {1, 1}, {2, 2}, {0, 0}, {1, 1}},
    {"3x3", {2, 8, 10, 11}, 50, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"3x3, stride 2", {1, 17, 12, 9}, 16, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {"3x3, dilation 2", {1, 9, 12, 12}, 20, {3, 3}, {1, 1}, {2, 2}, {2, 2}},
    {"uneven", {1, 6, 9, 14}, 5, {2, 5}, {1, 3}, {0, 2}, {3, 1}},
    {"stem 7x7", {2, 3, 20, 18}, 64, {7, 7}, {2, 2}, {3, 3}, {1, 1}},
    {"stem, one channel", {3, 1, 8, 8}, 10, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"stem, dilated", {1, 2, 11, 11}, 7, {3, 3}, {1, 1}, {2, 2}, {2, 2}},
    {"kernel larger than the input", {1, 8, 2, 2}, 4, {5, 5}, {1, 1}, {2, 2}, {1, 1}},
    {"groups", {2, 24, 6, 6}, 36, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 4},
    {"groups of one channel, two outputs", {1, 5, 6, 6}, 10, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 5},
    {"depthwise", {2, 37, 9, 8}, 37, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 37},
    {"depthwise 5x5, stride 2", {1, 64, 11, 11}, 64, {5, 5}, {2, 2}, {2, 2}, {1, 1}, 64},
    {"depthwise, many channels", {1, 530, 3, 3}, 530, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 530},
    {"1d", {2, 12, 30}, 18, {5}, {2}, {2}, {1}},
    {"1d, one channel", {2, 1, 100}, 8, {16}, {4}, {0}, {1}},
    {"3d", {1, 6, 5, 6, 7}, 9, {3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 2}},
    {"transposed", {2, 8, 5, 6}, 12, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 1, true},
    {"transposed, groups", {1, 8, 5, 5}, 12, {2, 2}, {2, 2}, {0, 0}, {1, 1}, 2, true},
    {"transposed 1d, dilation", {1, 3, 9}, 4, {3}, {3}, {1}, {2}, 1, true},
    {"transposed, one channel per group", {1, 6, 4, 4}, 6, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 6, true},
    {"empty batch", {0, 8, 5, 5}, 4, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
};

class ConvShapes : public testing::TestWithParam<ConvCase> {};
TEST_P(ConvShapes, EqualsTheReferenceOnEveryIsa) {
  ExpectConv(GetParam(), DType::kFloat32, DType::kFloat32, 1e-6);
}
INSTANTIATE_TEST_SUITE_P(Conv, ConvShapes, testing::ValuesIn(kCases));

TEST(Conv, OtherTypes) {
  for (size_t i : {size_t{2}, size_t{6}, size_t{10}, size_t{12}, size_t{18}}) {
    ExpectConv(kCases[i], DType::kFloat64, DType::kFloat64, 1e-13);
    ExpectConv(kCases[i], DType::kBFloat16, DType::kFloat32, 1e-6);
    ExpectConv(kCases[i], DType::kFloat16, DType::kFloat16, 3e-3);
    ExpectConv(kCases[i], DType::kInt8, DType::kInt32, 0);
  }
}

// relu(product + bias[channel]) + residual
TEST(Conv, Epilogue) {
  std::mt19937 random(22);
  for (size_t i : {size_t{0}, size_t{2}, size_t{6}, size_t{10}, size_t{12}}) {
    const ConvCase& c = kCases[i];
    const int rank = c.x.rank();
    LoopBuilder b;
    Access same{3, {}};
    for (int d = 0; d < rank; ++d) same.index.push_back(IndexExpression::LoopDim(d));
    const auto sum = b.Binary(LoopOp::kAdd, b.Accumulator(0, DType::kFloat32),
                              b.Load({2, {IndexExpression::LoopDim(1)}}, DType::kFloat32));
    b.Result(b.Binary(LoopOp::kAdd, b.Unary(LoopOp::kRelu, sum), b.Load(same, DType::kFloat32)));
    ConvStep step = StepOf(c);
    step.epilogue = std::move(b).Build();
    for (const Dims& order : {ChannelsLast(rank), ChannelsFirst(rank)}) {
      StepTensor x(DType::kFloat32, c.x, order), w(DType::kFloat32, WeightShape(c));
      StepTensor bias(DType::kFloat32, {c.out_channels}), residual(DType::kFloat32, OutputShape(c), order);
      for (StepTensor* t : {&x, &w, &bias, &residual}) t->FillRandom(random);
      const std::vector<double> product = Reference(c, x, w);
      for (IsaLevel level : SupportedIsaLevels()) {
        StepTensor out(DType::kFloat32, OutputShape(c), order);
        ASSERT_TRUE(BoundStep(step, {x, w, bias, residual}, out, {level, MicroArchitecture::kOther, 2, {1}}).Run().ok());
        size_t at = 0;
        ForEachIndex(out.view().shape, [&](const Dims& index) {
          const double expected = std::max(product[at++] + bias.Get({index[1]}), 0.0) + residual.Get(index);
          ASSERT_NEAR(out.Get(index), expected, 1e-4) << c.name << " at " << ToString(index);
        });
      }
    }
  }
}

// An image has the same bits alone and in a batch, for every number of threads.
TEST(Conv, ImagesDoNotDependOnTheBatch) {
  std::mt19937 random(23);
  for (ConvCase c : kCases) {
    if (c.x[0] == 0) continue;
    c.x[0] = 5;
    const Dims order = ChannelsLast(c.x.rank());
    StepTensor x(DType::kFloat32, c.x, order), w(DType::kFloat32, WeightShape(c));
    x.FillRandom(random);
    w.FillRandom(random);
    for (IsaLevel level : SupportedIsaLevels()) {
      StepTensor whole(DType::kFloat32, OutputShape(c), order);
      ASSERT_TRUE(BoundStep(StepOf(c), {x, w}, whole, {level, MicroArchitecture::kOther, 2, {1}}).Run().ok());
      ConvCase alone = c;
      alone.x[0] = 1;
      const int64_t bytes = ElementCount(OutputShape(alone)) * 4;
      for (int64_t image = 0; image < 5; ++image) {
        const StepTensor part = x.As(alone.x, x.view().strides, image * x.view().strides[0]);
        StepTensor out(DType::kFloat32, OutputShape(alone), order);
        ASSERT_TRUE(BoundStep(StepOf(alone), {part, w}, out, {level, MicroArchitecture::kOther, 1, {1}}).Run().ok());
        ASSERT_EQ(0, std::memcmp(out.view().data, whole.view().data + image * bytes, static_cast<size_t>(bytes)))
            << c.name << " on " << Name(level);
      }
    }
  }
}

}  // namespace
}  // namespace tondar::cpu
