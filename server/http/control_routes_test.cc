// The routes that are not infer, through a socket.
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>

#include "server/http/router.h"
#include "server/http/testing/served.h"

namespace tondar {
namespace {

using nlohmann::json;

class ControlRoutes : public ::testing::Test {
 protected:
  json GetJson(const std::string& path, int status = 200) {
    const RawAnswer answer = client_.Get(path);
    EXPECT_EQ(answer.status, status) << path << answer.body;
    EXPECT_EQ(answer.headers.at("content-type"), "application/json");
    return json::parse(answer.body);
  }
  json PostJson(const std::string& path, const std::string& body, int status = 200) {
    const RawAnswer answer = client_.Post(path, body);
    EXPECT_EQ(answer.status, status) << path << answer.body;
    return json::parse(answer.body);
  }

  Served served_;
  RawClient client_{served_.server->port()};
};

TEST_F(ControlRoutes, Health) {
  EXPECT_EQ(GetJson("/v2/health/live"), json({{"live", true}}));
  EXPECT_EQ(GetJson("/v2/health/ready"), json({{"ready", true}}));
  served_.control.ready = false;
  EXPECT_EQ(GetJson("/v2/health/ready", 503), json({{"ready", false}}));
  const json metadata = GetJson("/v2");
  EXPECT_EQ(metadata["name"], "tondar");
  EXPECT_EQ(metadata["extensions"][1], "statistics");
}

TEST_F(ControlRoutes, ModelMetadata) {
  const json metadata = GetJson("/v2/models/m");
  EXPECT_EQ(metadata, json::parse(R"({"name":"m","versions":["1","2"],"platform":"onnx",
      "inputs":[{"name":"x","datatype":"FP32","shape":[-1,3]}],"outputs":[{"name":"y","datatype":"BYTES","shape":[-1]}]})"));
  EXPECT_EQ(GetJson("/v2/models/m/versions/2"), metadata);
  EXPECT_EQ(GetJson("/v2/models/m?x=/y"), metadata);
  EXPECT_EQ(GetJson("/v2/models/%6D"), metadata);
  EXPECT_EQ(GetJson("http://host/v2/models/m"), metadata);
  EXPECT_TRUE(GetJson("/v2/models/m/versions/3", 404).contains("error"));
  EXPECT_TRUE(GetJson("/v2/models/n", 404).contains("error"));
  EXPECT_TRUE(GetJson("/v2/models/loading", 503).contains("error"));
  EXPECT_TRUE(GetJson("/v2/models/%zz", 400).contains("error"));
  EXPECT_TRUE(GetJson("/v2/models/%ff%00", 404).contains("error"));  // not UTF-8, still valid JSON
}

TEST_F(ControlRoutes, ModelReady) {
  EXPECT_EQ(GetJson("/v2/models/m/ready"), json({{"name", "m"}, {"ready", true}}));
  EXPECT_EQ(GetJson("/v2/models/m/versions/2/ready")["ready"], true);
  EXPECT_EQ(GetJson("/v2/models/unknown/ready", 400)["ready"], false);
}

TEST_F(ControlRoutes, Statistics) {
  const json all = GetJson("/v2/models/stats");
  const json& model = all["model_stats"][0];
  EXPECT_EQ(model["version"], "1");
  EXPECT_EQ(model["inference_count"], 7);
  EXPECT_EQ(model["inference_stats"]["success"], json({{"count", 3}, {"ns", 900}}));
  for (const char* key : {"fail", "queue", "compute_input", "compute_infer", "compute_output", "cache_hit", "cache_miss"}) {
    EXPECT_TRUE(model["inference_stats"][key].contains("ns")) << key;
  }
  EXPECT_EQ(model["batch_stats"][0]["batch_size"], 4);
  EXPECT_EQ(model["batch_stats"][0]["compute_infer"]["ns"], 20);
  EXPECT_EQ(model["memory_usage"][0]["byte_size"], 4096);
  EXPECT_EQ(GetJson("/v2/models/m/versions/1/stats"), all);
  EXPECT_TRUE(GetJson("/v2/models/n/stats", 404).contains("error"));
}

TEST_F(ControlRoutes, ListAndIndex) {
  EXPECT_EQ(GetJson("/v2/models"), json({{"models", {"m"}}}));
  const json index = PostJson("/v2/repository/index", "");
  ASSERT_EQ(index.size(), 3u);
  EXPECT_EQ(index[0], json({{"name", "broken"}, {"state", "UNAVAILABLE"}, {"reason", "no model file"}}));
  EXPECT_EQ(index[1]["version"], "1");
  EXPECT_EQ(PostJson("/v2/repository/index", R"({"ready":true,"x":[1]})").size(), 2u);
  EXPECT_TRUE(PostJson("/v2/repository/index", R"({"ready":1})", 400).contains("error"));
}

TEST_F(ControlRoutes, LoadAndUnload) {
  EXPECT_EQ(PostJson("/v2/repository/models/m/load", ""), json({{"name", "m"}, {"load", true}}));
  PostJson("/v2/repository/models/m/load", R"({"parameters":{"config":"{\"a\":1}"}})");
  PostJson("/v2/repository/models/m/unload", R"({"parameters":{"unload_dependents":false}})");
  EXPECT_TRUE(PostJson("/v2/repository/models/missing/load", "{}", 404).contains("error"));
  EXPECT_TRUE(PostJson("/v2/repository/models/m/load", "[]", 400).contains("error"));
  EXPECT_TRUE(PostJson("/v2/repository/models/m/load", R"({"parameters":{"config":{}}})", 400).contains("error"));
  MutexLock lock(served_.control.mu);
  EXPECT_EQ(served_.control.calls, (std::vector<std::string>{"load m", "load m config={\"a\":1}",
                                                             "unload m unload_dependents=false", "load missing"}));
}

TEST(BlockingRoutes, LeaveHealthResponsive) {
  HttpServerOptions options;
  options.threads = 1;
  Served served(options);
  std::promise<void> go_on;
  auto may_go_on = go_on.get_future().share();
  served.control.on_load = [may_go_on](std::string_view, const Parameters&) {
    may_go_on.wait();
    return OkStatus();
  };
  RawClient loader(served.server->port()), prober(served.server->port());
  loader.Send(RawClient::Render("POST", "/v2/repository/models/m/load", ""));
  EXPECT_EQ(prober.Get("/v2/health/live").status, 200);
  EXPECT_EQ(prober.Get("/v2/models/m").status, 200);
  go_on.set_value();
  EXPECT_EQ(loader.Read().status, 200);
}

TEST_F(ControlRoutes, UnknownPathsAndVerbs) {
  for (const char* path : {"/", "/v1", "/v2/", "/v2/x", "/v2/models/m/versions/v1", "/v2/models/m/versions/", "/v2/models//ready",
                           "/v2/health", "/v2/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p", "*", "/v2/models/m/versions/1/trace/setting"}) {
    EXPECT_TRUE(GetJson(path, 404).contains("error")) << path;
  }
  RawAnswer answer = client_.Get("/v2/models/m/infer");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.headers["allow"], "POST");
  EXPECT_TRUE(json::parse(answer.body).contains("error"));
  answer = client_.Post("/v2/health/live", "");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.headers["allow"], "GET, HEAD");
  EXPECT_EQ(client_.Ask("DELETE", "/v2/models/m", "", "").status, 405);
  EXPECT_EQ(client_.Ask("BREW", "/v2", "", "").status, 405);
}

