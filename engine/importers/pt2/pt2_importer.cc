#include "engine/importers/pt2/pt2_importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/importers/foreign_formats.h"
#include "engine/importers/pt2/archive.h"
#include "engine/importers/pt2/graph_builder.h"
#include "engine/importers/pt2/program_reader.h"
#include "engine/importers/pt2/weights.h"

namespace tondar {
namespace pt2 {
namespace {

// "model" as torch.export.save calls it; another name if it is the only one. Empty with a problem added otherwise.
std::string ChooseProgram(const std::vector<std::string>& programs, Problems& problems) {
  constexpr std::string_view kDefault = "model";
  if (std::find(programs.begin(), programs.end(), kDefault) != programs.end()) return std::string(kDefault);
  if (programs.size() == 1) return programs[0];
  problems.Broken("holds the programs {}, none of them called '{}'; save one program per file",
                  fmt::join(programs, ", "), kDefault);
  return {};
}

Result<ImportedModel> Describe(const ByteSource& file) {
  const std::string& path = file.name();
  TONDAR_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::Open(file));
  const Archive archive(std::move(zip));
  const std::vector<std::string> programs = archive.Programs();
  if (programs.empty()) return DescribeForeignFormat(file);

  Problems problems(path);
  archive.CheckFormat(problems);
  const std::string name = ChooseProgram(programs, problems);
  if (name.empty()) return problems.ToStatus();
  const std::string record = fmt::format("models/{}.json", name);
  const std::optional<std::string> text = archive.ReadText(*archive.Find(record), problems);
  Weights weights(archive, name, problems);
  if (!text) return problems.ToStatus();
  const std::unique_ptr<Program> program = ReadProgram(record, *text, problems);
  if (problems.any_broken()) return problems.ToStatus();

  ImportedModel model = BuildModel(*program, weights, problems);
  if (problems.any_broken()) return problems.ToStatus();
  model.refusal = problems.ToStatus();
  model.graph->name = name;
  return model;
}

Result<ImportedModel> Import(const ByteSource& file) { return FitForUse(Describe(file), file.name()); }

// A broken archive is ours too, so that the message says what is wrong with it.
bool Matches(const ByteSource& file) {
  if (!LooksLikeZip(file)) return false;
  Result<ZipReader> zip = ZipReader::Open(file);
  return !zip.ok() || !Archive(*std::move(zip)).Programs().empty();
}

}  // namespace
}  // namespace pt2

const Importer kPt2Importer = {.name = "pt2", .matches = pt2::Matches, .import = pt2::Import, .describe = pt2::Describe};

}  // namespace tondar
