// Every operator against the values of the framework it comes from, through inference, lowering, passes and the
// interpreter.
#include <gtest/gtest.h>

#include "engine/ops/lowering.h"
#include "engine/ops/testing/interpreter.h"
#include "engine/passes/pipeline.h"
#include "tests/golden/golden_case.h"

namespace tondar {
namespace {

Status LowerAndVerify(Graph& graph) {
  TONDAR_RETURN_IF_ERROR(VerifyGraph(graph));
  TONDAR_RETURN_IF_ERROR(DecomposeGraph(graph));
  TONDAR_RETURN_IF_ERROR(VerifyGraph(graph).Annotated("decomposed"));
  TONDAR_RETURN_IF_ERROR(LowerGraph(graph));
  return VerifyGraph(graph).Annotated("lowered");
}

Status RunPasses(Graph& graph) { return Optimise(graph, {}); }

Result<std::vector<Constant>> RunCase(const GoldenCase& golden, std::vector<int64_t>* symbols = nullptr,
                                      Status (*lower)(Graph& graph) = LowerAndVerify) {
  TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, BuildGraph(golden, symbols));
  TONDAR_RETURN_IF_ERROR(lower(*graph));
  const std::vector<int64_t> none;
  const std::vector<int64_t>& values = symbols == nullptr ? none : *symbols;
  for (const ShapeCheck& check : graph->checks) {
    if (check.left.Evaluate(values) != check.right.Evaluate(values)) return InvalidArgument("check fails: {}", check.where);
  }
  return Interpret(*graph, golden.inputs, values);
}

class Golden : public testing::TestWithParam<size_t> {
 protected:
  const GoldenCase& golden() const { return GoldenCases()[GetParam()]; }
};

TEST_P(Golden, AgreesWithTheSource) {
  const Result<std::vector<Constant>> actual = RunCase(golden());
  if (golden().error) {
    ASSERT_FALSE(actual.ok()) << "expected " << *golden().error;
    EXPECT_EQ(StatusCodeName(actual.status().code()), *golden().error) << actual.status().ToString();
    return;
  }
  ASSERT_TRUE(actual.ok()) << actual.status().ToString();
  EXPECT_EQ(Difference(golden(), *actual), "");
}

// Sizes that are known only at run time may be refused, but never give other results.
TEST_P(Golden, AgreesWithTheSourceForSymbolicSizes) {
  if (golden().error) return;
  std::vector<int64_t> symbols;
  const Result<std::vector<Constant>> actual = RunCase(golden(), &symbols);
  if (!actual.ok() && actual.status().code() == StatusCode::kUnimplemented) {
    GTEST_SKIP() << actual.status().message();
  }
  ASSERT_TRUE(actual.ok()) << actual.status().ToString();
  EXPECT_EQ(Difference(golden(), *actual), "");
}

TEST_P(Golden, AgreesWithTheSourceAfterAllPasses) {
  if (golden().error) return;
  const Result<std::vector<Constant>> actual = RunCase(golden(), nullptr, RunPasses);
  ASSERT_TRUE(actual.ok()) << actual.status().ToString();
  EXPECT_EQ(Difference(golden(), *actual), "");
}

TEST_P(Golden, SurvivesTheTextForm) {
  if (golden().error) return;
  const Result<std::unique_ptr<Graph>> graph = BuildGraph(golden());
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const std::string text = ToText(**graph);
  const Result<std::unique_ptr<Graph>> parsed = ParseGraph(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString() << "\n" << text;
  EXPECT_EQ(ToText(**parsed), text);
}

std::vector<size_t> AllCases() {
  std::vector<size_t> indices(GoldenCases().size());
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  return indices;
}

INSTANTIATE_TEST_SUITE_P(Ops, Golden, testing::ValuesIn(AllCases()),
                         [](const auto& info) { return GoldenCases()[info.param].name; });

}  // namespace
}  // namespace tondar
