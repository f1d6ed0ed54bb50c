#include "server/http/request_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tondar::http {
namespace {

int StatusOf(const std::string& fields, const std::string& line = "POST /x HTTP/1.1") {
  RequestHead head;
  const auto error = ParseRequestHead(line + "\r\n" + fields + "\r\n", head);
  return error ? error->status : 200;
}

TEST(RequestHead, ReadsWhatTheServerActsOn) {
  const std::string text =
      "POST /v2/models/m/infer?x=1 HTTP/1.1\r\nHost: h\r\ncontent-length: 12\r\nCONTENT-ENCODING: gzip\r\n"
      "Accept-Encoding: deflate;q=0.5\r\ninference-header-content-length:  7 \r\nExpect: 100-continue\r\n\r\n";
  RequestHead head;
  ASSERT_FALSE(ParseRequestHead(text, head));
  EXPECT_EQ(head.method, kPost);
  EXPECT_EQ(head.target, "/v2/models/m/infer?x=1");
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_EQ(head.content_encoding, "gzip");
  EXPECT_EQ(head.accept_encoding, "deflate;q=0.5");
  EXPECT_EQ(head.inference_header_length, "7");
  EXPECT_TRUE(head.expects_continue);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_FALSE(head.chunked);
}

TEST(RequestHead, KnowsWhenToKeepTheConnection) {
  const std::tuple<std::string, std::string, bool> cases[] = {{"GET / HTTP/1.1", "", true},
                                                              {"GET / HTTP/1.1", "Connection: close\r\n", false},
                                                              {"GET / HTTP/1.0", "", false},
                                                              {"GET / HTTP/1.0", "Connection: keep-alive\r\n", true}};
  for (const auto& [line, fields, keep] : cases) {
    RequestHead head;
    ASSERT_FALSE(ParseRequestHead(line + "\r\n" + fields + "\r\n", head));
    EXPECT_EQ(head.keep_alive, keep) << line << fields;
  }
}

TEST(RequestHead, RefusesWhatCouldBeReadInTwoWays) {
  EXPECT_EQ(StatusOf("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(StatusOf("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), 400);
  EXPECT_EQ(StatusOf("Content-Length: 3\r\nContent-Length: 4\r\n"), 400);
  EXPECT_EQ(StatusOf("Content-Length: -3\r\n"), 400);
  EXPECT_EQ(StatusOf("Content-Length: 99999999999999999999\r\n"), 400);
  EXPECT_EQ(StatusOf("Content-Length: 0x10\r\n"), 400);
  EXPECT_EQ(StatusOf("Transfer-Encoding: gzip\r\n"), 501);
  EXPECT_EQ(StatusOf("Transfer-Encoding: gzip, chunked\r\n"), 501);
  EXPECT_EQ(StatusOf("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(StatusOf("Inference-Header-Content-Length: 1\r\nInference-Header-Content-Length: 2\r\n"), 400);
  EXPECT_EQ(StatusOf("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n"), 400);
  EXPECT_EQ(StatusOf("Content-Encoding: gz\r\n ip\r\n"), 400);  // folded
  EXPECT_EQ(StatusOf("Expect: tea\r\n"), 417);
  EXPECT_EQ(StatusOf("no colon\r\n"), 400);
  EXPECT_EQ(StatusOf("Bad Name: x\r\n"), 400);
}

TEST(RequestHead, RefusesOtherVersionsAndNoise) {
  EXPECT_EQ(StatusOf("", "PRI * HTTP/2.0"), 505);
  EXPECT_EQ(StatusOf("", "GET /"), 400);
  EXPECT_EQ(StatusOf("", "\x16\x03\x01\x02"), 400);
  EXPECT_EQ(StatusOf("", "GET / HTTP/1.1 x"), 505);
  EXPECT_EQ(StatusOf("", "BREW /pot HTTP/1.1"), 200);  // a verb nobody takes: the router says 405
}

TEST(RequestHead, KnowsWhoKnocksAtTheWrongPortByTheirFirstBytes) {
  EXPECT_EQ(WhyNotHttp("G"), nullptr);
  EXPECT_EQ(WhyNotHttp("PRI"), nullptr) << "not told apart yet";
  EXPECT_STREQ(WhyNotHttp("PRI * HTTP/2.0\r\n"), "this port speaks HTTP/1.1, not HTTP/2; gRPC clients must use the gRPC port");
  EXPECT_THAT(WhyNotHttp("\x16\x03\x01"), ::testing::HasSubstr("not TLS"));
  EXPECT_STREQ(WhyNotHttp(std::string_view("\0", 1)), "this is no HTTP request");
}

TEST(RequestHead, FindsItsEndAcrossPieces) {
  const std::string text = "GET / HTTP/1.1\r\nA: b\r\n\r\n";
  for (size_t size = 1; size < text.size(); ++size) {
    EXPECT_EQ(FindHeadEnd(std::string_view(text).substr(0, size), size - 1), 0u) << size;
  }
  for (size_t seen = 0; seen < text.size(); ++seen) EXPECT_EQ(FindHeadEnd(text + "rest", seen), text.size()) << seen;
}

}  // namespace
}  // namespace tondar::http
