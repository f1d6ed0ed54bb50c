// Map, reduce and scan steps: random programs over random layouts against the reference, and the forms that have code
// of their own.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/accelerators/cpu/loop_support.h"
#include "engine/accelerators/cpu/testing/loop_launch.h"
#include "engine/plan/loop_builder.h"

namespace tondar::cpu {
namespace {

using Random = std::mt19937;

int Pick(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
bool Chance(Random& random, int percent) { return Pick(random, 1, 100) <= percent; }

CpuKernels KernelsAt(IsaLevel level) { return KernelsFor(level, MicroArchitecture::kOther); }

Dims RandomExtents(Random& random) {
  constexpr int kExtents[] = {1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 70};
  Dims extents;
  int64_t elements = 1;
  for (int rank = Pick(random, 0, 5); rank > 0; --rank) {
    int64_t extent = kExtents[Pick(random, 0, 11)];
    if (elements * extent > 6000) extent = 1;
    elements *= extent;
    extents.push_back(extent);
  }
  return extents;
}

// Strides of a random order of the dims, sometimes with gaps.
Dims RandomStrides(const Dims& shape, Random& random) {
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (Chance(random, 50)) std::shuffle(order.begin(), order.end(), random);
  Dims strides = Dims::Filled(shape.rank(), 0);
  int64_t stride = Chance(random, 15) ? 2 : 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= std::max<int64_t>(shape[order[i]], 1);
    if (Chance(random, 20)) stride += Pick(random, 1, 3);
  }
  return strides;
}

// Builds random programs together with the operands that they read.
class RandomProgram {
 public:
  RandomProgram(const Dims& extents, Random& random) : extents_(extents), random_(random) {}

  LoopBuilder& builder() { return builder_; }

  LoopBuilder::Handle Value(DType dtype, int depth) {
    if (depth == 0) return Leaf(dtype);
    const int choice = Pick(random_, 0, 9);
    if (choice == 0) return builder_.Select(Condition(depth - 1), Value(dtype, depth - 1), Value(dtype, depth - 1));
    if (choice == 1) return builder_.Cast(Value(OtherDType(dtype), depth - 1), dtype);
    if (choice <= 4) return builder_.Unary(UnaryOp(dtype), Value(dtype, depth - 1));
    if (choice <= 8) return builder_.Binary(BinaryOp(dtype), Value(dtype, depth - 1), Value(dtype, depth - 1));
    return Leaf(dtype);
  }

  std::vector<TensorView> Inputs() const {
    std::vector<TensorView> views;
    for (const auto& tensor : tensors_) views.push_back(tensor->view());
    return views;
  }

 private:
  LoopBuilder::Handle Condition(int depth) {
    const DType dtype = Chance(random_, 50) ? DType::kFloat32 : DType::kInt32;
    return builder_.Binary(Chance(random_, 50) ? LoopOp::kLt : LoopOp::kGe, Value(dtype, depth), Value(dtype, depth));
  }
  // Only casts whose result a rounding difference of the operand cannot change by much.
  DType OtherDType(DType dtype) {
    if (IsFloat(dtype)) return Chance(random_, 50) ? DType::kFloat32 : DType::kInt32;
    return Chance(random_, 50) ? DType::kInt64 : DType::kUInt8;
  }
  LoopOp UnaryOp(DType dtype) {
    constexpr LoopOp kFloat[] = {LoopOp::kNeg, LoopOp::kAbs, LoopOp::kTanh, LoopOp::kSigmoid, LoopOp::kRelu, LoopOp::kErf, LoopOp::kAtan, LoopOp::kGelu};
    constexpr LoopOp kInteger[] = {LoopOp::kNeg, LoopOp::kAbs, LoopOp::kRelu, LoopOp::kSign};
    return IsFloat(dtype) ? kFloat[Pick(random_, 0, 7)] : kInteger[Pick(random_, 0, 3)];
  }
  LoopOp BinaryOp(DType) {
    constexpr LoopOp kOps[] = {LoopOp::kAdd, LoopOp::kSub, LoopOp::kMul, LoopOp::kMax, LoopOp::kMin};
    return kOps[Pick(random_, 0, 4)];
  }

  LoopBuilder::Handle Leaf(DType dtype) {
    const int choice = Pick(random_, 0, 9);
    if (choice == 0) return builder_.Constant(Pick(random_, 0, 3), dtype);
    if (choice == 1 && !extents_.empty()) return builder_.Cast(builder_.Index(Pick(random_, 0, extents_.rank() - 1)), dtype);
    return Load(dtype);
  }

