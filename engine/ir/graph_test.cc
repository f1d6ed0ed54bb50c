#include "engine/ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/plan/loop_builder.h"

namespace tondar {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(GraphTest, KeepsUsesWhileNodesChange) {
  Graph graph;
  Value* x = graph.AddInput("x", DType::kFloat32, {4});
  Node* first = graph.AddNode("relu", "", {x});
  Value* y = graph.AddOutput(first, "", DType::kFloat32, {4});
  Node* second = graph.AddNode("add", "", {y, y});
  Value* z = graph.AddOutput(second, "", DType::kFloat32, {4});
  graph.outputs = {z};

  EXPECT_THAT(y->users, ElementsAre(second, second));
  graph.SetInput(second, 0, x);
  EXPECT_THAT(y->users, ElementsAre(second));
  EXPECT_THAT(x->users, ElementsAre(first, second));
  graph.ReplaceAllUses(y, x);
  EXPECT_FALSE(graph.IsUsed(y));
  graph.Erase(first);
  EXPECT_THAT(graph.NodeList(), ElementsAre(second));
  EXPECT_THAT(x->users, ElementsAre(second, second));
  EXPECT_TRUE(VerifyGraph(graph).ok()) << VerifyGraph(graph).ToString();
}

TEST(GraphTest, ReplacesGraphOutputs) {
  Graph graph;
  Value* x = graph.AddInput("x", DType::kFloat32, {4});
  Value* y = graph.AddOutput(graph.AddNode("alias", "", {x}), "", DType::kFloat32, {4});
  graph.outputs = {y, y};
  graph.ReplaceAllUses(y, x);
  EXPECT_THAT(graph.outputs, ElementsAre(x, x));
}

TEST(GraphTest, MakesNamesUnique) {
  Graph graph;
  EXPECT_EQ(graph.AddInput("x", DType::kFloat32, {})->name, "x");
  EXPECT_EQ(graph.AddInput("x_1", DType::kFloat32, {})->name, "x_1");
  EXPECT_EQ(graph.AddInput("x", DType::kFloat32, {})->name, "x_2");
  EXPECT_EQ(graph.AddNode("x", "", {})->name, "x") << "nodes and values are named apart";
}

TEST(GraphTest, InsertsAndMovesNodes) {
  Graph graph;
  Value* x = graph.AddInput("x", DType::kFloat32, {4});
  Node* a = graph.AddNode("relu", "a", {x});
  Node* c = graph.AddNode("relu", "c", {x});
  Node* b = graph.AddNode("relu", "b", {x}, c);
  EXPECT_THAT(graph.NodeList(), ElementsAre(a, b, c));
  graph.Move(c, a);
  EXPECT_THAT(graph.NodeList(), ElementsAre(c, a, b));
}

TEST(VerifyGraphTest, RefusesUseBeforeDefinition) {
  Graph graph;
  Value* x = graph.AddInput("x", DType::kFloat32, {4});
  Node* a = graph.AddNode("relu", "a", {x});
  Value* y = graph.AddOutput(a, "y", DType::kFloat32, {4});
  Node* b = graph.AddNode("relu", "b", {y});
  graph.outputs = {graph.AddOutput(b, "z", DType::kFloat32, {4})};
  ASSERT_TRUE(VerifyGraph(graph).ok());
  graph.Move(b, a);
  EXPECT_THAT(VerifyGraph(graph).ToString(), HasSubstr("'b' (relu) reads 'y' before it is made"));
}

TEST(VerifyGraphTest, RefusesAMapWhoseProgramGivesAnotherDType) {
  Graph graph;
  Value* x = graph.AddInput("x", DType::kFloat32, {4});
  MapStep map{{4}, {}};
  LoopBuilder builder;
  builder.Result(builder.Load(BroadcastAccess(0, {4}, 1), DType::kFloat32));
  map.program = std::move(builder).Build();
  graph.outputs = {graph.AddStep(map, "copy", {x}, DType::kFloat64, {4})->outputs[0]};
  EXPECT_THAT(VerifyGraph(graph).ToString(), HasSubstr("float64"));
}

}  // namespace
}  // namespace tondar
