// `tondar inspect`: shows what a model file takes, gives and does; exit 1 if something in it is not supported.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/model_run.h"
#include "cli/verbs.h"

namespace tondar {
namespace {

std::string ConstantText(const ConstantSpec& constant) {
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, constant.value);
}

std::string RangeText(const SymbolInfo& symbol) {
  return symbol.max == INT64_MAX ? fmt::format("{} or more", symbol.min) : fmt::format("{} to {}", symbol.min, symbol.max);
}

std::string BatchingText(const Signature& signature) {
  if (!signature.batchable) return "no";
  if (signature.batch_doubt.empty()) return "yes";
  return fmt::format("only if config.pbtxt says so: {}", signature.batch_doubt);
}

void PrintTensors(const char* title, const std::vector<TensorSpec>& specs, const Signature& signature) {
  std::printf("%s\n", title);
  for (const TensorSpec& spec : specs) {
    std::printf("  %-24s %-10s %s\n", spec.name.c_str(), std::string(Name(spec.dtype)).c_str(),
                ToString(spec.shape, signature.symbols).c_str());
  }
}

void PrintOperators(const std::vector<std::pair<std::string, int>>& operators) {
  std::printf("operators\n");
  for (const auto& [name, count] : operators) std::printf("  %5d  %s\n", count, name.c_str());
}

void PrintSignature(const Signature& signature) {
  PrintTensors("inputs", signature.inputs, signature);
  for (const ConstantSpec& constant : signature.constants) {
    std::printf("  %-24s constant   %s\n", constant.name.c_str(), ConstantText(constant).c_str());
  }
  PrintTensors("outputs", signature.outputs, signature);
  if (!signature.states.empty()) PrintTensors("state", signature.states, signature);
  if (!signature.symbols.empty()) std::printf("symbols\n");
  for (const SymbolInfo& symbol : signature.symbols) {
    std::printf("  %-24s %s\n", symbol.name.c_str(), RangeText(symbol).c_str());
  }
}

void Print(const Model& model, bool plan, bool graph) {
  std::printf("%s, %s\n", std::string(model.platform()).c_str(), std::string(model.producer()).c_str());
  PrintSignature(model.signature());
  std::printf("batchable  %s\nweights    %zu bytes\n", BatchingText(model.signature()).c_str(), model.weight_bytes());
  PrintOperators(model.source_operators());
  if (graph) std::printf("graph\n%s", model.DescribeGraph().c_str());
  if (plan) std::printf("plan\n%s", model.DescribePlan().c_str());
}

nlohmann::json TensorsToJson(const std::vector<TensorSpec>& specs, const Signature& signature) {
  nlohmann::json list = nlohmann::json::array();
  for (const TensorSpec& spec : specs) {
    nlohmann::json shape = nlohmann::json::array();
    for (const Dim& extent : spec.shape) {
      if (extent.IsConstant()) {
        shape.push_back(extent.constant());
      } else {
        shape.push_back(extent.ToString(signature.symbols));
      }
    }
    list.push_back({{"name", spec.name}, {"dtype", Name(spec.dtype)}, {"datatype", WireName(spec.dtype)}, {"shape", shape}});
  }
  return list;
}

// Names come from the file and need not be UTF-8, which JSON must be.
std::string Text(const nlohmann::json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json SignatureToJson(const Signature& signature) {
  nlohmann::json json = {{"inputs", TensorsToJson(signature.inputs, signature)},
                         {"outputs", TensorsToJson(signature.outputs, signature)},
                         {"states", TensorsToJson(signature.states, signature)},
                         {"symbols", nlohmann::json::object()},
                         {"constants", nlohmann::json::object()}};
  for (const SymbolInfo& symbol : signature.symbols) {
    json["symbols"][symbol.name] = {{"min", symbol.min}, {"max", nullptr}};
    if (symbol.max != INT64_MAX) json["symbols"][symbol.name]["max"] = symbol.max;
  }
  for (const ConstantSpec& constant : signature.constants) {
    std::visit([&](const auto& value) { json["constants"][constant.name] = value; }, constant.value);
  }
  return json;
}

nlohmann::json ToJson(const Model& model, bool plan, bool graph) {
  nlohmann::json json = SignatureToJson(model.signature());
  json["supported"] = true;
  json["platform"] = model.platform();
  json["producer"] = model.producer();
  json["batchable"] = model.signature().batchable && model.signature().batch_doubt.empty();
  json["batch_doubt"] = model.signature().batch_doubt;
  json["weight_bytes"] = model.weight_bytes();
  json["operators"] = nlohmann::json::object();
  for (const auto& [name, count] : model.source_operators()) json["operators"][name] = count;
  if (plan) json["plan"] = model.DescribePlan();
  if (graph) json["graph"] = model.DescribeGraph();
  return json;
}

// What a file that cannot be loaded says of itself.
void PrintRefused(const ModelDescription& model) {
  std::printf("%s, %s, not supported\n", model.platform.c_str(), model.producer.c_str());
  PrintSignature(model.signature);
  PrintOperators(model.source_operators);
}

nlohmann::json RefusedToJson(const ModelDescription& model, const Status& why) {
  nlohmann::json json = SignatureToJson(model.signature);
  json["supported"] = false;
  json["error"] = why.message();
  json["platform"] = model.platform;
  json["producer"] = model.producer;
  json["operators"] = nlohmann::json::object();
  for (const auto& [name, count] : model.source_operators) json["operators"][name] = count;
  return json;
}

// Shows what can be read of a model that cannot be loaded.
int Refuse(const std::string& path, const Status& why, bool as_json) {
  Result<std::unique_ptr<Engine>> engine = Engine::Create({});
  Result<ModelDescription> model = engine.ok() ? (*engine)->Describe(path) : Result<ModelDescription>(engine.status());
  if (as_json) {
    const nlohmann::json json = model.ok() ? RefusedToJson(*model, why)
                                           : nlohmann::json{{"supported", false}, {"error", why.message()}};
    std::printf("%s\n", Text(json).c_str());
  } else if (model.ok()) {
    PrintRefused(*model);
  }
  return Fail("inspect", why);
}

}  // namespace

int RunInspect(int argc, char** argv) {
  CLI::App app("Shows inputs, outputs, symbols and operators of a model file.", "tondar inspect");
  ModelRunOptions options;
  bool plan = false, graph = false, json = false;
  app.add_option("file", options.model, "model file (.pt2 or .onnx)")->required();
  app.add_flag("--plan", plan, "also show the compiled steps");
  app.add_flag("--graph", graph, "also show the optimised graph");
  app.add_flag("--json", json, "print one JSON object");
  app.add_option("--accelerator", options.accelerator, "compile for this one")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Result<std::unique_ptr<ModelRun>> run = ModelRun::Create(options);
  if (!run.ok()) return Refuse(options.model, run.status(), json);
  if (json) {
    std::printf("%s\n", Text(ToJson((*run)->model(), plan, graph)).c_str());
  } else {
    Print((*run)->model(), plan, graph);
  }
  return 0;
}

}  // namespace tondar
