#include "server/repository/directory_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "server/repository/testing/repository_bench.h"

namespace tondar {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryDirectory;

std::vector<int64_t> VersionsOf(const FoundModel& found) {
  std::vector<int64_t> versions;
  for (const FoundVersion& version : found.versions) versions.push_back(version.version);
  return versions;
}

class DirectorySourceTest : public ::testing::Test {
 protected:
  Fingerprint Of(const std::string& model, size_t version = 0) {
    return source_.Scan().models.at(model).versions.at(version).fingerprint;
  }
  TemporaryDirectory directory_, other_;
  DirectorySource source_{{directory_.path(), other_.path()}};
};

TEST_F(DirectorySourceTest, FindsModelsAndVersions) {
  for (const char* file : {"a/1/model.pt2", "a/10/model.pt2", "a/2/model.onnx", "a/config.pbtxt", "b/3/model.pt2",
                           "a/01/model.pt2", "a/x/model.pt2", "a/-1/model.pt2", "a/.4/model.pt2", ".c/1/model.pt2",
                           "a/99999999999999999999/model.pt2", "notes.txt"}) {
    directory_.Write(file, "1");
  }
  fs::create_directories(fs::path(directory_.path()) / "a/5");  // a copy that has just begun
  const RepositoryScan scan = source_.Scan();
  ASSERT_EQ(scan.models.size(), 2u);
  EXPECT_THAT(VersionsOf(scan.models.at("a")), ElementsAre(1, 2, 10));
  EXPECT_NE(scan.models.at("a").config, 0u);
  EXPECT_EQ(scan.models.at("b").config, 0u);
  EXPECT_THAT(scan.silent_roots, ElementsAre(other_.path()));
}

TEST_F(DirectorySourceTest, EveryChangeOfAFileShows) {
  directory_.Write("a/1/model.pt2", "one");
  const fs::path file = fs::path(directory_.path()) / "a/1/model.pt2";
  std::set<Fingerprint> seen{Of("a")};
  EXPECT_EQ(Of("a"), *seen.begin()) << "nothing changed";
  std::ofstream(file) << "longer";
  EXPECT_TRUE(seen.insert(Of("a")).second) << "another size";
  fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(1));
  EXPECT_TRUE(seen.insert(Of("a")).second) << "an older time is a change too";
  directory_.Write("a/1/weights.bin", "w");
  EXPECT_TRUE(seen.insert(Of("a")).second) << "a file beside it";
  directory_.Write("a/1/data/weights.bin", "w");
  EXPECT_TRUE(seen.insert(Of("a")).second) << "a file in a folder";
  directory_.Write("a/1/data/weights.bin", "longer");
  EXPECT_TRUE(seen.insert(Of("a")).second) << "written again";
}

TEST_F(DirectorySourceTest, FollowsASymlinkThatIsSwitched) {
  directory_.Write("store/x/model.pt2", "same");
  directory_.Write("store/y/model.pt2", "same");
  const fs::path root = directory_.path(), link = root / "a/1";
  fs::create_directories(root / "a");
  fs::create_directory_symlink(root / "store/x", link);
  const Fingerprint before = Of("a");
  fs::remove(link);
  fs::create_directory_symlink(root / "store/y", link);
  EXPECT_NE(Of("a"), before);
}

TEST_F(DirectorySourceTest, AModelInTwoRepositoriesIsAConflict) {
  directory_.Write("a/1/model.pt2", "1");
  other_.Write("a/1/model.pt2", "1");
  EXPECT_THAT(source_.Scan().models.at("a").conflict, HasSubstr("more than one repository"));
  EXPECT_THAT(source_.ScanModel("a")->conflict, HasSubstr("more than one repository"));
}

TEST_F(DirectorySourceTest, ScanModelRefusesNamesThatAreNotNames) {
  directory_.Write("a/1/model.pt2", "1");
  EXPECT_EQ(source_.ScanModel("a")->versions.size(), 1u);
  EXPECT_EQ(source_.ScanModel("b").status().code(), StatusCode::kNotFound);
  for (const std::string& name : {std::string(), std::string(".."), std::string("../x"), std::string("a/1"), std::string("/etc"), std::string("a\0b", 3)}) {
    EXPECT_EQ(source_.ScanModel(name).status().code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(source_.ScanModel(std::string(1000, 'n')).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tondar
