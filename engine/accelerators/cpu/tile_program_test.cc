#include "engine/accelerators/cpu/tile_program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "engine/accelerators/cpu/testing/loop_launch.h"
#include "engine/plan/loop_builder.h"

namespace tondar::cpu {
namespace {

using Handle = LoopBuilder::Handle;

// An epilogue over an output of shape `out`; operand 0 is a bias along `bias_dim`, operand 1 a residual of the output's
// shape, operand 2 a scalar.
struct Case {
  const char* name;
  std::function<Handle(LoopBuilder& b, Handle accumulator, Handle bias, Handle residual, Handle scalar)> write;
};

const std::vector<Case>& Cases() {
  using Op = LoopOp;
  static const std::vector<Case> cases = {
      {"bias", [](LoopBuilder& b, Handle x, Handle bias, Handle, Handle) { return b.Binary(Op::kAdd, x, bias); }},
      {"bias first", [](LoopBuilder& b, Handle x, Handle bias, Handle, Handle) { return b.Binary(Op::kAdd, bias, x); }},
      {"bias relu", [](LoopBuilder& b, Handle x, Handle bias, Handle, Handle) { return b.Unary(Op::kRelu, b.Binary(Op::kAdd, x, bias)); }},
      {"bias gelu", [](LoopBuilder& b, Handle x, Handle bias, Handle, Handle) { return b.Unary(Op::kGelu, b.Binary(Op::kAdd, x, bias)); }},
      {"bias silu", [](LoopBuilder& b, Handle x, Handle bias, Handle, Handle) { return b.Unary(Op::kSilu, b.Binary(Op::kAdd, x, bias)); }},
      {"bias residual", [](LoopBuilder& b, Handle x, Handle bias, Handle residual, Handle) { return b.Binary(Op::kAdd, b.Binary(Op::kAdd, x, bias), residual); }},
      {"residual bias", [](LoopBuilder& b, Handle x, Handle bias, Handle residual, Handle) { return b.Binary(Op::kAdd, b.Binary(Op::kAdd, x, residual), bias); }},
      {"bias residual relu", [](LoopBuilder& b, Handle x, Handle bias, Handle residual, Handle) { return b.Unary(Op::kRelu, b.Binary(Op::kAdd, residual, b.Binary(Op::kAdd, x, bias))); }},
      {"bias gelu residual", [](LoopBuilder& b, Handle x, Handle bias, Handle residual, Handle) { return b.Binary(Op::kAdd, b.Unary(Op::kGelu, b.Binary(Op::kAdd, x, bias)), residual); }},
      {"bias gelu residual relu", [](LoopBuilder& b, Handle x, Handle bias, Handle residual, Handle) { return b.Unary(Op::kRelu, b.Binary(Op::kAdd, b.Unary(Op::kGelu, b.Binary(Op::kAdd, x, bias)), residual)); }},
      {"relu alone", [](LoopBuilder& b, Handle x, Handle, Handle, Handle) { return b.Unary(Op::kRelu, x); }},
      {"residual alone", [](LoopBuilder& b, Handle x, Handle, Handle residual, Handle) { return b.Binary(Op::kAdd, x, residual); }},
      {"gate", [](LoopBuilder& b, Handle x, Handle bias, Handle residual, Handle scalar) { return b.Binary(Op::kMul, b.Unary(Op::kSigmoid, b.Binary(Op::kMul, b.Binary(Op::kAdd, x, bias), scalar)), residual); }},
      {"accumulator twice", [](LoopBuilder& b, Handle x, Handle, Handle, Handle) { return b.Binary(Op::kMul, x, b.Unary(Op::kTanh, x)); }},
  };
  return cases;
}

struct Layout {
  Dims shape;
  TileDims dims;
  Dims strides;               // of output and residual
  bool even_columns = true;   // one contiguous run of columns
};

std::vector<Layout> Layouts() {
  return {
      {{37, 50}, TileDims::LastIsColumn(2), {50, 1}},
      {{37, 50}, TileDims::LastIsColumn(2), {64, 1}},
      {{3, 5, 50}, TileDims::LastIsColumn(3), {400, 64, 1}},        // row dims that do not merge
      {{1, 48}, TileDims::LastIsColumn(2), {48, 1}},
      {{20, 1}, TileDims::LastIsColumn(2), {1, 1}},
      {{50, 37}, TileDims::LastIsColumn(2), {1, 50}, false},        // transposed output
      {{2, 33, 4, 5}, {{0, 2, 3}, {1}}, {660, 1, 165, 33}},         // channels-last convolution
      {{2, 7, 4, 5}, {{0, 1}, {2, 3}}, {140, 20, 5, 1}},            // planar convolution
      {{2, 7, 4, 5}, {{0, 1}, {2, 3}}, {280, 40, 9, 1}, false},     // columns that do not merge
  };
}

LoopProgram Write(const Case& one, const Layout& layout) {
  const int rank = layout.shape.rank();
  LoopBuilder b;
  const Handle x = b.Accumulator(0, DType::kFloat32);
  const auto bias_dim = static_cast<int>(layout.dims.columns[0]);
  const Handle bias = b.Load({.operand = 0, .index = {IndexExpression::LoopDim(bias_dim)}}, DType::kFloat32);
  const Handle residual = b.Load(BroadcastAccess(1, ToShape(layout.shape), rank), DType::kFloat32);
  const Handle scalar = b.Load({.operand = 2, .index = {}}, DType::kFloat32);
  b.Result(one.write(b, x, bias, residual, scalar));
  return std::move(b).Build();
}

int64_t CountOf(const Layout& layout, const Dims& dims) {
  int64_t count = 1;
  for (const int64_t d : dims) count *= layout.shape[static_cast<size_t>(d)];
  return count;
}

// The accumulators as an operand of the output's shape, for a map step that computes the same.
LoopProgram AsMap(const LoopProgram& program, const Layout& layout) {
  LoopBuilder b;
  const Handle x = b.Load(BroadcastAccess(3, ToShape(layout.shape), layout.shape.rank()), DType::kFloat32);
  b.Result(b.Append(program, {&x, 1})[0]);
  return std::move(b).Build();
}

int64_t LinearOf(const Layout& layout, int64_t row, int64_t column) {
  std::vector<int64_t> index(layout.shape.size());
  const auto seek = [&](const Dims& dims, int64_t linear) {
    for (size_t k = dims.size(); k-- > 0;) {
      const auto d = static_cast<size_t>(dims[k]);
      index[d] = linear % layout.shape[d];
      linear /= layout.shape[d];
    }
  };
  seek(layout.dims.rows, row);
  seek(layout.dims.columns, column);
  int64_t linear = 0;
  for (size_t d = 0; d < layout.shape.size(); ++d) linear = linear * layout.shape[d] + index[d];
  return linear;
}

struct Operands {
  Operands(const Layout& layout, std::mt19937& random)
      : bias(DType::kFloat32, {layout.shape[static_cast<size_t>(layout.dims.columns[0])]}),
        residual(DType::kFloat32, layout.shape, layout.strides),
        scalar(DType::kFloat32, {}),
        accumulators(DType::kFloat32, layout.shape) {
    for (TestTensor* tensor : {&bias, &residual, &scalar, &accumulators}) tensor->FillRandom(random);
  }
  TestTensor bias, residual, scalar, accumulators;
};

// Runs the epilogue in tiles of random sizes.
void RunTiles(const TileProgram& program, const Layout& layout, const Operands& operands, std::mt19937& random) {
  constexpr int kRows = 9, kColumns = 48, kStride = 48;
  const int64_t rows = CountOf(layout, layout.dims.rows), columns = CountOf(layout, layout.dims.columns);
  std::unique_ptr<std::byte, void (*)(void*)> scratch(
      static_cast<std::byte*>(std::aligned_alloc(64, (program.scratch_bytes() + 63) / 64 * 64 + 64)), std::free);
  alignas(64) float accumulators[kRows * kStride + 16];
  StepError error;
  for (int64_t row = 0; row < rows;) {
    const int height = static_cast<int>(std::min<int64_t>(rows - row, 1 + static_cast<int>(random() % kRows)));
    for (int64_t column = 0; column < columns;) {
      const int width = static_cast<int>(std::min<int64_t>(columns - column, 1 + static_cast<int>(random() % kColumns)));
      for (int i = 0; i < height; ++i) {
        for (int j = 0; j < width; ++j) {
          accumulators[i * kStride + j] = static_cast<float>(operands.accumulators.At(LinearOf(layout, row + i, column + j)).f);
        }
      }
      program.Run({accumulators, kStride, row, column, height, width}, scratch.get(), error);
      column += width;
    }
    row += height;
  }
}

TEST(TileProgram, AgreesBitForBitWithTheSameMapStep) {
  std::mt19937 random(1);
  for (const IsaLevel level : SupportedIsaLevels()) {
    const CpuKernels kernels = KernelsFor(level, MicroArchitecture::kOther);
    for (const Layout& layout : Layouts()) {
      for (const Case& one : Cases()) {
        const LoopProgram program = Write(one, layout);
        const Operands operands(layout, random);
        TestTensor actual(DType::kFloat32, layout.shape, layout.strides), expected(DType::kFloat32, layout.shape, layout.strides);
        const TensorView inputs[] = {operands.bias.view(), operands.residual.view(), operands.scalar.view(), operands.accumulators.view()};
        const TensorView outputs[] = {actual.view()}, expected_view[] = {expected.view()};
        Result<TileProgram> bound = TileProgram::Bind(program, DType::kFloat32, {inputs, outputs, {}}, layout.dims, 48, kernels);
        ASSERT_TRUE(bound.ok()) << bound.status().ToString();
        EXPECT_FALSE(bound->IsPlainStore());
        RunTiles(*bound, layout, operands, random);
        ASSERT_TRUE(LaunchStep(MapStep{ToShape(layout.shape), AsMap(program, layout)}, {inputs, expected_view, {}}, kernels).ok());
        EXPECT_EQ(Difference(actual, expected, 0, 0), "") << one.name << " at " << Name(level) << " for " << ToString(layout.shape);
        EXPECT_TRUE(actual.SameBytes(expected)) << one.name << " writes outside its output";
      }
    }
  }
}

TEST(TileProgram, NoEpilogueStoresAndConverts) {
  std::mt19937 random(2);
  const CpuKernels kernels = KernelsFor(DescribeCpu().highest, MicroArchitecture::kOther);
  for (const Layout& layout : Layouts()) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
      const Operands operands(layout, random);
      TestTensor actual(dtype, layout.shape, layout.strides);
      const TensorView outputs[] = {actual.view()};
      Result<TileProgram> bound = TileProgram::Bind({}, DType::kFloat32, {{}, outputs, {}}, layout.dims, 48, kernels);
      ASSERT_TRUE(bound.ok()) << bound.status().ToString();
      EXPECT_EQ(bound->IsPlainStore(), dtype == DType::kFloat32 && layout.even_columns) << ToString(layout.strides);
      EXPECT_EQ(bound->OutputAddress(0, 0), actual.view().data);
      RunTiles(*bound, layout, operands, random);
      EXPECT_EQ(Difference(actual, operands.accumulators, dtype == DType::kFloat32 ? 0 : 0.005, 0), "") << Name(dtype);
    }
  }
}

