#include "engine/ops/op_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ops/lowering.h"

namespace tondar {
namespace {

using testing::HasSubstr;

TEST(ParseSignature, ReadsKindsAndDefaults) {
  const auto formals = ParseSignature(
      "(Tensor(a!) self, Tensor? bias=None, Tensor[] xs, SymInt[2] stride=1, *, Scalar alpha=1, float eps=1e-05, "
      "str mode='none', ScalarType? dtype=None, bool flag=True)");
  ASSERT_TRUE(formals.ok()) << formals.status().ToString();
  ASSERT_EQ(formals->size(), 9u);
  EXPECT_EQ((*formals)[0].type, "Tensor");
  EXPECT_EQ((*formals)[0].kind, Formal::Kind::kTensor);
  EXPECT_EQ((*formals)[1].kind, Formal::Kind::kOptionalTensor);
  EXPECT_EQ((*formals)[2].kind, Formal::Kind::kTensorList);
  EXPECT_EQ((*formals)[3].default_value, Attribute(Shape{Dim(1), Dim(1)}));
  EXPECT_EQ((*formals)[4].default_value, Attribute(Dim(1)));
  EXPECT_EQ((*formals)[5].default_value, Attribute(1e-5));
  EXPECT_EQ((*formals)[6].default_value, Attribute(std::string("none")));
  EXPECT_EQ((*formals)[7].default_value, Attribute(std::monostate()));
  EXPECT_EQ((*formals)[8].default_value, Attribute(true));
}

TEST(ParseSignature, RefusesWhatIsNoArgumentList) {
  EXPECT_EQ(ParseSignature("Tensor self").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseSignature("(Tensor)").status().code(), StatusCode::kInvalidArgument);
}

class AddSourceOpTest : public testing::Test {
 protected:
  Graph graph_;
  Value* x_ = graph_.AddInput("x", DType::kFloat32, {Dim(2), Dim(3)});
  Value* ints_ = graph_.AddInput("ints", DType::kInt32, {Dim(2), Dim(3)});
};

TEST_F(AddSourceOpTest, KeepsANumberInATensorsPlace) {
  const auto node = AddSourceOp(graph_, "aten.add.Tensor", "a", {ints_, nullptr}, {}, {{"other", 1.5}});
  ASSERT_TRUE(node.ok()) << node.status().ToString();
  EXPECT_EQ((*node)->inputs[1], nullptr);
  EXPECT_EQ((*node)->outputs[0]->dtype, DType::kFloat32);
}

TEST_F(AddSourceOpTest, AdaptsArgumentsByName) {
  const auto node = AddSourceOp(graph_, "aten.native_layer_norm.default", "n", {x_, nullptr, nullptr}, {},
                                {{"normalized_shape", Shape{Dim(3)}}, {"eps", 0.5}});
  ASSERT_TRUE(node.ok()) << node.status().ToString();
  EXPECT_EQ((*node)->op, "layer_norm");
  EXPECT_EQ(Arguments(**node).Number("eps"), 0.5);
}

TEST_F(AddSourceOpTest, GivesInPlaceResultsTheDTypeOfWhatTheyOverwrite) {
  Value* wide = graph_.AddInput("wide", DType::kFloat64, {Dim(2), Dim(3)});
  const auto node = AddSourceOp(graph_, "aten.add_.Tensor", "a", {x_, wide}, {}, {});
  ASSERT_TRUE(node.ok()) << node.status().ToString();
  EXPECT_EQ((*node)->outputs[0]->dtype, DType::kFloat32);
}

TEST_F(AddSourceOpTest, NamesOperatorNodeAndArgumentInErrors) {
  EXPECT_EQ(AddSourceOp(graph_, "aten.nonesuch.default", "n", {}, {}, {}).status().code(), StatusCode::kNotFound);
  const auto missing = AddSourceOp(graph_, "aten.permute.default", "p", {x_}, {}, {});
  EXPECT_EQ(missing.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(missing.status().ToString(), HasSubstr("'p'"));
  EXPECT_THAT(missing.status().ToString(), HasSubstr("'dims'"));
  EXPECT_TRUE(graph_.nodes().empty()) << "a refused operator leaves nothing behind";
}

TEST_F(AddSourceOpTest, AssumesEqualSymbolsAndRecordsIt) {
  graph_.symbols = {{"s0"}, {"s1"}};
  Value* a = graph_.AddInput("a", DType::kFloat32, {Dim::Symbol(0)});
  Value* b = graph_.AddInput("b", DType::kFloat32, {Dim::Symbol(1)});
  ASSERT_TRUE(AddSourceOp(graph_, "aten.add.Tensor", "sum", {a, b}, {}, {}).ok());
  ASSERT_EQ(graph_.checks.size(), 1u);
  EXPECT_THAT(graph_.checks[0].where, HasSubstr("sum"));
}

TEST_F(AddSourceOpTest, ClampsSlicesByTheRangesOfSymbols) {
  graph_.symbols = {{"s0", 1, 128}};
  Value* table = graph_.AddInput("table", DType::kFloat32, {Dim(512), Dim(4)});
  const auto node = AddSourceOp(graph_, "aten.slice.Tensor", "rows", {table}, {}, {{"end", Dim::Symbol(0)}});
  ASSERT_TRUE(node.ok()) << node.status().ToString();
  EXPECT_EQ((*node)->outputs[0]->shape[0], Dim::Symbol(0));
}

TEST(OpRegistry, HasALoweringForEveryRowThatReachesIt) {
  for (const OpSchema& schema : OpRegistry::Get().all()) {
    if (schema.is_control) continue;  // made whole by importers, laid out by the compiler
    EXPECT_NE(schema.infer, nullptr) << schema.name;
    EXPECT_TRUE(schema.lower != nullptr || schema.is_view || schema.drop) << schema.name;
  }
}

TEST(LowerGraph, NamesWhatHasNoLowering) {
  Graph graph;
  graph.AddNode("nonesuch", "odd", {});
  const Status status = LowerGraph(graph);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.ToString(), HasSubstr("nonesuch"));
}

}  // namespace
}  // namespace tondar
