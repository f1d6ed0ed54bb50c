#include "engine/archive/zip_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <functional>
#include <random>

#include "engine/archive/zip_format.h"
#include "engine/archive/zip_writer.h"
#include "engine/base/file_source.h"

namespace tondar {
namespace {

using testing::HasSubstr;

std::string Text(const OwnedBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size()};
}

// "a.txt" holds "hello", "dir/b.bin" holds 100 times 'x' at a multiple of 64.
std::string SmallArchive() {
  std::string out;
  ZipWriter writer = ZipWriter::ToMemory(&out);
  EXPECT_TRUE(writer.Add("a.txt", "hello").ok());
  EXPECT_TRUE(writer.Add("dir/b.bin", std::string(100, 'x'), 64).ok());
  EXPECT_TRUE(writer.Close().ok());
  return out;
}

void Poke(std::string& file, size_t offset, uint64_t value, int count) {
  for (int i = 0; i < count; ++i) file[offset + static_cast<size_t>(i)] = static_cast<char>(value >> (8 * i) & 0xff);
}

size_t FindSignature(const std::string& file, uint32_t signature, int nth = 0) {
  std::string bytes(4, '\0');
  Poke(bytes, 0, signature, 4);
  size_t at = file.find(bytes);
  for (; nth > 0; --nth) at = file.find(bytes, at + 1);
  return at;
}

TEST(ZipReaderTest, ReadsWhatTheWriterWrote) {
  const std::string file = SmallArchive();
  const MemorySource source("small.zip", file);
    const auto zip = ZipReader::Open(source);
  ASSERT_TRUE(zip.ok()) << zip.status().ToString();
  ASSERT_EQ(zip->records().size(), 2u);
  EXPECT_EQ(zip->records()[0].name, "a.txt");
  ASSERT_NE(zip->Find("dir/b.bin"), nullptr);
  EXPECT_EQ(zip->Find("dir/b.bin")->offset % 64, 0u);
  EXPECT_EQ(zip->Find("nothing"), nullptr);
  EXPECT_EQ(Text(*zip->Read(*zip->Find("a.txt"))), "hello");
  const auto stored = zip->Read(*zip->Find("dir/b.bin"));
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(Text(*stored), std::string(100, 'x'));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(stored->bytes.data()) % 64, 0u);
}

TEST(ZipReaderTest, ReadsArchivesOfPyTorch) {
  const auto file = FileSource::Open(TONDAR_SOURCE_DIR "/tests/fixtures/mlp/model.pt2");
  ASSERT_TRUE(file.ok());
  const auto zip = ZipReader::Open(**file);
  ASSERT_TRUE(zip.ok()) << zip.status().ToString();
  EXPECT_EQ(zip->records().size(), 15u);
  EXPECT_EQ(zip->records()[0].name, "model/data/weights/weight_0");
  for (const ZipRecord& record : zip->records()) {
    EXPECT_EQ(record.offset % 64, 0u) << record.name;
    EXPECT_TRUE(zip->Read(record).ok()) << record.name;
  }
}

// Every way a small archive can be broken, and the word that must name it.
struct Breakage {
  const char* name;
  std::function<void(std::string&)> apply;
  const char* message;
};