  LoopBuilder::Handle Load(DType dtype) {
    Access access;
    access.operand = static_cast<int16_t>(tensors_.size());
    access.fill = Pick(random_, -2, 2) * (InfoOf(dtype).kind == DTypeKind::kUnsigned ? 0 : 1);
    Dims shape;
    for (int d = 0; d < extents_.rank(); ++d) {
      const int64_t extent = extents_[static_cast<size_t>(d)];
      const int choice = Pick(random_, 0, 19);
      if (choice <= 2) {  // broadcast, or left out
        if (choice == 0) continue;
        shape.push_back(1);
        access.index.push_back(IndexExpression::At(0));
      } else if (choice == 3) {  // padded
        IndexExpression expression = IndexExpression::LoopDim(d);
        expression.offset = -Pick(random_, 0, 2);
        expression.guarded = true;
        shape.push_back(std::max<int64_t>(1, extent - Pick(random_, 0, 3)));
        access.index.push_back(expression);
      } else if (choice == 4) {  // strided window
        IndexExpression expression{{{static_cast<int8_t>(d), 2}}, Dim(1), -1, false};
        shape.push_back(2 * extent);
        access.index.push_back(expression);
      } else if (choice == 5) {  // reversed
        IndexExpression expression{{{static_cast<int8_t>(d), -1}}, Dim(extent - 1), -1, false};
        shape.push_back(extent);
        access.index.push_back(expression);
      } else if (choice == 6) {  // looked up
        shape.push_back(Pick(random_, 3, 6));
        access.index.push_back(IndexExpression::Dynamic(Lookup(d)));
      } else {
        shape.push_back(extent);
        access.index.push_back(IndexExpression::LoopDim(d));
      }
    }
    access.operand = static_cast<int16_t>(tensors_.size());
    Add(dtype, shape);
    return builder_.Load(std::move(access), dtype);
  }

  // Indices in [-3, 3), good for every extent from 3 on, along one dim or all.
  int16_t Lookup(int d) {
    Access access;
    access.operand = static_cast<int16_t>(tensors_.size());
    access.index.push_back(IndexExpression::LoopDim(d));
    TestTensor& tensor = Add(DType::kInt64, Dims{extents_[static_cast<size_t>(d)]});
    for (int64_t i = 0; i < tensor.view().elements(); ++i) tensor.Set(i, {0, Pick(random_, -3, 2)});
    return builder_.Load(std::move(access), DType::kInt64);
  }

  TestTensor& Add(DType dtype, const Dims& shape) {
    tensors_.push_back(std::make_unique<TestTensor>(dtype, shape, RandomStrides(shape, random_)));
    tensors_.back()->FillRandom(random_);
    return *tensors_.back();
  }

  Dims extents_;
  Random& random_;
  LoopBuilder builder_;
  std::vector<std::unique_ptr<TestTensor>> tensors_;
};

double RelativeTolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return 0.02;
    case DType::kBFloat16: return 0.1;
    default: return 2e-5;
  }
}

TEST(LoopSteps, RandomMapsAgreeWithTheReference) {
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32, DType::kUInt8, DType::kInt16};
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    const Dims extents = RandomExtents(random);
    RandomProgram program(extents, random);
    const DType dtype = kDTypes[Pick(random, 0, 6)];
    const int results = Chance(random, 80) ? 1 : 2;
    for (int r = 0; r < results; ++r) program.builder().Result(program.Value(dtype, Pick(random, 0, 3)));
    const MapStep step{ToShape(extents), std::move(program.builder()).Build()};
    const std::vector<TensorView> inputs = program.Inputs();
    std::vector<TestTensor> expected;
    std::vector<TensorView> outputs;
    for (int r = 0; r < results; ++r) expected.emplace_back(dtype, extents, RandomStrides(extents, random));
    for (TestTensor& tensor : expected) outputs.push_back(tensor.view());
    ASSERT_TRUE(RunReference(step, {inputs, outputs, {}}));
    for (const IsaLevel level : SupportedIsaLevels()) {
      std::vector<TestTensor> actual;
      for (const TestTensor& tensor : expected) actual.emplace_back(dtype, extents, tensor.view().strides);
      outputs.clear();
      for (TestTensor& tensor : actual) outputs.push_back(tensor.view());
      const Status status = LaunchStep(step, {inputs, outputs, {}}, KernelsAt(level), 1 + static_cast<int>(seed % 2));
      ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.ToString();
      for (int r = 0; r < results; ++r) {
        const auto i = static_cast<size_t>(r);
        ASSERT_EQ(Difference(actual[i], expected[i], RelativeTolerance(dtype), 2e-5), "")
            << "seed " << seed << " at " << Name(level) << ", extents " << ToString(extents) << "\n" << ToString(step.program);
      }
    }
  }
}

