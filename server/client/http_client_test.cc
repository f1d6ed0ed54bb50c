#include "server/client/http_client.h"

#include <gtest/gtest.h>

namespace tondar {
namespace {

constexpr std::chrono::seconds kTimeout{5};

TEST(HttpClientTest, ReadsUrls) {
  struct Case {
    const char *url, *host, *port;
  };
  const Case cases[] = {{"http://example.org:81", "example.org", "81"},
                        {"http://example.org:81/any/path", "example.org", "81"},
                        {"127.0.0.1:9000", "127.0.0.1", "9000"},
                        {"localhost", "localhost", "8000"}};
  for (const Case& c : cases) {
    const auto client = HttpClient::Create(c.url, kTimeout);
    ASSERT_TRUE(client.ok()) << c.url;
    EXPECT_EQ(client->host(), c.host);
    EXPECT_EQ(client->port(), c.port);
  }
}

TEST(HttpClientTest, RefusesWhatItCannotReach) {
  for (const char* url : {"", "https://example.org", "http://:80", "http://host:", "http://host:http"}) {
    EXPECT_EQ(HttpClient::Create(url, kTimeout).status().code(), StatusCode::kInvalidArgument) << url;
  }
}

TEST(HttpClientTest, SaysThatNobodyListens) {
  const auto client = HttpClient::Create("127.0.0.1:1", kTimeout);  // tcpmux, which no machine of ours runs
  ASSERT_TRUE(client.ok());
  const Status status = client->Call("GET", "/v2").status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("http://127.0.0.1:1/v2"), std::string::npos);
}

TEST(EncodeSegmentTest, LeavesNothingThatEndsASegment) {
  EXPECT_EQ(EncodeSegment("bert-base_v1.2~x"), "bert-base_v1.2~x");
  EXPECT_EQ(EncodeSegment("a b/c?d#e%f"), "a%20b%2Fc%3Fd%23e%25f");
  EXPECT_EQ(EncodeSegment("\xC3\xA4"), "%C3%A4");
}

}  // namespace
}  // namespace tondar