TEST(ZipReaderTest, RefusesBrokenArchives) {
  const std::string good = SmallArchive();
  const size_t end = FindSignature(good, zip::kEndSignature);
  const size_t first = FindSignature(good, zip::kCentralSignature);
  const size_t second = FindSignature(good, zip::kCentralSignature, 1);
  const size_t local_b = FindSignature(good, zip::kLocalSignature, 1);
  const Breakage kBreakages[] = {
      {"empty", [](std::string& f) { f.clear(); }, "too few"},
      {"truncated", [](std::string& f) { f.resize(f.size() / 2); }, "no end record"},
      {"garbage", [](std::string& f) { f.assign(1000, 'z'); }, "no end record"},
      {"directory outside", [&](std::string& f) { Poke(f, end + 16, 0xfffffff0, 4); }, "central directory"},
      {"directory too long", [&](std::string& f) { Poke(f, end + 12, 0xffffff, 4); }, "central directory"},
      {"too many entries", [&](std::string& f) { Poke(f, end + 10, 7, 2); }, "entry 2 of 7"},
      {"too few entries", [&](std::string& f) { Poke(f, end + 10, 1, 2); }, "follow the last"},
      {"split", [&](std::string& f) { Poke(f, end + 4, 3, 2); }, "several disks"},
      {"zip64 without locator", [&](std::string& f) { Poke(f, end + 16, 0xffffffff, 4); }, "zip64 locator"},
      {"encrypted", [&](std::string& f) { Poke(f, first + 8, 1, 2); }, "encrypted"},
      {"strange method", [&](std::string& f) { Poke(f, first + 10, 93, 2); }, "method 93"},
      {"two sizes", [&](std::string& f) { Poke(f, first + 24, 6, 4); }, "two sizes, 5 and 6"},
      {"size beyond file", [&](std::string& f) { Poke(f, first + 20, 90000, 4), Poke(f, first + 24, 90000, 4); },
       "reaches beyond"},
      {"local size differs", [&](std::string& f) { Poke(f, first + 20, 4, 4), Poke(f, first + 24, 4, 4); },
       "in its local header"},
      {"no local header", [&](std::string& f) { Poke(f, first + 42, 3, 4); }, "no local header at 3"},
      {"local header outside", [&](std::string& f) { Poke(f, first + 42, 0x7fffffff, 4); }, "no local header"},
      {"other local name", [&](std::string& f) { f[zip::kLocalBytes] = 'z'; }, "another name"},
      {"same place twice", [&](std::string& f) {
         f[second + zip::kCentralBytes] = 'D', f[local_b + zip::kLocalBytes] = 'D';
         f.replace(second + 42, 4, f.substr(first + 42, 4));
       }, "another name"},
      {"dot dot", [&](std::string& f) {
         f.replace(second + zip::kCentralBytes, 3, "../"), f.replace(local_b + zip::kLocalBytes, 3, "../");
       }, "'..' in its name"},
      {"absolute", [&](std::string& f) { f[second + zip::kCentralBytes] = '/', f[local_b + zip::kLocalBytes] = '/'; },
       "absolute name"},
      {"zero byte", [&](std::string& f) {
         f[second + zip::kCentralBytes] = '\0', f[local_b + zip::kLocalBytes] = '\0';
       }, "zero byte"},
      {"absurd inflated size", [&](std::string& f) {
         Poke(f, first + 10, 8, 2), Poke(f, first + 24, 0xfffffff0, 4), Poke(f, 8, 8, 2);
       }, "claims 4294967280 bytes inflated from 5"},
      {"ambiguous comment", [&](std::string& f) {
         const std::string fake = f.substr(end);
         Poke(f, end + 20, fake.size(), 2);
         f += fake;
       }, "ambiguous"},
  };
  for (const Breakage& breakage : kBreakages) {
    std::string file = good;
    breakage.apply(file);
    const MemorySource source("bad.zip", file);
    const auto zip = ZipReader::Open(source);
    ASSERT_FALSE(zip.ok()) << breakage.name;
    EXPECT_EQ(zip.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(zip.status().message()), HasSubstr("bad.zip: broken zip archive: ")) << breakage.name;
    EXPECT_THAT(std::string(zip.status().message()), HasSubstr(breakage.message)) << breakage.name;
  }
}

TEST(ZipReaderTest, RefusesTwoRecordsOfOneName) {
  std::string file;
  ZipWriter writer = ZipWriter::ToMemory(&file);
  ASSERT_TRUE(writer.Add("same", "1").ok());
  ASSERT_TRUE(writer.Add("same", "2").ok());
  ASSERT_TRUE(writer.Close().ok());
  const MemorySource source("twice.zip", file);
    const auto zip = ZipReader::Open(source);
  ASSERT_FALSE(zip.ok());
  EXPECT_THAT(std::string(zip.status().message()), HasSubstr("two records are called 'same'"));
}

TEST(ZipReaderTest, RefusesRecordsThatOverlap) {
  std::string file = SmallArchive();
  const size_t first = FindSignature(file, zip::kCentralSignature);
  for (const size_t at : {first + 20, first + 24, size_t{18}, size_t{22}}) Poke(file, at, 40, 4);
  const MemorySource source("bad.zip", file);
    const auto zip = ZipReader::Open(source);
  ASSERT_FALSE(zip.ok());
  EXPECT_THAT(std::string(zip.status().message()), HasSubstr("record 'a.txt' overlaps what begins at 40"));
}

TEST(ZipReaderTest, SaysWhichRecordIsDamaged) {
  std::string file = SmallArchive();
  file[file.find("hello")] = 'j';
  const MemorySource source("bad.zip", file);
    const auto zip = ZipReader::Open(source);
  ASSERT_TRUE(zip.ok());
  const auto read = zip->Read(zip->records()[0]);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().message(), "bad.zip: record 'a.txt': the checksum is wrong; the file is damaged");
}