TEST(LoopSteps, RandomReductionsAgreeWithTheReference) {
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32};
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    Dims extents = RandomExtents(random);
    if (extents.empty()) extents.push_back(5);
    RandomProgram program(extents, random);
    const DType dtype = kDTypes[Pick(random, 0, 4)];
    ReduceStep step;
    step.extents = ToShape(extents);
    step.reduced = Pick(random, 1, extents.rank());
    step.op = static_cast<ReduceOp>(Pick(random, 0, 7));
    step.accumulator = dtype;
    const bool logical = step.op == ReduceOp::kAll || step.op == ReduceOp::kAny;
    const bool arg = step.op == ReduceOp::kArgMax || step.op == ReduceOp::kArgMin;
    auto value = program.Value(dtype, Pick(random, 0, 2));
    // Products stay near 1, so that both sides overflow together or not at all.
    if (step.op == ReduceOp::kProduct && IsFloat(dtype)) value = program.builder().Binary(LoopOp::kAdd, program.builder().Constant(1, dtype), program.builder().Binary(LoopOp::kMul, program.builder().Constant(1e-3, dtype), program.builder().Unary(LoopOp::kTanh, value)));
    // Extremes of rounded values could be found elsewhere by the reference.
    if (arg) value = program.builder().Load(BroadcastAccess(0, step.extents, extents.rank()), dtype);
    if (logical) step.accumulator = DType::kBool;
    program.builder().Result(logical ? program.builder().Cast(value, DType::kBool) : value);
    step.program = std::move(program.builder()).Build();
    std::vector<TensorView> inputs = program.Inputs();
    TestTensor operand(dtype, extents, RandomStrides(extents, random));
    operand.FillRandom(random);
    if (arg) inputs = {operand.view()};
    const Dims outer(extents.span().subspan(0, extents.size() - static_cast<size_t>(step.reduced)));
    DType output = logical ? DType::kBool : (arg ? DType::kInt64 : dtype);
    if (!logical && !arg && Chance(random, 50)) {
      LoopBuilder finish;
      finish.Result(finish.Binary(LoopOp::kMul, finish.Accumulator(0, dtype), finish.Constant(3, dtype)));
      step.finish = std::move(finish).Build();
    }
    TestTensor expected(output, outer, RandomStrides(outer, random)), actual(output, outer, expected.view().strides);
    const TensorView expected_view[] = {expected.view()}, actual_view[] = {actual.view()};
    ASSERT_TRUE(RunReference(step, {inputs, expected_view, {}}));
    for (const IsaLevel level : SupportedIsaLevels()) {
      const Status status = LaunchStep(step, {inputs, actual_view, {}}, KernelsAt(level), 1 + static_cast<int>(seed % 2));
      ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.ToString();
      ASSERT_EQ(Difference(actual, expected, 3e-5, 3e-3), "")
          << "seed " << seed << " at " << Name(level) << ", op " << static_cast<int>(step.op) << ", extents "
          << ToString(extents) << " reduced " << step.reduced << "\n" << ToString(step.program);
    }
  }
}

// Products of floats overflow soon.
ReduceOp RandomScanOp(DType dtype, Random& random) {
  constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kArgMax, ReduceOp::kArgMin};
  const int choice = Pick(random, 0, 5);
  if (choice < 5) return kOps[choice];
  return dtype == DType::kFloat32 ? ReduceOp::kLogAddExp : ReduceOp::kProduct;
}

