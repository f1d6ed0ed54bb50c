// `tondar health`: exit 0 if the server is ready (or live); made for container health checks.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/model_run.h"
#include "cli/verbs.h"
#include "server/client/http_client.h"

namespace tondar {
namespace {

Status Ask(const std::string& url, const std::string& path, double timeout_secs) {
  TONDAR_ASSIGN_OR_RETURN(const HttpClient client,
                          HttpClient::Create(url, std::chrono::milliseconds(static_cast<int64_t>(timeout_secs * 1000))));
  TONDAR_ASSIGN_OR_RETURN(const HttpResponse response, client.Call("GET", path));
  if (response.status == 200) return OkStatus();
  return Unavailable("{}{} answered {}: {}", url, path, response.status, response.body);
}

}  // namespace

int RunHealth(int argc, char** argv) {
  CLI::App app("Asks a running server whether it is ready. Exit 0: yes; 1: no, or no answer.", "tondar health");
  std::string url = "http://127.0.0.1:8000", model;
  bool live = false;
  double timeout_secs = 5;
  app.add_option("--url", url, "the server's REST address")->capture_default_str();
  app.add_flag("--live", live, "ask whether it is live instead");
  app.add_option("--model", model, "ask whether this model is ready instead");
  app.add_option("--timeout-secs", timeout_secs, "longest wait for the answer")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 86400.0));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::string path = !model.empty() ? "/v2/models/" + EncodeSegment(model) + "/ready"
                           : live         ? "/v2/health/live"
                                          : "/v2/health/ready";
  const Status status = Ask(url, path, timeout_secs);
  if (!status.ok()) return Fail("health", status);
  std::printf("%s\n", live ? "live" : "ready");
  return 0;
}

}  // namespace tondar
