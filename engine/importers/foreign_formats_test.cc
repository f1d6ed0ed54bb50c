#include "engine/importers/foreign_formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/archive/zip_writer.h"

namespace tondar {
namespace {

using testing::HasSubstr;

std::string Zip(const std::vector<std::string>& records) {
  std::string bytes;
  ZipWriter writer = ZipWriter::ToMemory(&bytes);
  for (const std::string& record : records) EXPECT_TRUE(writer.Add(record, "x").ok());
  EXPECT_TRUE(writer.Close().ok());
  return bytes;
}

Status Describe(const std::string& path, const std::string& bytes) {
  return DescribeForeignFormat(MemorySource(path, bytes));
}

TEST(ForeignFormatsTest, NamesWhatItKnows) {
  using std::string_literals::operator""s;
  struct Case {
    std::string path, bytes;
    const char* message;
  };
  const Case kCases[] = {
      {"a.pt", Zip({"a/data.pkl", "a/data/0", "a/version"}), "a.pt: this is a PyTorch checkpoint"},
      {"a.pt", Zip({"a/data.pkl", "a/code/net.py", "a/constants.pkl"}), "this is a TorchScript archive"},
      {"a.pt2", Zip({"serialized_exported_program.json", "serialized_state_dict.pt", "version"}), "torch 2.8 or older"},
      {"a.pt2", Zip({"a/data/weights/model.pt", "a/archive_format"}), "torch 2.8 or older"},
      {"a.pt2", Zip({"a/data/aotinductor/model/x.wrapper.so", "a/archive_format"}), "AOTInductor package without a program"},
      {"a.keras", Zip({"metadata.json", "model.weights.h5"}), "Keras archive"},
      {"a.pkl", "\x80\x04\x95xxxx", "Python pickle, which is never opened"},
      {"a.safetensors", "\x02\0\0\0\0\0\0\0{}"s, "safetensors file: weights without a program"},
      {"a.gguf", "GGUF\3\0\0\0", "GGUF"},
      {"a.h5", "\x89HDF\r\n\x1a\n....", "HDF5"},
      {"a.plan", "ptrt....", "TensorRT plan"},
      {"a.engine", "????????", "TensorRT plan"},
      {"a.xml", "<?xml version=\"1.0\"?>\n<net name=\"m\" version=\"11\">\n<layers>", "OpenVINO IR"},
      {"saved_model.pb", "\x08\x01\x22", "TensorFlow SavedModel"},
  };
  for (const Case& test : kCases) {
    const Status status = Describe(test.path, test.bytes);
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << test.path << " " << status.ToString();
    EXPECT_THAT(std::string(status.message()), HasSubstr(test.message));
    EXPECT_THAT(std::string(status.message()), HasSubstr("torch.export.save")) << "says how to go on";
  }
}

TEST(ForeignFormatsTest, RefusesTheRestAsInvalid) {
  for (const std::string& bytes : {std::string(), std::string("hello"), Zip({"a.txt"}), std::string("PK\3\4")}) {
    EXPECT_EQ(Describe("a", bytes).code(), StatusCode::kInvalidArgument);
  }
}

TEST(ForeignFormatsTest, KnowsFoldersOfTensorFlow) {
  const std::string folder = testing::TempDir() + "/tondar_saved_model";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(DescribeForeignFolder(folder).code(), StatusCode::kInvalidArgument);
  std::ofstream(folder + "/saved_model.pb") << "x";
  EXPECT_THAT(std::string(DescribeForeignFolder(folder).message()), HasSubstr("TensorFlow SavedModel"));
  EXPECT_TRUE(DescribeForeignFolder(folder + "/saved_model.pb").ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tondar