TEST(LoopSteps, RandomScansAgreeWithTheReference) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Dims extents = RandomExtents(random);
    if (extents.empty()) extents.push_back(700);
    RandomProgram program(extents, random);
    const DType dtype = Chance(random, 50) ? DType::kFloat32 : DType::kInt64;
    program.builder().Result(program.Value(dtype, Pick(random, 0, 2)));
    ScanStep step{ToShape(extents), RandomScanOp(dtype, random), dtype, {}};
    const bool positions = step.op == ReduceOp::kArgMax || step.op == ReduceOp::kArgMin;
    const DType output = positions ? DType::kInt64 : dtype;
    step.program = std::move(program.builder()).Build();
    const std::vector<TensorView> inputs = program.Inputs();
    TestTensor expected(output, extents, RandomStrides(extents, random)), actual(output, extents, expected.view().strides);
    const TensorView expected_view[] = {expected.view()}, actual_view[] = {actual.view()};
    ASSERT_TRUE(RunReference(step, {inputs, expected_view, {}}));
    for (const IsaLevel level : SupportedIsaLevels()) {
      const Status status = LaunchStep(step, {inputs, actual_view, {}}, KernelsAt(level));
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(Difference(actual, expected, 3e-5, 3e-4), "") << "seed " << seed << " at " << Name(level);
    }
  }
}

MapStep CopyStep(const Dims& extents, DType dtype) {
  LoopBuilder b;
  b.Result(b.Load(BroadcastAccess(0, ToShape(extents), extents.rank()), dtype));
  return {ToShape(extents), std::move(b).Build()};
}

TEST(LoopSteps, CopiesOfEverySizeAndLayout) {
  constexpr DType kDTypes[] = {DType::kUInt8, DType::kBFloat16, DType::kFloat32, DType::kInt64};
  for (unsigned seed = 0; seed < 600; ++seed) {
    Random random(seed);
    const Dims extents = RandomExtents(random);
    const DType dtype = kDTypes[Pick(random, 0, 3)];
    TestTensor input(dtype, extents, RandomStrides(extents, random));
    input.FillRandom(random);
    TestTensor expected(dtype, extents, RandomStrides(extents, random)), actual(dtype, extents, expected.view().strides);
    const TensorView inputs[] = {input.view()}, expected_view[] = {expected.view()}, actual_view[] = {actual.view()};
    const MapStep step = CopyStep(extents, dtype);
    ASSERT_TRUE(RunReference(step, {inputs, expected_view, {}}));
    for (const IsaLevel level : SupportedIsaLevels()) {
      actual.FillByte(0x5a);
      ASSERT_TRUE(LaunchStep(step, {inputs, actual_view, {}}, KernelsAt(level), 1 + static_cast<int>(seed % 3)).ok());
      ASSERT_TRUE(actual.SameBytes(expected)) << "seed " << seed << " at " << Name(level) << " " << ToString(extents);
    }
  }
}

// Pixels of few channels: shapes that the random ones rarely meet.
TEST(LoopSteps, PlanesAndPixelsTurnIntoEachOther) {
  Random random(3);
  for (const DType dtype : {DType::kUInt8, DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const int64_t channels : {1, 2, 3, 4, 5, 8, 19}) {
      for (const int64_t pixels : {1, 7, 65, 203}) {
        const Dims extents = {2, pixels, channels};
        const Dims planes = {channels * pixels, 1, pixels};
        for (const bool to_planes : {false, true}) {
          TestTensor input(dtype, extents, to_planes ? ContiguousStrides(extents) : planes);
          input.FillRandom(random);
          TestTensor expected(dtype, extents, to_planes ? planes : ContiguousStrides(extents));
          TestTensor actual(dtype, extents, expected.view().strides);
          const TensorView inputs[] = {input.view()}, expected_view[] = {expected.view()}, actual_view[] = {actual.view()};
          const MapStep step = CopyStep(extents, dtype);
          ASSERT_TRUE(RunReference(step, {inputs, expected_view, {}}));
          for (const IsaLevel level : SupportedIsaLevels()) {
            actual.FillByte(0x5a);
            ASSERT_TRUE(LaunchStep(step, {inputs, actual_view, {}}, KernelsAt(level)).ok());
            ASSERT_TRUE(actual.SameBytes(expected)) << Name(dtype) << " " << channels << " x " << pixels << " at " << Name(level);
          }
        }
      }
    }
  }
}