// One deflated record, laid out by hand: the writer only stores.
std::string DeflatedArchive(const std::string& content, uint64_t claimed_size) {
  std::string packed(compressBound(content.size()) + 100, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  std::string file;
  ZipWriter writer = ZipWriter::ToMemory(&file);
  EXPECT_TRUE(writer.Add("d", packed).ok());
  EXPECT_TRUE(writer.Close().ok());
  const size_t central = FindSignature(file, zip::kCentralSignature);
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  Poke(file, 8, zip::kDeflated, 2);
  Poke(file, central + 10, zip::kDeflated, 2);
  Poke(file, central + 16, crc, 4);
  Poke(file, central + 24, claimed_size, 4);
  return file;
}

TEST(ZipReaderTest, InflatesDeflatedRecords) {
  std::string content;
  for (int i = 0; i < 5000; ++i) content += std::to_string(i * i);
  for (const std::string& text : {content, std::string(), std::string(1 << 20, 'a')}) {
    const std::string file = DeflatedArchive(text, text.size());
    const MemorySource source("d.zip", file);
    const auto zip = ZipReader::Open(source);
    ASSERT_TRUE(zip.ok()) << zip.status().ToString();
    const auto read = zip->Read(zip->records()[0]);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(Text(*read), text);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(read->bytes.data()) % 64, 0u);
  }
}

TEST(ZipReaderTest, RefusesDeflatedRecordsOfAnotherSize) {
  const std::string content(10000, 'q');
  for (const uint64_t claimed : {uint64_t{9999}, uint64_t{10001}, uint64_t{0}}) {
    const std::string file = DeflatedArchive(content, claimed);
    const MemorySource source("d.zip", file);
    const auto zip = ZipReader::Open(source);
    ASSERT_TRUE(zip.ok()) << zip.status().ToString();
    const auto read = zip->Read(zip->records()[0]);
    ASSERT_FALSE(read.ok()) << claimed;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("does not give"));
  }
}

TEST(ZipReaderTest, ReadsZip64) {
  // Widens a plain archive: 64-bit values in the end record and in the entry's extra field.
  const std::string content = "0123456789";
  std::string file;
  ZipWriter writer = ZipWriter::ToMemory(&file);
  ASSERT_TRUE(writer.Add("w", content).ok());
  ASSERT_TRUE(writer.Close().ok());
  const size_t central = FindSignature(file, zip::kCentralSignature);
  std::string entry = file.substr(central, zip::kCentralBytes + 1);
  std::string extra(28, '\0');
  Poke(extra, 0, zip::kExtraZip64, 2), Poke(extra, 2, 24, 2);
  Poke(extra, 4, 10, 8), Poke(extra, 12, 10, 8), Poke(extra, 20, 0, 8);
  Poke(entry, 20, zip::kSeeZip64, 4), Poke(entry, 24, zip::kSeeZip64, 4), Poke(entry, 42, zip::kSeeZip64, 4);
  Poke(entry, 30, 28, 2);
  file.resize(central);
  file += entry + extra;
  const size_t end64 = file.size();
  std::string tail(zip::kEnd64Bytes + zip::kLocator64Bytes + zip::kEndBytes, '\0');
  Poke(tail, 0, zip::kEnd64Signature, 4), Poke(tail, 4, 44, 8), Poke(tail, 24, 1, 8), Poke(tail, 32, 1, 8);
  Poke(tail, 40, entry.size() + extra.size(), 8), Poke(tail, 48, central, 8);
  Poke(tail, 56, zip::kLocator64Signature, 4), Poke(tail, 64, end64, 8), Poke(tail, 72, 1, 4);
  Poke(tail, 76, zip::kEndSignature, 4), Poke(tail, 84, 0xffff, 2), Poke(tail, 86, 0xffff, 2);
  Poke(tail, 88, zip::kSeeZip64, 4), Poke(tail, 92, zip::kSeeZip64, 4);
  file += tail;
  const MemorySource source("wide.zip", file);
    const auto zip = ZipReader::Open(source);
  ASSERT_TRUE(zip.ok()) << zip.status().ToString();
  EXPECT_EQ(Text(*zip->Read(zip->records()[0])), content);
}

TEST(ZipReaderTest, WritesManyRecordsWithZip64) {
  std::string file;
  ZipWriter writer = ZipWriter::ToMemory(&file);
  for (int i = 0; i < 70000; ++i) ASSERT_TRUE(writer.Add(std::to_string(i), "x").ok());
  ASSERT_TRUE(writer.Close().ok());
  const MemorySource source("many.zip", file);
    const auto zip = ZipReader::Open(source);
  ASSERT_TRUE(zip.ok()) << zip.status().ToString();
  EXPECT_EQ(zip->records().size(), 70000u);
}

TEST(ZipReaderTest, SurvivesRandomDamage) {
  const std::string plain = SmallArchive();
  const std::string deflated = DeflatedArchive(std::string(3000, 'k'), 3000);
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    std::string file = round % 2 == 0 ? plain : deflated;
    for (int flips = 0; flips < 1 + round % 5; ++flips) {
      file[random() % file.size()] = static_cast<char>(random());
    }
    if (round % 7 == 0) file.resize(random() % file.size());
    const MemorySource source("fuzz.zip", file);
    const auto zip = ZipReader::Open(source);
    if (!zip.ok()) continue;
    for (const ZipRecord& record : zip->records()) zip->Read(record).status().IgnoreError("only must not crash");
  }
}

}  // namespace
}  // namespace tondar
