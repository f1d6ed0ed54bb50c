#include "engine/api/signature.h"

#include <gtest/gtest.h>

namespace tondar {
namespace {

// x: float32 [batch, 4], mask: int64 [batch, 2*length] -> y: float32 [batch]
Signature Sample() {
  Signature signature;
  signature.symbols = {{"batch", 1, 8}, {"length", 1, 100}};
  const Dim batch = Dim::Symbol(0), length = Dim::Symbol(1);
  signature.inputs = {{"x", DType::kFloat32, {batch, 4}}, {"mask", DType::kInt64, {batch, length * 2}}};
  signature.outputs = {{"y", DType::kFloat32, {batch}}};
  DeriveBatching(signature);
  return signature;
}

TEST(SignatureTest, FirstSharedSymbolIsTheBatch) {
  const Signature signature = Sample();
  EXPECT_TRUE(signature.batchable);
  EXPECT_EQ(signature.batch_symbol, 0);
}

TEST(SignatureTest, ABatchThatLeaksIntoAnotherExtentIsNotBatchable) {
  Signature signature = Sample();
  signature.outputs[0].shape = {Dim::Symbol(0), Dim::Symbol(0)};
  DeriveBatching(signature);
  EXPECT_FALSE(signature.batchable);
}

TEST(SignatureTest, SolvesLinearExtents) {
  const Dims shapes[] = {{3, 4}, {3, 10}};
  const auto symbols = SolveSymbols(Sample(), shapes);
  ASSERT_TRUE(symbols.ok()) << symbols.status().ToString();
  EXPECT_EQ(*symbols, (std::vector<int64_t>{3, 5}));
}

TEST(SignatureTest, ErrorsNameInputExtentAndExpectation) {
  struct Case {
    Dims x, mask;
    const char* message;
  };
  const Case cases[] = {
      {{3, 5}, {3, 10}, "input 'x': shape [3, 5] does not match [batch, 4]: extent 1 is 5, expected 4"},
      {{3}, {3, 10}, "input 'x': shape [3] has rank 1, expected 2 ([batch, 4])"},
      {{3, 4}, {2, 10}, "input 'mask': shape [2, 10] does not match [batch, 2*length]: extent 0 is 2, expected 3 (batch)"},
      {{9, 4}, {9, 10}, "input 'x': shape [9, 4] does not match [batch, 4]: extent 0 is 9, expected 1 to 8 (batch)"},
      {{3, 4}, {3, 9}, "input 'mask': shape [3, 9] does not match [batch, 2*length]: extent 1 is 9, expected 2 (2*length)"},
      {{3, 4}, {3, 400}, "the input shapes make length = 200, expected 1 to 100"},
  };
  for (const Case& c : cases) {
    const Dims shapes[] = {c.x, c.mask};
    const auto symbols = SolveSymbols(Sample(), shapes);
    EXPECT_EQ(symbols.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(symbols.status().message(), c.message);
  }
}

TEST(SignatureTest, ErrorsDoNotShowNamesThatAnExporterMadeUp) {
  Signature signature = Sample();
  signature.symbols[0].name = "s77";
  signature.symbols[1].name = "s5";
  signature.inputs.push_back({"n", DType::kInt64, {}, 1});
  EXPECT_EQ(InUserTerms(signature)[0].name, "x.shape[0]");
  EXPECT_EQ(InUserTerms(signature)[1].name, "n");
  const std::pair<std::vector<Dims>, const char*> cases[] = {
      {{{9, 4}, {9, 10}, {}}, "input 'x': shape [9, 4] does not match [-1, 4]: extent 0 is 9, expected 1 to 8"},
      {{{3, 4}, {2, 10}, {}}, "input 'mask': shape [2, 10] does not match [-1, -1]: extent 0 is 2, expected 3 (x.shape[0])"},
      {{{3, 4}, {3, 9}, {}}, "input 'mask': shape [3, 9] does not match [-1, -1]: extent 1 is 9, expected 2 (2*n)"},
  };
  for (const auto& [shapes, message] : cases) EXPECT_EQ(SolveSymbols(signature, shapes).status().message(), message);
}

TEST(SignatureTest, ExtentsAtTheEndOfTheRangeAreRefused) {
  Signature signature = Sample();
  signature.symbols[1].max = INT64_MAX;
  signature.inputs[1].shape[1] = Dim::Symbol(1) - Dim(2);
  const Dims shapes[] = {{3, 4}, {3, INT64_MAX}};
  EXPECT_EQ(SolveSymbols(signature, shapes).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tondar
