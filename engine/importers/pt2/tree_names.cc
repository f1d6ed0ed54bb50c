#include "engine/importers/pt2/tree_names.h"

#include <fmt/core.h>

#include <set>

namespace tondar::pt2 {
namespace {

// "a" of a dict or dataclass, else the position.
std::string KeyOf(const TreeSpec& tree, size_t child) {
  return tree.keys.empty() ? fmt::format("{}", child) : tree.keys[child];
}

void CollectNames(const TreeSpec& tree, const std::string& name, std::vector<std::string>& names) {
  if (tree.IsLeaf()) {
    names.push_back(name);
    return;
  }
  for (size_t i = 0; i < tree.children.size(); ++i) {
    CollectNames(tree.children[i], fmt::format("{}.{}", name, KeyOf(tree, i)), names);
  }
}

void CollectPaths(const TreeSpec& tree, const std::string& path, std::vector<std::string>& paths) {
  if (tree.IsLeaf()) {
    paths.push_back(path);
    return;
  }
  for (size_t i = 0; i < tree.children.size(); ++i) {
    const std::string access = tree.keys.empty()  ? fmt::format("[{}]", i)
                               : tree.attributes ? fmt::format(".{}", tree.keys[i])
                                                 : fmt::format("['{}']", tree.keys[i]);
    CollectPaths(tree.children[i], path + access, paths);
  }
}

}  // namespace

std::vector<std::string> OutputNames(const TreeSpec& tree) {
  std::vector<std::string> names;
  if (tree.IsLeaf()) CollectNames(tree, "output_0", names);
  for (size_t i = 0; i < tree.children.size(); ++i) {
    CollectNames(tree.children[i], tree.keys.empty() ? fmt::format("output_{}", i) : tree.keys[i], names);
  }
  std::set<std::string> taken;
  for (std::string& name : names) {  // {"a.b": x, "a": {"b": y}}
    while (!taken.insert(name).second) name += "_";
  }
  return names;
}

std::vector<std::string> InputPaths(const TreeSpec& tree, const std::vector<std::string>& argument_names) {
  std::vector<std::string> paths;
  if (tree.children.size() != 2) return paths;
  const TreeSpec &positional = tree.children[0], &keyword = tree.children[1];
  for (size_t i = 0; i < positional.children.size(); ++i) {
    const std::string name = i < argument_names.size() ? argument_names[i] : fmt::format("?{}", i);
    CollectPaths(positional.children[i], fmt::format("L['{}']", name), paths);
  }
  for (size_t i = 0; i < keyword.children.size(); ++i) {
    CollectPaths(keyword.children[i], fmt::format("L['{}']", KeyOf(keyword, i)), paths);
  }
  return paths;
}

}  // namespace tondar::pt2