TEST_F(ControlRoutes, HeadHasNoBody) {
  client_.Send(RawClient::Render("HEAD", "/v2/health/live", ""));
  const RawAnswer answer = client_.Read(true);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-length"), "13");
  EXPECT_EQ(client_.Get("/v2/health/live").body, R"({"live":true})");  // nothing of it was left on the line
}

TEST_F(ControlRoutes, ExtensionsThatAreNotThere) {
  EXPECT_EQ(GetJson("/v2/systemsharedmemory/status"), json::array());
  EXPECT_TRUE(PostJson("/v2/systemsharedmemory/region/r/register", "{}", 501).contains("error"));
  EXPECT_TRUE(PostJson("/v2/cudasharedmemory/unregister", "", 501).contains("error"));
  EXPECT_TRUE(GetJson("/v2/trace/setting", 501).contains("error"));
  EXPECT_TRUE(PostJson("/v2/models/m/generate", "{}", 501).contains("error"));
  EXPECT_TRUE(PostJson("/v2/repository/other/index", "", 501).contains("error"));
}

TEST_F(ControlRoutes, Config) {
  const json config = GetJson("/v2/models/m/config");
  EXPECT_EQ(config["name"], "m");
  EXPECT_EQ(config["max_batch_size"], 64);
  EXPECT_EQ(config["input"][0]["dims"], json({3}));
  EXPECT_EQ(GetJson("/v2/models/m/versions/2/config"), config);
  EXPECT_TRUE(GetJson("/v2/models/n/config", 404).contains("error"));
}

TEST(PercentDecode, DecodesOrRefuses) {
  EXPECT_EQ(http::PercentDecode("a%20b%2F%c3%A9"), "a b/é");
  for (const char* bad : {"%", "%2", "a%", "%zz", "%2"}) EXPECT_FALSE(http::PercentDecode(bad)) << bad;
}

}  // namespace
}  // namespace tondar
