#include "engine/base/file_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace tondar {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FileSourceTest : public ::testing::Test {
 protected:
  FileSourceTest() { directory_ = fs::path(mkdtemp(pattern_.data())); }
  ~FileSourceTest() override { fs::remove_all(directory_); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return directory_ / name;
  }
  // As old as a file that was copied a while ago, so that a write in the same tick of the clock shows.
  static void Age(const std::string& path) {
    fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  }
  static std::string Text(const OwnedBytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size()};
  }
  static std::string All(const FileSource& file) { return Text(ReadBytes(file, 0, file.size()).value()); }

  std::string pattern_ = (fs::temp_directory_path() / "tondar_test_XXXXXX").string();
  fs::path directory_;
};

TEST_F(FileSourceTest, ReadsTheFileThatWasOpenedWhateverBecomesOfItsName) {
  const std::string path = Write("a", "one");
  const auto file = FileSource::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ((*file)->name(), path);
  fs::rename(Write("b", "another"), path);
  EXPECT_EQ(All(**file), "one");
  fs::remove(path);
  EXPECT_EQ(All(**file), "one");
  EXPECT_TRUE((*file)->CheckUnchanged().ok()) << "a new name is no change";
}

TEST_F(FileSourceTest, WhatWasReadStaysWhenTheFileIsOverwrittenOrCutOff) {
  const std::string text(300'000, 'a');  // some pages
  const std::string path = Write("a", text);
  Age(path);
  const auto file = FileSource::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  const OwnedBytes bytes = ReadBytes(**file, 0, (*file)->size()).value();
  Write("a", std::string(300'000, 'b'));
  EXPECT_EQ(Text(bytes), text);
  EXPECT_EQ((*file)->CheckUnchanged().code(), StatusCode::kUnavailable);
  fs::resize_file(path, 0);
  EXPECT_EQ(Text(bytes), text);
  EXPECT_THAT(std::string((*file)->CheckUnchanged().message()), HasSubstr("it had 300000 bytes and has 0"));
}

TEST_F(FileSourceTest, AFileThatShrinksWhileItIsReadIsAnErrorAndNoSignal) {
  const std::string path = Write("a", std::string(300'000, 'a'));
  const auto file = FileSource::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  fs::resize_file(path, 100'000);
  const auto bytes = ReadBytes(**file, 0, (*file)->size());
  EXPECT_EQ(bytes.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(bytes.status().message()),
              HasSubstr("changed while it was read: it ends at byte 100000 of 300000"));
}

TEST_F(FileSourceTest, RefusesPlacesOutsideTheFile) {
  const auto file = FileSource::Open(Write("a", "abc"));
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(Text(ReadBytes(**file, 1, 2).value()), "bc");
  EXPECT_EQ(Text(ReadBytes(**file, 3, 0).value()), "");
  for (const auto& [offset, size] : {std::pair<uint64_t, uint64_t>{1, 3}, {4, 0}, {2, UINT64_MAX}, {UINT64_MAX, 2}}) {
    EXPECT_EQ(ReadBytes(**file, offset, size).status().code(), StatusCode::kOutOfRange) << offset << " " << size;
  }
}

TEST_F(FileSourceTest, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(FileSource::Open(directory_ / "none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(FileSource::Open(Write("file", "x") + "/below").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(FileSource::Open(directory_).status().code(), StatusCode::kInvalidArgument);
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(FileSource::Open(directory_ / "pipe").status().code(), StatusCode::kInvalidArgument) << "without waiting";
}

TEST(AllocateSharedTest, IsAlignedForEverySize) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65'535}, size_t{65'536}, size_t{9'000'001}}) {
    const std::shared_ptr<std::byte> bytes = AllocateShared(size);
    ASSERT_NE(bytes, nullptr) << size;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.get()) % 64, 0u) << size;
    if (size > 0) bytes.get()[size - 1] = std::byte{1};
  }
  EXPECT_EQ(AllocateShared(size_t{1} << 60), nullptr) << "refused, and nothing thrown";
}

}  // namespace
}  // namespace tondar
