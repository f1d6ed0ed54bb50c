#include "server/http/chunk_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tondar::http {
namespace {

struct Decoded {
  int status = 200;  // 0: wants more
  std::string body;
  size_t taken = 0;
};

Decoded Decode(const std::string& text, size_t piece, size_t limit = 1 << 20) {
  ChunkDecoder decoder(limit);
  BodyBuffer body;
  Decoded decoded;
  while (decoded.taken < text.size() && !decoder.done() && !decoder.error()) {
    const size_t size = std::min(piece, text.size() - decoded.taken);
    decoded.taken += decoder.Feed(std::as_bytes(std::span(text.data() + decoded.taken, size)), body);
  }
  decoded.status = decoder.error() ? decoder.error()->status : decoder.done() ? 200 : 0;
  const auto bytes = body.span();
  decoded.body.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return decoded;
}

TEST(ChunkDecoder, DecodesInAnyPieces) {
  const std::string text = "5;ext=\"1\"\r\nhello\r\n00a\r\n, chunks!!\r\n0\r\nTrailer: x\r\n\r\n";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    const Decoded decoded = Decode(text + "GET /", piece);
    EXPECT_EQ(decoded.status, 200);
    EXPECT_EQ(decoded.body, "hello, chunks!!");
    EXPECT_EQ(decoded.taken, text.size());
  }
}

TEST(ChunkDecoder, RefusesMalformedBodies) {
  for (const char* text : {"\r\n", "x\r\n", "5\nhello\r\n", "5\r\nhelloX\r\n", "5\r\nhello\rX", "5\rX", "-1\r\n", "0x5\r\n",
                           "10000000000000000\r\n", "5;\n", "0\r\nA: b\rX"}) {
    EXPECT_EQ(Decode(text, 3).status, 400) << text;
  }
}

TEST(ChunkDecoder, WaitsForWhatIsMissing) {
  for (const char* text : {"5", "5\r\n", "5\r\nhell", "5\r\nhello", "5\r\nhello\r\n", "0\r\n", "0\r\n\r"}) {
    EXPECT_EQ(Decode(text, 1).status, 0) << text;
  }
}

TEST(ChunkDecoder, BoundsSizeLinesTrailersAndChunks) {
  EXPECT_EQ(Decode("6\r\n", 1, 5).status, 413);
  EXPECT_EQ(Decode("3\r\nabc\r\n3\r\n", 1, 5).status, 413);
  EXPECT_EQ(Decode("fffffffffffffff\r\n", 1).status, 413);
  EXPECT_EQ(Decode("1;" + std::string(ChunkDecoder::kMaxLineBytes + 1, 'x'), 1000).status, 400);
  EXPECT_EQ(Decode("0\r\n" + std::string(ChunkDecoder::kMaxTrailerBytes + 1, 'x'), 1000).status, 400);
  std::string many;
  for (size_t i = 0; i < ChunkDecoder::kMaxChunks; ++i) many += "1\r\nx\r\n";
  EXPECT_EQ(Decode(many + "0\r\n\r\n", 8192).status, 200);
  EXPECT_EQ(Decode(many + "1\r\nx\r\n0\r\n\r\n", 8192).status, 400);
}

}  // namespace
}  // namespace tondar::http
