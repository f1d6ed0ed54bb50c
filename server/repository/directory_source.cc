#include "server/repository/directory_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "engine/base/log.h"

namespace tondar {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfigNames[] = {"config.pbtxt", "config.json"};
constexpr std::string_view kVersionName = "a version directory is a decimal number without leading zero";

bool IsModelFile(std::string_view name) { return name.ends_with(".pt2") || name.ends_with(".onnx"); }

Fingerprint HashName(std::string_view name) {
  Fingerprint hash = 14695981039346656037u;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

// The fingerprint of one file; 0 if it is not a regular file that can be read about.
Fingerprint OfFile(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  Fingerprint fingerprint = HashName(path.filename().native());
  for (uint64_t part : {static_cast<uint64_t>(status.st_size), static_cast<uint64_t>(status.st_ino),
                        static_cast<uint64_t>(status.st_mtim.tv_sec), static_cast<uint64_t>(status.st_mtim.tv_nsec)}) {
    fingerprint = Combine(fingerprint, part);
  }
  return fingerprint;
}

// Names of the visible entries, sorted; nullopt if the directory cannot be read.
std::optional<std::vector<std::string>> List(const fs::path& directory) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename();
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  if (error) return std::nullopt;
  std::sort(names.begin(), names.end());
  return names;
}

bool IsDirectory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// External data of an ONNX model may lie in folders. Deeper ones are left out: a symlink could lead up again.
constexpr int kMaxDepth = 4;

// 0 if the directory and its folders hold no file.
Fingerprint OfFilesIn(const fs::path& directory, int depth = 0) {
  Fingerprint all = 0;
  for (const std::string& name : List(directory).value_or(std::vector<std::string>())) {
    Fingerprint one = OfFile(directory / name);
    if (one == 0 && depth < kMaxDepth && IsDirectory(directory / name)) {
      one = OfFilesIn(directory / name, depth + 1);
      if (one != 0) one = Combine(one, HashName(name));
    }
    if (one != 0) all = Combine(all, one);
  }
  return all;
}

std::optional<int64_t> ParseVersion(std::string_view name) {
  int64_t version = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), version);
  if (error != std::errc() || end != name.data() + name.size() || version < 0) return std::nullopt;
  if (name.size() > 1 && name[0] == '0') return std::nullopt;
  return version;
}

Status CheckModelName(std::string_view name) {
  if (!name.empty() && !name.starts_with('.') && name.find('/') == std::string_view::npos &&
      name.find('\0') == std::string_view::npos) {
    return OkStatus();
  }
  return InvalidArgument("model name '{}' is not the name of a directory; send the name of a directory in the model "
                         "repository", name);
}

}  // namespace

Fingerprint Combine(Fingerprint a, Fingerprint b) {  // splitmix64's finaliser over both
  uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

bool LooksLikeModel(const FoundModel& found) {
  return found.config != 0 || !found.versions.empty() || !found.skipped.empty();
}

RepositoryScan DirectorySource::Scan() {
  RepositoryScan scan;
  for (const std::string& root : roots_) {
    const auto names = List(root);
    if (!names || names->empty()) {
      scan.silent_roots.push_back(root);
      continue;
    }
    for (const std::string& name : *names) {
      if (!IsDirectory(fs::path(root) / name)) continue;
      FoundModel found = ReadModel(root, name);
      auto [entry, first] = scan.models.try_emplace(name, std::move(found));
      if (!first) {
        entry->second.conflict = fmt::format("model '{}' is in more than one repository: {} and {}; remove one of them",
                                             name, entry->second.directory, (fs::path(root) / name).native());
      }
    }
  }
  return scan;
}

Result<FoundModel> DirectorySource::ScanModel(std::string_view name) {
  TONDAR_RETURN_IF_ERROR(CheckModelName(name));
  std::optional<FoundModel> found;
  for (const std::string& root : roots_) {
    if (!IsDirectory(fs::path(root) / name)) continue;
    if (!found) {
      found = ReadModel(root, std::string(name));
    } else {
      found->conflict = fmt::format("model '{}' is in more than one repository: {} and {}; remove one of them", name,
                                    found->directory, (fs::path(root) / name).native());
    }
  }
  if (!found) return NotFound("model '{}' is not in the model repository ({})", name, fmt::join(roots_, ", "));
  return *std::move(found);
}

FoundModel DirectorySource::ReadModel(const std::string& root, const std::string& name) {
  const fs::path directory = fs::path(root) / name;
  FoundModel found;
  found.name = name;
  found.root = root;
  found.directory = directory;
  for (std::string_view config : kConfigNames) {
    if (const Fingerprint one = OfFile(directory / config)) found.config = Combine(found.config, one);
  }
  const std::optional<std::vector<std::string>> entries = List(directory);
  if (!entries) found.skipped.push_back("the directory cannot be read");
  for (const std::string& entry : entries.value_or(std::vector<std::string>())) {
    const std::optional<int64_t> version = ParseVersion(entry);
    if (!IsDirectory(directory / entry)) {
      if (IsModelFile(entry)) found.skipped.push_back(fmt::format("'{}' lies beside the version directories, not in one", entry));
    } else if (!version) {
      WarnOnce(directory / entry, kVersionName);
      found.skipped.push_back(fmt::format("'{}' is skipped: {}", entry, kVersionName));
    } else if (const Fingerprint files = OfFilesIn(directory / entry)) {
      found.versions.push_back({*version, files});
    } else {
      found.skipped.push_back(fmt::format("'{}' holds no file that can be read", entry));
    }
  }
  std::sort(found.versions.begin(), found.versions.end(),
            [](const FoundVersion& a, const FoundVersion& b) { return a.version < b.version; });
  return found;
}

void DirectorySource::WarnOnce(const std::string& path, std::string_view why) {
  {
    MutexLock lock(mu_);
    if (!warned_.insert(path).second) return;
  }
  LogWarning("{}: skipped: {}", path, why);
}

}  // namespace tondar
