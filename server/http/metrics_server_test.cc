#include "server/http/metrics_server.h"

#include <gtest/gtest.h>

#include "server/http/testing/raw_client.h"

namespace tondar {
namespace {

TEST(MetricsServer, ServesTheTextOfTheMoment) {
  int scrapes = 0;
  MetricsServerOptions options;
  options.address = "127.0.0.1";
  options.port = 0;
  auto server = MetricsServer::Create(options, [&] { return "tondar_up " + std::to_string(++scrapes) + "\n"; });
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  RawClient client((*server)->port());
  RawAnswer answer = client.Get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "tondar_up 1\n");
  EXPECT_EQ(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(client.Get("/metrics?x=y").body, "tondar_up 2\n");
  answer = client.Ask("HEAD", "/metrics", "", "");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(client.Get("/").status, 404);
  EXPECT_EQ(client.Get("/metrics/x").status, 404);
  answer = client.Post("/metrics", "");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.headers["allow"], "GET, HEAD");
}

}  // namespace
}  // namespace tondar
