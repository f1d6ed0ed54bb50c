// Guards: what the exporter assumed of the inputs' sizes, as checks of the graph.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_GUARDS_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_GUARDS_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ir/graph.h"
#include "engine/types/shape.h"

namespace tondar::pt2 {

enum class GuardKind {
  kHolds,    // follows from the shapes
  kCheck,    // may fail at run time: `check` says how to test it
  kUnknown,  // not a comparison of sizes that can be expressed
};

struct Guard {
  GuardKind kind = GuardKind::kUnknown;
  ShapeCheck check = {};
};

// What a guard's paths ("L['x']") stand for; null or nothing where they are something else.
struct GuardTerms {
  std::function<const Shape*(std::string_view path)> shape_of;          // of a tensor
  std::function<std::optional<Dim>(std::string_view path)> number_of;  // an int
};

// Reads a Python expression over sizes, "L['x'].size()[1] % 2 == 0". Orders become equalities: a <= b says
// max(a, b) == b.
Guard ReadGuard(std::string_view text, const GuardTerms& terms);
// The comparisons that "and" joins.
std::vector<std::string_view> SplitGuard(std::string_view text);

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_GUARDS_H_
