// `tondar repo`: looks at and steers the models of a running server.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/model_run.h"
#include "cli/verbs.h"
#include "server/client/http_client.h"

namespace tondar {
namespace {

// The server's own words for a failed call.
Status FromResponse(const HttpResponse& response) {
  const auto json = nlohmann::json::parse(response.body, nullptr, false);
  if (json.is_object() && json.contains("error") && json["error"].is_string()) {
    return Unknown("{} (HTTP {})", json["error"].get<std::string>(), response.status);
  }
  return Unknown("the server answered HTTP {}", response.status);
}

Result<nlohmann::json> Post(const HttpClient& client, const std::string& path, std::string body) {
  TONDAR_ASSIGN_OR_RETURN(const HttpResponse response, client.Call("POST", path, std::move(body)));
  if (response.status != 200) return FromResponse(response);
  return nlohmann::json::parse(response.body, nullptr, false);
}

std::string Field(const nlohmann::json& entry, const char* key) {
  return entry.contains(key) && entry[key].is_string() ? entry[key].get<std::string>() : std::string();
}

Status List(const HttpClient& client, bool as_json, const std::string& only) {
  TONDAR_ASSIGN_OR_RETURN(nlohmann::json index, Post(client, "/v2/repository/index", "{}"));
  if (!index.is_array()) return Unknown("the server's index is not a list");
  nlohmann::json shown = nlohmann::json::array();
  for (const nlohmann::json& entry : index) {
    if (only.empty() || Field(entry, "name") == only) shown.push_back(entry);
  }
  if (!only.empty() && shown.empty()) return NotFound("the repository has no model '{}'", only);
  if (as_json) {
    std::printf("%s\n", shown.dump(2).c_str());
    return OkStatus();
  }
  std::printf("%-28s %-8s %-12s %s\n", "MODEL", "VERSION", "STATE", "REASON");
  for (const nlohmann::json& entry : shown) {
    std::printf("%-28s %-8s %-12s %s\n", Field(entry, "name").c_str(), Field(entry, "version").c_str(),
                Field(entry, "state").c_str(), Field(entry, "reason").c_str());
  }
  return OkStatus();
}

Status Steer(const HttpClient& client, const std::string& verb, const std::string& model) {
  TONDAR_RETURN_IF_ERROR(Post(client, "/v2/repository/models/" + EncodeSegment(model) + "/" + verb, "{}").status());
  std::printf("%s: %sed\n", model.c_str(), verb.c_str());
  return OkStatus();
}

}  // namespace

int RunRepo(int argc, char** argv) {
  CLI::App app("Lists, loads and unloads the models of a running server.", "tondar repo");
  std::string url = "http://127.0.0.1:8000", model;
  bool as_json = false;
  double timeout_secs = 300;
  app.add_option("--url", url, "the server's REST address")->capture_default_str();
  app.add_option("--timeout-secs", timeout_secs, "longest wait for an answer")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 86400.0));
  app.require_subcommand(1);
  app.fallthrough();
  CLI::App* list = app.add_subcommand("list", "every model and version with its state");
  CLI::App* status = app.add_subcommand("status", "the versions of one model");
  CLI::App* load = app.add_subcommand("load", "load or reload a model (explicit mode)");
  CLI::App* unload = app.add_subcommand("unload", "unload all versions of a model (explicit mode)");
  for (CLI::App* verb : {list, status}) verb->add_flag("--json", as_json, "print JSON");
  for (CLI::App* verb : {status, load, unload}) verb->add_option("model", model, "the model's name")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto client = HttpClient::Create(url, std::chrono::milliseconds(static_cast<int64_t>(timeout_secs * 1000)));
  if (!client.ok()) return Fail("repo", client.status());
  const Status outcome = list->parsed() || status->parsed() ? List(*client, as_json, model)
                                                            : Steer(*client, load->parsed() ? "load" : "unload", model);
  return outcome.ok() ? 0 : Fail("repo", outcome);
}

}  // namespace tondar