TEST(TileProgram, IntegerAccumulatorsAreScaled) {
  const CpuKernels kernels = KernelsFor(DescribeCpu().highest, MicroArchitecture::kOther);
  LoopBuilder b;
  const Handle x = b.Cast(b.Accumulator(0, DType::kInt32), DType::kFloat32);
  b.Result(b.Cast(b.Unary(LoopOp::kRound, b.Binary(LoopOp::kMul, x, b.Constant(0.25, DType::kFloat32))), DType::kInt8));
  const LoopProgram program = std::move(b).Build();
  TestTensor out(DType::kInt8, {2, 3});
  const TensorView outputs[] = {out.view()};
  Result<TileProgram> bound = TileProgram::Bind(program, DType::kInt32, {{}, outputs, {}}, TileDims::LastIsColumn(2), 16, kernels);
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  alignas(64) int32_t accumulators[32] = {4, -8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 6, 400};
  std::unique_ptr<std::byte, void (*)(void*)> scratch(
      static_cast<std::byte*>(std::aligned_alloc(64, (bound->scratch_bytes() + 63) / 64 * 64 + 64)), std::free);
  StepError error;
  bound->Run({accumulators, 16, 0, 0, 2, 3}, scratch.get(), error);
  const int64_t expected[] = {1, -2, 2, 25, 2, 100};
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(out.At(i).i, expected[i]) << i;
}

}  // namespace
}  // namespace tondar::cpu
