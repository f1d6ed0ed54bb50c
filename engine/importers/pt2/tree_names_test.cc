#include "engine/importers/pt2/tree_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tondar::pt2 {
namespace {

using testing::ElementsAre;

TreeSpec Leaf() { return {}; }
TreeSpec Tuple(std::vector<TreeSpec> children) { return {.type = "builtins.tuple", .keys = {}, .children = std::move(children)}; }
TreeSpec Dict(std::vector<std::string> keys, std::vector<TreeSpec> children) {
  return {.type = "builtins.dict", .keys = std::move(keys), .children = std::move(children)};
}

TEST(TreeNamesTest, NamesOutputs) {
  EXPECT_THAT(OutputNames(Leaf()), ElementsAre("output_0"));
  EXPECT_THAT(OutputNames(Tuple({Leaf(), Leaf()})), ElementsAre("output_0", "output_1"));
  EXPECT_THAT(OutputNames(Dict({"logits", "hidden"}, {Leaf(), Tuple({Leaf(), Leaf()})})),
              ElementsAre("logits", "hidden.0", "hidden.1"));
  EXPECT_THAT(OutputNames(Tuple({Dict({"a"}, {Tuple({Leaf()})}), Leaf()})), ElementsAre("output_0.a.0", "output_1"));
  EXPECT_THAT(OutputNames(Dict({"a.b", "a"}, {Leaf(), Dict({"b"}, {Leaf()})})), ElementsAre("a.b", "a.b_"))
      << "names are unique";
  EXPECT_THAT(OutputNames(Tuple({})), ElementsAre());
}

TEST(TreeNamesTest, WritesInputPathsAsGuardsDo) {
  TreeSpec point = Dict({"a", "b"}, {Leaf(), Leaf()});
  point.attributes = true;
  const TreeSpec inputs = Tuple({Tuple({Leaf(), Tuple({Leaf(), Leaf()}), point}), Dict({"opt"}, {Dict({"w"}, {Leaf()})})});
  EXPECT_THAT(InputPaths(inputs, {"x", "pair", "p", "opt"}),
              ElementsAre("L['x']", "L['pair'][0]", "L['pair'][1]", "L['p'].a", "L['p'].b", "L['opt']['w']"));
  EXPECT_THAT(InputPaths(Leaf(), {"x"}), ElementsAre());
}

}  // namespace
}  // namespace tondar::pt2