TEST(LoopSteps, SixteenBitFloatsRoundAfterEveryInstruction) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    Random random(11);
    const Dims extents = {3, 333};
    TestTensor x(dtype, extents), y(dtype, {333});
    x.FillRandom(random);
    y.FillRandom(random);
    LoopBuilder b;
    const auto product = b.Binary(LoopOp::kMul, b.Load(BroadcastAccess(0, ToShape(extents), 2), dtype), b.Load(BroadcastAccess(1, {Dim(333)}, 2), dtype));
    b.Result(b.Binary(LoopOp::kSub, product, b.Constant(1.0 / 3, dtype)));
    const MapStep step{ToShape(extents), std::move(b).Build()};
    TestTensor expected(dtype, extents), actual(dtype, extents);
    const TensorView inputs[] = {x.view(), y.view()}, expected_view[] = {expected.view()}, actual_view[] = {actual.view()};
    ASSERT_TRUE(RunReference(step, {inputs, expected_view, {}}));
    for (const IsaLevel level : SupportedIsaLevels()) {
      ASSERT_TRUE(LaunchStep(step, {inputs, actual_view, {}}, KernelsAt(level)).ok());
      EXPECT_EQ(Difference(actual, expected, 0, 0), "") << Name(dtype) << " at " << Name(level);
    }
  }
}

// A row of a table per id: [ids, width].
MapStep EmbeddingStep(int64_t ids, int64_t width) {
  LoopBuilder b;
  const auto id = b.Load({.operand = 1, .index = {IndexExpression::LoopDim(0)}}, DType::kInt64);
  Access row{.operand = 0, .index = {IndexExpression::Dynamic(id), IndexExpression::LoopDim(1)}};
  b.Result(b.Load(row, DType::kFloat32));
  return {{Dim(ids), Dim(width)}, std::move(b).Build()};
}

TEST(LoopSteps, DynamicIndicesOutsideTheOperandFailTheStep) {
  Random random(5);
  TestTensor table(DType::kFloat32, {10, 384}), ids(DType::kInt64, {7}), out(DType::kFloat32, {7, 384});
  table.FillRandom(random);
  const MapStep step = EmbeddingStep(7, 384);
  const TensorView inputs[] = {table.view(), ids.view()}, outputs[] = {out.view()};
  for (int64_t i = 0; i < 7; ++i) ids.Set(i, {0, i - 3});
  ASSERT_TRUE(LaunchStep(step, {inputs, outputs, {}}, KernelsAt(DescribeCpu().highest)).ok());
  EXPECT_EQ(out.At(0).f, table.At(7 * 384).f);  // -3 of 10
  EXPECT_EQ(out.At(6 * 384 + 5).f, table.At(3 * 384 + 5).f);
  for (const int64_t bad : {int64_t{10}, int64_t{-11}}) {
    ids.Set(4, {0, bad});
    const Status status = LaunchStep(step, {inputs, outputs, {}}, KernelsAt(DescribeCpu().highest));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), fmt::format("step 'step': index {} is out of range for an extent of 10", bad));
  }
}

TEST(LoopSteps, AnIndexThatMustNotCountFromTheEndIsReportedAsItWas) {
  TestTensor table(DType::kFloat32, {10, 4}), ids(DType::kInt64, {3}), out(DType::kFloat32, {3, 4});
  LoopBuilder b;
  const LoopBuilder::Handle row = b.NotFromEnd(b.Load({1, {IndexExpression::LoopDim(0)}}, DType::kInt64));
  b.Result(b.Load({0, {IndexExpression::Dynamic(row), IndexExpression::LoopDim(1)}}, DType::kFloat32));
  const MapStep step{{3, 4}, std::move(b).Build()};
  const TensorView inputs[] = {table.view(), ids.view()}, outputs[] = {out.view()};
  for (int64_t i = 0; i < 3; ++i) ids.Set(i, {0, i * 4});
  ASSERT_TRUE(LaunchStep(step, {inputs, outputs, {}}, KernelsAt(DescribeCpu().highest)).ok());
  for (const int64_t bad : {int64_t{10}, int64_t{-1}, int64_t{-10}, INT64_MIN / 4, INT64_MAX}) {
    ids.Set(1, {0, bad});
    EXPECT_EQ(LaunchStep(step, {inputs, outputs, {}}, KernelsAt(DescribeCpu().highest)).message(),
              fmt::format("step 'step': index {} is out of range for an extent of 10", bad));
  }
}

