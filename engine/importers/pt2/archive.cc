#include "engine/importers/pt2/archive.h"

#include <utility>

#include "engine/importers/pt2/json_view.h"

namespace tondar::pt2 {
namespace {

constexpr std::string_view kModels = "models/", kJson = ".json";

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

Archive::Archive(ZipReader zip) : zip_(std::move(zip)) {
  if (zip_.records().empty()) return;
  const std::string& first = zip_.records()[0].name;
  const size_t slash = first.find('/');
  if (slash != first.npos) root_ = first.substr(0, slash + 1);
}

const ZipRecord* Archive::Find(std::string_view name) const { return zip_.Find(fmt::format("{}{}", root_, name)); }

std::vector<std::string> Archive::Programs() const {
  std::vector<std::string> names;
  for (const ZipRecord& record : zip_.records()) {
    std::string_view name = record.name;
    if (!name.starts_with(root_)) continue;
    name.remove_prefix(root_.size());
    if (!name.starts_with(kModels) || !name.ends_with(kJson)) continue;
    name = name.substr(kModels.size(), name.size() - kModels.size() - kJson.size());
    if (!name.empty() && name.find('/') == name.npos) names.emplace_back(name);
  }
  return names;
}

void Archive::CheckFormat(Problems& problems) const {
  struct Fixed {
    std::string_view record, expected, fix;
    bool broken;
  };
  constexpr Fixed kFixed[] = {
      {"archive_format", "pt2", "", true},
      {"archive_version", "0", "; export with a release of PyTorch that writes version 0", false},
      {"byteorder", "little", "; export on a little-endian machine", false},
  };
  for (const Fixed& fixed : kFixed) {
    const ZipRecord* record = Find(fixed.record);
    if (record == nullptr) continue;  // early writers left them out
    const std::optional<std::string> text = ReadText(*record, problems);
    if (!text || Trimmed(*text) == fixed.expected) continue;
    const std::string what =
        fmt::format("{} is '{}', expected '{}'{}", fixed.record, text->substr(0, 40), fixed.expected, fixed.fix);
    if (fixed.broken) {
      problems.Broken("{}", what);
    } else {
      problems.Unsupported(what, "");
    }
  }
}

std::optional<std::string> Archive::ReadText(const ZipRecord& record, Problems& problems) const {
  if (record.size > kMaxJsonBytes) {
    problems.Broken("record '{}': {} bytes, at most {} are read", record.name, record.size, kMaxJsonBytes);
    return std::nullopt;
  }
  const std::optional<OwnedBytes> bytes = Read(record, problems);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->bytes.data()), bytes->bytes.size());
}

std::optional<OwnedBytes> Archive::Read(const ZipRecord& record, Problems& problems) const {
  Result<OwnedBytes> bytes = zip_.Read(record);
  if (bytes.ok()) return *std::move(bytes);
  std::string_view message = bytes.status().message();
  if (message.starts_with(zip_.name() + ": ")) message.remove_prefix(zip_.name().size() + 2);
  problems.Broken("{}", message);
  return std::nullopt;
}

}  // namespace tondar::pt2
