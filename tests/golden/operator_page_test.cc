// docs/operators.md says which operators there are, and of the core ATen ones which are not and why. This keeps it true.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "engine/ops/op_schema.h"

namespace tondar {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::string> CoreAten() {
  std::ifstream stream(TONDAR_SOURCE_DIR "/tests/golden/core_aten.txt");
  std::vector<std::string> names;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line[0] != '#') names.push_back(line);
  }
  return names;
}

// Why an operator without a row is none, by a part of its name; what is not listed here must have a row.
struct Reason {
  std::string_view part, text;
};
constexpr Reason kReasons[] = {
    {"_backward.", "no: a gradient"},
    {".out", "no: writes into an argument; exported programs are functional"},
    {"aten.sym_", "yes: sizes are computed when a plan is made"},
    {"aten._local_scalar_dense.", "yes: the value becomes a size, or a 0-d tensor"},
    {"aten.resize_.", "no: changes the size of a tensor in place"},
    {"aten._native_batch_norm_legit.default", "no: batch statistics of training"},
    {"aten.native_dropout.", "no: training"},
    {"aten.rand", "no: random numbers"},
    {"aten._fft_", "no: complex numbers"},
};

std::string_view ReasonFor(std::string_view name) {
  const auto found = std::find_if(std::begin(kReasons), std::end(kReasons), [&](const Reason& reason) { return name.find(reason.part) != name.npos; });
  return found == std::end(kReasons) ? "" : found->text;
}

std::string CoreTable() {
  std::string table = "| core ATen operator | served |\n|---|---|\n";
  for (const std::string& name : CoreAten()) {
    const bool known = OpRegistry::Get().FindSource(name).schema != nullptr;
    table += "| `" + name + "` | " + (known ? "yes" : std::string(ReasonFor(name))) + " |\n";
  }
  return table;
}

std::string SourceTable() {
  std::map<std::string, std::vector<std::string>> by_space;  // "aten": overloads, sorted
  for (const OpSchema& schema : OpRegistry::Get().all()) {
    for (const SourceForm& form : schema.sources) by_space[form.name.substr(0, form.name.find('.'))].push_back(form.name);
  }
  std::string text;
  for (auto& [space, names] : by_space) {
    std::sort(names.begin(), names.end());
    text += "\n## " + space + "\n\n```\n";
    for (const std::string& name : names) text += name + "\n";
    text += "```\n";
  }
  return text;
}

std::string Page() {
  return "# Operators of exported programs\n\nWritten by `tests/golden/operator_page_test.cc` from the operator table. In-place forms (`add_`) and second names (`greater`) of these "
         "are understood, too; control flow (`cond`, `while_loop`, `scan`, `map`, regions of `autocast` and `set_grad_enabled`) is the importer's. ONNX operators "
         "are in `engine/importers/onnx`; `tondar inspect FILE` says what a file needs that is missing.\n\n" +
         CoreTable() + SourceTable();
}

TEST(OperatorPage, SaysWhyEveryCoreOperatorIsOrIsNot) {
  for (const std::string& name : CoreAten()) {
    const bool known = OpRegistry::Get().FindSource(name).schema != nullptr;
    EXPECT_TRUE(known || !ReasonFor(name).empty()) << name << " is neither served nor explained";
    const bool stale = known && ReasonFor(name).starts_with("no");
    EXPECT_FALSE(stale) << name << " is served, but kReasons says why not";
  }
}

TEST(OperatorPage, IsCurrent) {
  const std::string path = TONDAR_SOURCE_DIR "/docs/operators.md";
  if (std::getenv("TONDAR_UPDATE_DOCS") != nullptr) std::ofstream(path) << Page();
  EXPECT_TRUE(ReadFile(path) == Page()) << "renew with tools/gen_docs.sh";
}

}  // namespace
}  // namespace tondar