TEST(LoopSteps, EmptyExtents) {
  TestTensor in(DType::kFloat32, {3, 0}), out(DType::kFloat32, {3, 0}), sums(DType::kFloat32, {3});
  const TensorView inputs[] = {in.view()}, outputs[] = {out.view()}, sum_view[] = {sums.view()};
  const CpuKernels kernels = KernelsAt(IsaLevel::kBaseline);
  EXPECT_TRUE(LaunchStep(CopyStep({3, 0}, DType::kFloat32), {inputs, outputs, {}}, kernels).ok());
  ReduceStep sum{.extents = {Dim(3), Dim(0)}, .reduced = 1, .op = ReduceOp::kSum, .accumulator = DType::kFloat32,
                 .program = CopyStep({3, 0}, DType::kFloat32).program, .finish = {}};
  ASSERT_TRUE(LaunchStep(sum, {inputs, sum_view, {}}, kernels).ok());
  EXPECT_EQ(sums.At(2).f, 0);
  sum.op = ReduceOp::kMax;
  ASSERT_TRUE(LaunchStep(sum, {inputs, sum_view, {}}, kernels).ok());
  EXPECT_EQ(sums.At(2).f, -INFINITY);
}

TEST(LoopSteps, NanWinsInMaxAndArgMax) {
  TestTensor in(DType::kFloat32, {2, 100}), out(DType::kFloat32, {2}), at(DType::kInt64, {2});
  for (int64_t i = 0; i < 200; ++i) in.Set(i, {static_cast<double>(i % 100), 0});
  in.Set(37, {NAN, 0});
  in.Set(55, {NAN, 0});
  const TensorView inputs[] = {in.view()}, outputs[] = {out.view()}, positions[] = {at.view()};
  for (const IsaLevel level : SupportedIsaLevels()) {
    ReduceStep step{.extents = {Dim(2), Dim(100)}, .reduced = 1, .op = ReduceOp::kMax, .accumulator = DType::kFloat32,
                    .program = CopyStep({2, 100}, DType::kFloat32).program, .finish = {}};
    ASSERT_TRUE(LaunchStep(step, {inputs, outputs, {}}, KernelsAt(level)).ok());
    EXPECT_TRUE(std::isnan(out.At(0).f));
    EXPECT_EQ(out.At(1).f, 99);
    step.op = ReduceOp::kArgMax;
    ASSERT_TRUE(LaunchStep(step, {inputs, positions, {}}, KernelsAt(level)).ok());
    EXPECT_EQ(at.At(0).i, 37);
    EXPECT_EQ(at.At(1).i, 99);
  }
}

// A row alone, in a batch, on one thread or on three: the same bits.
TEST(LoopSteps, ARowDoesNotDependOnItsBatch) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const int64_t width = Pick(random, 1, 900), batch = Pick(random, 2, 40);
    TestTensor rows(DType::kFloat32, {batch, width}), many(DType::kFloat32, {batch}), one(DType::kFloat32, {1});
    rows.FillRandom(random);
    for (const IsaLevel level : SupportedIsaLevels()) {
      const auto sum = [&](int64_t n, const TensorView& in, const TensorView& out, int threads) {
        LoopBuilder b;
        b.Result(b.Unary(LoopOp::kGelu, b.Load(BroadcastAccess(0, {Dim(n), Dim(width)}, 2), DType::kFloat32)));
        const ReduceStep step{.extents = {Dim(n), Dim(width)}, .reduced = 1, .op = ReduceOp::kSum,
                              .accumulator = DType::kFloat32, .program = std::move(b).Build(), .finish = {}};
        const TensorView inputs[] = {in}, outputs[] = {out};
        ASSERT_TRUE(LaunchStep(step, {inputs, outputs, {}}, KernelsAt(level), threads).ok());
      };
      sum(batch, rows.view(), many.view(), 3);
      for (int64_t i = 0; i < batch; ++i) {
        TensorView row = rows.view();
        row.shape = Dims{1, width};
        row.data += i * width * 4;
        sum(1, row, one.view(), 1);
        ASSERT_EQ(one.At(0).f, many.At(i).f) << "seed " << seed << " row " << i << " at " << Name(level);
      }
    }
  }
}

TEST(LoopSteps, UnsupportedThingsAreRefusedByName) {
  LoopBuilder b;
  b.Result(b.Unary(LoopOp::kExp, b.Load(BroadcastAccess(0, {Dim(4)}, 1), DType::kInt32)));
  Step step;
  step.name = "exp_0";
  step.body = MapStep{{Dim(4)}, std::move(b).Build()};
  const Status status = SupportsLoopStep(step);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(), "step 'exp_0': loop operation 'exp' on dtype int32");
}

}  // namespace
}  // namespace tondar::cpu
