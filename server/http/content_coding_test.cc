#include "server/http/content_coding.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <string>

namespace tondar::http {
namespace {

std::string Compressed(std::string_view text, ContentCoding coding) {
  HttpResponse response;
  response.text = text;
  response.text.resize(std::max<size_t>(text.size(), 1024), ' ');
  Compress(response, coding);
  return response.text;
}

int StatusOf(std::string_view body, ContentCoding coding, size_t limit, std::string* out = nullptr) {
  BodyBuffer buffer;
  const auto error = Decompress(std::as_bytes(std::span(body)), coding, limit, buffer);
  if (out != nullptr) out->assign(reinterpret_cast<const char*>(buffer.span().data()), buffer.size());
  return error ? error->status : 200;
}

TEST(ContentCoding, Negotiates) {
  using enum ContentCoding;
  const std::pair<const char*, ContentCoding> cases[] = {
      {"", kIdentity},
      {"gzip", kGzip},
      {"GZip", kGzip},
      {"deflate", kDeflate},
      {"gzip, deflate, br", kGzip},
      {"deflate, gzip", kGzip},
      {"gzip;q=0.5, deflate;q=0.8", kDeflate},
      {"gzip;q=0", kIdentity},
      {"gzip;q=0, deflate", kDeflate},
      {"*", kGzip},
      {"*;q=0.1, gzip;q=0", kDeflate},
      {"identity, gzip;q=0.5", kIdentity},
      {"identity;q=0.5, gzip;q=1.0", kGzip},
      {"br", kIdentity},
      {"gzip;q=nonsense", kIdentity},
      {",,;q=1,", kIdentity},
  };
  for (const auto& [value, coding] : cases) EXPECT_EQ(NegotiateCoding(value), coding) << value;
}

TEST(ContentCoding, NamesWhatItKnows) {
  EXPECT_EQ(ParseContentEncoding("gzip"), ContentCoding::kGzip);
  EXPECT_EQ(ParseContentEncoding("Deflate"), ContentCoding::kDeflate);
  EXPECT_EQ(ParseContentEncoding("identity"), ContentCoding::kIdentity);
  EXPECT_FALSE(ParseContentEncoding("br"));
  EXPECT_FALSE(ParseContentEncoding("gzip, gzip"));
}

TEST(ContentCoding, RoundTripsTextAndTensors) {
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kDeflate}) {
    HttpResponse response;
    response.text = "{\"a\":1}";
    ByteBuffer tensor(300000);
    for (size_t i = 0; i < tensor.size(); ++i) tensor.data()[i] = static_cast<std::byte>(i * i >> 7);
    const std::string expected = response.text + std::string(reinterpret_cast<const char*>(tensor.data()), tensor.size());
    response.tensors.push_back(std::move(tensor));
    Compress(response, coding);
    EXPECT_EQ(response.content_encoding, coding == ContentCoding::kGzip ? "gzip" : "deflate");
    EXPECT_TRUE(response.tensors.empty());
    std::string out;
    EXPECT_EQ(StatusOf(response.text, coding, 1 << 20, &out), 200);
    EXPECT_EQ(out, expected);
  }
}

TEST(ContentCoding, LeavesSmallAnswersAlone) {
  HttpResponse response;
  response.text = "{}";
  Compress(response, ContentCoding::kGzip);
  EXPECT_EQ(response.text, "{}");
  EXPECT_EQ(response.content_encoding, "");
}

TEST(ContentCoding, BoundsWhatComesOut) {
  const std::string zeros = Compressed(std::string(10 << 20, '\0'), ContentCoding::kGzip);
  EXPECT_LT(zeros.size(), 100000u);
  EXPECT_EQ(StatusOf(zeros, ContentCoding::kGzip, 10 << 20), 200);
  EXPECT_EQ(StatusOf(zeros, ContentCoding::kGzip, (10 << 20) - 1), 413);
  EXPECT_EQ(StatusOf(zeros, ContentCoding::kGzip, 1000), 413);
}

TEST(ContentCoding, TakesSeveralGzipMembers) {
  const std::string one = Compressed("abc", ContentCoding::kGzip);
  std::string out;
  EXPECT_EQ(StatusOf(one + one, ContentCoding::kGzip, 1 << 20, &out), 200);
  EXPECT_EQ(out.size(), 2048u);
}

TEST(ContentCoding, RefusesBrokenBodies) {
  const std::string good = Compressed("hello", ContentCoding::kGzip);
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_EQ(StatusOf(good.substr(0, size), ContentCoding::kGzip, 1 << 20), 400) << size;
  }
  EXPECT_EQ(StatusOf("not gzip at all", ContentCoding::kGzip, 1 << 20), 400);
  EXPECT_EQ(StatusOf(good + "x", ContentCoding::kGzip, 1 << 20), 400);
  EXPECT_EQ(StatusOf(good, ContentCoding::kDeflate, 1 << 20), 400);
  const std::string zlib = Compressed("hello", ContentCoding::kDeflate);
  EXPECT_EQ(StatusOf(zlib + "x", ContentCoding::kDeflate, 1 << 20), 400);
  std::string flipped = good;
  flipped[flipped.size() - 6] = static_cast<char>(flipped[flipped.size() - 6] ^ 1);
  EXPECT_EQ(StatusOf(flipped, ContentCoding::kGzip, 1 << 20), 400);  // checksum
}

}  // namespace
}  // namespace tondar::http
