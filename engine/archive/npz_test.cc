#include "engine/archive/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <numeric>

namespace tondar {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

OwnedBytes Borrow(const std::string& text) { return {std::as_bytes(std::span(text)), nullptr}; }

std::string Npy(const std::string& dict, const std::string& content) {
  std::string file = "\x93NUMPY";
  file += {'\1', '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return file + dict + content;
}

TEST(NpyTest, WritesAndReadsEveryDType) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::kString) {
      EXPECT_EQ(NpyHeader(dtype, {2}).status().code(), StatusCode::kUnimplemented);
      continue;
    }
    for (const Dims& shape : {Dims{}, Dims{3}, Dims{2, 3}, Dims{0, 4}}) {
      std::string content(static_cast<size_t>(ElementCount(shape)) * SizeOf(dtype), '\0');
      std::iota(content.begin(), content.end(), '\0');
      auto header = NpyHeader(dtype, shape);
      ASSERT_TRUE(header.ok());
      EXPECT_EQ(header->size() % 64, 0u);
      const std::string file = *header + content;
      const auto array = ReadNpy("a", Borrow(file));
      ASSERT_TRUE(array.ok()) << array.status().ToString();
      EXPECT_EQ(array->view.shape, shape);
      EXPECT_EQ(SizeOf(array->view.dtype), SizeOf(dtype));
      const std::span<std::byte> bytes = array->view.bytes();
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), content);
    }
  }
}

TEST(NpyTest, WritesBfloat16AsItsBits) {
  const std::string header = *NpyHeader(DType::kBFloat16, {1});
  EXPECT_THAT(header, HasSubstr("{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }"));
}

TEST(NpyTest, ReadsFortranOrder) {
  const std::string file = Npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", "\1\2\3\4\5\6");
  const auto array = ReadNpy("f", Borrow(file));
  ASSERT_TRUE(array.ok()) << array.status().ToString();
  EXPECT_EQ(array->view.strides, (Dims{1, 2}));
  std::string copy;
  const auto row_major = ContiguousBytes(array->view, copy);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(row_major.data()), 6), "\1\3\5\2\4\6");
}

TEST(NpyTest, CopiesWhatIsNotAligned) {
  const std::string file = Npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", std::string(8, '\1'));
  for (size_t shift = 0; shift < 8; ++shift) {
    const std::string moved = std::string(shift, ' ') + file;
    const auto array = ReadNpy("m", {std::as_bytes(std::span(moved)).subspan(shift), nullptr});
    ASSERT_TRUE(array.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array->view.data) % 8, 0u);
    EXPECT_EQ(*array->view.as<int64_t>(), 0x0101010101010101);
  }
}

TEST(NpyTest, RefusesWhatItCannotRead) {
  struct Case {
    std::string file;
    const char* message;
  };
  const Case kCases[] = {
      {"", "not an npy array"},
      {"\x93NUMPY", "not an npy array"},
      {Npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234"), "big-endian"},
      {Npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "12345678"), "pickled"},
      {Npy("{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }", "123456789012"), "dtype '<U3'"},
      {Npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234"), "is not supported"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234"), "does not fit the 4 bytes"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "12345"), "does not fit the 5 bytes"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), }", ""),
       "does not fit"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }", ""), "does not fit"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }", "1234"), "rank 9"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "1234"), "header"},
      {Npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", "1234"), "header"},
      {Npy("{'descr': '<f4', 'shape': (1,), }", "1234"), "header"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "1234"), "header"},
      {Npy("{'descr'", ""), "header"},
  };
  for (const Case& test : kCases) {
    const auto array = ReadNpy("x", Borrow(test.file));
    ASSERT_FALSE(array.ok()) << test.message;
    EXPECT_THAT(std::string(array.status().message()), HasSubstr(test.message));
  }
}

TEST(NpzTest, ReadsFilesOfNumPy) {
  const auto npz = NpzReader::Open(TONDAR_SOURCE_DIR "/tests/fixtures/bert_thin/inputs_0.npz");
  ASSERT_TRUE(npz.ok()) << npz.status().ToString();
  EXPECT_THAT(npz->names(), ElementsAre("input_ids", "attention_mask"));
  const auto ids = npz->Get("input_ids");
  ASSERT_TRUE(ids.ok()) << ids.status().ToString();
  EXPECT_EQ(ids->view.dtype, DType::kInt64);
  EXPECT_EQ(ids->view.shape.rank(), 2);
  EXPECT_EQ(npz->Get("token_type_ids").status().code(), StatusCode::kNotFound);
}

TEST(NpzTest, WritesWhatItReads) {
  float values[6] = {1, 2, 3, 4, 5, 6};
  const TensorView rows = TensorView::Contiguous(values, DType::kFloat32, {2, 3});
  const TensorView columns{rows.data, rows.dtype, {3, 2}, {1, 3}};
  std::string file;
  NpzWriter writer = NpzWriter::ToMemory(&file);
  ASSERT_TRUE(writer.Add("rows", rows).ok());
  ASSERT_TRUE(writer.Add("output_0.columns", columns).ok());
  ASSERT_TRUE(writer.Close().ok());
  const auto npz = NpzReader::Open("m.npz", Borrow(file));
  ASSERT_TRUE(npz.ok()) << npz.status().ToString();
  EXPECT_TRUE(npz->Has("rows"));
  const auto read = npz->Get("output_0.columns");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->view.shape, (Dims{3, 2}));
  EXPECT_THAT(std::vector<float>(read->view.as<float>(), read->view.as<float>() + 6), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(NpzTest, KeepsFilesOnDisk) {
  const std::string path = testing::TempDir() + fmt::format("/tondar_npz_test_{}", ::getpid());
  int64_t value = 42;
  const TensorView scalar = TensorView::Contiguous(&value, DType::kInt64, {});
  ASSERT_TRUE(SaveNpy(path, scalar).ok());
  const auto array = LoadNpy(path);
  ASSERT_TRUE(array.ok()) << array.status().ToString();
  EXPECT_EQ(*array->view.as<int64_t>(), 42);
  auto writer = NpzWriter::Create(path);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Add("n", scalar).ok());
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_EQ(*NpzReader::Open(path)->Get("n")->view.as<int64_t>(), 42);
  std::remove(path.c_str());
  EXPECT_EQ(NpzReader::Open(path).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tondar
