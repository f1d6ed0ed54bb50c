// DirectorySource: what the repository directories hold.
//
//   DIR/NAME/[config.pbtxt|config.json]
//   DIR/NAME/<version>/model.pt2 or model.onnx, and files beside it
#ifndef TONDAR_SERVER_REPOSITORY_DIRECTORY_SOURCE_H_
#define TONDAR_SERVER_REPOSITORY_DIRECTORY_SOURCE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/base/status.h"

namespace tondar {

// A number that differs whenever a file was written, replaced, added or removed: over names, sizes, modification times
// in nanoseconds and inodes. Any difference counts, not only a newer time: rolling back to an older file is a change,
// and so is a symlink that points elsewhere.
using Fingerprint = uint64_t;
Fingerprint Combine(Fingerprint a, Fingerprint b);

struct FoundVersion {
  int64_t version = 0;
  Fingerprint fingerprint = 0;  // of all files in the version's directory and its folders
};

struct FoundModel {
  std::string name;
  std::string root;       // the repository
  std::string directory;  // root/name
  Fingerprint config = 0;              // of config.pbtxt and config.json; 0 if there is neither
  std::vector<FoundVersion> versions;  // ascending; directories without a file are left out, a copy begins so
  std::vector<std::string> skipped;    // what was no version, and why: "'v1' is no decimal number ..."
  std::string conflict;                // why it cannot be told which model is meant; else ""
};

struct RepositoryScan {
  std::map<std::string, FoundModel, std::less<>> models;
  // Roots that cannot be read, or are empty: nothing may be concluded about their models (an unmounted volume, say).
  std::vector<std::string> silent_roots;
};

// True if someone meant the directory to be a model: it has a configuration, or something that may be a version. An empty
// one (a volume's lost+found, say) is none.
bool LooksLikeModel(const FoundModel& found);

// Reads directories, never files. Skips hidden names and, with one warning each, version directories that are not
// decimal numbers without leading zero. Follows symlinks. Thread-safe; blocks on the file system.
class DirectorySource {
 public:
  explicit DirectorySource(std::vector<std::string> roots) : roots_(std::move(roots)) {}

  RepositoryScan Scan() TONDAR_EXCLUDES(mu_);

  // NotFound: no repository has this model. InvalidArgument: the name is not that of a directory.
  Result<FoundModel> ScanModel(std::string_view name) TONDAR_EXCLUDES(mu_);

  const std::vector<std::string>& roots() const { return roots_; }

 private:
  FoundModel ReadModel(const std::string& root, const std::string& name) TONDAR_EXCLUDES(mu_);
  void WarnOnce(const std::string& path, std::string_view why) TONDAR_EXCLUDES(mu_);

  const std::vector<std::string> roots_;
  Mutex mu_;
  std::set<std::string> warned_ TONDAR_GUARDED_BY(mu_);
};

}  // namespace tondar

#endif  // TONDAR_SERVER_REPOSITORY_DIRECTORY_SOURCE_H_
