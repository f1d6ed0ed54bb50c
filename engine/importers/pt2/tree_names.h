// The users' names of nested inputs and outputs.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_TREE_NAMES_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_TREE_NAMES_H_

#include <string>
#include <vector>

#include "engine/importers/pt2/program.h"

namespace tondar::pt2 {

// One name per leaf, in flat order. A root dict or dataclass gives its keys, a root tuple or list "output_<position>",
// a single tensor "output_0"; deeper keys and positions are joined with dots: "output_0.nested.tup.0". Unique.
std::vector<std::string> OutputNames(const TreeSpec& tree);

// How guards write each leaf of the inputs, in flat order: "L['pair'][1][0]", "L['p'].a". Empty if the tree is not
// that of (arguments, keyword arguments).
std::vector<std::string> InputPaths(const TreeSpec& tree, const std::vector<std::string>& argument_names);

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_TREE_NAMES_H_
