#include "engine/base/mapped_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tondar {
namespace {

namespace fs = std::filesystem;

class MappedFileTest : public ::testing::Test {
 protected:
  MappedFileTest() { directory_ = fs::path(mkdtemp(pattern_.data())); }
  ~MappedFileTest() override { fs::remove_all(directory_); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return directory_ / name;
  }
  static std::string Text(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }

  std::string pattern_ = (fs::temp_directory_path() / "tondar_test_XXXXXX").string();
  fs::path directory_;
};

TEST_F(MappedFileTest, HoldsTheBytesWhateverBecomesOfTheName) {
  const std::string path = Write("a", "one");
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ((*file)->path(), path);
  fs::rename(Write("b", "another"), path);
  EXPECT_EQ(Text(**file), "one");
  fs::remove(path);
  EXPECT_EQ(Text(**file), "one");
}

TEST_F(MappedFileTest, AnEmptyFileHasNoBytes) {
  const auto file = MappedFile::Open(Write("empty", ""));
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_TRUE((*file)->bytes().empty());
}

TEST_F(MappedFileTest, SaysWhyAFileCannotBeMapped) {
  EXPECT_EQ(MappedFile::Open(directory_ / "none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(MappedFile::Open(Write("file", "x") + "/below").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(MappedFile::Open(directory_).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tondar
