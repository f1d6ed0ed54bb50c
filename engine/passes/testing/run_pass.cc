#include "engine/passes/testing/run_pass.h"

#include <algorithm>

#include "engine/passes/passes.h"

namespace tondar {

std::string RunPass(std::string_view name, std::string_view text, const PassContext& context) {
  auto graph = ParseGraph(text);
  if (!graph.ok()) return graph.status().ToString();
  const auto passes = Pipeline();
  const auto pass = std::find_if(passes.begin(), passes.end(), [&](const Pass& p) { return p.name == name; });
  if (pass == passes.end()) return fmt::format("no pass '{}'", name);
  Status status = pass->run(*graph.value(), context);
  if (status.ok()) status = RemoveDeadCode(*graph.value(), context);
  if (status.ok()) status = VerifyGraph(*graph.value());
  return status.ok() ? ToText(*graph.value()) : status.ToString();
}

std::string NodesOf(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    if (!line.starts_with("  ")) continue;
    const bool declares = line.starts_with("  symbol ") || line.starts_with("  input ") || line.starts_with("  constant ");
    if (!declares) result += line;
  }
  return result;
}

}  // namespace tondar
